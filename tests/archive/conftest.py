"""Archives to test on: a SQLite file, SQLite in memory and, where a server can be started, PostgreSQL."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from archive import (
    Archive,
    OutcomeRecord,
    ParentEdge,
    ProgramRecord,
    ProposalRecord,
    RunRecord,
    TuningRecord,
)

MakeProgram = Callable[..., ProgramRecord]


def _program(number: int = 1, **changes: object) -> ProgramRecord:
    """A ticket's program with everything; `changes` replace fields."""
    fields: dict[str, object] = {
        "name": f"t{number}",
        "role": "ticket",
        "number": number,
        "island": number % 2,
        "operator": "patch",
        "source": f"def order(on_hand, *, level: Real(0, 60) = {number}.0):\n    return max(0.0, level - on_hand)\n",
        "values": {"": {"level": 12.5 + number, "cap": 3, "mode": "slow", "weights": (0.1, 0.2)}},
        "train_score": 10.0 / (number + 1),
        "validation_score": 11.0 / (number + 1),
        "descriptors": {"fill_rate": 0.9},
        "size": 31,
        "fingerprint": f"{number:016x}",
        "tuning": TuningRecord(
            method="cma",
            vectors=64,
            evaluations=640,
            evaluations_saved=12,
            start_score=11.5,
            best_score=10.0,
            history=((64, 11.0), (640, 10.0)),
        ),
        "evaluations": 700 + number,
        "outcomes": (
            OutcomeRecord(split="train", instance="item 1", score=1.5 * number, metrics={"lost": 0.25}),
            OutcomeRecord(split="train", instance="item 2", status="timeout"),
            OutcomeRecord(split="validation", instance="item 1", score=2.5),
        ),
        "proposal": ProposalRecord(proposer="genetic", operator="patch", note="less", detail={"tries": [1, 2]}),
        "level": "full",
        "compiled": True,
        "seconds": 0.5,
        "cpu_seconds": 0.25,
    }
    return ProgramRecord(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.fixture
def program() -> MakeProgram:
    return _program


@pytest.fixture
def child() -> MakeProgram:
    """A program with given parents."""

    def make(number: int, *parents: str, **changes: object) -> ProgramRecord:
        return _program(number, parents=tuple(ParentEdge(parent) for parent in parents), **changes)

    return make


@pytest.fixture(params=["file", "memory", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new archive can be made."""
    if request.param == "file":
        return str(tmp_path / "evolve.db")
    if request.param == "memory":
        return ":memory:"
    return str(request.getfixturevalue("new_database"))


@pytest.fixture(params=["file", "postgresql"])
def lasting_target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new archive can be made that others can open too."""
    return str(tmp_path / "evolve.db") if request.param == "file" else str(request.getfixturevalue("new_database"))


@pytest.fixture
def archive(target: str) -> Iterator[Archive]:
    with Archive.open(target) as opened:
        yield opened


@pytest.fixture
def run(archive: Archive) -> RunRecord:
    return archive.create_run(problem="inventory", seed=1, direction="minimize")


# -- a PostgreSQL server of our own


@pytest.fixture
def new_database(postgresql: str) -> Iterator[str]:
    """URL of an empty database on the tests' own server."""
    import psycopg

    with psycopg.connect(f"host={postgresql} user=evolve dbname=evolve", autocommit=True) as connection:
        connection.execute("CREATE SCHEMA public")
        yield f"postgresql://evolve@/evolve?host={postgresql}"
        connection.execute("DROP SCHEMA public CASCADE")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A server on a Unix socket, as the folder of the socket; skips where there can be none."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'evolve-policies[postgresql]'")
    programs = _server_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed here")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: a socket's path has at most about 100 characters
    try:
        with _server(programs, folder):
            yield str(folder)
    finally:
        shutil.rmtree(folder)


def _server_programs() -> Path | None:
    """Folder of PostgreSQL's programs; distributions keep them out of the search path."""
    found = shutil.which("postgres")
    if found is not None and shutil.which("initdb") is not None:
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return folders[-1].parent if folders else None


@contextmanager
def _server(programs: Path, folder: Path) -> Iterator[None]:
    import psycopg

    user = None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        user = "nobody"
        shutil.chown(folder, user)
    data = folder / "data"
    initialise = [
        programs / "initdb",
        "-D",
        data,
        "-U",
        "evolve",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
        "--locale=C",
    ]
    subprocess.run(initialise, check=True, capture_output=True, user=user, cwd=folder)
    serve = [
        programs / "postgres",
        "-D",
        data,
        "-k",
        folder,
        "-c",
        "listen_addresses=",
        "-c",
        "fsync=off",
        "-c",
        "full_page_writes=off",
    ]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(serve, stdout=log, stderr=log, user=user, cwd=folder)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                with psycopg.connect(f"host={folder} user=evolve dbname=postgres", autocommit=True) as connection:
                    connection.execute("CREATE DATABASE evolve")
                with psycopg.connect(f"host={folder} user=evolve dbname=evolve", autocommit=True) as connection:
                    connection.execute("DROP SCHEMA public")
            except psycopg.OperationalError:
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.skip(f"the PostgreSQL server does not start: {(folder / 'log').read_text()[-300:]}")
                time.sleep(0.05)
            else:
                break
        yield
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nothing is worth keeping
        server.wait(30)
