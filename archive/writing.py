"""Writing a commit: each program's rows, and first those that they refer to.

Statements are made once and executed with parameters, so that SQLAlchemy compiles each once. What never changes once it
is archived (the numbers of instances, which islands there are) is remembered between commits.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, bindparam, insert, select, update

from archive.errors import RecordError
from archive.plain import encode, pack
from archive.records import EventRecord, IslandRecord, OutcomeRecord, ProgramRecord, SkillRecord, TuningRecord
from archive.tables import (
    events,
    instances,
    islands,
    outcomes,
    parent_edges,
    programs,
    proposals,
    skills,
    tunings,
)

_NAMES_AT_ONCE = 500
"""Databases limit how many parameters a statement may have."""

_PROGRAM_IDS = select(programs.c.name, programs.c.id).where(
    programs.c.run_id == bindparam("run"), programs.c.name.in_(bindparam("names", expanding=True))
)
_SKILL_IDS = select(skills.c.name, skills.c.id).where(
    skills.c.run_id == bindparam("run"), skills.c.name.in_(bindparam("names", expanding=True))
)
_EVENT_IDS = select(events.c.key, events.c.id).where(
    events.c.run_id == bindparam("run"), events.c.key.in_(bindparam("names", expanding=True))
)
_INSTANCES = select(instances.c.split, instances.c.key, instances.c.id).where(instances.c.run_id == bindparam("run"))
_INSTANCES_DONE = select(outcomes.c.instance_id).where(outcomes.c.program_id == bindparam("program"))
_ISLANDS = select(islands.c.number).where(islands.c.run_id == bindparam("run"))
_INSERT_PROGRAM = insert(programs)
_INSERT_EDGES = insert(parent_edges)
_INSERT_TUNING = insert(tunings)
_INSERT_OUTCOMES = insert(outcomes)
_INSERT_PROPOSAL = insert(proposals)
_INSERT_EVENTS = insert(events)
_INSERT_ISLANDS = insert(islands)
_INSERT_INSTANCE = insert(instances)
_INSERT_SKILLS = insert(skills)
_UPDATE_SKILL = (
    update(skills)
    .where(skills.c.id == bindparam("skill"))
    .values(gain=bindparam("new_gain"), uses=bindparam("new_uses"))
)


@dataclass(frozen=True, slots=True)
class Batch:
    """What one commit brings."""

    programs: Sequence[ProgramRecord] = ()
    events: Sequence[EventRecord] = ()
    skills: Sequence[SkillRecord] = ()
    islands: Sequence[IslandRecord] = ()
    outcomes: Mapping[str, Sequence[OutcomeRecord]] = field(default_factory=dict)

    @property
    def only_events(self) -> bool:
        """Whether anybody may write it."""
        return not (self.programs or self.skills or self.islands or self.outcomes)


@dataclass(slots=True)
class Known:
    """What is known of a run's archived rows. After a failed commit it is worth nothing."""

    run: int
    islands: set[int] = field(default_factory=set)
    instances: dict[tuple[str, str], int] = field(default_factory=dict)


def recall(connection: Connection, run: int) -> Known:
    """Read what is archived of a run's islands and instances."""
    rows = connection.execute(_INSTANCES, {"run": run})
    numbers = connection.execute(_ISLANDS, {"run": run}).scalars()
    return Known(run, set(numbers), {(split, key): number for split, key, number in rows})


def write(connection: Connection, known: Known, batch: Batch) -> bool:
    """Write what is new in `batch`; the caller owns the transaction.

    Returns:
        Whether there was anything new.

    Raises:
        RecordError: if a parent or skill is unknown, or a name or an outcome stands twice.
    """
    ids = _program_ids(connection, known.run, batch)
    fresh = [program for program in batch.programs if program.name not in ids]
    keys = {event.key for event in batch.events if event.key}
    old_keys = _ids(connection, _EVENT_IDS, known.run, keys)
    if (batch.programs or keys) and not fresh and keys <= old_keys.keys():
        return False  # a repetition
    now = time.time()
    new_islands = _write_islands(connection, known, [*batch.islands, *_undescribed(fresh)])
    _write_skills(connection, known.run, batch.skills)
    for program in fresh:
        ids[program.name] = _write_program(connection, known, ids, program, now)
    new_outcomes = _add_outcomes(connection, known, ids, batch.outcomes)
    told = [event for event in batch.events if event.key not in old_keys]
    _write_events(connection, known.run, told, now)
    return bool(fresh or told or new_islands or new_outcomes or batch.skills)


def _program_ids(connection: Connection, run: int, batch: Batch) -> dict[str, int]:
    """Numbers of those programs that the batch names, parents included, that are archived."""
    own = [program.name for program in batch.programs]
    _check_unique(own, "program")
    parents = (edge.name for program in batch.programs for edge in program.parents if edge.role != "skill")
    return _ids(connection, _PROGRAM_IDS, run, {*own, *parents, *batch.outcomes})


def _ids(connection: Connection, statement: Select[Any], run: int, names: Iterable[str]) -> dict[str, int]:
    """Numbers, by name, of those that are archived."""
    wanted = list(names)
    found: dict[str, int] = {}
    for start in range(0, len(wanted), _NAMES_AT_ONCE):
        some = wanted[start : start + _NAMES_AT_ONCE]
        found.update((row[0], row[1]) for row in connection.execute(statement, {"run": run, "names": some}))
    return found


def _check_unique(names: Sequence[str], what: str) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RecordError(f"{what} {twice} stands twice in one commit")


def _undescribed(records: Iterable[ProgramRecord]) -> Iterable[IslandRecord]:
    return (IslandRecord(number=program.island) for program in records if program.island is not None)


def _write_islands(connection: Connection, known: Known, records: Iterable[IslandRecord]) -> bool:
    new: dict[int, IslandRecord] = {}
    for island in records:
        if island.number not in known.islands:
            new.setdefault(island.number, island)
    if new:
        rows = [
            {"run_id": known.run, "number": island.number, "settings": encode(island.settings)}
            for island in new.values()
        ]
        connection.execute(_INSERT_ISLANDS, rows)
        known.islands |= new.keys()
    return bool(new)


def _write_skills(connection: Connection, run: int, records: Sequence[SkillRecord]) -> None:
    """Admit the new ones and update the others."""
    if not records:
        return
    _check_unique([skill.name for skill in records], "skill")
    names = [skill.name for skill in records]
    ids = _ids(connection, _SKILL_IDS, run, names)
    new = [_skill_row(run, skill) for skill in records if skill.name not in ids]
    old = [
        {"skill": ids[skill.name], "new_gain": skill.gain, "new_uses": skill.uses}
        for skill in records
        if skill.name in ids
    ]
    if new:
        connection.execute(_INSERT_SKILLS, new)
    if old:
        connection.execute(_UPDATE_SKILL, old)


def _skill_row(run: int, skill: SkillRecord) -> dict[str, Any]:
    return {
        "run_id": run,
        "name": skill.name,
        "code": skill.code,
        "parameters": encode(skill.parameters),
        "description": skill.description,
        "gain": skill.gain,
        "uses": skill.uses,
    }


def _write_program(
    connection: Connection, known: Known, ids: Mapping[str, int], program: ProgramRecord, now: float
) -> int:
    edges = _edge_rows(connection, known.run, ids, program)
    outcome_rows = _outcome_rows(connection, known, program.name, program.outcomes)
    key = connection.execute(_INSERT_PROGRAM, _program_row(known.run, program, now)).inserted_primary_key
    assert key is not None
    number: int = key[0]
    if edges:
        connection.execute(_INSERT_EDGES, [{"child_id": number, **edge} for edge in edges])
    if program.tuning is not None:
        connection.execute(_INSERT_TUNING, _tuning_row(number, program.tuning))
    if outcome_rows:
        connection.execute(_INSERT_OUTCOMES, [{"program_id": number, **row} for row in outcome_rows])
    if program.proposal is not None:
        proposal = program.proposal
        row = {
            "program_id": number,
            "proposer": proposal.proposer,
            "operator": proposal.operator,
            "note": proposal.note,
            "detail": encode(proposal.detail),
        }
        connection.execute(_INSERT_PROPOSAL, row)
    return number


def _program_row(run: int, program: ProgramRecord, now: float) -> dict[str, Any]:
    return {
        "run_id": run,
        "name": program.name,
        "role": program.role,
        "number": program.number,
        "label": program.label,
        "island": program.island,
        "operator": program.operator,
        "status": program.status,
        "kind": program.kind,
        "reason": program.reason,
        "source": program.source,
        "parameter_values": encode(program.values),
        "train_score": program.train_score,
        "validation_score": program.validation_score,
        "descriptors": encode(program.descriptors),
        "size": program.size,
        "fingerprint": program.fingerprint,
        "evaluations": program.evaluations,
        "level": program.level,
        "compiled": program.compiled,
        "seconds": program.seconds,
        "cpu_seconds": program.cpu_seconds,
        "committed": now,
    }


def _edge_rows(
    connection: Connection, run: int, ids: Mapping[str, int], program: ProgramRecord
) -> list[dict[str, Any]]:
    skill_ids = _ids(connection, _SKILL_IDS, run, [edge.name for edge in program.parents if edge.role == "skill"])
    rows = []
    for position, edge in enumerate(program.parents):
        number = (skill_ids if edge.role == "skill" else ids).get(edge.name)
        if number is None:
            what = "skill" if edge.role == "skill" else "program"
            raise RecordError(f"{program.name} names the {what} {edge.name}, which is not archived: commit it first")
        parent, skill = (None, number) if edge.role == "skill" else (number, None)
        rows.append({"position": position, "role": edge.role, "parent_id": parent, "skill_id": skill})
    return rows


def _add_outcomes(
    connection: Connection, known: Known, ids: Mapping[str, int], added: Mapping[str, Sequence[OutcomeRecord]]
) -> bool:
    """Add outcomes to archived programs, on instances where they have none."""
    new = False
    for name, records in added.items():
        if name not in ids:
            raise RecordError(f"there are outcomes of {name}, which is not archived: commit it first")
        done = set(connection.execute(_INSTANCES_DONE, {"program": ids[name]}).scalars())
        rows = [row for row in _outcome_rows(connection, known, name, records) if row["instance_id"] not in done]
        if rows:
            connection.execute(_INSERT_OUTCOMES, [{"program_id": ids[name], **row} for row in rows])
            new = True
    return new


def _outcome_rows(
    connection: Connection, known: Known, name: str, records: Iterable[OutcomeRecord]
) -> list[dict[str, Any]]:
    rows = {}
    for outcome in records:
        instance = known.instances.get((outcome.split, outcome.instance))
        if instance is None:
            instance = _write_instance(connection, known, outcome)
        if instance in rows:
            raise RecordError(f"{name} has two outcomes on {outcome.split} instance {outcome.instance}")
        metrics = encode(outcome.metrics)
        rows[instance] = {
            "instance_id": instance,
            "status": outcome.status,
            "score": outcome.score,
            "metrics": metrics,
        }
    return list(rows.values())


def _write_instance(connection: Connection, known: Known, outcome: OutcomeRecord) -> int:
    row = {"run_id": known.run, "split": outcome.split, "key": outcome.instance}
    key = connection.execute(_INSERT_INSTANCE, row).inserted_primary_key
    assert key is not None
    number: int = key[0]
    known.instances[outcome.split, outcome.instance] = number
    return number


def _tuning_row(number: int, tuning: TuningRecord) -> dict[str, Any]:
    return {
        "program_id": number,
        "method": tuning.method,
        "vectors": tuning.vectors,
        "evaluations": tuning.evaluations,
        "evaluations_saved": tuning.evaluations_saved,
        "start_score": tuning.start_score,
        "best_score": tuning.best_score,
        "history": pack(tuning.history),
    }


def _write_events(connection: Connection, run: int, records: Sequence[EventRecord], now: float) -> None:
    _check_unique([event.key for event in records if event.key], "event")
    rows = [
        {
            "run_id": run,
            "kind": event.kind,
            "ticket": event.ticket,
            "data": encode(event.data),
            "deterministic": event.deterministic,
            "key": event.key or None,
            "at": now,
        }
        for event in records
    ]
    if rows:
        connection.execute(_INSERT_EVENTS, rows)
