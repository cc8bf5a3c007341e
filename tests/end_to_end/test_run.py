"""`evolve run`, and what a person does with its result, on a small problem."""

import re
import subprocess
import sys

import pytest
from command_line import FORMS, json_lines, run_command

RUN = (f"{FORMS}:Blocks", "--tickets", "12", "--islands", "2", "--tune", "24", "--seed", "5")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run: its folder and what it printed."""
    folder = tmp_path_factory.mktemp("finished")
    return folder, run_command(folder, "run", *RUN, "--jobs", 2).stdout


@pytest.fixture
def ask(finished):
    """Run a command in the folder of the finished run; returns what it printed."""

    def run(*arguments, code=0):
        done = run_command(finished[0], *arguments, code=code)
        return done.stdout + done.stderr

    return run


def test_what_a_run_prints(finished):
    folder, printed = finished
    assert "run blocks-1: 12 tickets" in printed
    assert "baseline half: ok" in printed
    assert "holdout" in printed
    assert "95 % interval" in printed
    assert "evolve export blocks-1:" in printed
    picture = folder / "evolve-out" / "blocks-1" / "progress.png"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_lines(evolve):
    lines = json_lines(evolve("run", *RUN, "--json").stdout)
    assert lines[0]["event"] == "started"
    tickets = [line for line in lines if line["event"] == "ticket"]
    assert [line["name"] for line in tickets] == [f"t{number}" for number in range(12)]
    assert lines[-1]["event"] == "finished"
    assert lines[-1]["tickets"] == 12
    assert lines[-1]["champion"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_digest_does_not_depend_on_the_number_of_workers(evolve, ask, jobs):
    evolve("run", *RUN, "--jobs", jobs)
    assert evolve("digest").stdout == ask("digest")


def test_another_seed_has_another_digest(evolve, ask):
    evolve("run", *RUN, "--seed", "6")
    assert evolve("digest").stdout != ask("digest")


def test_runs_show_best_lineage_diff(ask):
    (run,) = json_lines(ask("runs", "--json"))
    assert (run["run"], run["status"], run["tickets"]) == ("blocks-1", "finished", 12)
    assert "blocks-1" in ask("runs")
    best = json_lines(ask("best", "--json"))
    finalists = [line["validation"] for line in best if line["finalist"]]
    others = [line["validation"] for line in best if not line["finalist"] and line["role"] != "baseline"]
    assert len(finalists) == 3
    assert (finalists, others) == (sorted(finalists), sorted(others))
    assert all((line["holdout"] is None) != (line["finalist"] or line["role"] == "baseline") for line in best)
    assert "champion" in ask("best")
    assert best[0]["name"] in ask("best")
    shown = json_lines(ask("show", "--json"))[0]
    assert shown["name"] == best[0]["name"]
    assert "def step(" in ask("show")
    assert "half" in ask("show", "blocks-1:half")
    line = json_lines(ask("lineage", f"blocks-1:{best[0]['name']}", "--json"))
    assert line[-1]["name"] == best[0]["name"]
    assert "s0" in ask("lineage")
    assert "no difference" in ask("diff", "s0", "s0")
    assert "+" in ask("diff", "s0", "half")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "blocks-1:t99"), "run blocks-1 has no program 't99'"),
        (("show", "blocks-9:t1"), "blocks-9"),
        (("best", "nothing"), "nothing"),
        (("digest", "--archive", "none.db"), "none.db"),
        (("run", "inventary"), "did you mean 'inventory'?"),
        (("run", "./none.py"), "no such file"),
        (("run", "inventory", "--set", "lead=3"), "lead"),
        (("run", "inventory", "--set", "lead_time"), "write key=value"),
        (("run", "--config", "none.toml"), "no such settings file"),
        (("run", f"{FORMS}"), "several problems"),
        (("run", f"{FORMS}:Blocks", "--archive", "missing/folder/a.db"), "missing/folder"),
        (("diff", "half"), "has no parent"),
    ],
)
def test_bad_input_is_one_clear_line(ask, arguments, message):
    printed = ask(*arguments, code=1)
    assert message in printed
    assert printed.startswith("evolve: ")
    assert printed.count("\n") == 1


def test_export_runs_with_numpy_alone(ask, finished, tmp_path):
    printed = ask("export", "last:best", "--out", tmp_path / "rule")
    module, test = re.findall(r"wrote (\S+)", printed)
    text = (tmp_path / "rule" / module.rsplit("/")[-1]).read_text()
    assert "evolve" not in re.findall(r"^import (\w+)", text, re.MULTILINE)
    assert "To reproduce: evolve run" in text
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=tmp_path / "rule",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "is there already" in ask("export", "last:best", "--out", tmp_path / "rule", code=1)
    ask("export", "last:best", "--out", tmp_path / "rule", "--force")


def test_resume_of_a_finished_run_changes_nothing(ask):
    before = ask("digest")
    assert "run blocks-1: 12 tickets" in ask("resume")
    assert ask("digest") == before


def test_settings_file(evolve, tmp_path):
    (tmp_path / "run.toml").write_text(
        f'problem = "{FORMS}:Calls"\ntickets = 3\n[islands]\ncount = 1\n[tuning]\nvectors = 8\nmethod = "random"\n'
    )
    lines = json_lines(evolve("run", "--config", "run.toml", "--tickets", "2", "--json").stdout)
    assert lines[0]["settings"]["tickets"] == 2
    assert lines[0]["settings"]["tuning"]["method"] == "random"
    assert lines[-1]["tickets"] == 2


def test_help_tells_exit_codes(evolve):
    assert "Exit codes" in evolve("--help").stdout


@pytest.mark.parametrize(
    "command",
    ["run", "resume", "runs", "show", "best", "lineage", "diff", "digest", "export", "problems", "doctor"],
)
def test_the_help_of_every_command_has_examples(evolve, command):
    _, found, examples = evolve(command, "--help").stdout.partition("Examples:")
    assert found
    assert f"evolve {command}" in examples


def test_problems_and_doctor(evolve):
    assert "inventory" in evolve("problems").stdout
    described = evolve("problems", "inventory").stdout
    assert "units on order by arrival" in described
    assert "lead_time" in described
    assert "sandbox level" in evolve("doctor").stdout


def test_problems_tells_what_became_of_a_users_file(evolve, tmp_path):
    rows = [f"2024-{1 + day // 28:02}-{1 + day % 28:02},A,{-3 if day == 5 else day % 4}" for day in range(336)]
    (tmp_path / "mine.csv").write_text("\n".join(["date,item,units", *rows]) + "\n")
    described = evolve("problems", "inventory", "--set", "data=mine.csv", "--set", "lead_time=2").stdout
    assert "negative" in described
    assert "array (2,)" in described
