"""Where arguments and answers lie in shared memory, computed the same way on both sides.

Rows of a block are stored argument by argument: all rows of the first, then all rows of the second. Arguments of fixed
shape have fixed places with room for the largest block; arguments whose length varies from call to call are placed
behind them at every call, and the header says where.

Defends against: a child that says where its answers lie. It has no say: the parent computes all places itself, and a
view that does not lie within its region raises.

Does not defend against: sizes that the machine cannot give. Placing is arithmetic; the mapping finds out (`berth`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox import frames
from sandbox.values import Dtype, Layout

DTYPES: dict[Dtype, np.dtype[Any]] = {
    "float": np.dtype(np.float64),
    "int": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
}
_ALIGNMENT = 64
VARIABLE_BYTES = 64 << 20
"""Room for arguments of varying length, unless the caller asks for another."""


def aligned(size: int) -> int:
    """`size` rounded up to a cache line."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the inputs.

    Args:
        name: of the argument; "theta", "vector" and "instance" are not arguments.
        dtype: of its elements.
        dimensions: how many lengths it has, the leading one included.
        offset: where it lies; None if its place varies.
        leading: what its first length counts, "row", "instance", "vector" or "block" (it has no leading length).
        shape: of one element; None where a length varies.
    """

    name: str
    dtype: np.dtype[Any]
    dimensions: int
    offset: int | None
    leading: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """All places for one layout.

    Args:
        slots: the places in the inputs, in the order of the header.
        tail: where arguments of varying length begin.
        input_bytes: size of the inputs.
        actions: where the actions lie in the outputs.
        status: where the status of rows lies.
        memory: where the memory of rows lies.
        output_bytes: size of the outputs.
    """

    slots: tuple[Slot, ...]
    tail: int
    input_bytes: int
    actions: int
    status: int
    memory: int
    output_bytes: int


def place(layout: Layout, max_rows: int, variable_bytes: int) -> Placement:
    """Compute all places.

    Args:
        layout: the signature.
        max_rows: rows of the largest block; vectors and instances are at most as many.
        variable_bytes: room for arguments of varying length.

    Raises:
        ValueError: if the signature has too many arguments or lengths for the header.
    """
    if len(layout.fields) + 4 > frames.MAX_SLOTS or any(
        len(f.shape) + 1 > frames.MAX_DIMENSIONS for f in layout.fields
    ):
        raise ValueError(f"at most {frames.MAX_SLOTS - 4} arguments of {frames.MAX_DIMENSIONS - 1} dimensions fit")
    wanted: list[tuple[str, np.dtype[Any], str, tuple[int | None, ...]]] = [
        ("theta", DTYPES["float"], "vector", (layout.width,)),
        ("vector", DTYPES["int"], "row", ()),
        ("instance", DTYPES["int"], "row", ()),
        *([("memory", DTYPES["float"], "row", (layout.memory,))] if layout.memory else []),
        *((field.name, DTYPES[field.dtype], field.per, field.shape) for field in layout.fields),
    ]
    offset = frames.HEADER_BYTES
    slots = []
    for name, dtype, leading, shape in wanted:
        dimensions = len(shape) + (leading != "block")
        fixed = None not in shape
        slots.append(Slot(name, dtype, dimensions, offset if fixed else None, leading, shape))
        if fixed:
            count = math.prod(length for length in shape if length is not None)
            offset += aligned(dtype.itemsize * count * (1 if leading == "block" else max_rows))
    varies = any(slot.offset is None for slot in slots)
    actions = frames.HEADER_BYTES
    status = actions + aligned(max_rows * 8 * math.prod(layout.output.shape))
    memory = status + aligned(max_rows)
    return Placement(
        slots=tuple(slots),
        tail=offset,
        input_bytes=_pages(offset + (variable_bytes if varies else 0)),
        actions=actions,
        status=status,
        memory=memory,
        output_bytes=_pages(memory + aligned(max_rows * 8 * layout.memory)),
    )


def _pages(size: int) -> int:
    return -(-size // 4096) * 4096


def view(buffer: Any, dtype: np.dtype[Any], offset: int, lengths: Sequence[int]) -> NDArray[Any]:
    """An array over shared memory.

    Raises:
        ValueError: if it does not lie within.
    """
    count = math.prod(lengths)
    return np.frombuffer(buffer, dtype=dtype, count=count, offset=offset).reshape(lengths)
