"""Starting a zygote and talking to it, from the parent's side.

Defends against: secrets reaching the zygote. It is started by exec, in a session of its own, with an environment of a
few fixed variables, without the caller's descriptors, and with an import path of just the directories it needs.

Does not defend against: secrets in those directories, or in the interpreter's own command line and installation; and a
zygote that somebody else kills or stops, which costs all its children (their failures say so).
"""

import errno
import os
import select
import socket
import subprocess
import sys
import weakref
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from sandbox.errors import SandboxError, SandboxUnavailable
from sandbox.frames import CONTROL, Command
from sandbox.levels import Mechanism

_BOOT = """
import sys
sys.path += sys.argv[4:]
from sandbox.zygote import main
main(int(sys.argv[1]), int(sys.argv[2]), compiling=sys.argv[3] == "1")
"""

_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",  # sets of strings iterate in the same order in every run
    "OPENBLAS_NUM_THREADS": "1",  # a forked process must have one thread
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "LC_ALL": "C.UTF-8",
}
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""Without these some Python installations do not start; they hold no secrets."""

_PACKAGES = ("sandbox", "numpy", "RestrictedPython")
_COMPILER_PACKAGES = ("numba", "llvmlite")
_OPTIONAL = ("scipy",)
"""Without it, programs with linear algebra are not compiled."""
_START_SECONDS = 120.0
_ANSWER_SECONDS = 60.0
_GONE = frozenset({errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.EBADF})


def import_path(*, compiling: bool) -> list[str]:
    """The directories that hold the packages a zygote needs."""
    directories: dict[str, None] = {}
    for name in (*_PACKAGES, *((*_COMPILER_PACKAGES, *_OPTIONAL) if compiling else ())):
        spec = find_spec(name)
        if spec is None and name in _OPTIONAL:
            continue
        if spec is None or not spec.submodule_search_locations:
            raise SandboxUnavailable(f"the package {name} is not installed: install it next to this one")
        directories[str(Path(spec.submodule_search_locations[0]).resolve().parent)] = None
    return list(directories)


def environment() -> dict[str, str]:
    """The environment of a zygote."""
    return _ENVIRONMENT | {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def command(boot: str, *arguments: str) -> list[str]:
    """A Python that reads no environment, no user's packages and no start-up files."""
    return [sys.executable, "-s", "-S", "-P", "-B", "-c", boot, *arguments]


class Zygote:
    """A running zygote.

    Args:
        allowed: mechanisms it may use.
        compiling: whether its children can compile.

    Raises:
        SandboxUnavailable: if it does not start.
    """

    def __init__(self, allowed: Mechanism, *, compiling: bool) -> None:
        path = import_path(compiling=compiling)
        try:
            self.line, there = socket.socketpair()
        except OSError as error:
            raise SandboxUnavailable(f"the sandbox process cannot be started: {error}") from None
        arguments = [str(there.fileno()), str(int(allowed)), "1" if compiling else "0", *path]
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                command(_BOOT, *arguments),
                env=environment(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[there.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            self.line.close()
            raise SandboxUnavailable(f"the sandbox process cannot be started: {error}") from None
        finally:
            there.close()
        _living.add(self)
        try:
            hello = self._receive(_START_SECONDS)[0]
        except (OSError, EOFError):
            complaint = self._last_words()
            self.stop()
            raise SandboxUnavailable(f"the sandbox process does not start: {complaint}") from None
        self.process.stderr.close()  # type: ignore[union-attr]
        _, mechanisms, self.own_memory = hello[:3]  # the last grows with what the compiler learns
        self.mechanisms = Mechanism(mechanisms)

    def _last_words(self) -> str:
        self.process.kill()
        _, error = self.process.communicate()
        lines = error.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "it ended, or said nothing in time"

    def _receive(self, seconds: float) -> tuple[tuple[int, ...], list[int]]:
        """One frame and the descriptors that came with it."""
        poll = select.poll()  # unlike select, it takes descriptors above 1023
        poll.register(self.line, select.POLLIN)
        if not poll.poll(seconds * 1000):
            raise TimeoutError
        data, descriptors, _, _ = socket.recv_fds(self.line, CONTROL.size, 1, socket.MSG_WAITALL)
        if len(data) < CONTROL.size:
            raise EOFError
        return CONTROL.unpack(data), descriptors

    def request_spawn(self, descriptors: list[int], numbers: tuple[int, ...]) -> None:
        """Ask for a child, without waiting for it.

        Args:
            descriptors: the child's end of its line, its inputs, its outputs.
            numbers: walls, memory, processor milliseconds, flags, sizes of inputs and outputs.

        Raises:
            OSError: if nothing could be sent; `is_gone` tells whether the zygote is gone, or this process at fault.
        """
        padding = (0,) * (7 - len(numbers))
        socket.send_fds(self.line, [CONTROL.pack(Command.SPAWN, *numbers, *padding)], descriptors)

    def spawned(self) -> tuple[int, int | None]:
        """The child that was asked for.

        Returns:
            Process id, and a handle to kill it by (a descriptor the caller owns), if the system has such handles.

        Raises:
            OSError, EOFError: if the zygote is gone.
            SandboxError: if it cannot fork; it goes on.
        """
        answer, handles = self._receive(_ANSWER_SECONDS)
        if answer[0] <= 0:
            reason = os.strerror(-answer[0])
            raise SandboxError(f"the sandbox process cannot fork a child: {reason}: run fewer workers, or free memory")
        self.own_memory = answer[1]
        return answer[0], handles[0] if handles else None

    def reap(self, pid: int) -> int | None:
        """Make sure that a child is dead and gone.

        Returns:
            Its wait status; -1 if unknown; None if the zygote is gone, and so its children with it.
        """
        try:
            self.line.sendall(CONTROL.pack(Command.REAP, pid, 0, 0, 0, 0, 0, 0))
            answer, _ = self._receive(_ANSWER_SECONDS)
        except (OSError, EOFError):
            self.stop()  # it may only be slow: then its answers would be out of step
            return None
        return answer[1]

    def release(self, pid: int) -> None:
        """Have a child ended and reaped, without waiting for it."""
        with suppress(OSError):
            self.line.sendall(CONTROL.pack(Command.RELEASE, pid, 0, 0, 0, 0, 0, 0))

    @staticmethod
    def is_gone(error: OSError) -> bool:
        """Whether an error of sending means that the other end is closed, and not that this process lacks something."""
        return error.errno in _GONE

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def stop(self) -> None:
        """End it and its children."""
        self.line.close()
        if self.process.stderr is not None:
            self.process.stderr.close()
        self.process.kill()
        self.process.wait()
        _living.discard(self)


_living: "weakref.WeakSet[Zygote]" = weakref.WeakSet()


def _forget_in_fork() -> None:
    """A forked copy of the caller must not keep zygotes alive, nor talk to them."""
    for zygote in list(_living):
        with suppress(OSError):
            zygote.line.close()
    _living.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_fork)
