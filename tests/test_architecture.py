"""Arrows between packages point one way, start-up stays light, and the public face is what it says."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import evolve

ROOT = Path(__file__).parents[1]
PACKAGES = ("evolve", "problems", "sandbox", "archive")
ALLOWED = {
    "sandbox": {"sandbox"},
    "archive": {"archive"},
    "evolve": {"evolve", "sandbox", "archive"},
    "problems": {"problems", "evolve"},
}
HEAVY = ("numba", "nevergrad", "matplotlib", "scipy.stats", "sqlalchemy", "alembic", "pandas", "pydantic")


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows_point_one_way(package):
    for path in (ROOT / package).rglob("*.py"):
        for module in imports_of(path):
            top = module.split(".")[0]
            if top in PACKAGES:
                assert top in ALLOWED[package], f"{path} imports {module}"
            if package == "problems" and top == "evolve":
                assert module in {"evolve", "evolve.problem"}, (
                    f"{path} imports {module}: plug-ins use the contract only"
                )


def loaded_by(code):
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_help_loads_nothing_heavy():
    code = (
        "sys.argv = ['evolve', '--help']\nimport contextlib, io\nfrom evolve.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n    main()"
    )
    loaded = loaded_by(code)
    assert "typer" in loaded
    assert not loaded & set(HEAVY), "these belong where they are used"


def test_importing_the_public_name_loads_nothing_heavy():
    assert not loaded_by("import evolve") & {*HEAVY, "numpy", "typer"}


def test_every_public_name_is_there():
    for name in evolve.__all__:
        assert getattr(evolve, name) is not None
    assert sorted(evolve.__all__) == sorted(name for names in evolve._HOMES.values() for name in names)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = evolve.nothing
