"""Operators that bend: bounds on an expression, and different rules on two sides of a threshold."""

import ast
from dataclasses import replace

from evolve.proposers.genetic import features
from evolve.proposers.genetic.domains import Start
from evolve.proposers.genetic.facts import Fact, Kind
from evolve.proposers.genetic.grow import put_number
from evolve.proposers.genetic.nodes import form, number, statements
from evolve.proposers.genetic.sites import Site
from evolve.proposers.genetic.workshop import Bench, NoWay, Workshop
from evolve.space import Real


def clamp(shop: Workshop) -> str:
    """Bound an expression from above or below: by a parameter, or by a parameter that moves with a feature."""
    site = shop.choose(Kind.NUMBER, Kind.WHOLE)
    bench, base, fact = shop.at(site.where), site.node, site.fact
    if shop.dice.chance(0.75):
        bound = bench.level("cap", fact, base, "high")
        if shop.dice.chance(0.25):
            feature = bench.in_unit(features.feature(bench, fact.unit), fact)
            bound = form("C + W * F", C=bound, W=bench.weight(fact, bench.fact(feature)), F=feature)
        made = form("min(C, A)", C=bound, A=base)
    else:
        made = form("max(C, A)", C=bench.level("floor", fact, base, "low"), A=base)
    put_number(site, bench, made)
    return f"bounded `{ast.unparse(base)}`: `{ast.unparse(made)}`"


def threshold(shop: Workshop) -> str:
    """Treat two sides of a condition differently."""
    way = shop.dice.weigh([(3.0, _choice), (1.5, _guard), (1.5, _deadband), (1.5, _condition)])
    for attempt in (way, _choice):
        try:
            return attempt(shop)
        except NoWay:
            continue
    raise NoWay("no place for a condition")


def _choice(shop: Workshop) -> str:
    """`changed if condition else base`."""
    site = shop.choose(Kind.NUMBER, Kind.WHOLE)
    bench, base = shop.at(site.where), site.node
    condition = features.condition(bench, site.fact.unit)
    changed = _variant(bench, base, site.fact)
    made = form("B if C else A", A=base, B=changed, C=condition)
    put_number(site, bench, made)
    return f"`{ast.unparse(base)}` differs while `{ast.unparse(condition)}`"


def _variant(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    """Something to use instead on one side."""
    dice = bench.dice
    if isinstance(base, ast.Name) and base.id in bench.draft.parameters:
        twin = bench.draft.parameters[base.id]
        return bench.draft.parameter(base.id, twin.domain, twin.default)
    if dice.chance(0.4):
        return form("P * A", A=base, P=bench.parameter("factor", Start(Real(0.0, 2.0), 1.0), ""))
    if dice.chance(0.5):
        feature = features.feature(bench, fact.unit, depth=0)
        return form("A + W * F", A=base, W=bench.weight(fact, bench.fact(feature)), F=feature)
    return bench.level("level", fact, base)


def _guard(shop: Workshop) -> str:
    """An early return while a condition holds."""
    returns = [site for site in shop.sites(Kind.NUMBER, Kind.WHOLE) if site.role == "return"]
    if not returns:
        raise NoWay("no number is returned")
    site = shop.dice.pick(returns)
    bench, action = shop.at(site.where), shop.draft.signature.action
    condition = features.condition(bench, action.unit)
    rest = action.low if -1e9 < action.low < 1e9 else 0.0
    answer: ast.expr = number(rest)
    if site.wanted is Kind.WHOLE:
        answer = number(int(rest) + shop.dice.below(int(min(action.high - rest, 20.0)) + 1))
    elif shop.dice.chance(0.4):
        answer = bench.level("level", site.fact, site.node)
    value = answer
    if isinstance(site.holder, ast.Tuple):  # the memory goes along
        value = ast.Tuple([answer, site.holder.elts[1]], ast.Load())
    site.where.insert(statements("if C:\n    return V", C=condition, V=value))
    return f"returns `{ast.unparse(answer)}` while `{ast.unparse(condition)}`"


def _deadband(shop: Workshop) -> str:
    """Small values become nothing: a least order, a band of no action."""
    site: Site = shop.choose(Kind.NUMBER, Kind.WHOLE)
    bench, base, fact = shop.at(site.where), site.node, site.fact
    size = form("abs(A)", A=base) if fact.low < 0.0 else base
    least = bench.level("least", replace(fact, low=0.0, high=max(abs(fact.low), abs(fact.high))), base, "low")
    put_number(site, bench, form("A if S > P else 0.0", A=base, S=size, P=least))
    return f"small `{ast.unparse(base)}` become 0"


def _condition(shop: Workshop) -> str:
    """A condition that is already there gets a second one."""
    site = shop.choose(Kind.TRUTH)
    bench, base = shop.at(site.where), site.node
    made = form(shop.dice.pick(["A and C", "A or C"]), A=base, C=features.condition(bench))
    site.put(made)
    return f"condition `{ast.unparse(base)}` became `{ast.unparse(made)}`"
