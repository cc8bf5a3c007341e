"""Finds problem plug-ins: by entry point (`evolve run inventory`) or by path (`evolve run ./my_problem.py`)."""

import difflib
import hashlib
import importlib.metadata
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from evolve.errors import ProblemError
from evolve.problem import Problem
from evolve.settings import validate

GROUP = "evolve.problems"


def available() -> dict[str, importlib.metadata.EntryPoint]:
    """Installed plug-ins by name."""
    return {point.name: point for point in sorted(importlib.metadata.entry_points(group=GROUP))}


def find_problem(reference: str) -> type[Problem[Any, Any]]:
    """Find a problem class.

    Args:
        reference: an entry point's name, or the path of a Python file, with `:ClassName` if it holds several problems.

    Raises:
        ProblemError: if there is none, or it cannot be loaded.
    """
    if _is_path(reference):
        return _from_file(reference)
    points = available()
    if reference not in points:
        near = difflib.get_close_matches(reference, points, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"installed: {', '.join(points) or 'none'}"
        raise ProblemError(f"no problem called {reference!r}; {hint} (a path needs a slash or .py: ./{reference}.py)")
    try:
        loaded = points[reference].load()
    except (ImportError, AttributeError) as error:
        raise ProblemError(f"problem {reference!r} cannot be loaded from {points[reference].value}: {error}") from error
    return _checked(loaded, reference)


def load_problem(reference: str, values: dict[str, Any]) -> Problem[Any, Any]:
    """Find a problem and make it with the user's settings.

    Raises:
        ProblemError: if it cannot be found, loaded or made.
        SettingsError: if `values` do not fit its settings model.
    """
    problem = find_problem(reference)
    return problem(validate(problem.Settings, values, f"settings of problem {problem.name}"))


def _is_path(reference: str) -> bool:
    name = reference.partition(":")[0]
    return name.endswith(".py") or "/" in name or "\\" in name


def _from_file(reference: str) -> type[Problem[Any, Any]]:
    name, _, wanted = reference.partition(":") if not Path(reference).exists() else (reference, "", "")
    path = Path(name).resolve()
    if not path.is_file():
        raise ProblemError(f"{name}: no such file; give the path of a Python file that defines a Problem")
    module = _load_module(path)
    found = {key: value for key, value in vars(module).items() if _is_complete(value, module)}
    if wanted and wanted not in found:
        raise ProblemError(f"{name} defines no problem class {wanted!r}; it has: {', '.join(found) or 'none'}")
    if not found:
        raise ProblemError(
            f"{name} defines no complete Problem class: subclass evolve.Problem and override its methods"
        )
    if len(found) > 1 and not wanted:
        raise ProblemError(
            f"{name} defines several problems ({', '.join(found)}): choose one as {name}:{next(iter(found))}"
        )
    return _checked(found[wanted or next(iter(found))], name)


def _is_complete(value: object, module: ModuleType) -> bool:
    """Whether it is a problem class of this module, with a name and without abstract methods."""
    return (
        inspect.isclass(value)
        and issubclass(value, Problem)
        and value.__module__ == module.__name__
        and isinstance(getattr(value, "name", None), str)
        and not inspect.isabstract(value)
    )


def _load_module(path: Path) -> ModuleType:
    # One name per file: two plug-ins that are both called problem.py must not meet in sys.modules.
    name = f"evolve_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ProblemError(f"{path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)  # files beside it can be imported; last, so that none hides an installed package
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # anything may go wrong in a stranger's module; the user must see what
        del sys.modules[name]
        raise ProblemError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    return module


def _checked(loaded: object, reference: str) -> type[Problem[Any, Any]]:
    if not (inspect.isclass(loaded) and issubclass(loaded, Problem)):
        raise ProblemError(f"problem {reference!r} is no subclass of evolve.Problem but {loaded!r}")
    return loaded
