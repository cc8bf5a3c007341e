"""The parent's end of the line to one child: sending, waiting with a limit, killing, finding out why it ended.

Defends against: a child that never answers, answers too early, sends too much or ends. All of these end in one
`ChildFailed` and a dead child.

Does not defend against: a child that answers in time with whatever it likes; `sandbox.validation` looks at that.
"""

import os
import signal
import socket
import struct
from abc import ABC, abstractmethod
from contextlib import suppress

from sandbox import frames
from sandbox.errors import ChildFailed, Kind
from sandbox.frames import TOKEN, Code, printable
from sandbox.launch import Zygote
from sandbox.nearness import Nearness

_NAMED_REASONS: dict[str, tuple[Kind, str]] = {
    "SIGXCPU": ("cpu", "used up its processor time"),
    "SIGSYS": ("forbidden_call", "asked the kernel for something that is not allowed"),
    "SIGSEGV": ("crashed", "segmentation fault, for example from recursion too deep"),
    "SIGBUS": ("crashed", "bus error"),
    "SIGFPE": ("crashed", "arithmetic fault"),
    "SIGILL": ("crashed", "illegal instruction"),
    "SIGABRT": ("crashed", "aborted by a library"),
    "SIGKILL": ("crashed", "killed from outside, perhaps because the machine ran out of memory"),
}
_REASONS: dict[int, tuple[Kind, str]] = {
    getattr(signal, name): reason for name, reason in _NAMED_REASONS.items() if hasattr(signal, name)
}
_CODES = frozenset(Code)


class Connection(ABC):
    """A line to one child.

    Args:
        outputs: the shared memory that the child writes.
    """

    def __init__(self, outputs: memoryview) -> None:
        self.answer = outputs[: frames.HEADER_BYTES].cast("q")
        self.text_area = outputs[frames.TEXT_OFFSET : frames.TEXT_OFFSET + frames.TEXT_BYTES]

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            ChildFailed: if the child is gone.
        """

    @abstractmethod
    def _read(self) -> bytes:
        """A frame, or less if the line ends or time is up."""

    @abstractmethod
    def limit(self, seconds: float) -> None:
        """Set how long `_read` may wait."""

    @abstractmethod
    def near(self) -> None:
        """Calls are about to come: keep the child close, where that helps."""

    @abstractmethod
    def fail(self, kind: Kind | None, detail: str) -> ChildFailed:
        """Kill the child and describe what happened; with kind None, as its end tells."""

    @abstractmethod
    def close(self) -> None:
        """End the child and free everything; may be called again."""

    def let_go(self) -> None:
        """Release the shared memory, so that it can be unmapped at once rather than when it is collected."""
        self.answer.release()
        self.text_area.release()

    def receive(self, sequence: int) -> Code:
        """The end of the step that carries `sequence`.

        Raises:
            ChildFailed: if it does not come in time, or something else comes; the child is dead then.
        """
        return self._understand(sequence, self._read())

    def step(self, sequence: int) -> Code:
        """Ask for a step and wait for its end, as `receive` does."""
        token = TOKEN.pack(sequence, Code.DONE)
        self.send(token)
        frame = self._read()
        return Code.DONE if frame == token else self._understand(sequence, frame)

    def _understand(self, sequence: int, frame: bytes) -> Code:
        if len(frame) != TOKEN.size:
            raise self.fail(None, "sent half a frame") if not frame else self.fail("protocol", "sent half a frame")
        echoed, code = TOKEN.unpack(frame)
        if code == Code.BROKEN:
            text = self.text()
            raise (
                self.fail("memory", "ran out of memory") if text == "memory" else self.fail("crashed", printable(text))
            )
        if echoed != sequence or code not in _CODES:
            raise self.fail("protocol", "sent a frame that makes no sense")
        return Code(code)

    def text(self) -> str:
        """The text that came with a frame, as the child wrote it: hostile."""
        length = min(max(int(self.answer[frames.TEXT_LENGTH]), 0), frames.TEXT_BYTES)
        return bytes(self.text_area[:length]).decode("utf-8", "replace")


class ZygoteConnection(Connection):
    """A line to a child of a zygote.

    Args:
        zygote: whose child it is.
        pid: its process id.
        handle: descriptor to kill it by, or None.
        line: the parent's end of the socket.
        outputs: the shared memory that the child writes.
    """

    def __init__(self, zygote: Zygote, pid: int, handle: int | None, line: socket.socket, outputs: memoryview) -> None:
        super().__init__(outputs)
        self.zygote, self.pid, self.handle, self.line = zygote, pid, handle, line
        self.descriptor = line.fileno()
        self.seconds = 0.0
        self.open = True
        self.nearness = Nearness(pid)

    def near(self) -> None:
        """Move the child to the processor that its parent runs on."""
        self.nearness.start()

    def limit(self, seconds: float) -> None:
        """Set how long an answer may take."""
        if seconds != self.seconds:
            self.seconds = seconds
            whole, rest = divmod(max(seconds, 1e-3), 1)
            value = struct.pack("@ll", int(whole), int(rest * 1e6))
            self.line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
            self.line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)

    def send(self, data: bytes) -> None:
        """Send bytes; see `Connection.send`."""
        try:
            sent = os.write(self.descriptor, data)
            while sent < len(data):  # larger than the line's buffer
                sent += os.write(self.descriptor, data[sent:])
        except (BrokenPipeError, ConnectionResetError):
            raise self.fail(None, "") from None
        except BlockingIOError:
            raise self.fail("timeout", f"took nothing in for {self.seconds:g} s") from None

    def step(self, sequence: int) -> Code:
        """Ask for a step and wait for its end; see `Connection.step`."""
        self.nearness.call()
        return super().step(sequence)

    def _read(self) -> bytes:
        try:
            return os.read(self.descriptor, TOKEN.size)
        except BlockingIOError:
            raise self.fail("timeout", f"no answer within {self.seconds:g} s") from None
        except ConnectionResetError:
            return b""

    def fail(self, kind: Kind | None, detail: str) -> ChildFailed:
        """Kill the child and describe what happened."""
        if kind is not None:
            self.close()
            return ChildFailed(kind, detail)
        if not self.open:
            return ChildFailed("closed", "the child has been closed")
        status = self.zygote.reap(self.pid)  # how it ends was settled before its line broke
        self._release()
        if status is None:
            return ChildFailed(
                "sandbox", "the sandbox process ended, and this child with it; the program is not at fault"
            )
        if os.WIFSIGNALED(status):
            return ChildFailed(*_REASONS.get(os.WTERMSIG(status), ("crashed", f"signal {os.WTERMSIG(status)}")))
        code = os.WEXITSTATUS(status) if status >= 0 else None
        return ChildFailed("crashed", "ended on its own" if code is None else f"ended on its own with code {code}")

    def kill(self) -> None:
        """Kill the child at once, by its handle where there is one."""
        if self.open and self.handle is not None:
            with suppress(ProcessLookupError, PermissionError):  # gone already; or the zygote must do it
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    def close(self) -> None:
        """End the child and free everything; may be called again."""
        if self.open:
            self.kill()
            self.zygote.release(self.pid)
            self._release()

    def _release(self) -> None:
        self.open = False
        self.let_go()
        self.line.close()
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None
