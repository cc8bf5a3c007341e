"""The version of an archive's tables: a new archive is created, an old one is brought up to date by Alembic."""

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, insert, inspect, select

from archive.dialects import Backend
from archive.errors import NotFoundError, SchemaError
from archive.tables import metadata

REVISION = "0001"
"""Newest revision in `archive/migrations`: the tables that this code knows. Revisions are numbered upwards."""

VERSION_TABLE = "archive_version"
_version = Table(
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)
"""Alembic's own table, as Alembic makes it."""


def prepare(backend: Backend, *, read_only: bool, create: bool) -> None:
    """Make sure that the tables are those of `REVISION`.

    Raises:
        NotFoundError: if there is no archive and none may be created.
        SchemaError: if the tables are newer than this code, too old to be read without an upgrade, or not an archive's.
    """
    if not backend.found() and (read_only or not create):
        raise NotFoundError(f"there is no archive at {backend.where}: check the name; `evolve run` creates one")
    with backend.engine.connect() as connection:
        revision = _revision(backend, connection)
    if revision == REVISION:
        return
    _check_readable(backend, revision, read_only=read_only, create=create)
    with backend.changing_tables(new=revision is None) as connection:
        revision = _revision(backend, connection)  # another process may have been quicker
        if revision is None:
            _create(connection)
        elif revision != REVISION:
            _upgrade(connection)


def _check_readable(backend: Backend, revision: str | None, *, read_only: bool, create: bool) -> None:
    if revision is None and (read_only or not create):
        raise NotFoundError(f"{backend.where} holds no archive: check the name; `evolve run` creates one")
    if revision is not None and revision > REVISION:
        raise SchemaError(
            f"{backend.where} was made by a newer evolve (tables {revision}, this one knows {REVISION}): upgrade evolve"
        )
    if revision is not None and read_only:
        raise SchemaError(
            f"{backend.where} was made by an older evolve (tables {revision}, this one needs {REVISION}): open it once "
            "for writing, as `evolve resume` does, to bring it up to date"
        )


def _revision(backend: Backend, connection: Connection) -> str | None:
    """The archive's revision; None where there are no tables at all."""
    tables = inspect(connection)
    if tables.has_table(VERSION_TABLE):
        return connection.execute(select(_version)).scalar() or ""
    others = tables.get_table_names()
    if others:
        raise SchemaError(
            f"{backend.where} holds tables of something else ({', '.join(sorted(others)[:3])}): give the archive a "
            "file or database of its own"
        )
    return None


def _create(connection: Connection) -> None:
    metadata.create_all(connection, checkfirst=False)
    _version.create(connection, checkfirst=False)
    connection.execute(insert(_version), {"version_num": REVISION})


def _upgrade(connection: Connection) -> None:
    from archive.migrations.runner import upgrade  # alembic is heavy, and seldom needed

    upgrade(connection, VERSION_TABLE, REVISION)
