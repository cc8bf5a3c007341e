"""What is known of an expression before it runs: its kind, its unit, the interval of its values.

Kinds keep children valid. Units and intervals are guesses that only steer: units prefer sensible sums over senseless ones,
and intervals give new parameters a domain of the right size.
"""

import ast
import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from evolve.problem import Argument, Signature
from evolve.proposers.genetic.nodes import called, value_of
from evolve.space import Categorical, Integer, Parameter


class Kind(enum.StrEnum):
    """What an expression yields, as far as operators need to know."""

    NUMBER = "number"
    WHOLE = "whole number"
    TRUTH = "truth value"
    ARRAY = "array of numbers"
    VECTOR = "tuple of numbers"
    OTHER = "something else"

    @property
    def is_numeric(self) -> bool:
        """Whether it may stand where a number is wanted."""
        return self in {Kind.NUMBER, Kind.WHOLE}


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of a value.

    Args:
        kind: what it is.
        unit: its unit; "" if it has none, None if unknown.
        low: smallest plausible value (of an element).
        high: largest plausible value.
        length: of an array or tuple of known length.
    """

    kind: Kind
    unit: str | None = None
    low: float = -math.inf
    high: float = math.inf
    length: int | None = None

    @property
    def span(self) -> float:
        """Width of the interval."""
        return self.high - self.low

    @property
    def is_bounded(self) -> bool:
        """Whether the interval is finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)


Env = Mapping[str, Fact]
"""Facts by name, for the names bound at one point of a program."""

UNKNOWN = Fact(Kind.OTHER)


def argument_fact(argument: Argument) -> Fact:
    """What the contract says of an argument."""
    kinds = {"float": Kind.NUMBER, "int": Kind.WHOLE, "bool": Kind.TRUTH}
    kind = kinds[argument.dtype]
    if argument.shape:
        kind = Kind.ARRAY if len(argument.shape) == 1 and kind is not Kind.TRUTH else Kind.OTHER
    length = argument.shape[0] if kind is Kind.ARRAY else None
    return Fact(kind, argument.unit, argument.low, argument.high, length)


def signature_facts(signature: Signature) -> dict[str, Fact]:
    """Facts of all positional arguments, `memory` included."""
    facts = {argument.name: argument_fact(argument) for argument in signature.arguments}
    if signature.memory:
        facts["memory"] = Fact(Kind.ARRAY, None, -math.inf, math.inf, signature.memory)
    return facts


def parameter_fact(parameter: Parameter, unit: str | None = None) -> Fact:
    """What a domain says of a parameter."""
    domain = parameter.domain
    if isinstance(domain, Categorical):
        if all(isinstance(choice, bool) for choice in domain.choices):
            return Fact(Kind.TRUTH)
        numbers = [choice for choice in domain.choices if isinstance(choice, (int, float))]
        if len(numbers) < len(domain.choices) or any(isinstance(choice, bool) for choice in numbers):
            return UNKNOWN
        kind = Kind.WHOLE if all(isinstance(choice, int) for choice in numbers) else Kind.NUMBER
        return Fact(kind, unit, float(min(numbers)), float(max(numbers)))
    kind = Kind.WHOLE if isinstance(domain, Integer) else Kind.NUMBER
    if domain.size is not None:
        kind = Kind.VECTOR
    return Fact(kind, unit, float(domain.low), float(domain.high), domain.size)


def infer(node: ast.expr, env: Env) -> Fact:
    """What is known of an expression where the names of `env` are bound."""
    if isinstance(node, ast.Name):
        return env.get(node.id, UNKNOWN)
    if isinstance(node, ast.Constant):
        return _constant(node.value)
    if isinstance(node, ast.BinOp):
        return _operation(node.op, infer(node.left, env), infer(node.right, env))
    if isinstance(node, ast.UnaryOp):
        return _unary(node, env)
    if isinstance(node, (ast.Compare, ast.BoolOp)):
        return Fact(Kind.TRUTH)
    if isinstance(node, ast.IfExp):
        return join(infer(node.body, env), infer(node.orelse, env))
    if isinstance(node, ast.Subscript):
        return _element(node, infer(node.value, env), env)
    if isinstance(node, ast.Call):
        return _call(node, env)
    if isinstance(node, ast.Attribute):
        return (
            Fact(Kind.NUMBER, "", 0.0, 4.0) if ast.unparse(node) in {"math.pi", "math.e", "np.pi", "np.e"} else UNKNOWN
        )
    return UNKNOWN


def join(one: Fact, other: Fact) -> Fact:
    """What is known of a value that is one or the other."""
    kind = one.kind
    if kind is not other.kind:
        kind = Kind.NUMBER if kind.is_numeric and other.kind.is_numeric else Kind.OTHER
    length = one.length if one.length == other.length else None
    return Fact(kind, same_unit(one.unit, other.unit), min(one.low, other.low), max(one.high, other.high), length)


def same_unit(one: str | None, other: str | None) -> str | None:
    """Unit of a sum: that of either term if the other's is unknown, unknown if they differ."""
    if one is None or other is None:
        return one if other is None else other
    return one if one == other else None


def _constant(value: object) -> Fact:
    if isinstance(value, bool):
        return Fact(Kind.TRUTH)
    if isinstance(value, int):
        return Fact(Kind.WHOLE, None, value, value)
    return Fact(Kind.NUMBER, None, value, value) if isinstance(value, float) else UNKNOWN


def _unary(node: ast.UnaryOp, env: Env) -> Fact:
    if isinstance(node.op, ast.Not):
        return Fact(Kind.TRUTH)
    fact = infer(node.operand, env)
    return replace(fact, low=-fact.high, high=-fact.low) if isinstance(node.op, ast.USub) else fact


def _operation(operator: ast.operator, left: Fact, right: Fact) -> Fact:
    kind = _operation_kind(operator, left, right)
    if kind is Kind.OTHER:
        return UNKNOWN
    length = left.length if left.kind is Kind.ARRAY else right.length
    if isinstance(operator, ast.Add):
        low, high, unit = left.low + right.low, left.high + right.high, same_unit(left.unit, right.unit)
    elif isinstance(operator, ast.Sub):
        low, high, unit = left.low - right.high, left.high - right.low, same_unit(left.unit, right.unit)
    elif isinstance(operator, ast.Mult):
        low, high = _corners(left, right)
        unit = left.unit if _unit_of_factor(right) == "" else right.unit if _unit_of_factor(left) == "" else None
    elif isinstance(operator, (ast.Div, ast.FloorDiv)):
        inverse = Fact(Kind.NUMBER, None, 1.0 / right.high, 1.0 / right.low) if right.low > 0.0 else UNKNOWN
        low, high = _corners(left, inverse)
        unit = left.unit if _unit_of_factor(right) == "" else "" if left.unit == right.unit else None
    else:
        low, high, unit = (0.0 if left.low >= 0.0 else -math.inf), math.inf, None
    return Fact(kind, unit, *_ordered(low, high), length)


def _operation_kind(operator: ast.operator, left: Fact, right: Fact) -> Kind:
    kinds = {left.kind, right.kind}
    if kinds & {Kind.OTHER, Kind.VECTOR}:
        return Kind.OTHER
    if Kind.ARRAY in kinds:
        return Kind.ARRAY
    if kinds <= {Kind.WHOLE, Kind.TRUTH} and not isinstance(operator, (ast.Div, ast.Pow)):
        return Kind.WHOLE
    return Kind.NUMBER


def _unit_of_factor(fact: Fact) -> str | None:
    """A literal number that something is multiplied by has no unit."""
    return "" if fact.low == fact.high else fact.unit


def _ordered(low: float, high: float) -> tuple[float, float]:
    """An interval in which ∞ − ∞ has become "unknown"."""
    return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)


def _corners(left: Fact, right: Fact) -> tuple[float, float]:
    products = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    products = [0.0 if math.isnan(product) else product for product in products]  # 0 × ∞
    return min(products), max(products)


def _element(node: ast.Subscript, base: Fact, env: Env) -> Fact:
    if base.kind not in {Kind.ARRAY, Kind.VECTOR}:
        return UNKNOWN
    if isinstance(node.slice, ast.Slice):
        return replace(base, length=_slice_length(node.slice, base.length))
    if infer(node.slice, env).kind is Kind.WHOLE:
        return Fact(Kind.NUMBER, base.unit, base.low, base.high)
    return UNKNOWN


def _slice_length(cut: ast.Slice, length: int | None) -> int | None:
    if length is None or cut.step is not None:
        return length if cut.lower is None and cut.upper is None else None
    ends = [0 if cut.lower is None else value_of(cut.lower), length if cut.upper is None else value_of(cut.upper)]
    if any(end is None for end in ends):
        return None
    first, last = (int(end) for end in ends if end is not None)
    return len(range(*slice(first, last).indices(length)))


_TO_UNIT = {"sqrt", "log", "log1p", "exp", "expm1", "sin", "cos", "tan", "power", "var"}
_REDUCTIONS = {
    "sum",
    "mean",
    "max",
    "min",
    "std",
    "var",
    "median",
    "prod",
    "quantile",
    "percentile",
    "dot",
    "amax",
    "amin",
}
_WHOLE_CALLS = {"round", "int", "ceil", "floor"}


def _call(node: ast.Call, env: Env) -> Fact:
    function, name = node.func, called(node)
    if isinstance(function, ast.Attribute):
        home = function.value.id if isinstance(function.value, ast.Name) else ""
        if home in {"math", "np"}:
            return _library(home, function.attr, [infer(argument, env) for argument in node.args])
        return _library("method", function.attr, [infer(function.value, env)])
    if name in {"min", "max"} and len(node.args) > 1:
        return _extreme(name, [infer(argument, env) for argument in node.args])
    if name in {"abs", "float", "int", "round", "len", "sum", "min", "max"} and node.args:
        return _library("", name, [infer(argument, env) for argument in node.args])
    return Fact(Kind.TRUTH) if name == "bool" else UNKNOWN


def _extreme(name: str, facts: list[Fact]) -> Fact:
    numeric = all(fact.kind.is_numeric for fact in facts)
    kind = Kind.OTHER if not numeric else Kind.WHOLE if all(f.kind is Kind.WHOLE for f in facts) else Kind.NUMBER
    unit = facts[0].unit
    for fact in facts[1:]:
        unit = same_unit(unit, fact.unit)
    choose = min if name == "min" else max
    return Fact(kind, unit, choose(fact.low for fact in facts), choose(fact.high for fact in facts))


def _library(home: str, name: str, facts: list[Fact]) -> Fact:
    """A function of `math`, `np` or the builtins, or a method of an array."""
    fact = facts[0] if facts else UNKNOWN
    if name == "len":
        return Fact(Kind.WHOLE, "", 0.0, float(fact.length or 100))
    if name in _REDUCTIONS and (home != "math") and fact.kind in {Kind.ARRAY, Kind.VECTOR}:
        return _reduction(name, fact)
    if name in {"arange", "array", "asarray", "zeros", "ones", "full", "linspace"}:
        return fact if fact.kind is Kind.ARRAY else Fact(Kind.ARRAY, fact.unit if fact.kind is Kind.VECTOR else "")
    if fact.kind not in {Kind.NUMBER, Kind.WHOLE, Kind.ARRAY, Kind.TRUTH}:
        return UNKNOWN
    if name in {"argmax", "argmin"}:
        return Fact(Kind.WHOLE, "", 0.0, float(fact.length or 100))
    if name in _WHOLE_CALLS and home in {"", "math"} and len(facts) == 1:
        return Fact(Kind.WHOLE, fact.unit, fact.low, fact.high)
    if name in {"where", "clip", "minimum", "maximum"}:
        kind = Kind.ARRAY if any(other.kind is Kind.ARRAY for other in facts) else Kind.NUMBER
        return Fact(kind, fact.unit)
    kind = (
        Kind.ARRAY
        if fact.kind is Kind.ARRAY
        else Kind.WHOLE
        if (name == "abs" and fact.kind is Kind.WHOLE)
        else Kind.NUMBER
    )
    return Fact(kind, "" if name in _TO_UNIT or name == "tanh" else fact.unit, *_range(name, fact), fact.length)


def _range(name: str, fact: Fact) -> tuple[float, float]:
    if name in {"tanh", "sin", "cos", "sign", "copysign"}:
        return -1.0, 1.0
    if name in {"abs", "fabs", "absolute"}:
        return max(0.0, fact.low, -fact.high), max(abs(fact.low), abs(fact.high))
    if name in {"float", "copy", "astype", "ravel", "flatten", "cumsum"}:
        return fact.low, fact.high
    return (0.0, math.inf) if name in {"sqrt", "exp"} else (-math.inf, math.inf)


def _reduction(name: str, fact: Fact) -> Fact:
    low, high = fact.low, fact.high
    if name in {"std", "var"}:
        low, high = 0.0, fact.span / 2.0
    elif name in {"sum", "dot"}:
        count = float(fact.length or 10)
        low, high = _ordered(low * count, high * count)
    elif name == "prod":
        low, high = -math.inf, math.inf
    return Fact(Kind.NUMBER, None if name in {"dot", "prod", "var"} else fact.unit, low, high)
