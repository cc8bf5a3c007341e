"""What goes wrong with a SQLite file is one clear line: what, where, what to do. What was committed stays."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from archive import Archive, ArchiveError, ProgramRecord, RunRecord, SchemaError, StorageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "evolve.db"


@pytest.fixture
def run(path: Path) -> RunRecord:
    """The run of an archive with three programs."""
    with Archive.open(path) as archive:
        run = archive.create_run(problem="inventory", seed=1, direction="minimize")
        for number in range(3):
            archive.commit(run.id, [bare(number)])
    return run


def bare(number: int, source: str = "") -> ProgramRecord:
    return ProgramRecord(name=f"t{number}", role="ticket", number=number, source=source)


def check_line(error: ArchiveError, *words: str) -> None:
    line = str(error)
    assert "\n" not in line
    assert len(line) < 300
    for word in words:
        assert word in line


@contextmanager
def fails(*words: str, kind: type[ArchiveError] = StorageError) -> Iterator[None]:
    with pytest.raises(kind) as caught:
        yield
    assert type(caught.value) is kind
    check_line(caught.value, *words)


class TestOpening:
    def test_a_folder(self, tmp_path):
        with fails(str(tmp_path), "is a folder", "evolve.db"):
            Archive.open(tmp_path)

    def test_a_missing_folder(self, tmp_path):
        with fails("there is no folder", str(tmp_path / "none"), "create it"):
            Archive.open(tmp_path / "none" / "evolve.db")

    def test_a_file_where_a_folder_should_be(self, tmp_path):
        (tmp_path / "file").touch()
        with fails("there is no folder", str(tmp_path / "file")):
            Archive.open(tmp_path / "file" / "evolve.db")

    @pytest.mark.parametrize("content", [b"not a database" * 100, b"date,item,units\n2020-01-01,a,3\n" * 9])
    def test_no_database(self, path, content):
        path.write_bytes(content)
        with fails(str(path), "no SQLite database", "choose another file"):
            Archive.open(path)
        assert path.read_bytes() == content

    def test_an_empty_file_becomes_an_archive(self, path):
        path.touch()
        with Archive.open(path) as archive:
            assert archive.runs() == []

    def test_the_database_of_something_else_is_left_alone(self, path):
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE bookmarks (url TEXT)")
        before = path.read_bytes()
        with fails(str(path), "bookmarks", "of its own", kind=SchemaError):
            Archive.open(path)
        assert path.read_bytes() == before
        with fails(str(path), "of its own", kind=SchemaError):
            Archive.open(path, read_only=True)

    def test_other_databases(self):
        with fails("mysql", "postgresql://"):
            Archive.open("mysql://somewhere/x")
        with fails("cannot be read", "sqlite:///PATH"):
            Archive.open("://")

    @pytest.mark.parametrize("name", ["with space.db", "100%.db", "a?b#c.db", "größe.db", "file:x.db"])
    def test_any_name_will_do(self, tmp_path, name):
        with Archive.open(tmp_path / name) as archive:
            archive.create_run(problem="a", seed=0, direction="minimize")
        assert (tmp_path / name).exists()
        with Archive.open(tmp_path / name, read_only=True) as archive:
            assert len(archive.runs()) == 1

    def test_the_process_may_go_elsewhere(self, path, run, monkeypatch, tmp_path):
        monkeypatch.chdir(path.parent)
        with Archive.open(path.name) as archive:
            (tmp_path / "elsewhere").mkdir()
            monkeypatch.chdir(tmp_path / "elsewhere")
            assert archive.commit(run.id, [bare(3)])
            assert archive.where == path.name

    def test_a_url_and_a_path_name_the_same_file(self, path, run):
        with Archive.open(f"sqlite:///{path}", create=False) as archive:
            assert archive.runs() == [run]
            assert archive.where == str(path)

    @pytest.mark.usefixtures("run")
    def test_a_closed_archive_leaves_one_file(self, path):
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]


class TestGone:
    def test_a_deleted_archive_takes_no_more(self, path, run):
        """The system would let the process write on, into a file that vanishes with it."""
        with Archive.open(path) as archive:
            path.unlink()
            with fails(str(path), "deleted or replaced"):
                archive.commit(run.id, [bare(3)])

    def test_nor_does_one_that_was_replaced(self, path, run):
        with Archive.open(path) as archive:
            path.with_name("other.db").write_bytes(path.read_bytes())
            path.with_name("other.db").replace(path)
            with fails(str(path), "deleted or replaced"):
                archive.commit(run.id, [bare(3)])


class TestLocked:
    def test_another_writer(self, path, run):
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with Archive.open(path, timeout=0.05) as archive:
                with fails(str(path), "locked", "0.05 s"):
                    archive.commit(run.id, [bare(3)])
                assert len(list(archive.programs(run.id))) == 3  # readers are not kept waiting
                other.execute("ROLLBACK")
                assert archive.commit(run.id, [bare(3)])

    def test_a_new_archive(self, path):
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with fails(str(path), "locked"):
                Archive.open(path, timeout=0.05)


class TestDamaged:
    def test_damaged_pages(self, path, run):
        with Archive.open(path) as archive:
            archive.commit(run.id, [bare(number, source="x" * 3000) for number in range(3, 60)])
        content = bytearray(path.read_bytes())
        content[len(content) // 2 :: 7] = b"\xff" * len(content[len(content) // 2 :: 7])
        path.write_bytes(content)
        with Archive.open(path) as archive, fails(str(path), "damaged", "restore a copy"):
            archive.digest(run.id)

    def test_a_truncated_file(self, path, run):
        path.write_bytes(path.read_bytes()[:9000])
        with fails(str(path), "damaged"), Archive.open(path) as archive:
            archive.digest(run.id)

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE programs SET parameter_values = '{\"\": '",
            "UPDATE programs SET source = CAST(x'ff00ff' AS TEXT)",
            "UPDATE tunings SET history = x'00'",
            "UPDATE programs SET status = 'failed'",
        ],
    )
    def test_damaged_columns(self, path, run, program, change):
        with Archive.open(path) as archive:
            archive.commit(run.id, [program(7)])
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute(change)
            with pytest.raises(StorageError) as caught:
                archive.digest(run.id)
        check_line(caught.value, str(path), "damaged", "restore a copy")


def in_child(code: str, *arguments: object) -> str:
    """What a process of its own prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestFullDisk:
    FILL = """
import resource, sys
from archive import Archive, ProgramRecord, StorageError
archive = Archive.open(sys.argv[1])
run = archive.create_run(problem="inventory", seed=1, direction="minimize")
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, resource.RLIM_INFINITY))
done = 0
try:
    while done < 10_000:
        archive.commit(run.id, [ProgramRecord(name=f"t{done}", role="ticket", number=done, source=str(done) * 4000)])
        done += 1
except StorageError as error:
    print(done, error)
"""

    def test_no_room_left(self, path):
        """The file may not grow any further, as on a full disk or over a quota."""
        done, _, line = in_child(self.FILL, path).strip().partition(" ")
        check_line(StorageError(line), str(path), "full", "then resume")
        with Archive.open(path) as archive:
            records = list(archive.programs("inventory-1"))
            assert [record.number for record in records] == list(range(int(done)))
            assert all(record.source == str(record.number) * 4000 for record in records)
            assert int(done) > 0
            assert archive.commit("inventory-1", [bare(int(done))])

    def test_a_full_database(self, path, run):
        with Archive.open(path) as archive:
            with archive._reader.connect() as connection:
                connection.exec_driver_sql("PRAGMA max_page_count = 60")
            with fails(str(path), "full", "then resume"):
                archive.commit(run.id, [bare(3, source="x" * 1_000_000)])
            assert len(list(archive.programs(run.id))) == 3
            assert archive.commit(run.id, [bare(3)])  # the failed commit left nothing behind

    def test_no_room_for_a_new_archive(self, tmp_path):
        line = in_child(
            """
import resource, sys
from archive import Archive, StorageError
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, resource.RLIM_INFINITY))
try:
    Archive.open(sys.argv[1])
except StorageError as error:
    print(error)
""",
            tmp_path / "evolve.db",
        )
        check_line(StorageError(line.strip()), "full", str(tmp_path))


NOBODY = 65534


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder of the user that `unprivileged` is."""
    folder = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        shutil.chown(folder, NOBODY)
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


@contextmanager
def unprivileged() -> Iterator[None]:
    """For root no file is read-only: be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


class TestPermissions:
    @pytest.fixture
    def path(self, open_folder):
        with unprivileged():
            with Archive.open(open_folder / "evolve.db") as archive:
                run = archive.create_run(problem="inventory", seed=1, direction="minimize")
                archive.commit(run.id, [bare(0)])
            yield open_folder / "evolve.db"

    def test_a_read_only_file(self, path):
        path.chmod(0o444)
        with Archive.open(path) as archive, fails(str(path), "read-only", "permission"):
            archive.commit("inventory-1", [bare(1)])
        with Archive.open(path, read_only=True) as archive:
            assert len(list(archive.programs("inventory-1"))) == 1

    def test_a_read_only_folder(self, path):
        path.parent.chmod(0o555)
        with fails(str(path), "read-only", "folder"):
            Archive.open(path)
        with Archive.open(path, read_only=True) as archive:
            assert len(list(archive.programs("inventory-1"))) == 1

    def test_no_room_for_a_file_in_a_read_only_folder(self, path):
        path.parent.chmod(0o555)
        with fails(str(path.with_name("new.db")), "cannot be opened", "folder"):
            Archive.open(path.with_name("new.db"))

    def test_an_unreadable_file(self, path):
        path.chmod(0)
        for read_only in (False, True):
            with fails(str(path), "cannot be opened"):
                Archive.open(path, read_only=read_only)

    def test_a_folder_that_may_not_be_looked_into(self, path):
        path.parent.chmod(0)
        with fails(str(path), "may not look into"):
            Archive.open(path)
