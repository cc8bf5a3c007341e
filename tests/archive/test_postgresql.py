"""What goes wrong with a PostgreSQL archive is one clear line, without the password."""

import sys
from pathlib import Path

import pytest

from archive import Archive, ProgramRecord, SchemaError, StorageError


def line(error: pytest.ExceptionInfo[Exception]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert "secret" not in text
    return text


def test_a_server_that_is_not_there(tmp_path: Path):
    pytest.importorskip("psycopg")
    with pytest.raises(StorageError) as caught:
        Archive.open(f"postgresql://me:secret@/x?host={tmp_path}", timeout=2)
    assert "check that the server runs" in line(caught)
    assert "postgresql://me:***@/x" in line(caught)


def test_without_the_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StorageError) as caught:
        Archive.open("postgresql://me:secret@localhost/x")
    assert "pip install 'evolve-policies[postgresql]'" in line(caught)


def test_a_database_that_is_not_there(new_database):
    with pytest.raises(StorageError, match=r"createdb.*nowhere"):
        Archive.open(new_database.replace("/evolve?", "/nowhere?"))


def test_a_user_who_is_not_known(new_database):
    with pytest.raises(StorageError, match="role"):
        Archive.open(new_database.replace("//evolve@", "//nobody:secret@"))


def test_the_database_of_something_else_is_left_alone(new_database, postgresql):
    import psycopg

    with psycopg.connect(f"host={postgresql} user=evolve dbname=evolve", autocommit=True) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        with pytest.raises(SchemaError, match=r"bookmarks.*of its own"):
            Archive.open(new_database)
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (1,)


def test_a_user_who_may_only_read(new_database, postgresql):
    import psycopg

    with Archive.open(new_database) as archive:
        run = archive.create_run(problem="inventory", seed=1, direction="minimize")
    with psycopg.connect(f"host={postgresql} user=evolve dbname=evolve", autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA public TO guest")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")
        try:
            guest = new_database.replace("//evolve@", "//guest@")
            with Archive.open(guest, read_only=True) as archive:
                assert archive.runs() == [run]
            with Archive.open(guest) as archive, pytest.raises(StorageError, match="may not do that"):
                archive.create_run(problem="inventory", seed=1, direction="minimize")
        finally:
            connection.execute("DROP OWNED BY guest")
            connection.execute("DROP ROLE guest")


def test_a_row_that_another_program_keeps_locked(new_database):
    with Archive.open(new_database) as archive, Archive.open(new_database, timeout=0.1) as other:
        run = archive.create_run(problem="inventory", seed=1, direction="minimize")
        with archive._write_run(run.id), pytest.raises(StorageError, match="keeps it locked"):
            other.commit(run.id, [ProgramRecord(name="t0", role="ticket", number=0)])
        assert other.commit(run.id, [ProgramRecord(name="t0", role="ticket", number=0)])


def test_a_lost_connection_is_replaced(new_database, postgresql):
    import psycopg

    with Archive.open(new_database) as archive:
        run = archive.create_run(problem="inventory", seed=1, direction="minimize")
        with archive._read() as connection:
            session = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        with psycopg.connect(f"host={postgresql} user=evolve dbname=evolve", autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", [session])
        assert archive.runs() == [run]
