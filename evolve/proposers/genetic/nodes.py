"""Building blocks for syntax trees: copies, templates, numbers, sizes."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from evolve.trees import walk


def clone(node: ast.expr, parts: dict[str, ast.expr] | None = None) -> ast.expr:
    """A copy of an expression, in which names that are keys of `parts` are replaced by copies of these."""
    copied = _clone(node, parts or {})
    assert isinstance(copied, ast.expr)
    return copied


def _clone(node: ast.AST, parts: dict[str, ast.expr]) -> ast.AST:
    kind = type(node)
    if kind is ast.Name and node.id in parts:  # type: ignore[attr-defined]
        return _clone(parts[node.id], {})  # type: ignore[attr-defined]
    if not node._fields:
        return node  # operators and contexts carry nothing: one may stand in many places
    copied = kind()
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            value = _clone(value, parts)
        elif isinstance(value, list):
            value = [_clone(item, parts) if isinstance(item, ast.AST) else item for item in value]
        setattr(copied, field, value)
    if isinstance(copied, ast.stmt):
        copied.lineno = 0  # `ast.unparse` asks for it
    return copied


def clone_statement(node: ast.stmt) -> ast.stmt:
    """A copy of a statement."""
    copied = _clone(node, {})
    assert isinstance(copied, ast.stmt)
    return copied


@lru_cache(maxsize=512)
def _template(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def form(template: str, **parts: ast.expr) -> ast.expr:
    """An expression written as text, its capital names replaced: `form("A + W * F", A=base, W=weight, F=feature)`."""
    return clone(_template(template), parts)


def statements(template: str, **parts: ast.expr) -> list[ast.stmt]:
    """As `form`, for statements; the templates' own local names are parts like any other."""
    made = [_clone(node, parts) for node in ast.parse(template).body]
    for node in made:
        _restore_contexts(node)
    return [node for node in made if isinstance(node, ast.stmt)]


def _restore_contexts(node: ast.AST) -> None:
    """A name put in place of an assigned one was made for reading."""
    for child in walk(node):
        targets = child.targets if isinstance(child, ast.Assign) else [getattr(child, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name):
                target.ctx = ast.Store()


def name(text: str) -> ast.Name:
    """A name that is read."""
    return ast.Name(text, ast.Load())


def assign(target: str, value: ast.expr) -> ast.stmt:
    """The statement `target = value`."""
    return ast.Assign([ast.Name(target, ast.Store())], value, lineno=0)


def number(value: float) -> ast.expr:
    """A number as the parser would read it: negative ones carry a sign."""
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def value_of(node: ast.expr) -> float | None:
    """The number that a literal says, with its sign; None for anything else."""
    if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = value_of(node.operand)
        return None if inner is None else -inner
    return None


def same(one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions are written alike."""
    return type(one) is type(other) and ast.dump(one) == ast.dump(other)


def names_in(node: ast.AST) -> Iterator[str]:
    """Every name that is read within a node, as often as it is."""
    for child in walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            yield child.id


def weight_of(node: ast.AST) -> int:
    """How much a person has to read: names, numbers, operations and calls count; operators and contexts do not."""
    return sum(isinstance(child, (ast.expr, ast.stmt)) and not isinstance(child, ast.Attribute) for child in walk(node))


def called(node: ast.AST) -> str:
    """The name of the function that a call calls by name, such as `min`; empty for anything else."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
