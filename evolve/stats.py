"""Paired comparisons: how much better is one program than another on the same instances, and how sure is that?"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """Mean of paired differences with a confidence interval.

    Args:
        mean: mean difference, in units of the score.
        low: lower end of the interval; −inf if there are too few units.
        high: upper end; +inf if there are too few units.
        units: how many independent differences it rests on.
        level: the confidence level.
        wins: units where the first is better.
        losses: units where the second is better.
    """

    mean: float
    low: float
    high: float
    units: int
    level: float
    wins: int
    losses: int


def paired_difference(
    first: Mapping[str, float],
    second: Mapping[str, float],
    groups: Mapping[str, str],
    *,
    maximize: bool,
    level: float = 0.95,
) -> PairedDifference:
    """Mean of first − second over the instances both were scored on, with a Student-t interval.

    Instances of one group are averaged first: they share parameters and often data, so they are no independent evidence.

    Args:
        first: score by instance key.
        second: score by instance key.
        groups: group by instance key; instances without one stand for themselves.
        maximize: whether larger scores are better; only wins and losses depend on it.
        level: the confidence level.

    Raises:
        ValueError: if no instance is shared.
    """
    shared = [key for key in first if key in second]
    if not shared:
        raise ValueError("no instance was scored for both")
    sums: dict[str, list[float]] = {}
    for key in shared:
        sums.setdefault(groups.get(key) or f"={key}", []).append(first[key] - second[key])
    differences = np.array([sum(values) / len(values) for values in sums.values()])
    mean, units = float(differences.mean()), len(differences)
    half = math.inf
    if units > 1:
        half = _student_quantile(level, units - 1) * float(differences.std(ddof=1)) / math.sqrt(units)
    better = differences > 0 if maximize else differences < 0
    worse = differences < 0 if maximize else differences > 0
    return PairedDifference(
        mean=mean, low=mean - half, high=mean + half, units=units, level=level,
        wins=int(better.sum()), losses=int(worse.sum()),
    )  # fmt: skip


def _student_quantile(level: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
