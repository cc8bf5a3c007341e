"""Workers are started, replaced, and held to one memory budget."""

import asyncio
from pathlib import Path

import pytest

from evolve.errors import EvolveError
from evolve.evaluation import memory
from evolve.evaluation.pool import Pool
from evolve.evaluation.tasks import ScoreTask, Setup, Status
from evolve.settings import LimitSettings

PLUGINS = Path(__file__).parents[2] / "plugins" / "forms.py"
SOURCE = "def step(gap, last, period):\n    return 0.3 * gap\n"


def run(tasks=1, jobs=1, fail="", seconds=600.0, **machine):
    limits = LimitSettings(evaluation_seconds=seconds)
    setup = Setup(problem=f"{PLUGINS}:Calls", values={"fail": fail}, seed=1, limits=limits, **machine)

    async def work():
        async with Pool(setup, jobs) as pool:
            task = ScoreTask(source=SOURCE, values={}, splits=("train",))
            return await asyncio.gather(*(pool.submit(task) for _ in range(tasks)))

    return asyncio.run(work())


def test_an_evaluator_that_dies_costs_each_time_one_evaluation():
    results = run(tasks=3, jobs=2, fail="exit")
    assert [result.status for result in results] == [Status.EVALUATOR] * 3
    assert {result.reason for result in results} == {
        "the evaluator process ended without an answer (exit code 7: going down)"
    }


def test_an_evaluator_ended_from_outside_costs_nothing():
    limits = LimitSettings()
    setup = Setup(problem=f"{PLUGINS}:Calls", values={}, seed=1, limits=limits)

    async def work():
        async with Pool(setup, 1) as pool:
            pool._workers[0].process.kill()
            return await pool.submit(ScoreTask(source=SOURCE, values={}, splits=("train",)))

    assert asyncio.run(work()).status is Status.OK


def test_an_evaluator_that_hangs_is_ended():
    (result,) = run(fail="hang", seconds=1.0)
    assert result.status is Status.EVALUATOR
    assert "hung for 1 s" in result.reason


def test_what_a_plugin_prints_goes_to_standard_error(capfd):
    (result,) = run(fail="print")
    assert result.status is Status.OK
    out, err = capfd.readouterr()
    assert out == ""
    assert [line for line in err.splitlines() if line.startswith("hello")] == [
        f"hello from train-{number}" for number in range(6)
    ]


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_is_left_open():
    run()
    before = open_files()
    run(tasks=4, jobs=2, fail="exit")
    assert open_files() == before


def test_a_problem_that_cannot_be_loaded_says_why():
    setup = Setup(problem=f"{PLUGINS}:Calls", values={"no_such_setting": 1}, seed=1, limits=LimitSettings())
    with pytest.raises(EvolveError, match="no_such_setting"):
        asyncio.run(Pool(setup, 1).__aenter__())


def test_programs_of_all_workers_share_one_memory_budget():
    (refused,) = run(memory_mb=64)
    assert refused.status is Status.EVALUATOR
    assert "memory budget is 64 MB" in refused.reason
    assert all(result.status is Status.OK for result in run(tasks=6, jobs=3, memory_mb=memory.default_megabytes()))


def test_a_container_limit_counts(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_CONTAINER_LIMITS", (limit,))
    whole = memory.default_megabytes()
    limit.write_text("max\n")
    assert memory.default_megabytes() == whole > 64
    limit.write_text(f"{100 * 2**20}\n")
    assert memory.default_megabytes() == 75
