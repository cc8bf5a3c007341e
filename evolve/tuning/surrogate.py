"""Surrogate search: ask where a cheap model of all scores so far looks low, and where it was not asked yet.

Random perturbations of the best vector are ranked by a radial basis function's prediction and by their distance from
what is known; they change fewer places at a time as the budget runs out. After Regis & Shoemaker, "A stochastic radial
basis function method" (2007) and "Combining radial basis function surrogates and dynamic coordinate search" (2013),
here for batches, groups and mixed spaces, with half of the perturbations shaped by the best vectors.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.space import Floats, Space
from evolve.tuning.base import BatchTuner
from evolve.tuning.cube import Embedding, cells, first_design, inside
from evolve.tuning.model import RadialModel

MEMORY = 200
"""Vectors the model is fitted to, the best ones: the cost of a fit grows with the cube of it."""

CANDIDATES = 256
"""Perturbations ranked for each batch."""

SMALLEST, LARGEST = 4, 16
"""Batches between which a search chooses: smaller ones learn more often, larger ones cost less work."""

ROUNDS, ROUNDS_AT_LEAST = 20, 8
"""Batches that a budget is split in by choice, and at least: a larger preferred batch is cut."""

WEIGHTS = (0.3, 0.5, 0.8, 0.95, 1.0)
"""How much of a candidate's merit is its prediction, the rest being distance: cycles from vector to vector."""

RIVAL, TURN = np.arange(CANDIDATES) >= CANDIDATES * 3 // 4, 4
"""On spaces with categoricals a quarter of the candidates lie around rivals, the best vectors of other combinations of
choices, and every fourth vector is one of them: a better choice may look poor until its own numbers are found."""

AT_ONCE = 32
"""Groups searched in one go: bounds the memory."""

SHORTEST = 2.0**-6
"""Step lengths start over at 1 once they are below this."""


class Surrogate(BatchTuner):
    """Searches with a model of the scores: the best value for few vectors.

    Args:
        space: the space of theta.
        start: the first vector of each group, shape *(groups, width)*.
        budget: vectors of each group that may be asked.
        batch: preferred number of vectors of a group in one `ask`; None: few, for the most from each.
        seed: of the random draws.
        spread: standard deviation of the first vectors around the start in unit coordinates, shape *(width,)*.
    """

    method = "surrogate"

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
        few = usual_batch(budget) if batch is None else min(batch, max(SMALLEST, budget // ROUNDS_AT_LEAST))
        super().__init__(space=space, start=start, budget=budget, batch=few)
        self._rng = np.random.default_rng(seed)
        self._spread, self._mixed = spread, bool(space.categorical.any())
        self._embed = Embedding(space)
        self._design = first_design(self._rng, space, self.start, spread, min(budget, max(few, self.width + 1)))
        self._unit = np.empty((self.groups, 0, self.width))
        self._scores = np.empty((self.groups, 0))
        self._length = np.ones(self.groups)
        self._wins = np.zeros(self.groups, dtype=int)
        self._losses = np.zeros(self.groups, dtype=int)
        self._turn = 0

    @property
    def _designed(self) -> int:
        return len(self._design[0])

    def _size(self) -> int:
        return min(self.batch, self._designed - self.told) if self.told < self._designed else self.batch

    def _propose(self, count: int) -> Floats:
        if self.told < self._designed:
            return self._design[:, self.told : self.told + count]
        draws = self._draw()
        turns = np.arange(self._turn, self._turn + count)
        self._turn += count
        firsts = range(0, self.groups, AT_ONCE)
        return np.concatenate([self._search(slice(first, first + AT_ONCE), draws, turns) for first in firsts])

    def _draw(self) -> "_Draws":
        rng, shape = self._rng, (CANDIDATES, self.width)
        share = max(min(1.0, 20.0 / self.width) * self._unspent(), 1.0 / self.width)
        moved = rng.random(shape) < share
        moved[np.arange(CANDIDATES), rng.integers(self.width, size=CANDIDATES)] |= ~moved.any(axis=1)
        return _Draws(
            moved=moved,
            redrawn=moved & (rng.random(shape) < max(share, 0.3)) & ~RIVAL[:, None],
            shaped=rng.random((CANDIDATES, 1)) < 0.5,
            noise=rng.standard_normal(shape),
            length=2.0 ** rng.uniform(-3.0, 0.5, (CANDIDATES, 1)),
            anew=rng.random(shape),
            lean=rng.random(CANDIDATES) ** 2,
        )

    def _search(self, part: slice, draws: "_Draws", turns: NDArray[np.intp]) -> Floats:
        """The next vectors of some groups, shape *(groups, turns, width)*."""
        unit, scores = self._unit[part], self._scores[part]
        candidates = self._perturb(unit, scores, self._length[part], draws)
        model = RadialModel(self._embed(unit), _flatten(scores))
        chosen = self._choose(model, self._embed(candidates), turns)
        return np.take_along_axis(candidates, chosen[..., None], axis=1)

    def _choose(self, model: RadialModel, places: Floats, turns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Positions of the best candidates of each group, far from known vectors and from each other."""
        predicted, distance = model.predict(places)
        merit, rows = _scaled(predicted), np.arange(len(places))
        chosen = np.empty((len(places), len(turns)), dtype=np.intp)
        for position, turn in enumerate(turns):
            weight = WEIGHTS[turn % len(WEIGHTS)]
            worth = weight * merit - (1.0 - weight) * _scaled(distance)
            worth += np.where(distance > 1e-9, 0.0, 4.0)  # beyond any merit: what was asked before comes last
            if self._mixed and turn % TURN == 0:
                worth -= np.where(RIVAL, 8.0, 0.0)
            best = worth.argmin(axis=1)
            chosen[:, position] = best
            distance = np.minimum(distance, np.linalg.norm(places - places[rows, best][:, None], axis=2))
        return chosen

    def _perturb(self, unit: Floats, scores: Floats, length: Floats, draws: "_Draws") -> Floats:
        """Candidates around the best vector of each group, shape *(groups, CANDIDATES, width)*."""
        center = self._centers(unit, draws.lean) if self._mixed else unit[:, :1]
        noise = np.where(draws.shaped, draws.noise @ self._shape(unit, scores).swapaxes(1, 2), draws.noise)
        step = length[:, None, None] * draws.length * self._spread
        step = np.maximum(step, 0.75 * cells(self.space, center))  # a whole number must not freeze
        points = np.where(draws.moved | draws.shaped, inside(center + step * noise), center)
        return np.where(self.space.categorical, np.where(draws.redrawn, draws.anew, center), points)

    def _centers(self, unit: Floats, lean: Floats) -> Floats:
        """What each candidate is a perturbation of: the best vector, or a rival, rather a better one."""
        choices = self.space.from_unit(unit)[..., self.space.categorical]
        equal = (choices[:, :, None] == choices[:, None]).all(axis=3)
        first = ~np.tril(equal, -1).any(axis=2)  # the vectors are sorted: the best of each combination
        best_first = (~first).argsort(axis=1, kind="stable")
        last = first.sum(axis=1, keepdims=True) - 1
        picked = np.where(RIVAL, np.minimum(1 + (lean * last).astype(int), last), 0)
        return np.take_along_axis(unit, np.take_along_axis(best_first, picked, axis=1)[..., None], axis=1)

    def _shape(self, unit: Floats, scores: Floats) -> Floats:
        """Square root of the covariance that the best vectors suggest, at unit size; shape *(groups, width, width)*."""
        count = min(unit.shape[1], max(4, unit.shape[1] // 4))
        weight = np.log(count + 0.5) - np.log(np.arange(1, count + 1))
        weight = np.where(np.isfinite(scores[:, :count]), weight / weight.sum(), 0.0)
        offset = (unit[:, :count] - unit[:, :1]) / self._spread
        covariance = (offset * weight[..., None]).swapaxes(1, 2) @ offset
        size = np.trace(covariance, axis1=1, axis2=2)[:, None, None] / self.width
        return np.linalg.cholesky(0.8 * covariance / np.maximum(size, 1e-30) + 0.2 * np.eye(self.width))

    def _unspent(self) -> float:
        """Falls from 1 to 0 with the logarithm of the vectors told after the design."""
        searched = self.told - self._designed
        return 1.0 - float(np.log(searched + 1.0) / np.log(max(searched + self.left, 2)))

    def _learn(self, unit: Floats, scores: Floats) -> None:
        if self.told > self._designed:
            self._adapt(scores)
        scores = np.concatenate([self._scores, scores], axis=1)
        order = scores.argsort(axis=1, kind="stable")[:, :MEMORY]
        self._scores = np.take_along_axis(scores, order, axis=1)
        points = np.concatenate([self._unit, unit], axis=1)
        self._unit = np.take_along_axis(points, order[..., None], axis=1)

    def _adapt(self, scores: Floats) -> None:
        """Lengthen the steps after successes and shorten them after failures."""
        flat = _flatten(self._scores)
        won = scores.min(axis=1) < flat[:, 0] - 1e-3 * np.ptp(flat, axis=1)
        self._wins = np.where(won, self._wins + 1, 0)
        self._losses = np.where(won, 0, self._losses + 1)
        longer = self._wins >= 2
        shorter = self._losses >= max(2, -(-self.width // self.batch))
        length = np.where(longer, np.minimum(2.0 * self._length, 1.0), np.where(shorter, 0.5, 1.0) * self._length)
        self._length = np.where(length < SHORTEST, 1.0, length)
        self._wins[longer] = 0
        self._losses[shorter] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draws:
    """Random draws for one batch, the same for all groups; per candidate, and mostly per place.

    Args:
        moved: places to perturb.
        redrawn: those where a categorical takes a new choice.
        shaped: candidates perturbed in all places, along the shape of the best vectors.
        noise: standard normal.
        length: relative step length.
        anew: new choices, in unit coordinates.
        lean: which rival to take, as a fraction of the way from the best to the worst.
    """

    moved: NDArray[np.bool_]
    redrawn: NDArray[np.bool_]
    shaped: NDArray[np.bool_]
    noise: Floats
    length: Floats
    anew: Floats
    lean: Floats


def usual_batch(budget: int) -> int:
    """Vectors in a batch where nothing but the quality of the search matters."""
    return max(SMALLEST, min(budget // ROUNDS, LARGEST))


def _flatten(scores: Floats) -> Floats:
    """Sorted scores without inf, the worse half cut off at the median: a model need not follow its heights."""
    known = np.isfinite(scores)
    finite = np.where(known, scores, 0.0)
    best = finite[:, :1]
    median = np.take_along_axis(finite, np.maximum(known.sum(axis=1, keepdims=True) - 1, 0) // 2, axis=1)
    return np.where(known, np.minimum(scores, median), 2.0 * median - best)


def _scaled(values: Floats) -> Floats:
    """Each row moved onto [0, 1]."""
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    scaled: Floats = (values - low) / np.where(high > low, high - low, 1.0)
    return scaled
