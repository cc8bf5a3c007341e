"""Parent selection by rank: which members of an island a ticket works from."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def power_law(ranked: Sequence[T], exponent: float, count: int, rng: np.random.Generator) -> list[T]:
    """Draw without replacement with probability proportional to rank ** -exponent, the best having rank 1.

    Args:
        ranked: best first.
        exponent: 0 draws evenly; larger values draw the best more often.
        count: how many to draw; fewer come back if there are fewer.
        rng: source of randomness.
    """
    count = min(count, len(ranked))
    if count == 0:
        return []
    weight = np.arange(1, len(ranked) + 1, dtype=np.float64) ** -exponent
    drawn = rng.choice(len(ranked), size=count, replace=False, p=weight / weight.sum())
    return [ranked[index] for index in drawn]
