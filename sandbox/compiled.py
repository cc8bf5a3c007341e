"""The compiled row loop: numba, in the locked child, beside the plain loop that says what a program means.

The loop runs rows until one surprises: its code raised, or its answer is not finite, not whole, of another shape. That
row is then run by the plain loop, whose word counts, and the compiled loop goes on behind it. So an error has its right
text, and where compiled arithmetic differs by design (a root of a negative number, a division by zero inside an array)
the plain result stands. If many rows of a block surprise, the plain loop runs the rest.

What would differ without a surprise is not compiled (`sandbox.compilable`, `sandbox.typed`) or made to raise
(`sandbox.guards`, `sandbox.arithmetic`). As a second look, both loops run random rows before the first use and at the
first binding; on a mismatch the child stays plain and says so.

Defends against: an index out of bounds in the program's own code, which is always checked; numba does not check inside
its own functions, so only those are compiled that need no check.

Does not defend against: flaws of numba or LLVM; the lock-down does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.rows import Block, PlainRows
from sandbox.values import Layout

_SURPRISES = 32
"""Rows of one block that may surprise before the plain loop takes over the rest."""

Kernel = Callable[..., int]


class CompileFailed(Exception):  # noqa: N818 - no error of ours: it says why a program runs plain
    """A program is not compiled; the text says why."""


class CompiledRows:
    """Runs rows through a compiled loop.

    Args:
        kernel: the loop: `kernel(start, stop, position, theta, vector, instance, memory, memory_out, actions, *arguments)`
            returns the row at which it stopped; `position[0]` is the row at which it raised.
        layout: the signature.
    """

    def __init__(self, kernel: Kernel, layout: Layout) -> None:
        self.kernel, self.layout = kernel, layout
        self.position = np.zeros(1, dtype=np.int64)
        self.nothing = np.zeros((0, max(1, layout.memory)))
        self.theta: NDArray[np.float64] = np.zeros((0, layout.width))
        self.vector: NDArray[np.int64] | None = None
        self.instance: NDArray[np.int64] | None = None

    def bind(
        self, theta: NDArray[np.float64], vector: NDArray[np.int64] | None, instance: NDArray[np.int64] | None
    ) -> None:
        """Take the parameter vectors; as `PlainRows.bind`."""
        self.theta, self.vector, self.instance = theta, vector, instance

    def run(self, block: Block, plain: PlainRows) -> None:
        """Run a whole block, with the plain loop's help where a row surprises."""
        kernel, arguments, rows = self.kernel, self._arguments(block), block.rows
        start = surprises = 0
        while start < rows:
            try:
                stop = kernel(start, rows, *arguments)
            except Exception:  # noqa: BLE001 - the row is run again by the plain loop, which tells what is wrong
                stop = int(self.position[0])
            if stop >= rows:
                return
            surprises += 1
            if surprises > _SURPRISES:
                plain.run(block, range(stop, rows))
                return
            plain.run_one(block, stop)
            start = stop + 1

    def _arguments(self, block: Block) -> tuple[Any, ...]:
        """What the kernel gets, kept as long as the block's arrays."""
        if block.kernel_arguments is None:
            same = np.zeros(block.rows, dtype=np.int64)
            block.kernel_arguments = (
                self.position,
                self.theta,
                same if self.vector is None else self.vector,
                same if self.instance is None else self.instance,
                self.nothing if block.memory is None else block.memory,
                self.nothing if block.memory_out is None else block.memory_out,
                block.actions,
                *block.arguments,
            )
        return block.kernel_arguments
