"""SQLite: one file in WAL mode, or memory.

A commit is all or nothing whatever happens to the process. With `synchronous=NORMAL` a power cut or a crash of the
operating system may lose the last commits, whole, and never damages the file; a crash of the process loses none.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from textwrap import shorten

from sqlalchemy import Connection, Engine, QueuePool, StaticPool, create_engine, event
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from archive.dialects.backend import WRITE, Backend
from archive.errors import ArchiveError, SchemaError, StorageError

MEMORY = ":memory:"

_MEANINGS = {
    "SQLITE_FULL": "the disk (or the space allowed) is full: make room, then resume; what was committed is safe",
    "SQLITE_IOERR": "the disk could not be read or written (full, over quota or failing): see to it, then resume; what "
    "was committed is safe",
    "SQLITE_READONLY": "it is read-only: give yourself permission to write the file and its folder, or choose another "
    "archive",
    "SQLITE_PERM": "access is denied: give yourself permission to read and write it, or choose another archive",
    "SQLITE_AUTH": "access is denied: give yourself permission to read and write it, or choose another archive",
    "SQLITE_CANTOPEN": "it cannot be opened: check that you may read and write it and its folder",
    "SQLITE_CORRUPT": "the file is damaged: restore a copy, or save what can be read with `sqlite3 FILE .recover`",
    "SQLITE_NOTADB": "it is no SQLite database (or a damaged one): choose another file name",
}


class Sqlite(Backend):
    """An archive in a SQLite file, or in memory (`:memory:`)."""

    def __init__(self, path: str, *, read_only: bool, timeout: float) -> None:
        self.path = path
        self._place = Path(path).absolute()  # once and for all: the process may go to another folder
        self.read_only = read_only
        self.timeout = timeout
        self._opened: tuple[int, int] | None = None
        # Memory has one connection, on which several threads (a page that shows a run, say) must take turns.
        self._turn: AbstractContextManager[object] = threading.RLock() if path == MEMORY else nullcontext()

    @property
    @override
    def where(self) -> str:
        return "the archive in memory" if self.path == MEMORY else self.path

    @override
    def found(self) -> bool:
        if self.path == MEMORY:
            return False
        path = Path(self.path)
        try:
            if path.is_dir():
                raise StorageError(f"{path} is a folder: name a file in it, for example {path / 'evolve.db'}")
            if not self._place.parent.is_dir():
                raise StorageError(f"{path}: there is no folder {path.parent}: create it, or choose another place")
            return self._place.exists()
        except PermissionError:
            raise StorageError(f"{path}: you may not look into {path.parent}: choose another place") from None

    @cached_property
    @override
    def engine(self) -> Engine:
        pool = StaticPool if self.path == MEMORY else QueuePool
        engine = create_engine("sqlite://", creator=self._connect, poolclass=pool)
        event.listen(engine, "begin", self._begin)
        return engine

    def _begin(self, connection: Connection) -> None:
        """Writers take the write lock at once: a transaction that has begun never fails for another's sake."""
        if not connection.get_execution_options().get(WRITE):
            connection.exec_driver_sql("BEGIN")
            return
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        if self._file() != self._opened:
            raise StorageError(
                f"{self.where} was deleted or replaced while it was in use: put it back, or start anew; nothing more is "
                "written"
            )

    def _file(self) -> tuple[int, int] | None:
        """What tells the archive's file from any other; None where there is none."""
        try:
            status = self._place.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._address(),
            uri=self.path != MEMORY,
            timeout=self.timeout,
            isolation_level=None,  # transactions begin where `_begin` says, not where the driver guesses
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            if self.read_only:
                connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA schema_version").close()  # reads the file, and so makes it, if need be
        except sqlite3.Error:
            connection.close()
            raise
        self._opened = self._opened or self._file()
        return connection

    def _address(self) -> str:
        if self.path == MEMORY:
            return MEMORY
        address = self._place.as_uri()
        if not self.read_only:
            return address + "?mode=rwc"
        # A reader of a WAL database keeps an index beside it. Where it may not, the file is read as it is, which is
        # whole as long as no log lies beside it.
        log = self._place.with_name(self._place.name + "-wal")
        lonely = not os.access(self._place.parent, os.W_OK) and not log.exists()
        return address + ("?mode=ro&immutable=1" if lonely else "?mode=ro")

    @contextmanager
    @override
    def changing_tables(self, *, new: bool) -> Iterator[Connection]:
        with self.writer.connect() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            if new and self.path != MEMORY:
                self._log_ahead(driver)
            # SQLite alters a table by making another and dropping the first, which no reference may forbid meanwhile.
            driver.execute("PRAGMA foreign_keys = OFF")
            try:
                with connection.begin():
                    yield connection
                    if driver.execute("PRAGMA foreign_key_check").fetchone() is not None:
                        raise SchemaError(f"{self.where}: the upgrade would leave rows without what they refer to")
            finally:
                driver.execute("PRAGMA foreign_keys = ON")

    def _log_ahead(self, driver: sqlite3.Connection) -> None:
        """Switch a new file to WAL for good. SQLite does not wait here by itself when two processes create one file."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                with closing(driver.execute("PRAGMA journal_mode = WAL")):
                    return
            except sqlite3.OperationalError as error:
                if not _name(error).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    @override
    def lock_names(self, connection: Connection) -> None:
        """A transaction that writes holds SQLite's one write lock already."""

    @contextmanager
    @override
    def guard(self) -> Iterator[None]:
        try:
            with self._turn:
                yield
        except DBAPIError as error:
            if not isinstance(error.orig, sqlite3.Error):
                raise
            raise self._explain(error.orig) from error
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def _explain(self, error: sqlite3.Error) -> ArchiveError:
        name = _name(error)
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return StorageError(
                f"{self.where}: another program has kept it locked for {self.timeout:g} s: close that program (or wait "
                "for it), then resume"
            )
        said = shorten(str(error), 100)
        if said.startswith("Could not decode"):  # the driver's own finding, without a code
            name = "SQLITE_CORRUPT"
        for prefix, meaning in _MEANINGS.items():
            if name.startswith(prefix):
                return StorageError(f"{self.where}: {meaning} ({said})")
        return StorageError(f"{self.where}: SQLite says: {said} ({name or type(error).__name__})")


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "")  # absent from errors of the driver itself
