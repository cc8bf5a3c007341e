"""Sensible domains for new parameters, from what is known where they are used.

A new parameter starts where it changes nothing, or next to it: a child that adds a term of weight 0 is as good as its
parent before any tuning, and tuning can only find more.
"""

import math
from dataclasses import dataclass
from typing import Literal

from evolve.proposers.genetic.dice import Dice
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.facts import Env, Fact, Kind
from evolve.space import Domain, Integer, Parameter, Real

Place = Literal["low", "middle", "high"]
"""Where in its domain a parameter starts."""


@dataclass(frozen=True, slots=True)
class Start:
    """A domain and where to start in it."""

    domain: Domain
    default: float


def nice(value: float) -> float:
    """The next number away from zero of the form 1, 2 or 5 × 10ⁿ, or 0."""
    if value == 0.0 or not math.isfinite(value):
        return 0.0
    scale = 10.0 ** math.floor(math.log10(abs(value)))
    lead = abs(value) / scale
    rounded = next(step for step in (1.0, 2.0, 5.0, 10.0) if lead <= step * (1.0 + 1e-9))
    return math.copysign(float(f"{rounded * scale:.1g}"), value)


def short(value: float, digits: int = 3) -> float:
    """A number as a person would write it."""
    return float(f"{value:.{digits}g}")


def weight(base: Fact, feature: Fact, dice: Dice) -> Start:
    """For `base + weight * feature`: 0 changes nothing."""
    usual = dice.weigh([(5.0, 1.0), (3.0, 2.0), (1.5, 5.0), (0.5, 10.0)])
    reach = _ratio(base, feature)
    if related(base.unit, feature.unit):
        limit = dice.pick([5.0, 10.0, 20.0])  # a number of periods
    elif reach is None or (base.unit and base.unit == feature.unit):
        limit = usual
    elif base.unit is None or feature.unit is None:
        limit = min(usual, reach) if reach < 1.0 else usual
    elif base.unit == feature.unit:  # neither has one, and they may be of any size
        limit = reach if reach < 1.0 else max(usual, reach)
    else:
        limit = reach
    return Start(Real(-limit, limit), 0.0)


def _ratio(base: Fact, feature: Fact) -> float | None:
    """How much larger one is than the other; less than said if by far: intervals of products are too wide."""
    if not (base.is_bounded and feature.is_bounded and base.span > 0.0 and feature.span > 0.0):
        return None
    ratio = base.span / feature.span
    return nice(ratio if ratio < 10.0 else math.sqrt(10.0 * ratio))


def related(one: str | None, other: str | None) -> bool:
    """Whether one unit is the other per something, as units a day and units."""
    return bool(one and other) and (str(one).startswith(f"{other}/") or str(other).startswith(f"{one}/"))


def level(fact: Fact, env: Env, draft: Draft, dice: Dice) -> Start:
    """For something to compare with `fact` or to bound it by."""
    relatives = [p for p in draft.parameters.values() if _is_level_of(p, fact, env)]
    if relatives and dice.chance(0.6):
        return _like(dice.pick(relatives))
    low, high = _interval(fact, draft, env)
    share = 0.25 if low == 0.0 else 0.5  # what has no values below 0 is rarely as large as it could be
    middle = 0.0 if low < 0.0 < high else short(low + share * (high - low))
    return Start(Real(low, high), min(max(middle, low), high))


def offset(fact: Fact, env: Env, draft: Draft, dice: Dice) -> Start:
    """For `fact + offset`: 0 changes nothing."""
    domain = level(fact, env, draft, dice).domain
    assert isinstance(domain, (Real, Integer))
    reach = max(abs(domain.low), abs(domain.high)) / 2.0
    return Start(Real(-reach, reach), 0.0)


def _interval(fact: Fact, draft: Draft, env: Env) -> tuple[float, float]:
    """A finite interval of nice ends; what is unbounded is as large as what else has its unit, or as the action."""
    low, high = fact.low, fact.high
    if not fact.is_bounded:
        action = draft.signature.action
        peers = [
            f
            for f in env.values()
            if f.unit == fact.unit and f.is_bounded and (f.kind.is_numeric or f.kind is Kind.ARRAY)
        ]
        ends = [low, high, *(end for peer in peers for end in (peer.low, peer.high))]
        known = [abs(end) for end in ends if math.isfinite(end)]
        reach = max(known or [abs(end) for end in (action.low, action.high) if math.isfinite(end)], default=0.0) or 1.0
        low, high = (-reach if math.isinf(low) else low), (reach if math.isinf(high) else high)
    low, high = nice(low), nice(high)
    return (low, high) if low < high else (low - 1.0, high + 1.0)


def _is_level_of(parameter: Parameter, fact: Fact, env: Env) -> bool:
    known = env.get(parameter.name)
    same = known is not None and known.unit is not None and known.unit == fact.unit
    return same and isinstance(parameter.domain, (Real, Integer)) and parameter.domain.size is None


def _like(parameter: Parameter) -> Start:
    """The domain of another parameter, and its value to start from."""
    domain = parameter.domain
    assert isinstance(domain, (Real, Integer))
    assert isinstance(parameter.default, (int, float))
    return Start(Real(domain.low, domain.high), float(parameter.default))


def around(value: float, *, spread: float = 4.0) -> Start:
    """For a literal that becomes a parameter."""
    if value == 0.0:
        return Start(Real(-1.0, 1.0), 0.0)
    if 0.0 < value <= 1.0:
        return Start(Real(0.0, 1.0 if value < 1.0 else 2.0), float(value))
    far = nice(abs(value) * spread * 0.5)
    return Start(Real(0.0, far), float(value)) if value > 0.0 else Start(Real(-far, 0.0), float(value))


def placed(start: Start, fact: Fact, at: Place, dice: Dice) -> Start:
    """The same domain with another start: low or high, where a bound changes little."""
    domain = start.domain
    assert isinstance(domain, (Real, Integer))
    if at == "low":
        return Start(domain, float(domain.low))
    if at == "middle":
        return start
    high = domain.high if not fact.is_bounded else max(domain.high, min(nice(fact.high), 4.0 * domain.high))
    return Start(Real(domain.low, high), short(domain.low + _high_share(dice) * (high - domain.low)))


def multiple(at: Place, dice: Dice) -> Start:
    """For so many times a number of the right size."""
    high = dice.pick([2.0, 5.0, 10.0, 20.0])
    share = {"low": 0.0, "middle": 0.25}.get(at)
    return Start(Real(0.0, high), short(high * (_high_share(dice) if share is None else share)))


def _high_share(dice: Dice) -> float:
    return dice.weigh([(2.0, 1.0), (2.0, 0.6), (1.0, 0.35)])
