"""One program in its locked process, as its parent sees it: bind parameter vectors, call blocks, close.

Defends against: a child that outlives a fault (after any `ChildFailed` it is closed and gets no further call), and a
child that writes while its answers are looked at (they are copied first). Arguments and bindings of the wrong shape are
refused before the child sees them.

Does not defend against: answers that are in range and bad; `validation` checks only that they are valid. Nor against a
child that reads its inputs while the parent still writes them: it may see a block half-filled.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sandbox import frames
from sandbox.berth import Berth, Request
from sandbox.errors import ChildFailed
from sandbox.frames import Code, Operation, printable
from sandbox.placement import DTYPES, Slot, aligned, view
from sandbox.validation import Block, Validator

_MAX_SHAPES = 64


@dataclass(frozen=True, slots=True)
class Ready:
    """How a child came up.

    Args:
        compiled: whether its rows run compiled.
        note: why not, if that was asked for; quoted where a program had a say in it.
        seconds: wall time from the request to this.
    """

    compiled: bool
    note: str
    seconds: float


@dataclass(slots=True)
class _Shape:
    """Views for blocks of one shape.

    Args:
        rows: number of rows.
        inputs: one writable view per argument (memory included).
        words: the header's description of where they lie.
        epoch: number by which the child knows this shape.
        actions: view of the answers.
        status: view of the rows' statuses.
        memory: view of the rows' memory afterwards, or None.
    """

    rows: int
    inputs: dict[str, NDArray[Any]]
    words: NDArray[np.int64]
    epoch: int
    actions: NDArray[Any]
    status: NDArray[np.uint8]
    memory: NDArray[np.float64] | None


class Child:
    """A program that is ready to answer blocks. Made by `Sandbox.spawn`; not to be shared between threads.

    Use it as a context manager: `with sandbox.spawn(…) as child:`. Call `bind` before the first `call`.
    """

    def __init__(
        self,
        *,
        berth: Berth,
        request: Request,
        on_close: Callable[["Child"], None],
    ) -> None:
        layout = request.layout
        self.layout, self.limits, self.max_rows = layout, request.limits, request.max_rows
        self.ready = Ready(compiled=False, note="", seconds=0.0)
        self.compiled = False
        """Whether rows run compiled. Binding may turn it off; `note` then says why."""
        self.note = ""
        self._berth, self._on_close = berth, on_close
        self._connection, self._placement = berth.connection, berth.places
        inputs, self._inputs, self._outputs = berth.inputs, berth.inputs, berth.outputs
        self._validator = Validator(layout.output)
        self._header = np.frombuffer(inputs.memory, np.int64, frames.HEADER_BYTES // 8)
        self._words = memoryview(inputs.memory)[: frames.HEADER_BYTES].cast("q")
        self._slots = {slot.name: slot for slot in berth.places.slots[3:]}
        self._sequence = 0
        self._epoch = 0
        self._shapes: dict[tuple[Any, ...], _Shape] = {}
        self._shape: _Shape | None = None
        self._rows: int | None = None
        self._instances = 0
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process and free its memory; may be called again."""
        if self._closed:
            return
        self._closed = True
        self._shapes.clear()
        self._shape = None
        del self._header, self._words
        self._berth.close()
        self._on_close(self)

    # -- binding

    def bind(
        self,
        theta: NDArray[np.float64],
        vector: NDArray[np.intp] | None = None,
        instance: NDArray[np.intp] | None = None,
        instances: int = 1,
    ) -> None:
        """Say which rows the following calls have.

        Args:
            theta: parameter vectors, shape *(vectors, width)*.
            vector: for each row the parameter vector it uses, shape *(rows,)*. None: all rows use the only one, and
                calls may have any number of rows.
            instance: for each row the instance it belongs to, shape *(rows,)*. None: all belong to the only one.
            instances: number of instances.

        Raises:
            ValueError: if shapes or indices do not fit together.
            ChildFailed: if the child is gone.
        """
        self._check_open()
        theta = np.asarray(theta, dtype=np.float64)
        rows = self._check_binding(theta, vector, instance, instances)
        places = {slot.name: slot for slot in self._placement.slots[:3]}
        self._write(places["theta"], theta)
        if vector is not None:
            self._write(places["vector"], vector)
        if instance is not None:
            self._write(places["instance"], instance)
        words = self._words
        words[frames.OPERATION], words[frames.ROWS] = Operation.BIND, rows or 0
        words[frames.VECTORS], words[frames.INSTANCES] = (len(theta), instances)
        words[frames.SHARED] = (frames.SAME_VECTOR if vector is None else 0) | (
            frames.SAME_INSTANCE if instance is None else 0
        )
        self._rows, self._instances = rows, instances
        self._shapes.clear()
        self._shape = None
        self._connection.near()
        code = self._step(self.limits.start_seconds)
        if code == Code.READY_PLAIN:
            self.compiled, self.note = False, printable(self._connection.text())

    def _check_binding(
        self, theta: NDArray[np.float64], vector: NDArray[Any] | None, instance: NDArray[Any] | None, instances: int
    ) -> int | None:
        if theta.ndim != 2 or theta.shape[1] != self.layout.width or not len(theta):
            raise ValueError(f"theta has shape {theta.shape}, but (vectors, {self.layout.width}) is needed")
        if not np.isfinite(theta).all():
            raise ValueError("theta is not finite")
        self._check_whole(theta)
        for name, values, count in (("vector", vector, len(theta)), ("instance", instance, instances)):
            if values is None:
                if count != 1:
                    raise ValueError(f"{name} is needed, since there are {count} of them")
            elif values.ndim != 1 or (len(values) and not (values.min() >= 0 and values.max() < count)):
                raise ValueError(f"{name} must be one index below {count} for each row")
        known = [len(values) for values in (vector, instance) if values is not None]
        if len(set(known)) > 1:
            raise ValueError(f"vector and instance have {known[0]} and {known[1]} rows: they need equally many")
        largest = max([len(theta), instances, *known])
        if largest > self.max_rows:
            raise ValueError(f"{largest} rows, but the child was spawned for at most {self.max_rows}: raise max_rows")
        return known[0] if known else None

    def _check_whole(self, theta: NDArray[np.float64]) -> None:
        start = 0
        for parameter in self.layout.parameters:
            places = theta[:, start : start + parameter.width]
            start += parameter.width
            if parameter.kind != "real" and (places != np.floor(places)).any():
                raise ValueError(f"{parameter.name} takes whole numbers in theta")
            if parameter.kind == "choice" and (places.min() < 0 or places.max() >= len(parameter.choices)):
                raise ValueError(f"{parameter.name} has the choices 0 to {len(parameter.choices) - 1} in theta")

    def _write(self, slot: Slot, values: NDArray[Any]) -> None:
        assert slot.offset is not None
        view(self._inputs.memory, slot.dtype, slot.offset, values.shape)[...] = values

    # -- calling

    def call(self, arrays: Mapping[str, ArrayLike], *, rows: int | None = None) -> Block:
        """Let the program answer one block.

        Args:
            arrays: for each positional argument (and `memory`) its values: *(rows, …)*, *(instances, …)* or the bare
                shape, as its field says. Pass the array that `buffer` returned to save the copy.
            rows: number of rows; needed only where nothing else tells it.

        Returns:
            The answers: copies, checked.

        Raises:
            ValueError: if an array does not fit the layout or the binding.
            ChildFailed: if the child is gone: it took too long, or ended.
        """
        shape = self._shape
        if shape is None or rows is not None or not self._fill(shape, arrays):
            shape = self._fill_any(arrays, rows)
        words = self._words
        words[frames.OPERATION] = Operation.CALL
        self._step(self.limits.call_seconds)
        return self._collect(shape)

    def buffer(self, name: str) -> NDArray[Any]:
        """The memory that the child reads an argument from, for the current binding and shape.

        The caller may keep its own state there: a child cannot write it (on Linux the kernel sees to that; at the levels
        `rlimits` and `language-only` nothing does). It holds until the next `bind`, or the next call of another shape.

        Raises:
            ValueError: if the argument's shape is not known before a call.
        """
        self._check_open()
        if name not in self._slots:
            raise ValueError(f"the program has no argument {name}: it has {', '.join(self._slots)}")
        if self._shape is None:
            if self._rows is None or any(slot.offset is None for slot in self._slots.values()):
                raise ValueError("the shape is known only after a first call: bind rows, or call once")
            lengths = {slot.name: self._lengths(slot, self._rows) for slot in self._slots.values()}
            self._use(self._shape_for(self._rows, lengths))
        assert self._shape is not None
        return self._shape.inputs[name]

    def _step(self, seconds: float) -> Code:
        self._sequence += 1
        self._connection.limit(seconds)
        try:
            return self._connection.step(self._sequence)
        except ChildFailed:
            self.close()
            raise

    def _fill(self, shape: _Shape, arrays: Mapping[str, ArrayLike]) -> bool:
        """Copy a block of the same shape as the last one; returns False if it is not."""
        if len(arrays) != len(shape.inputs):
            return False
        try:
            for name, target in shape.inputs.items():
                source = arrays[name]
                if source is target:
                    continue
                if type(source) is not np.ndarray or source.shape != target.shape or source.dtype != target.dtype:
                    return False
                target[...] = source
        except KeyError:
            return False
        return True

    def _fill_any(self, arrays: Mapping[str, ArrayLike], rows: int | None) -> _Shape:
        self._check_open()
        if not self._instances:
            raise ValueError("bind parameter vectors before the first call")
        if arrays.keys() != self._slots.keys():
            raise ValueError(f"arguments are {', '.join(arrays)}, but {', '.join(self._slots)} are needed")
        given = {name: np.asarray(values) for name, values in arrays.items()}
        rows = self._count_rows(given, rows)
        lengths = {name: self._lengths_of(self._slots[name], values, rows) for name, values in given.items()}
        shape = self._shape_for(rows, lengths)
        for name, values in given.items():
            target = shape.inputs[name]
            if values is not target:
                try:
                    np.copyto(target, values, casting="same_kind")
                except TypeError:
                    raise ValueError(f"{name} holds {values.dtype}, but {target.dtype} is needed") from None
        self._use(shape)
        return shape

    def _use(self, shape: _Shape) -> None:
        """Describe a shape to the child, unless it is the last one."""
        if self._shape is not shape:
            self._shape = shape
            self._words[frames.EPOCH], self._words[frames.ROWS] = shape.epoch, shape.rows
            self._header[frames.SLOTS : frames.SLOTS + len(shape.words)] = shape.words

    def _count_rows(self, given: Mapping[str, NDArray[Any]], rows: int | None) -> int:
        if self._rows is not None:
            if rows not in {None, self._rows}:
                raise ValueError(f"{rows} rows, but {self._rows} are bound")
            return self._rows
        if rows is None:
            leading = [given[name].shape[:1] for name, slot in self._slots.items() if slot.leading == "row"]
            rows = leading[0][0] if leading and leading[0] else 1
        if not 0 < rows <= self.max_rows:
            raise ValueError(f"{rows} rows, but the child was spawned for 1 to {self.max_rows}")
        return rows

    def _lengths(self, slot: Slot, rows: int) -> tuple[int, ...]:
        shape = tuple(length for length in slot.shape if length is not None)
        leading = {"row": (rows,), "instance": (self._instances,), "block": ()}[slot.leading]
        return (*leading, *shape)

    def _lengths_of(self, slot: Slot, values: NDArray[Any], rows: int) -> tuple[int, ...]:
        leading = {"row": (rows,), "instance": (self._instances,), "block": ()}[slot.leading]
        wanted = (*leading, *slot.shape)
        if len(wanted) != values.ndim or any(w not in {None, v} for w, v in zip(wanted, values.shape, strict=True)):
            shown = str(wanted).replace("None", "any")
            raise ValueError(f"{slot.name} has shape {values.shape}, but {shown} is needed")
        return values.shape

    def _shape_for(self, rows: int, lengths: Mapping[str, tuple[int, ...]]) -> _Shape:
        key = (rows, *lengths.values())
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= _MAX_SHAPES:
                self._shapes.clear()
            shape = self._shapes[key] = self._new_shape(rows, lengths)
        return shape

    def _new_shape(self, rows: int, lengths: Mapping[str, tuple[int, ...]]) -> _Shape:
        tail = self._placement.tail
        words = np.zeros(len(self._placement.slots) * frames.SLOT_WORDS, dtype=np.int64)
        inputs = {}
        for place, slot in enumerate(self._placement.slots[3:], start=3):
            offset, shape = slot.offset, lengths[slot.name]
            if offset is None:
                offset = tail
                tail += aligned(slot.dtype.itemsize * int(np.prod(shape)))
                if tail > self._inputs.size:
                    raise ValueError(f"{slot.name} of shape {shape} does not fit: raise variable_bytes in spawn")
            inputs[slot.name] = view(self._inputs.memory, slot.dtype, offset, shape)
            start = place * frames.SLOT_WORDS
            words[start : start + 1 + len(shape)] = (offset, *shape)
        self._epoch += 1
        outputs, output, placement = self._outputs.memory, self.layout.output, self._placement
        return _Shape(
            rows=rows,
            inputs=inputs,
            words=words,
            epoch=self._epoch,
            actions=view(outputs, DTYPES[output.dtype], placement.actions, (rows, *output.shape)),
            status=view(outputs, np.dtype(np.uint8), placement.status, (rows,)),
            memory=view(outputs, DTYPES["float"], placement.memory, (rows, self.layout.memory))
            if self.layout.memory
            else None,
        )

    # -- what came back

    def _collect(self, shape: _Shape) -> Block:
        """Copy, then check: the child may still write."""
        actions = shape.actions.copy()
        memory = None if shape.memory is None else shape.memory.copy()
        failed = self._connection.answer[frames.FAILED_ROWS] != 0
        if not failed and self._validator.accepts(actions) and (memory is None or np.isfinite(memory).all()):
            return Block(actions, np.zeros(shape.rows, dtype=np.uint8), None, memory)
        status = shape.status.copy() if failed else np.zeros(shape.rows, dtype=np.uint8)
        text = self._connection.text() if failed else ""
        return self._validator.mended(actions, status, memory, shape.inputs.get("memory"), text)

    def _check_open(self) -> None:
        if self._closed:
            raise ChildFailed("closed", "the child has been closed")
