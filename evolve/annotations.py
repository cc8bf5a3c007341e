"""Parameter spaces as source text: reading `level: Real(0, 60) = 20.0`, and writing values and domains back.

Reading never evaluates: only number literals, arithmetic on them, strings and booleans count.
"""

import ast
from collections.abc import Callable, Sequence

from evolve.space import (
    Categorical,
    Domain,
    Integer,
    Parameter,
    Real,
    Scalar,
    SpaceError,
    Value,
    check_value,
    is_finite,
)

EXAMPLE = "level: Real(0, 60) = 20.0"
"""A well-formed parameter, for messages."""


def read_parameter(argument: ast.arg, default: ast.expr | None) -> Parameter:
    """Read one keyword-only argument.

    Raises:
        SpaceError: with what was found and what to write instead.
    """
    if argument.annotation is None:
        raise SpaceError(f"it has no search space: annotate it, for example `{EXAMPLE}`")
    if default is None:
        raise SpaceError(f"it has no start value: give a default, for example `{EXAMPLE}`")
    domain = read_domain(argument.annotation)
    value: Value
    if isinstance(domain, Categorical) or domain.size is None:
        value = _read_scalar(default)
    elif isinstance(default, ast.Tuple):
        value = tuple(_read_number(element) for element in default.elts)
    else:
        raise SpaceError(f"size={domain.size} needs a tuple of {domain.size} numbers as default")
    return Parameter(argument.arg, domain, _settle(domain, value))


def read_domain(node: ast.expr) -> Domain:
    """Read an annotation such as `Real(0, 60, log=False, size=4)`.

    Raises:
        SpaceError: with what was found and what to write instead.
    """
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        forms = "Real(low, high), Integer(low, high) or Categorical(a, b)"
        raise SpaceError(f"{_shown(node)} is no search space: write {forms}")
    if node.func.id == "Categorical":
        return _read_categorical(node)
    if node.func.id not in {"Real", "Integer"}:
        raise SpaceError(f"{_shown(node.func)} is no search space: write Real, Integer or Categorical")
    options = _read_options(node.func.id, node)
    low, high, log, size = (options.get(name) for name in ("low", "high", "log", "size"))
    if low is None or high is None:
        raise SpaceError(f"{node.func.id} needs low and high, for example {node.func.id}(0, 60)")
    size = None if size is None else _whole(size)
    if node.func.id == "Integer":
        return Integer(_whole(low), _whole(high), bool(log), size)  # type: ignore[arg-type]  # checked by Integer
    return Real(low, high, bool(log), size)  # type: ignore[arg-type]  # checked by Real


def literal(value: Value, digits: int = 6) -> str:
    """A value as source text, floats rounded to `digits` significant digits."""
    if isinstance(value, tuple):
        inner = ", ".join(literal(place, digits) for place in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float):
        return repr(float(f"{value:.{digits}g}"))
    return repr(value)


def literal_in(domain: Domain, value: Value, digits: int = 6) -> str:
    """A value as source text, rounded only as far as it stays in its domain.

    Raises:
        SpaceError: if the value itself is outside.
    """
    check_value("value", domain, value)
    if isinstance(domain, Real):
        places = value if isinstance(value, tuple) else (value,)
        rounded = [float(f"{place:.{digits}g}") for place in places]
        if not all(domain.low <= place <= domain.high for place in rounded):
            return literal(value, 17)
    return literal(value, digits)


def domain_text(domain: Domain) -> str:
    """A domain as source text, for example `Real(0, 60, log=True)`."""
    if isinstance(domain, Categorical):
        return f"Categorical({', '.join(repr(choice) for choice in domain.choices)})"
    kind = "Integer" if isinstance(domain, Integer) else "Real"
    log = ", log=True" if domain.log else ""
    size = f", size={domain.size}" if domain.size is not None else ""
    return f"{kind}({_bound(domain.low)}, {_bound(domain.high)}{log}{size})"


def _bound(bound: float) -> str:
    """`0` instead of `0.0`: bounds are the one place where a whole float need not look like one."""
    return repr(int(bound)) if bound == int(bound) and abs(bound) < 1e15 else repr(bound)


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"


def _whole(number: float) -> float | int:
    """`5.0` as `5`: whole numbers may be written either way."""
    return int(number) if is_finite(number) and number == int(number) else number


def _settle(domain: Domain, value: Value) -> Value:
    """Give numbers the type of their domain: `Real(0, 5) = 2` starts from 2.0, `Integer(0, 5) = 2.0` from 2."""
    if isinstance(domain, Categorical):
        alike = (c for c in domain.choices if c == value and isinstance(c, bool) == isinstance(value, bool))
        return next(alike, value)
    if isinstance(value, str):
        return value
    cast: Callable[[float], float] = float if isinstance(domain, Real) else _whole
    if isinstance(value, tuple):
        return tuple(cast(place) for place in value)
    return value if isinstance(value, bool) else cast(value)


def _read_options(kind: str, node: ast.Call) -> dict[str, float]:
    names = ("low", "high", "log", "size")
    if len(node.args) > len(names):
        raise SpaceError(f"{kind} takes low, high, log and size, not {len(node.args)} arguments")
    given = {name: _read_option(name, argument) for name, argument in zip(names, node.args, strict=False)}
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in given:
            raise SpaceError(f"{kind} takes low, high, log and size once each, not {keyword.arg or '**'!r}")
        given[keyword.arg] = _read_option(keyword.arg, keyword.value)
    return given


def _read_option(name: str, node: ast.expr) -> float:
    if name == "log":
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return node.value
        raise SpaceError(f"log is True or False, not {_shown(node)}")
    if name == "size" and isinstance(node, ast.Constant) and node.value is None:
        raise SpaceError("size is a whole number: leave it out for a single number")
    return _read_number(node)


def _read_categorical(node: ast.Call) -> Categorical:
    if node.keywords:
        raise SpaceError('Categorical takes its choices by position: Categorical("a", "b")')
    elements: Sequence[ast.expr] = node.args
    if len(elements) == 1 and isinstance(elements[0], (ast.List, ast.Tuple)):
        elements = elements[0].elts
    return Categorical(*(_read_scalar(element) for element in elements))


def _read_scalar(node: ast.expr) -> Scalar:
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, bool)):
        return node.value
    return _read_number(node)


_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
}


def _read_number(node: ast.expr) -> float:
    """A finite number literal, or arithmetic on number literals; nothing is looked up or called."""
    number: float
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        number = node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = _read_number(node.operand)
        number = -number if isinstance(node.op, ast.USub) else number
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        number = _calculate(node)
    else:
        raise SpaceError(f"{_shown(node)} is no number: write a number literal")
    if not is_finite(number):
        raise SpaceError(f"{_shown(node)} is too large: write a finite number")
    return number


def _calculate(node: ast.BinOp) -> float:
    left, right = _read_number(node.left), _read_number(node.right)
    if isinstance(node.op, ast.Pow) and (abs(right) > 64 or abs(left) > 1e6):
        raise SpaceError(f"{_shown(node)} is too large for a bound or a default")
    try:
        number = _OPERATIONS[type(node.op)](left, right)
    except ArithmeticError as error:
        raise SpaceError(f"{_shown(node)} cannot be computed: {error}") from None
    if isinstance(number, complex):
        raise SpaceError(f"{_shown(node)} is no real number")
    return number
