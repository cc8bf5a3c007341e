"""SQLite: one file in WAL mode, or memory.

A commit is all or nothing whatever happens to the process. With `synchronous=NORMAL` a power cut or a crash of the
operating system may lose the last commits, whole, and never damages the file; a crash of the process loses none.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, QueuePool, StaticPool, create_engine, event
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from archive.dialects.backend import WRITE, Backend
from archive.errors import ArchiveError, SchemaError, StorageError

MEMORY = ":memory:"

_MEANINGS = {
    "SQLITE_FULL": "the disk (or the space allowed) is full: make room, then resume; what was committed is safe",
    "SQLITE_IOERR": "the disk could not be read or written (full, over quota or failing): see to it, then resume; "
    "what was committed is safe",
    "SQLITE_READONLY": "it is read-only: give yourself permission to write the file and its folder, or choose another "
    "archive",
    "SQLITE_PERM": "access is denied: give yourself permission to read and write it, or choose another archive",
    "SQLITE_AUTH": "access is denied: give yourself permission to read and write it, or choose another archive",
    "SQLITE_CANTOPEN": "it cannot be opened: check that its folder exists and that you may read and write there",
    "SQLITE_CORRUPT": "the file is damaged: restore a copy, or save what can be read with `sqlite3 FILE .recover`",
    "SQLITE_NOTADB": "it is no SQLite database: choose another file name",
}


class Sqlite(Backend):
    """An archive in a SQLite file, or in memory (`:memory:`)."""

    def __init__(self, path: str, *, read_only: bool, timeout: float) -> None:
        self.path = path
        self.read_only = read_only
        self.timeout = timeout
        # Memory has one connection, which several threads (a page that shows a run, say) must not interleave on.
        self._turn = threading.RLock() if path == MEMORY else nullcontext()

    @property
    @override
    def where(self) -> str:
        return "the archive in memory" if self.path == MEMORY else self.path

    @override
    def found(self) -> bool:
        self._check_path()
        return self.path != MEMORY and Path(self.path).exists()

    @cached_property
    @override
    def engine(self) -> Engine:
        pool = StaticPool if self.path == MEMORY else QueuePool
        engine = create_engine("sqlite://", creator=self._connect, poolclass=pool)
        event.listen(engine, "begin", _begin)
        return engine

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._address(),
            uri=self.path != MEMORY,
            timeout=self.timeout,
            isolation_level=None,  # transactions begin where `_begin` says, not where the driver guesses
            check_same_thread=False,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        if self.read_only:
            connection.execute("PRAGMA query_only = ON")
        return connection

    def _address(self) -> str:
        if self.path == MEMORY:
            return MEMORY
        address = "file:" + quote(str(Path(self.path).absolute()))
        if not self.read_only:
            return address + "?mode=rwc"
        # A reader of a WAL database keeps an index beside it. Where it may not, the file is read as it is, which is
        # whole as long as no log lies beside it.
        folder, log = Path(self.path).absolute().parent, Path(self.path + "-wal")
        lonely = not os.access(folder, os.W_OK) and not log.exists()
        return address + ("?mode=ro&immutable=1" if lonely else "?mode=ro")

    @override
    def set_up(self, connection: Connection) -> None:
        if self.path == MEMORY:
            return
        driver = connection.connection
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                driver.cursor().execute("PRAGMA journal_mode = WAL").close()
            except sqlite3.OperationalError as error:
                # Two processes that create one file at once: SQLite does not wait by itself here.
                if not _name(error).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    @override
    def lock_schema(self, connection: Connection) -> None:
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
                f"{self.where}: another program has kept it locked for {self.timeout:g} s: close that program "
                "(or wait for it), then resume"
            )
        if name == "SQLITE_ERROR" and str(error).startswith("no such"):
            return SchemaError(f"{self.where}: its tables are not an archive's ({error}): choose another file")
        for prefix, meaning in _MEANINGS.items():
            if name.startswith(prefix):
                return StorageError(f"{self.where}: {meaning} ({error})")
        return StorageError(f"{self.where}: SQLite says: {error} ({name or type(error).__name__})")

    def _check_path(self) -> None:
        if self.path == MEMORY:
            return
        path = Path(self.path)
        if path.is_dir():
            raise StorageError(f"{path} is a folder: name a file in it, for example {path / 'evolve.db'}")
        if not path.absolute().parent.is_dir():
            raise StorageError(f"{path}: there is no folder {path.parent}: create it, or choose another place")


def _begin(connection: Connection) -> None:
    """Writers take the write lock at once: a transaction that has begun never fails for another's sake."""
    writing = connection.get_execution_options().get(WRITE)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "")  # absent from errors of the driver itself
