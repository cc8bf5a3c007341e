"""The exception tree. A caller never needs to catch everything.

    EvolveError                 base of all; its text is one clear line for a person: what, where, what to do
    ├── SettingsError           a flag, a TOML key or a combination of them is wrong
    ├── ProblemError            a plug-in cannot be found or loaded, or was given bad input (a data file, say)
    ├── ProgramError            a program breaks the contract; carries the rule broken and the line
    ├── EvaluationError         the trusted side failed: an evaluator raised, crashed or hung
    ├── RunError                a run cannot start, resume or go on
    │   └── NothingScored       not one program could be scored
    └── ExportError             a program cannot be exported

`sandbox` and `archive` know nothing of this package and have bases of their own, `sandbox.SandboxError` and
`archive.ArchiveError`; the command line treats all three alike.
"""


class EvolveError(Exception):
    """Base of every error that this package raises on purpose."""


class SettingsError(EvolveError):
    """A setting is unknown, malformed or contradicts another."""


class ProblemError(EvolveError):
    """A problem cannot be found or loaded, or its input is bad. Plug-ins raise it for their own input."""


class ProgramError(EvolveError):
    """A program breaks the contract.

    Args:
        kind: the class of fault, one of `evolve.program.KINDS`.
        message: what is wrong and what to write instead; a model reads it in its next prompt.
        line: line in the source, from 1, where known.
    """

    def __init__(self, kind: str, message: str, line: int | None = None) -> None:
        self.kind, self.message, self.line = kind, message, line
        super().__init__(f"line {line}: {message}" if line else message)


class EvaluationError(EvolveError):
    """The trusted side of an evaluation failed; the program is not to blame."""


class RunError(EvolveError):
    """A run cannot start, resume or go on."""


class NothingScored(RunError):  # noqa: N818 - says what happened
    """A run ended without a single program that could be scored."""


class ExportError(EvolveError):
    """A program cannot be exported."""
