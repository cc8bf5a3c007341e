"""Algebra on expressions: shorter ones of the same value, for whatever the names in them hold."""

import ast
import math
from collections.abc import Callable, Iterable

from evolve.proposers.genetic.facts import Env, Kind, infer
from evolve.proposers.genetic.nodes import called, name, number, same, value_of

_CLOSED = (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.NamedExpr)


class Algebra:
    """Simplifies expressions in place and remembers whether there was anything to do."""

    def __init__(self) -> None:
        self.changed = False

    def simplified(self, node: ast.expr, env: Env) -> ast.expr:
        """A shorter expression of the same value, or the expression itself; `env` knows the names in it."""
        if isinstance(node, _CLOSED):
            return node
        for field in node._fields:
            value = getattr(node, field)
            if isinstance(value, ast.expr):
                setattr(node, field, self.simplified(value, env))
            elif type(value) is list:
                value[:] = [self.simplified(item, env) if isinstance(item, ast.expr) else item for item in value]
        rule = _RULES.get(type(node))
        result = node if rule is None else rule(node, env)
        self.changed |= result is not node
        return result


def _scalar(node: ast.expr, env: Env) -> bool:
    return infer(node, env).kind.is_numeric


def _binary(node: ast.expr, env: Env) -> ast.expr:
    assert isinstance(node, ast.BinOp)
    left, right = value_of(node.left), value_of(node.right)
    if left is not None and right is not None:
        return _folded(node, left, right)
    if isinstance(node.op, (ast.Add, ast.Sub)):
        return _sum(node, left, right, env)
    if isinstance(node.op, ast.Mult):
        return _product(node, left, right, env)
    if isinstance(node.op, (ast.Div, ast.Pow)) and right == 1:
        return node.left
    if isinstance(node.op, ast.Pow) and right == 0 and _scalar(node.left, env):
        return _like(1, node.left, env)
    return node


def _like(value: int, node: ast.expr, env: Env) -> ast.expr:
    """0 or 1 as a whole number in place of one (it may be an index), else as a float."""
    return number(value if infer(node, env).kind is Kind.WHOLE else float(value))


_FOLD: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}


def _folded(node: ast.BinOp, left: float, right: float) -> ast.expr:
    fold = _FOLD.get(type(node.op))
    if fold is None or (isinstance(node.op, ast.Div) and right == 0):
        return node
    result = fold(left, right)
    return number(result) if math.isfinite(result) and len(repr(abs(result))) <= 8 else node


def _sum(node: ast.BinOp, left: float | None, right: float | None, env: Env) -> ast.expr:
    is_add = isinstance(node.op, ast.Add)
    if right == 0:
        return node.left
    if left == 0:
        return node.right if is_add else _negative(node.right)
    positive = _positive(node.right)
    if positive is not None:
        return ast.BinOp(node.left, ast.Sub() if is_add else ast.Add(), positive)
    if same(node.left, node.right) and _scalar(node.left, env):
        two = number(2 if infer(node.left, env).kind is Kind.WHOLE else 2.0)
        return ast.BinOp(two, ast.Mult(), node.left) if is_add else _like(0, node.left, env)
    return node


def _positive(node: ast.expr) -> ast.expr | None:
    """`x` of `-x`, and `2 * x` of `-2 * x`; None for what carries no sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        left = _positive(node.left)
        return None if left is None else ast.BinOp(left, node.op, node.right)
    return None


def _product(node: ast.BinOp, left: float | None, right: float | None, env: Env) -> ast.expr:
    for value, other in ((left, node.right), (right, node.left)):
        if value == 1:
            return other
        if value == -1:
            return _negative(other)
        if value == 0 and _scalar(other, env):
            return _like(0, node, env)
    return node


def _negative(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    return ast.UnaryOp(ast.USub(), node)


def _unary(node: ast.expr, _: Env) -> ast.expr:
    assert isinstance(node, ast.UnaryOp)
    inner = node.operand
    if isinstance(inner, ast.UnaryOp) and type(inner.op) is type(node.op) and isinstance(node.op, ast.USub):
        return inner.operand
    if isinstance(node.op, ast.Not) and isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not):
        return inner.operand
    return inner if isinstance(node.op, ast.USub) and value_of(inner) == 0 else node


def _call(node: ast.expr, _: Env) -> ast.expr:
    assert isinstance(node, ast.Call)
    kind = called(node)
    if kind in {"min", "max"} and len(node.args) > 1 and not node.keywords:
        return _extreme(node, kind)
    if kind in {"abs", "float", "round", "int"} and len(node.args) == 1 and called(node.args[0]) == kind:
        inner = node.args[0]
        return inner if isinstance(inner, ast.Call) and len(inner.args) == 1 else node
    return node


def _extreme(node: ast.Call, kind: str) -> ast.expr:
    """Min and max: nested ones become one, equal operands one, numbers one; a bound that was there before goes."""
    operands: list[ast.expr] = []
    for argument in node.args:
        inner = (
            argument.args
            if isinstance(argument, ast.Call) and called(argument) == kind and len(argument.args) > 1
            else [argument]
        )
        for operand in inner:
            if not any(same(operand, other) for other in operands):
                operands.append(operand)
    operands = [_without_inner_bound(operand, operands, kind) for operand in operands]
    values = [value for operand in operands if (value := value_of(operand)) is not None]
    if len(values) > 1:
        best = min(values) if kind == "min" else max(values)
        first = next(i for i, operand in enumerate(operands) if value_of(operand) is not None)
        kept = [operand for operand in operands if value_of(operand) is None]
        operands = [*kept[:first], number(best), *kept[first:]]
    if len(operands) == 1:
        return operands[0]
    if (
        kind == "max"
        and any(value == 0 for value in values)
        and _never_negative(o for o in operands if value_of(o) != 0)
    ):
        operands = [operand for operand in operands if value_of(operand) != 0]
    if len(operands) == len(node.args) and all(one is other for one, other in zip(operands, node.args, strict=True)):
        return node
    return operands[0] if len(operands) == 1 else ast.Call(name(kind), operands, [])


def _without_inner_bound(operand: ast.expr, outer: list[ast.expr], kind: str) -> ast.expr:
    """min(a, max(b, min(a, x))) is min(a, max(b, x)), and the same with min and max exchanged."""
    opposite = "max" if kind == "min" else "min"
    if not (isinstance(operand, ast.Call) and called(operand) == opposite):
        return operand
    inner: list[ast.expr] = []
    for part in operand.args:
        if isinstance(part, ast.Call) and called(part) == kind and len(part.args) > 1:
            kept = [p for p in part.args if not any(same(p, bound) for bound in outer)]
            if 0 < len(kept) < len(part.args):
                part = kept[0] if len(kept) == 1 else ast.Call(name(kind), kept, [])  # noqa: PLW2901
        inner.append(part)
    if all(one is other_part for one, other_part in zip(inner, operand.args, strict=True)):
        return operand
    return ast.Call(name(opposite), inner, [])


def _never_negative(operands: Iterable[ast.expr]) -> bool:
    """Whether one of them is at least 0 whatever the arguments are: what an argument is said to be does not bind it."""
    return any(
        called(operand) == "abs"
        or (isinstance(operand, ast.Call) and called(operand) == "max" and any(value_of(a) == 0 for a in operand.args))
        for operand in operands
    )


def _choice(node: ast.expr, _: Env) -> ast.expr:
    assert isinstance(node, ast.IfExp)
    if isinstance(node.test, ast.Constant):
        return node.body if node.test.value else node.orelse
    return node.body if same(node.body, node.orelse) else node


def _boolean(node: ast.expr, _: Env) -> ast.expr:
    assert isinstance(node, ast.BoolOp)
    kept: list[ast.expr] = []
    for value in node.values:
        if not any(same(value, other) for other in kept):
            kept.append(value)
    if len(kept) == len(node.values):
        return node
    return kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)


def _compare(node: ast.expr, _: Env) -> ast.expr:
    assert isinstance(node, ast.Compare)
    left, right = value_of(node.left), value_of(node.comparators[0])
    if len(node.ops) == 1 and left is not None and right is not None:
        answers = {ast.Lt: left < right, ast.LtE: left <= right, ast.Gt: left > right, ast.GtE: left >= right}
        if type(node.ops[0]) in answers:
            return ast.Constant(answers[type(node.ops[0])])
    return node


_RULES: dict[type[ast.expr], Callable[[ast.expr, Env], ast.expr]] = {
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Call: _call,
    ast.IfExp: _choice,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
}
