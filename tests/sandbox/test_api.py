"""The public face, and what the package promises about itself."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sandbox

PACKAGE = Path(sandbox.__file__).parent
MODULES = sorted(PACKAGE.glob("*.py"))


def test_public_names() -> None:
    assert sandbox.__all__ == [
        "Block", "Child", "ChildFailed", "Field", "Layers", "Layout", "Level", "Limits", "MemoryBudget", "Output",
        "ParameterField", "Ready", "Refused", "Report", "Sandbox", "SandboxError", "SandboxUnavailable", "Status", "Wall",
        "check_program", "check_text", "probe",
    ]  # fmt: skip
    assert all(hasattr(sandbox, name) for name in sandbox.__all__)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_it_imports_nothing_of_the_project(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {name.partition(".")[0] for name in names} & {"evolve", "archive", "problems"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_modules_are_small_enough_to_audit_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_importing_it_starts_nothing_and_loads_no_compiler() -> None:
    code = "import sys, sandbox; print('numba' in sys.modules, 'scipy' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert done.stdout == "False False False\n"
    assert done.stderr == ""


def test_layouts_are_checked() -> None:
    field = sandbox.Field(name="x")
    for make, text in (
        (lambda: sandbox.Field(name="a b"), "no plain name"),
        (lambda: sandbox.Field(name="__x"), "no plain name"),
        (lambda: sandbox.Field(name="é"), "no plain name"),
        (lambda: sandbox.Field(name="x", dtype="str"), "dtype is one of"),
        (lambda: sandbox.Field(name="x", per="column"), "per is one of"),
        (lambda: sandbox.Field(name="x", shape=(-1,)), "lengths in shape"),
        (lambda: sandbox.Layout(entry="f", fields=(field, field)), "different names"),
        (lambda: sandbox.Layout(entry="f", fields=(sandbox.Field(name="memory"),), memory=1), "different names"),
        (lambda: sandbox.Output(low=2.0, high=1.0), "no finite answer"),
        (lambda: sandbox.Output(dtype="int", low=0.2, high=0.8), "no finite answer"),
        (lambda: sandbox.ParameterField(name="p", kind="choice"), "needs choices"),
        (lambda: sandbox.ParameterField(name="p", kind="vector"), "kind is one of"),
    ):
        with pytest.raises(ValueError, match=text):
            make()


def test_too_many_arguments_for_the_header() -> None:
    fields = tuple(sandbox.Field(name=f"x{i}") for i in range(200))
    source = f"def f({', '.join(field.name for field in fields)}):\n    return 1\n"
    with sandbox.Sandbox() as box, pytest.raises(ValueError, match="at most"):
        box.spawn(source, sandbox.Layout(entry="f", fields=fields))
