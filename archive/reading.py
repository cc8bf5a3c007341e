"""Reading: rows back into the records that were written.

Programs are read a page at a time, each page in a transaction of its own: a slow reader holds nothing open, and since
archived programs never change, the pages fit together whatever is committed meanwhile.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, select

from archive.errors import NotFoundError
from archive.plain import decode, unpack
from archive.records import (
    EventRecord,
    IslandRecord,
    OutcomeRecord,
    ParentEdge,
    ProgramRecord,
    ProposalRecord,
    SkillRecord,
    TuningRecord,
)
from archive.tables import (
    events,
    instances,
    islands,
    outcomes,
    parent_edges,
    programs,
    proposals,
    runs,
    skills,
    tunings,
)

PAGE = 500
"""Programs read at once."""

PROGRAM = (
    select(
        programs,
        tunings.c.method,
        tunings.c.vectors,
        tunings.c.evaluations.label("tuning_evaluations"),
        tunings.c.evaluations_saved,
        tunings.c.start_score,
        tunings.c.best_score,
        tunings.c.history,
        proposals.c.proposer,
        proposals.c.operator.label("proposal_operator"),
        proposals.c.note,
        proposals.c.detail,
    )
    .outerjoin(tunings, tunings.c.program_id == programs.c.id)
    .outerjoin(proposals, proposals.c.program_id == programs.c.id)
)
"""Rows that `records` makes programs of."""

_parents = programs.alias("parents")
_EDGES = (
    select(parent_edges.c.child_id, parent_edges.c.role, _parents.c.name, skills.c.name)
    .outerjoin(_parents, _parents.c.id == parent_edges.c.parent_id)
    .outerjoin(skills, skills.c.id == parent_edges.c.skill_id)
    .where(parent_edges.c.child_id.in_(bindparam("ids", expanding=True)))
    .order_by(parent_edges.c.child_id, parent_edges.c.position)
)
_OUTCOMES = (
    select(
        outcomes.c.program_id,
        instances.c.split,
        instances.c.key,
        outcomes.c.status,
        outcomes.c.score,
        outcomes.c.metrics,
    )
    .join(instances, instances.c.id == outcomes.c.instance_id)
    .where(outcomes.c.program_id.in_(bindparam("ids", expanding=True)))
    .order_by(outcomes.c.program_id, outcomes.c.instance_id)
)
_NUMBER = select(programs.c.id).where(programs.c.run_id == bindparam("run"), programs.c.name == bindparam("name"))
_EVENTS = (
    select(events)
    .where(events.c.run_id == bindparam("run"), events.c.id > bindparam("after"))
    .order_by(events.c.id)
    .limit(PAGE)
)
_ISLANDS = select(islands).where(islands.c.run_id == bindparam("run")).order_by(islands.c.number)
_SKILLS = select(skills, runs.c.name.label("run")).join(runs, runs.c.id == skills.c.run_id).order_by(skills.c.id)


def moment(seconds: float) -> datetime:
    """Seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def number(connection: Connection, run: int, name: str) -> int:
    """A program's number.

    Raises:
        NotFoundError: if the run has no program of that name.
    """
    found: int | None = connection.execute(_NUMBER, {"run": run, "name": name}).scalar()
    if found is None:
        raise NotFoundError(f"the run has no program {name!r}: `evolve show RUN` lists them")
    return found


def page(run: int, after: int, **filters: Any) -> Select[Any]:
    """The next programs of a run after number `after`, in commit order, where columns have the given values."""
    statement = PROGRAM.where(programs.c.run_id == run, programs.c.id > after)
    for column, value in filters.items():
        if value is not None:
            statement = statement.where(programs.c[column] == value)
    return statement.order_by(programs.c.id).limit(PAGE)


def records(connection: Connection, rows: Sequence[Row[Any]], *, with_outcomes: bool) -> Iterator[ProgramRecord]:
    """Programs of rows of `PROGRAM`, in their order."""
    ids = [row.id for row in rows]
    edges = _edges(connection, ids)
    done = outcomes_of(connection, ids) if with_outcomes else {}
    return (_program(row, edges.get(row.id, ()), done.get(row.id, ())) for row in rows)


def _edges(connection: Connection, ids: Sequence[int]) -> dict[int, list[ParentEdge]]:
    edges: dict[int, list[ParentEdge]] = defaultdict(list)
    for some in _chunks(ids):
        for child, role, parent, skill in connection.execute(_EDGES, {"ids": some}):
            edges[child].append(ParentEdge(parent or skill, role))
    return edges


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Databases limit how many parameters a statement may have."""
    return (ids[start : start + PAGE] for start in range(0, len(ids), PAGE))


def outcomes_of(connection: Connection, ids: Sequence[int]) -> dict[int, list[OutcomeRecord]]:
    """Outcomes by number of program, each in the order in which the run first met the instances."""
    done: dict[int, list[OutcomeRecord]] = defaultdict(list)
    for some in _chunks(ids):
        for program, split, key, status, score, metrics in connection.execute(_OUTCOMES, {"ids": some}):
            done[program].append(
                OutcomeRecord(split=split, instance=key, status=status, score=score, metrics=decode(metrics))
            )
    return done


def _program(row: Row[Any], edges: Iterable[ParentEdge], done: Iterable[OutcomeRecord]) -> ProgramRecord:
    return ProgramRecord(
        name=row.name,
        role=row.role,
        number=row.number,
        label=row.label,
        island=row.island,
        operator=row.operator,
        status=row.status,
        kind=row.kind,
        reason=row.reason,
        source=row.source,
        values=decode(row.parameter_values),
        train_score=row.train_score,
        validation_score=row.validation_score,
        descriptors=decode(row.descriptors),
        size=row.size,
        fingerprint=row.fingerprint,
        parents=tuple(edges),
        tuning=_tuning(row),
        evaluations=row.evaluations,
        outcomes=tuple(done),
        proposal=_proposal(row),
        level=row.level,
        compiled=row.compiled,
        seconds=row.seconds,
        cpu_seconds=row.cpu_seconds,
        committed=moment(row.committed),
    )


def _tuning(row: Row[Any]) -> TuningRecord | None:
    if row.method is None:
        return None
    return TuningRecord(
        method=row.method,
        vectors=row.vectors,
        evaluations=row.tuning_evaluations,
        evaluations_saved=row.evaluations_saved,
        start_score=row.start_score,
        best_score=row.best_score,
        history=unpack(row.history),
    )


def _proposal(row: Row[Any]) -> ProposalRecord | None:
    if row.proposer is None:
        return None
    return ProposalRecord(
        proposer=row.proposer, operator=row.proposal_operator, note=row.note, detail=decode(row.detail)
    )


def event_page(connection: Connection, run: int, after: int, kind: str | None) -> list[tuple[int, EventRecord]]:
    """The next events of a run after number `after`, with their numbers."""
    statement = _EVENTS if kind is None else _EVENTS.where(events.c.kind == kind)
    return [
        (
            row.id,
            EventRecord(
                kind=row.kind,
                ticket=row.ticket,
                data=decode(row.data),
                deterministic=row.deterministic,
                key=row.key or "",
                at=moment(row.at),
            ),
        )
        for row in connection.execute(statement, {"run": run, "after": after})
    ]


def islands_of(connection: Connection, run: int) -> list[IslandRecord]:
    """A run's islands by number."""
    rows = connection.execute(_ISLANDS, {"run": run})
    return [IslandRecord(number=row.number, settings=decode(row.settings)) for row in rows]


def skills_of(connection: Connection, run: int | None) -> list[SkillRecord]:
    """Skills of a run, or of all, in the order of their admission."""
    statement = _SKILLS if run is None else _SKILLS.where(skills.c.run_id == run)
    return [
        SkillRecord(
            name=row.name,
            code=row.code,
            parameters=decode(row.parameters),
            description=row.description,
            gain=row.gain,
            uses=row.uses,
            run=row.run,
        )
        for row in connection.execute(statement)
    ]
