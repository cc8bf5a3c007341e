"""One memory budget over the children of several processes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sandbox import Field, Layers, Layout, Limits, MemoryBudget, Sandbox, SandboxError
from sandbox.berth import Berth, Request

LAYOUT = Layout(entry="f", fields=(Field(name="x"),))
SOURCE = "def f(x):\n    return x\n"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="locks that belong to an open file")


@pytest.fixture
def account(tmp_path: Path) -> Path:
    return tmp_path / "memory"


def test_reservations_add_up(account: Path) -> None:
    budget = MemoryBudget(account, 160, wait_seconds=0.0)
    first, second = budget.reserve(64), budget.reserve(96)
    with pytest.raises(SandboxError, match="no 16 MB free in the memory budget of 160 MB"):
        budget.reserve(16)
    first.release()
    first.release()
    third = budget.reserve(64)
    second.release()
    third.release()
    budget.reserve(160).release()


def test_what_can_never_fit_is_refused_at_once(account: Path) -> None:
    with pytest.raises(SandboxError, match="raise the budget, or lower the memory limit"):
        MemoryBudget(account, 64).reserve(65)


def test_a_budget_has_a_smallest_size(account: Path) -> None:
    with pytest.raises(ValueError, match="at least 16 MB"):
        MemoryBudget(account, 15)


HOLDER = """
import sys
from pathlib import Path
from sandbox import MemoryBudget
held = MemoryBudget(Path({path!r}), 160).reserve({megabytes})
print("holding", flush=True)
sys.stdin.readline()
"""


def test_processes_share_and_death_gives_back(account: Path) -> None:
    text = HOLDER.format(path=str(account), megabytes=112)
    other = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdin is not None
    assert other.stdout.readline() == b"holding\n"
    budget = MemoryBudget(account, 160, wait_seconds=0.0)
    mine = budget.reserve(48)
    with pytest.raises(SandboxError):
        budget.reserve(16)
    other.kill()
    other.wait()
    other.stdout.close()
    other.stdin.close()
    budget.reserve(112).release()
    mine.release()


def test_children_draw_on_it(account: Path) -> None:
    budget = MemoryBudget(account, 1024, wait_seconds=0.05)
    limits = Limits(memory_mb=400)
    with Sandbox(budget=budget) as sandbox:
        first = sandbox.spawn(SOURCE, LAYOUT, limits=limits, max_rows=8)
        second = sandbox.spawn(SOURCE, LAYOUT, limits=limits, max_rows=8)
        with pytest.raises(SandboxError, match="memory budget"):
            sandbox.spawn(SOURCE, LAYOUT, limits=limits, max_rows=8)
        first.close()
        third = sandbox.spawn(SOURCE, LAYOUT, limits=limits, max_rows=8)
        second.close()
        third.close()
    budget.reserve(1024).release()


def test_a_refused_program_gives_its_share_back(account: Path) -> None:
    budget = MemoryBudget(account, 1024, wait_seconds=0.05)
    with Sandbox(budget=budget) as sandbox:
        for _ in range(4):
            with pytest.raises(SandboxError):
                sandbox.spawn("import os\n", LAYOUT, limits=Limits(memory_mb=600))
    budget.reserve(1024).release()


@pytest.mark.parametrize(("total", "fits"), [(160, True), (159, False), (144, False)])
def test_whether_it_fits_does_not_hang_on_what_others_hold(account: Path, total: int, fits: bool) -> None:
    budget = MemoryBudget(account, total, wait_seconds=0.0)
    held = budget.reserve(128)
    assert budget.fits(145) is fits
    assert budget.fits(128)
    held.release()


def test_a_program_runs_plain_where_a_compiler_never_fits(account: Path) -> None:
    budget = MemoryBudget(account, 400, wait_seconds=0.0)
    with Sandbox(budget=budget) as sandbox:
        for _ in range(2):
            with sandbox.spawn(SOURCE, LAYOUT, limits=Limits(memory_mb=200), max_rows=8, compiled=True) as child:
                assert not child.ready.compiled
                assert child.ready.note == child.note
                assert "compiling takes 777 MB, but the memory budget is 400 MB" in child.note
                child.bind(np.zeros((1, 0)))
                assert child.call({"x": np.ones(2)}).actions.tolist() == [1.0, 1.0]
        assert True not in sandbox._zygotes  # it does not even start a compiler
    budget.reserve(400).release()


def test_a_compiling_child_reserves_the_same_however_far_its_zygote_is() -> None:
    for compiled in (True, False):
        request = Request(
            source=SOURCE, layout=LAYOUT, limits=Limits(), max_rows=8, variable_bytes=0, compiled=compiled, layers=Layers.ALL
        )  # fmt: skip
        berth = Berth(request.placement())
        needed = {berth.megabytes(request, own_memory) for own_memory in (0, 1 << 28)}
        assert len(needed) == (1 if compiled else 2)
