"""What the docs show works as it stands there."""

import re
import tomllib
from pathlib import Path

from command_line import json_lines

from evolve.program import read_program
from evolve.settings import RunSettings, validate

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page, language):
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_problem_of_the_docs_runs(evolve, tmp_path):
    (source,) = [block for block in blocks("own-problem.md", "python") if block.startswith("# bakery.py")]
    (tmp_path / "bakery.py").write_text(source, encoding="utf-8")
    lines = json_lines(evolve("run", "./bakery.py", "--tickets", "4", "--tune", "24", "--json").stdout)
    assert lines[-1]["statuses"].get("ok", 0) >= 3
    baselines = [line for line in lines if line["event"] == "baseline"]
    assert baselines[0]["validation"] > 20
    described = evolve("problems", "./bakery.py").stdout
    assert "loaves to bake" in described


def test_the_settings_file_of_the_docs_is_valid():
    (text,) = blocks("how-it-works.md", "toml")
    settings = validate(RunSettings, tomllib.loads(text), "docs")
    assert settings.set == {"lead_time": 4}
    assert (settings.window, settings.finalists, settings.tuning.vectors) == (8, 3, 128)


def test_the_program_of_the_docs_is_a_program():
    (text,) = blocks("how-it-works.md", "python")
    assert read_program(text, "order", ("on_hand", "pipeline")).space.names == ("level", "cap")
