"""Functions as compiled code should see them: raising where Python raises, and there at all.

Compiled code computes NaN, infinity or an arbitrary whole number where Python raises an error. Since a row that raises is
run again by the plain loop, raising is all that a guard needs to do. A few functions that programs often use are missing
in numba, or slow on the short arrays they are used on; they are here too. `sandbox.rewriting` puts them in place.

Defends against: domain errors, overflow, conversions of NaN and of numbers beyond 64 bits, and orderings of NaN and of
ties, where numba would answer without a word. Does not defend against: NaN given to `min`, `max` and `sorted` of a list,
which Python itself orders by chance; last digits that differ between two libraries of mathematics.
"""

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

from sandbox.arithmetic import OPERATORS

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
    """Raise where there is no finite result; the plain loop tells an infinity from an error."""

    def guarded(x):  # type: ignore[no-untyped-def]
        result = function(x)
        if not math.isfinite(result):
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


def _is_array(x: Any, kind: Any = object) -> bool:
    return isinstance(x, types.Array) and isinstance(x.dtype, kind)


_WHOLE = (types.Integer, types.Boolean)
_NUMBERS = (*_WHOLE, types.Float)


def _power(a: Any, b: Any) -> Any:
    """`a ** b`, as compiled code sees it."""
    return a**b


@overload(_power, jit_options=_INLINE)
def _overload_power(a, b):  # type: ignore[no-untyped-def] # numba compares its signature with those below
    if isinstance(a, _WHOLE) and isinstance(b, _WHOLE):

        def power(a, b):  # type: ignore[no-untyped-def]
            if b < 0 or abs(float(int(a))) ** int(b) > _TOO_LARGE:
                raise ValueError
            return int(a) ** int(b)

    elif isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):

        def power(a, b):  # type: ignore[no-untyped-def]
            result = float(a) ** float(b)
            if not math.isfinite(result):
                raise ValueError
            return result

    elif _is_array(a, types.Float) or _is_array(b, types.Float):

        def power(a, b):  # type: ignore[no-untyped-def]
            return a**b

    else:  # whole numbers in arrays: numpy raises where the exponent is negative
        return None
    return power


def _square(x: Any) -> Any:
    """`x ** 2`, as compiled code sees it."""
    return x**2


@overload(_square, jit_options=_INLINE)
def _overload_square(x):  # type: ignore[no-untyped-def]
    if isinstance(x, _WHOLE):

        def square(x):  # type: ignore[no-untyped-def]
            if abs(float(int(x))) > 3.0e9:
                raise ValueError
            return int(x) * int(x)

    elif isinstance(x, types.Float):

        def square(x):  # type: ignore[no-untyped-def]
            result = x * x
            if not math.isfinite(result):
                raise ValueError
            return result

    elif _is_array(x, types.Float) and x.ndim == 1:  # numba's own product costs twice as much on a short array

        def square(x):  # type: ignore[no-untyped-def]
            result = np.empty(len(x))
            for k in range(len(x)):
                result[k] = x[k] * x[k]
            return result

    elif _is_array(x, (types.Float, types.Integer)):

        def square(x):  # type: ignore[no-untyped-def]
            return x * x

    else:
        return None
    return square


def _np_power(a: Any, b: Any) -> Any:
    """`np.power(a, b)`, as compiled code sees it."""
    return np.power(a, b)


@overload(_np_power, jit_options=_INLINE)
def _overload_np_power(a, b):  # type: ignore[no-untyped-def]
    if not any(isinstance(x, types.Float) or _is_array(x, types.Float) for x in (a, b)):
        return None

    def power(a, b):  # type: ignore[no-untyped-def]
        return np.power(a, b)

    return power


def _total(values: Any) -> Any:
    """`sum(values)`, as compiled code sees it."""
    return sum(values)


@overload(_total, jit_options=_INLINE)
def _overload_total(values):  # type: ignore[no-untyped-def]
    element = getattr(values, "dtype", None)
    add = OPERATORS["Add"]
    if isinstance(values, types.Array) and values.ndim != 1:
        return None
    if isinstance(element, types.Float):

        def total(values):  # type: ignore[no-untyped-def]
            result = 0.0
            for value in values:
                result += value
            return result

    elif isinstance(element, _WHOLE):

        def total(values):  # type: ignore[no-untyped-def]
            result = 0
            for value in values:
                result = add(result, value)
            return result

    else:

        def total(values):  # type: ignore[no-untyped-def]
            return sum(values)

    return total


def _round(x: Any) -> Any:
    """`round(x)`, as compiled code sees it."""
    return round(x)


@overload(_round, jit_options=_INLINE)
def _overload_round(x):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Float):

        def nearest(x):  # type: ignore[no-untyped-def]
            if not abs(x) < _TOO_LARGE:
                raise ValueError
            return int(np.rint(x))

    elif isinstance(x, types.Integer):

        def nearest(x):  # type: ignore[no-untyped-def]
            return x

    else:
        return None
    return nearest


def _ordered(name: str) -> Callable[[Any], Any]:
    """A function of `np` that orders a row of numbers; the plain loop orders those with NaN or, by place, with ties."""
    function = getattr(np, name)

    def plain(x):  # type: ignore[no-untyped-def]
        return function(x)

    @overload(plain, jit_options=_INLINE)
    def overloaded(x):  # type: ignore[no-untyped-def]
        if not _is_array(x, (types.Float, types.Integer)) or x.ndim != 1:
            return None
        if name == "argsort":

            def ordered(x):  # type: ignore[no-untyped-def]
                places = np.argsort(x)
                for k in range(1, len(x)):
                    if not x[places[k - 1]] < x[places[k]]:
                        raise ValueError
                return places

        else:

            def ordered(x):  # type: ignore[no-untyped-def]
                for k in range(len(x)):
                    if x[k] != x[k]:
                        raise ValueError
                return function(x)

        return ordered

    return plain


def _astype_int(x: Any) -> Any:
    """`x.astype(int)`, as compiled code sees it."""
    return x.astype(int)


@overload(_astype_int, jit_options=_INLINE)
def _overload_astype_int(x):  # type: ignore[no-untyped-def]
    if not _is_array(x, _NUMBERS) or x.ndim != 1:
        return None
    if _is_array(x, types.Boolean):

        def ones(x):  # type: ignore[no-untyped-def]
            result = np.zeros(len(x), dtype=np.int64)
            for k in range(len(x)):
                result[k] = 1 if x[k] else 0
            return result

        return ones

    def whole(x):  # type: ignore[no-untyped-def]
        result = np.zeros(len(x), dtype=np.int64)
        for k in range(len(x)):
            if not abs(float(x[k])) < _TOO_LARGE:
                raise ValueError
            result[k] = int(x[k])
        return result

    return whole


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

    elif _is_array(x, (types.Float, types.Integer)) and x.ndim == 0:  # as np.where gives for numbers

        def number(x):  # type: ignore[no-untyped-def]
            return float(x[()])

    elif not isinstance(x, _NUMBERS):  # texts and arrays
        return None
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

    elif not isinstance(x, types.Integer):  # texts and arrays
        return None
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

    elif isinstance(x, types.Integer):

        def absolute(x):  # type: ignore[no-untyped-def]
            if x < -9_000_000_000_000_000_000:
                raise ValueError
            return abs(x)

    else:

        def absolute(x):  # type: ignore[no-untyped-def]
            return abs(x)

    return absolute


def _clip(x: Any, low: Any, high: Any) -> Any:
    """`np.clip(x, low, high)`, as compiled code sees it: numba's own takes no single numbers."""
    return np.clip(x, low, high)


@overload(_clip, jit_options=_INLINE)
def _overload_clip(x, low, high):  # type: ignore[no-untyped-def]
    if not all(isinstance(kind, (types.Float, types.Integer)) for kind in (low, high)):
        return None
    if isinstance(x, (types.Float, types.Integer)):

        def clip(x, low, high):  # type: ignore[no-untyped-def]
            if math.isnan(low) or math.isnan(high):
                raise ValueError
            return min(max(x, low), high)

    elif _is_array(x, types.Float):

        def clip(x, low, high):  # type: ignore[no-untyped-def]
            if math.isnan(low) or math.isnan(high):
                raise ValueError
            return np.clip(x, low, high)

    else:
        return None
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
    if y == 0.0 or not math.isfinite(x):
        raise ValueError
    return np.fmod(x, y)  # type: ignore[no-any-return]


def _hypotenuse(x: float, y: float) -> float:
    result = math.hypot(x, y)
    if not math.isfinite(result):
        raise ValueError
    return result


def _power_of_math(x: float, y: float) -> float:
    result = math.pow(x, y)
    if not math.isfinite(result):
        raise ValueError
    return result


_FINITE = (
    "sqrt log log2 log10 log1p exp expm1 asin acos acosh atanh gamma lgamma sinh cosh tan sin cos".split()  # noqa: SIM905
)

MATH: dict[str, Callable[..., Any]] = {
    **{name: _finite(getattr(math, name)) for name in _FINITE},
    **{name: _whole(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    "fmod": jit(_remainder),
    "pow": jit(_power_of_math),
    "hypot": jit(_hypotenuse),
}
"""Guarded functions by their name in `math`."""

BUILTINS: dict[str, Callable[..., Any]] = {
    "int": _int,
    "float": _float,
    "any": _any,
    "all": _all,
    "abs": _abs,
    "round": _round,
    "sum": _total,
}
"""Builtins by name, for one argument."""

NUMPY: dict[str, Callable[..., Any]] = {
    "sum": _sum,
    "clip": _clip,
    "power": _np_power,
    **{name: _ordered(name) for name in ("argsort", "sort", "median")},
}
"""Functions by their name in numpy."""

ARRAY: dict[str, Callable[..., Any]] = {"sum": _sum, "argsort": NUMPY["argsort"], "astype": _astype_int}
"""Methods by name, to be called with the array."""

POWER, SQUARE = _power, _square
RUNNING = {"maximum": _running(greater=True), "minimum": _running(greater=False)}
"""Running maximum and minimum by the name of the ufunc."""
