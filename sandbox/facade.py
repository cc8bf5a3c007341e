"""The world a program sees: `math`, `np` and a handful of builtins, holding allow-listed functions only.

Defends against: reaching anything else through `np` or `math`, and making arrays of addresses, text or dates (their
types are checked when they are made, whatever way the type was written). `np.empty` gives zeros: fresh memory would
show what was there before.

Does not defend against: numba's view of a program, which uses the real modules. There, only the static layer's list of
names holds; nothing but numba's type inference ever reads them.
"""

import builtins
import math
from collections.abc import Callable
from functools import wraps
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from sandbox import allow

_NUMBERS = frozenset("biufc")
_TYPE_PLACE = {
    "array": 1, "asarray": 1, "fromiter": 1, "zeros": 1, "ones": 1, "identity": 1, "full": 2, "zeros_like": 1,
    "ones_like": 1, "full_like": 2, "arange": 3, "eye": 3, "tri": 3, "linspace": 5, "logspace": 5, "geomspace": 4,
    "indices": 1,
}  # fmt: skip
"""For each function that makes arrays, which positional argument is the type."""

_PAD_MODES = frozenset(
    {"constant", "edge", "linear_ramp", "maximum", "mean", "minimum", "reflect", "symmetric", "wrap"}
)
INSTEAD_OF = {"empty": "zeros", "empty_like": "zeros_like"}
"""Functions that would show what was in memory before, and what stands in for them."""

_DTYPES = frozenset({float, int, bool, None, *(getattr(np, name) for name in allow.DTYPES if hasattr(np, name))})


def _check_dtype(dtype: Any) -> None:
    known = dtype in allow.DTYPES if isinstance(dtype, str) else dtype in _DTYPES
    if not known:
        raise TypeError("the type of an array is float, int, bool or one of np.float64, np.float32, np.int64, np.int32")


def _guard(name: str) -> Callable[..., Any]:
    """A function that makes arrays, with the type of what it makes checked."""
    function: Callable[..., Any] = getattr(np, INSTEAD_OF.get(name, name))
    place = _TYPE_PLACE[INSTEAD_OF.get(name, name)]

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if len(args) > place:
            _check_dtype(args[place])
        made = function(*args, **kwargs)
        array = made[0] if isinstance(made, tuple) else made
        if array.dtype.kind not in _NUMBERS:
            raise TypeError("an array must hold numbers")
        return made

    del guarded.__wrapped__
    return guarded


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **values: Any) -> Any:
    """`np.pad` without the modes that call functions or leave memory as it was."""
    if mode not in _PAD_MODES:
        raise ValueError(f"the mode of np.pad is one of {', '.join(sorted(_PAD_MODES))}")
    return np.pad(array, pad_width, mode, **values)


def _facade(name: str, members: dict[str, Any]) -> ModuleType:
    module = ModuleType(name)
    vars(module).clear()
    vars(module).update(members)
    return module


def _members(home: ModuleType, names: frozenset[str]) -> dict[str, Any]:
    return {name: getattr(home, name) for name in sorted(names) if hasattr(home, name)}


MATH = _facade("math", _members(math, allow.MATH))
LINALG = _facade("linalg", _members(np.linalg, allow.LINALG))
NUMPY = _facade(
    "np",
    _members(np, allow.NUMPY - allow.CREATORS - {"linalg", "pad"})
    | {name: _guard(name) for name in sorted(allow.CREATORS)}
    | {"linalg": LINALG, "ndarray": np.ndarray, "pad": _pad},
)

BUILTINS = MappingProxyType({name: getattr(builtins, name) for name in sorted(allow.BUILTINS | allow.EXCEPTIONS)})
"""What `__builtins__` of a program holds."""

CALLABLES = frozenset(
    value
    for home in (vars(MATH), vars(LINALG), vars(NUMPY), BUILTINS)
    for name, value in home.items()
    if callable(value) and name != "ndarray"
)
"""Functions and types that a module constant may be another name for, as in `floor = math.floor`."""

REAL = {id(MATH): math, id(NUMPY): np, id(LINALG): np.linalg, id(_pad): np.pad} | {
    id(getattr(NUMPY, name)): getattr(np, INSTEAD_OF.get(name, name)) for name in sorted(allow.CREATORS)
}
"""For each member that is not the real thing, the real thing, for numba, which knows only those."""


def _already_imported(*_: object) -> None:
    """Stands where numpy's C code looks for a way to import: it then takes the module from those that are loaded.

    A program cannot name it, and would gain nothing by calling it.
    """


def new_globals() -> dict[str, Any]:
    """Fresh globals for one program."""
    return {"__builtins__": {**BUILTINS, "__import__": _already_imported}, "math": MATH, "np": NUMPY}
