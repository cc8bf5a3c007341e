"""Features: what a rule may look at. Numbers made from the names bound at a place, arrays entering by reductions.

An array of varying length is taken to hold at least one element. Where a unit is asked for, features of that unit come
more often; a feature of another unit is still possible, since a weight can convert it.
"""

import ast
from collections.abc import Callable

from evolve.proposers.genetic import domains
from evolve.proposers.genetic.domains import Start
from evolve.proposers.genetic.facts import Fact, Kind
from evolve.proposers.genetic.nodes import assign, form, name, number, statements, value_of
from evolve.proposers.genetic.sites import places
from evolve.proposers.genetic.workshop import Bench, NoWay
from evolve.space import Integer, Real
from evolve.trees import walk

Maker = Callable[[], ast.expr]
Option = tuple[float, Maker]

NEWS = 2.5
"""How much more often an argument is looked at that the program does not look at yet."""

SHORT = 64
"""Arrays up to this length are read place by place: sums of their heads, weights for their places."""

WEIGHTED = 12
"""Arrays up to this length may get a weight for each place."""

CALENDAR = frozenset({4.0, 7.0, 12.0, 24.0, 31.0, 52.0, 53.0, 60.0, 365.0, 366.0})
"""Whole arguments of just so many values are taken for a calendar: quarters, weekdays, months, hours, days, weeks."""

TABLE = 12
"""Whole arguments of up to this many values may index a table of parameters."""


def feature(bench: Bench, unit: str | None = None, *, depth: int = 1) -> ast.expr:
    """A random number to look at, of this unit rather than another.

    Raises:
        NoWay: if nothing is bound here that could be looked at.
    """
    options = _readings(bench, unit)
    if not options:
        raise NoWay("no number or array can be read here")
    if depth > 0 and bench.dice.chance(0.3):
        return _compound(bench, unit, depth)
    return bench.dice.weigh(options)()


def matches(unit: str | None, other: str | None) -> float:
    """How well two units go together in a sum: a weight can make units of units a day, if less readily than of units."""
    if unit is None or other is None:
        return 0.6
    if unit == other:
        return 1.0
    return 0.8 if domains.related(unit, other) else 0.3


def agree(one: Fact, other: Fact) -> bool:
    """Whether two numbers may be added or compared as they are."""
    return one.unit is None or other.unit is None or one.unit == other.unit


def _readings(bench: Bench, unit: str | None) -> list[Option]:
    options: list[Option] = []
    own = bench.draft.parameters
    for known, fact in list(bench.env.items()):
        if known in own:
            continue
        liking = matches(unit, fact.unit) * (1.0 if known in bench.shop.looked_at else NEWS)
        if fact.kind.is_numeric and fact.low != fact.high:
            options.append((4.0 * liking, lambda known=known: name(known)))  # type: ignore[misc]
        elif fact.kind is Kind.ARRAY:
            readings = reductions(bench, known, fact)
            total = sum(share for share, _ in readings)
            options += [(6.0 * liking * share / total, maker) for share, maker in readings]
    return options


def reductions(bench: Bench, known: str, fact: Fact) -> list[Option]:
    """Ways to read one number from an array."""
    if known == "memory":
        places = fact.length or 1
        return [(1.0, lambda: form("A[I]", A=name(known), I=number(bench.dice.below(places))))]
    if fact.length == 1:
        return [(1.0, lambda: form("A[0]", A=name(known)))]
    array = name(known)
    plain = [(2.0, "A.mean()"), (2.0, "A[-1]"), (0.5, "A.max()"), (0.5, "A.min()"), (0.7, "A.std()")]
    options: list[Option] = [(share, lambda text=text: form(text, A=array)) for share, text in plain]  # type: ignore[misc]
    options += [(2.0, lambda: _window(bench, array, fact, "A[-K:].mean()"))]
    options += [(1.0, lambda: _window(bench, array, fact, "A[-K:].mean() - A.mean()"))]
    options += [(0.7, lambda: _quantile(bench, array))]
    if bench.where.loops == 0:
        options += [(1.0, lambda: smoothed(bench, known, fact)), (1.5, lambda: balance(bench, known, fact))]
    if fact.length is None or fact.length > SHORT:
        options += [(1.0, lambda: _window(bench, array, fact, "A[-1] - A[-K:][0]"))]
        if fact.low > 0.0:
            options += [(2.0, lambda: _window(bench, array, fact, "A[-K:].mean() / A.mean() - 1.0"))]
            options += [(2.0, lambda: _window(bench, array, fact, "A[-1] / A[-K:].mean() - 1.0"))]
        return options
    options += [(3.0, lambda: form("A.sum()", A=array)), (1.5, lambda: form("A[0]", A=array))]
    options += [(1.5, lambda: _window(bench, array, fact, "A[:K].sum()"))]
    options += [(1.0, lambda: _window(bench, array, fact, "A[-K:].sum()"))]
    options += [(2.0, lambda: discounted(bench, array, 0.8))]
    if fact.length <= WEIGHTED:
        options += [(1.0, lambda: weighted(bench, array, fact, 0.0))]
    return options


def _window(bench: Bench, array: ast.expr, fact: Fact, template: str) -> ast.expr:
    """A reading of the last (or first) few elements; how many is a number or a parameter."""
    longest = (fact.length - 1) if fact.length is not None else 60
    start = bench.dice.pick([k for k in (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 50) if k <= longest])
    if longest > 4 and bench.dice.chance(0.5):
        window = bench.parameter("window", Start(Integer(1, longest), start), "")
        return form(template, A=array, K=window)
    return form(template, A=array, K=number(start))


def _quantile(bench: Bench, array: ast.expr) -> ast.expr:
    share = bench.parameter("quantile", Start(Real(0.0, 1.0), 0.5), "")
    return form("np.quantile(A, Q)", A=array, Q=share)


def discounted(bench: Bench, array: ast.expr, start: float) -> ast.expr:
    """A geometrically weighted sum, the first element or the last one in full."""
    discount = bench.parameter("discount", Start(Real(0.0, 1.2), start), "")
    order = "np.arange(len(A))" if bench.dice.chance(0.5) else "np.arange(len(A))[::-1]"
    return form(f"(A * D ** {order}).sum()", A=array, D=discount)


def weighted(bench: Bench, array: ast.expr, fact: Fact, start: float) -> ast.expr:
    """A sum with a weight for each place."""
    size = fact.length or 1
    weights = bench.draft.parameter("weights", Real(-0.5, 1.5, size=size), (start,) * size)
    return form("(np.array(W) * A).sum()", W=weights, A=array)


def smoothed(bench: Bench, known: str, fact: Fact) -> ast.expr:
    """Exponential smoothing over an array, oldest first."""
    rate = bench.parameter("rate", Start(Real(0.0, 1.0), 0.3), "")
    result, element = bench.draft.fresh_name(f"smooth_{known}"), bench.draft.fresh_name("value")
    made = statements(
        "R = A[0]\nfor V in A:\n    R = R + P * (V - R)", R=name(result), A=name(known), V=name(element), P=rate
    )
    bench.insert(made, {result: Fact(Kind.NUMBER, fact.unit, fact.low, fact.high)})
    return name(result)


def balance(bench: Bench, known: str, fact: Fact) -> ast.expr:
    """What is left after each element has come in and a rate has gone out, never below zero.

    The recursion of Lindley: stock projected over a pipeline, a queue, a cumulative sum that detects change.
    """
    own = bench.draft.parameters
    starts = [
        (2.0, k)
        for k, f in bench.env.items()
        if f.kind.is_numeric and f.unit == fact.unit and k not in own and f.span > 0.0
    ]
    first = name(bench.dice.weigh(starts)) if starts and bench.dice.chance(0.85) else number(0.0)
    rate = bench.level(
        "drain", Fact(Kind.NUMBER, fact.unit, max(0.0, fact.low), max(0.4 * fact.high, 0.01)), name(known)
    )
    result, element = bench.draft.fresh_name("balance"), bench.draft.fresh_name("inflow")
    made = statements(
        "R = S\nfor V in A:\n    R = max(0.0, R + V - P)",
        R=name(result),
        S=first,
        A=name(known),
        V=name(element),
        P=rate,
    )
    bench.insert(made, {result: Fact(Kind.NUMBER, fact.unit, 0.0, fact.high)})
    return name(result)


_SHAPES = [(3.0, "hinge"), (2.0, "difference"), (1.0, "sum"), (2.0, "product"), (1.0, "ratio"), (1.0, "bent")]


def _compound(bench: Bench, unit: str | None, depth: int) -> ast.expr:
    """Two readings put together, or one bent."""
    one = feature(bench, unit, depth=depth - 1)
    fact = bench.fact(one)
    shape = bench.dice.weigh(_SHAPES)
    if shape == "hinge":
        threshold = bench.level("threshold", fact, one)
        return form("max(0.0, A - T)" if bench.dice.chance(0.5) else "max(0.0, T - A)", A=one, T=threshold)
    if shape == "bent":
        is_share = (fact.low, fact.high) == (0.0, 1.0)
        return form("1.0 - A" if is_share else "abs(A)" if fact.low < 0.0 else "A * A", A=one)
    other = feature(bench, fact.unit if shape in {"difference", "sum"} else None, depth=0)
    if shape == "ratio":
        return ratio(bench, one, other)
    if shape == "product" or not agree(fact, bench.fact(other)):
        return form("A * B", A=one, B=other)
    return form("A - B" if shape == "difference" else "A + B", A=one, B=other)


def ratio(bench: Bench, one: ast.expr, other: ast.expr) -> ast.expr:
    """A quotient that cannot divide by zero."""
    low = bench.fact(other).low
    if low > 0.0:
        return form("A / B", A=one, B=other)
    return form("A / (1.0 + B)" if low >= 0.0 else "A / (1.0 + abs(B))", A=one, B=other)


def condition(bench: Bench, unit: str | None = None) -> ast.expr:
    """A random truth value: a feature against a threshold, two of one unit, or a flag."""
    flags = [
        known for known, fact in bench.env.items() if fact.kind is Kind.TRUTH and known not in bench.draft.parameters
    ]
    if flags and bench.dice.chance(0.4):
        return form("F" if bench.dice.chance(0.5) else "not F", F=name(bench.dice.pick(flags)))
    one = feature(bench, unit, depth=0)
    fact = bench.fact(one)
    sign = bench.dice.pick(["A > T", "A < T"])
    if fact.unit is not None and bench.dice.chance(0.25):
        other = feature(bench, fact.unit, depth=0)
        if agree(fact, bench.fact(other)) and ast.dump(other) != ast.dump(one):
            return form(sign, A=one, T=other)
    return form(sign, A=one, T=bench.level("threshold", fact, one))


def table(bench: Bench, stem: str, domain: Real, start: float) -> ast.expr:
    """A number looked up by a small whole argument, such as a weekday.

    Raises:
        NoWay: if there is no such argument.
    """
    options = [known for known, fact in bench.env.items() if fact.kind is Kind.WHOLE and 1.0 <= fact.span < TABLE]
    options = [known for known in options if known not in bench.draft.parameters]
    if not options:
        raise NoWay("no small whole number to look something up by")
    known = bench.dice.pick(options)
    low, size = int(bench.env[known].low), int(bench.env[known].span) + 1
    made = bench.draft.parameter(stem, Real(domain.low, domain.high, size=size), (start,) * size)
    bench.env[made.id] = Fact(Kind.VECTOR, None, domain.low, domain.high, size)
    index = "I % N" if low == 0 else "(I - L) % N"  # an argument beyond its documented range must not raise
    return form(f"T[{index}]", T=made, I=name(known), L=number(low), N=number(size))


def wave(bench: Bench) -> ast.expr:
    """A smooth season: a cosine over the range of a calendar argument, such as a day of the year.

    Raises:
        NoWay: if there is no such argument.
    """
    options = [k for k, fact in bench.env.items() if fact.kind is Kind.WHOLE and fact.span + 1.0 in CALENDAR]
    options = [known for known in options if known not in bench.draft.parameters]
    if not options:
        raise NoWay("no whole number with a season")
    known = bench.dice.pick(options)
    fact = bench.env[known]
    phase = bench.parameter("phase", Start(Real(fact.low, fact.high + 1.0), fact.low), fact.unit)
    turn = form("2.0 * math.pi * (T - P) / N", T=name(known), P=phase, N=number(fact.span + 1.0))
    return form("math.cos(A)", A=turn)


def remember(bench: Bench) -> ast.expr:
    """A running mean that the row carries in its memory from decision to decision, written at the top of the function.

    Raises:
        NoWay: if the problem gives no memory or every place of it is in use.
    """
    draft = bench.draft
    free = _free_places(draft.function, draft.signature.memory)
    if not free:
        raise NoWay("no place of the memory is free")
    top = bench.shop.at(places(draft)[0])
    looked = feature(top, None, depth=0)
    fact = top.fact(looked)
    rate = top.parameter("rate", Start(Real(0.0, 1.0), 0.2), "")
    trace = draft.fresh_name("trace")
    memory = [form("M[I]", M=name("memory"), I=number(place)) for place in range(draft.signature.memory)]
    update = form("M + R * (F - M)", M=memory[free[0]], R=rate, F=looked)
    memory[free[0]] = name(trace)
    kept = form("np.array(L)", L=ast.List(memory, ast.Load()))
    top.insert([assign(trace, update), assign("memory", kept)], {})
    bench.env[trace] = Fact(Kind.NUMBER, fact.unit, fact.low, fact.high)
    return name(trace)


def _free_places(function: ast.FunctionDef, size: int) -> list[int]:
    """Places of the memory that the program does not name; none if it names them in other ways than by number."""
    used: set[int] = set()
    for node in walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "memory":
            place = value_of(node.slice)
            if place is None:
                return []
            used.add(int(place) % size)
    return [place for place in range(size) if place not in used]
