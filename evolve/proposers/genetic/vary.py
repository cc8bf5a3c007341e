"""Operators that vary what is there: one thing for another, a parameter for a number."""

import ast
import math

from evolve.proposers.genetic import domains, features
from evolve.proposers.genetic.domains import Start
from evolve.proposers.genetic.facts import Kind
from evolve.proposers.genetic.grow import put_number
from evolve.proposers.genetic.nodes import called, clone, form, name, value_of
from evolve.proposers.genetic.sites import Site
from evolve.proposers.genetic.workshop import Bench, NoWay, Workshop
from evolve.space import Integer, Real
from evolve.trees import walk


def swap(shop: Workshop) -> str:
    """Exchange an operator, a function, a reading of an array or a feature for another one."""
    options = [
        (weight, site) for site in shop.sites(Kind.NUMBER, Kind.WHOLE, Kind.TRUTH) if (weight := _swappable(site))
    ]
    if not options:
        raise NoWay("nothing to exchange")
    site = shop.dice.weigh(options)
    before = site.node
    bench = shop.at(site.where)
    after = _exchanged(bench, before, site)
    if site.wanted is Kind.TRUTH:
        site.put(after)
    else:
        put_number(site, bench, after)
    return f"`{ast.unparse(before)}` became `{ast.unparse(after)}`"


_OPPOSITE: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


def _swappable(site: Site) -> float:
    """How often it is exchanged; 0 if it cannot be."""
    node = site.node
    if reduced_array(node, site) is not None:
        return 3.0
    if isinstance(node, ast.Name):
        return 1.0 if site.wanted is not Kind.TRUTH and node.id in site.where.env else 0.0
    if isinstance(node, ast.BinOp):
        has_literal = value_of(node.left) is not None or value_of(node.right) is not None
        return 0.5 if type(node.op) in _OPPOSITE and not has_literal else 0.0
    if isinstance(node, ast.Compare):
        return 0.5 if type(node.ops[0]) in _TURNED else 0.0
    return 0.7 if called(node) in {"min", "max"} else 0.0


def _exchanged(bench: Bench, node: ast.expr, site: Site) -> ast.expr:
    array = reduced_array(node, site)
    if array is not None:
        return _other_reading(bench, node, array)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Sub) and bench.dice.chance(0.3):
            return form("B - A", A=node.left, B=node.right)
        return ast.BinOp(clone(node.left), _OPPOSITE[type(node.op)](), clone(node.right))
    if isinstance(node, ast.Compare):
        turned: list[ast.cmpop] = [_TURNED[type(node.ops[0])](), *node.ops[1:]]
        return ast.Compare(clone(node.left), turned, [clone(side) for side in node.comparators])
    if isinstance(node, ast.Name):
        return _other_name(bench, node)
    assert isinstance(node, ast.Call)
    other = "max" if called(node) == "min" else "min"
    return ast.Call(name(other), [clone(argument) for argument in node.args], [])


def reduced_array(node: ast.expr, site: Site) -> str | None:
    """The name of the array argument that a call reads one number from, as `x` in `x.sum()`, `sum(x)`, `np.mean(x)`."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    base = node.args[0] if len(node.args) == 1 else None
    if isinstance(node.func, ast.Attribute) and not node.args:
        base = node.func.value
    if isinstance(base, ast.Subscript) and isinstance(base.slice, ast.Slice):
        base = base.value
    if isinstance(base, ast.Name) and site.where.env.get(base.id) is not None:
        return base.id if site.where.env[base.id].kind is Kind.ARRAY else None
    return None


def _other_reading(bench: Bench, node: ast.expr, array: str) -> ast.expr:
    fact = bench.env[array]
    is_short = fact.length is not None and 1 < fact.length <= features.SHORT
    text = ast.unparse(node)
    is_sum = text in {f"{array}.sum()", f"sum({array})", f"np.sum({array})"}
    if is_sum and is_short and bench.dice.chance(0.5):  # more general, and the same to begin with
        if fact.length is not None and fact.length <= features.WEIGHTED and bench.dice.chance(0.4):
            return features.weighted(bench, name(array), fact, 1.0)
        return features.discounted(bench, name(array), 1.0)
    return bench.dice.weigh(features.reductions(bench, array, fact))()


def _other_name(bench: Bench, node: ast.Name) -> ast.expr:
    """Another feature of the same unit; a parameter becomes a multiple of a feature, or another parameter."""
    fact = bench.fact(node)
    if node.id not in bench.draft.parameters:
        return features.feature(bench, fact.unit, depth=0)
    twins = [
        p.name
        for p in bench.draft.parameters.values()
        if p.name != node.id and bench.env[p.name].unit == fact.unit is not None
    ]
    if twins and bench.dice.chance(0.3):
        return name(bench.dice.pick(twins))
    feature = features.feature(bench, fact.unit, depth=0)
    known = bench.fact(feature)
    cover = Start(Real(0.0, 10.0), 1.0)
    if fact.is_bounded and known.is_bounded and known.unit != fact.unit and known.span > 0.0:
        high = domains.nice(2.0 * fact.span / known.span)
        cover = Start(Real(0.0, high), high / 4.0)
    return form("P * F", P=bench.parameter("cover", cover, ""), F=feature)


def promote(shop: Workshop) -> str:
    """Make a number tunable: a literal becomes a parameter, a shared parameter becomes two, one becomes a table."""
    way = shop.dice.order([(3.0, _literal), (1.0, _window), (1.5, _split), (1.5, _tabulate), (1.0, _constant)])
    for attempt in way:
        try:
            return attempt(shop)
        except NoWay:
            continue
    raise NoWay("no number to make tunable")


def _literal(shop: Workshop) -> str:
    options = []
    for site in shop.sites(Kind.NUMBER, Kind.WHOLE):
        value = value_of(site.node)
        if value is not None:
            options.append((0.1 if value in {0.0, 1.0} else 1.0, (site, value)))
    if not options:
        raise NoWay("no literal")
    site, value = shop.dice.weigh(options)
    bench = shop.at(site.where)
    stem = _stem(site)
    start = _whole_start(site, int(value), shop) if site.wanted is Kind.WHOLE else domains.around(value)
    made = bench.parameter(stem, start)
    site.put(made)
    return f"literal {value:g} became the parameter `{ast.unparse(made)}`"


def _whole_start(site: Site, value: int, shop: Workshop) -> Start:
    """For a whole number: among the actions where it is one, else up to three times as large."""
    action = shop.draft.signature.action
    if site.role in {"return", "core"} and math.isfinite(action.low) and math.isfinite(action.high):
        return Start(Integer(min(int(action.low), value), max(int(action.high), value)), value)
    return Start(Integer(min(0, value), max(2, 3 * abs(value))), value)


def _stem(site: Site) -> str:
    holder = site.holder
    if isinstance(holder, ast.Compare):
        return "threshold"
    if called(holder) == "min":
        return "cap"
    if called(holder) == "max":
        return "floor"
    if isinstance(holder, ast.BinOp) and isinstance(holder.op, (ast.Mult, ast.Div)):
        return "factor"
    if isinstance(holder, ast.BinOp) and isinstance(holder.op, ast.Pow):
        return "power"
    return "offset" if isinstance(holder, ast.BinOp) else "level"


def _window(shop: Workshop) -> str:
    """`x[-7:]` with a parameter for the 7."""
    options = []
    for site in shop.sites(Kind.NUMBER, Kind.WHOLE):
        for node in walk(site.node):
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.slice, ast.Slice)
                and isinstance(node.slice.lower, ast.UnaryOp)
            ):
                value = value_of(node.slice.lower)
                if value is not None and value <= -1 and node.slice.upper is None and site.level == 0:
                    options.append((site, node.slice, int(-value), shop.at(site.where).fact(node.value).length))
    if not options:
        raise NoWay("no window")
    site, cut, value, length = shop.dice.pick(options)
    longest = max(length or 4 * value, value, 2)
    window = shop.at(site.where).parameter("window", Start(Integer(1, longest), value))
    cut.lower = form("-W", W=window)
    return f"window of {value} became a parameter"


def _split(shop: Workshop) -> str:
    """One of several uses of a parameter gets a parameter of its own."""
    uses: dict[str, list[Site]] = {}
    for site in shop.sites(Kind.NUMBER, Kind.WHOLE):
        if isinstance(site.node, ast.Name) and site.node.id in shop.draft.parameters:
            uses.setdefault(site.node.id, []).append(site)
    shared = [name for name, found in uses.items() if len(found) > 1]
    if not shared:
        raise NoWay("no parameter is used twice")
    chosen = shop.dice.pick(shared)
    parameter = shop.draft.parameters[chosen]
    site = shop.dice.pick(uses[chosen])
    site.put(shop.draft.parameter(chosen, parameter.domain, parameter.default))
    return f"one use of `{chosen}` got a parameter of its own"


def _tabulate(shop: Workshop) -> str:
    """A parameter becomes a table over a small whole argument."""
    options = []
    for site in shop.sites(Kind.NUMBER):
        node = site.node
        if isinstance(node, ast.Name) and node.id in shop.draft.parameters:
            domain = shop.draft.parameters[node.id].domain
            if isinstance(domain, Real) and domain.size is None:
                options.append((site, shop.draft.parameters[node.id]))
    if not options:
        raise NoWay("no parameter to tabulate")
    site, parameter = shop.dice.pick(options)
    assert isinstance(parameter.domain, Real)
    assert isinstance(parameter.default, float)
    site.put(features.table(shop.at(site.where), f"{parameter.name}_by", parameter.domain, parameter.default))
    return f"`{parameter.name}` became a table"


def _constant(shop: Workshop) -> str:
    """A constant of the module becomes a parameter."""
    values = {}
    for statement in shop.draft.tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = value_of(statement.value)
            if isinstance(value, float):
                values[statement.targets[0].id] = value
    options = [s for s in shop.sites(Kind.NUMBER) if isinstance(s.node, ast.Name) and s.node.id in values]
    if not options:
        raise NoWay("no constant")
    site = shop.dice.pick(options)
    assert isinstance(site.node, ast.Name)
    constant = site.node.id
    site.put(shop.at(site.where).parameter(constant.lower(), domains.around(values[constant])))
    return f"constant `{constant}` became a parameter"
