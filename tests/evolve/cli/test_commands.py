"""What the command line says before a search begins, and what it makes of faults of the user's."""

import re
import subprocess
from pathlib import Path

import pytest
from command_line import command, run_command

from archive import Archive, ProgramRecord
from evolve.cli.reading import find_program
from evolve.errors import RunError


def test_help_shows_the_defaults_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    printed = run_command(tmp_path, "run", "--help").stdout
    for default in ("300", "4", "0", "128", "cores", "3/4 of the machine's"):
        assert f"[default: {default}]" in printed


def test_version(tmp_path):
    assert re.fullmatch(r"evolve \d+\.\d+\.\d+\S*\n", run_command(tmp_path, "--version").stdout)


@pytest.mark.parametrize(
    ("line", "flags", "said"),
    [
        ("tuning = 5", ("--tune", "4"), "tuning = 5: write a table"),
        ("islands = 3", ("--islands", "2"), "islands = 3: write a table"),
        ("set = 3", ("--set", "x=1"), "set = 3: write a table"),
    ],
)
def test_a_number_where_a_table_belongs_is_one_line(tmp_path, line, flags, said):
    (tmp_path / "run.toml").write_text(line)
    printed = run_command(tmp_path, "run", "inventory", "--config", "run.toml", *flags, code=1).stderr
    assert said in printed
    assert printed.startswith("evolve: run.toml: ")
    assert printed.count("\n") == 1


@pytest.fixture
def store(tmp_path):
    """An archive of one run with one program, which has no label."""
    with Archive.open(str(tmp_path / "evolve.db"), create=True) as opened:
        run = opened.create_run(problem="inventory", seed=0, direction="minimize", settings={"tickets": 1}, facts={})
        opened.commit(run.id, programs=[ProgramRecord(name="t0", role="ticket", number=0)])
        yield opened


@pytest.mark.parametrize("reference", ["inventory-1:", "last:", ":", ""])
def test_a_reference_without_a_program_is_refused(store, reference):
    with pytest.raises(RunError, match="write RUN:PROGRAM"):
        find_program(store, reference)


@pytest.mark.parametrize("arguments", [("runs",), ("runs", "--json"), ("problems",), ("--help",)])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(store, tmp_path, arguments):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command(*arguments), cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (1, "evolve: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("columns", [40, 80])
def test_names_of_runs_are_whole_on_narrow_terminals(store, tmp_path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "inventory-1" in run_command(tmp_path, "runs").stdout
