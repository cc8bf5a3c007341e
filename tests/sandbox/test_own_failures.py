"""What the caller's own process lacks costs one spawn: its zygote and its other children go on."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from sandbox import ChildFailed, Field, Layout, Level, Limits, MemoryBudget, Sandbox, SandboxError
from sandbox.launch import Zygote

LAYOUT = Layout(entry="f", fields=(Field(name="x"),))
HUGE = Layout(entry="f", fields=(Field(name="x", shape=(10**7,)),))
SOURCE = "def f(x):\n    return x\n"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="shared memory of this kind is Linux's")


def answers(sandbox: Sandbox) -> bool:
    with sandbox.spawn(SOURCE, LAYOUT) as child:
        child.bind(np.zeros((1, 0)))
        return bool((child.call({"x": np.ones(2)}).actions == 1.0).all())


@pytest.mark.parametrize("max_rows", [10**7, 10**15])
def test_a_block_too_large_costs_one_spawn(max_rows: int) -> None:
    with Sandbox() as sandbox, sandbox.spawn(SOURCE, LAYOUT, max_rows=2) as sibling:
        zygote = sandbox._zygotes[False].process.pid
        sibling.bind(np.zeros((1, 0)))
        with pytest.raises(SandboxError, match=r"shares \d+ MB .* cannot be started: .*: lower max_rows") as caught:
            sandbox.spawn(SOURCE, HUGE, max_rows=max_rows)
        assert type(caught.value) is SandboxError
        assert "\n" not in str(caught.value)
        assert sibling.call({"x": np.ones(2)}).actions.tolist() == [1.0, 1.0]
        assert answers(sandbox)
        assert sandbox._zygotes[False].process.pid == zygote


def test_a_block_too_large_without_a_zygote() -> None:
    with Sandbox(require=Level.LANGUAGE_ONLY, at_most=Level.LANGUAGE_ONLY) as sandbox:
        with pytest.raises(SandboxError, match=r"cannot be started: .*: lower max_rows"):
            sandbox.spawn(SOURCE, HUGE, max_rows=10**15)
        assert answers(sandbox)


def test_absurd_limits_are_no_limits() -> None:
    with Sandbox() as sandbox, sandbox.spawn(SOURCE, LAYOUT, max_rows=2) as sibling:
        sibling.bind(np.zeros((1, 0)))
        limits = Limits(memory_mb=10**15, cpu_seconds=1e18)
        with sandbox.spawn(SOURCE, LAYOUT, limits=limits, max_rows=2) as child:
            child.bind(np.zeros((1, 0)))
            assert child.call({"x": np.ones(2)}).actions.tolist() == [1.0, 1.0]
        assert sibling.call({"x": np.ones(2)}).actions.tolist() == [1.0, 1.0]


EXHAUSTED = """
import os, resource
import numpy as np
from sandbox import Field, Layout, Sandbox, SandboxError
layout = Layout(entry="f", fields=(Field(name="x"),))
source = "def f(x):\\n    return x\\n"
with Sandbox() as sandbox, sandbox.spawn(source, layout) as sibling:
    sibling.bind(np.zeros((1, 0)))
    before = sandbox._zygotes[False].process.pid
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    for room in range(8):
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + room, limits[1]))
        try:
            with sandbox.spawn(source, layout) as child:
                child.bind(np.zeros((1, 0)))
                print("up", child.call({"x": np.ones(1)}).actions.tolist())
        except SandboxError as error:
            print(type(error).__name__, error)
        assert sibling.call({"x": np.ones(1)}).actions.tolist() == [1.0]
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    with sandbox.spawn(source, layout) as child:
        child.bind(np.zeros((1, 0)))
        assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]
    assert sandbox._zygotes[False].process.pid == before
"""


def test_no_descriptors_left_costs_one_spawn() -> None:
    """With room for none, one, two … descriptors; with enough of them it comes up."""
    done = subprocess.run([sys.executable, "-c", EXHAUSTED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 8
    assert lines[-1] == "up [1.0]"
    failed = [line for line in lines if line != "up [1.0]"]
    assert failed
    assert all(line.startswith("SandboxError a child that shares") for line in failed)
    assert all("Too many open files: lower max_rows" in line for line in failed)


def test_many_open_descriptors_do_no_harm() -> None:
    """Descriptors above 1023 are beyond what `select` takes."""
    text = """
    import os, resource
    import numpy as np
    from sandbox import Field, Layout, Sandbox
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2048), hard))
    held = [os.dup(0) for _ in range(1100)]
    with Sandbox() as sandbox:
        with sandbox.spawn("def f(x):\\n    return x\\n", Layout(entry="f", fields=(Field(name="x"),))) as child:
            child.bind(np.zeros((1, 0)))
            assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]
    """
    command = [sys.executable, "-c", textwrap.dedent(text)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_zygote_that_cannot_fork_costs_one_spawn(monkeypatch: pytest.MonkeyPatch) -> None:
    with Sandbox() as sandbox, sandbox.spawn(SOURCE, LAYOUT, max_rows=2) as sibling:
        sibling.bind(np.zeros((1, 0)))
        real = Zygote._receive

        def without_memory(self: Zygote, seconds: float) -> tuple[tuple[int, ...], list[int]]:
            (pid, *_), handles = real(self, seconds)
            os.kill(pid, signal.SIGKILL)
            for handle in handles:
                os.close(handle)
            return (-12, 0, 0, 0, 0, 0, 0, 0), []

        with monkeypatch.context() as patch:
            patch.setattr(Zygote, "_receive", without_memory)
            with pytest.raises(SandboxError, match="cannot fork a child: Cannot allocate memory"):
                sandbox.spawn(SOURCE, LAYOUT)
        assert sibling.call({"x": np.ones(2)}).actions.tolist() == [1.0, 1.0]


def test_an_account_that_cannot_be_opened_costs_one_spawn(tmp_path: Path) -> None:
    budget = MemoryBudget(tmp_path / "missing" / "account", 4096)
    with Sandbox(budget=budget) as sandbox, pytest.raises(SandboxError, match="account of the memory budget"):
        sandbox.spawn(SOURCE, LAYOUT)


def test_a_killed_zygote_is_told_apart_from_a_program_that_crashed() -> None:
    with Sandbox() as sandbox:
        child, other = (sandbox.spawn(SOURCE, LAYOUT) for _ in range(2))
        for each in (child, other):
            each.bind(np.zeros((1, 0)))
        sandbox._zygotes[False].process.send_signal(signal.SIGKILL)
        sandbox._zygotes[False].process.wait()
        for each in (child, other):
            with pytest.raises(ChildFailed, match="the sandbox process ended") as caught:
                each.call({"x": np.ones(1)})
            assert caught.value.kind == "sandbox"
        assert answers(sandbox)


def test_a_zygote_killed_while_a_program_starts_is_told_apart() -> None:
    class Killed(Sandbox):
        def _take(self, berth: object, request: object) -> None:
            super()._take(berth, request)  # type: ignore[arg-type]
            self._zygotes[False].process.kill()

    with Killed() as sandbox, pytest.raises(ChildFailed) as caught:
        sandbox.spawn("N = sum(range(10 ** 11))\n" + SOURCE, LAYOUT)
    assert caught.value.kind == "sandbox"
