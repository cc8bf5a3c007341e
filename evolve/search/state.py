"""The state of a search: what follows from the tickets committed so far, in their order, and from nothing else.

`apply` is the only way it changes. So a resumed run, which applies the archived records again, stands exactly where the
interrupted one stood.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from archive import EventRecord, ProgramRecord, SkillRecord
from evolve.program import Program
from evolve.proposers.base import Skill
from evolve.search.credit import Credit
from evolve.search.known import Known
from evolve.search.migration import routes
from evolve.search.population import Island, Member, typical
from evolve.search.skills import SkillBook
from evolve.settings import RunSettings

CLEAR_GAIN = 0.002
"""Relative gain over its parent from which a child counts as clearly better: its new parts become skills."""

SkillExtractor = Callable[[Program, Program], Sequence[Skill]]


@dataclass(slots=True)
class Consequences:
    """What follows from a commit and is archived with it."""

    events: list[EventRecord] = field(default_factory=list)
    skills: list[SkillRecord] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class SearchState:
    """Islands, members, credit, skills and counts after a number of commits.

    Args:
        settings: the run's settings.
        maximize: whether larger scores are better.
        credit: which operator pays.
        read: turns source text into a program.
        extract: finds the new parts of a child that improved on its parent.
    """

    settings: RunSettings
    maximize: bool
    credit: Credit
    read: Callable[[str], Program]
    extract: SkillExtractor
    islands: list[Island] = field(default_factory=list)
    members: dict[str, Member] = field(default_factory=dict)
    baselines: dict[str, Member] = field(default_factory=dict)
    known: Known = field(default_factory=Known)
    skills: SkillBook = field(default_factory=SkillBook)
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    evaluations: int = 0
    evaluations_saved: int = 0
    tickets: int = 0

    def __post_init__(self) -> None:
        count, size = self.settings.islands.count, self.settings.islands.size
        self.islands = [Island(index, size) for index in range(count)]

    def loss(self, score: float) -> float:
        """A score with its sign turned so that smaller is better."""
        return -score if self.maximize else score

    def finalists(self, count: int) -> list[Member]:
        """The best on validation among those that live on an island, best first.

        To live there a program must be good on train. So what is chosen is good on both, and not merely the luckiest of
        all programs on the smaller split.
        """
        residents = {member.name: member for island in self.islands for member in island}
        return heapq.nsmallest(count, residents.values(), key=self._by_validation)

    def _by_validation(self, member: Member) -> tuple[float, int, str]:
        return (self.loss(member.validation), member.size, member.name)

    def apply(self, record: ProgramRecord) -> Consequences:
        """Take one committed program into account."""
        self._count(record)
        member = self._member(record)
        if record.role == "baseline":
            if member is not None:
                self.baselines[record.label] = member
            return Consequences()
        if record.fingerprint:
            self.known.add(record.fingerprint, record.name)
        follows = Consequences()
        if member is not None:
            self.members[record.name] = member
            for island in self.islands if record.island is None else [self.islands[record.island]]:
                island.add(member)
            follows.skills += self._learn_skills(record, member)
        if record.role == "ticket":
            self.credit.update(record.operator, self._reward(record, member))
            self.tickets += 1
            follows.events += self._migrate(record.number)
        return follows

    def _count(self, record: ProgramRecord) -> None:
        self.evaluations += record.evaluations
        self.evaluations_saved += record.tuning.evaluations_saved if record.tuning else 0
        if record.role != "baseline":
            self.statuses[record.status] += 1
            if record.reason:
                self.reasons[record.reason] += 1

    def _member(self, record: ProgramRecord) -> Member | None:
        if record.status != "ok" or record.train_score is None or record.validation_score is None:
            return None
        return Member(
            name=record.name,
            source=record.source,
            values=record.values,
            score=record.train_score,
            validation=record.validation_score,
            loss=self.loss(record.train_score),
            size=record.size,
            fingerprint=record.fingerprint,
            read=self.read,
        )

    def _parent(self, record: ProgramRecord) -> Member | None:
        first = next((edge.name for edge in record.parents if edge.role == "parent"), None)
        return self.members.get(first) if first else None

    def _reward(self, record: ProgramRecord, member: Member | None) -> float:
        """Half for beating the parent, half for being the best of the island; failures earn nothing."""
        parent = self._parent(record)
        if member is None or parent is None or record.island is None:
            return 0.0
        best = self.islands[record.island].best
        return 0.5 * (member.loss < parent.loss) + 0.5 * (best is not None and best.name == member.name)

    def _learn_skills(self, record: ProgramRecord, member: Member) -> list[SkillRecord]:
        """Credit the skills that went into a program, and admit what is new in one that is clearly better."""
        parent = self._parent(record)
        if parent is None:
            return []
        gain = (parent.loss - member.loss) / (abs(parent.loss) or 1.0)
        touched = [edge.name for edge in record.parents if edge.role == "skill"]
        for name in touched:
            self.skills.credit(name, gain)
        if gain >= CLEAR_GAIN:
            for number, new in enumerate(self.extract(self._tuned(parent), self._tuned(member))):
                skill = replace(new, name=f"{record.name}.{number}", gain=gain, uses=0)
                if self.skills.admit(skill):
                    touched.append(skill.name)
        return [_skill_record(known) for name in touched if (known := self.skills.get(name)) is not None]

    def _tuned(self, member: Member) -> Program:
        """A member's program with its tuned values as defaults."""
        return self.read(member.program.with_values(typical(member.values)))

    def _migrate(self, ticket: int) -> list[EventRecord]:
        islands = self.settings.islands
        if not islands.every or (ticket + 1) % (islands.every * islands.count):
            return []
        leaving = {island.index: list(island)[: islands.migrants] for island in self.islands}
        events = []
        for origin, target in routes(islands.topology, islands.count):
            for member in leaving[origin]:
                if self.islands[target].add(member):
                    data = {"from": origin, "to": target, "program": member.name}
                    key = f"migration-{ticket}-{origin}-{target}-{member.name}"
                    events.append(EventRecord(kind="migration", ticket=ticket, data=data, key=key))
        return events

    @property
    def leader(self) -> Member | None:
        """The best on train, which is what the search itself goes by; it never gets worse by more than parsimony allows."""
        leaders = [island.best for island in self.islands if island.best is not None]
        return min(leaders, key=lambda member: (self.loss(member.score), member.size, member.name), default=None)

    @property
    def best_baseline(self) -> tuple[str, Member] | None:
        """The baseline that is best on train."""
        return min(self.baselines.items(), key=lambda item: (self.loss(item[1].score), item[0]), default=None)


def _skill_record(skill: Skill) -> SkillRecord:
    return SkillRecord(
        name=skill.name,
        code=skill.code,
        parameters=dict(skill.parameters),
        description=skill.description,
        gain=skill.gain,
        uses=skill.uses,
    )
