"""The page on using the sandbox alone: its example runs, and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import Level, Status, probe
from sandbox.berth import _COMPILER_MB, _COMPILER_OWN_MB

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="a memory budget needs Linux")
def test_the_example_prints_what_the_page_says() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    if probe().level < Level.RLIMITS:
        pytest.skip("the example requires the level rlimits")
    done = subprocess.run([sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    machine = re.compile("this machine reaches|missing: ")
    assert [line for line in done.stdout.splitlines() if not machine.match(line)] == printed.splitlines()[1:]


def test_the_page_is_complete() -> None:
    for word in (*(status.name for status in Status), *Level):
        assert f"`{word}`" in PAGE
    assert f"a compiling child {_COMPILER_MB + _COMPILER_OWN_MB} MB more" in " ".join(PAGE.split())
