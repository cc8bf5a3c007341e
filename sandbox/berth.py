"""What one child takes: two regions of shared memory, a process with a line to it, a share of the memory budget.

Whatever fails on the way, all that was taken before is given back.
"""

import enum
import json
import math
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sandbox.budget import MemoryBudget
from sandbox.connection import Connection, ZygoteConnection
from sandbox.frames import LENGTH
from sandbox.launch import Zygote
from sandbox.levels import Mechanism
from sandbox.lone import LoneConnection
from sandbox.placement import Placement, place
from sandbox.regions import Region
from sandbox.values import Layout, Limits, layout_to_json

_COMPILER_MB = 384
"""What a compiler may use beside the program's own limit."""

_OS_WALLS = Mechanism.NO_NEW_PRIVILEGES | Mechanism.LANDLOCK | Mechanism.RLIMITS | Mechanism.SECCOMP


class Layers(enum.Flag):
    """Which layers are on. Anything but ALL is for tests that show that each holds alone.

    Limits on memory, processor time and processes hold whatever the layers.
    """

    NONE = 0
    STATIC = 1
    OS = 2
    ALL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a caller asks of a child; see `Sandbox.spawn`."""

    source: str
    layout: Layout
    limits: Limits
    max_rows: int
    variable_bytes: int
    compiled: bool
    layers: Layers

    @property
    def memory(self) -> int:
        """Bytes that the child may map beyond what it is born with."""
        return (self.limits.memory_mb + (_COMPILER_MB if self.compiled else 0)) << 20

    def program(self) -> bytes:
        """What the child reads once it is locked: the program and its signature, with their length in front."""
        told = {
            "source": self.source,
            "layout": layout_to_json(self.layout),
            "max_rows": self.max_rows,
            "variable_bytes": self.variable_bytes,
        }
        data = json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return LENGTH.pack(len(data)) + data

    def placement(self) -> Placement:
        """Where its arguments and answers lie."""
        return place(self.layout, self.max_rows, self.variable_bytes)


class Berth:
    """All that one child takes; closing gives it back.

    Args:
        places: where arguments and answers lie.
    """

    def __init__(self, places: Placement) -> None:
        self.places = places
        self.inputs: Region
        self.outputs: Region
        self.connection: Connection
        self._undo = ExitStack()

    def close(self) -> None:
        """Give everything back; may be called again."""
        self._undo.close()

    def at_zygote(self, zygote: Zygote, request: Request, budget: MemoryBudget | None) -> None:
        """Take a forked child.

        Raises:
            OSError, EOFError: if the zygote is gone or cannot fork.
            SandboxError: if the memory budget has no room.
        """
        sealed = Mechanism.SEALED_MEMORY in zygote.mechanisms
        if budget is not None:
            needed = request.memory + self.places.input_bytes + self.places.output_bytes + zygote.own_memory
            self._undo.callback(budget.reserve(math.ceil(needed / (1 << 20))).release)
        self._take_regions(sealed=sealed)
        program = request.program()
        here, there = socket.socketpair()
        try:
            descriptors = [there.fileno(), self.inputs.descriptor, self.outputs.descriptor]
            zygote.request_spawn(descriptors, self._numbers(zygote.mechanisms, request))
            sent = here.send(program, socket.MSG_DONTWAIT)  # waits in the line while the child is being forked
            pid, handle = zygote.spawned()
        except BaseException as error:
            here.close()
            if not isinstance(error, (OSError, EOFError)):
                zygote.stop()  # interrupted between question and answer: its line is out of step
            raise
        finally:
            there.close()
        self.inputs.forget_descriptor()
        self.outputs.forget_descriptor()
        self.connection = ZygoteConnection(zygote, pid, handle, here, memoryview(self.outputs.memory))
        self._undo.callback(self.connection.close)
        self.connection.limit(request.limits.start_seconds)
        if sent < len(program):
            self.connection.send(program[sent:])

    def _numbers(self, mechanisms: Mechanism, request: Request) -> tuple[int, ...]:
        walls = mechanisms if Layers.OS in request.layers else mechanisms & ~_OS_WALLS
        flags = (1 if Layers.STATIC in request.layers else 0) | (2 if request.compiled else 0)
        return (
            int(walls),
            request.memory,
            math.ceil(request.limits.cpu_seconds * 1000),
            flags,
            self.places.input_bytes,
            self.places.output_bytes,
        )

    def alone(self, request: Request) -> None:
        """Take a process without a zygote."""
        folder = TemporaryDirectory(prefix="sandbox-", ignore_cleanup_errors=True)
        self._undo.callback(folder.cleanup)
        paths = [Path(folder.name) / name for name in ("inputs", "outputs")]
        self._take_regions(sealed=False, paths=paths)
        order: dict[str, Any] = {
            "static": Layers.STATIC in request.layers,
            "input_bytes": self.places.input_bytes,
            "output_bytes": self.places.output_bytes,
        }
        self.connection = LoneConnection(paths[0], paths[1], order, memoryview(self.outputs.memory))
        self._undo.callback(self.connection.close)
        self.connection.limit(request.limits.start_seconds)
        self.connection.send(request.program())

    def _take_regions(self, *, sealed: bool, paths: list[Path] | None = None) -> None:
        first, second = paths or (None, None)
        self.inputs = Region(self.places.input_bytes, child_writes=False, sealed=sealed, path=first)
        self._undo.callback(self.inputs.close)
        self.outputs = Region(self.places.output_bytes, child_writes=True, sealed=sealed, path=second)
        self._undo.callback(self.outputs.close)
