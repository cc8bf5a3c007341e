"""The archive over SQLAlchemy Core: transactions, pages, and what is remembered between commits.

What the rows mean is in `writing`, `reading`, `running`, `lineage` and `claims`; what differs between databases in
`archive.dialects`.
"""

import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Row
from typing_extensions import override

from archive import claims, lineage, reading, running, schema, writing
from archive.contract import DESCENT, Archive, Status
from archive.dialects import backend
from archive.digest import digest
from archive.errors import ClaimError, NotFoundError, RecordError, StorageError
from archive.plain import DamagedError, Json
from archive.reading import PROGRAM
from archive.records import (
    ClaimRecord,
    Direction,
    EdgeRole,
    EventRecord,
    IslandRecord,
    OutcomeRecord,
    ProgramRecord,
    Role,
    RunRecord,
    SkillRecord,
)
from archive.tables import programs as program_table


@dataclass(slots=True)
class _Claim:
    """A claim that this archive holds."""

    token: str
    beat: float

    @property
    def due(self) -> bool:
        """Whether it is time for a sign of life."""
        return time.monotonic() - self.beat >= claims.BEAT


class SqlArchive(Archive):
    """See `Archive`."""

    def __init__(self, target: str | Path, *, read_only: bool, create: bool, timeout: float) -> None:
        self._backend = backend(target, read_only=read_only, timeout=timeout)
        self._read_only = read_only
        self._claims: dict[str, _Claim] = {}
        self._known: dict[str, writing.Known] = {}
        with self._backend.guard():
            self._reader, self._writer = self._backend.engine, self._backend.writer
            try:
                schema.prepare(self._backend, read_only=read_only, create=create)
            except BaseException:
                self._reader.dispose()
                raise

    @override
    def close(self) -> None:
        for run in list(self._claims):
            with suppress(StorageError):  # a claim that cannot be given back ends with this process
                self.release(run)
        self._reader.dispose()

    @property
    @override
    def where(self) -> str:
        return self._backend.where

    # -- transactions

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        try:
            with self._backend.guard(), self._reader.begin() as connection:
                yield connection
        except (DamagedError, RecordError) as error:
            raise StorageError(f"{self.where} is damaged: restore a copy ({error})") from error

    @contextmanager
    def _read_run(self, run: str) -> Iterator[tuple[Connection, int]]:
        with self._read() as connection:
            yield connection, running.named(connection, run, self.where).id

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        if self._read_only:
            raise StorageError(f"{self.where} was opened for reading only: open it for writing")
        with self._backend.guard(), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def _write_run(self, run: str) -> Iterator[tuple[Connection, Row[Any]]]:
        """A transaction that nobody else writes this run in, with the run's `id` and claim."""
        with self._write() as connection:
            row = claims.lock(connection, run)
            if row is None:
                raise NotFoundError(f"{self.where} has no run {run!r}: `evolve runs` lists them")
            yield connection, row

    @contextmanager
    def _write_own_run(self, run: str) -> Iterator[tuple[Connection, int]]:
        """The same, only if no other process has claimed it; for its claimant it is a sign of life."""
        claim = self._claims.get(run)
        with self._write_run(run) as (connection, row):
            claims.check(row, run, claim.token if claim else None)
            due = claim is not None and claim.due
            if due:
                claims.beat(connection, row.id)
            yield connection, row.id
        if claim is not None and due:
            claim.beat = time.monotonic()

    # -- runs

    @override
    def create_run(
        self,
        *,
        problem: str,
        seed: int,
        direction: Direction,
        settings: Json | None = None,
        facts: Json | None = None,
        islands: Sequence[IslandRecord] = (),
    ) -> RunRecord:
        with self._write() as connection:
            self._backend.lock_names(connection)
            run, record = running.insert_run(
                connection,
                problem=problem,
                seed=seed,
                direction=direction,
                settings=settings or {},
                facts=facts or {},
            )
            writing.write(connection, writing.Known(run), writing.Batch(islands=islands))
        return record

    @override
    def runs(self) -> list[RunRecord]:
        with self._read() as connection:
            return running.everything(connection)

    @override
    def run(self, name: str) -> RunRecord:
        with self._read() as connection:
            return running.find(connection, name, self.where)

    @override
    def set_status(self, run: str, status: Status, reason: str = "") -> None:
        with self._write_own_run(run) as (connection, number):
            running.change(connection, number, status, reason)

    # -- claims

    @override
    def claim(self, run: str) -> ClaimRecord:
        held = self._claims.get(run)
        token = held.token if held else uuid.uuid4().hex
        with self._write_run(run) as (connection, row):
            record = claims.take(connection, row, run, token)
        self._claims[run] = _Claim(token, time.monotonic())
        self._known.pop(run, None)
        return record

    @override
    def beat(self, run: str) -> None:
        claim = self._claims.get(run)
        if claim is None:
            raise ClaimError(f"run {run} is not claimed by this process: claim it first")
        if claim.due:
            with self._write_own_run(run):
                pass

    @override
    def release(self, run: str) -> None:
        claim = self._claims.pop(run, None)
        if claim is not None:
            with self._write_run(run) as (connection, row):
                claims.give_back(connection, row.id, claim.token)

    @override
    def claimant(self, run: str) -> ClaimRecord | None:
        with self._read_run(run) as (connection, number):
            return claims.holder(connection, number)

    # -- writing

    @override
    def commit(
        self,
        run: str,
        programs: Sequence[ProgramRecord] = (),
        *,
        events: Sequence[EventRecord] = (),
        skills: Sequence[SkillRecord] = (),
        islands: Sequence[IslandRecord] = (),
        outcomes: Mapping[str, Sequence[OutcomeRecord]] | None = None,
    ) -> bool:
        batch = writing.Batch(programs, events, skills, islands, outcomes or {})
        known = self._known.pop(run, None)  # back only after the commit: a failed one leaves nothing that is known
        with self._write_batch(run, batch) as (connection, number):
            known = known or writing.recall(connection, number)
            written = writing.write(connection, known, batch)
        self._known[run] = known
        return written

    @contextmanager
    def _write_batch(self, run: str, batch: writing.Batch) -> Iterator[tuple[Connection, int]]:
        if batch.only_events:
            with self._write_run(run) as (connection, row):
                yield connection, row.id
        else:
            with self._write_own_run(run) as (connection, number):
                yield connection, number

    # -- reading

    @override
    def programs(
        self,
        run: str,
        *,
        role: Role | None = None,
        status: str | None = None,
        island: int | None = None,
        after: str | None = None,
        outcomes: bool = False,
    ) -> Iterator[ProgramRecord]:
        with self._read_run(run) as (connection, number):
            start = 0 if after is None else reading.number(connection, number, after)
        return self._pages(number, start, outcomes=outcomes, role=role, status=status, island=island)

    def _pages(self, run: int, after: int, *, outcomes: bool, **filters: Any) -> Iterator[ProgramRecord]:
        while True:
            with self._read() as connection:
                rows = connection.execute(reading.page(run, after, **filters)).all()
                page = list(reading.records(connection, rows, with_outcomes=outcomes))
            yield from page
            if len(rows) < reading.PAGE:
                return
            after = rows[-1].id

    @override
    def program(self, run: str, name: str) -> ProgramRecord:
        with self._read_run(run) as (connection, number):
            program = reading.number(connection, number, name)
            rows = connection.execute(PROGRAM.where(program_table.c.id == program)).all()
            (record,) = reading.records(connection, rows, with_outcomes=True)
        return record

    @override
    def best(
        self, run: str, split: Literal["train", "validation"] = "train", n: int = 1, *, role: Role | None = None
    ) -> list[ProgramRecord]:
        with self._read() as connection:
            row = running.named(connection, run, self.where)
            score = program_table.c[f"{split}_score"]
            order = score if row.direction == "minimize" else score.desc()
            statement = PROGRAM.where(program_table.c.run_id == row.id, score.is_not(None))
            if role is not None:
                statement = statement.where(program_table.c.role == role)
            rows = connection.execute(statement.order_by(order, program_table.c.id).limit(n)).all()
            return list(reading.records(connection, rows, with_outcomes=False))

    @override
    def tally(self, run: str) -> dict[str, int]:
        with self._read_run(run) as (connection, number):
            return running.tally(connection, number)

    @override
    def outcomes(self, run: str, name: str, split: str | None = None) -> list[OutcomeRecord]:
        with self._read_run(run) as (connection, number):
            program = reading.number(connection, number, name)
            found = reading.outcomes_of(connection, [program])[program]
        return [outcome for outcome in found if split in (None, outcome.split)]

    @override
    def events(self, run: str, kind: str | None = None) -> Iterator[EventRecord]:
        with self._read_run(run) as (_, number):
            pass
        return self._event_pages(number, kind)

    def _event_pages(self, run: int, kind: str | None) -> Iterator[EventRecord]:
        after = 0
        while True:
            with self._read() as connection:
                page = reading.event_page(connection, run, after, kind)
            for after, event in page:  # noqa: B007 - the last number is where the next page starts
                yield event
            if len(page) < reading.PAGE:
                return

    @override
    def islands(self, run: str) -> list[IslandRecord]:
        with self._read_run(run) as (connection, number):
            return reading.islands_of(connection, number)

    @override
    def skills(self, run: str | None = None) -> list[SkillRecord]:
        if run is None:
            with self._read() as connection:
                return reading.skills_of(connection, None)
        with self._read_run(run) as (connection, number):
            return reading.skills_of(connection, number)

    # -- lineage

    @override
    def parents(self, run: str, name: str, roles: Collection[EdgeRole] = DESCENT) -> list[ProgramRecord]:
        return self._relatives(run, name, roles, lineage.parents)

    @override
    def children(self, run: str, name: str, roles: Collection[EdgeRole] = DESCENT) -> list[ProgramRecord]:
        return self._relatives(run, name, roles, lineage.children)

    @override
    def ancestors(self, run: str, name: str, roles: Collection[EdgeRole] = DESCENT) -> list[ProgramRecord]:
        return self._relatives(run, name, roles, lineage.ancestors)

    def _relatives(self, run: str, name: str, roles: Collection[EdgeRole], query: lineage.Query) -> list[ProgramRecord]:
        with self._read_run(run) as (connection, number):
            rows = connection.execute(query(reading.number(connection, number, name), roles)).all()
            return list(reading.records(connection, rows, with_outcomes=False))

    # -- proof

    @override
    def digest(self, run: str) -> str:
        return digest(self.programs(run, outcomes=True), self.events(run))
