"""The lock-down of a child, put up before a byte of its program is parsed.

Defends against: what a program could do if it broke out of the language, native code included. In this order: no new
privileges, Landlock with no rules, limits on resources, the system-call filter. Each needs no privilege and cannot be
taken back.

Does not defend against: processor time within its limits, reading the clock, and whatever the kernel's own flaws allow
through the handful of calls that are left. An outer container is the wall against those.
"""

import math
import os
import signal
import sys
from dataclasses import dataclass

from sandbox import landlock, seccomp
from sandbox.levels import Mechanism
from sandbox.libc import LINUX, prctl

if sys.platform != "win32":
    import resource

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
NOBODY = 65534


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits that the kernel enforces.

    Args:
        memory: bytes that the process may map beyond what it has now.
        cpu_seconds: processor time, rounded up to whole seconds.
    """

    memory: int
    cpu_seconds: float


def drop_root() -> bool:
    """Become nobody, if this process is root. Returns whether it is unprivileged now."""
    if os.geteuid() != 0:
        return True
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError:  # a container without the capabilities, or without the user id
        return False
    return True


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when the thread that forked it ends.

    Args:
        parent: process id of the parent; if it is gone already, this process ends.

    Raises:
        OSError: where no kernel does that.
    """
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def hide() -> bool:
    """Keep other processes of the same user from tracing or reading this one and its forks. Returns whether it did."""
    try:
        prctl(_PR_SET_DUMPABLE, 0)
    except OSError:  # not Linux, or a container that forbids it
        return False
    return True


def prepare(wanted: Mechanism, socket: int) -> None:
    """Build once, in the zygote, what every child needs."""
    if Mechanism.SECCOMP in wanted:
        for compiling in (False, True):
            seccomp.prepare(socket, compiling=compiling)
    if Mechanism.LANDLOCK in wanted:
        landlock.version()


def lock_down(wanted: Mechanism, bounds: Bounds, socket: int, *, compiling: bool) -> None:
    """Put up every wall of `wanted`, for good.

    Args:
        wanted: which; others are left out.
        bounds: limits on resources.
        socket: the one descriptor that stays usable.
        compiling: for a child that compiles; call `seal` when it is done.

    Raises:
        OSError: if one cannot be put up; the process must then end.
    """
    code = seccomp.prepare(socket, compiling=compiling) if Mechanism.SECCOMP in wanted else b""
    memory = _address_space() + bounds.memory  # read before files are out of reach
    if Mechanism.NO_NEW_PRIVILEGES in wanted:
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if Mechanism.LANDLOCK in wanted:
        landlock.restrict()
    _limit_resources(memory, bounds.cpu_seconds, files=Mechanism.RLIMITS in wanted)
    if code:
        seccomp.install(code)


def seal(socket: int) -> None:
    """Forbid further executable pages, once compilation is over.

    Raises:
        OSError: if the kernel refuses.
    """
    seccomp.install(seccomp.prepare(socket, compiling=False))


def _address_space() -> int:
    if not LINUX:
        return 0
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - pathlib is not worth its import time here
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _limit_resources(memory: int, cpu_seconds: float, *, files: bool) -> None:
    """Memory, processor time and processes are limited in every child, even where tests leave other walls out."""
    seconds = max(1, math.ceil(cpu_seconds))
    limits = {"RLIMIT_CPU": seconds, "RLIMIT_CORE": 0, "RLIMIT_NPROC": 0, "RLIMIT_MEMLOCK": 0, "RLIMIT_MSGQUEUE": 0}
    if files:
        limits |= {"RLIMIT_FSIZE": 0, "RLIMIT_NOFILE": 0}
    if LINUX:
        limits["RLIMIT_AS"] = memory  # macOS accepts it but does not enforce it
    for name, wanted in limits.items():
        kind = getattr(resource, name, None)
        if kind is not None:
            _, present = resource.getrlimit(kind)
            hard = wanted + (1 if name == "RLIMIT_CPU" else 0)  # the soft limit's signal says why it ended
            hard = hard if present == resource.RLIM_INFINITY else min(hard, present)
            resource.setrlimit(kind, (min(wanted, hard), hard))


def bites() -> bool:
    """Whether the walls hold: what must fail, fails. For a trial child."""
    try:
        os.close(os.open("/", os.O_RDONLY))
    except OSError:
        return True
    return False
