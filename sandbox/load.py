"""From text to a function that can be called: the static layer, the module's code, the freeze.

Runs in a locked child, after the lock-down.

Defends against: a program that runs before it has been checked, or with more than its restricted globals; module code
that leaves something that keeps state, or that raises: the program is refused then, and says in which line.

Does not defend against: module code that takes long or much memory (the limits of the process do). With `static=False`
(tests of the operating-system layer only) the program gets the whole language.
"""

import ast
import builtins
import contextlib
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from sandbox import facade
from sandbox.endings import passing_on
from sandbox.errors import Refused
from sandbox.freeze import freeze_globals
from sandbox.rows import SOURCE_NAME, explain
from sandbox.static import restrict
from sandbox.values import Layout


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program ready to run.

    Args:
        entry: its entry function.
        namespace: its globals, frozen.
        tree: what was compiled; None without the static layer.
    """

    entry: FunctionType
    namespace: dict[str, Any]
    tree: ast.Module | None


def load(source: str, layout: Layout, *, static: bool = True) -> Loaded:
    """Check a program, run its module code, freeze its constants.

    Raises:
        Refused: by the static layer, or because its module code raises or leaves something that keeps state.
    """
    if not static:
        return _load_anything(source, layout)
    tree = passing_on(restrict(source, layout))
    namespace = facade.new_globals()
    lines = _binding_lines(tree)
    _execute(tree, namespace)
    freeze_globals(namespace, lines)
    entry = namespace.get(layout.entry)
    if type(entry) is not FunctionType:
        raise Refused(f"`{layout.entry}` must be a function: write `def {layout.entry}(…):`", rule="signature")
    return Loaded(entry, namespace, tree)


def _execute(tree: ast.Module, namespace: dict[str, Any]) -> None:
    try:
        code = compile(tree, SOURCE_NAME, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise Refused(f"not valid Python: {error}", rule="syntax", line=line) from None
    try:
        exec(code, namespace)  # noqa: S102 - the purpose of this package
    except BaseException as error:  # noqa: BLE001 - whatever the program raises is a fact about it
        _, text = explain(error)
        raise Refused(f"the code at module level raised {text}", rule="raised") from None


def _binding_lines(tree: ast.Module) -> dict[str, int]:
    lines: dict[str, int] = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            lines[statement.name] = statement.lineno
        for node in ast.walk(statement) if isinstance(statement, ast.Assign) else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                lines[node.id] = statement.lineno
    return lines


def _load_anything(source: str, layout: Layout) -> Loaded:
    namespace: dict[str, Any] = {"__builtins__": vars(builtins), "__name__": "program"}
    for name, module in (("math", "math"), ("np", "numpy")):
        with contextlib.suppress(ImportError):
            namespace[name] = __import__(module)
    try:
        exec(compile(source, SOURCE_NAME, "exec", dont_inherit=True), namespace)  # noqa: S102
    except BaseException as error:  # noqa: BLE001
        _, text = explain(error)
        raise Refused(f"the program raised {text}", rule="raised") from None
    entry = namespace.get(layout.entry)
    if not callable(entry):
        raise Refused(f"`{layout.entry}` must be callable", rule="signature")
    return Loaded(entry, namespace, None)
