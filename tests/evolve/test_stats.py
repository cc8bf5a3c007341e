import math

import numpy as np
import pytest

from evolve.stats import paired_difference


def test_interval_is_student_t_over_groups():
    # Differences by group: A (1 + 3) / 2 = 2, B 4, and the instance "z" without a group 6; t(0.975, 2) = 4.302653
    first = {"a1": 11.0, "a2": 13.0, "b1": 14.0, "z": 16.0}
    second = dict.fromkeys(first, 10.0)
    groups = {"a1": "A", "a2": "A", "b1": "B", "z": ""}
    found = paired_difference(first, second, groups, maximize=False)
    half = 4.302653 * 2.0 / math.sqrt(3)
    assert (found.mean, found.units, found.wins, found.losses) == (4.0, 3, 0, 3)
    assert found.low == pytest.approx(4.0 - half, abs=1e-5)
    assert found.high == pytest.approx(4.0 + half, abs=1e-5)


def test_direction_decides_wins():
    found = paired_difference({"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 3.0}, {}, maximize=True)
    assert (found.wins, found.losses) == (1, 1)


def test_one_unit_says_nothing():
    found = paired_difference({"a": 2.0}, {"a": 1.0}, {}, maximize=False)
    assert (found.mean, found.low, found.high) == (1.0, -math.inf, math.inf)


def test_nothing_shared_is_an_error():
    with pytest.raises(ValueError, match="no instance"):
        paired_difference({"a": 2.0}, {"b": 1.0}, {}, maximize=False)


def test_coverage_at_the_null():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(1000):
        first = {str(key): value for key, value in enumerate(rng.normal(size=12).tolist())}
        second = {str(key): value for key, value in enumerate(rng.normal(size=12).tolist())}
        found = paired_difference(first, second, {}, maximize=False)
        covered += found.low <= 0.0 <= found.high
    assert 0.93 <= covered / 1000 <= 0.97
