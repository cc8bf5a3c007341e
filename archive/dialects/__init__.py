"""The databases an archive may live in, each with what only it knows: connecting, locking, the meaning of errors."""

from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from archive.dialects.backend import WRITE, Backend
from archive.dialects.postgresql import Postgresql
from archive.dialects.sqlite import MEMORY, Sqlite
from archive.errors import StorageError

__all__ = ["WRITE", "Backend", "backend"]


def backend(target: str | Path, *, read_only: bool, timeout: float) -> Backend:
    """The database that `target`, a path or an SQLAlchemy URL, names.

    Raises:
        StorageError: if it names none that an archive can live in.
    """
    if isinstance(target, Path) or "://" not in target:
        return Sqlite(str(target), read_only=read_only, timeout=timeout)
    try:
        url = make_url(target)
    except ArgumentError:
        raise StorageError(
            "the archive's URL cannot be read: write a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE"
        ) from None
    if url.get_backend_name() == "sqlite":
        return Sqlite(url.database or MEMORY, read_only=read_only, timeout=timeout)
    if url.get_backend_name() == "postgresql":
        return Postgresql(url, read_only=read_only, timeout=timeout)
    raise StorageError(
        f"an archive cannot live in {url.get_backend_name()!r}: write a path (SQLite) or postgresql://USER@HOST/DATABASE"
    )
