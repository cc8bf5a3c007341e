"""Finalists are scored again in fresh children: programs that only shine where they were tuned are found out."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from command_line import FORMS

from archive import Archive
from evolve.evaluation.pool import Pool
from evolve.evaluation.tasks import Evaluation, Setup, Status
from evolve.problem import Outcome
from evolve.program import read_program
from evolve.proposers.base import Proposal
from evolve.registry import load_problem
from evolve.search.credit import Credit
from evolve.search.engine import Engine
from evolve.search.finals import run_finals
from evolve.search.state import SearchState
from evolve.settings import IslandSettings, RunSettings, TuningSettings

PROBLEM = f"{FORMS}:Blocks"


class Planted:
    """Proposes one given program."""

    name = "planted"
    operators = {"plant": 1.0}

    def __init__(self, source):
        self.source = source

    async def propose(self, request):
        return Proposal(source=self.source, operator="plant", parents=(request.parent.name,))


def run_with(folder, source, change=None, values=None, baselines=True):
    """A run of one ticket that proposes `source`; `change` may falsify what workers say."""
    values = values or {}
    settings = RunSettings(
        problem=PROBLEM, set=values, tickets=1, islands=IslandSettings(count=1), tuning=TuningSettings(method="none")
    )
    problem = load_problem(PROBLEM, values)
    if not baselines:
        problem.baselines = dict
    signature = problem.signature
    proposer = Planted(source)
    state = SearchState(
        settings=settings,
        maximize=False,
        credit=Credit(weights=proposer.operators),
        read=lambda text: read_program(text, signature.entry, signature.positional),
        extract=lambda parent, child: [],
    )

    async def go():
        setup = Setup(problem=PROBLEM, values=values, seed=0, limits=settings.limits)
        async with Pool(setup, 1) as pool:

            async def evaluate(task):
                evaluation = await pool.submit(task)
                return change(task, evaluation) if change else evaluation

            engine = Engine(
                problem=problem,
                settings=settings,
                archive=archive,
                run=run,
                state=state,
                proposer=proposer,
                evaluate=evaluate,
                level=str(pool.level),
                notify=lambda record: None,
            )
            await engine.search()
            return await run_finals(archive, run, problem=problem, settings=settings, state=state, evaluate=evaluate)

    with Archive.open(folder / "a.db") as archive:
        run = archive.create_run(problem="blocks", seed=0, direction="minimize").id
        finals = asyncio.run(go())
        (opened,) = archive.events(run, "holdout")
        (chosen,) = archive.events(run, "finalists")
        outcomes = {name: len(archive.outcomes(run, name, "holdout")) for name in opened.data["programs"]}
    return finals, chosen.data, outcomes


HONEST = "def step(gap, last, period):\n    return 0.66 * gap\n"


def test_an_honest_program_is_the_champion(tmp_path):
    finals, chosen, outcomes = run_with(tmp_path, HONEST)
    assert [final.name for final in finals.finalists] == ["t0", "s0"]
    assert (finals.champion.name, finals.champion.mark) == ("t0", "")
    assert chosen == {"finalists": ["t0", "s0"], "marked": {}}
    assert outcomes == {"t0": 6, "s0": 6, "b0": 6}
    difference = finals.difference(finals.champion, finals.baselines[0], "holdout")
    assert difference.units == 6
    assert difference.mean == pytest.approx(finals.champion.mean("holdout") - finals.baselines[0].mean("holdout"))


@pytest.mark.parametrize("baselines", [True, False])
@pytest.mark.parametrize("otherwise", ["0.05", "0.3"])
def test_a_program_that_knows_the_search_instances_is_marked(tmp_path, baselines, otherwise):
    """It recognises each train and validation walk by its first step.

    On any other it goes astray, or does no better than the start program; there are baselines to compare with, or none.
    """
    problem = load_problem(PROBLEM, {})
    known = [instance.steps[0] for split in ("train", "validation") for instance in problem.instances(split, 0)]
    test = " or ".join(f"abs(last - ({step!r})) < 1e-12" for step in known)
    source = (
        "def step(gap, last, period, memory):\n"
        f"    known = memory[0] if period > 0 else (1.0 if {test} else 0.0)\n"
        f"    return (0.66 * gap if known > 0.5 else {otherwise} * gap), np.array([known])\n"
    )
    finals, chosen, _ = run_with(tmp_path, source, values={"memory": 1}, baselines=baselines)
    assert finals.champion.name == "s0"
    (marked,) = [final for final in finals.finalists if final.mark]
    assert marked.name == "t0"
    assert "does not outlive the instances of the search" in marked.mark
    assert list(chosen["marked"]) == ["t0"]


def test_a_program_that_scores_differently_the_second_time_is_marked(tmp_path):
    def change(task, evaluation):
        if "0.66" in task.source and "holdout" in getattr(task, "splits", ()):
            outcomes = {
                split: {key: Outcome(score=outcome.score * 1.01) for key, outcome in per_split.items()}
                for split, per_split in evaluation.outcomes.items()
            }
            return Evaluation(status=Status.OK, outcomes=outcomes, scores=evaluation.scores)
        return evaluation

    finals, _, _ = run_with(tmp_path, HONEST, change)
    assert finals.champion.name == "s0"
    assert "in a fresh process" in finals.finalists[-1].mark


@pytest.mark.parametrize(
    ("plain", "mark"),
    [
        (Evaluation(status=Status.FAILED, reason="unbound name"), "fails where it is not compiled: unbound name"),
        (Evaluation(status=Status.OK, scores={"validation": 99.0}), "and 99 as plain Python"),
    ],
)
def test_a_program_that_leans_on_the_compiler_is_marked(tmp_path, plain, mark):
    def change(task, evaluation):
        if "0.66" not in task.source:
            return evaluation
        return plain if getattr(task, "compiled", None) is False else replace(evaluation, compiled=True)

    finals, _, _ = run_with(tmp_path, HONEST, change)
    assert finals.champion.name == "s0"
    assert mark in finals.finalists[-1].mark


def test_a_program_that_fails_the_second_time_is_marked(tmp_path):
    def change(task, evaluation):
        if "0.66" in task.source and "holdout" in getattr(task, "splits", ()):
            return Evaluation(status=Status.TIMEOUT, reason="too slow")
        return evaluation

    finals, _, outcomes = run_with(tmp_path, HONEST, change)
    assert finals.champion.name == "s0"
    assert finals.finalists[-1].mark == "failed when scored again: too slow"
    assert outcomes["t0"] == 0


def test_scores_do_not_move_between_search_and_fresh_children(tmp_path):
    finals, _, _ = run_with(tmp_path, HONEST)
    with Archive.open(tmp_path / "a.db") as archive:
        kept = {o.instance: o.score for o in archive.outcomes("blocks-1", "t0", "train")}
    assert kept == finals.champion.scores["train"]
    assert np.isfinite(list(kept.values())).all()
