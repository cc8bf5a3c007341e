"""Instances as a problem brings them: checked, and identified by a digest over everything they hold."""

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from evolve.errors import EvaluationError, EvolveError
from evolve.problem import Instance, Problem, Split


def instances_of(problem: Problem[Any, Any], split: Split, seed: int) -> Sequence[Instance]:
    """The instances of a split.

    Raises:
        EvaluationError: if there are none, two share a key, or the problem's own code raises.
    """
    try:
        instances = problem.instances(split, seed)
    except EvolveError:
        raise
    except Exception as error:
        raise EvaluationError(
            f"{problem.name}.instances({split!r}, {seed}) raised {type(error).__name__}: {error}"
        ) from error
    if not instances:
        raise EvaluationError(f"problem {problem.name} has no instances in its {split} split")
    seen: set[str] = set()
    for instance in instances:
        if instance.key in seen:
            raise EvaluationError(
                f"problem {problem.name} has two instances with the key {instance.key!r} in its {split} split: "
                "scores are kept by key, so each needs its own"
            )
        seen.add(instance.key)
    return instances


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
