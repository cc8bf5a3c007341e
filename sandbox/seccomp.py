"""The system-call filter of a child: what native code could still ask the kernel for.

Defends against: files, sockets, processes, threads, signals, timers, sharing, tracing, loading code, and every other
part of the kernel that a program has no use for. Allowed are memory for itself, its one socket, giving up the
processor, the clock and the end. What harmless library code may try (opening a file, say) fails with an error; anything
else ends the process at once.

Pages that can be executed: none can be made, except in a child that compiles, and there only until its compilation is
over (a second filter closes that too); never a page that is writable at the same time.

Does not defend against: use of processor time and memory (limits), and flaws in the few calls that are left.

The filter is classic BPF, built here as bytes and installed with `prctl`; no library, no privilege. It knows x86-64 and
AArch64; elsewhere the mechanism counts as missing.
"""

import ctypes
import errno
import functools
import platform
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sandbox.libc import prctl

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000

_LOAD, _JUMP_EQ, _JUMP_GE, _JUMP_ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_X32 = 0x40000000

_PROT_READ, _PROT_WRITE, _PROT_EXEC = 1, 2, 4
_MAP_PRIVATE_ANONYMOUS = 0x22
_MAP_HARMLESS = 0x4000 | 0x20000  # MAP_NORESERVE and MAP_STACK change nothing that matters here
_ADVICE = (4, 14, 15)  # MADV_DONTNEED, MADV_HUGEPAGE, MADV_NOHUGEPAGE
_FUTEX_PRIVATE, _FUTEX_CLOCK = 128, 256
_FUTEX_OPERATIONS = (0, 1, 9, 10)  # WAIT, WAKE and the same with a bitset; not the ones with priority inheritance


@dataclass(frozen=True)
class _Machine:
    """Numbers of one architecture: its audit name, and of each call that the filter names."""

    audit: int
    allowed: dict[str, int]
    failing: tuple[int, ...]


_X86_64 = _Machine(
    audit=0xC000003E,
    allowed={
        "read": 0, "write": 1, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigreturn": 15, "sched_yield": 24,
        "mremap": 25, "madvise": 28, "exit": 60, "prctl": 157, "futex": 202, "clock_gettime": 228, "exit_group": 231,
    },
    # open close stat fstat lstat poll lseek rt_sigaction rt_sigprocmask ioctl pread64 access select nanosleep getpid
    # clone fork vfork uname fcntl getcwd readlink gettimeofday getrlimit getrusage sysinfo times getuid getgid geteuid
    # getegid getppid sigaltstack gettid time sched_getaffinity getdents64 clock_getres clock_nanosleep openat newfstatat
    # readlinkat faccessat ppoll prlimit64 getrandom statx clone3 openat2 faccessat2
    failing=(
        2, 3, 4, 5, 6, 7, 8, 13, 14, 16, 17, 21, 23, 35, 39, 56, 57, 58, 63, 72, 79, 89, 96, 97, 98, 99, 100, 102, 104,
        107, 108, 110, 131, 186, 201, 204, 217, 229, 230, 257, 262, 267, 269, 271, 302, 318, 332, 435, 437, 439,
    ),
)  # fmt: skip

_AARCH64 = _Machine(
    audit=0xC00000B7,
    allowed={
        "read": 63, "write": 64, "exit": 93, "exit_group": 94, "futex": 98, "clock_gettime": 113, "sched_yield": 124,
        "rt_sigreturn": 139, "prctl": 167, "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226,
        "madvise": 233,
    },
    # getcwd fcntl ioctl faccessat openat close getdents64 lseek pread64 ppoll readlinkat newfstatat fstat nanosleep
    # clock_getres clock_nanosleep sched_getaffinity sigaltstack rt_sigaction rt_sigprocmask times uname getrusage
    # gettimeofday getpid getppid getuid geteuid getgid getegid gettid sysinfo clone prlimit64 getrandom statx clone3
    # openat2 faccessat2
    failing=(
        17, 25, 29, 48, 56, 57, 61, 62, 67, 73, 78, 79, 80, 101, 114, 115, 123, 132, 134, 135, 153, 160, 165, 169, 172,
        173, 174, 175, 176, 177, 178, 179, 220, 261, 278, 291, 435, 437, 439,
    ),
)  # fmt: skip

_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}


class _Program:
    """A BPF program under construction: straight-line blocks, each of which ends in a verdict."""

    def __init__(self) -> None:
        self.code: list[bytes] = []

    def add(self, operation: int, value: int, yes: int = 0, no: int = 0) -> None:
        self.code.append(struct.pack("<HBBI", operation, yes, no, value))

    def verdict(self, value: int) -> None:
        self.add(_RETURN, value)

    def argument(self, place: int) -> None:
        """Load the low half of an argument; all that are tested here are 32-bit, or have no meaning above."""
        self.add(_LOAD, 16 + 8 * place)

    def one_of(self, values: Sequence[int], otherwise: int) -> None:
        """Allow if the loaded value is one of `values`."""
        for value in values:
            self.add(_JUMP_EQ, value, 0, 1)
            self.verdict(_ALLOW)
        self.verdict(otherwise)

    def on(self, number: int, block: "_Program") -> None:
        """Run `block` for one system call."""
        self.add(_JUMP_EQ, number, 0, len(block.code))
        self.code += block.code


def _fails(code: int = errno.EPERM) -> int:
    return _ERRNO | code


def _only_socket(socket: int) -> _Program:
    block = _Program()
    block.argument(0)
    block.one_of([socket], _fails())
    return block


def _private_memory() -> _Program:
    """mmap: anonymous, private, neither executable nor at a forced address."""
    block = _Program()
    block.argument(2)
    block.add(_JUMP_ANY_BIT, 0xFFFFFFFC, 0, 1)  # more than reading and writing
    block.verdict(_fails())
    block.argument(3)
    block.add(_AND, 0xFFFFFFFF & ~_MAP_HARMLESS)
    block.one_of([_MAP_PRIVATE_ANONYMOUS], _fails())
    return block


def _protection(*, executable: bool) -> _Program:
    block = _Program()
    block.argument(2)
    code = [_PROT_EXEC, _PROT_READ | _PROT_EXEC] if executable else []  # never writable at the same time
    block.one_of([0, _PROT_READ, _PROT_WRITE, _PROT_READ | _PROT_WRITE, *code], _fails())
    return block


def _futex() -> _Program:
    block = _Program()
    block.argument(1)
    block.add(_AND, 0xFFFFFFFF & ~_FUTEX_CLOCK)
    block.one_of([_FUTEX_PRIVATE | operation for operation in _FUTEX_OPERATIONS], _fails())
    return block


def _argument_is(place: int, values: Iterable[int], otherwise: int) -> _Program:
    block = _Program()
    block.argument(place)
    block.one_of(list(values), otherwise)
    return block


def _always(value: int) -> _Program:
    block = _Program()
    block.verdict(value)
    return block


def _filter(machine: _Machine, socket: int, *, compiling: bool) -> bytes:
    """The whole filter.

    Args:
        machine: whose numbers to use.
        socket: the one descriptor that may be read and written.
        compiling: executable pages may still be made, and a stricter filter added.
    """
    program = _Program()
    program.add(_LOAD, _ARCHITECTURE)
    program.add(_JUMP_EQ, machine.audit, 1, 0)
    program.verdict(_KILL)
    program.add(_LOAD, _NUMBER)
    program.add(_JUMP_GE, _X32, 0, 1)  # the x32 numbers of x86-64 reach the same calls past the tests below
    program.verdict(_KILL)
    number = machine.allowed
    blocks = {
        "read": _only_socket(socket),
        "write": _only_socket(socket),
        "sched_yield": _always(_ALLOW),
        "futex": _futex(),
        "mmap": _private_memory(),
        "munmap": _always(_ALLOW),
        "mprotect": _protection(executable=compiling),
        "madvise": _argument_is(2, _ADVICE, _fails()),
        "brk": _always(_ALLOW),
        "mremap": _always(_fails(errno.ENOMEM)),  # the C library then copies; one complicated call less
        "clock_gettime": _always(_ALLOW),
        "rt_sigreturn": _always(_ALLOW),
        "exit": _always(_ALLOW),
        "exit_group": _always(_ALLOW),
        "prctl": _argument_is(0, [_PR_SET_SECCOMP] if compiling else [], _KILL),
    }
    for name, block in blocks.items():
        program.on(number[name], block)
    for call in machine.failing:
        program.on(call, _always(_fails()))
    program.verdict(_KILL)
    return b"".join(program.code)


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def machine_name() -> str | None:
    """The architecture whose system calls are known, or None."""
    name = platform.machine()
    known = name in _MACHINES and sys.platform == "linux" and sys.maxsize > 2**32 and sys.byteorder == "little"
    return name if known else None


@functools.cache
def prepare(socket: int, *, compiling: bool) -> bytes:
    """Build the filter before locking down; a zygote does so once, and its children find it built.

    Args:
        socket: the descriptor that stays usable.
        compiling: for a child that compiles; call `install` again with `compiling=False` afterwards.

    Raises:
        OSError: on an architecture whose system calls are not known.
    """
    name = machine_name()
    if name is None:
        raise OSError(errno.ENOSYS, f"no system-call table for {platform.machine()}")
    return _filter(_MACHINES[name], socket, compiling=compiling)


def install(code: bytes) -> None:
    """Put a filter in force for this process, for good. Several add up; the strictest verdict counts.

    Raises:
        OSError: if the kernel refuses.
    """
    program = _FilterProgram(len(code) // 8, code)
    prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(program))
