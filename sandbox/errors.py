"""The errors of this package. A caller never needs to catch everything.

Defends against: a failure that passes for something else. Each kind says whose fault it was, the program's or not.

Does not defend against: a program that fails on purpose; it may choose among the kinds that are its own.

    SandboxError                base of all; its text is one clear line: what, where, what to do
    ├── Refused                 the static layer refuses a program; carries the rule and the line
    ├── ChildFailed             a child is gone (time, memory, crash, broken protocol); carries the kind
    └── SandboxUnavailable      no sandbox can be started here, or only a weaker one than required

Wrong arguments from the trusted side, a bad shape for example, raise `ValueError`.
"""

from typing import Literal

Kind = Literal["timeout", "cpu", "memory", "crashed", "forbidden_call", "protocol", "sandbox", "closed"]
"""Why a child is gone: a wall limit, its processor time, its memory, a fault of its own, a system call that the
lock-down answers with death, a malformed frame, the end of the sandbox process that it came from (no fault of the
program: run it again), or because it had been closed before."""


class SandboxError(Exception):
    """Base of every error that this package raises on purpose."""


class Refused(SandboxError):  # noqa: N818 - says what happened, as the tree above does
    """The static layer refuses a program; nothing of it has run, or only its constants.

    Args:
        message: what is wrong and what to write instead; a model reads it in its next prompt.
        rule: short name of the rule, for example `attribute`.
        line: line in the source, from 1, where known.
    """

    def __init__(self, message: str, *, rule: str, line: int | None = None) -> None:
        self.message, self.rule, self.line = message, rule, line
        super().__init__(f"line {line}: {message} [{rule}]" if line else f"{message} [{rule}]")


class ChildFailed(SandboxError):  # noqa: N818 - says what happened, as the tree above does
    """A child is gone; its program gets no further call.

    Args:
        kind: why, one of `Kind`.
        detail: one line for people.
    """

    def __init__(self, kind: Kind, detail: str) -> None:
        self.kind, self.detail = kind, detail
        super().__init__(f"{kind}: {detail}")


class SandboxUnavailable(SandboxError):  # noqa: N818 - says what happened, as the tree above does
    """The sandbox cannot be started, or its level is below what was required."""
