"""Functions that numba reads otherwise than Python does, made to raise where Python raises.

Compiled code computes NaN, infinity or an arbitrary whole number where Python raises an error. Since a row that raises is
run again by the plain loop, raising is all that a guard needs to do.
"""

# ruff: noqa: D102 - visitors are named after the nodes they visit

import ast
import math
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.extending import overload

from sandbox.survey import Survey

_OPTIONS: dict[str, Any] = {"boundscheck": True, "error_model": "python"}
_INLINE = {**_OPTIONS, "forceinline": True}
_TOO_LARGE = 9.2e18
_PREFIX = "__guard_"


def jit(function: Callable[..., Any], *, inline: bool = True) -> Callable[..., Any]:
    """Mark a function for compilation, with bounds checks and Python's rules for division.

    Args:
        function: plain Python.
        inline: compile calls of it away; a call with arrays costs more than a short function.
    """
    jitted: Callable[..., Any] = numba.njit(**(_INLINE if inline else _OPTIONS))(function)
    return jitted


def _finite(function: Callable[[float], float]) -> Callable[..., Any]:
    """Raise where a finite argument gives no finite result."""

    def guarded(x):  # type: ignore[no-untyped-def]
        result = function(x)
        if not math.isfinite(result) and math.isfinite(x):
            raise ValueError
        return result

    return jit(guarded)


def _whole(function: Callable[[float], float]) -> Callable[..., Any]:
    """Raise where the result does not fit into 64 bits."""

    def guarded(x):  # type: ignore[no-untyped-def]
        if not abs(x) < _TOO_LARGE:
            raise ValueError
        return function(x)

    return jit(guarded)


def _power(a: Any, b: Any) -> Any:
    """`a ** b`, as compiled code sees it."""
    return a**b


@overload(_power, jit_options=_INLINE)
def _overload_power(a, b):  # type: ignore[no-untyped-def] # numba compares its signature with those below
    whole = (types.Integer, types.Boolean)
    numbers = (*whole, types.Float)
    if isinstance(a, whole) and isinstance(b, whole):

        def power(a, b):  # type: ignore[no-untyped-def]
            if b < 0 or abs(float(a)) ** b > _TOO_LARGE:
                raise ValueError
            return a**b

    elif isinstance(a, numbers) and isinstance(b, numbers):

        def power(a, b):  # type: ignore[no-untyped-def]
            result = float(a) ** float(b)
            if not math.isfinite(result):
                raise ValueError
            return result

    else:

        def power(a, b):  # type: ignore[no-untyped-def]
            return a**b

    return power


def _sum(x: Any) -> Any:
    """`x.sum()`, as compiled code sees it: numba's own is five times slower than a loop on a short array."""
    return x.sum()


@overload(_sum, jit_options=_INLINE)
def _overload_sum(x):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Array) and x.ndim == 1 and isinstance(x.dtype, (types.Float, types.Integer)):
        zero = 0.0 if isinstance(x.dtype, types.Float) else 0

        def total(x):  # type: ignore[no-untyped-def]
            result = zero
            for k in range(len(x)):
                result += x[k]
            return result

    else:

        def total(x):  # type: ignore[no-untyped-def]
            return x.sum()

    return total


def _remainder(x: float, y: float) -> float:
    if y == 0.0:
        raise ValueError
    return math.fmod(x, y)


def _power_of_math(x: float, y: float) -> float:
    result = math.pow(x, y)
    if not math.isfinite(result):
        raise ValueError
    return result


_FINITE = (
    "sqrt log log2 log10 log1p exp expm1 asin acos acosh atanh gamma lgamma sinh cosh tan".split()  # noqa: SIM905
)

MATH: dict[str, Callable[..., Any]] = {
    **{name: _finite(getattr(math, name)) for name in _FINITE},
    **{name: _whole(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    "fmod": jit(_remainder),
    "pow": jit(_power_of_math),
}
"""Guarded functions by their name in `math`."""

BUILTINS: dict[str, Callable[..., Any]] = {"int": _whole(int)}
"""Guarded builtins by name."""

NAMESPACE: dict[str, Any] = {
    f"{_PREFIX}power": _power,
    f"{_PREFIX}sum": _sum,
    **{f"{_PREFIX}{name}": function for name, function in MATH.items()},
    **{f"{_PREFIX}{name}": function for name, function in BUILTINS.items()},
}
"""The names that `GuardedTree` uses."""


class GuardedTree(ast.NodeTransformer):
    """Rewrites a checked program for numba: guards put in, keyword-only arguments made plain, error texts left out.

    Args:
        survey: the names of the program.
    """

    def __init__(self, survey: Survey) -> None:
        self.math_names = {name for name, homes in survey.modules.items() if homes == {"math"}}
        self.numpy_names = {name for name, homes in survey.modules.items() if homes == {"np"}}
        self.bound = survey.bound

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        self.generic_visit(node)
        if node.kwonlyargs:
            node.args += node.kwonlyargs
            node.defaults += [default for default in node.kw_defaults if default is not None]
            node.kwonlyargs, node.kw_defaults = [], []
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self.math_names and node.attr in MATH:
            return ast.copy_location(ast.Name(f"{_PREFIX}{node.attr}", ast.Load()), node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in BUILTINS.keys() - self.bound and len(node.args) == 1:
            node.func = ast.copy_location(ast.Name(f"{_PREFIX}{node.func.id}", ast.Load()), node.func)
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "sum" and not node.keywords:
            self._quicken(node, node.func)
        return node

    def _quicken(self, node: ast.Call, function: ast.Attribute) -> None:
        """`x.sum()` and `np.sum(x)` to the loop above."""
        of_numpy = isinstance(function.value, ast.Name) and function.value.id in self.numpy_names
        if len(node.args) != of_numpy:
            return
        if not of_numpy:
            node.args = [function.value]
        node.func = ast.copy_location(ast.Name(f"{_PREFIX}sum", ast.Load()), function)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        constant = isinstance(node.right, ast.Constant) and type(node.right.value) is int
        if not isinstance(node.op, ast.Pow) or constant:
            return node
        name = ast.Name(f"{_PREFIX}power", ast.Load())
        return ast.copy_location(ast.Call(func=name, args=[node.left, node.right], keywords=[]), node)

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        """The plain loop tells the text; building it here would only keep the program from compiling."""
        if isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        node.cause = None
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        self.generic_visit(node)
        node.msg = None
        return node
