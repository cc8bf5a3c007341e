"""Numbers that are only ever put together are one number: `p * q * x`, `(1 - p) * x`, `max(p, 2.0, x)` need one parameter.

What stands in for several parameters takes no name of the parent's, so that the child does not start from the parent's
value of one of them.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.facts import infer
from evolve.proposers.genetic.nodes import called, names_in, number, value_of
from evolve.space import Parameter, Real, SpaceError
from evolve.trees import Place, walk


@dataclass(frozen=True, slots=True)
class _Operand(Place):
    """A place in a chain of one operation, and the sign it enters with."""

    sign: int = 1


def merge_parameters(draft: Draft) -> bool:
    """Replace such numbers by one parameter; the child's value does not change.

    Returns:
        Whether there were any.
    """
    reads = draft.reads()
    free = {
        p.name: p
        for p in draft.parameters.values()
        if isinstance(p.domain, Real) and p.domain.size is None and reads[p.name] == 1
    }
    return bool(free) and any(_gather(chain, free) or _merge(draft, chain, free) for chain in _chains(draft))


def _chains(draft: Draft) -> Iterator[list[_Operand]]:
    return (chain for node in walk(draft.function) if (chain := _chain(node)))


def _chain(node: ast.AST) -> list[_Operand]:
    """The operands of nested operations of one kind."""
    if called(node) in {"min", "max"} and isinstance(node, ast.Call):
        return [_Operand(node, "args", i) for i in range(len(node.args))] if len(node.args) > 1 else []
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        return []
    return list(_operands(node, (ast.Mult,) if isinstance(node.op, ast.Mult) else (ast.Add, ast.Sub), 1))


def _operands(node: ast.BinOp, kinds: tuple[type[ast.operator], ...], sign: int) -> Iterator[_Operand]:
    for side in ("left", "right"):
        turned = -sign if side == "right" and isinstance(node.op, ast.Sub) else sign
        part = getattr(node, side)
        if isinstance(part, ast.BinOp) and isinstance(part.op, kinds):
            yield from _operands(part, kinds, turned)
        else:
            yield _Operand(node, side, None, turned)


def _gather(chain: list[_Operand], free: dict[str, Parameter]) -> bool:
    """`p * x + q * x` is `(p + q) * x`."""
    terms: dict[str, _Operand] = {}
    for operand in chain:
        node = operand.node
        if not (isinstance(operand.holder, ast.BinOp) and isinstance(operand.holder.op, (ast.Add, ast.Sub))):
            return False
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_constant(node.left, free)):
            continue
        twin = terms.setdefault(ast.dump(node.right), operand)
        if twin is not operand:
            assert isinstance(twin.node, ast.BinOp)
            operation = ast.Add() if twin.sign == operand.sign else ast.Sub()
            twin.node.left = ast.BinOp(twin.node.left, operation, node.left)
            operand.put(number(0.0))
            return True
    return False


def _is_constant(node: ast.expr, free: dict[str, Parameter]) -> bool:
    """Whether an expression holds nothing but numbers and parameters that nothing else reads."""
    if isinstance(node, ast.Name):
        return node.id in free
    if isinstance(node, ast.BinOp):
        is_plain = isinstance(node.op, (ast.Add, ast.Sub, ast.Mult))
        return is_plain and _is_constant(node.left, free) and _is_constant(node.right, free)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_constant(node.operand, free)
    if called(node) in {"min", "max"} and isinstance(node, ast.Call):
        return len(node.args) > 1 and all(_is_constant(argument, free) for argument in node.args)
    return value_of(node) is not None


def _merge(draft: Draft, chain: list[_Operand], free: dict[str, Parameter]) -> bool:
    """Put one parameter in the place of one constant, and what changes nothing in the place of the others."""
    constants = [operand for operand in chain if _is_constant(operand.node, free)]
    tunable = [operand for operand in constants if value_of(operand.node) is None]
    if not tunable or (len(constants) == 1 and isinstance(tunable[0].node, ast.Name)):
        return False
    kept, env = tunable[0], draft.facts()
    whole, neutral = _together(constants, kept)
    names = [name for operand in constants for name in names_in(operand.node) if name in free]
    own = [name for name in names if name not in draft.inherited]
    value, fact = _evaluated(whole, {name: parameter.default for name, parameter in free.items()}), infer(whole, env)
    try:
        domain = Real(min(fact.low, value), max(fact.high, value))
    except SpaceError:  # an interval too wide to be searched
        return False
    merged = draft.declare(own[0] if own else draft.fresh_name(names[0]), domain, value, env[names[0]].unit)
    for operand in constants:
        if operand is not kept:
            operand.put(merged if neutral is None else number(neutral))
    kept.put(merged)
    return True


def _together(constants: list[_Operand], kept: _Operand) -> tuple[ast.expr, float | None]:
    """The value that must stand in the kept place, and what the others become; None: the same again."""
    holder = kept.holder
    if isinstance(holder, ast.Call):
        return (
            constants[0].node if len(constants) == 1 else ast.Call(holder.func, [c.node for c in constants], [])
        ), None
    assert isinstance(holder, ast.BinOp)
    is_product = isinstance(holder.op, ast.Mult)
    whole = kept.node
    for operand in constants:
        if operand is not kept:
            operation = ast.Mult() if is_product else ast.Add() if operand.sign == kept.sign else ast.Sub()
            whole = ast.BinOp(whole, operation, operand.node)
    return whole, 1.0 if is_product else 0.0


_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
}


def _evaluated(node: ast.expr, values: dict[str, Any]) -> float:
    """The number that a constant expression is at the parameters' defaults."""
    if isinstance(node, ast.Name):
        return float(values[node.id])
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_evaluated(node.left, values), _evaluated(node.right, values))
    if isinstance(node, ast.UnaryOp):
        return -_evaluated(node.operand, values)
    if isinstance(node, ast.Call):
        numbers = [_evaluated(argument, values) for argument in node.args]
        return min(numbers) if called(node) == "min" else max(numbers)
    number = value_of(node)
    assert number is not None
    return float(number)
