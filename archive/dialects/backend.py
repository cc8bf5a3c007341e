"""What the archive asks of a database beyond the SQL that all share."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from sqlalchemy import Connection, Engine

WRITE = "archive_write"
"""Execution option of an engine whose transactions write."""


class Backend(ABC):
    """One database: how to connect to it and what its errors mean."""

    @property
    @abstractmethod
    def where(self) -> str:
        """The database as people know it; never shows a password."""

    @property
    @abstractmethod
    def engine(self) -> Engine:
        """Its transactions read; those of `writer` write."""

    @property
    def writer(self) -> Engine:
        """The same database and connections, for transactions that write."""
        return self.engine.execution_options(**{WRITE: True})

    @abstractmethod
    def found(self) -> bool:
        """Whether the database exists already.

        Raises:
            StorageError: if there can be none at this place.
        """

    @abstractmethod
    def guard(self) -> AbstractContextManager[None]:
        """Turns errors of the database inside it into an `ArchiveError` that says what, where and what to do.

        Where the database has just one connection, one thread at a time is inside.
        """

    @abstractmethod
    def changing_tables(self, *, new: bool) -> AbstractContextManager[Connection]:
        """A transaction in which nobody else makes or changes tables; `new` if there are none yet."""

    @abstractmethod
    def lock_names(self, connection: Connection) -> None:
        """Let nobody else name a run until the transaction ends."""
