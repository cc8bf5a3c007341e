"""The operator that changes where a parameter is searched."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from evolve.proposers.genetic import domains
from evolve.proposers.genetic.workshop import NoWay, Workshop
from evolve.space import Categorical, Domain, Integer, Parameter, Real, Value
from evolve.trees import walk


def retune(shop: Workshop) -> str:
    """Widen the domain of a parameter that sits at its bound, or narrow one round the value that tuning found."""
    guarded = set(_guarded_names(shop.draft.function))
    options: list[tuple[float, tuple[Parameter, Domain]]] = []
    for parameter in shop.draft.parameters.values():
        if isinstance(parameter.domain, Categorical):
            continue
        wide = _widened(parameter, keep_sign=parameter.name in guarded)
        if wide is not None:
            options.append((6.0, (parameter, wide)))
        narrow = _narrowed(parameter)
        if narrow is not None:
            options.append((1.0, (parameter, narrow)))
    if not options:
        raise NoWay("no domain to change")
    parameter, domain = shop.dice.weigh(options)
    shop.draft.parameters[parameter.name] = replace(parameter, domain=domain)
    assert isinstance(domain, (Real, Integer))
    return f"`{parameter.name}` is now searched in [{domain.low:g}, {domain.high:g}]"


def _guarded_names(function: ast.FunctionDef) -> Iterator[str]:
    """Parameters where a value of another sign could raise: exponents, indices, quantiles, roots."""
    for node in walk(function):
        risky: list[ast.AST] = []
        if isinstance(node, ast.Subscript):
            risky.append(node.slice)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.Div)):
            risky += (node.left, node.right)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            risky += node.args
        for part in risky:
            yield from (child.id for child in walk(part) if isinstance(child, ast.Name))


def _places(value: Value) -> list[float]:
    return [float(place) for place in (value if isinstance(value, tuple) else (value,))]


def _widened(parameter: Parameter, *, keep_sign: bool) -> Domain | None:
    """A wider domain where the value is at a bound, or None."""
    domain, values = parameter.domain, _places(parameter.default)
    assert isinstance(domain, (Real, Integer))
    edge = 0.02 * (domain.high - domain.low)
    is_share = keep_sign and domain.low == 0 and domain.high == 1
    low, high = float(domain.low), float(domain.high)
    if max(values) >= domain.high - edge and not is_share:
        high = domains.nice(high + (high - low)) if high > 0.0 else 0.0 if keep_sign else (high - low)
    if min(values) <= domain.low + edge and not is_share:
        low = low / 4.0 if low > 0.0 else low if keep_sign and low == 0.0 else domains.nice(low - (high - low))
    if domain.log:
        low = max(low, domain.low / 100.0)
    if (low, high) == (domain.low, domain.high):
        return None
    if isinstance(domain, Integer):
        return replace(
            domain, low=min(domain.low, int(low)) if low < 1.0 and not keep_sign else domain.low, high=int(high)
        )
    return replace(domain, low=low, high=high)


def _narrowed(parameter: Parameter) -> Domain | None:
    """A third of the domain, round the value; None where that is too little to search."""
    domain, values = parameter.domain, _places(parameter.default)
    assert isinstance(domain, (Real, Integer))
    reach = (domain.high - domain.low) / 6.0
    if isinstance(domain, Integer) or domain.log or reach < 0.05 * max(abs(value) for value in values):
        return None
    low = max(domain.low, domains.short(min(values) - reach, 2))
    high = min(domain.high, domains.short(max(values) + reach, 2))
    if not low <= min(values) <= max(values) <= high or high - low > 0.7 * (domain.high - domain.low) or not low < high:
        return None
    return replace(domain, low=low, high=high)
