"""The default search: a surrogate while every vector counts, then a cheaper method that learns from many."""

import numpy as np

from evolve.space import Floats, Space
from evolve.tuning.base import BatchTuner, Tuner
from evolve.tuning.cmaes import CmaEs
from evolve.tuning.differential import Differential
from evolve.tuning.surrogate import Surrogate

FIRST, FIRST_MIXED = 150, 300
"""Vectors of the first stage; longer on spaces with categoricals, each choice having numbers of its own to find. Up to
twice as many the surrogate stays alone: a second stage could not catch up."""

SECOND_SPREAD = 0.1
"""First standard deviation of the second stage, around the best vector of the first."""


class Staged(BatchTuner):
    """`Surrogate`, then `CmaEs` on spaces without categoricals and `Differential` on the others.

    Args:
        space: the space of theta.
        start: the first vector of each group, shape *(groups, width)*.
        budget: vectors of each group that may be asked.
        batch: preferred number of vectors of a group in one `ask`; None: as each stage likes best.
        seed: of the random draws.
        spread: standard deviation of the first vectors around the start in unit coordinates, shape *(width,)*.
    """

    def __init__(
        self,
        *,
        space: Space,
        start: Floats,
        budget: int,
        batch: int | None,
        seed: np.random.SeedSequence,
        spread: Floats,
    ) -> None:
        super().__init__(space=space, start=start, budget=budget, batch=budget)
        self._batch = batch
        first, self._seed = seed.spawn(2)
        mixed = bool(space.categorical.any())
        few = FIRST_MIXED if mixed else FIRST
        self._later: type[Differential | CmaEs] = Differential if mixed else CmaEs
        alone = budget <= 2 * few
        self.method = "surrogate" if alone else f"surrogate+{self._later.method}"
        self._stage: Tuner = Surrogate(
            space=space,
            start=start,
            budget=budget if alone else few,
            batch=batch,
            seed=first,
            spread=spread,
        )

    def _second(self) -> Tuner:
        return self._later(
            space=self.space,
            start=self.best_theta,
            budget=self.left,
            batch=self._batch,
            seed=self._seed,
            spread=np.full(self.width, SECOND_SPREAD),
        )

    def _size(self) -> int:
        if self._stage.left == 0:
            self._stage = self._second()
        return self.left

    def _propose(self, count: int) -> Floats:
        del count
        return self.space.to_unit(self._stage.ask())

    def _learn(self, unit: Floats, scores: Floats) -> None:
        del unit
        self._stage.tell(scores)
