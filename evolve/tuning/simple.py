"""The plainest tuners: draw at random, or try everything where that fits the budget."""

import math
from itertools import product

import numpy as np

from evolve.space import Categorical, Floats, Integer, Space
from evolve.tuning.base import BatchTuner


class Random(BatchTuner):
    """Vectors drawn evenly from the unit cube: the yardstick for every other method.

    Args:
        space: the space of theta.
        start: the first vector of each group, shape *(groups, width)*.
        budget: vectors of each group that may be asked.
        batch: most vectors of a group in one `ask`.
        seed: of the random draws.
    """

    method = "random"

    def __init__(self, *, space: Space, start: Floats, budget: int, batch: int, seed: np.random.SeedSequence) -> None:
        super().__init__(space=space, start=start, budget=budget, batch=batch)
        self._rng = np.random.default_rng(seed)

    def _propose(self, count: int) -> Floats:
        return np.tile(self._rng.random((count, self.width)), (self.groups, 1, 1))

    def _learn(self, unit: Floats, scores: Floats) -> None:
        """Nothing is learned."""


class Exhaustive(BatchTuner):
    """Every vector of a small space once, the start first. It asks no more than there are, whatever the budget.

    Args:
        space: the space of theta, of at most `budget` vectors.
        start: the first vector of each group, shape *(groups, width)*.
        batch: most vectors of a group in one `ask`.
    """

    method = "exhaustive"

    def __init__(self, *, space: Space, start: Floats, batch: int) -> None:
        vectors = np.array(list(product(*_ranges(space))), dtype=np.float64)
        super().__init__(space=space, start=start, budget=len(vectors), batch=batch)
        equal = (vectors == self.start[:, None]).all(axis=2)
        order = np.argsort(~equal, axis=1, kind="stable")
        self._unit = space.to_unit(vectors)[order]

    def _propose(self, count: int) -> Floats:
        return self._unit[:, self.told : self.told + count]

    def _learn(self, unit: Floats, scores: Floats) -> None:
        """The order is fixed."""


def countable(space: Space, most: int) -> bool:
    """Whether a space has at most `most` different vectors; one without parameters has one."""
    return bool(space.whole.all()) and math.prod(map(len, _ranges(space))) <= most


def _ranges(space: Space) -> list[range]:
    """The whole numbers that each place can take."""
    ranges: list[range] = []
    for parameter in space.parameters:
        domain = parameter.domain
        if isinstance(domain, Categorical):
            ranges.append(range(len(domain.choices)))
        elif isinstance(domain, Integer):
            ranges += [range(domain.low, domain.high + 1)] * parameter.width
    return ranges
