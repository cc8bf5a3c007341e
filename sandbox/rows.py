"""The plain row loop: calls the entry function once per row, in the child.

It is the reference for what a program means; the compiled loop must agree with it. One row that raises or answers
nonsense gets a status, and the loop goes on.

Defends against: a program that changes what later rows see (arrays are read-only views, memory is a copy per row); an
answer of another type or shape than is needed; a row that raises, of whatever kind: it fails alone, with a status.

Does not defend against: values outside the range that a problem allows, and a process that has been taken over and writes
what it likes into shared memory: the parent checks every answer again (`sandbox.validation`).
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.frames import Status
from sandbox.values import Layout, ParameterField, Scalar

SOURCE_NAME = "<program>"
_WHOLE = 2.0**63
_MAX_MESSAGE = 1000


class BadAnswer(Exception):  # noqa: N818 - no error of ours: it describes a program's answer
    """A program's answer cannot be used; carries the status and says what is needed."""

    def __init__(self, status: Status, message: str) -> None:
        self.status = status
        super().__init__(message)


def decode(theta: NDArray[np.float64], parameters: Sequence[ParameterField]) -> list[dict[str, Any]]:
    """Parameter vectors, shape *(vectors, width)*, to keyword arguments, one dictionary per vector."""
    decoded: list[dict[str, Any]] = [{} for _ in range(len(theta))]
    start = 0
    for parameter in parameters:
        columns = theta[:, start : start + parameter.width].tolist()
        for values, column in zip(decoded, columns, strict=True):
            values[parameter.name] = _value(parameter, column)
        start += parameter.width
    return decoded


def _value(parameter: ParameterField, places: list[float]) -> Scalar | tuple[float, ...]:
    if parameter.kind == "choice":
        return parameter.choices[int(places[0])]
    if parameter.kind == "integer":
        whole = [int(place) for place in places]
        return tuple(whole) if parameter.size is not None else whole[0]
    return tuple(places) if parameter.size is not None else places[0]


def number_for(dtype: str) -> Callable[[Any], float | int | bool]:
    """The check of a single number: a function that returns it as what `dtype` says, or raises `BadAnswer`."""
    return {"float": _as_float, "int": _as_int, "bool": _as_bool}[dtype]


def _bad_type(value: Any, needed: str) -> BadAnswer:
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiou" else "a"
    return BadAnswer(Status.BAD_TYPE, f"returned {article} {kind}, but {needed} is needed")


def _scalar(value: Any) -> Any:
    if type(value) is np.ndarray:
        if value.ndim:
            raise BadAnswer(
                Status.WRONG_SHAPE, f"returned an array of shape {value.shape}, but a single number is needed"
            )
        return value[()]
    return value


def _as_float(value: Any) -> float:
    value = _scalar(value)
    if type(value) is float or (
        isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
    ):
        try:
            return float(value)
        except OverflowError:
            raise BadAnswer(Status.NOT_FINITE, "returned a whole number too large for a float") from None
    raise _bad_type(value, "a number")


def _as_int(value: Any) -> int:
    value = _scalar(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        whole = int(value)
    elif isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise BadAnswer(Status.NOT_FINITE, f"returned {value}, but a whole number is needed")
        if value != math.floor(value):
            raise BadAnswer(Status.BAD_TYPE, f"returned {value}, but a whole number is needed: round it")
        whole = int(value)
    else:
        raise _bad_type(value, "a whole number")
    if not -_WHOLE <= whole < _WHOLE:
        raise BadAnswer(Status.OUT_OF_RANGE, "returned a whole number that does not fit into 64 bits")
    return whole


def _as_bool(value: Any) -> bool:
    value = _scalar(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)) and value in (0, 1):
        return bool(value)
    raise _bad_type(value, "True or False")


def array_for(dtype: str, shape: tuple[int, ...]) -> Callable[[Any], NDArray[Any]]:
    """The check of an answer that is an array."""
    kinds = {"float": "iuf", "int": "iuf", "bool": "b"}[dtype]
    target = {"float": np.float64, "int": np.int64, "bool": np.bool_}[dtype]

    def as_array(value: Any) -> NDArray[Any]:
        if not isinstance(value, (list, tuple, np.ndarray)):
            raise _bad_type(value, f"an array of shape {shape}")
        try:
            array = np.asarray(value)
        except ValueError:
            raise BadAnswer(
                Status.WRONG_SHAPE, f"returned rows of different lengths, but shape {shape} is needed"
            ) from None
        if array.shape != shape:
            raise BadAnswer(Status.WRONG_SHAPE, f"returned shape {array.shape}, but shape {shape} is needed")
        if array.dtype.kind not in kinds:
            raise BadAnswer(Status.BAD_TYPE, f"returned an array of {array.dtype.name}, but one of {dtype} is needed")
        if dtype == "int" and array.dtype.kind == "f":
            if not np.isfinite(array).all():
                raise BadAnswer(Status.NOT_FINITE, "returned an array that is not finite")
            if (array != np.floor(array)).any() or (np.abs(array) >= _WHOLE).any():
                raise BadAnswer(Status.BAD_TYPE, "returned an array of other than whole numbers: round it")
        return array.astype(target)

    return as_array


def explain(error: BaseException) -> tuple[Status, str]:
    """Status and text of a failed row: what, in which line of the program."""
    if isinstance(error, BadAnswer):
        return error.status, str(error)
    try:
        message = str(error)[:_MAX_MESSAGE]
    except BaseException:  # noqa: BLE001 - a hostile or huge error: its text is the program's own fault
        message = "(its text cannot be shown)"
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == SOURCE_NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f" in line {line}" if line else ""
    return Status.RAISED, f"{type(error).__name__}{where}: {message}" if message else f"{type(error).__name__}{where}"


class Block:
    """Arrays of one block in shared memory, and what came of it.

    Args:
        rows: number of rows.
        arguments: one array per positional argument (without memory), with its leading length if it has one.
        per: for each argument "row", "instance" or "block".
        memory: shape *(rows, n)*, or None.
        actions: shape *(rows, …)*, to be filled.
        status: shape *(rows,)*, to be filled.
        memory_out: shape *(rows, n)*, to be filled, or None.
    """

    def __init__(
        self,
        *,
        rows: int,
        arguments: Sequence[NDArray[Any]],
        per: Sequence[str],
        memory: NDArray[np.float64] | None,
        actions: NDArray[Any],
        status: NDArray[np.uint8],
        memory_out: NDArray[np.float64] | None,
    ) -> None:
        self.rows, self.arguments, self.per, self.memory = rows, arguments, per, memory
        self.actions, self.status, self.memory_out = actions, status, memory_out
        self.cache: dict[int, list[NDArray[Any]]] = {}
        self.kernel_arguments: tuple[Any, ...] | None = None
        self.failed = 0
        self.first_error: tuple[int, str] | None = None

    def fail(self, row: int, status: Status, text: str) -> None:
        """Record that a row failed; the text of the lowest such row is kept."""
        self.status[row] = status
        self.failed += 1
        if self.first_error is None or row < self.first_error[0]:
            self.first_error = (row, text)


class Same(Sequence[Any]):
    """The same value for every row."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, row: Any) -> Any:
        return self.value

    def __len__(self) -> int:
        return sys.maxsize

    def __iter__(self) -> Iterator[Any]:
        return repeat(self.value)


class PlainRows:
    """Runs rows through the entry function.

    Args:
        entry: the function.
        layout: its signature.
    """

    def __init__(self, entry: FunctionType, layout: Layout) -> None:
        self.entry, self.layout = entry, layout
        output = layout.output
        self.check = array_for(output.dtype, output.shape) if output.shape else number_for(output.dtype)
        self.check_memory = array_for("float", (layout.memory,))
        self.keywords: Sequence[dict[str, Any]] = ()
        self.instance: list[int] | None = None

    def bind(
        self, theta: NDArray[np.float64], vector: NDArray[np.int64] | None, instance: NDArray[np.int64] | None
    ) -> None:
        """Take the parameter vectors and, for each row, which vector and instance it belongs to.

        Args:
            theta: shape *(vectors, width)*.
            vector: shape *(rows,)*, or None if all rows, however many, use the only vector.
            instance: shape *(rows,)*, or None if all rows belong to the only instance.
        """
        decoded = decode(theta, self.layout.parameters)
        self.keywords = Same(decoded[0]) if vector is None else [decoded[place] for place in vector.tolist()]
        self.instance = None if instance is None else instance.tolist()

    def run(self, block: Block, rows: Sequence[int] | range) -> None:
        """Run some rows of a block, filling its actions, status and memory."""
        if len(rows) == block.rows and self._run_fast(block):
            return
        columns = [self._column(block, place) for place in range(len(block.per))]
        for row in rows:
            self._run_row(block, row, [column[row] for column in columns])

    def run_one(self, block: Block, row: int) -> None:
        """Run one row of a block."""
        values = []
        for array, per in zip(block.arguments, block.per, strict=True):
            place = row if per == "row" else 0 if self.instance is None else self.instance[row]
            value = array if per == "block" else array[place]
            values.append(value if value.ndim else value.item())
        self._run_row(block, row, values)

    def _run_fast(self, block: Block) -> bool:
        """All rows of a program that returns one plain float, until one surprises; returns whether none did."""
        if self.layout.memory or self.layout.output.shape or self.layout.output.dtype != "float":
            return False
        entry, keywords = self.entry, self.keywords
        columns = [self._column(block, place) for place in range(len(block.per))]
        answers = []
        arguments = zip(*columns, strict=False) if columns else repeat(())
        try:
            for row, values in zip(range(block.rows), arguments, strict=False):
                answer = entry(*values, **keywords[row])
                if type(answer) is not float:
                    answer = _as_float(answer)
                answers.append(answer)
        except BaseException as error:  # noqa: BLE001 - whatever a program raises is a fact about one row
            block.actions[: len(answers)] = answers
            block.fail(len(answers), *explain(error))
            for row in range(len(answers) + 1, block.rows):
                self._run_row(block, row, [column[row] for column in columns])
            return True
        block.actions[:] = answers
        return True

    def _column(self, block: Block, place: int) -> Sequence[Any]:
        """One argument for every row; numbers as Python numbers, arrays as read-only views."""
        values, per = block.arguments[place], block.per[place]
        if per == "block":
            return Same(values if values.ndim else values.item())
        if values.ndim > 1:
            elements = block.cache.get(place)
            if elements is None:  # the memory stays in place, so views serve for all calls of this shape
                elements = block.cache[place] = list(values)
        else:
            elements = values.tolist()
        if per == "row":
            return elements
        return Same(elements[0]) if self.instance is None else [elements[i] for i in self.instance]

    def _run_row(self, block: Block, row: int, values: list[Any]) -> None:
        try:
            if block.memory is None or block.memory_out is None:
                block.actions[row] = self.check(self.entry(*values, **self.keywords[row]))
            else:
                answer = self.entry(*values, block.memory[row].copy(), **self.keywords[row])
                if type(answer) is not tuple or len(answer) != 2:
                    raise _bad_type(answer, "(action, memory)")  # noqa: TRY301 - one place turns errors into facts
                action, memory = self.check(answer[0]), self.check_memory(answer[1])
                block.actions[row], block.memory_out[row] = action, memory
        except BaseException as error:  # noqa: BLE001 - whatever a program raises is a fact about one row
            block.fail(row, *explain(error))
