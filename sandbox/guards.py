"""Functions as compiled code should see them: raising where Python raises, and there at all.

Compiled code computes NaN, infinity or an arbitrary whole number where Python raises an error. Since a row that raises is
run again by the plain loop, raising is all that a guard needs to do. A few functions that programs often use are missing
in numba, or slow on the short arrays they are used on; they are here too. `sandbox.rewriting` puts them in place.
"""

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

_OPTIONS: dict[str, Any] = {"boundscheck": True, "error_model": "python"}
_INLINE = {**_OPTIONS, "forceinline": True}
_TOO_LARGE = 9.2e18


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


def _float(x: Any) -> Any:
    """`float(x)`, as compiled code sees it: numba's own takes no truth values."""
    return float(x)


@overload(_float, jit_options=_INLINE)
def _overload_float(x):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Boolean):

        def number(x):  # type: ignore[no-untyped-def]
            return 1.0 if x else 0.0

    else:

        def number(x):  # type: ignore[no-untyped-def]
            return float(x)

    return number


def _int(x: Any) -> Any:
    """`int(x)`, as compiled code sees it."""
    return int(x)


@overload(_int, jit_options=_INLINE)
def _overload_int(x):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Float):

        def whole(x):  # type: ignore[no-untyped-def]
            if not abs(x) < _TOO_LARGE:
                raise ValueError
            return int(x)

    elif isinstance(x, types.Boolean):

        def whole(x):  # type: ignore[no-untyped-def]
            return 1 if x else 0

    else:

        def whole(x):  # type: ignore[no-untyped-def]
            return int(x)

    return whole


def _any(values: Any) -> Any:
    """`any(values)`, as compiled code sees it."""
    return any(values)


@overload(_any, jit_options=_INLINE)
def _overload_any(values):  # type: ignore[no-untyped-def] # noqa: ARG001 - only its type matters here
    def loop(values):  # type: ignore[no-untyped-def]
        for value in values:  # noqa: SIM110 - it is what `any` is made of
            if value:
                return True
        return False

    return loop


def _all(values: Any) -> Any:
    """`all(values)`, as compiled code sees it."""
    return all(values)


@overload(_all, jit_options=_INLINE)
def _overload_all(values):  # type: ignore[no-untyped-def] # noqa: ARG001
    def loop(values):  # type: ignore[no-untyped-def]
        for value in values:  # noqa: SIM110
            if not value:
                return False
        return True

    return loop


def _abs(x: Any) -> Any:
    """`abs(x)`, as compiled code sees it: numba's own takes no arrays."""
    return abs(x)


@overload(_abs, jit_options=_INLINE)
def _overload_abs(x):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Array):

        def absolute(x):  # type: ignore[no-untyped-def]
            return np.abs(x)

    else:

        def absolute(x):  # type: ignore[no-untyped-def]
            return abs(x)

    return absolute


def _clip(x: Any, low: Any, high: Any) -> Any:
    """`np.clip(x, low, high)`, as compiled code sees it: numba's own takes no single numbers."""
    return np.clip(x, low, high)


@overload(_clip, jit_options=_INLINE)
def _overload_clip(x, low, high):  # type: ignore[no-untyped-def]
    if all(isinstance(kind, (types.Float, types.Integer)) for kind in (x, low, high)):

        def clip(x, low, high):  # type: ignore[no-untyped-def]
            return min(max(x, low), high)

    else:

        def clip(x, low, high):  # type: ignore[no-untyped-def]
            return np.clip(x, low, high)

    return clip


def _running(*, greater: bool) -> Callable[[Any], Any]:
    """`np.maximum.accumulate` or `np.minimum.accumulate` of a row of numbers."""

    def running(x):  # type: ignore[no-untyped-def]
        result = x.copy()
        for k in range(1, len(x)):
            before = result[k - 1]
            if not (result[k] > before if greater else result[k] < before):
                result[k] = before
        return result

    return jit(running)


def _remainder(x: float, y: float) -> float:
    if y == 0.0:
        raise ValueError
    return np.fmod(x, y)  # type: ignore[no-any-return]


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

BUILTINS: dict[str, Callable[..., Any]] = {
    "int": _int,
    "float": _float,
    "any": _any,
    "all": _all,
    "abs": _abs,
}
"""Builtins by name, for one argument."""

POWER, SUM, CLIP = _power, _sum, _clip
RUNNING = {"maximum": _running(greater=True), "minimum": _running(greater=False)}
"""Running maximum and minimum by the name of the ufunc."""
