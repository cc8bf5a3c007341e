"""Racing: a parameter vector that is clearly worse than the incumbent stops before it has seen every instance.

The instances of a group come in stages, in a random order that is drawn anew for each batch; all vectors see the same
ones (common random numbers). At the end of a stage a vector is compared with the incumbent, the best vector whose score
is known in full, on the instances seen so far. If a one-sided t test on the paired differences says that it is worse, it
is dropped, and its score is taken to be the incumbent's mean plus the mean difference: good enough to rank it, and never
better than the incumbent.

The error rate is that of one vector over all stages: the level is divided by the number of tests (Bonferroni). It is
the probability that a vector whose mean over all instances is better is nevertheless dropped. Two things keep it sound
where differences are not normal. One more difference is imagined, as far on the vector's side as the largest one seen is
on either, so that a few equal differences prove nothing; and no test is made on fewer than `minimum` instances, for a
vector that loses a little often and wins much rarely cannot be told from a worse one before a win is seen.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evolve.errors import SettingsError
from evolve.space import Floats

Bools = NDArray[np.bool_]
Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Racing:
    """When vectors are tested, and how sure a test must be.

    Args:
        stages: shares of a group's instances after which a vector may be dropped, increasing, between 0 and 1.
        error: largest probability that a truly better vector is dropped.
        minimum: fewest instances that a test may rest on; a group with no more than these is not raced.

    Raises:
        SettingsError: if a number is out of range.
    """

    stages: tuple[float, ...] = (0.25, 0.5)
    error: float = 0.01
    minimum: int = 16

    def __post_init__(self) -> None:
        ends = (0.0, *self.stages, 1.0)
        if not self.stages or any(late <= early for early, late in pairwise(ends)):
            raise SettingsError(f"racing stages are increasing shares between 0 and 1, not {self.stages!r}")
        if not 0.0 < self.error < 0.5:
            raise SettingsError(f"the error rate of racing lies between 0 and 0.5, not {self.error!r}")
        if self.minimum < 2:
            raise SettingsError(f"racing needs at least 2 instances for a test, not {self.minimum!r}")

    def looks(self, instances: int) -> tuple[int, ...]:
        """How many instances have been seen at each test, for a group with so many; empty if it is not raced."""
        counts = {max(self.minimum, round(share * instances)) for share in self.stages}
        return tuple(sorted(count for count in counts if count < instances))


def clearly_worse(total: Floats, square: Floats, count: Positions, level: Floats) -> Bools:
    """One-sided t tests: is the mean of paired differences above zero, an imagined one of -1 included?

    The differences, vector minus incumbent, are divided by the largest absolute one. All arguments broadcast.

    Args:
        total: their sum.
        square: the sum of their squares.
        count: how many they are, at least 2.
        level: probability of a wrong yes if the true mean is zero.

    Returns:
        Whether each is clearly worse.
    """
    from scipy.special import stdtrit

    number = count + 1.0
    mean = (total - 1.0) / number
    variance = np.maximum((square + 1.0) / number - mean**2, 0.0) * number / (number - 1.0)
    worse: Bools = mean > stdtrit(number - 1.0, 1.0 - level) * np.sqrt(variance / number)
    return worse


@dataclass(frozen=True, eq=False)
class Groups:
    """Which instances belong to which group.

    Args:
        of_instance: the group of each instance, from 0; every group has at least one. Shape *(instances,)*.
    """

    of_instance: Positions
    order: Positions = field(init=False)
    starts: Positions = field(init=False)
    counts: Positions = field(init=False)

    def __post_init__(self) -> None:
        if self.of_instance.ndim != 1 or not len(self.of_instance):
            raise ValueError(f"of_instance has shape (instances,) with at least one, not {self.of_instance.shape}")
        counts = np.bincount(self.of_instance)
        if not counts.all():
            raise ValueError(f"group {int(np.argmin(counts))} of {len(counts)} has no instance")
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "order", np.argsort(self.of_instance, kind="stable"))
        object.__setattr__(self, "starts", np.concatenate([[0], counts.cumsum()[:-1]]))

    def add(self, table: Floats) -> Floats:
        """Sums over each group's instances: *(vectors, instances)* to *(groups, vectors)*."""
        return np.add.reduceat(table[:, self.order], self.starts, axis=1).T

    def largest(self, table: Floats) -> Floats:
        """Maxima over each group's instances: *(vectors, instances)* to *(groups, vectors)*."""
        return np.maximum.reduceat(table[:, self.order], self.starts, axis=1).T

    def ranks(self, rng: np.random.Generator) -> Positions:
        """A random order within each group: the place of every instance in its own, from 0."""
        shuffled = np.lexsort((rng.random(len(self.of_instance)), self.of_instance))
        ranks = np.empty(len(self.of_instance), dtype=np.intp)
        ranks[shuffled] = np.arange(len(shuffled)) - np.repeat(self.starts, self.counts)
        return ranks


class Race:
    """One batch on its way through the stages. Ask `rows`, evaluate them, `take` their scores; until `over`.

    Args:
        groups: the instances of each group.
        batch: vectors per group.
        incumbent: the incumbents' scores on all instances, NaN throughout a group that has none yet: there the first
            vector of the batch is evaluated in full at once and the others race against it. Shape *(instances,)*.
        racing: None evaluates everything in one stage.
        rng: the order of the instances.
    """

    def __init__(
        self, groups: Groups, batch: int, incumbent: Floats, racing: Racing | None, rng: np.random.Generator
    ) -> None:
        self._groups, self._incumbent = groups, incumbent.copy()
        self._level = racing.error if racing else 0.0
        looks = [racing.looks(int(count)) if racing else () for count in groups.counts]
        self._tests = np.array([len(look) for look in looks])
        stages = int(self._tests.max()) + 1
        full = [(*look, *[int(count)] * (stages - len(look))) for look, count in zip(looks, groups.counts, strict=True)]
        self._until = np.array(full).T
        self._rank = groups.ranks(rng)
        self._stage = 0
        self.table = np.full((batch, len(incumbent)), np.nan)
        """Scores, NaN where none is known; shape *(batch, instances)*."""
        self._evaluated = np.zeros(self.table.shape, dtype=np.bool_)
        self._lead = np.isnan(incumbent)
        shape = len(groups.counts), batch
        self.failed = np.zeros(shape, dtype=np.bool_)
        """Vectors that failed on an instance; shape *(groups, batch)*."""
        self.dropped = np.zeros(shape, dtype=np.bool_)
        """Vectors found clearly worse; shape *(groups, batch)*."""
        self._imputed = np.full(shape, np.nan)

    @property
    def over(self) -> bool:
        """Whether every vector is known in full, has failed or was dropped."""
        return self._stage == len(self._until)

    @property
    def evaluations(self) -> int:
        """Rows evaluated so far."""
        return int(self._evaluated.sum())

    def rows(self) -> tuple[Positions, Positions]:
        """The rows of the next block: for each its vector within the batch and its instance."""
        of = self._groups.of_instance
        running = ~(self.failed | self.dropped).T[:, of]
        wanted = np.broadcast_to(self._rank < self._until[self._stage][of], self.table.shape).copy()
        wanted[0] |= self._lead
        vector, instance = np.nonzero(wanted & running & ~self._evaluated)
        return vector, instance

    def take(self, vector: Positions, instance: Positions, scores: Floats) -> None:
        """Take the scores of the rows asked last, and test if this was not the last stage."""
        self._evaluated[vector, instance] = True
        self.table[vector, instance] = np.where(np.isfinite(scores), scores, np.nan)
        bad = self._evaluated & np.isnan(self.table)
        self.failed |= self._groups.add(bad.astype(np.float64)) > 0
        if self._stage == 0 and self._lead.any():
            self._incumbent = np.where(self._lead, self.table[0], self._incumbent)
        self._stage += 1
        if not self.over:
            self._test(self._stage)

    def _test(self, number: int) -> None:
        """Drop what is clearly worse after stage `number`."""
        groups, of = self._groups, self._groups.of_instance
        seen = self._rank < self._until[number - 1][of]
        difference = self.table - self._incumbent
        difference = np.where(seen & np.isfinite(difference), difference, 0.0)
        largest = groups.largest(np.abs(difference))
        unit = difference / np.where(largest > 0, largest, 1.0).T[:, of]
        count = self._until[number - 1][:, None]
        level = (self._level / np.maximum(self._tests, 1))[:, None]
        worse = clearly_worse(groups.add(unit), groups.add(unit**2), count, level)
        known = groups.add(np.isnan(self._incumbent)[None].astype(np.float64)) == 0
        dropped = worse & (self._tests >= number)[:, None] & known & ~self.failed & ~self.dropped
        base = groups.add(np.nan_to_num(self._incumbent)[None]) / groups.counts[:, None]
        self._imputed = np.where(dropped, base + groups.add(difference) / count, self._imputed)
        self.dropped |= dropped

    def scores(self) -> Floats:
        """The score of each vector once the race is over, imputed where it was dropped, NaN where it failed."""
        mean = self._groups.add(np.nan_to_num(self.table)) / self._groups.counts[:, None]
        return np.where(self.failed, np.nan, np.where(self.dropped, self._imputed, mean))
