"""Members and islands: who lives where, in which order, and who has to go."""

import bisect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from evolve.program import Program
from evolve.proposers.base import Relative
from evolve.space import Value

Values = Mapping[str, Mapping[str, Value]]
"""Tuned parameters: by group ("" if all instances share them), then by parameter."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """A program that was scored.

    Args:
        name: its name in the run.
        source: its text.
        values: its tuned parameters by group.
        score: mean score on train, as the problem reports it.
        validation: mean score on validation.
        loss: the score on train with its sign turned so that smaller is better.
        size: nodes of its syntax tree; of two equal programs the smaller is kept.
        fingerprint: its canonical identity.
        read: turns its text into a program.
    """

    name: str
    source: str
    values: Values
    score: float
    validation: float
    loss: float
    size: int
    fingerprint: str
    read: Callable[[str], Program] = field(repr=False, compare=False)

    @cached_property
    def program(self) -> Program:
        """Read when first needed: most members are never chosen as a parent."""
        return self.read(self.source)

    @property
    def rank(self) -> tuple[float, int, str]:
        """Sorts better members first; the name makes the order total."""
        return (self.loss, self.size, self.name)

    def relative(self) -> Relative:
        """The member as a proposer sees it: where parameters differ by group, those of the middle group."""
        return Relative(name=self.name, program=self.program, values=typical(self.values), score=self.score)


def typical(values: Values) -> Mapping[str, Value]:
    """One parameter vector that stands for all groups: each parameter's median (or commonest) value over the groups."""
    vectors = list(values.values())
    if len(vectors) <= 1:
        return dict(vectors[0]) if vectors else {}
    middle: dict[str, Value] = {}
    for name in vectors[0]:
        column = [vector[name] for vector in vectors]
        if any(isinstance(value, (str, bool, tuple)) for value in column):
            middle[name] = max(column, key=lambda value: (column.count(value), -column.index(value)))
        else:
            middle[name] = sorted(column)[len(column) // 2]
    return middle


SAME_LOSS = 1e-4
"""Relative difference of losses up to which two programs count as equally good."""


def _alike(first: Member, second: Member) -> bool:
    return first.fingerprint == second.fingerprint or math.isclose(first.loss, second.loss, rel_tol=SAME_LOSS)


def _preferred(first: Member, second: Member) -> bool:
    """Whether of two programs that are alike the first one stays."""
    if first.fingerprint == second.fingerprint:
        return first.rank <= second.rank
    return (first.size, first.rank) <= (second.size, second.rank)


@dataclass(slots=True)
class Island:
    """A sub-population in order of rank, never larger than `capacity`.

    Args:
        index: its number.
        capacity: most members.
    """

    index: int
    capacity: int
    _members: list[Member] = field(default_factory=list)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    @property
    def best(self) -> Member | None:
        """The member of the best rank."""
        return self._members[0] if self._members else None

    def add(self, member: Member) -> bool:
        """Take a member in if it earns a place.

        Of two programs with the same fingerprint the worse goes. Of two whose losses differ by no more than `SAME_LOSS`
        the larger goes: they decide nearly the same, and a term that gains nothing must not settle. The worst goes when
        the island is full.

        Returns:
            Whether `member` lives on the island now.
        """
        twins = [resident for resident in self._members if _alike(resident, member)]
        if any(_preferred(twin, member) for twin in twins):
            return False
        for twin in twins:
            self._members.remove(twin)
        bisect.insort(self._members, member, key=lambda resident: resident.rank)
        if len(self._members) > self.capacity:
            return self._members.pop() is not member
        return True
