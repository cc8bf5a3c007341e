"""Runs: naming, finding, status."""

import re
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from archive.errors import NotFoundError, RecordError
from archive.plain import Json, decode, encode, plain, text
from archive.reading import moment
from archive.records import Direction, RunRecord
from archive.tables import programs, runs

_BY_NAME = select(runs).where(runs.c.name == bindparam("name"))
_ALL = select(runs).order_by(runs.c.id)
_NAMES = select(runs.c.name).order_by(runs.c.id)
_LAST_NUMBER = select(func.max(runs.c.number)).where(runs.c.problem == bindparam("problem"))
_TALLY = (
    select(programs.c.status, func.count())
    .where(programs.c.run_id == bindparam("run"), programs.c.role == "ticket")
    .group_by(programs.c.status)
    .order_by(programs.c.status)
)
_PROBLEM = re.compile(r"[A-Za-z0-9_.-]+")
_LARGEST_SEED = 2**63 - 1


def insert_run(
    connection: Connection, *, problem: str, seed: int, direction: Direction, settings: Json, facts: Json
) -> tuple[int, RunRecord]:
    """Create a run with its problem's next number; the caller holds the lock of names."""
    if not _PROBLEM.fullmatch(problem):
        raise RecordError(f"a problem's name has letters, digits, '_', '.' and '-': not {problem!r}")
    if not 0 <= seed <= _LARGEST_SEED:
        raise RecordError(f"seed {seed} lies outside 0 … 2**63 - 1")
    if direction not in {"minimize", "maximize"}:
        raise RecordError(f"a run's direction is 'minimize' or 'maximize': not {direction!r}")
    number = (connection.execute(_LAST_NUMBER, {"problem": problem}).scalar() or 0) + 1
    now = time.time()
    row = {
        "name": f"{problem}-{number}",
        "problem": problem,
        "number": number,
        "seed": seed,
        "direction": direction,
        "settings": encode(plain(settings, "settings")),
        "facts": encode(plain(facts, "facts")),
        "status": "running",
        "reason": "",
        "created": now,
        "changed": now,
    }
    connection.execute(insert(runs), row)
    found = connection.execute(_BY_NAME, {"name": row["name"]}).one()
    return found.id, record(found)


def record(row: Row[Any]) -> RunRecord:
    """A run's row as its record."""
    return RunRecord(
        id=row.name,
        problem=row.problem,
        seed=row.seed,
        direction=row.direction,
        settings=decode(row.settings),
        facts=decode(row.facts),
        status=row.status,
        reason=row.reason,
        created=moment(row.created),
        changed=moment(row.changed),
    )


def everything(connection: Connection) -> list[RunRecord]:
    """All runs, oldest first."""
    return [record(row) for row in connection.execute(_ALL)]


def named(connection: Connection, name: str, where: str) -> Row[Any]:
    """The row of the run of exactly that name.

    Raises:
        NotFoundError: if there is none.
    """
    row = connection.execute(_BY_NAME, {"name": name}).one_or_none()
    if row is None:
        raise NotFoundError(f"{where} has no run {name!r}: `evolve runs` lists them")
    return row


def find(connection: Connection, name: str, where: str) -> RunRecord:
    """The run that a person means: its name, a beginning of it that no other has, or "last".

    Raises:
        NotFoundError: if there is none, or more than one.
    """
    exact = connection.execute(_BY_NAME, {"name": name}).one_or_none()
    if exact is not None:
        return record(exact)
    names = connection.execute(_NAMES).scalars().all()
    return record(named(connection, _meant(names, name, where), where))


def _meant(names: Sequence[str], name: str, where: str) -> str:
    if not names:
        raise NotFoundError(f"{where} has no run yet: `evolve run PROBLEM` makes one")
    matches = names[-1:] if name == "last" else [candidate for candidate in names if candidate.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    shown = ", ".join((matches or names)[-5:])
    if matches:
        raise NotFoundError(f"{name!r} may be any of {len(matches)} runs ({shown}): write the whole name")
    raise NotFoundError(f"{where} has no run {name!r}; its newest are {shown}")


def change(connection: Connection, run: int, status: str, reason: str) -> None:
    """Set a run's status."""
    connection.execute(
        update(runs).where(runs.c.id == run), {"status": status, "reason": text(reason), "changed": time.time()}
    )


def tally(connection: Connection, run: int) -> dict[str, int]:
    """Tickets by status."""
    return {row[0]: row[1] for row in connection.execute(_TALLY, {"run": run})}
