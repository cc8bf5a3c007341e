"""CMA-ES: a normal distribution that learns the shape of the problem, for all groups at once.

After Hansen, "The CMA Evolution Strategy: A Tutorial" (2016), with active (negative) weights. Samples beyond a
bound are moved onto it. A whole-number place keeps enough spread to leave its cell (after the margin of Hamano et
al., "CMA-ES with Margin", 2022), else it would freeze on a plateau. A group that has converged starts again.
"""

import math

import numpy as np
from numpy.typing import NDArray

from evolve.space import Floats, Space
from evolve.tuning.base import BatchTuner
from evolve.tuning.cube import DEFAULT_SPREAD, cells

CONVERGED = 1e-4
"""A search whose largest standard deviation is below this, in unit coordinates, starts again."""

PATIENCE = 50
"""Populations (plus ten per place) without a better vector after which a search starts again."""

GENERATIONS = 20
"""Updates that a budget should allow at least: a larger preferred batch is cut."""

FLAT = 1.5
"""Longer steps where half of a population has one score (or has failed): there is no slope to follow."""

MARGIN = 0.25
"""Least standard deviation of a whole-number place, in cells: one sample in twenty leaves from the middle of a cell."""


class CmaEs(BatchTuner):
    """Covariance matrix adaptation: cheap, and the better the longer it runs on continuous spaces.

    Args:
        space: the space of theta; a categorical place counts as a whole number.
        start: the first vector of each group, shape *(groups, width)*.
        budget: vectors of each group that may be asked.
        batch: preferred number of vectors of a group in one `ask`, and from one update to the next; None: 4 + 3 ln(width).
        seed: of the random draws.
        spread: first standard deviation of each place in unit coordinates, shape *(width,)*.
    """

    method = "cma"

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
        usual = 4 + int(3 * math.log(space.width))
        population = usual if batch is None else max(usual, min(batch, budget // GENERATIONS))
        super().__init__(space=space, start=start, budget=budget, batch=min(population, batch or population))
        self._rng = np.random.default_rng(seed)
        self._rates = _Rates(self.width, population)
        self._spread = np.tile(spread, (self.groups, 1))
        self._mean = space.to_unit(self.start)
        self._step = np.ones(self.groups)
        self._covariance = np.tile(np.eye(self.width), (self.groups, 1, 1))
        self._step_path = np.zeros((self.groups, self.width))
        self._shape_path = np.zeros((self.groups, self.width))
        self._age = np.zeros(self.groups, dtype=int)
        self._idle = np.zeros(self.groups, dtype=int)
        self._lowest = np.full(self.groups, np.inf)
        self._draw()
        self._drawn[:, 0] = self._mean

    def _draw(self) -> None:
        """Draw one population, of which `_propose` hands out a batch at a time."""
        values, self._axes = np.linalg.eigh(self._covariance)
        self._lengths = np.sqrt(np.maximum(values, 1e-20))
        floor = MARGIN * cells(self.space, self._mean) / self._deviation()
        self._reach = np.maximum(self._step[:, None] * self._spread, floor)[:, None]
        normal = self._rng.standard_normal((self._rates.population, self.width))
        shaped = (normal * self._lengths[:, None]) @ self._axes.swapaxes(1, 2)
        self._drawn = np.clip(self._mean[:, None] + self._reach * shaped, 0.0, 1.0)
        self._handed = 0
        self._scores = np.empty((self.groups, 0))

    def _deviation(self) -> Floats:
        deviation: Floats = np.sqrt(np.maximum(np.diagonal(self._covariance, axis1=1, axis2=2), 1e-20))
        return deviation

    def _size(self) -> int:
        return min(self.batch, self._rates.population - self._handed)

    def _propose(self, count: int) -> Floats:
        self._handed += count
        batch: Floats = self._drawn[:, self._handed - count : self._handed]
        return batch

    def _learn(self, unit: Floats, scores: Floats) -> None:
        del unit
        self._scores = np.concatenate([self._scores, scores], axis=1)
        if self._handed == self._rates.population:
            self._update()
            self._restart()
            self._draw()

    def _update(self) -> None:
        """One generation: move the mean, then adapt step and shape."""
        rates = self._rates
        order = self._scores.argsort(axis=1, kind="stable")
        points = np.take_along_axis(self._drawn, order[..., None], axis=1)
        moves = (points - self._mean[:, None]) / self._reach
        mean_move = rates.recombine @ moves
        self._mean = np.clip(self._mean + self._reach[:, 0] * mean_move, 0.0, 1.0)
        turned = (mean_move[:, None] @ self._axes) / self._lengths[:, None]
        whitened = (turned @ self._axes.swapaxes(1, 2))[:, 0]
        self._age += 1
        self._step_path = (1 - rates.cs) * self._step_path + rates.step_gain * whitened
        length = np.linalg.norm(self._step_path, axis=1)
        steady = length < (1.4 + 2 / (self.width + 1)) * rates.chi * np.sqrt(1 - (1 - rates.cs) ** (2 * self._age))
        gain = rates.shape_gain * steady[:, None]
        self._shape_path = (1 - rates.cc) * self._shape_path + gain * mean_move
        self._adapt_shape(moves, steady)
        grow = np.exp(np.minimum(1.0, rates.cs / rates.ds * (length / rates.chi - 1)))
        low, middle = np.take_along_axis(self._scores, order[:, [0, rates.population // 2]], axis=1).T
        grow = np.where(low == middle, grow * FLAT, grow)
        self._step = np.minimum(self._step * grow, 1.0 / self._spread.max(axis=1))

    def _adapt_shape(self, moves: Floats, steady: NDArray[np.bool_]) -> None:
        """Rank-one and rank-mu update with negative weights, which are scaled so that the matrix stays positive."""
        rates = self._rates
        size = (((moves @ self._axes) / self._lengths[:, None]) ** 2).sum(axis=2)
        weights = rates.weights * np.where(rates.weights < 0, self.width / np.maximum(size, 1e-12), 1.0)
        stalled = np.where(steady, 0.0, rates.c1 * rates.cc * (2 - rates.cc))
        keep = 1 - rates.c1 - rates.cmu * rates.weights.sum() + stalled
        one = self._shape_path[:, :, None] * self._shape_path[:, None]
        many = (moves * weights[..., None]).swapaxes(1, 2) @ moves
        covariance = keep[:, None, None] * self._covariance + rates.c1 * one + rates.cmu * many
        self._covariance = (covariance + covariance.swapaxes(1, 2)) / 2

    def _restart(self) -> None:
        """Start converged and stuck groups again: half of the times anywhere, half around the best vector so far."""
        lowest = self._scores.min(axis=1)
        self._idle = np.where(lowest < self._lowest, 0, self._idle + 1)
        self._lowest = np.minimum(self._lowest, lowest)
        size = (self._step[:, None] * self._spread * self._deviation()).max(axis=1)
        over = (size < CONVERGED) | (self._idle > PATIENCE + 10 * self.width)
        mean = self._rng.random(self.width)
        known = self._rng.random() < 0.5
        self._mean[over] = self.space.to_unit(self.best_theta)[over] if known else mean
        self._spread[over] = DEFAULT_SPREAD
        self._step[over] = 1.0
        self._covariance[over] = np.eye(self.width)
        self._step_path[over] = self._shape_path[over] = 0.0
        self._age[over] = self._idle[over] = 0
        self._lowest[over] = np.inf


class _Rates:
    """Weights and learning rates for a width and a population; names as in the tutorial."""

    def __init__(self, width: int, population: int) -> None:
        self.population = population
        raw = math.log((population + 1) / 2) - np.log(np.arange(1, population + 1))
        up, down = np.maximum(raw, 0.0), np.minimum(raw, 0.0)
        self.recombine = up / up.sum()
        mueff = float(1.0 / (self.recombine**2).sum())
        self.cs = (mueff + 2) / (width + mueff + 5)
        self.ds = 1 + 2 * max(0.0, math.sqrt((mueff - 1) / (width + 1)) - 1) + self.cs
        self.cc = (4 + mueff / width) / (width + 4 + 2 * mueff / width)
        self.c1 = 2 / ((width + 1.3) ** 2 + mueff)
        self.cmu = min(1 - self.c1, 2 * (mueff - 2 + 1 / mueff) / ((width + 2) ** 2 + mueff))
        self.chi = math.sqrt(width) * (1 - 1 / (4 * width) + 1 / (21 * width**2))
        self.step_gain = math.sqrt(self.cs * (2 - self.cs) * mueff)
        self.shape_gain = math.sqrt(self.cc * (2 - self.cc) * mueff)
        mueff_down = float(down.sum() ** 2 / (down**2).sum())
        bounds = (
            1 + self.c1 / self.cmu,
            1 + 2 * mueff_down / (mueff + 2),
            (1 - self.c1 - self.cmu) / (width * self.cmu),
        )
        self.weights = np.where(raw >= 0, self.recombine, min(bounds) * down / -down.sum())
