"""Do the compiled and the plain loop agree? Asked on random rows, the same in every run.

Some of the values lie outside the plausible range of their argument: a search may lead a program there.

Defends against: compiled code that means something else on ordinary rows, whatever the reason.

Does not defend against: what differs only on values that are not among these few; that such programs are not compiled, or
raise where they would differ, is for `sandbox.compilable`, `sandbox.typed` and `sandbox.guards`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.compiled import CompiledRows, CompileFailed
from sandbox.placement import DTYPES
from sandbox.rows import Block, PlainRows
from sandbox.values import Field, Layout

_ROWS = 64
_VARIABLE_LENGTH = 6
_BEYOND = 0.05
"""Share of values that may lie outside their argument's range."""
_RELATIVE, _ABSOLUTE = 1e-9, 1e-9


def compare(compiled: CompiledRows, plain: PlainRows, layout: Layout, theta: NDArray[np.float64]) -> None:
    """Run random rows both ways.

    Args:
        compiled: the compiled loop; left bound to these rows.
        plain: the plain loop; left bound to these rows.
        layout: the signature, with the plausible range of every argument.
        theta: parameter vectors to spread over the rows, shape *(vectors, width)*.

    Raises:
        CompileFailed: naming what differs.
    """
    vector = np.arange(_ROWS) % len(theta)
    instance = np.arange(_ROWS)
    mine, reference = (_random_block(layout) for _ in range(2))
    plain.bind(theta, vector, instance)
    compiled.bind(theta, vector, instance)
    plain.run(reference, range(_ROWS))
    compiled.run(mine, plain)
    if not np.array_equal(mine.status, reference.status):
        row = int(np.argmax(mine.status != reference.status))
        raise CompileFailed(f"row {row} of random rows fails in only one of the compiled and the plain loop")
    good = reference.status == 0
    for what, ours, theirs in (
        ("action", mine.actions, reference.actions),
        ("memory", mine.memory_out, reference.memory_out),
    ):
        if ours is None or theirs is None:
            continue
        if not np.allclose(ours[good], theirs[good], rtol=_RELATIVE, atol=_ABSOLUTE, equal_nan=True):
            raise CompileFailed(f"compiled and plain {what} differ on random rows")


def _random_block(layout: Layout) -> Block:
    random = np.random.default_rng(0)
    arguments = [_random_values(random, field) for field in layout.fields]
    for array in arguments:
        array.setflags(write=False)
    memory = random.uniform(-1.0, 1.0, size=(_ROWS, layout.memory)) if layout.memory else None
    if memory is not None:
        memory[: _ROWS // 2] = 0.0
        memory.setflags(write=False)
    return Block(
        rows=_ROWS,
        arguments=arguments,
        per=[field.per for field in layout.fields],
        memory=memory,
        actions=np.zeros((_ROWS, *layout.output.shape), dtype=DTYPES[layout.output.dtype]),
        status=np.zeros(_ROWS, dtype=np.uint8),
        memory_out=np.zeros((_ROWS, layout.memory)) if layout.memory else None,
    )


def _random_values(random: np.random.Generator, field: Field) -> NDArray[Any]:
    """Plausible values; some whole and some at the ends of the range, where branches are, and some beyond."""
    shape = tuple(_VARIABLE_LENGTH if length is None else length for length in field.shape)
    if field.per != "block":
        shape = (_ROWS, *shape)
    low, high = (bound if math.isfinite(bound) else math.copysign(1e6, bound) for bound in (field.low, field.high))
    values: NDArray[Any] = random.uniform(low, high, size=shape)
    values = np.where(random.random(shape) < 0.25, np.clip(np.round(values), low, high), values)
    values = np.where(random.random(shape) < 0.05, low, values)
    values = np.where(random.random(shape) < 0.05, high, values)
    beyond = random.uniform(low - (high - low), high + (high - low), size=shape)
    values = np.where(random.random(shape) < _BEYOND, beyond, values)
    if field.dtype == "bool":
        values = random.random(shape) < 0.5
    return (values.round() if field.dtype == "int" else values).astype(DTYPES[field.dtype])
