"""New archives are created, old ones are brought up to date, newer ones are refused."""

import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import insert, update

from archive import Archive, SchemaError, schema
from archive.dialects import backend
from archive.migrations import runner
from archive.tables import metadata, runs

NEXT = '''
"""A later version adds a column, by the way that copies the table, and fills it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    with op.batch_alter_table("programs", recreate="auto") as table:
        table.add_column(sa.Column("cost", sa.Double, nullable=True))
        table.alter_column("label", new_column_name="title")
    op.execute("UPDATE programs SET cost = 0.5")
'''
BROKEN = NEXT.replace('"UPDATE programs SET cost = 0.5"', '"UPDATE nowhere SET cost = 0.5"')


def contents(database):
    """Every table, index and constraint, in the database's own words."""
    with database.engine.connect() as connection:
        if database.engine.dialect.name == "sqlite":
            return sorted(connection.exec_driver_sql("SELECT name, sql FROM sqlite_master").all(), key=str)
        columns = (
            "SELECT table_name, column_name, data_type, is_nullable, column_default, ordinal_position "
            "FROM information_schema.columns WHERE table_schema = 'public'"
        )
        indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
        constraints = (
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace"
        )
        return [sorted(connection.exec_driver_sql(query).all(), key=str) for query in (columns, indexes, constraints)]


def drop(database):
    with database.writer.begin() as connection:
        metadata.drop_all(connection)
        schema._version.drop(connection)


def test_migrations_make_the_same_tables_as_the_code(target):
    database = backend(target, read_only=False, timeout=5)
    schema.prepare(database, read_only=False, create=True)
    created = contents(database)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": schema.VERSION_TABLE})
        assert compare_metadata(context, metadata) == []
    drop(database)
    with database.changing_tables(new=True) as connection:
        runner.upgrade(connection, schema.VERSION_TABLE, schema.REVISION)
    assert contents(database) == created
    database.engine.dispose()


def test_the_code_knows_the_newest_revision():
    config = Config()
    config.set_main_option("script_location", str(runner.SCRIPTS))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [schema.REVISION]


@pytest.fixture
def later(tmp_path, monkeypatch):
    """The code of a later version, whose next revision is the given one."""

    def become(script: str) -> None:
        folder = tmp_path / "migrations"
        shutil.copytree(runner.SCRIPTS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "versions" / "schema_0002.py").write_text(script)
        monkeypatch.setattr(runner, "SCRIPTS", folder)
        monkeypatch.setattr(schema, "REVISION", "0002")

    return become


@pytest.fixture
def old(lasting_target, program):
    """An archive of this version, with a lineage."""
    with Archive.open(lasting_target) as archive:
        run = archive.create_run(problem="inventory", seed=1, direction="minimize")
        archive.commit(run.id, [program(1), program(2, label="best")])
    return lasting_target


def test_an_old_archive_is_brought_up_to_date(old, later):
    later(NEXT)
    with pytest.raises(SchemaError, match=r"older evolve \(tables 0001, this one needs 0002\)"):
        Archive.open(old, read_only=True)
    with Archive.open(old) as archive, archive._read() as connection:
        rows = connection.exec_driver_sql("SELECT name, title, cost FROM programs ORDER BY id").all()
        assert [tuple(row) for row in rows] == [("t1", "", 0.5), ("t2", "best", 0.5)]
        assert len(connection.exec_driver_sql("SELECT * FROM outcomes").all()) == 6
        assert connection.exec_driver_sql("SELECT version_num FROM archive_version").scalar() == "0002"


def test_a_broken_upgrade_changes_nothing(old, later, program, monkeypatch):
    with monkeypatch.context():
        before = backend(old, read_only=False, timeout=5)
        tables = contents(before)
        later(BROKEN)
        with pytest.raises(Exception, match="nowhere"):
            Archive.open(old)
        assert contents(before) == tables
        before.engine.dispose()
        monkeypatch.undo()
    with Archive.open(old) as archive:
        assert archive.program("inventory-1", "t1") == program(1)


def test_a_newer_archive_is_refused_in_one_line(old):
    database = backend(old, read_only=False, timeout=5)
    with database.writer.begin() as connection:
        connection.execute(update(schema._version), {"version_num": "0099"})
    for read_only in (False, True):
        with pytest.raises(SchemaError, match=r"made by a newer evolve \(tables 0099, .* upgrade evolve$"):
            Archive.open(old, read_only=read_only)
    database.engine.dispose()


def test_an_upgrade_that_leaves_loose_ends_is_refused(tmp_path):
    """While tables are changed SQLite checks no references, so they are checked at the end."""
    database = backend(tmp_path / "evolve.db", read_only=False, timeout=5)
    schema.prepare(database, read_only=False, create=True)

    def cut_loose() -> None:
        with database.changing_tables(new=False) as connection:
            connection.exec_driver_sql("INSERT INTO islands (run_id, number) VALUES (77, 0)")

    with pytest.raises(SchemaError, match="without what they refer to"):
        cut_loose()
    with database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM islands").scalar() == 0
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    database.engine.dispose()


def test_scripts_are_part_of_the_package():
    """They are found beside the code, wherever it is installed."""
    assert Path(runner.__file__).parent == runner.SCRIPTS
    assert (runner.SCRIPTS / "env.py").is_file()
    assert (runner.SCRIPTS / "versions" / f"schema_{schema.REVISION}.py").is_file()


def test_references_are_enforced(archive):
    with pytest.raises(Exception, match=r"(?i)foreign key"), archive._write() as connection:
        connection.execute(insert(metadata.tables["islands"]), {"run_id": 77, "number": 0})
    with archive._read() as connection:
        assert connection.execute(runs.select()).all() == []
