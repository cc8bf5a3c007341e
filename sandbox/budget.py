"""One memory budget over all children of all workers.

Defends against: many programs that together take more memory than the machine has. Each child reserves its worst case
(its limit, its shared memory, what it may have to copy from its zygote) before it is forked, and the kernel holds it to
that. So the sum can never pass the budget, and no program fails because another was greedy: a spawn waits until there is
room.

Does not defend against: memory of the workers themselves and of their zygotes, nor workers that use another account or
none.

Workers are separate processes, so the account lies in a file: one byte per unit, locked by whoever uses it. The kernel
gives locks back when a process ends, however it ends; nothing leaks.
"""

import os
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path

from sandbox.errors import SandboxError

if sys.platform != "win32":
    import fcntl

_UNIT_MB = 16
_OFD_SETLK = 37  # Linux: a lock that belongs to the open file, not to the process
_LOCK = struct.Struct("hhqqi4x")
_PAUSE_SECONDS = 0.005


class Reservation:
    """Memory set aside for one child, until released.

    Args:
        descriptor: the open file that holds the locks.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the memory back; may be called again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class MemoryBudget:
    """A budget that several sandboxes, in this process and in others, draw on. Linux only.

    Args:
        path: a file for the account, made if it does not exist; the same for all.
        total_mb: size of the budget; the same for all.
        wait_seconds: how long a spawn waits for room.
    """

    def __init__(self, path: Path, total_mb: int, *, wait_seconds: float = 600.0) -> None:
        if total_mb < _UNIT_MB:
            raise ValueError(f"a memory budget is at least {_UNIT_MB} MB, not {total_mb}")
        self.path, self.total_mb, self.wait_seconds = path, total_mb, wait_seconds

    def fits(self, megabytes: int) -> bool:
        """Whether so much could be reserved while nobody else holds any; what others hold now has no say."""
        return _units(megabytes) <= self.total_mb // _UNIT_MB

    def reserve(self, megabytes: int) -> Reservation:
        """Set memory aside, waiting for room if need be.

        Raises:
            SandboxError: if it can never fit, there was no room in time, or this system has no such locks.
        """
        if not self.fits(megabytes):
            raise SandboxError(
                f"a child needs {megabytes} MB, but the memory budget is {self.total_mb} MB: raise the budget, or lower "
                "the memory limit of the problem"
            )
        if sys.platform != "linux":
            raise SandboxError("a shared memory budget needs Linux: run without one here")
        units = _units(megabytes)
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SandboxError(f"the account of the memory budget cannot be opened: {error}") from None
        deadline = time.monotonic() + self.wait_seconds
        reservation = Reservation(descriptor)
        while not self._take(descriptor, units):
            if time.monotonic() > deadline:
                reservation.release()
                raise SandboxError(
                    f"no {megabytes} MB free in the memory budget of {self.total_mb} MB for {self.wait_seconds:g} s: "
                    "run fewer workers, or raise the budget"
                )
            time.sleep(_PAUSE_SECONDS)
        return reservation

    def _take(self, descriptor: int, units: int) -> bool:
        """Lock `units` free bytes, all or none. Byte 0 is held meanwhile, so that two takers do not each get half."""
        if not _lock(descriptor, 0, fcntl.F_WRLCK):
            return False
        taken: list[int] = []
        for unit in range(1, self.total_mb // _UNIT_MB + 1):
            if len(taken) == units:
                break
            if _lock(descriptor, unit, fcntl.F_WRLCK):
                taken.append(unit)
        enough = len(taken) == units
        for unit in [0, *([] if enough else taken)]:
            _lock(descriptor, unit, fcntl.F_UNLCK)
        return enough


def _units(megabytes: int) -> int:
    return -(-megabytes // _UNIT_MB)


def _lock(descriptor: int, unit: int, kind: int) -> bool:
    with suppress(BlockingIOError, PermissionError):
        fcntl.fcntl(descriptor, _OFD_SETLK, _LOCK.pack(kind, os.SEEK_SET, unit, 1, 0))
        return True
    return False
