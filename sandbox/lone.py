"""A child without a zygote, for systems that cannot fork: a Python process of its own per program.

This is the level `language-only`. Starting takes as long as starting Python. Windows has no more; elsewhere tests use it.

Defends against: a program that hangs, crashes or answers nonsense (a process boundary and wall limits), and one that would
read its caller's environment (it is started with an environment of its own).

Does not defend against: a program that breaks out of the language. The kernel confines nothing here, so it could do all
that its user can; inputs could be written, and memory and processor time are not bounded.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from sandbox.connection import Connection
from sandbox.errors import ChildFailed, Kind
from sandbox.frames import TOKEN
from sandbox.launch import command, environment, import_path

_BOOT = """
import sys
sys.path += sys.argv[2:]
from sandbox.lone import live_alone
live_alone(sys.argv[1])
"""


class LoneConnection(Connection):
    """A line to a Python process that runs one program, through its standard input and output.

    Args:
        inputs: path of the file that both sides map for inputs.
        outputs_path: path of the file that both sides map for outputs.
        order: what the child is told, as JSON values.
        outputs: the shared memory that the child writes.
    """

    def __init__(self, inputs: Path, outputs_path: Path, order: dict[str, Any], outputs: memoryview) -> None:
        super().__init__(outputs)
        told = json.dumps({**order, "inputs": str(inputs), "outputs": str(outputs_path)})
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
            command(_BOOT, told, *import_path(compiling=False)),
            env=environment(),
            cwd=tempfile.gettempdir(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.writer, self.reader = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.seconds = 0.0
        self.late = False
        self.open = True

    def near(self) -> None:
        """Nothing to do: a process per program is not for speed."""

    def limit(self, seconds: float) -> None:
        """Set how long an answer may take."""
        self.seconds = seconds

    def send(self, data: bytes) -> None:
        """Send bytes; see `Connection.send`."""
        try:
            sent = 0
            while sent < len(data):
                sent += os.write(self.writer, data[sent:])
        except OSError:
            raise self.fail(None, "") from None

    def _read(self) -> bytes:
        timer = threading.Timer(self.seconds, self._give_up)  # a pipe cannot be waited for with a limit everywhere
        timer.daemon = True
        timer.start()
        try:
            frame = os.read(self.reader, TOKEN.size)
        except OSError:
            frame = b""
        finally:
            timer.cancel()
        if self.late:
            raise self.fail("timeout", f"no answer within {self.seconds:g} s")
        return frame

    def _give_up(self) -> None:
        self.late = True
        self.process.kill()

    def fail(self, kind: Kind | None, detail: str) -> ChildFailed:
        """Kill the child and describe what happened."""
        self.close()
        return ChildFailed(kind or "crashed", detail or f"ended on its own with code {self.process.returncode}")

    def close(self) -> None:
        """End the child and free everything; may be called again."""
        if not self.open:
            return
        self.open = False
        self.let_go()
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


def live_alone(told: str) -> None:
    """The child's side: map the files, then live like any other child, but for the walls."""
    from sandbox import inside
    from sandbox.levels import Mechanism
    from sandbox.lockdown import Bounds
    from sandbox.warm import warm_up

    order = json.loads(told)
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # whatever a library prints must not reach the line
    sys.argv.clear()
    sys.orig_argv.clear()
    warm_up(compiling=False)
    regions = []
    for name, flags in (("inputs", os.O_RDONLY), ("outputs", os.O_RDWR)):
        regions.append(os.open(order[name], flags | getattr(os, "O_BINARY", 0)))
    numbers = inside.Order(
        walls=Mechanism(0),
        bounds=Bounds(memory=0, cpu_seconds=0.0),
        static=order["static"],
        compiling=False,
        input_bytes=order["input_bytes"],
        output_bytes=order["output_bytes"],
    )
    inside.live(inside.Line(reader, writer, *inside.map_regions(numbers, *regions)), numbers)
