"""Checks of what came back: copy first, then look.

Defends against: values that are not finite, out of range, of a kind that they should not be, or that change while they
are looked at. Whatever a child wrote, a caller gets numbers in range and a status per row.

Does not defend against: actions that are valid and bad. A child may choose any action; that is its job.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.frames import Status, printable
from sandbox.values import Output

_minimum, _maximum = np.minimum.reduce, np.maximum.reduce
_SMALL = 24
"""Values up to which looking at each in Python is quicker than two reductions."""


@dataclass(slots=True)  # not frozen: that would double what a small block costs
class Block:
    """What a child answered.

    Args:
        actions: shape *(rows, …)*, the caller's own copy; harmless values where a row failed.
        status: shape *(rows,)*, 0 where all is well, otherwise a `Status`.
        error: text of the first failure, cut, printable and quoted; None if no row failed.
        memory: shape *(rows, n)*, the caller's own copy; as it was before where a row failed. None without memory.
    """

    actions: NDArray[Any]
    status: NDArray[np.uint8]
    error: str | None
    memory: NDArray[np.float64] | None


class Validator:
    """Checks blocks of one output.

    Args:
        output: what a program returns for one row.
    """

    def __init__(self, output: Output) -> None:
        self.output = output
        self.low, self.high = output.bounds
        self.harmless = min(max(0, self.low), self.high)

    def accepts(self, actions: NDArray[Any]) -> bool:
        """Whether every value of a copied block is fine as it is; the quick test of the usual case."""
        if self.output.dtype == "bool":
            return bool(actions.view(np.uint8).max(initial=0) <= 1)
        low, high = self.low, self.high
        if actions.size <= _SMALL:
            return all(low <= value <= high for value in actions.ravel().tolist())  # a NaN fails both
        return bool(_minimum(actions, None) >= low and _maximum(actions, None) <= high)

    def mended(
        self,
        actions: NDArray[Any],
        status: NDArray[np.uint8],
        memory: NDArray[np.float64] | None,
        memory_before: NDArray[np.float64] | None,
        text: str,
    ) -> Block:
        """Check a copied block row by row: set statuses, clip if asked, put harmless values where a row failed.

        Args:
            actions: shape *(rows, …)*; changed in place.
            status: what the child says of the rows; changed in place.
            memory: the rows' memory, or None; changed in place.
            memory_before: the rows' memory before the call.
            text: what the child says of the first failed row; hostile.
        """
        status[status > max(Status)] = Status.RAISED  # a number we do not know is no number of ours
        self._judge(actions, status)
        if memory is not None:
            _fail(status, ~np.isfinite(memory), Status.NOT_FINITE)
        failed = status != 0
        if not failed.any():
            return Block(actions, status, None, memory)
        error = printable(text) if text else self._complaint(actions, status)
        actions[failed] = self.harmless
        if memory is not None and memory_before is not None:
            memory[failed] = memory_before[failed]
        return Block(actions, status, error, memory)

    def _judge(self, actions: NDArray[Any], status: NDArray[np.uint8]) -> None:
        if self.output.dtype == "bool":
            _fail(status, actions.view(np.uint8) > 1, Status.BAD_TYPE)
            return
        if self.output.dtype == "float":
            _fail(status, ~np.isfinite(actions), Status.NOT_FINITE)
        if self.output.clip:
            np.clip(actions, self.low, self.high, out=actions)
        else:
            _fail(status, (actions < self.low) | (actions > self.high), Status.OUT_OF_RANGE)

    def _complaint(self, actions: NDArray[Any], status: NDArray[np.uint8]) -> str:
        """What is wrong with the first failed row, in our words."""
        row = int(np.argmax(status != 0))
        if status[row] == Status.OUT_OF_RANGE:
            return f"returned {actions[row]}, but {self.low:g} to {self.high:g} is needed"
        return f"returned {actions[row]}, but a finite number is needed"


def _fail(status: NDArray[np.uint8], bad: NDArray[np.bool_], why: Status) -> None:
    rows = bad.any(axis=tuple(range(1, bad.ndim))) if bad.ndim > 1 else bad
    status[rows & (status == 0)] = why
