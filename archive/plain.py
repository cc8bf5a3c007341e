r"""Values as every database holds them: plain numbers, text and JSON, the same when read back as when written.

- Text: no database holds lone surrogates, and PostgreSQL no NUL. They are written as their escapes (`\udc80`, `\x00`),
  so that a run never ends on what a model wrote.
- Numbers: numpy's become Python's; minus zero becomes zero, since SQLite keeps no sign of zero.
- JSON knows neither NaN nor infinities: they become null, "no value".
"""

import json
import math
import struct
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from archive.errors import RecordError

Json = Mapping[str, Any]
"""A JSON object."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class DamagedError(ValueError):
    """What is stored is nothing that was ever written."""


def text(value: str) -> str:
    """`value` with what no database can hold escaped."""
    if value.isascii() and "\0" not in value:
        return value
    return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def number(value: float, what: str) -> float:
    """`value` as a finite float.

    Raises:
        RecordError: if it is NaN or infinite; `what` names it.
    """
    value = float(value)
    if not math.isfinite(value):
        raise RecordError(f"{what} is {value}, no finite number: leave it out and say in the status what happened")
    return value + 0.0  # minus zero becomes zero


def plain(value: Any, what: str) -> Any:
    """`value` as JSON gives it back: dictionaries, lists, strings, numbers, booleans, None.

    Raises:
        RecordError: for anything else; `what` names it.
    """
    kind = type(value)
    if kind is float:
        return value + 0.0 if math.isfinite(value) else None
    if kind is int or kind is bool or value is None:
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {_key(key, what): plain(item, f"{what}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, what) for item in value]
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return plain(float(value), what)
    raise RecordError(
        f"{what} is of type {kind.__name__}: JSON has numbers, text, lists and dictionaries with text keys"
    )


def _key(key: Any, what: str) -> str:
    if not isinstance(key, str):
        raise RecordError(f"{what} has the key {key!r}: keys of JSON are text")
    return text(key)


def encode(value: Any) -> str | None:
    """A plain value as JSON text; an empty one as None, which takes no room."""
    return _encode(value) if value else None


def decode(stored: str | None) -> Any:
    """What `encode` wrote; an empty dictionary for None.

    Raises:
        DamagedError: if the text is no JSON.
    """
    if stored is None:
        return {}
    try:
        return json.loads(stored)
    except json.JSONDecodeError as error:
        raise DamagedError(f"{stored[:40]!r} is no JSON: {error.msg}") from error


def pack(pairs: Iterable[tuple[int, float]]) -> bytes:
    """Pairs of a count and a number in 16 bytes each."""
    return b"".join(struct.pack("<qd", count, number) for count, number in pairs)


def unpack(stored: bytes) -> tuple[tuple[int, float], ...]:
    """What `pack` wrote.

    Raises:
        DamagedError: if it is nothing that `pack` wrote.
    """
    try:
        return tuple(struct.iter_unpack("<qd", stored))
    except struct.error as error:
        raise DamagedError(f"a history has {len(stored)} bytes, no multiple of 16") from error
