"""Ask and tell for whole batches: the protocol of every tuner, and what all of them do alike.

A tuner searches `groups` independent problems over the same space in lock-step: `ask` returns a batch of parameter
vectors for each group, `tell` takes their scores in the same order. Scores are minimised (a caller who maximises flips
the sign), and NaN says that a vector failed: it counts as worse than every number and enters no arithmetic.

All groups see the same random draws. Each group is a problem of its own, so nothing is lost, and the search of a group
does not depend on which others are tuned beside it.

A tuner is deterministic in its arguments, its seed and the scores it was told. So its state *is* the scores told, and
`restore` replays them: exact for every method, foreign ones included, at the price of the optimizer's own work.
"""

import hashlib
from abc import ABC, abstractmethod
from typing import Protocol, TypedDict

import numpy as np

from evolve.space import Floats, Space
from evolve.tuning.checks import check_budget, check_scores, check_start

HUGE = 1e100
"""Scores beyond this look alike to a search: their squares would overflow."""


class State(TypedDict):
    """What a tuner was told so far; plain JSON values."""

    method: str
    """The tuner's `method`."""
    scores: list[list[list[float | None]]]
    """One entry per batch, groups × vectors; None for a failed vector."""
    digest: str
    """Hash of every vector asked for these scores; tells a state of another tuner apart."""


class Tuner(Protocol):
    """Searches the parameter vectors of one or more groups. Made by `make_tuner`."""

    @property
    def method(self) -> str:
        """The name it was made by."""

    @property
    def groups(self) -> int:
        """How many problems are tuned in lock-step."""

    @property
    def left(self) -> int:
        """Vectors of each group that may still be asked; 0 once the search is over."""

    @property
    def told(self) -> int:
        """Vectors of each group whose scores were told."""

    @property
    def best_theta(self) -> Floats:
        """The best vector of each group so far, its start before that; shape *(groups, width)*."""

    @property
    def best_scores(self) -> Floats:
        """The score of each `best_theta`, NaN where none is known; shape *(groups,)*."""

    def ask(self) -> Floats:
        """The next vectors to evaluate, as legal theta of shape *(groups, batch, width)*.

        The first row of the first batch is each group's start vector, unchanged.

        Raises:
            RuntimeError: if the last batch was not told yet, or nothing is left to ask.
        """

    def tell(self, scores: Floats) -> None:
        """Take the scores of the last batch.

        Args:
            scores: shape *(groups, batch)*, in the order of `ask`; smaller is better, NaN for a failed vector.

        Raises:
            RuntimeError: if nothing was asked.
            ValueError: if the shape is another.
        """

    def state(self) -> State:
        """All that `restore` needs; a batch that was asked but not told is asked again after it."""

    def restore(self, state: State) -> None:
        """Bring a fresh tuner, made with the same arguments, to `state`; it goes on as the first one would have.

        Raises:
            RuntimeError: if this tuner was used before.
            ValueError: if `state` comes from a tuner made with other arguments.
        """


class BatchTuner(ABC):
    """What all tuners do alike: order, shapes, budget, the best so far, resuming.

    A method overrides `_propose` and `_learn`, which work in the unit cube, and `_size` where it wants other batches.

    Args:
        space: the space of theta.
        start: the first vector of each group, shape *(groups, width)*.
        budget: vectors of each group that may be asked.
        batch: most vectors of a group in one `ask`.
    """

    method = ""

    def __init__(self, *, space: Space, start: Floats, budget: int, batch: int) -> None:
        check_budget(budget, batch)
        check_start(space, start)
        self.space, self.batch = space, batch
        self.start = start.astype(np.float64)
        self.groups, self.width = start.shape
        self.left, self.told = budget, 0
        self._best = np.full(self.groups, np.inf)
        self._best_theta = self.start.copy()
        self._asked: tuple[Floats, Floats] | None = None
        self._record: list[list[list[float | None]]] = []
        self._digest = hashlib.sha256()

    @property
    def best_theta(self) -> Floats:
        """See `Tuner`."""
        return self._best_theta.copy()

    @property
    def best_scores(self) -> Floats:
        """See `Tuner`."""
        return np.where(np.isfinite(self._best), self._best, np.nan)

    def ask(self) -> Floats:
        """See `Tuner`."""
        if self._asked is not None:
            raise RuntimeError("ask() came twice: tell() the scores of the last batch first")
        if self.left == 0:
            raise RuntimeError(f"nothing is left to ask: all {self.told} vectors were told")
        unit = self._propose(min(self._size(), self.left))
        theta = self.space.from_unit(unit)
        if self.told == 0:
            theta[:, 0] = self.start  # not by way of unit coordinates, whose rounding would change the start a little
        self._asked = unit, theta
        return theta.copy()

    def tell(self, scores: Floats) -> None:
        """See `Tuner`."""
        if self._asked is None:
            raise RuntimeError("tell() without ask(): there is no batch that these scores could belong to")
        unit, theta = self._asked
        scores = np.asarray(scores, dtype=np.float64)
        check_scores(scores, theta.shape[:2])
        self._asked = None
        known = np.where(np.isfinite(scores), scores, np.inf)
        self._record.append([[s if np.isfinite(s) else None for s in row] for row in scores.tolist()])
        self._digest.update(theta.tobytes())
        self.told += unit.shape[1]
        self.left -= unit.shape[1]
        rows = np.arange(self.groups)
        winner = known.argmin(axis=1)
        better = known[rows, winner] < self._best
        self._best = np.where(better, known[rows, winner], self._best)
        self._best_theta[better] = theta[rows, winner][better]
        self._learn(unit, np.where(np.isinf(known), known, np.clip(known, -HUGE, HUGE)))

    def state(self) -> State:
        """See `Tuner`."""
        return {"method": self.method, "scores": [*self._record], "digest": self._digest.hexdigest()}

    def restore(self, state: State) -> None:
        """See `Tuner`."""
        if self.told or self._asked is not None:
            raise RuntimeError("restore() needs a fresh tuner: this one was asked before")
        for batch in state["scores"]:
            self.ask()
            self.tell(np.array([[np.nan if s is None else s for s in row] for row in batch]))
        if (state["method"], state["digest"]) != (self.method, self._digest.hexdigest()):
            raise ValueError(
                f"the state of a {state['method']} tuner does not fit this {self.method} tuner: "
                "both must be made with the same space, start, budget, batch and seed"
            )

    def _size(self) -> int:
        """Vectors wanted in the next batch."""
        return self.batch

    @abstractmethod
    def _propose(self, count: int) -> Floats:
        """The next `count` vectors of each group in unit coordinates, shape *(groups, count, width)*.

        The first row of the first batch is taken for the start, whatever it holds.
        """

    @abstractmethod
    def _learn(self, unit: Floats, scores: Floats) -> None:
        """Take the scores of the vectors proposed last; a failed one has inf. Shapes as `_propose`, *(groups, count)*."""
