"""The commands of the README work as they stand there; searches are cut short."""

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEMAND = ROOT / "problems" / "inventory" / "data" / "demand.csv"
SHORT = ("--tickets", "3", "--tune", "8", "--islands", "2")


def commands():
    """Lines of the shell blocks, without their comments."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    return [line.partition("#")[0].split() for block in blocks for line in block.splitlines()]


@pytest.mark.slow
def test_every_command(evolve, tmp_path):
    shutil.copy(DEMAND, tmp_path / "my_demand.csv")
    page = (ROOT / "docs" / "own-problem.md").read_text(encoding="utf-8")
    source = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "# bakery.py" in block)
    (tmp_path / "bakery.py").write_text(source, encoding="utf-8")
    digests = []
    for program, *arguments in commands():
        if program != "evolve":
            assert arguments == ["install", "."]
            continue
        searches = arguments[0] == "run" and "--help" not in arguments
        evolve(*arguments, *(SHORT if searches else ()))
        if "--jobs" in arguments:
            digests.append(evolve("digest", "last").stdout)
    assert len(digests) == 2
    assert digests[0] == digests[1]
    exported = sorted(path.name for path in (tmp_path / "rule").iterdir())
    assert len(exported) == 2


def test_the_first_commands_are_those_of_the_makefile():
    targets = re.findall(r"^    make (\w+)", README, re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README.replace("\n", " "))
    assert len(links) >= 6
    for link in links:
        assert (ROOT / link).exists(), link
