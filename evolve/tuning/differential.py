"""Differential evolution: a population that moves along its own differences, for all groups at once.

After Storn & Price, "Differential Evolution" (1997), each base vector being pulled some way towards the best. Of the
cheapest searches the steadiest on mixed spaces, given many vectors. A group whose population has become one starts again.
"""

import numpy as np
from numpy.typing import NDArray

from evolve.space import Floats, Space
from evolve.tuning.base import BatchTuner
from evolve.tuning.cube import first_design, inside, stratified

CROSSOVER = 0.7
"""Share of places that a trial takes from the mutant."""

USUAL = 16
"""Members of a population where no larger batch is preferred."""

GENERATIONS = 20
"""Rounds that a budget should allow at least: a larger preferred batch is cut."""

CONVERGED = 1e-9
"""A population whose scores differ by less, relative to their size, starts again."""


class Differential(BatchTuner):
    """Differential evolution with a population of one batch.

    Args:
        space: the space of theta.
        start: the first vector of each group, shape *(groups, width)*.
        budget: vectors of each group that may be asked.
        batch: preferred number of vectors of a group in one `ask`, and of members; None: `USUAL`.
        seed: of the random draws.
        spread: standard deviation of the first vectors around the start in unit coordinates, shape *(width,)*.
    """

    method = "de"

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
        count = USUAL if batch is None else max(USUAL, min(batch, budget // GENERATIONS))
        super().__init__(space=space, start=start, budget=budget, batch=min(count, batch or count))
        self._rng = np.random.default_rng(seed)
        self._population = count
        self._trials = first_design(self._rng, space, self.start, spread, count)
        self._members = self._trials.copy()
        self._scores = np.full((self.groups, count), np.inf)
        self._handed = 0

    def _size(self) -> int:
        return min(self.batch, self._population - self._handed)

    def _propose(self, count: int) -> Floats:
        self._handed += count
        return self._trials[:, self._handed - count : self._handed]

    def _learn(self, unit: Floats, scores: Floats) -> None:
        span = slice(self._handed - unit.shape[1], self._handed)
        better = scores <= self._scores[:, span]
        self._scores[:, span] = np.where(better, scores, self._scores[:, span])
        self._members[:, span] = np.where(better[..., None], unit, self._members[:, span])
        if self._handed == self._population:
            self._handed = 0
            self._trials = self._next_trials()

    def _next_trials(self) -> Floats:
        rng, count = self._rng, self._population
        shape = (count, self.width)
        first, second, third = rng.random((count, count)).argsort(axis=1)[:, :3].T
        best = self._members[np.arange(self.groups), self._scores.argmin(axis=1)][:, None]
        base = self._members[:, first]
        pull, factor = rng.random((count, 1)), rng.uniform(0.5, 1.0, (count, 1))
        difference = self._members[:, second] - self._members[:, third]
        mutant = inside(base + pull * (best - base) + factor * difference)
        source = rng.random(shape)  # a difference of two choices means nothing: take one from a parent, or a new one
        choice = np.where(source < 0.4, base, np.where(source < 0.8, best, rng.random(shape)))
        mutant = np.where(self.space.categorical, choice, mutant)
        crossed = rng.random(shape) < CROSSOVER
        crossed[np.arange(count), rng.integers(self.width, size=count)] = True
        anew = stratified(rng, *shape)
        over = self._collapsed()
        self._scores[over] = np.inf
        return np.where(over[:, None, None], anew, np.where(crossed, mutant, self._members))

    def _collapsed(self) -> NDArray[np.bool_]:
        """Which groups have a population of (nearly) one score; not those in which all have failed."""
        known = np.isfinite(self._scores)
        finite = np.where(known, self._scores, 0.0)
        one: NDArray[np.bool_] = np.ptp(finite, axis=1) <= CONVERGED * np.abs(finite).max(axis=1)
        one &= known.all(axis=1)
        return one
