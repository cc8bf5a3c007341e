"""Tidying untrusted source: harmless imports, a main guard and bare top-level expressions are dropped, not punished."""

import ast

from evolve.errors import ProgramError
from evolve.trees import walk

HARMLESS_MODULES = {"math": "math", "numpy": "np"}
"""Modules that are always there, under the name a program knows them by."""

DROPPED_MODULES = {"typing", "__future__", "collections.abc"}
"""Imports that only serve annotations, which the sandbox strips."""


def tidy(tree: ast.Module) -> bool:
    """Drop what a program does not need, in place; a harmless module under another name goes on working.

    So `from math import floor` becomes `floor = math.floor`.

    Returns:
        Whether anything was dropped.

    Raises:
        ProgramError: of kind `forbidden_import`.
    """
    if not any(_may_go(node) for node in walk(tree)) and not any(_is_idle(child, tree) for child in tree.body):
        return False
    tree.body = [child for child in tree.body if not (_is_main_guard(child) or _is_idle(child, tree))]
    _Imports().visit(tree)
    ast.fix_missing_locations(tree)
    return True


def _may_go(node: ast.AST) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom)) or (
        isinstance(node, ast.Name) and node.id in {"__import__", "__name__"}
    )


def _is_idle(child: ast.stmt, module: ast.Module) -> bool:
    """A bare expression that is no docstring, such as a call that tries the program out."""
    is_docstring = child is module.body[0] and isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
    return isinstance(child, ast.Expr) and not is_docstring


def _is_main_guard(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == "__name__"
    )


class _Imports(ast.NodeTransformer):
    """Removes harmless imports and refuses the others."""

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        aliases: list[ast.stmt] = []
        for name in node.names:
            if name.name in DROPPED_MODULES:
                continue
            if name.name not in HARMLESS_MODULES:
                raise _forbidden(name.name, node.lineno)
            known, wanted = HARMLESS_MODULES[name.name], name.asname or name.name
            if wanted != known:
                aliases.append(_assignment(wanted, ast.Name(known, ast.Load()), node))
        return aliases

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        module = node.module or ""
        if module in DROPPED_MODULES and node.level == 0:
            return []
        if module not in HARMLESS_MODULES or node.level or any(name.name == "*" for name in node.names):
            raise _forbidden("." * node.level + module, node.lineno)
        home = ast.Name(HARMLESS_MODULES[module], ast.Load())
        return [
            _assignment(name.asname or name.name, ast.Attribute(home, name.name, ast.Load()), node)
            for name in node.names
        ]

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id == "__import__":
            raise _forbidden("__import__", node.lineno)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if getattr(node, "body", None) == []:  # an import was all there was
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node


def _assignment(name: str, value: ast.expr, at: ast.stmt) -> ast.Assign:
    return ast.copy_location(ast.Assign(targets=[ast.Name(name, ast.Store())], value=value), at)


def _forbidden(module: str, line: int) -> ProgramError:
    return ProgramError(
        "forbidden_import", f"import of `{module}` is not allowed: `math` and `np` (numpy) are already there", line
    )
