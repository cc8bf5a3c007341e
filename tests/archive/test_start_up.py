"""What is heavy is loaded only when it is needed; each check runs in a process of its own."""

import subprocess
import sys

import archive

LOADED = "print(*(name for name in ('sqlalchemy', 'alembic', 'psycopg') if name in sys.modules))"


def loaded_after(code: str, *arguments: object) -> list[str]:
    command = [sys.executable, "-c", f"import sys\n{code}\n{LOADED}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()


def test_importing_the_archive_loads_no_database_library():
    assert loaded_after("import archive; archive.ProgramRecord(name='t1', role='ticket', number=1)") == []


def test_a_new_archive_and_a_current_one_need_no_migrations(tmp_path):
    work = """
from archive import Archive
for _ in range(2):
    with Archive.open(sys.argv[1]) as archive:
        run = archive.create_run(problem="a", seed=0, direction="minimize")
        archive.digest(run.id)
"""
    assert loaded_after(work, tmp_path / "evolve.db") == ["sqlalchemy"]


def test_the_public_names_are_these():
    public = {name for name in vars(archive) if not name.startswith("_")}
    modules = {name for name in public if f"archive.{name}" in sys.modules}
    assert public - modules == set(archive.__all__)
    assert sorted(archive.__all__) == sorted(set(archive.__all__))
