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
        """Reads with it; `engine.execution_options(archive_write=True)` writes."""

    @abstractmethod
    def guard(self) -> AbstractContextManager[None]:
        """Turns errors of the database inside it into an `ArchiveError` that says what, where and what to do.

        Only one thread at a time is inside where the database has just one connection.
        """

    @abstractmethod
    def found(self) -> bool:
        """Whether the database exists already."""

    @abstractmethod
    def set_up(self, connection: Connection) -> None:
        """Make lasting settings of a new database, outside any transaction."""

    @abstractmethod
    def lock_schema(self, connection: Connection) -> None:
        """Let nobody else create or change tables until the transaction ends."""
