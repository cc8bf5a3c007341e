"""Each module says what it defends against and what it does not, so that an auditor can hold it to that."""

import ast
import re
from pathlib import Path

import pytest

import sandbox

MODULES = sorted(Path(sandbox.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_says_what_it_defends_against_and_what_not(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    for words in ("Defends against: ", "Does not defend against: "):
        told = re.findall(rf"^{words}(.+?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
        assert len(told) == 1, f"{path.name} has no paragraph that begins with {words!r}"
        assert len(told[0].split()) >= 8, f"{path.name} says too little after {words!r}"
