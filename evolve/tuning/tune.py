"""The loop of a tuning: ask a tuner, evaluate blocks of rows, tell it, and keep the books."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evolve.space import Floats
from evolve.tuning.base import Tuner
from evolve.tuning.racing import Groups, Positions, Race, Racing


class Evaluate(Protocol):
    """Scores one block of rows. Rows are independent of each other: an executor may split a block over workers."""

    def __call__(self, theta: Floats, vector: Positions, instance: Positions, /) -> Floats:
        """Score `theta[vector[r]]` on instance `instance[r]` for every row r, a smaller score being better.

        A block is as large as it can be: all vectors of all groups that are still needed, on all the instances of their
        group that are next. Equal instances bring equal random numbers.

        Args:
            theta: parameter vectors, shape *(vectors, width)*.
            vector: which of them each row uses, shape *(rows,)*.
            instance: on which instance, shape *(rows,)*; it belongs to the vector's group.

        Returns:
            Scores, NaN where a row failed; shape *(rows,)*.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningResult:
    """What a tuning found and what it took. An evaluation is one parameter vector on one instance.

    Args:
        method: the tuner's method.
        theta: the best vector of each group, its start if none had a score; shape *(groups, width)*.
        scores: mean score of each over its group's instances, NaN if none had one; shape *(groups,)*.
        instance_scores: scores of the best vectors on each instance of their group, shape *(instances,)*.
        start_scores: mean score of each group's start vector, NaN where it failed; shape *(groups,)*.
        evaluations: evaluations made.
        evaluations_saved: evaluations that vectors would have taken further if they had not been dropped by racing or had
            failed before; with `evaluations` it makes vectors × instances of their groups.
        vectors: parameter vectors tried, summed over groups.
        failed: those of them that failed on some instance.
        dropped: those of them that racing dropped.
        history: after each batch, the evaluations made and the mean of the groups' best scores, once all have one.
    """

    method: str
    theta: Floats
    scores: Floats
    instance_scores: Floats
    start_scores: Floats
    evaluations: int
    evaluations_saved: int
    vectors: int
    failed: int
    dropped: int
    history: tuple[tuple[int, float], ...]

    @property
    def start_score(self) -> float:
        """Mean of `start_scores`; NaN if the start failed in some group."""
        return float(self.start_scores.mean())


class _Books:
    """The incumbents and the counts of a tuning in progress."""

    def __init__(self, tuner: Tuner, groups: Groups) -> None:
        self._groups = groups
        self.theta = tuner.best_theta
        self.scores = np.full(tuner.groups, np.nan)
        self.start_scores = np.full(tuner.groups, np.nan)
        self.instance_scores = np.full(len(groups.of_instance), np.nan)
        self.evaluations = self.possible = self.vectors = self.failed = self.dropped = 0
        self.history: list[tuple[int, float]] = []

    def enter(self, theta: Floats, race: Race, scores: Floats) -> None:
        """Count a finished race and take over vectors that are better than the incumbents."""
        if not self.vectors:
            self.start_scores = scores[:, 0].copy()
        batch = theta.shape[1]
        self.evaluations += race.evaluations
        self.possible += batch * len(self.instance_scores)
        self.vectors += theta.shape[0] * batch
        self.failed += int(race.failed.sum())
        self.dropped += int(race.dropped.sum())
        full = np.where(np.isnan(scores) | race.dropped, np.inf, scores)
        rows, winner = np.arange(len(full)), full.argmin(axis=1)
        better = full[rows, winner] < np.where(np.isnan(self.scores), np.inf, self.scores)
        self.scores = np.where(better, full[rows, winner], self.scores)
        self.theta[better] = theta[rows, winner][better]
        of = self._groups.of_instance
        won = race.table[winner[of], np.arange(len(of))]
        self.instance_scores = np.where(better[of], won, self.instance_scores)
        if np.isfinite(self.scores).all():
            self.history.append((self.evaluations, float(self.scores.mean())))


def tune(
    tuner: Tuner,
    evaluate: Evaluate,
    *,
    group_of_instance: Positions,
    racing: Racing | None = None,
    seed: np.random.SeedSequence | None = None,
) -> TuningResult:
    """Spend a tuner's budget. A vector's score is its mean over the instances of its group.

    Resuming needs nothing here: with the same seeds and an `evaluate` that looks up what was evaluated before, the same
    blocks come again in the same order.

    Args:
        tuner: a fresh one.
        evaluate: scores a block of rows.
        group_of_instance: the group of each instance, shape *(instances,)*; all zero if one vector serves all.
        racing: when to stop vectors that are clearly worse; None evaluates all in full.
        seed: of the order in which racing goes through the instances.

    Returns:
        The best vectors and the books.

    Raises:
        ValueError: if the groups are not the tuner's, it was told before, or `evaluate` returns another number of scores
            than there are rows.
    """
    groups = Groups(np.asarray(group_of_instance, dtype=np.intp))
    if len(groups.counts) != tuner.groups:
        raise ValueError(f"the tuner has {tuner.groups} groups, the instances have {len(groups.counts)}")
    if tuner.told:
        raise ValueError(f"tune() takes a fresh tuner, not one that was told {tuner.told} vectors before")
    rng = np.random.default_rng(np.random.SeedSequence(0) if seed is None else seed)
    books = _Books(tuner, groups)
    while tuner.left:
        theta = tuner.ask()
        batch = theta.shape[1]
        race = Race(groups, batch, books.instance_scores, racing, rng)
        vectors = theta.reshape(tuner.groups * batch, theta.shape[2])
        while not race.over:
            vector, instance = race.rows()
            scores = np.empty(0)
            if len(vector):
                scores = evaluate(vectors, groups.of_instance[instance] * batch + vector, instance)
            if scores.shape != vector.shape:
                raise ValueError(f"evaluate was given {len(vector)} rows and returned scores of shape {scores.shape}")
            race.take(vector, instance, scores)
        scores = race.scores()
        books.enter(theta, race, scores)
        tuner.tell(scores)
    return TuningResult(
        method=tuner.method,
        theta=books.theta,
        scores=books.scores,
        instance_scores=books.instance_scores,
        start_scores=books.start_scores,
        evaluations=books.evaluations,
        evaluations_saved=books.possible - books.evaluations,
        vectors=books.vectors,
        failed=books.failed,
        dropped=books.dropped,
        history=tuple(books.history),
    )
