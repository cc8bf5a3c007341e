"""PostgreSQL, for several machines that share one archive. It needs the driver psycopg (version 3)."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from textwrap import shorten

from sqlalchemy import URL, Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from typing_extensions import override

from archive.dialects.backend import Backend
from archive.errors import ArchiveError, StorageError

_DRIVER = "postgresql+psycopg"
_LOCK = text("SELECT pg_advisory_xact_lock(:key)")
_TABLES, _NAMES = 0x65766F6C01, 0x65766F6C02
"""Keys of advisory locks: any numbers that no other program uses."""

_MEANINGS = {
    "53100": "the server's disk is full: make room, then resume; what was committed is safe",
    "55P03": "another program keeps it locked: wait for that program, then resume",
    "57P01": "the server is shutting down: start it, then resume",
    "42501": "this user may not do that: grant it the right to use and create tables there",
    "25006": "it is read-only: choose a user or a server that may write",
    "XX001": "a table is damaged: restore a backup",
    "XX002": "an index is damaged: rebuild it with REINDEX",
}
"""By SQLSTATE. A connection that fails has none: there the server's own words must do."""


class Postgresql(Backend):
    """An archive in a PostgreSQL database of its own."""

    def __init__(self, url: URL, *, read_only: bool, timeout: float) -> None:
        self.url = url.set(drivername=_DRIVER)
        self.read_only = read_only
        self.timeout = timeout

    @property
    @override
    def where(self) -> str:
        return self.url.set(drivername="postgresql").render_as_string(hide_password=True)

    @override
    def found(self) -> bool:
        return True  # it is the server's to say, on connecting

    @cached_property
    @override
    def engine(self) -> Engine:
        settings = f"-c lock_timeout={round(self.timeout * 1000)}"
        if self.read_only:
            settings += " -c default_transaction_read_only=on"
        try:
            return create_engine(
                self.url,
                pool_pre_ping=True,  # a connection lost while a run waited for a model is replaced, not an error
                connect_args={"options": settings, "connect_timeout": max(2, round(self.timeout))},
            )
        except ModuleNotFoundError:
            raise StorageError(
                f"{self.where}: PostgreSQL needs the driver psycopg: pip install 'evolve-policies[postgresql]'"
            ) from None

    @contextmanager
    @override
    def changing_tables(self, *, new: bool) -> Iterator[Connection]:
        del new
        with self.writer.begin() as connection:
            connection.execute(_LOCK, {"key": _TABLES})
            yield connection

    @override
    def lock_names(self, connection: Connection) -> None:
        connection.execute(_LOCK, {"key": _NAMES})

    @contextmanager
    @override
    def guard(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._explain(error) from error

    def _explain(self, error: DBAPIError) -> ArchiveError:
        state = getattr(error.orig, "sqlstate", None) or ""
        said = shorten(str(error.orig), 200)
        if state in _MEANINGS:
            return StorageError(f"{self.where}: {_MEANINGS[state]} ({said})")
        if isinstance(error, (OperationalError, InterfaceError)):
            return StorageError(
                f"{self.where}: no connection: check that the server runs and has this database (`createdb` makes one), "
                f"and the URL; then resume ({said})"
            )
        return StorageError(f"{self.where}: PostgreSQL says: {said} ({state or type(error.orig).__name__})")
