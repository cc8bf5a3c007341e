"""The world a program sees: `math`, `np` and a handful of builtins, holding allow-listed functions only.

Defends against: reaching anything else through `np` or `math`; arrays of text, which would show addresses when an object
is written into one, and of dates (whatever a function of numpy returns is checked for its type); functions that hide that
memory ran out.

Arrays of objects are refused on the common ways only: methods and operators of arrays are numpy's own, so
`x.cumsum(0, "O")` or `x + [10**30]` make one. Such an array can crash its child, and no more: nothing of it is left, or
can be seen, in the next row.

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

from sandbox import allow, endings

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
_DTYPES = frozenset({float, int, bool, None, *(getattr(np, name) for name in allow.DTYPES if hasattr(np, name))})


def _check_dtype(dtype: Any) -> None:
    known = dtype in allow.DTYPES if isinstance(dtype, str) else dtype in _DTYPES
    if not known:
        raise TypeError("the type of an array is float, int, bool or one of np.float64, np.float32, np.int64, np.int32")


def _check_numbers(made: Any) -> None:
    if isinstance(made, (np.ndarray, np.generic)):
        if made.dtype.kind not in _NUMBERS:
            raise TypeError("an array must hold numbers")
    elif isinstance(made, (tuple, list)):
        for part in made:
            _check_numbers(part)


def _guard(function: Callable[..., Any], place: int | None = None) -> Callable[..., Any]:
    """A function with what it returns checked, and the type at a place among its arguments, if it makes arrays."""

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if place is not None and len(args) > place:
            _check_dtype(args[place])
        made = function(*args, **kwargs)
        _check_numbers(made)
        return made

    del guarded.__wrapped__
    return guarded


def _add() -> Callable[..., Any]:
    """`np.add`, the only ufunc that makes texts: those of its methods that a program may name stay with it."""
    function = _guard(np.add)
    methods = {"accumulate": np.add.accumulate, "outer": _guard(np.add.outer), "reduce": np.add.reduce}
    vars(function).clear()
    vars(function).update(methods)
    return function


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **values: Any) -> Any:
    """`np.pad` without the modes that call functions or leave memory as it was."""
    if mode not in _PAD_MODES:
        raise ValueError(f"the mode of np.pad is one of {', '.join(sorted(_PAD_MODES))}")
    return np.pad(array, pad_width, mode, **values)


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """`np.array_equal`, whose own conversion takes every error, even that memory ran out, for "not equal"."""
    return bool(np.array_equal(np.asarray(a1), np.asarray(a2), equal_nan))


def _facade(name: str, members: dict[str, Any]) -> ModuleType:
    module = ModuleType(name)
    vars(module).clear()
    vars(module).update(members)
    return module


def _members(home: ModuleType, names: frozenset[str]) -> dict[str, Any]:
    return {name: getattr(home, name) for name in sorted(names) if hasattr(home, name)}


MATH = _facade("math", _members(math, allow.MATH))
_GUARDED_LINALG = {name: _guard(getattr(np.linalg, name)) for name in sorted(allow.LINALG - {"LinAlgError"})}
LINALG = _facade("linalg", _GUARDED_LINALG | {"LinAlgError": np.linalg.LinAlgError})

_GUARDED: dict[str, Callable[..., Any]] = {
    **{name: _guard(getattr(np, name)) for name in sorted(allow.FUNCTIONS) if hasattr(np, name)},
    **{name: _guard(getattr(np, name), _TYPE_PLACE[name]) for name in sorted(allow.CREATORS)},
    "add": _add(),
    "array_equal": _array_equal,
    "pad": _guard(_pad),
}
NUMPY = _facade("np", _members(np, allow.NUMPY - {"linalg"}) | _GUARDED | {"linalg": LINALG, "ndarray": np.ndarray})

BUILTINS = MappingProxyType({name: getattr(builtins, name) for name in sorted(allow.BUILTINS | allow.EXCEPTIONS)})
"""What `__builtins__` of a program holds."""

CALLABLES = frozenset(
    value
    for home in (vars(MATH), vars(LINALG), vars(NUMPY), BUILTINS)
    for name, value in home.items()
    if callable(value) and name != "ndarray"
)
"""Functions and types that a module constant may be another name for, as in `floor = math.floor`."""

REAL = (
    {id(MATH): math, id(NUMPY): np, id(LINALG): np.linalg}
    | {id(function): getattr(np, name) for name, function in _GUARDED.items()}
    | {id(function): getattr(np.linalg, name) for name, function in _GUARDED_LINALG.items()}
)
"""For each member that is not the real thing, the real thing, for numba, which knows only those."""


def _already_imported(*_: object) -> None:
    """Stands where numpy's C code looks for a way to import: it then takes the module from those that are loaded.

    A program cannot name it, and would gain nothing by calling it.
    """


def new_globals() -> dict[str, Any]:
    """Fresh globals for one program."""
    inner = {"__import__": _already_imported, endings.NAME: endings.ENDINGS}
    return {"__builtins__": {**BUILTINS, **inner}, "math": MATH, "np": NUMPY}
