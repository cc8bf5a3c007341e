"""Operators that add: a term, a step, a memory; a factor, a curve, a season."""

import ast
from collections.abc import Callable
from dataclasses import replace

from evolve.proposers.genetic import domains, features
from evolve.proposers.genetic.domains import Start
from evolve.proposers.genetic.facts import Fact, Kind
from evolve.proposers.genetic.nodes import form, number
from evolve.proposers.genetic.sites import Site
from evolve.proposers.genetic.workshop import Bench, NoWay, Workshop
from evolve.space import Real

Growth = Callable[[Bench, ast.expr, Fact], ast.expr]


def grow(shop: Workshop) -> str:
    """Add something that the program did not look at, or looked at in another way."""
    site = shop.choose(Kind.NUMBER, Kind.WHOLE)
    numbers = sum(fact.kind.is_numeric for known, fact in site.where.env.items() if known not in shop.draft.parameters)
    several = 1.0 if numbers < 4 else 6.0  # one at a time would take too long
    return _put_first(shop, site, [*_TERMS, (several, _terms)])


def reshape(shop: Workshop) -> str:
    """Give an expression another scale, curve or season. Most ways start where they change nothing."""
    return _put_first(shop, shop.choose(Kind.NUMBER, Kind.WHOLE), _SHAPES)


def _put_first(shop: Workshop, site: Site, growths: list[tuple[float, Growth]]) -> str:
    """Apply the first growth, in random order, that is possible at a site."""
    bench, base, fact = shop.at(site.where), site.node, site.fact
    for growth in shop.dice.order(growths):
        try:
            grown = growth(bench, base, fact)
        except NoWay:
            continue
        put_number(site, bench, grown)
        return f"`{ast.unparse(base)}` became `{ast.unparse(grown)}`"
    raise NoWay("nothing can be added here")


def put_number(site: Site, bench: Bench, made: ast.expr) -> None:
    """Put a number where one is wanted; where a whole number is wanted, round it."""
    if site.wanted is Kind.WHOLE and bench.fact(made).kind is not Kind.WHOLE:
        made = form("round(A)", A=made)
    site.put(made)


def _term(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    feature = bench.in_unit(features.feature(bench, fact.unit), fact)
    return form("A + W * F", A=base, W=bench.weight(fact, bench.fact(feature)), F=feature)


def _terms(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    """Several weighted terms at once: where much can be looked at, the tuner finds out what of it counts."""
    made = base
    seen = set()
    for _ in range(2 + bench.dice.below(3)):
        feature = bench.in_unit(features.feature(bench, fact.unit, depth=0), fact)
        text = ast.dump(feature)
        if text in seen:
            continue
        seen.add(text)
        made = form("A + W * F", A=made, W=bench.weight(fact, bench.fact(feature)), F=feature)
    return made


def _plain_term(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    """Without a weight: sums and differences of one unit are the bones of many rules."""
    feature = _same_unit(bench, fact)
    return form("A - F" if bench.dice.chance(0.5) else "A + F", A=base, F=feature)


def _hinge(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    """A term that sets in beyond a threshold: the base becomes piecewise linear."""
    feature = features.feature(bench, fact.unit, depth=0)
    known = bench.fact(feature)
    threshold = bench.level("threshold", known, feature)
    text = bench.dice.pick(["A + W * max(0.0, F - T)", "A + W * max(0.0, T - F)"])
    return form(text, A=base, W=bench.weight(fact, known), F=feature, T=threshold)


def _factor(bench: Bench, base: ast.expr, _: Fact) -> ast.expr:
    return form("P * A", A=base, P=bench.parameter("factor", Start(Real(0.0, 2.0), 1.0), ""))


def _offset(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    scale = bench.scale(fact)
    if scale is not None and bench.dice.chance(0.3 if bench.has_levels(fact) else 0.9):
        return form("A + W * S", A=base, W=bench.weight(fact, bench.fact(scale)), S=scale)
    start = domains.offset(fact, bench.env, bench.draft, bench.dice)
    return form("A + P", A=base, P=bench.parameter("offset", start, fact.unit))


def _modulate(bench: Bench, base: ast.expr, _: Fact) -> ast.expr:
    feature = features.feature(bench, "", depth=1)
    weight = bench.weight(Fact(Kind.NUMBER, "", 0.0, 1.0), bench.fact(feature))
    return form("A * (1.0 + W * F)", A=base, W=weight, F=feature)


def _power(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    power = bench.parameter("power", Start(Real(0.2, 3.0), 1.0), "")
    return form("A ** P" if fact.low >= 0.0 else "max(0.0, A) ** P", A=base, P=power)


def _power_factor(bench: Bench, base: ast.expr, _: Fact) -> ast.expr:
    """A product of powers, the usual form of a score."""
    feature = features.feature(bench, None, depth=0)
    power = bench.parameter("power", Start(Real(-2.0, 2.0), 0.0), "")
    guarded = "F" if bench.fact(feature).low > 0.0 else "max(0.001, F)"
    return form(f"A * {guarded} ** P", A=base, F=feature, P=power)


def _blend(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    feature = _same_unit(bench, fact)
    share = bench.parameter("share", Start(Real(0.0, 1.0), 0.1), "")
    return form("(1.0 - P) * A + P * F", A=base, P=share, F=feature)


def _squash(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    """Saturation at a height that is a parameter."""
    height = bench.level("height", replace(fact, low=0.0, high=max(abs(fact.low), abs(fact.high))), base, "high")
    return form("H * math.tanh(A / (0.001 + abs(H)))", A=base, H=height)


def _season(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    if bench.dice.chance(0.5):
        return form("A * T", A=base, T=features.table(bench, "season", Real(0.0, 2.0), 1.0))
    wave = features.wave(bench)
    if bench.dice.chance(0.5):
        swing = bench.parameter("swing", Start(Real(-1.0, 1.0), 0.0), "")
        return form("A * (1.0 + W * F)", A=base, W=swing, F=wave)
    return form("A + W * F", A=base, W=bench.weight(fact, bench.fact(wave), "swing"), F=wave)


def _bonus(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    """A step: something more while a condition holds."""
    condition = features.condition(bench)
    if bench.dice.chance(0.5):
        factor = bench.parameter("factor", Start(Real(0.0, 2.0), 1.0), "")
        return form("A * (P if C else 1.0)", A=base, P=factor, C=condition)
    scale = bench.scale(fact)
    unit = Fact(Kind.NUMBER, fact.unit, 0.0, 0.2 * fact.span if fact.is_bounded else 1.0)
    step = bench.weight(fact, unit, "bonus")
    if scale is not None:
        step = form("W * S", W=step, S=scale)
    return form("A + (W if C else 0.0)", A=base, W=step, C=condition)


def _memory(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    trace = features.remember(bench)
    return form("A + W * F", A=base, W=bench.weight(fact, bench.fact(trace)), F=trace)


def _extreme(bench: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    feature = _same_unit(bench, fact)
    return form(bench.dice.pick(["min(A, F)", "max(A, F)"]), A=base, F=feature)


def _same_unit(bench: Bench, fact: Fact) -> ast.expr:
    """A feature that can stand beside something without a weight."""
    feature = features.feature(bench, fact.unit)
    if not features.agree(fact, bench.fact(feature)):
        raise NoWay("no feature of the same unit")
    return feature


def _positive(_: Bench, base: ast.expr, fact: Fact) -> ast.expr:
    if fact.low >= 0.0 or (isinstance(base, ast.Call) and ast.unparse(base.func) == "max"):
        raise NoWay("it is not negative anyway")
    return form("max(Z, A)", Z=number(0.0), A=base)


_TERMS: list[tuple[float, Growth]] = [
    (5.0, _term),
    (2.0, _plain_term),
    (3.0, _hinge),
    (1.5, _bonus),
    (2.0, _memory),
    (1.0, _extreme),
    (1.2, _blend),
]

_SHAPES: list[tuple[float, Growth]] = [
    (2.0, _factor),
    (1.5, _offset),
    (2.0, _modulate),
    (1.0, _power),
    (1.5, _power_factor),
    (1.0, _squash),
    (2.5, _season),
    (0.5, _positive),
]
