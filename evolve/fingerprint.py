"""When are two programs the same up to writing? Their canonical trees have one fingerprint.

Layout, comments, docstrings, annotations of plain variables, the names of helpers, local variables and parameters, the
default values of parameters (the tuner finds them anew) and the order of the two operands of + and × do not count. The
search domains of parameters do: a wider domain is another program.
"""

import ast
import hashlib
from collections.abc import Iterable

from evolve.program import Program

_COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def fingerprint(program: Program, positional: Iterable[str]) -> str:
    """Canonical identity of a program, 16 hexadecimal digits; `positional` are the names the contract fixes."""
    tree = ast.parse(program.source)
    fixed = {*positional, program.entry, "math", "np"}
    tree = _Canonical(_bound_names(tree) - fixed).visit(tree)
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def _bound_names(tree: ast.AST) -> set[str]:
    """Names that the program itself binds: only these may be renamed."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ExceptHandler)) and node.name:
            names.add(node.name)
    return names


class _Canonical(ast.NodeTransformer):
    """Renames bound names in order of appearance and sorts the operands of commutative operators."""

    def __init__(self, bound: set[str]) -> None:
        self.bound = bound
        self.names: dict[str, str] = {}

    def _rename(self, name: str) -> str:
        if name not in self.bound:
            return name
        return self.names.setdefault(name, f"v{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._rename(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        annotation = node.annotation if isinstance(node.annotation, ast.Call) else None
        return ast.arg(self._rename(node.arg), annotation)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        node = ast.keyword(self._rename(node.arg) if node.arg else None, node.value)
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        return self.visit(ast.Assign([node.target], node.value))  # type: ignore[no-any-return]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        arguments = node.args
        keyword_defaults: list[ast.expr | None] = [ast.Constant(None) for _ in arguments.kw_defaults]
        arguments = ast.arguments(
            arguments.posonlyargs, arguments.args, arguments.vararg, arguments.kwonlyargs, keyword_defaults,
            arguments.kwarg, arguments.defaults,
        )  # fmt: skip
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1 else node.body
        fresh = ast.FunctionDef(self._rename(node.name), arguments, body, [], None)
        return self.generic_visit(fresh)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        visited = ast.BinOp(self.visit(node.left), node.op, self.visit(node.right))
        if isinstance(node.op, _COMMUTATIVE):
            first, second = sorted((visited.left, visited.right), key=ast.dump)
            visited = ast.BinOp(first, node.op, second)
        return visited
