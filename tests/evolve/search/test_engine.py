"""The engine with a proposer and an evaluator that cost nothing: order, determinism, resume, budgets, failures."""

import asyncio
import hashlib
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from archive import Archive
from evolve.errors import RunError
from evolve.evaluation.tasks import Evaluation, Status, Tuned
from evolve.problem import Action, Argument, Instance, Outcome, Problem, ProblemSettings, Signature
from evolve.program import read_program
from evolve.proposers.base import Proposal, ProposalFailed
from evolve.search.credit import Credit
from evolve.search.engine import Engine
from evolve.search.state import SearchState
from evolve.settings import IslandSettings, RunSettings


class Toy(Problem):
    name = "toy"

    @property
    def signature(self):
        return Signature(
            entry="rule", arguments=(Argument(name="x", meaning="a number"),), action=Action(meaning="a number")
        )

    def seeds(self):
        return {"one": "def rule(x):\n    return x + 1", "two": "def rule(x):\n    return x + 2"}

    def baselines(self):
        return {"zero": "def rule(x):\n    return 0.0"}

    def instances(self, split, seed):
        return [Instance(key=f"{split}{number}") for number in range(3)]


class Proposer:
    """Adds a random number to the parent; one operator in five attempts fails, one is malformed."""

    name = "fake"
    operators = {"add": 1.0, "times": 1.0}

    async def propose(self, request):
        rng = np.random.default_rng(request.seed)
        kind = rng.integers(5)
        if kind == 0:
            raise ProposalFailed("nothing came to mind")
        if kind == 1:
            return Proposal(source="def rule(y): return", operator=request.operator, parents=(request.parent.name,))
        number = int(rng.integers(40))
        parents = [request.parent.name, *[other.name for other in request.others[:1]]]
        sign = "+" if request.operator == "add" else "*"
        source = f"def rule(x):\n    return x {sign} {number}\n"
        return Proposal(source=source, operator=request.operator, parents=tuple(parents), note=f"{sign} {number}")


def score_of(source):
    return int(hashlib.sha256(source.encode()).hexdigest()[:6], 16) / 2**24 - 0.5


class Evaluator:
    """Scores by a hash of the source, after a delay that differs from run to run; some sources fail."""

    def __init__(self, delays=None, fail_all=False):
        self.random, self.fail_all, self.tasks = random.Random(delays), fail_all, 0

    async def __call__(self, task):
        self.tasks += 1
        for _ in range(self.random.randrange(6)):
            await asyncio.sleep(0)
        score = score_of(task.source)
        if self.fail_all or score > 0.4:
            return Evaluation(status=Status.TIMEOUT, reason="too slow")
        outcomes = {
            split: {f"{split}{n}": Outcome(score=score + n) for n in range(3)} for split in ("train", "validation")
        }
        tuned = Tuned(method="none", vectors=1, evaluations=3, saved=1, start_score=score, best_score=score, history=[])
        return Evaluation(
            status=Status.OK,
            scores={"train": score, "validation": score},
            outcomes=outcomes,
            evaluations=9,
            tuned=tuned,
        )


class Stopped(Exception):
    pass


def search(archive, run_settings, *, run=None, evaluate=None, proposer=None, stop_after=None, problem=None):
    """Run (or resume) a search; `stop_after` raises in the commit notification, as a crash would end it."""
    problem = problem or Toy(ProblemSettings())
    proposer = proposer or Proposer()
    signature = problem.signature
    if run is None:
        run = archive.create_run(problem="toy", seed=run_settings.seed, direction="minimize").id
    state = SearchState(
        settings=run_settings,
        maximize=False,
        credit=Credit(weights=proposer.operators),
        read=lambda source: read_program(source, signature.entry, signature.positional),
        extract=lambda p, c: [],
    )
    count = 0

    def notify(record):
        nonlocal count
        count += 1
        if stop_after is not None and count > stop_after:
            raise Stopped

    engine = Engine(
        problem=problem,
        settings=run_settings,
        archive=archive,
        run=run,
        state=state,
        proposer=proposer,
        evaluate=evaluate or Evaluator(),
        level="test",
        notify=notify,
    )
    asyncio.run(engine.search())
    return run, state


def make_settings(**values):
    return RunSettings(
        **({"problem": "toy", "tickets": 40, "seed": 3, "islands": IslandSettings(count=3, size=4, every=3)} | values)
    )


@pytest.fixture
def archive(tmp_path):
    with Archive.open(tmp_path / "a.db") as opened:
        yield opened


def test_every_ticket_is_committed_once_and_in_order(archive):
    run, state = search(archive, make_settings())
    names = [record.name for record in archive.programs(run)]
    assert names == ["b0", "s0", "s1", *[f"t{number}" for number in range(40)]]
    assert state.tickets == 40
    assert sum(state.statuses.values()) == 42
    assert {"ok", "refused", "no proposal", "duplicate", "timeout"} <= set(state.statuses)


def test_the_result_does_not_depend_on_timing(archive):
    digests = {
        archive.digest(search(archive, make_settings(), evaluate=Evaluator(delays=seed))[0]) for seed in range(4)
    }
    assert len(digests) == 1


def test_seed_and_window_do_matter(archive):
    digests = [
        archive.digest(search(archive, make_settings(**values))[0]) for values in ({}, {"seed": 4}, {"window": 1})
    ]
    assert len(set(digests)) == 3


@hypothesis_settings(max_examples=25, deadline=None)
@given(stops=st.lists(st.integers(0, 20), min_size=1, max_size=4), window=st.integers(1, 9))
def test_an_interrupted_run_ends_as_if_it_had_not_been(tmp_path_factory, stops, window):
    run_settings = make_settings(tickets=25, window=window)
    with Archive.open(tmp_path_factory.mktemp("a") / "a.db") as archive:
        whole, _ = search(archive, run_settings)
        run = archive.create_run(problem="toy", seed=run_settings.seed, direction="minimize").id
        for stop in stops:
            before = sum(1 for _ in archive.programs(run))
            with pytest.raises(Stopped):
                search(archive, run_settings, run=run, stop_after=min(before + stop, 27), evaluate=Evaluator())
        evaluator = Evaluator()
        search(archive, run_settings, run=run, evaluate=evaluator)
        assert archive.digest(run) == archive.digest(whole)
        assert list(archive.events(run, "migration"))


def test_resume_of_a_finished_run_evaluates_nothing(archive):
    run, _ = search(archive, make_settings())
    evaluator = Evaluator()
    _, state = search(archive, make_settings(), run=run, evaluate=evaluator)
    assert evaluator.tasks == 0
    assert state.tickets == 40


def test_parents_come_from_the_own_island_or_by_migration(archive):
    run, _ = search(archive, make_settings(tickets=120))
    home = {record.name: record.island for record in archive.programs(run)}
    moved = {(event.data["program"], event.data["to"]): event.ticket for event in archive.events(run, "migration")}
    foreign = 0
    for record in archive.programs(run, role="ticket"):
        for edge in record.parents:
            if home[edge.name] not in (None, record.island):
                foreign += 1
                assert moved[edge.name, record.island] < record.number
    assert foreign


def test_parents_are_no_younger_than_the_window(archive):
    run, _ = search(archive, make_settings(tickets=100, window=7))
    for record in archive.programs(run, role="ticket"):
        for edge in record.parents:
            if edge.name.startswith("t"):
                assert int(edge.name[1:]) <= record.number - 7


def test_the_budget_of_evaluations_is_never_passed(archive):
    for budget in (27, 60, 100):
        _, state = search(archive, make_settings(budget_evaluations=budget))
        assert state.evaluations <= budget
        assert state.evaluations > budget - 9 * (1 + 8)


def test_the_budget_is_exact_on_resume(archive):
    run_settings = make_settings(budget_evaluations=120)
    whole, _ = search(archive, run_settings)
    run = archive.create_run(problem="toy", seed=3, direction="minimize").id
    with pytest.raises(Stopped):
        search(archive, run_settings, run=run, stop_after=8)
    search(archive, run_settings, run=run)
    assert archive.digest(run) == archive.digest(whole)


def test_without_a_scored_seed_the_run_ends_and_says_why(archive):
    with pytest.raises(RunError, match="no seed program could be scored: too slow"):
        search(archive, make_settings(), evaluate=Evaluator(fail_all=True))


def test_negative_and_zero_scores_are_ranked_right(archive):
    class Signed(Evaluator):
        async def __call__(self, task):
            result = await super().__call__(task)
            score = {"x + 1": 0.0, "x + 2": -3.0}.get(task.source.split("return ")[1].strip(), 1.5)
            outcomes = {"train": {"a": Outcome(score=score)}, "validation": {"a": Outcome(score=score)}}
            return Evaluation(
                status=Status.OK,
                scores={"train": score, "validation": score},
                outcomes=outcomes,
                evaluations=2,
                tuned=result.tuned,
            )

    _, state = search(archive, make_settings(tickets=0), evaluate=Signed())
    assert [member.name for member in state.finalists(2)] == ["s1", "s0"]


def test_a_failed_program_never_becomes_a_parent(archive):
    run, _ = search(archive, make_settings(tickets=80))
    status = {record.name: record.status for record in archive.programs(run)}
    used = {edge.name for record in archive.programs(run, role="ticket") for edge in record.parents}
    assert {status[name] for name in used} == {"ok"}
