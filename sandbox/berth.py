"""What one child takes: two regions of shared memory, a process with a line to it, a share of the memory budget.

Defends against: a spawn that fails half-way. All that was taken before is given back, and a lack of the parent's own
(memory, descriptors, a block too large) fails that spawn alone: the zygote and its other children go on.

Does not defend against: a child that has been forked; `connection`, `regions` and the child's own walls do.
"""

import enum
import json
import math
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sandbox.budget import MemoryBudget
from sandbox.connection import Connection, ZygoteConnection
from sandbox.errors import SandboxError
from sandbox.frames import LENGTH
from sandbox.launch import Zygote
from sandbox.levels import Mechanism
from sandbox.lone import LoneConnection
from sandbox.placement import Placement, place
from sandbox.regions import Region
from sandbox.values import Layout, Limits, layout_to_json

_COMPILER_MB = 384
"""What a compiler may use beside the program's own limit."""
_COMPILER_OWN_MB = 192
"""What a compiling child may have to copy from its zygote; fixed, so that no outcome hangs on how far that has got."""
_MOST = 1 << 62
"""Limits above this mean none; larger numbers do not fit a frame."""

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
        return min((self.limits.memory_mb + (_COMPILER_MB if self.compiled else 0)) << 20, _MOST)

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


class ZygoteLost(Exception):  # noqa: N818 - an event, which the sandbox answers with a new zygote
    """The zygote ended, or stopped answering, while it was asked for a child."""


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

    def megabytes(self, request: Request, own_memory: int) -> int:
        """What a child reserves of a memory budget: its worst case.

        Args:
            request: what is asked for.
            own_memory: bytes that it may have to copy from its zygote; a compiling child has a fixed allowance instead.
        """
        own = _COMPILER_OWN_MB << 20 if request.compiled else own_memory
        return math.ceil((request.memory + self.places.input_bytes + self.places.output_bytes + own) / (1 << 20))

    def at_zygote(self, zygote: Zygote, request: Request, budget: MemoryBudget | None) -> None:
        """Take a forked child.

        Raises:
            ZygoteLost: if the zygote is gone.
            SandboxError: if this process lacks memory or descriptors, the zygote cannot fork, or the memory budget has
                no room. The zygote and its other children go on.
        """
        if budget is not None:
            self._undo.callback(budget.reserve(self.megabytes(request, zygote.own_memory)).release)
        with self._own_failure():
            self._take_regions(sealed=Mechanism.SEALED_MEMORY in zygote.mechanisms)
            program = request.program()
            here, there = socket.socketpair()
        self._undo.callback(here.close)
        with there:
            pid, handle, sent = self._fork(zygote, request, (here, there), program)
        self.inputs.forget_descriptor()
        self.outputs.forget_descriptor()
        self.connection = ZygoteConnection(zygote, pid, handle, here, memoryview(self.outputs.memory))
        self._undo.callback(self.connection.close)
        self.connection.limit(request.limits.start_seconds)
        if sent < len(program):
            self.connection.send(program[sent:])

    def _fork(
        self, zygote: Zygote, request: Request, line: tuple[socket.socket, socket.socket], program: bytes
    ) -> tuple[int, int | None, int]:
        """Have a child forked; returns its process id, its handle, and how much of the program waits in its line."""
        here, there = line
        descriptors = [there.fileno(), self.inputs.descriptor, self.outputs.descriptor]
        numbers = self._numbers(zygote.mechanisms, request)
        sent = 0
        try:
            try:
                zygote.request_spawn(descriptors, numbers)
            except OSError as error:
                if not zygote.is_gone(error):
                    raise self._without(error) from None
                raise
            with suppress(OSError):  # the rest is sent once the child is there to take it
                sent = here.send(program, socket.MSG_DONTWAIT)
            return *zygote.spawned(), sent
        except (OSError, EOFError) as error:
            raise ZygoteLost(f"{type(error).__name__} {error}".strip()) from None
        except SandboxError:
            raise
        except BaseException:
            zygote.stop()  # interrupted between question and answer: its line is out of step
            raise

    @contextmanager
    def _own_failure(self) -> Iterator[None]:
        """What this process lacks costs one spawn, and nothing else."""
        try:
            yield
        except (OSError, OverflowError, MemoryError) as error:
            raise self._without(error) from None

    def _without(self, error: OSError | OverflowError | MemoryError) -> SandboxError:
        shared = math.ceil((self.places.input_bytes + self.places.output_bytes) / (1 << 20))
        reason = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
        return SandboxError(
            f"a child that shares {shared} MB with its caller cannot be started: {reason}: lower max_rows, or free memory "
            "and open files"
        )

    def _numbers(self, mechanisms: Mechanism, request: Request) -> tuple[int, ...]:
        walls = mechanisms if Layers.OS in request.layers else mechanisms & ~_OS_WALLS
        flags = (1 if Layers.STATIC in request.layers else 0) | (2 if request.compiled else 0)
        return (
            int(walls),
            request.memory,
            min(math.ceil(request.limits.cpu_seconds * 1000), _MOST),
            flags,
            self.places.input_bytes,
            self.places.output_bytes,
        )

    def alone(self, request: Request) -> None:
        """Take a process without a zygote.

        Raises:
            SandboxError: if this process lacks memory, descriptors or room for files.
        """
        with self._own_failure():
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
