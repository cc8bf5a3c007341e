"""Operators that take away: parts of expressions, statements, parameters that do nothing."""

import ast

from evolve.proposers.genetic import domains
from evolve.proposers.genetic.facts import Kind, infer
from evolve.proposers.genetic.nodes import called, clone, name, number
from evolve.proposers.genetic.simplify import simplify_draft
from evolve.proposers.genetic.sites import Site, places
from evolve.proposers.genetic.workshop import NoWay, Workshop
from evolve.space import Categorical, Integer, Parameter, Real


def prune(shop: Workshop) -> str:
    """Drop a part: first of all one whose tuned parameter says that it does nothing."""
    ways = [(3.0, _drop_neutral), (3.0, _drop_part), (1.0, _drop_statement)]
    for way in shop.dice.order(ways):
        try:
            return way(shop)
        except NoWay:
            continue
    raise NoWay("nothing to drop")


def simplify(shop: Workshop) -> str:
    """Say the same with less; where nothing is left to shorten, write a parameter as the number it was tuned to."""
    if simplify_draft(shop.draft):
        return "shorter, and the same"
    return _freeze(shop)


def _freeze(shop: Workshop) -> str:
    fixed = {
        p.name: p.default
        for p in shop.draft.parameters.values()
        if isinstance(p.default, (int, float)) and not isinstance(p.domain, Categorical)
    }
    sites = [s for s in shop.sites(Kind.NUMBER, Kind.WHOLE) if isinstance(s.node, ast.Name) and s.node.id in fixed]
    reads = shop.draft.reads()
    once = [site for site in sites if isinstance(site.node, ast.Name) and reads[site.node.id] == 1]
    if len(fixed) < 2 or not once:
        raise NoWay("nothing to shorten")
    site = shop.dice.pick(once)
    assert isinstance(site.node, ast.Name)
    frozen = site.node.id
    value = fixed[frozen]
    site.put(number(value if isinstance(value, int) else domains.short(value)))
    return f"parameter `{frozen}` became the number {value:g}"


NEUTRAL = 0.03
"""A parameter this near to doing nothing, in parts of its domain, may go."""


def _drop_neutral(shop: Workshop) -> str:
    """Terms of weight 0, factors and powers of 1, bounds at the end of their domain."""
    options = [
        (site, put)
        for site in shop.sites(Kind.NUMBER)
        for put in [_without(site, shop.draft.parameters)]
        if put is not None
    ]
    if not options:
        raise NoWay("every parameter does something")
    site, put = shop.dice.pick(options)
    before = ast.unparse(site.node)
    site.put(put)
    return f"`{before}` became `{ast.unparse(put)}`: the parameter did nothing"


def _without(site: Site, parameters: dict[str, Parameter]) -> ast.expr | None:
    node = site.node
    if isinstance(node, ast.Name):
        value = _near(parameters.get(node.id), (0.0, 1.0))
        return None if value is None else number(value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Name):
        value = _near(parameters.get(node.right.id), (0.0, 1.0))
        return None if value is None else number(1.0) if value == 0.0 else clone(node.left)
    if isinstance(node, ast.Call) and called(node) in {"min", "max"} and len(node.args) > 1:
        end = "high" if called(node) == "min" else "low"
        kept = [clone(argument) for argument in node.args if not _at_end(argument, end, parameters)]
        if 0 < len(kept) < len(node.args):
            return kept[0] if len(kept) == 1 else ast.Call(name(called(node)), kept, [])
    return None


def _near(parameter: Parameter | None, values: tuple[float, ...]) -> float | None:
    if parameter is None or not isinstance(parameter.domain, Real) or not isinstance(parameter.default, float):
        return None
    tolerance = NEUTRAL * (parameter.domain.high - parameter.domain.low)
    return next((value for value in values if abs(parameter.default - value) <= tolerance), None)


def _at_end(node: ast.expr, end: str, parameters: dict[str, Parameter]) -> bool:
    parameter = parameters.get(node.id) if isinstance(node, ast.Name) else None
    if (
        parameter is None
        or not isinstance(parameter.domain, (Real, Integer))
        or not isinstance(parameter.default, (int, float))
    ):
        return False
    share = (parameter.default - parameter.domain.low) / (parameter.domain.high - parameter.domain.low)
    return share >= 1.0 - NEUTRAL if end == "high" else share <= NEUTRAL


def _drop_part(shop: Workshop) -> str:
    """Replace an operation by one of its operands."""
    options = [(site, parts) for site in shop.sites(Kind.NUMBER, Kind.WHOLE, Kind.TRUTH) if (parts := _operands(site))]
    if not options:
        raise NoWay("no operation to drop")
    site, parts = shop.dice.pick(options)
    before, kept = ast.unparse(site.node), clone(shop.dice.pick(parts))
    site.put(kept)
    return f"`{before}` became `{ast.unparse(kept)}`"


def _operands(site: Site) -> list[ast.expr]:
    """Parts that may stand for the whole: those that are numbers where a number is wanted."""
    node = site.node
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        parts = [node.left] if isinstance(node.op, (ast.Sub, ast.Div, ast.Pow)) else [node.left, node.right]
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.BoolOp):
        return list(node.values)
    elif isinstance(node, ast.Call) and called(node) in {"min", "max"} and len(node.args) > 1:
        parts = list(node.args)
    return [part for part in parts if _fits(part, site)]


def _fits(part: ast.expr, site: Site) -> bool:
    kind = infer(part, site.where.env).kind
    return kind is site.wanted or (site.wanted is Kind.NUMBER and kind in {Kind.WHOLE, Kind.OTHER})


def _drop_statement(shop: Workshop) -> str:
    """Drop a condition with what depends on it, or a loop."""
    options = [where for where in places(shop.draft) if isinstance(where.statement, (ast.If, ast.For))]
    if not options:
        raise NoWay("no statement to drop")
    where = shop.dice.pick(options)
    statement = where.statement
    at = where.block.index(statement)
    kept: list[ast.stmt] = []
    if isinstance(statement, ast.If):
        kept = shop.dice.pick([statement.body, statement.orelse])
        if any(isinstance(node, ast.Return) for node in kept) and statement is not where.block[-1]:
            kept = statement.orelse
    where.block[at : at + 1] = kept
    return f"dropped `{ast.unparse(statement).splitlines()[0]}`"
