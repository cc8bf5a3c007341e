"""The archive's contract. Implementations are private; `Archive.open` gives one.

Who owns what, and what is promised:

- *Records are frozen.* What a reader gets never changes under it, and an archived program, outcome or event is never
  altered; a program may get outcomes on further instances. Only a run's status, its claim and a skill's gains change.
- *A commit is atomic and idempotent.* It is archived as a whole or not at all, whatever happens to the process, and
  repeating it changes nothing. After a power cut SQLite may have lost the last commits, whole ones, never part of one.
- *Order is kept.* Programs and events come back in the order of their commits; parents come before children.
- *One engine per run, many runs and readers per archive.* A run is claimed by the process that drives it. Readers are
  never kept waiting by writers and keep none waiting: iterators read page by page.
- *A failure is a status, never a number.*
- *Errors* are `ArchiveError`s. Beside those that a method lists, each may raise `StorageError`: the disk is full, the
  database is locked, read-only, damaged or out of reach.

An archive may be used from several threads. After a fork the child must open its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from archive.plain import Json
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

Status = Literal["running", "finished", "interrupted", "failed"]
DESCENT: Collection[EdgeRole] = ("parent", "mate")
"""Roles of the edges that make a lineage; examples and skills were only looked at."""


class Archive(ABC):
    """Every run, program, parent, score and event, in one database. Close it, or use it in a `with` statement."""

    @staticmethod
    def open(target: str | Path, *, read_only: bool = False, create: bool = True, timeout: float = 30.0) -> "Archive":
        """Open an archive; create it, or bring its tables up to date, where needed.

        Args:
            target: path of a SQLite file, ":memory:", or a URL (`sqlite:///…`, `postgresql://…`).
            read_only: never write, not even to create or upgrade.
            create: whether to create an archive where there is none.
            timeout: seconds to wait for another writer.

        Raises:
            NotFoundError: if there is no archive and none may be created.
            SchemaError: if the tables are newer than this code, or not an archive's.
            StorageError: if the database cannot be reached.
        """
        from archive.store import SqlArchive  # SQLAlchemy is loaded by the first archive that is opened

        return SqlArchive(target, read_only=read_only, create=create, timeout=timeout)

    @abstractmethod
    def close(self) -> None:
        """Let go of the database; claims of this archive are released."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    @abstractmethod
    def where(self) -> str:
        """The database as people know it: a path, or a URL without its password."""

    # -- runs

    @abstractmethod
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
        """Create a run, of status "running". Its name is its problem's and the next free number: "inventory-1".

        Raises:
            RecordError: if the problem's name has other characters than letters, digits, "_", "." and "-", if the seed
                does not fit into 63 bits, if the direction is neither, or if settings or facts are no JSON.
        """

    @abstractmethod
    def runs(self) -> list[RunRecord]:
        """All runs, oldest first."""

    @abstractmethod
    def run(self, name: str) -> RunRecord:
        """The run of that name; or the only one whose name begins so; or the newest, for "last".

        Raises:
            NotFoundError: if there is none, or more than one.
        """

    @abstractmethod
    def set_status(self, run: str, status: Status, reason: str = "") -> None:
        """Say how a run stands.

        Raises:
            NotFoundError: if there is no such run.
            ClaimError: if another process has claimed it.
        """

    # -- claims

    @abstractmethod
    def claim(self, run: str) -> ClaimRecord:
        """Become the run's only writer. A dead owner's claim is taken over.

        On the same machine an owner is dead when its process is; on another, when it gave no sign of life for a minute.

        Raises:
            NotFoundError: if there is no such run.
            ClaimError: if a live process has it.
        """

    @abstractmethod
    def beat(self, run: str) -> None:
        """Give a sign of life. Call it every few seconds at least, however often: it writes only when that is due.

        Raises:
            ClaimError: if the run was taken over.
        """

    @abstractmethod
    def release(self, run: str) -> None:
        """Give the run back; nothing happens if this archive does not have it."""

    @abstractmethod
    def claimant(self, run: str) -> ClaimRecord | None:
        """Who has the run, if anybody.

        Raises:
            NotFoundError: if there is no such run.
        """

    # -- writing

    @abstractmethod
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
        """Archive all of this in one transaction.

        What is archived already, by its name in the run, is left as it is: programs, outcomes, islands, events with a
        key. A commit whose programs and keyed events are all archived is a repetition: nothing of it is written. A
        skill of a known name gets the new gain and uses. Islands and instances that nobody described are made up. A
        commit of events alone is open to all processes (a person may steer a run); any other only to the run's
        claimant, if it has one.

        Args:
            run: name of the run.
            programs: in their order; a parent is archived before its child, or stands before it here.
            events: in their order.
            skills: admitted now, or gained since.
            islands: described now.
            outcomes: of archived programs, by name, on instances where they have none yet, as when the holdout split is
                opened.

        Returns:
            False if everything was archived already and nothing was written.

        Raises:
            NotFoundError: if there is no such run.
            ClaimError: if another process has claimed it.
            RecordError: if a parent, a skill or a program of outcomes is unknown, or a name or an outcome stands
                twice.
        """

    # -- reading

    @abstractmethod
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
        """A run's programs in the order of their commits.

        Args:
            run: name of the run.
            role: only those of this role.
            status: only those of this status.
            island: only those of this island.
            after: only those committed after the program of this name, as when following a running search.
            outcomes: whether to read outcomes too; without, records have none.

        Raises:
            NotFoundError: if there is no such run, or no program `after`.
        """

    @abstractmethod
    def program(self, run: str, name: str) -> ProgramRecord:
        """One program with everything.

        Raises:
            NotFoundError: if there is no such run or program.
        """

    @abstractmethod
    def best(
        self, run: str, split: Literal["train", "validation"] = "train", n: int = 1, *, role: Role | None = None
    ) -> list[ProgramRecord]:
        """The `n` programs of best score on a split, best first, without outcomes; of equals the earlier comes first.

        Raises:
            NotFoundError: if there is no such run.
        """

    @abstractmethod
    def tally(self, run: str) -> dict[str, int]:
        """How many tickets there are of each status.

        Raises:
            NotFoundError: if there is no such run.
        """

    @abstractmethod
    def outcomes(self, run: str, name: str, split: str | None = None) -> list[OutcomeRecord]:
        """What one program did, on one split or all.

        Raises:
            NotFoundError: if there is no such run or program.
        """

    @abstractmethod
    def events(self, run: str, kind: str | None = None) -> Iterator[EventRecord]:
        """A run's events, of one kind or all, in the order of their commits.

        Raises:
            NotFoundError: if there is no such run.
        """

    @abstractmethod
    def islands(self, run: str) -> list[IslandRecord]:
        """A run's islands by number.

        Raises:
            NotFoundError: if there is no such run.
        """

    @abstractmethod
    def skills(self, run: str | None = None) -> list[SkillRecord]:
        """Skills of one run, or of all, in the order of their admission.

        Raises:
            NotFoundError: if there is no such run.
        """

    # -- lineage

    @abstractmethod
    def parents(self, run: str, name: str, roles: Collection[EdgeRole] = DESCENT) -> list[ProgramRecord]:
        """The programs that one was made from, one for each edge, in their order, without outcomes.

        Raises:
            NotFoundError: if there is no such run or program.
        """

    @abstractmethod
    def children(self, run: str, name: str, roles: Collection[EdgeRole] = DESCENT) -> list[ProgramRecord]:
        """The programs that were made from one, in the order of their commits, without outcomes.

        Raises:
            NotFoundError: if there is no such run or program.
        """

    @abstractmethod
    def ancestors(self, run: str, name: str, roles: Collection[EdgeRole] = DESCENT) -> list[ProgramRecord]:
        """Parents, their parents and so on, latest first, without outcomes.

        Raises:
            NotFoundError: if there is no such run or program.
        """

    # -- proof

    @abstractmethod
    def digest(self, run: str) -> str:
        """One hash over all that equal runs have in common; see `archive.digest`.

        Raises:
            NotFoundError: if there is no such run.
        """
