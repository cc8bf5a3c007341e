"""Identity of instances: a digest over everything an instance holds."""

import dataclasses
import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from evolve.problem import Instance


def data_digest(instances: Iterable[Instance]) -> str:
    """One hash over the data of instances in their order, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for instance in instances:
        for part in dataclasses.fields(instance):
            digest.update(part.name.encode() + b"=")
            _feed(digest, getattr(instance, part.name))
    return digest.hexdigest()[:16]


def _feed(digest: Any, value: object) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes() if value.dtype != object else repr(value.tolist()).encode())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for part in dataclasses.fields(value):
            _feed(digest, getattr(value, part.name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            _feed(digest, item)
    else:
        digest.update(repr(value).encode())
    digest.update(b";")
