"""How strong the sandbox is on this machine, by name, and what to do about what is missing.

The level is computed from mechanisms that a trial child has tried, not from version numbers: a container may forbid
what the kernel could do.

Defends against: a sandbox that is weaker than it is believed to be. What could not be tried does not count as present.

Does not defend against: anything by itself; it only names. A kernel whose walls have flaws is named like one without.
"""

import enum
from dataclasses import dataclass


class Mechanism(enum.IntFlag):
    """One wall, present or not; what each is for stands in `_TEXTS`."""

    FORK = 1
    RLIMITS = 2
    NO_NEW_PRIVILEGES = 4
    SECCOMP = 8
    LANDLOCK = 16
    UNPRIVILEGED = 32
    SEALED_MEMORY = 64
    PARENT_DEATH = 128
    PIDFD = 256
    HIDDEN = 512


class Level(enum.StrEnum):
    """Strength of the sandbox, weakest first; levels compare by strength."""

    LANGUAGE_ONLY = "language-only"
    """the static layer and a process per program; the kernel confines nothing"""
    RLIMITS = "rlimits"
    """and limits on memory, processor time and files, as far as the system enforces them"""
    OS_PARTIAL = "os-partial"
    """and the system-call filter, but some other wall is missing"""
    OS_FULL = "os-full"
    """every wall stands"""

    @property
    def strength(self) -> int:
        """Rank, from 0."""
        return list(Level).index(self)

    def __lt__(self, other: str) -> bool:
        return self.strength < Level(other).strength

    def __le__(self, other: str) -> bool:
        return self.strength <= Level(other).strength

    def __gt__(self, other: str) -> bool:
        return self.strength > Level(other).strength

    def __ge__(self, other: str) -> bool:
        return self.strength >= Level(other).strength


NEEDED = {
    Level.LANGUAGE_ONLY: Mechanism(0),
    Level.RLIMITS: Mechanism.FORK | Mechanism.RLIMITS,
    Level.OS_PARTIAL: Mechanism.FORK | Mechanism.RLIMITS | Mechanism.NO_NEW_PRIVILEGES | Mechanism.SECCOMP,
    Level.OS_FULL: ~Mechanism(0),
}
"""What each level takes."""

_TEXTS = {
    Mechanism.FORK: ("children are forked from a process without secrets", "run on Linux or macOS"),
    Mechanism.RLIMITS: (
        "the kernel bounds memory, processor time, files and processes",
        "run on Linux; on macOS memory is not bounded by the kernel, so watch it",
    ),
    Mechanism.NO_NEW_PRIVILEGES: (
        "nothing that a child starts could gain rights",
        "run on Linux, in a container that does not forbid prctl",
    ),
    Mechanism.SECCOMP: (
        "a filter on system calls",
        "run on 64-bit Linux (x86-64 or AArch64), in a container that does not forbid seccomp",
    ),
    Mechanism.LANDLOCK: (
        "a second wall around files, sockets and signals",
        "use Linux 5.13 or newer, with landlock in the boot option lsm=",
    ),
    Mechanism.UNPRIVILEGED: (
        "children do not run as root",
        "run as an ordinary user, or let the container keep the capabilities SETUID and SETGID",
    ),
    Mechanism.SEALED_MEMORY: (
        "a child can neither resize shared memory nor write its inputs",
        "use Linux 5.1 or newer",
    ),
    Mechanism.PARENT_DEATH: (
        "children die with the process that forked them",
        "run on Linux, in a container that does not forbid prctl",
    ),
    Mechanism.PIDFD: ("a child is killed by a handle that cannot mean another process", "use Linux 5.3 or newer"),
    Mechanism.HIDDEN: (
        "no other process of the same user may read or trace a child",
        "run on Linux, in a container that does not forbid prctl",
    ),
}
"""Purpose of each wall, and what to do if it is missing."""


@dataclass(frozen=True, slots=True)
class Wall:
    """One mechanism as a person reads it.

    Args:
        name: for example `seccomp`.
        purpose: what it is for.
        present: whether a trial child could put it up.
        remedy: what to do if it is missing; empty if it is present.
    """

    name: str
    purpose: str
    present: bool
    remedy: str


@dataclass(frozen=True, slots=True)
class Report:
    """What this machine reaches.

    Args:
        level: the level.
        mechanisms: every wall, present or not, in the order in which they go up.
    """

    level: Level
    mechanisms: tuple[Wall, ...]


def level_of(mechanisms: Mechanism) -> Level:
    """The strongest level that these mechanisms reach."""
    return max(
        (level for level in Level if mechanisms & NEEDED[level] == NEEDED[level]), key=lambda level: level.strength
    )


def report_of(mechanisms: Mechanism) -> Report:
    """The report for people."""
    walls = tuple(
        Wall(
            name=(mechanism.name or "").lower().replace("_", "-"),
            purpose=_TEXTS[mechanism][0],
            present=mechanism in mechanisms,
            remedy="" if mechanism in mechanisms else _TEXTS[mechanism][1],
        )
        for mechanism in Mechanism
    )
    return Report(level_of(mechanisms), walls)
