"""Several processes and one archive: writers of different runs, readers meanwhile, and kill -9 at any moment."""

import os
import random
import runpy
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import archive as package
from archive import Archive, ClaimError

WRITER = Path(__file__).with_name("writer.py")
whole = runpy.run_path(str(WRITER))["whole"]


@pytest.fixture
def start():
    """Starts writers: `start(target, run, count)`."""
    with ExitStack() as stack:

        def start(target: str, run: str, count: int) -> "subprocess.Popen[str]":
            command = [sys.executable, WRITER, target, run, str(count)]
            environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
            )
            stack.callback(process.kill)
            return process

        yield start


def check(archive: Archive, run: str, count: int) -> None:
    """The run has the first `count` programs, each whole, and all that came with them."""
    assert list(archive.programs(run, outcomes=True)) == [whole(number) for number in range(count)]
    assert [event.ticket for event in archive.events(run)] == list(range(count))
    assert [skill.uses for skill in archive.skills(run)] == ([count - 1] if count else [])


def check_file(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_processes_write_their_runs_into_one_archive_while_others_read(lasting_target, start):
    """The archive does not exist at first: they also create it at the same time."""
    writers = [start(lasting_target, "new", 40) for _ in range(4)]
    runs = [writer.stdout.readline().split()[0] for writer in writers]
    assert sorted(runs) == ["work-1", "work-2", "work-3", "work-4"]
    with Archive.open(lasting_target, read_only=True) as reader:
        while any(writer.poll() is None for writer in writers):
            for run in runs:
                seen = list(reader.programs(run, outcomes=True))
                assert seen == [whole(number) for number in range(len(seen))]
        for writer, run in zip(writers, runs, strict=True):
            assert writer.returncode == 0, writer.stderr.read()
            assert writer.stdout.read().split() == [str(number) for number in range(40)]
            check(reader, run, 40)
        assert len({reader.digest(run) for run in runs}) == 1
    if not lasting_target.startswith("postgresql"):
        check_file(Path(lasting_target))


def test_kill_at_random_moments_loses_no_commit_and_leaves_no_half(tmp_path, start):
    """Each writer goes on where the last was killed, taking its claim over at once."""
    path = tmp_path / "evolve.db"
    chance = random.Random(8)
    told = 0
    with Archive.open(path) as archive:
        run = archive.create_run(problem="work", seed=0, direction="minimize").id
    for _ in range(15):
        writer = start(str(path), run, 100_000)
        _, found = writer.stdout.readline().split()
        assert int(found) >= told  # whatever a killed writer had told of is there
        time.sleep(chance.uniform(0.0, 0.12))
        writer.kill()
        assert writer.stderr.read() == ""
        lines = writer.stdout.read().split("\n")[:-1]  # the last may be cut
        told = max(told, int(found), *(int(line) + 1 for line in lines))
        check_file(path)
    with Archive.open(path, create=False) as archive:
        count = sum(archive.tally(run).values())
        assert count >= told > 15
        check(archive, run, count)
        with pytest.raises(ClaimError, match="has ended: claim the run first"):
            archive.commit(run, [whole(count)])
        archive.claim(run)
        assert archive.commit(run, [whole(count)])
