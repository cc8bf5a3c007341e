"""What an archive holds, as frozen records: what a caller writes, and what a reader gets back, equal to it.

A record checks and normalises itself when it is made (see `archive.plain`), so whatever can be made can be archived. A
failure is a status, never a number: a score stands only beside the status "ok".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import index
from typing import Any, Literal

from archive.errors import RecordError
from archive.plain import Json, number, plain, text

Direction = Literal["minimize", "maximize"]
Role = Literal["ticket", "seed", "baseline"]
EdgeRole = Literal["parent", "mate", "example", "skill"]
Values = Mapping[str, Mapping[str, Any]]
"""Group of instances to the values of its parameters; the group "" stands for all. A vector is a tuple."""

OK = "ok"
"""The one status of success, of programs and of outcomes."""


def _set(record: Any, **fields: Any) -> None:
    for name, value in fields.items():
        object.__setattr__(record, name, value)  # a frozen record is normalised once, while it is made


def _texts(record: Any, *names: str) -> None:
    for name in names:
        value = getattr(record, name)
        stored = text(value)
        if stored is not value:
            object.__setattr__(record, name, stored)


def _integers(record: Any, *names: str) -> None:
    for name in names:
        value = getattr(record, name)
        if type(value) is not int and value is not None:
            object.__setattr__(record, name, index(value))  # numpy's, say


def _score(value: float | None, status: str, what: str) -> float | None:
    if value is None:
        return None
    if status != OK:
        raise RecordError(f"{what} is {value!r} beside the status {status!r}: a failure has no score")
    return number(value, what)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run of a search.

    Args:
        id: its name: the problem's name and a running number, for example "inventory-1".
        problem: name of the problem.
        seed: seed of all its randomness.
        direction: whether smaller or larger scores are better.
        settings: what the run was asked to do.
        facts: what else it depends on: versions, digests of data.
        status: "running", "finished", "interrupted" or "failed".
        reason: why, for people; may be empty.
        created: when it was created, in UTC.
        changed: when its status last changed, in UTC.
    """

    id: str
    problem: str
    seed: int
    direction: Direction
    settings: Json
    facts: Json
    status: str
    reason: str
    created: datetime = field(compare=False)
    changed: datetime = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class IslandRecord:
    """A sub-population and what is special about it.

    Args:
        number: from 0.
        settings: what differs from the run's settings.
    """

    number: int
    settings: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        _integers(self, "number")
        _set(self, settings=plain(self.settings, f"settings of island {self.number}"))


@dataclass(frozen=True, slots=True)
class ParentEdge:
    """Where a program came from.

    Args:
        name: name of a program of the run or, for the role "skill", of a skill of the run.
        role: what it gave.
    """

    name: str
    role: EdgeRole = "parent"

    def __post_init__(self) -> None:
        _texts(self, "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRecord:
    """What one program did on one instance.

    Args:
        split: "train", "validation" or "holdout".
        instance: the instance's key, unique in its split.
        status: "ok", or the class of failure.
        score: a finite number with the status "ok", else None.
        metrics: figures beside the score; one that is not finite becomes None.
    """

    split: str
    instance: str
    status: str = OK
    score: float | None = None
    metrics: Mapping[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.score is None) is (self.status == OK):
            raise RecordError(
                f"the outcome on {self.split} instance {self.instance} has score {self.score!r} and status "
                f"{self.status!r}: a score stands with the status 'ok' and with no other"
            )
        what = f"the score on {self.split} instance {self.instance}"
        _set(self, score=_score(self.score, self.status, what))
        _texts(self, "split", "instance", "status")
        if self.metrics:
            _set(self, metrics=plain(self.metrics, "metrics"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningRecord:
    """How a program's parameters were found.

    Args:
        method: name of the tuner.
        vectors: parameter vectors that were evaluated, in full or in part.
        evaluations: rows evaluated: parameter vectors × instances.
        evaluations_saved: rows that racing made unnecessary.
        start_score: train score of the values it started from.
        best_score: train score of the values it found.
        history: pairs of evaluations so far and best score so far.
    """

    method: str
    vectors: int
    evaluations: int
    evaluations_saved: int = 0
    start_score: float | None = None
    best_score: float | None = None
    history: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        _texts(self, "method")
        _integers(self, "vectors", "evaluations", "evaluations_saved")
        _set(
            self,
            start_score=_score(self.start_score, OK, "tuning.start_score"),
            best_score=_score(self.best_score, OK, "tuning.best_score"),
            history=tuple((int(count), number(best, "a score of tuning.history")) for count, best in self.history),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRecord:
    """Who wrote a program, and how.

    Args:
        proposer: name of the proposer.
        operator: how the child was to be made.
        note: one line for people: what was changed.
        detail: anything else, as JSON.
    """

    proposer: str
    operator: str
    note: str = ""
    detail: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        _texts(self, "proposer", "operator", "note")
        _set(self, detail=plain(self.detail, "proposal.detail"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRecord:
    """One program of a run: what became of a ticket, a seed or a baseline. There may be no source: the ticket failed.

    Args:
        name: unique in the run: "t17" (ticket 17), "s0" (seed 0), "b0" (baseline 0).
        role: which of the three.
        number: which of its role.
        label: the name a problem gave to its seed or baseline.
        island: number of its island, or None.
        operator: how it was made.
        status: "ok", or one word for what went wrong.
        kind: class of what went wrong, a word; the digest reads it.
        reason: what went wrong, for people and prompts; the digest does not read it.
        source: program text.
        values: tuned parameters by group of instances.
        train_score: mean score on the split "train", where there is one.
        validation_score: mean score on the split "validation", where there is one.
        descriptors: behaviour coordinates; one that is not finite becomes None.
        size: nodes of the syntax tree.
        fingerprint: canonical identity of the source.
        parents: where it came from, in order.
        tuning: how its values were found.
        evaluations: rows evaluated for it, of whatever purpose.
        outcomes: what it did; read back in the order in which the run first met their instances.
        proposal: who wrote it.
        level: level of isolation it ran under.
        compiled: whether it ran compiled.
        seconds: wall time its evaluation took.
        cpu_seconds: processor time its evaluation took.
        committed: when it was archived, in UTC; set by the archive, not compared.
    """

    name: str
    role: Role
    number: int
    label: str = ""
    island: int | None = None
    operator: str = ""
    status: str = OK
    kind: str = ""
    reason: str = ""
    source: str = ""
    values: Values = field(default_factory=dict)
    train_score: float | None = None
    validation_score: float | None = None
    descriptors: Mapping[str, float | None] = field(default_factory=dict)
    size: int = 0
    fingerprint: str = ""
    parents: tuple[ParentEdge, ...] = ()
    tuning: TuningRecord | None = None
    evaluations: int = 0
    outcomes: tuple[OutcomeRecord, ...] = ()
    proposal: ProposalRecord | None = None
    level: str = ""
    compiled: bool | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    committed: datetime | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _texts(self, "name", "label", "operator", "status", "kind", "reason", "source", "fingerprint", "level")
        _integers(self, "number", "island", "size", "evaluations")
        _set(
            self,
            values=_values(self.values, self.name),
            train_score=_score(self.train_score, self.status, f"the train score of {self.name}"),
            validation_score=_score(self.validation_score, self.status, f"the validation score of {self.name}"),
            descriptors=plain(self.descriptors, f"descriptors of {self.name}"),
            parents=tuple(self.parents),
            outcomes=tuple(self.outcomes),
            compiled=None if self.compiled is None else bool(self.compiled),
            seconds=number(self.seconds, f"seconds of {self.name}"),
            cpu_seconds=number(self.cpu_seconds, f"cpu_seconds of {self.name}"),
        )


def _values(values: Values, name: str) -> dict[str, dict[str, Any]]:
    """Tuned values with vectors as tuples; a parameter is never "no value"."""
    checked: dict[str, dict[str, Any]] = {}
    for group, parameters in plain(values, f"values of {name}").items():
        for parameter, value in parameters.items():
            if value is None or (isinstance(value, list) and None in value):
                raise RecordError(f"parameter {parameter} of {name} is no finite number")
        checked[group] = {key: tuple(item) if isinstance(item, list) else item for key, item in parameters.items()}
    return checked


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """Something that happened in a run beside its programs: a migration, a promotion, an interruption.

    Args:
        kind: class of event, a word.
        ticket: the ticket at which it happened, or None.
        data: what happened, as JSON.
        deterministic: whether equal runs have equal events of this kind; the digest reads only those.
        key: if not empty, the event's name in its run: it is archived once, however often it is written.
        at: when it was archived, in UTC; set by the archive, not compared.
    """

    kind: str
    ticket: int | None = None
    data: Json = field(default_factory=dict)
    deterministic: bool = True
    key: str = ""
    at: datetime | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _texts(self, "kind", "key")
        _integers(self, "ticket")
        _set(self, data=plain(self.data, f"data of event {self.kind}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRecord:
    """A reusable snippet and what it gained.

    Args:
        name: unique in its run, for example "t17.0".
        code: the snippet.
        parameters: the parameters that `code` names, as JSON.
        description: what it does, in words.
        gain: mean gain of the programs that took it in.
        uses: how many took it in.
        run: the run that admitted it; set by the archive, not compared.
    """

    name: str
    code: str
    parameters: Json = field(default_factory=dict)
    description: str = ""
    gain: float = 0.0
    uses: int = 0
    run: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _texts(self, "name", "code", "description")
        _integers(self, "uses")
        _set(
            self,
            parameters=plain(self.parameters, f"parameters of skill {self.name}"),
            gain=number(self.gain, f"the gain of skill {self.name}"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRecord:
    """Which process is a run's engine.

    Args:
        host: name of its machine.
        pid: its process number there.
        since: when it claimed the run, in UTC.
        beat: its last sign of life, in UTC.
        alive: whether it still runs, as far as can be seen from here.
    """

    host: str
    pid: int
    since: datetime
    beat: datetime
    alive: bool
