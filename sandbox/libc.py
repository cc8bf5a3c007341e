"""The few calls of the C library that Python does not offer, with errors as `OSError`. Works on Linux; inert elsewhere.

Defends against: a wall that silently did not go up. Every call's result is checked, and a failure raises.

Does not defend against: wrong numbers or addresses from its callers; it passes on what it is given. Programs cannot reach
it, since no allowed name leads here.
"""

import ctypes
import os
import sys

LINUX = sys.platform == "linux"

_libc = ctypes.CDLL(None, use_errno=True) if LINUX else None
if _libc is not None:
    _libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]
    _libc.prctl.restype = ctypes.c_int
    _libc.syscall.restype = ctypes.c_long
_sched_getcpu = getattr(_libc, "sched_getcpu", None)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def prctl(option: int, first: int = 0, second: int = 0) -> int:
    """`prctl(2)`.

    Raises:
        OSError: as the kernel says, or because this is not Linux.
    """
    if _libc is None:
        raise OSError("prctl exists on Linux only")
    return _checked(_libc.prctl(option, first, second, 0, 0))


def current_processor() -> int | None:
    """The processor that this thread runs on just now, or None if the system does not tell."""
    number: int = _sched_getcpu() if _sched_getcpu is not None else -1
    return number if number >= 0 else None


def syscall(number: int, first: int = 0, second: int = 0, third: int = 0) -> int:
    """`syscall(2)` with integers and addresses.

    Raises:
        OSError: as the kernel says, or because this is not Linux.
    """
    if _libc is None:
        raise OSError("system calls by number exist on Linux only")
    arguments = (ctypes.c_ulong(value) for value in (first, second, third))
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments))
