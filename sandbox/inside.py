"""The life of one child, from within: lock down, load the program, answer blocks until the parent hangs up.

Defends against: a program that meets an unlocked process. Not one byte of it is read before every wall stands.

Does not defend against: a program that has taken this process over. It can then send what it likes; the parent treats
every frame and every answer as hostile. Nor, for a child that compiles, does the last wall (no memory becomes
executable any more) stand before the module's code has run and the compiler is done: the compiler needs that. All
other walls stand by then, and the static layer lets module code be definitions and constants only.
"""

import json
import mmap
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox import frames
from sandbox.comparison import compare
from sandbox.compilation import compile_rows
from sandbox.compiled import CompiledRows, CompileFailed
from sandbox.errors import Refused
from sandbox.frames import Code, Operation
from sandbox.levels import Mechanism
from sandbox.load import Loaded, load
from sandbox.lockdown import Bounds, seal
from sandbox.placement import DTYPES, Placement, Slot, place, view
from sandbox.rows import Block, PlainRows
from sandbox.values import Layout, layout_from_json

_MAX_SHAPES = 64
_COMPARED = 32
"""Parameter vectors on which compiled and plain loops are compared at the first binding."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a child is told before it locks down: numbers only.

    Args:
        walls: which walls to put up.
        bounds: limits on resources.
        static: whether the static layer is on.
        compiling: whether to compile the program.
        input_bytes: size of the inputs.
        output_bytes: size of the outputs.
    """

    walls: Mechanism
    bounds: Bounds
    static: bool
    compiling: bool
    input_bytes: int
    output_bytes: int


class HungUp(Exception):  # noqa: N818 - an end, not an error
    """The parent has closed its side."""


class Line:
    """The child's end of the line to its parent, and the outputs' header.

    Args:
        reader: descriptor to read from.
        writer: descriptor to write to; the same for a socket.
        inputs: shared memory, read-only.
        outputs: shared memory.
    """

    def __init__(self, reader: int, writer: int, inputs: Any, outputs: Any) -> None:
        self.reader, self.writer = reader, writer
        self.inputs, self.outputs = inputs, outputs
        self.header = memoryview(inputs)[: frames.HEADER_BYTES].cast("q")
        self.answer = memoryview(outputs)[: frames.HEADER_BYTES].cast("q")
        self.text = memoryview(outputs)[frames.TEXT_OFFSET : frames.TEXT_OFFSET + frames.TEXT_BYTES]

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes.

        Raises:
            HungUp: at the end of the line.
        """
        data = os.read(self.reader, size)
        while len(data) < size:
            part = os.read(self.reader, size - len(data))
            if not part:
                raise HungUp
            data += part
        return data

    def program(self) -> dict[str, Any]:
        """The program and its signature."""
        (length,) = frames.LENGTH.unpack(self.read(frames.LENGTH.size))
        received: dict[str, Any] = json.loads(self.read(length).decode("utf-8", "surrogatepass"))
        return received

    def say(self, sequence: int, code: Code, text: str = "") -> None:
        """End a step: what it says in shared memory first, then the frame that wakes the parent."""
        if text:
            data = text.encode("utf-8", "replace")[: frames.TEXT_BYTES]
            self.text[: len(data)] = data
            self.answer[frames.TEXT_LENGTH] = len(data)
        os.write(self.writer, frames.TOKEN.pack(sequence, code))

    def next_step(self) -> int:
        """Wait for the parent's next request; returns its sequence number.

        Raises:
            HungUp: at the end of the line.
        """
        sequence: int = frames.TOKEN.unpack(self.read(frames.TOKEN.size))[0]
        return sequence


class Answering:
    """Answers blocks: keeps views of shared memory per shape, and runs rows compiled or plain."""

    def __init__(
        self, line: Line, layout: Layout, placement: Placement, plain: PlainRows, fast: CompiledRows | None
    ) -> None:
        self.line, self.layout, self.placement = line, layout, placement
        self.plain, self.fast = plain, fast
        self.blocks: dict[int, Block] = {}
        self.compared = False

    def bind(self) -> str:
        """Take over parameter vectors and the rows' indices; returns a note if compiled rows had to be given up."""
        header = self.line.header
        self.blocks.clear()
        rows, vectors, shared = header[frames.ROWS], header[frames.VECTORS], header[frames.SHARED]
        slots = {slot.name: slot for slot in self.placement.slots[:3]}
        theta = self._fixed(slots["theta"], vectors)
        vector = self._fixed(slots["vector"], rows) if not shared & frames.SAME_VECTOR else None
        instance = self._fixed(slots["instance"], rows) if not shared & frames.SAME_INSTANCE else None
        note = self._compare_once(_extremes(theta)) if self.fast is not None else ""
        self.plain.bind(theta, vector, instance)
        if self.fast is not None:
            self.fast.bind(theta, vector, instance)
        return note

    def _compare_once(self, theta: NDArray[np.float64]) -> str:
        """At the first binding, compare the loops on the caller's own vectors; returns a note if they differ."""
        if self.compared or self.fast is None:
            return ""
        self.compared = True
        try:
            compare(self.fast, self.plain, self.layout, theta)
        except CompileFailed as failure:
            self.fast = None
            return str(failure)
        return ""

    def _fixed(self, slot: Slot, leading: int) -> NDArray[Any]:
        shape = tuple(length for length in slot.shape if length is not None)
        return view(self.line.inputs, slot.dtype, slot.offset or 0, (leading, *shape))

    def call(self) -> tuple[int, str]:
        """Run one block; returns the number of failed rows and the text of the first failure."""
        epoch = self.line.header[frames.EPOCH]
        block = self.blocks.get(epoch)
        if block is None:
            if len(self.blocks) >= _MAX_SHAPES:
                self.blocks.clear()
            block = self.blocks[epoch] = self._new_block()
        if block.failed:
            block.status[:] = 0
            block.failed, block.first_error = 0, None
        if self.fast is not None:
            self.fast.run(block, self.plain)
        else:
            self.plain.run(block, range(block.rows))
        return block.failed, block.first_error[1] if block.first_error else ""

    def _new_block(self) -> Block:
        header, placement, layout = self.line.header, self.placement, self.layout
        rows = header[frames.ROWS]
        arrays = [self._described(place, slot) for place, slot in enumerate(placement.slots) if place >= 3]
        outputs, output = self.line.outputs, layout.output
        status = view(outputs, np.dtype(np.uint8), placement.status, (rows,))
        status[:] = 0
        memory_out = view(outputs, DTYPES["float"], placement.memory, (rows, layout.memory)) if layout.memory else None
        return Block(
            rows=rows,
            arguments=arrays[1:] if layout.memory else arrays,
            per=[field.per for field in layout.fields],
            memory=arrays[0] if layout.memory else None,
            actions=view(outputs, DTYPES[output.dtype], placement.actions, (rows, *output.shape)),
            status=status,
            memory_out=memory_out,
        )

    def _described(self, place: int, slot: Slot) -> NDArray[Any]:
        start = frames.SLOTS + place * frames.SLOT_WORDS
        words = self.line.header[start : start + 1 + slot.dimensions].tolist()
        return view(self.line.inputs, slot.dtype, words[0], words[1:])


def _extremes(theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Some of the parameter vectors: those with the least or greatest value of a parameter first, then the others."""
    if len(theta) <= _COMPARED or not theta.shape[1]:
        return theta[:_COMPARED]
    first = np.concatenate([theta.argmin(axis=0), theta.argmax(axis=0)])
    others = np.linspace(0, len(theta) - 1, _COMPARED).astype(np.int64)
    order = list(dict.fromkeys([*first.tolist(), *others.tolist()]))
    return theta[order[:_COMPARED]]


def map_regions(order: Order, input_descriptor: int, output_descriptor: int) -> tuple[Any, Any]:
    """Map the shared memory: inputs read-only, outputs writable."""
    inputs = mmap.mmap(input_descriptor, order.input_bytes, access=mmap.ACCESS_READ)
    outputs = mmap.mmap(output_descriptor, order.output_bytes, access=mmap.ACCESS_WRITE)
    return inputs, outputs


def live(line: Line, order: Order) -> None:
    """The whole life of a locked child; returns when the parent hangs up."""
    try:
        _live(line, order)
    except HungUp:
        return
    except MemoryError:
        line.say(0, Code.BROKEN, "memory")
    except Exception as error:  # noqa: BLE001 - the last place where a failure can be told
        line.say(0, Code.BROKEN, f"{type(error).__name__}: {error}")


def _live(line: Line, order: Order) -> None:
    received = line.program()
    layout = layout_from_json(received["layout"])
    try:
        loaded = load(received["source"], layout, static=order.static)
    except Refused as refusal:
        line.say(0, Code.REFUSED, json.dumps([refusal.message[:1000], refusal.rule, refusal.line]))
        return
    line.say(0, Code.CHECKED)
    plain = PlainRows(loaded.entry, layout)
    fast, note = _compile(loaded, layout, plain) if order.compiling else (None, "")
    if order.compiling and Mechanism.SECCOMP in order.walls:
        seal(line.reader)
    placement = place(layout, received["max_rows"], received["variable_bytes"])
    answering = Answering(line, layout, placement, plain, fast)
    line.say(0, Code.READY_PLAIN if order.compiling and fast is None else Code.READY, note)
    _answer_forever(line, answering)


def _answer_forever(line: Line, answering: Answering) -> None:
    while True:
        sequence = line.next_step()
        if line.header[frames.OPERATION] == Operation.CALL:
            failed, text = answering.call()
            line.answer[frames.FAILED_ROWS] = failed
            line.say(sequence, Code.DONE, text)
        else:
            note = answering.bind()
            line.say(sequence, Code.READY_PLAIN if note else Code.DONE, note)


def _compile(loaded: Loaded, layout: Layout, plain: PlainRows) -> tuple[CompiledRows | None, str]:
    try:
        return compile_rows(loaded, layout, plain), ""
    except CompileFailed as failure:
        return None, str(failure)
