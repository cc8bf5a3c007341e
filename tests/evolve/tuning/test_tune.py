"""The loop: blocks of rows as promised, honest books, groups of any size, racing on and off."""

import numpy as np
import pytest

from evolve.space import Parameter, Real, Space
from evolve.tuning import Racing, tune

SPACE = Space((Parameter("x", Real(0, 1, size=2), (0.1, 0.9)),))


class Noisy:
    """Scores a row by its distance from its instance's group's goal, plus the instance's own noise. Keeps all blocks."""

    def __init__(self, group_of_instance, noise=0.3, failing=None):
        rng = np.random.default_rng(0)
        self.of = np.asarray(group_of_instance)
        self.goals = 0.2 + 0.6 * rng.random((self.of.max() + 1, 2))
        self.level = rng.standard_normal(len(self.of)) * 5
        self.tilt = rng.standard_normal((len(self.of), 2)) * noise
        self.failing = failing
        self.blocks = []

    def __call__(self, theta, vector, instance):
        self.blocks.append((theta.copy(), vector.copy(), instance.copy()))
        return self.scores(theta[vector], instance)

    def scores(self, theta, instance):
        away = theta - self.goals[self.of[instance]]
        scores = self.level[instance] + (away**2).sum(axis=1) + (self.tilt[instance] * away).sum(axis=1)
        return np.where(self.failing(theta, instance), np.nan, scores) if self.failing else scores

    def mean(self, theta, group):
        instances = np.flatnonzero(self.of == group)
        return self.scores(np.tile(theta, (len(instances), 1)), instances).mean()


SHARED = [0] * 60
GROUPED = [0, 1, 1, 2] * 12 + [3] * 5


@pytest.mark.parametrize("method", ["default", "cma", "de", "random", "nevergrad:OnePlusOne"])
@pytest.mark.parametrize("racing", [None, Racing()])
@pytest.mark.parametrize("of", [SHARED, GROUPED])
def test_the_result_is_what_was_evaluated(lab, method, racing, of):
    groups = max(of) + 1
    evaluate = Noisy(of)
    tuner = lab.tuner(method, SPACE, groups=groups, budget=50)
    result = tune(tuner, evaluate, group_of_instance=np.array(of), racing=racing)
    rows = sum(len(vector) for _, vector, _ in evaluate.blocks)
    assert result.evaluations == rows
    assert result.evaluations + result.evaluations_saved == 50 * len(of)
    assert (result.vectors, result.failed) == (50 * groups, 0)
    assert result.method == tuner.method
    start = SPACE.encode(SPACE.defaults)
    for group in range(groups):
        assert result.scores[group] == pytest.approx(evaluate.mean(result.theta[group], group))
        assert result.start_scores[group] == pytest.approx(evaluate.mean(start, group))
        assert result.scores[group] <= result.start_scores[group]
        assert result.instance_scores[np.array(of) == group].mean() == pytest.approx(result.scores[group])
    assert result.start_score == pytest.approx(result.start_scores.mean())
    assert np.array_equal(result.theta, tuner.best_theta)
    assert np.allclose(result.scores, tuner.best_scores)
    counts, best = zip(*result.history, strict=True)
    assert counts[-1] == result.evaluations
    assert list(counts) == sorted(counts)
    assert list(best) == sorted(best, reverse=True)
    assert best[-1] == pytest.approx(result.scores.mean())
    if racing is None:
        assert (result.evaluations_saved, result.dropped) == (0, 0)
    elif of is SHARED and method == "random":
        assert result.dropped > 10
        assert result.evaluations_saved > 0.2 * rows


def test_a_batch_is_one_block_of_rows_that_belong_together(lab):
    of = np.array(GROUPED)
    evaluate = Noisy(of)
    tune(lab.tuner("cma", SPACE, groups=4, budget=12), evaluate, group_of_instance=of)
    for theta, vector, instance in evaluate.blocks:
        batch = len(theta) // 4
        assert np.array_equal(vector // batch, of[instance])
        assert len(vector) == batch * len(of)
        assert len(set(zip(vector.tolist(), instance.tolist(), strict=True))) == len(vector)
    assert len(evaluate.blocks) == 2


def test_no_vector_meets_an_instance_twice_in_a_race(lab):
    evaluate = Noisy(SHARED)
    tune(lab.tuner("random", SPACE, budget=8), evaluate, group_of_instance=np.array(SHARED), racing=Racing())
    seen = [
        (tuple(theta[v]), i)
        for theta, vector, instance in evaluate.blocks
        for v, i in zip(vector, instance, strict=True)
    ]
    assert len(seen) == len(set(seen))
    assert len(evaluate.blocks) > 2


def test_racing_saves_evaluations_and_hardly_costs_quality(lab):
    of = np.zeros(100, dtype=int)
    ends = {}
    for racing in (None, Racing()):
        result = [
            tune(
                lab.tuner("default", SPACE, budget=120, seed=s),
                Noisy(of, noise=0.1),
                group_of_instance=of,
                racing=racing,
            )
            for s in range(5)
        ]
        gained = np.mean([r.start_score - r.scores[0] for r in result])
        ends[racing is None] = gained, sum(r.evaluations for r in result)
    assert ends[False][0] > 0.98 * ends[True][0]
    assert ends[False][1] < 0.9 * ends[True][1]


def test_failures_are_counted_and_never_win(lab):
    def failing(theta, instance):
        return (theta[:, 0] > 0.5) & (instance == 17)

    evaluate = Noisy(SHARED, failing=failing)
    result = tune(lab.tuner("random", SPACE, budget=40), evaluate, group_of_instance=np.array(SHARED))
    asked = np.concatenate([theta for theta, _, _ in evaluate.blocks])
    assert result.failed == (asked[:, 0] > 0.5).sum() > 5
    assert result.theta[0, 0] <= 0.5
    assert np.isfinite(result.instance_scores).all()


def test_groups_that_always_fail_keep_their_start_without_a_number(lab):
    evaluate = Noisy(GROUPED, failing=lambda _, instance: np.array(GROUPED)[instance] == 2)
    tuner = lab.tuner("default", SPACE, groups=4, budget=30)
    result = tune(tuner, evaluate, group_of_instance=np.array(GROUPED), racing=Racing())
    assert np.isnan(result.scores).tolist() == [False, False, True, False]
    assert np.array_equal(result.theta[2], SPACE.encode(SPACE.defaults))
    assert np.isnan(result.start_score)
    assert result.failed == 30
    assert result.history == ()


def test_no_parameters(lab):
    result = tune(
        lab.tuner("default", Space(), budget=9), lambda *_: np.array([1.0, 3.0]), group_of_instance=np.zeros(2, int)
    )
    assert (result.scores.tolist(), result.vectors, result.evaluations) == ([2.0], 1, 2)
    assert result.history == ((2, 2.0),)


def test_equal_seeds_give_equal_results_and_a_lookup_resumes(lab):
    """`tune` is resumed by evaluating again what is known already: the same blocks come in the same order."""
    of = np.array(SHARED)

    def once(evaluate):
        tuner = lab.tuner("default", SPACE, budget=60, seed=3)
        return tune(tuner, evaluate, group_of_instance=of, racing=Racing(), seed=np.random.SeedSequence(9))

    first, second = Noisy(of), Noisy(of)
    results = once(first), once(second)
    assert results[0].history == results[1].history
    assert np.array_equal(results[0].theta, results[1].theta)
    for left, right in zip(first.blocks, second.blocks, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def test_a_tuner_that_was_told_before_is_refused(lab):
    """Its best vectors would have no scores on the instances."""
    tuner = lab.tuner("cma", SPACE, budget=40)
    tuner.tell(np.zeros((1, tuner.ask().shape[1])))
    with pytest.raises(ValueError, match="fresh tuner, not one that was told 6 vectors"):
        tune(tuner, Noisy(SHARED), group_of_instance=np.array(SHARED))


def test_mismatches_are_named(lab):
    tuner = lab.tuner("default", SPACE, groups=2)
    with pytest.raises(ValueError, match="the tuner has 2 groups, the instances have 3"):
        tune(tuner, Noisy([0, 1, 2]), group_of_instance=np.array([0, 1, 2]))
    with pytest.raises(ValueError, match=r"given 12 rows and returned scores of shape \(3,\)"):
        tune(tuner, lambda *_: np.zeros(3), group_of_instance=np.array([0, 0, 1]))
