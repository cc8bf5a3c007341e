"""Module constants are frozen after they have been made, so that no state survives a call.

Defends against: a program that remembers earlier blocks in a list, dictionary, array, closure, iterator or default.
Lists become tuples, dictionaries read-only views, arrays read-only copies; functions must have no
closure and only constant defaults; all else is refused.

Does not defend against: memory of the process outside Python objects (what native code could keep; the program never
gets that far without breaking the static layer, and a fresh child per seed set ends even that).
"""

from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from sandbox import facade
from sandbox.errors import Refused

_MAX_DEPTH = 8
_MODULES = (facade.MATH, facade.NUMPY, facade.LINALG)


class _CannotFreezeError(Exception):
    """A value that could keep state; the text says what it is."""


def freeze_globals(namespace: dict[str, Any], lines: dict[str, int]) -> None:
    """Freeze all constants of a program in place.

    Args:
        namespace: its globals, after its module code has run.
        lines: for each name, the line that binds it, for messages.

    Raises:
        Refused: of rule `state`, if a value could keep state.
    """
    for name, value in list(namespace.items()):
        if name == "__builtins__":
            continue
        try:
            namespace[name] = _frozen(value, 0)
        except _CannotFreezeError as error:
            raise Refused(
                f"`{name}` holds {error}, which could keep state between calls: use numbers, tuples, arrays or functions",
                rule="state",
                line=lines.get(name),
            ) from None


def _frozen(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise _CannotFreezeError("values nested too deep")
    kind = type(value)
    if value is None or kind in (float, int, bool, str, range, complex) or isinstance(value, np.generic):
        return value
    if kind is slice:
        return slice(*(_frozen(part, depth + 1) for part in (value.start, value.stop, value.step)))
    if kind is list or isinstance(value, tuple):  # named tuples too, such as what np.linalg.eigh returns
        return tuple(_frozen(element, depth + 1) for element in value)
    if kind is dict:
        return MappingProxyType({_frozen(key, depth + 1): _frozen(item, depth + 1) for key, item in value.items()})
    if kind is np.ndarray:
        return _frozen_array(value)
    if kind is FunctionType:
        return _checked_function(value)
    if any(value is module for module in _MODULES) or _is_callable_of_facade(value):
        return value
    raise _CannotFreezeError(f"a {kind.__name__}")


def _frozen_array(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if value.dtype.kind not in "biufc":
        raise _CannotFreezeError("an array of other things than numbers")
    copy = value.copy()  # a view's base would stay writable
    copy.setflags(write=False)
    return copy


def _checked_function(value: FunctionType) -> FunctionType:
    if value in facade.CALLABLES:
        return value
    if value.__closure__:
        raise _CannotFreezeError("a function that closes over variables")
    for default in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()):
        _check_default(default, 0)
    return value


def _check_default(value: Any, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise _CannotFreezeError("a default nested too deep")
    if type(value) is tuple:
        for element in value:
            _check_default(element, depth + 1)
    elif value is not None and type(value) not in (float, int, bool, str) and not isinstance(value, np.generic):
        raise _CannotFreezeError("a function with a default that can change")


def _is_callable_of_facade(value: Any) -> bool:
    try:
        return value in facade.CALLABLES
    except TypeError:  # unhashable, so none of them
        return False
