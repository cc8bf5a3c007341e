"""A container that forbids a mechanism: the level is named, programs run, and nothing fails to start."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRCTL = {"x86_64": 157, "aarch64": 167}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in PRCTL, reason="filters system calls by number"
)

FORBIDDEN = """
import ctypes, struct, sys

prctl, denied = int(sys.argv[1]), [int(word) for word in sys.argv[2].split(",")]
PERMISSION, ALLOW = 0x50001, 0x7FFF0000
code = [(0x20, 0, 0, 0), (0x15, 0, 1, prctl), (0x05, 0, 0, 1), (0x06, 0, 0, ALLOW), (0x20, 0, 0, 16)]
for option in denied:
    code += [(0x15, 0, 1, option), (0x06, 0, 0, PERMISSION)]
raw = b"".join(struct.pack("<HBBI", *one) for one in [*code, (0x06, 0, 0, ALLOW)])

class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))

library = ctypes.CDLL(None, use_errno=True)
assert library.prctl(38, 1, 0, 0, 0) == 0
if library.prctl(22, 2, ctypes.byref(Program(len(raw) // 8, raw)), 0, 0) != 0:
    print("no filters here")
    sys.exit()

import numpy as np
from sandbox import Field, Layout, Level, Sandbox, SandboxUnavailable, probe

report = probe()
print(report.level, *(wall.name for wall in report.mechanisms if not wall.present))
with Sandbox(require=Level.LANGUAGE_ONLY) as sandbox:
    child = sandbox.spawn("def f(x):\\n    return x + 1.0\\n", Layout(entry="f", fields=(Field(name="x"),)))
    child.bind(np.zeros((1, 0)))
    print(sandbox.level, *child.call({"x": np.ones(2)}).actions)
with Sandbox() as sandbox:
    try:
        print("strong enough", sandbox.level)
    except SandboxUnavailable as error:
        print(error)
"""
DEATH, DUMPABLE, SECCOMP, PRIVILEGES = 1, 4, 22, 38


@pytest.mark.parametrize(
    ("denied", "level", "missing"),
    [
        ([DUMPABLE], "os-partial", {"hidden"}),
        ([DEATH], "os-partial", {"parent-death"}),
        ([SECCOMP], "rlimits", {"seccomp"}),
        ([PRIVILEGES], "rlimits", {"no-new-privileges", "seccomp", "landlock"}),
        ([DEATH, DUMPABLE, SECCOMP, PRIVILEGES], "rlimits", {"hidden", "parent-death", "seccomp", "no-new-privileges"}),
    ],
)
def test_a_container_that_forbids(denied: list[int], level: str, missing: set[str]) -> None:
    command = [sys.executable, "-c", FORBIDDEN, str(PRCTL[platform.machine()]), ",".join(map(str, denied))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    if first == "no filters here":
        pytest.skip("this machine has no system-call filters to forbid anything with")
    found, *without = first.split()
    assert found == level
    assert missing <= set(without)
    assert rest[0] == f"{level} 2.0 2.0"
    if level == "os-partial":
        assert rest[1] == "strong enough os-partial"
    else:
        start = "the sandbox reaches only the level rlimits on this machine, but os-partial is required; missing: "
        assert rest[1].startswith(start)
        named = rest[1].removeprefix(start).partition(";")[0].split(", ")
        assert set(named) == missing & {"seccomp", "no-new-privileges"}  # what is not required is not named
