"""One program through the three forms in real locked children: the same scores, and failures as statuses."""

from pathlib import Path

import numpy as np
import pytest

from evolve.evaluation.evaluator import Evaluator
from evolve.evaluation.tasks import ScoreTask, Setup, Status, TuneTask
from evolve.settings import LimitSettings, TuningSettings
from sandbox import ChildFailed

PLUGINS = Path(__file__).parents[2] / "plugins" / "forms.py"
FORMS = ("Episodes", "Blocks", "Calls")
SOURCE = "def step(gap, last, period, *, gain: Real(0, 2) = 0.3):\n    return gain * gap\n"


@pytest.fixture(scope="module")
def evaluators():
    made = {}

    def get(form, **values):
        key = (form, *sorted(values.items()))
        if key not in made:
            limits = LimitSettings(call_seconds=1.0, start_seconds=10.0, memory_mb=256)
            made[key] = Evaluator(Setup(problem=f"{PLUGINS}:{form}", values=values, seed=1, limits=limits))
        return made[key]

    yield get
    for evaluator in made.values():
        evaluator.close()


def expected_scores(evaluator, gain, split="train"):
    scores = {}
    for instance in evaluator.instances(split):
        gap = total = 0.0
        for step in instance.steps:
            gap += step
            action = gain * gap
            gap -= action
            total += gap * gap + 0.5 * action * action
        scores[instance.key] = total / len(instance.steps)
    return scores


def score(evaluator, source, values=None, splits=("train", "validation")):
    return evaluator.run(ScoreTask(source=source, values=values or {}, splits=splits))


@pytest.mark.parametrize("form", FORMS)
def test_scores_are_those_of_a_plain_loop(evaluators, form):
    evaluator = evaluators(form)
    result = score(evaluator, SOURCE, {"": {"gain": 0.7}})
    assert result.status is Status.OK, result.reason
    for split in ("train", "validation"):
        found = {key: outcome.score for key, outcome in result.outcomes[split].items()}
        assert found == pytest.approx(expected_scores(evaluator, 0.7, split), rel=1e-12)
        assert result.scores[split] == pytest.approx(np.mean(list(found.values())))
    assert result.evaluations == 12


@pytest.mark.parametrize("form", FORMS)
def test_memory_is_kept_from_step_to_step_and_starts_at_zero(evaluators, form):
    evaluator = evaluators(form, memory=1)
    source = (
        "def step(gap, last, period, memory):\n"
        "    count = memory[0] + 1.0\n"
        "    return (50.0 if count != period + 1 else 0.5 * gap), np.array([count])\n"
    )
    result = score(evaluator, source)
    assert result.status is Status.OK, result.reason
    found = {key: outcome.score for key, outcome in result.outcomes["train"].items()}
    assert found == pytest.approx(expected_scores(evaluator, 0.5), rel=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ("return math.nan", Status.FAILED, "finite"),
        ("return math.inf", Status.FAILED, "finite"),
        ("return 'far'", Status.FAILED, ""),
        ("return np.zeros(3)", Status.FAILED, ""),
        ("return 1j", Status.REFUSED, ""),
        ("return (-1) ** 0.5", Status.FAILED, ""),
        ("return None", Status.FAILED, ""),
        ("return gap / 0.0", Status.FAILED, "ZeroDivisionError"),
        ("raise ValueError('no idea')", Status.FAILED, "ValueError"),
        ("return 1.0 if period < 5 else math.sqrt(-1.0)", Status.FAILED, "ValueError"),
        ("while True:\n        pass", Status.TIMEOUT, ""),
        ("return float(len([0.0] * 10 ** 10))", {Status.MEMORY, Status.FAILED}, ""),
        ("import os\n    return os.getpid()", Status.REFUSED, "`os`"),
        ("return gap.__class__", Status.REFUSED, ""),
        ("return undefined", {Status.FAILED, Status.REFUSED}, "undefined"),
        ("print('x' * 10 ** 9)\n    return 0.0", {Status.FAILED, Status.REFUSED}, ""),
    ],
)
def test_a_failure_is_a_status_with_a_reason(evaluators, form, body, status, reason):
    result = score(evaluators(form), f"def step(gap, last, period):\n    {body}\n")
    assert result.status in (status if isinstance(status, set) else {status}), result
    assert reason in result.reason
    assert result.reason
    assert not result.scores
    assert "\n" not in result.reason
    again = score(evaluators(form), SOURCE)
    assert again.status is Status.OK


@pytest.mark.parametrize("form", FORMS)
def test_one_bad_parameter_vector_spoils_only_itself(evaluators, form):
    source = (
        "def step(gap, last, period, *, gain: Real(0, 2) = 0.3):\n    return gain * gap / (0.0 if gain > 1 else 1.0)\n"
    )
    task = TuneTask(
        source=source,
        start={},
        tuning=TuningSettings(vectors=40, method="random", racing=False),
        entropy=1,
        spawn_key=(1,),
    )
    result = evaluators(form).run(task)
    assert result.status is Status.OK, result.reason
    assert result.values[""]["gain"] <= 1.0
    assert result.tuned.best_score <= result.tuned.start_score


@pytest.mark.parametrize("form", FORMS)
def test_tuning_finds_the_best_gain_and_counts_evaluations(evaluators, form):
    evaluator = evaluators(form)
    task = TuneTask(source=SOURCE, start={}, tuning=TuningSettings(vectors=60, racing=False), entropy=1, spawn_key=(1,))
    result = evaluator.run(task)
    best = min((np.mean(list(expected_scores(evaluator, g).values())), g) for g in np.linspace(0, 2, 2001))
    assert result.scores["train"] == pytest.approx(best[0], rel=1e-3)
    assert result.tuned.vectors == 60
    assert result.tuned.evaluations == 60 * 6
    again = evaluator.run(task)
    assert (again.values, again.scores) == (result.values, result.scores)


def test_parameters_per_group(evaluators):
    evaluator = evaluators("Blocks", grouped=True)
    tuning = TuningSettings(vectors=40, per="group", racing=False)
    result = evaluator.run(TuneTask(source=SOURCE, start={}, tuning=tuning, entropy=1, spawn_key=(1,)))
    assert set(result.values) == {"a", "b"}
    mixed = score(evaluator, SOURCE, {"a": {"gain": 0.2}, "b": {"gain": 0.9}})
    low, high = expected_scores(evaluator, 0.2), expected_scores(evaluator, 0.9)
    groups = {instance.key: instance.group for instance in evaluator.instances("train")}
    for key, outcome in mixed.outcomes["train"].items():
        assert outcome.score == pytest.approx({"a": low, "b": high}[groups[key]][key], rel=1e-12)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"fail": "raise"}, "blocks raised KeyError: 'the simulator is broken'"),
        ({"fail": "nan"}, "the score of row 0 is"),
        ({"fail": "shape"}, "score must have shape (6,)"),
    ],
)
def test_a_fault_of_the_problem_is_not_the_programs(evaluators, values, reason):
    result = score(evaluators("Blocks", **values), SOURCE)
    assert result.status is Status.EVALUATOR
    assert reason in result.reason


@pytest.mark.parametrize("fail", ["yield", "names"])
def test_an_episode_that_yields_something_else_is_told_what_to_yield(evaluators, fail):
    result = score(evaluators("Episodes", fail=fail), SOURCE)
    assert result.status is Status.EVALUATOR
    assert "episodes.episode must yield observe(gap=…, last=…, period=…)" in result.reason


@pytest.mark.parametrize(("times", "status"), [(1, Status.OK), (2, Status.EVALUATOR)])
def test_a_sandbox_that_is_lost_once_is_started_again(evaluators, monkeypatch, times, status):
    evaluator = evaluators("Blocks")
    spawn, lost = evaluator.sandbox.spawn, iter(range(times))

    def unlucky(*arguments, **options):
        if next(lost, None) is not None:
            raise ChildFailed("sandbox", "the sandbox process ended")
        return spawn(*arguments, **options)

    monkeypatch.setattr(evaluator.sandbox, "spawn", unlucky)
    assert score(evaluator, SOURCE).status is status


def test_a_program_cannot_carry_state_from_block_to_block(evaluators):
    for source in (
        "COUNT = [0.0]\ndef step(gap, last, period):\n    COUNT[0] += 1.0\n    return COUNT[0]\n",
        "COUNT = 0.0\ndef step(gap, last, period):\n    global COUNT\n    COUNT += 1.0\n    return COUNT\n",
        "def step(gap, last, period):\n    step.count = 1.0\n    return 0.0\n",
        "def step(gap, last, period, *, gain: Real(0, 2) = 0.3):\n    last[0] = 9.0\n    return 0.0\n",
    ):
        result = score(evaluators("Blocks"), source)
        assert result.status in {Status.REFUSED, Status.FAILED}, source
