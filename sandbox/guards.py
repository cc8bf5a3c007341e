"""Functions as compiled code should see them: raising where Python raises, and there at all.

Compiled code computes NaN, infinity or an arbitrary whole number where Python raises an error. Since a row that raises is
run again by the plain loop, raising is all that a guard needs to do. A few functions that programs often use are missing
in numba, or slow on the short arrays they are used on; they are here too. `sandbox.rewriting` puts them in place.

Defends against: domain errors, overflow, conversions of NaN and of numbers beyond 64 bits, and orderings of NaN and of
ties, where numba would answer without a word.

Does not defend against: NaN given to `min`, `max` and `sorted` of a list, which Python itself orders by chance; last
digits that differ between two libraries of mathematics.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from sandbox import guarded_arrays
from sandbox.guarding import INLINE, NUMBERS, TOO_LARGE, WHOLE, is_array, jit


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
        if not abs(x) < TOO_LARGE:
            raise ValueError
        return function(x)

    return jit(guarded)


def _power(a: Any, b: Any) -> Any:
    """`a ** b`, as compiled code sees it."""
    return a**b


@overload(_power, jit_options=INLINE)
def _overload_power(a, b):  # type: ignore[no-untyped-def] # numba compares its signature with those below
    if isinstance(a, WHOLE) and isinstance(b, WHOLE):

        def power(a, b):  # type: ignore[no-untyped-def]
            if b < 0 or abs(float(int(a))) ** int(b) > TOO_LARGE:
                raise ValueError
            return int(a) ** int(b)

    elif isinstance(a, NUMBERS) and isinstance(b, NUMBERS):

        def power(a, b):  # type: ignore[no-untyped-def]
            result = float(a) ** float(b)
            if not math.isfinite(result):
                raise ValueError
            return result

    elif is_array(a, types.Float) or is_array(b, types.Float):

        def power(a, b):  # type: ignore[no-untyped-def]
            return a**b

    else:  # whole numbers in arrays: numpy raises where the exponent is negative
        return None
    return power


def _round(x: Any) -> Any:
    """`round(x)`, as compiled code sees it."""
    return round(x)


@overload(_round, jit_options=INLINE)
def _overload_round(x):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Float):

        def nearest(x):  # type: ignore[no-untyped-def]
            if not abs(x) < TOO_LARGE:
                raise ValueError
            return int(np.rint(x))

    elif isinstance(x, types.Integer):

        def nearest(x):  # type: ignore[no-untyped-def]
            return x

    else:
        return None
    return nearest


def _float(x: Any) -> Any:
    """`float(x)`, as compiled code sees it: numba's own takes no truth values."""
    return float(x)


@overload(_float, jit_options=INLINE)
def _overload_float(x):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Boolean):

        def number(x):  # type: ignore[no-untyped-def]
            return 1.0 if x else 0.0

    elif is_array(x, (types.Float, types.Integer)) and x.ndim == 0:  # as np.where gives for numbers

        def number(x):  # type: ignore[no-untyped-def]
            return float(x[()])

    elif not isinstance(x, NUMBERS):  # texts and arrays
        return None
    else:

        def number(x):  # type: ignore[no-untyped-def]
            return float(x)

    return number


def _int(x: Any) -> Any:
    """`int(x)`, as compiled code sees it."""
    return int(x)


@overload(_int, jit_options=INLINE)
def _overload_int(x):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Float):

        def whole(x):  # type: ignore[no-untyped-def]
            if not abs(x) < TOO_LARGE:
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


def _abs(x: Any) -> Any:
    """`abs(x)`, as compiled code sees it: numba's own takes no arrays."""
    return abs(x)


@overload(_abs, jit_options=INLINE)
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
    "abs": _abs,
    "round": _round,
    **guarded_arrays.BUILTINS,
}
"""Builtins by name, for one argument."""

NUMPY, ARRAY, RUNNING = guarded_arrays.NUMPY, guarded_arrays.METHODS, guarded_arrays.RUNNING
POWER, SQUARE = _power, guarded_arrays.SQUARE
