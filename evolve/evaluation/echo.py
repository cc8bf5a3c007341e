"""What workers print, such as a plug-in author's own `print`: passed on to standard error, a whole line at a time.

So it neither tears a live display apart nor gets among the JSON lines on standard output, and the last of it can be told
when a worker dies.
"""

import asyncio
import os
import sys

from typing_extensions import override

TAIL_BYTES = 4096


class Echo(asyncio.Protocol):
    """The reading end of one worker's output."""

    def __init__(self) -> None:
        self._open, self._tail = b"", b""

    @override
    def data_received(self, data: bytes) -> None:
        whole, newline, self._open = (self._open + data).rpartition(b"\n")
        self._pass_on(whole + newline)
        if len(self._open) > TAIL_BYTES:
            self._pass_on(self._open)
            self._open = b""

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._open:
            self._pass_on(self._open + b"\n")
            self._open = b""

    def _pass_on(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-TAIL_BYTES:]
        sys.stderr.write(data.decode("utf-8", "replace"))
        sys.stderr.flush()

    @property
    def last_line(self) -> str:
        """The last line that is not empty."""
        lines = (self._tail + self._open).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


async def echo_pipe() -> tuple[Echo, asyncio.ReadTransport, int]:
    """A pipe whose reading end is passed on; returns it and the end to write to, which the caller closes."""
    reader, writer = os.pipe()
    file = os.fdopen(reader, "rb", buffering=0)
    transport, echo = await asyncio.get_running_loop().connect_read_pipe(Echo, file)
    return echo, transport, writer
