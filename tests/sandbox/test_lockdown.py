"""The operating-system layer alone: what a program with the whole language, and with native code, can still do.

The static layer is off here (`Layers.OS`). ctypes is loaded in every zygote, so a program can make any system call and
write anywhere in its own memory.
"""

import errno
import os
import platform
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from sandbox import (
    ChildFailed,
    Field,
    Layers,
    Layout,
    Level,
    Limits,
    Output,
    ParameterField,
    Refused,
    Sandbox,
    Status,
    seccomp,
)

LAYOUT = Layout(entry="f", fields=(Field(name="x"),), output=Output(dtype="int"))
LIBC = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])

def mmap(protection):
    return call(9, 0, 4096, protection, 0x22, -1, 0)

def mprotect(page, protection):
    return call(10, page, 4096, protection)
"""

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="system-call numbers of x86-64")


@pytest.fixture(autouse=True)
def whole_level(sandbox: Sandbox) -> None:
    if sandbox.level < Level.OS_FULL:
        pytest.skip(f"this machine reaches only {sandbox.level}")


def run(
    sandbox: Sandbox,
    body: str,
    value: float = 0.0,
    *,
    compiled: bool = False,
    limits: Limits | None = None,
) -> int:
    """Run a native program; its answer, or what became of it as an exception."""
    lines = "\n    ".join(body.strip().splitlines())
    text = f"{LIBC}\ndef f(x):\n    {lines}\n"
    with sandbox.spawn(text, LAYOUT, max_rows=2, layers=Layers.OS, limits=limits, compiled=compiled) as child:
        child.bind(np.zeros((1, 0)))
        block = child.call({"x": np.array([value])})
    assert block.error is None, block.error
    return int(block.actions[0])


CALL = """
ctypes.set_errno(0)
result = call({number}, {arguments})
return -ctypes.get_errno() if result == -1 else result
"""

HARMLESS = {
    10: "mprotect", 11: "munmap", 12: "brk", 15: "rt_sigreturn", 24: "sched_yield", 60: "exit", 228: "clock_gettime",
    231: "exit_group", 335: "uretprobe", 336: "uprobe",
}  # fmt: skip
"""Calls that are allowed with these arguments, or with any; the last two never reach a filter in newer kernels, which
answer whoever is not being probed with an error or a signal."""


@pytest.mark.parametrize("first", range(0, 470, 10))
def test_every_other_system_call_fails_or_kills(sandbox: Sandbox, first: int) -> None:
    for number in range(first, first + 10):
        if number in HARMLESS:
            continue
        try:
            result: int | str = run(sandbox, CALL.format(number=number, arguments="0, 0, 0, 0, 0, 0"))
        except ChildFailed as failure:
            result = failure.kind
        assert result in {-errno.EPERM, -errno.ENOMEM, "forbidden_call"}, number


@pytest.mark.parametrize(
    ("number", "arguments"),
    [
        (0x40000001, "3, b'x', 1"),  # x32: the same calls by other numbers
        (0x40000000 + 39, "0"),
        (500, "0"),
        (2**31 - 1, "0"),
    ],
)
def test_strange_numbers_kill(sandbox: Sandbox, number: int, arguments: str) -> None:
    with pytest.raises(ChildFailed) as caught:
        run(sandbox, CALL.format(number=number, arguments=arguments))
    assert caught.value.kind == "forbidden_call"


@pytest.mark.parametrize(
    ("name", "number", "arguments"),
    [
        ("write to another descriptor", 1, "1, b'x', 1"),
        ("write to the first free descriptor", 1, "4, b'x', 1"),
        ("read from another descriptor", 0, "0, ctypes.create_string_buffer(8), 8"),
        ("executable memory", 9, "0, 4096, 5, 0x22, -1, 0"),
        ("writable executable memory", 9, "0, 4096, 7, 0x22, -1, 0"),
        ("shared memory", 9, "0, 4096, 3, 0x21, -1, 0"),
        ("memory of a file", 9, "0, 4096, 1, 2, 3, 0"),
        ("memory at a forced address", 9, "0x10000, 4096, 3, 0x32, -1, 0"),
        ("huge pages", 9, "0, 4096, 3, 0x40022, -1, 0"),
        ("locked memory", 9, "0, 4096, 3, 0x2022, -1, 0"),
        ("growing stack", 9, "0, 4096, 3, 0x122, -1, 0"),
        ("remapping", 25, "0, 4096, 8192, 1, 0"),
        ("futex with priority inheritance", 202, "ctypes.create_string_buffer(4), 6 | 128, 0, 0, 0, 0"),
        ("shared futex", 202, "ctypes.create_string_buffer(4), 1, 0, 0, 0, 0"),
        ("requeue", 202, "ctypes.create_string_buffer(4), 4 | 128, 0, 0, 0, 0"),
        ("punching holes", 28, "0, 4096, 9"),
        ("poisoning pages", 28, "0, 4096, 100"),
        ("forking", 57, "0"),
        ("threads", 56, "0x10f00, 0, 0, 0, 0"),
        ("signal handlers", 13, "24, 0, 0, 8"),
        ("larger limits", 302, "0, 0, 0, 0"),
        ("closing the line", 3, "3"),
    ],
)
def test_arguments_are_looked_at(sandbox: Sandbox, name: str, number: int, arguments: str) -> None:
    assert run(sandbox, CALL.format(number=number, arguments=arguments)) in {-errno.EPERM, -errno.ENOMEM}


@pytest.mark.parametrize(
    ("name", "number", "arguments"),
    [
        ("socket", 41, "2, 1, 0"),
        ("socketpair", 53, "1, 1, 0, 0"),
        ("sendmsg, which could pass descriptors", 46, "3, 0, 0"),
        ("recvmsg", 47, "3, 0, 0"),
        ("sendto", 44, "3, b'x', 1, 0, 0, 0"),
        ("execve", 59, "b'/bin/true', 0, 0"),
        ("kill", 62, "1, 0"),
        ("tgkill", 234, "1, 1, 0"),
        ("ptrace", 101, "0, 0, 0, 0"),
        ("process_vm_writev", 311, "1, 0, 0, 0, 0, 0"),
        ("process_vm_readv", 310, "1, 0, 0, 0, 0, 0"),
        ("pidfd_open", 434, "1, 0"),
        ("pidfd_getfd", 438, "3, 0, 0"),
        ("prctl", 157, "4, 1, 0, 0, 0"),
        ("seccomp", 317, "0, 0, 0"),
        ("memfd_create", 319, "b'x', 0"),
        ("ftruncate", 77, "3, 0"),
        ("fallocate", 285, "3, 0, 0, 4096"),
        ("userfaultfd", 323, "0"),
        ("io_uring_setup", 425, "8, ctypes.create_string_buffer(256)"),
        ("bpf", 321, "0, 0, 0"),
        ("perf_event_open", 298, "0, 0, -1, -1, 0"),
        ("keyctl", 250, "0, 0, 0, 0, 0"),
        ("unshare", 272, "0x10000000"),
        ("mount", 165, "0, 0, 0, 0, 0"),
        ("chroot", 161, "b'/'"),
        ("setuid", 105, "0"),
        ("personality", 135, "0"),
        ("arch_prctl", 158, "0x1003, 0"),
        ("rseq", 334, "0, 0, 0, 0"),
        ("set_robust_list", 273, "0, 0"),
        ("membarrier", 324, "0, 0"),
        ("pkey_mprotect", 329, "0, 4096, 7, 0"),
        ("shmget", 29, "0, 4096, 0o1600"),
        ("timer_create", 222, "0, 0, 0"),
        ("setitimer", 38, "0, 0, 0"),
        ("alarm", 37, "1"),
        ("pause", 34, "0"),
        ("sched_setaffinity", 203, "0, 8, 0"),
        ("setpriority", 141, "0, 0, -20"),
        ("inotify_init", 253, "0"),
        ("epoll_create", 213, "1"),
        ("eventfd", 290, "0, 0"),
        ("dup2", 33, "3, 9"),
        ("landlock_create_ruleset", 444, "0, 0, 1"),
        ("landlock_restrict_self", 446, "3, 0"),
        ("mlockall", 151, "1"),
        ("vmsplice", 278, "3, 0, 0, 0"),
        ("modify_ldt", 154, "0, 0, 0"),
        ("iopl", 172, "3"),
        ("swapon", 167, "0, 0"),
        ("reboot", 169, "0, 0, 0, 0"),
        ("init_module", 175, "0, 0, 0"),
    ],
)
def test_calls_that_kill(sandbox: Sandbox, name: str, number: int, arguments: str) -> None:
    with pytest.raises(ChildFailed) as caught:
        run(sandbox, CALL.format(number=number, arguments=arguments))
    assert caught.value.kind == "forbidden_call", name


def test_memory_for_itself_works(sandbox: Sandbox) -> None:
    body = """
page = mmap(3)
ctypes.memset(page, 7, 4096)
result = ctypes.c_ubyte.from_address(page + 99).value
return result if call(11, page, 4096) == 0 else -1
"""
    assert run(sandbox, body) == 7


@pytest.mark.parametrize("compiled", [False, True])
def test_no_page_becomes_executable(sandbox: Sandbox, compiled: bool) -> None:
    body = """
page = mmap(3)
ctypes.memmove(page, b"\\xb8\\x07\\x00\\x00\\x00\\xc3", 6)
attempts = [mprotect(page, protection) for protection in (4, 5, 6, 7, 0x1000005, 13)]
return sum(attempts)
"""
    assert run(sandbox, body, compiled=compiled) == -6


def test_a_compiling_child_has_no_pages_that_are_writable_and_executable(sandbox: Sandbox) -> None:
    """Until its compilation is over, pages may become executable, but never writable at the same time."""
    text = f"""{LIBC}
page = mmap(3)
BOTH, READ, NEW = mprotect(page, 7), mprotect(page, 5), mmap(7)
def f(x):
    return 100 * BOTH + 10 * READ + NEW
"""
    with sandbox.spawn(text, LAYOUT, max_rows=1, layers=Layers.OS, compiled=True) as child:
        child.bind(np.zeros((1, 0)))
        assert child.call({"x": np.zeros(1)}).actions.tolist() == [-101]


def test_inputs_cannot_be_made_writable(sandbox: Sandbox) -> None:
    layout = Layout(entry="f", fields=(Field(name="x", shape=(4,)),), output=Output(dtype="int"))
    text = f"""{LIBC}
def f(x):
    address = x.ctypes.data
    changed = mprotect(address & ~4095, 3)
    if x[0] == 2.0:
        ctypes.memset(address, 0, 8)
    return changed
"""
    with sandbox.spawn(text, layout, max_rows=1, layers=Layers.OS) as child:
        child.bind(np.zeros((1, 0)), np.zeros(1, int), np.zeros(1, int))
        state = child.buffer("x")
        state[:] = 1.0
        assert child.call({"x": state}).actions[0] == -1
        state[:] = 2.0
        with pytest.raises(ChildFailed) as caught:
            child.call({"x": state})
        assert caught.value.kind == "crashed"
        assert state.tolist() == [[2.0] * 4]


def test_compiled_code_cannot_write_its_inputs(sandbox: Sandbox) -> None:
    """Whatever the compiler thinks of a sort in place: the kernel has the last word."""
    layout = Layout(entry="f", fields=(Field(name="x", shape=(4,)),))
    for body in (
        "x.sort()",
        "x.fill(0.0)",
        "x[:] = 0.0",
        "x += 1.0",
        "x[::-1][0] = 3.0",
        "x.reshape(2, 2)[0, 0] = 3.0",
    ):
        with sandbox.spawn(f"def f(x):\n    {body}\n    return 1.0\n", layout, max_rows=1, compiled=True) as child:
            child.bind(np.zeros((1, 0)), np.zeros(1, int), np.zeros(1, int))
            state = child.buffer("x")
            state[:] = [[3.0, 1.0, 2.0, 0.0]]
            block = child.call({"x": state})
            assert block.status.tolist() == [Status.RAISED], body
            assert state.tolist() == [[3.0, 1.0, 2.0, 0.0]]


def test_no_environment_no_arguments_no_files(sandbox: Sandbox) -> None:
    body = """
import os, sys
names = [name for name in os.environ]
return len(names) + len(sys.argv) + len(sys.orig_argv)
"""
    assert run(sandbox, body) == 0


def test_no_descriptor_but_the_line(sandbox: Sandbox) -> None:
    body = """
found = 0
for descriptor in range(256):
    ctypes.set_errno(0)
    call(1, descriptor, b"", 0)
    found += ctypes.get_errno() != 1
return found
"""
    assert run(sandbox, body) == 1  # only the line may be written, to judge by the errors


def test_one_thread_and_not_root(sandbox: Sandbox) -> None:
    with sandbox.spawn("def f(x):\n    return 1\n", LAYOUT, max_rows=1) as child:
        status = Path(f"/proc/{child._connection.pid}/status").read_text()
        facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert facts["Threads"].strip() == "1"
        assert facts["NoNewPrivs"].strip() == "1"
        assert facts["Seccomp"].strip() == "2"
        assert facts["Uid"].split()[0] != "0"
        assert int(facts["CapEff"], 16) == 0
        if os.geteuid() == 0:
            assert len(list(Path(f"/proc/{child._connection.pid}/fd").iterdir())) <= 4


def test_the_filter_is_built_for_both_architectures() -> None:
    """Only x86-64 can be tried here; the other must at least be well formed: straight jumps, within the program."""
    for machine in seccomp._MACHINES.values():
        for compiling in (False, True):
            code = seccomp._filter(machine, 3, compiling=compiling)
            assert len(code) % 8 == 0
            count = len(code) // 8
            assert count < 4096
            for place in range(count):
                operation, yes, no = (
                    int.from_bytes(code[8 * place : 8 * place + 2], "little"),
                    *code[8 * place + 2 : 8 * place + 4],
                )
                if operation & 7 == 5:
                    assert place + 1 + max(yes, no) < count


NATIVE = """
import ctypes, mmap, sys
from sandbox import lockdown, seccomp

code = bytes.fromhex(sys.argv[1])
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
run = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
filter = seccomp.prepare(1, compiling=False)
lockdown.prctl(38, 1)
seccomp.install(filter)
result = run()
import os
os.write(1, str(result).encode())
os._exit(0)
"""


@pytest.mark.parametrize(
    ("name", "code", "output"),
    [
        ("nothing", "b805000000c3", b"5"),  # mov eax, 5; ret: native code runs at all
        ("a 32-bit call", "b814000000cd80c3", None),  # mov eax, 20 (getpid); int 0x80; ret
        ("an x32 call", "b827000040" + "0f05c3", None),  # mov eax, 0x40000027; syscall; ret
        ("a call that fails", "b827000000" + "0f05c3", b"-1"),  # mov eax, 39 (getpid); syscall; ret
        ("a call that kills", "b829000000" + "0f05c3", None),  # mov eax, 41 (socket); syscall; ret
    ],
)
def test_native_code_meets_the_same_filter(name: str, code: str, output: bytes | None) -> None:
    """With a page that was executable before the filter came: what a compiled child has."""
    done = subprocess.run(
        [sys.executable, "-c", NATIVE, code], cwd=Path(__file__).parents[2], capture_output=True, check=False
    )
    if output is None:
        assert done.returncode == -signal.SIGSYS, done.stderr
    else:
        assert (done.returncode, done.stdout) == (0, output), done.stderr


def test_unknown_machines_have_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(OSError, match="riscv64"):
        seccomp.prepare(3, compiling=False)


def test_module_code_cannot_run_away(sandbox: Sandbox) -> None:
    with pytest.raises((ChildFailed, Refused)):
        sandbox.spawn(f"{LIBC}\ncall(41, 2, 1, 0)\ndef f(x):\n    return 1\n", LAYOUT, layers=Layers.OS)


def test_stack_exhaustion_ends_only_the_child(sandbox: Sandbox) -> None:
    body = """
import sys
sys.setrecursionlimit(10 ** 8)
def deep(n):
    return [deep(n + 1)][0]
return deep(0)
"""
    with pytest.raises((ChildFailed, AssertionError)):
        run(sandbox, body, limits=Limits(call_seconds=1.0, memory_mb=64))
    assert run(sandbox, "return 5") == 5


def test_python_that_is_turned_inside_out(sandbox: Sandbox) -> None:
    """A program with the whole language may wreck its own interpreter; only it is the worse for it."""
    for body in (
        "import sys\nsys.modules.clear()\nreturn 1",
        "import builtins\nbuiltins.len = None\nreturn 1",
        "import gc\nfor o in gc.get_objects():\n    try:\n        o.clear()\n    except Exception:\n        pass\nreturn 1",
        "import os\nos._exit(0)",
        "raise SystemExit",
        "raise KeyboardInterrupt",
        "import sys\nsys.settrace(lambda *a: None)\nreturn 1",
        "import numpy\nnumpy.frombuffer = None\nreturn 1",
    ):
        with suppress(ChildFailed, AssertionError):
            run(sandbox, body)
    assert run(sandbox, "return 5") == 5


def test_parameters_reach_native_programs_too(sandbox: Sandbox) -> None:
    layout = Layout(entry="f", fields=(Field(name="x"),), parameters=(ParameterField(name="a"),))
    with sandbox.spawn("def f(x, *, a):\n    return a\n", layout, max_rows=1, layers=Layers.OS) as child:
        child.bind(np.array([[4.5]]))
        assert child.call({"x": np.zeros(1)}).actions[0] == 4.5
