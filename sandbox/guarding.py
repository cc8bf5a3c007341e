"""What guards are made with: how they are compiled, and the types they tell apart.

Defends against: a guard compiled with other rules than the program: bounds are checked and divisions follow Python in both.

Does not defend against: anything by itself; the guards are in `sandbox.guards` and `sandbox.guarded_arrays`.
"""

from collections.abc import Callable
from typing import Any

import numba
from numba import types

OPTIONS: dict[str, Any] = {"boundscheck": True, "error_model": "python"}
INLINE = {**OPTIONS, "forceinline": True}
"""How functions are compiled, and those that are compiled away where they are called."""

TOO_LARGE = 9.2e18
"""Numbers from here on do not fit into 64 bits."""

WHOLE = (types.Integer, types.Boolean)
NUMBERS = (*WHOLE, types.Float)


def jit(function: Callable[..., Any], *, inline: bool = True) -> Callable[..., Any]:
    """Mark a function for compilation, with bounds checks and Python's rules for division.

    Args:
        function: plain Python.
        inline: compile calls of it away; a call with arrays costs more than a short function.
    """
    jitted: Callable[..., Any] = numba.njit(**(INLINE if inline else OPTIONS))(function)
    return jitted


def is_array(x: Any, kind: Any = object) -> bool:
    """Whether a type is an array of such elements."""
    return isinstance(x, types.Array) and isinstance(x.dtype, kind)
