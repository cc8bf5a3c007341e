"""Programs from nothing but the signature: for problems with few seeds, as a baseline, and as new blood."""

import ast

import numpy as np

from evolve.problem import Action, Signature
from evolve.program import read_program
from evolve.proposers.base import Relative, Request
from evolve.proposers.genetic import domains, features
from evolve.proposers.genetic.dice import Dice
from evolve.proposers.genetic.domains import Start
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.facts import Fact, Kind
from evolve.proposers.genetic.finish import Bounds, finish
from evolve.proposers.genetic.nodes import form, name, number, statements
from evolve.proposers.genetic.sites import places
from evolve.proposers.genetic.workshop import Bench, NoWay, Workshop
from evolve.space import Integer, Real


def from_scratch(signature: Signature, seed: np.random.SeedSequence) -> str:
    """A random small program that keeps the contract.

    Args:
        signature: all that is known of the problem.
        seed: the only source of randomness.
    """
    blank = _blank(signature)
    program = read_program(blank, signature.entry, signature.positional)
    parent = Relative(name="nothing", program=program, values={}, score=0.0)
    request = Request(ticket=0, island=0, operator="fresh", signature=signature, parent=parent, seed=seed)
    dice = Dice(seed)
    while True:
        shop = Workshop(Draft.of(program, signature), dice, request)
        try:
            write_fresh(shop)
            return finish(shop.draft, Bounds.of(Draft.of(program, signature)))
        except NoWay:
            continue


def write_fresh(shop: Workshop) -> str:
    """Replace the whole body by a new small rule."""
    draft = shop.draft
    blank = ast.parse(_blank(draft.signature)).body[0]
    assert isinstance(blank, ast.FunctionDef)
    draft.parameters.clear()
    draft.tree.body = [draft.function]
    draft.function.body = blank.body
    bench = shop.at(places(draft)[0])
    answer = _answer(bench, draft.signature.action)
    last = draft.function.body[-1]
    assert isinstance(last, ast.Return)
    last.value = ast.Tuple([answer, name("memory")], ast.Load()) if draft.signature.memory else answer
    return "written from scratch"


def _blank(signature: Signature) -> str:
    action = "0.0, memory" if signature.memory else "0.0"
    return f"def {signature.entry}({', '.join(signature.positional)}):\n    return {action}\n"


def _answer(bench: Bench, action: Action) -> ast.expr:
    if action.shape:
        size = int(np.prod(action.shape))
        if len(action.shape) == 1 and size <= 6:
            return form("np.array(L)", L=ast.List([_number(bench, action) for _ in range(size)], ast.Load()))
        shape = ast.Tuple([number(n) for n in action.shape], ast.Load())
        return form("np.full(S, A)", S=shape, A=_number(bench, action))
    if action.dtype == "bool":
        made = _score_condition(bench)
        return form("A and B", A=made, B=_score_condition(bench)) if bench.dice.chance(0.3) else made
    if action.dtype == "int":
        return _whole(bench, action)
    return _number(bench, action)


def _number(bench: Bench, action: Action) -> ast.expr:
    """A combination of features, kept within the action's bounds."""
    unit, dice = action.unit, bench.dice
    wanted = Fact(Kind.NUMBER, unit, action.low, action.high)
    way = dice.weigh([(3.0, "level"), (3.0, "linear"), (2.0, "proportional"), (1.0, "step"), (1.0, "product")])
    if way == "level":
        made = form("L - F", L=_level(bench, wanted), F=features.feature(bench, unit))
        if dice.chance(0.5):
            made = form("A - F", A=made, F=features.feature(bench, unit, depth=0))
    elif way == "linear":
        made = _level(bench, wanted, "offset")
        for _ in range(1 + dice.below(3)):
            feature = features.feature(bench, unit)
            made = form("A + W * F", A=made, W=_gain(bench, wanted, feature), F=feature)
    elif way == "proportional":
        feature = features.feature(bench, unit)
        made = form("W * F", W=_gain(bench, wanted, feature), F=feature)
    elif way == "step":
        made = form(
            "A if C else B", A=_level(bench, wanted), C=features.condition(bench, unit), B=_level(bench, wanted)
        )
    else:
        made = form("A * B", A=features.feature(bench, unit, depth=0), B=features.feature(bench, "", depth=1))
        made = form("W * A", W=_gain(bench, wanted, made), A=made)
    return _within(bench, made, action)


def _level(bench: Bench, wanted: Fact, stem: str = "level") -> ast.expr:
    scale = bench.scale(wanted)
    if scale is not None and bench.dice.chance(0.2 if bench.has_levels(wanted) else 0.8):
        return form("P * S", P=bench.parameter(stem, domains.multiple("middle", bench.dice), ""), S=scale)
    return bench.parameter(stem, _inside(domains.level(wanted, bench.env, bench.draft, bench.dice), bench), wanted.unit)


def _inside(start: Start, bench: Bench) -> Start:
    """Start anywhere in the middle part: a rule from nothing has nothing to keep."""
    domain = start.domain
    assert isinstance(domain, (Real, Integer))
    share = 0.2 + 0.6 * bench.dice.real()
    return Start(Real(domain.low, domain.high), domains.short(domain.low + share * (domain.high - domain.low), 2))


def _gain(bench: Bench, wanted: Fact, feature: ast.expr) -> ast.expr:
    return bench.parameter("weight", _inside(domains.weight(wanted, bench.fact(feature), bench.dice), bench), "")


def _within(bench: Bench, made: ast.expr, action: Action) -> ast.expr:
    """Bound a number by the action's range, where that has ends that a rule could pass."""
    if np.isfinite(action.low) and np.isfinite(action.high) and bench.dice.chance(0.3) and action.low == -action.high:
        return form("H * math.tanh(A)", H=number(action.high), A=made)
    if action.clip:  # the framework does it; only what is meant to be positive says so itself
        return form("max(0.0, A)", A=made) if action.low == 0.0 else made
    if np.isfinite(action.high):
        made = form("min(H, A)", H=number(float(action.high)), A=made)
    return form("max(L, A)", L=number(float(action.low)), A=made) if np.isfinite(action.low) else made


def _whole(bench: Bench, action: Action) -> ast.expr:
    """Few choices: by conditions. Many: a rounded number."""
    low, high = action.low, action.high
    if not (np.isfinite(low) and np.isfinite(high)) or high - low > 12:
        return form("round(A)", A=_number(bench, action))
    choices = [int(low) + i for i in range(int(high - low) + 1)]
    rules: list[ast.stmt] = []
    for _ in range(1 if len(choices) == 2 else 1 + bench.dice.below(min(3, len(choices) - 1))):
        choice = number(bench.dice.pick(choices))
        value: ast.expr = ast.Tuple([choice, name("memory")], ast.Load()) if bench.draft.signature.memory else choice
        rules += statements("if C:\n    return V", C=_score_condition(bench), V=value)
    bench.where.insert(rules)
    return number(bench.dice.pick(choices))


def _score_condition(bench: Bench) -> ast.expr:
    """A weighted sum of features against a threshold, or a plain condition."""
    if bench.dice.chance(0.4):
        return features.condition(bench)
    score: ast.expr | None = None
    scale = Fact(Kind.NUMBER, None, -1.0, 1.0)
    for _ in range(2 + bench.dice.below(2)):
        feature = features.feature(bench, None, depth=0)
        term = form("W * F", W=_gain(bench, scale, feature), F=feature)
        score = term if score is None else form("A + B", A=score, B=term)
    assert score is not None
    return form("A > T", A=score, T=bench.parameter("threshold", Start(Real(-1.0, 1.0), 0.0)))
