"""Racing: a better vector is dropped at most at the rate stated, worse ones go early, and the books balance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evolve.errors import SettingsError
from evolve.tuning import Racing
from evolve.tuning.racing import Groups, Race, clearly_worse


def groups_of(*counts):
    return Groups(np.repeat(np.arange(len(counts)), counts))


def race_through(race, scores):
    """Run a race on a table of scores, shape *(batch, instances)*; the rows evaluated at each stage."""
    stages = []
    while not race.over:
        vector, instance = race.rows()
        stages.append(len(vector))
        race.take(vector, instance, scores[vector, instance])
    return stages


def test_the_test_is_a_paired_t_test_with_one_imagined_difference():
    rng = np.random.default_rng(0)
    for _ in range(200):
        differences = rng.standard_normal(rng.integers(2, 30)) + rng.uniform(0, 1.5)
        with_one = np.append(differences, -np.abs(differences).max())
        p = stats.ttest_1samp(with_one, 0.0, alternative="greater").pvalue
        unit = differences / np.abs(differences).max()
        found = clearly_worse(unit.sum(), (unit**2).sum(), np.array(len(unit)), np.array(0.05))
        assert found == (p < 0.05)


def test_equal_differences_prove_as_much_as_they_can():
    for count, level, expected in ((4, 0.01, False), (16, 0.005, True), (16, 1e-9, False)):
        total = np.array(float(count))
        assert clearly_worse(total, total, np.array(count), np.array(level)) == expected
    assert not clearly_worse(np.array(0.0), np.array(0.0), np.array(16), np.array(0.01))


DIFFERENCES = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy tails": lambda rng, shape: rng.standard_t(3, shape),
    "losses are long": lambda rng, shape: rng.exponential(size=shape),
    "wins are long": lambda rng, shape: -rng.exponential(size=shape),
    "wins are longer": lambda rng, shape: -rng.lognormal(0, 0.5, shape),
    "bounded": lambda rng, shape: rng.random(shape),
}


@pytest.mark.parametrize("kind", DIFFERENCES)
@pytest.mark.parametrize("instances", [40, 96])
def test_a_better_vector_is_dropped_at_most_at_the_stated_rate(kind, instances):
    """The hardest case: vectors as good as the incumbent, up to an epsilon. 12,000 of them."""
    rng = np.random.default_rng(7)
    racing = Racing(error=0.02)
    differences = DIFFERENCES[kind](rng, (12_000, instances))
    differences -= differences.mean(axis=1, keepdims=True) + 1e-6
    incumbent = rng.standard_normal(instances)
    race = Race(groups_of(instances), 12_000, incumbent, racing, rng)
    race_through(race, incumbent + differences)
    assert race.dropped.mean() <= racing.error
    better = np.argmin(race.scores()[0])
    assert not race.dropped[0, better]


def test_clearly_worse_vectors_go_early_and_near_ones_stay():
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((3, 400, 128))
    incumbent = rng.standard_normal(128) * 5.0
    saved = []
    for shift in (0.0, 0.5, 3.0):
        race = Race(groups_of(128), 400, incumbent, Racing(), rng)
        race_through(race, incumbent + noise[0] + shift)
        saved.append(1.0 - race.evaluations / (400 * 128))
        assert np.allclose(race.scores()[~race.dropped], (incumbent + noise[0] + shift).mean(axis=1)[~race.dropped[0]])
        if race.dropped.any():
            assert (race.scores()[race.dropped] > incumbent.mean()).all()
    assert saved[0] < 0.01
    assert 0.2 < saved[1] < 0.6
    assert saved[2] > 0.74


def test_an_imputed_score_is_the_incumbents_plus_the_mean_difference_seen():
    rng = np.random.default_rng(2)
    incumbent = rng.standard_normal(64)
    scores = incumbent + 2.0 + 0.1 * rng.standard_normal((5, 64))
    race = Race(groups_of(64), 5, incumbent, Racing(stages=(0.25,)), rng)
    assert race_through(race, scores) == [5 * 16, 0]
    assert race.dropped.all()
    seen = np.isfinite(race.table)
    assert (seen.sum(axis=1) == 16).all()
    expected = incumbent.mean() + [(row - incumbent)[mask].mean() for row, mask in zip(scores, seen, strict=True)]
    assert np.allclose(race.scores(), expected)


def test_looks():
    racing = Racing(stages=(0.25, 0.5), minimum=10)
    assert racing.looks(100) == (25, 50)
    assert racing.looks(30) == (10, 15)
    assert racing.looks(16) == (10,)
    assert racing.looks(10) == ()
    assert racing.looks(1) == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stages": ()}, "increasing shares"),
        ({"stages": (0.5, 0.25)}, "increasing shares"),
        ({"stages": (0.5, 1.0)}, "increasing shares"),
        ({"error": 0.0}, "between 0 and 0.5"),
        ({"minimum": 1}, "at least 2 instances"),
    ],
)
def test_wrong_settings_are_named(change, words):
    with pytest.raises(SettingsError, match=words):
        Racing(**change)


def test_small_groups_are_not_raced_beside_large_ones():
    rng = np.random.default_rng(3)
    groups = groups_of(8, 100)
    incumbent = np.zeros(108)
    race = Race(groups, 6, incumbent, Racing(), rng)
    stages = race_through(race, np.full((6, 108), 5.0) + rng.standard_normal((6, 108)))
    assert race.dropped[1].all()
    assert not race.dropped[0].any()
    assert stages == [6 * (8 + 25), 0, 0]


def test_the_first_vector_leads_where_there_is_no_incumbent():
    rng = np.random.default_rng(4)
    race = Race(groups_of(80, 80), 4, np.where(np.arange(160) < 80, 0.0, np.nan), Racing(stages=(0.25,)), rng)
    scores = np.array([0.0, 4.0, 4.0, -1.0])[:, None] + 0.1 * rng.standard_normal((4, 160))
    vector, instance = race.rows()
    first = np.bincount(instance[vector == 0] // 80)
    assert first.tolist() == [20, 80]
    race.take(vector, instance, scores[vector, instance])
    assert race.dropped.tolist() == [[False, True, True, False]] * 2


def test_a_leader_that_fails_lets_all_pass():
    rng = np.random.default_rng(5)
    scores = np.array([np.nan, 4.0, 9.0])[:, None] + rng.standard_normal((3, 64))
    race = Race(groups_of(64), 3, np.full(64, np.nan), Racing(), rng)
    race_through(race, scores)
    assert race.failed.tolist() == [[True, False, False]]
    assert not race.dropped.any()
    assert np.isfinite(race.table[1:]).all()


def test_a_failed_vector_goes_no_further():
    rng = np.random.default_rng(6)
    scores = rng.standard_normal((3, 64))
    scores[1] = np.inf
    race = Race(groups_of(64), 3, np.zeros(64), Racing(stages=(0.5,)), rng)
    assert race_through(race, scores) == [3 * 32, 2 * 32]
    assert np.isnan(race.scores()[0, 1])
    assert race.evaluations == 3 * 32 + 2 * 32


def test_every_batch_goes_through_the_instances_in_another_order():
    groups, rng = groups_of(30, 50), np.random.default_rng(8)
    first, second = groups.ranks(rng), groups.ranks(rng)
    for ranks in (first, second):
        assert sorted(ranks[:30]) == list(range(30))
        assert sorted(ranks[30:]) == list(range(50))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(("of", "words"), [([], "at least one"), ([0, 2], "group 1 of 3 has no instance")])
def test_groups_without_instances_are_refused(of, words):
    with pytest.raises(ValueError, match=words):
        Groups(np.array(of, dtype=np.intp))


@settings(deadline=None, max_examples=80)
@given(
    counts=st.lists(st.integers(1, 60), min_size=1, max_size=5),
    batch=st.integers(1, 12),
    racing=st.none() | st.builds(Racing, minimum=st.integers(2, 30), error=st.floats(1e-4, 0.4)),
    known=st.booleans(),
    failing=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
)
def test_the_books_balance(counts, batch, racing, known, failing):
    rng = np.random.default_rng([*counts, batch])
    groups = Groups(rng.permutation(np.repeat(np.arange(len(counts)), counts)))
    instances = sum(counts)
    scores = rng.standard_normal((batch, instances)) + 2.0 * rng.standard_normal((batch, 1))
    scores[rng.random(scores.shape) < failing] = np.nan
    incumbent = rng.standard_normal(instances) if known else np.full(instances, np.nan)
    race = Race(groups, batch, incumbent, racing, rng)
    stages = race_through(race, scores)
    assert sum(stages) == race.evaluations <= batch * instances
    assert not (race.failed & race.dropped).any()
    complete = ~(race.failed | race.dropped)
    of = groups.of_instance
    assert np.array_equal(race.table[complete.T[:, of]], scores[complete.T[:, of]])
    for group in range(len(counts)):
        for vector in range(batch):
            row, told = scores[vector, of == group], race.scores()[group, vector]
            if race.failed[group, vector]:
                assert np.isnan(row).any()
                assert np.isnan(told)
            elif not race.dropped[group, vector]:
                assert told == pytest.approx(row.mean())
            else:
                assert np.isfinite(told)
    if racing is None:
        assert len(stages) == 1
        assert race.evaluations == batch * instances


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_unit_of_the_scores_does_not_matter(scale):
    rng = np.random.default_rng(9)
    incumbent = rng.standard_normal(64)
    scores = incumbent + np.array([0.0, 3.0, -1.0])[:, None] + rng.standard_normal((3, 64))
    race = Race(groups_of(64), 3, scale * incumbent, Racing(), np.random.default_rng(1))
    race_through(race, scale * scores)
    assert race.dropped.tolist() == [[False, True, False]]
