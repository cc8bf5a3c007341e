"""kill -9, Ctrl-C, dying and hanging evaluators: nothing committed is lost, nothing is left running."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from command_line import FORMS, command, json_lines, processes_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

RUN = (f"{FORMS}:Blocks", "--tickets", "40", "--islands", "2", "--tune", "16", "--seed", "2", "--jobs", "2")
KILLS = 20


def wait_for_end(marker, seconds=10.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not processes_of(marker):
            return []
        time.sleep(0.05)
    return processes_of(marker)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_9_at_random_moments(evolve, tmp_path):
    evolve("run", *RUN, "--archive", "whole.db")
    whole = evolve("digest", "--archive", "whole.db").stdout
    marker = f"EVOLVE_TEST_{os.getpid()}_{random.randrange(10**9)}"
    chance = random.Random(11)
    arguments = ["run", *RUN]
    committed = 0
    for _ in range(KILLS):
        process = subprocess.Popen(
            command(*arguments, "--archive", "killed.db", "--json"),
            cwd=tmp_path,
            env=os.environ | {"MARK": marker},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if process.stdout.readline().startswith("{"):
            arguments = ["resume", "last"]
        time.sleep(chance.uniform(0.0, 0.8))
        process.kill()
        process.communicate()
        assert wait_for_end(marker) == []
        if (tmp_path / "killed.db").exists():
            kept = count_programs(tmp_path / "killed.db")
            assert kept >= committed
            committed = kept
    evolve(*arguments, "--archive", "killed.db")
    assert evolve("digest", "--archive", "killed.db").stdout == whole
    (run,) = json_lines(evolve("runs", "--archive", "killed.db", "--json").stdout)
    assert (run["tickets"], run["status"]) == (40, "finished")


def count_programs(path):
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "programs" not in tables:
            return 0
        (total,) = connection.execute("SELECT count(*) FROM programs").fetchone()
        (distinct,) = connection.execute("SELECT count(DISTINCT name) FROM programs").fetchone()
    assert total == distinct
    return total


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_says_how_to_go_on(evolve, tmp_path, sign):
    marker = f"EVOLVE_TEST_{os.getpid()}_{random.randrange(10**9)}"
    process = subprocess.Popen(
        command("run", *RUN, "--tickets", "400", "--archive", "stopped.db"),
        cwd=tmp_path,
        env=os.environ | {"MARK": marker},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(sign)
    printed, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "go on with: evolve resume blocks-1 --archive stopped.db" in printed
    assert "Traceback" not in printed
    assert wait_for_end(marker) == []
    (run,) = json_lines(evolve("runs", "--archive", "stopped.db", "--json").stdout)
    assert run["status"] == "interrupted"
    evolve("resume", "blocks-1", "--archive", "stopped.db")


@pytest.mark.parametrize(
    ("fail", "reason"), [("exit", "ended without an answer"), ("raise", "KeyError"), ("hang", "hung for 1 s")]
)
def test_a_broken_simulator_ends_the_run_with_its_reason(evolve, tmp_path, fail, reason):
    (tmp_path / "run.toml").write_text(
        f'problem = "{FORMS}:Blocks"\ntickets = 3\n[set]\nfail = "{fail}"\n[limits]\nevaluation_seconds = 1.0\n'
    )
    done = evolve("run", "--config", "run.toml", code=3)
    assert "no seed program could be scored" in done.stderr
    assert reason in done.stderr


def test_two_engines_cannot_drive_one_run(evolve, tmp_path):
    process = subprocess.Popen(
        command("run", *RUN, "--tickets", "4000"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        process.stdout.readline()
        done = evolve("resume", "blocks-1", code=1)
        assert str(process.pid) in done.stderr
    finally:
        process.kill()
        process.communicate()


def test_archives_that_cannot_be_written(evolve, tmp_path):
    (tmp_path / "text.db").write_text("this is no database\n" * 100)
    assert "text.db" in evolve("run", *RUN, "--archive", "text.db", code=1).stderr
    (tmp_path / "folder.db").mkdir()
    assert "folder.db" in evolve("run", *RUN, "--archive", "folder.db", code=1).stderr


def test_several_runs_share_one_file(evolve, tmp_path):
    small = [*RUN, "--tickets", "10", "--jobs", "1", "--archive", "shared.db"]
    processes = [
        subprocess.Popen(command("run", *small), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(3)
    ]
    for process in processes:
        printed, _ = process.communicate(timeout=240)
        assert process.returncode == 0, printed
    digests = {evolve("digest", f"blocks-{n}", "--archive", "shared.db").stdout for n in (1, 2, 3)}
    assert len(digests) == 1
