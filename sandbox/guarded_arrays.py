"""Functions of arrays as compiled code should see them: raising where numpy raises, or where the plain loop must decide.

Some are missing in numba, or slow on the short arrays that programs use them on. `sandbox.guards` lists them by name.

Defends against: orderings of NaN and of ties, conversions of numbers beyond 64 bits, sums and powers of whole numbers that
wrap, where numba would answer without a word.

Does not defend against: last digits that differ from numpy's own order of summation.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from sandbox.arithmetic import OPERATORS
from sandbox.guarding import INLINE, NUMBERS, TOO_LARGE, WHOLE, is_array, jit


def _square(x: Any) -> Any:
    """`x ** 2`, as compiled code sees it."""
    return x**2


@overload(_square, jit_options=INLINE)
def _overload_square(x):  # type: ignore[no-untyped-def]
    if isinstance(x, WHOLE):

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

    elif is_array(x, types.Float) and x.ndim == 1:  # numba's own product costs twice as much on a short array

        def square(x):  # type: ignore[no-untyped-def]
            result = np.empty(len(x))
            for k in range(len(x)):
                result[k] = x[k] * x[k]
            return result

    elif is_array(x, (types.Float, types.Integer)):

        def square(x):  # type: ignore[no-untyped-def]
            return x * x

    else:
        return None
    return square


def _np_power(a: Any, b: Any) -> Any:
    """`np.power(a, b)`, as compiled code sees it."""
    return np.power(a, b)


@overload(_np_power, jit_options=INLINE)
def _overload_np_power(a, b):  # type: ignore[no-untyped-def]
    if not any(isinstance(x, types.Float) or is_array(x, types.Float) for x in (a, b)):
        return None

    def power(a, b):  # type: ignore[no-untyped-def]
        return np.power(a, b)

    return power


def _quantile(x: Any, q: Any) -> Any:
    """`np.quantile(x, q)` of a row of numbers, as compiled code sees it."""
    return np.quantile(x, q)


@overload(_quantile, jit_options=INLINE)
def _overload_quantile(x, q):  # type: ignore[no-untyped-def]
    if not is_array(x, (types.Float, types.Integer)) or x.ndim != 1 or not isinstance(q, types.Float):
        return None

    def quantile(x, q):  # type: ignore[no-untyped-def]
        if len(x) == 0 or not 0.0 <= q <= 1.0:
            raise ValueError
        for k in range(len(x)):
            if x[k] != x[k]:
                raise ValueError
        ordered = np.sort(x)
        place = q * (len(x) - 1)
        below = min(int(place), len(x) - 1)
        first, second = float(ordered[below]), float(ordered[min(below + 1, len(x) - 1)])
        share, apart = place - below, second - first
        result = second - apart * (1.0 - share) if share >= 0.5 else first + apart * share  # numpy's own two cases
        if not math.isfinite(result):
            raise ValueError
        return result

    return quantile


def _total(values: Any) -> Any:
    """`sum(values)`, as compiled code sees it."""
    return sum(values)


@overload(_total, jit_options=INLINE)
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

    elif isinstance(element, WHOLE):

        def total(values):  # type: ignore[no-untyped-def]
            result = 0
            for value in values:
                result = add(result, value)
            return result

    else:

        def total(values):  # type: ignore[no-untyped-def]
            return sum(values)

    return total


def _ordered(name: str) -> Callable[[Any], Any]:
    """A function of `np` that orders a row of numbers; the plain loop orders those with NaN or, by place, with ties."""
    function = getattr(np, name)

    def plain(x):  # type: ignore[no-untyped-def]
        return function(x)

    @overload(plain, jit_options=INLINE)
    def overloaded(x):  # type: ignore[no-untyped-def]
        if not is_array(x, (types.Float, types.Integer)) or x.ndim != 1:
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


@overload(_astype_int, jit_options=INLINE)
def _overload_astype_int(x):  # type: ignore[no-untyped-def]
    if not is_array(x, NUMBERS) or x.ndim != 1:
        return None
    if is_array(x, types.Boolean):

        def ones(x):  # type: ignore[no-untyped-def]
            result = np.zeros(len(x), dtype=np.int64)
            for k in range(len(x)):
                result[k] = 1 if x[k] else 0
            return result

        return ones

    def whole(x):  # type: ignore[no-untyped-def]
        result = np.zeros(len(x), dtype=np.int64)
        for k in range(len(x)):
            if not abs(float(x[k])) < TOO_LARGE:
                raise ValueError
            result[k] = int(x[k])
        return result

    return whole


def _sum(x: Any) -> Any:
    """`x.sum()`, as compiled code sees it: numba's own is five times slower than a loop on a short array."""
    return x.sum()


@overload(_sum, jit_options=INLINE)
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


def _any(values: Any) -> Any:
    """`any(values)`, as compiled code sees it."""
    return any(values)


@overload(_any, jit_options=INLINE)
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


@overload(_all, jit_options=INLINE)
def _overload_all(values):  # type: ignore[no-untyped-def] # noqa: ARG001
    def loop(values):  # type: ignore[no-untyped-def]
        for value in values:  # noqa: SIM110
            if not value:
                return False
        return True

    return loop


def _clip(x: Any, low: Any, high: Any) -> Any:
    """`np.clip(x, low, high)`, as compiled code sees it: numba's own takes no single numbers."""
    return np.clip(x, low, high)


@overload(_clip, jit_options=INLINE)
def _overload_clip(x, low, high):  # type: ignore[no-untyped-def]
    if not all(isinstance(kind, (types.Float, types.Integer)) for kind in (low, high)):
        return None
    if isinstance(x, (types.Float, types.Integer)):

        def clip(x, low, high):  # type: ignore[no-untyped-def]
            if math.isnan(low) or math.isnan(high):
                raise ValueError
            return min(max(x, low), high)

    elif is_array(x, types.Float):

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


BUILTINS: dict[str, Callable[..., Any]] = {"any": _any, "all": _all, "sum": _total}
"""Builtins by name, for one argument."""

NUMPY: dict[str, Callable[..., Any]] = {
    "sum": _sum,
    "clip": _clip,
    "power": _np_power,
    "quantile": _quantile,
    **{name: _ordered(name) for name in ("argsort", "sort", "median")},
}
"""Functions by their name in numpy."""

METHODS: dict[str, Callable[..., Any]] = {"sum": _sum, "argsort": NUMPY["argsort"], "astype": _astype_int}
"""Methods by name, to be called with the array."""

SQUARE = _square
RUNNING = {"maximum": _running(greater=True), "minimum": _running(greater=False)}
"""Running maximum and minimum by the name of the ufunc."""
