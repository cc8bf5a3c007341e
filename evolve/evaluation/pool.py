"""The worker pool: starts trusted workers, hands them tasks, and replaces one that dies or hangs."""

import asyncio
import os
import pickle
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from evolve.errors import EvaluationError
from evolve.evaluation.echo import Echo, echo_pipe
from evolve.evaluation.memory import memory_account
from evolve.evaluation.tasks import Evaluation, Setup, Status, Task
from evolve.evaluation.worker import ENVIRONMENT, HEADER

_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")


def clean_environment() -> dict[str, str]:
    """This process's environment without anything that looks like a credential: workers need none."""
    kept = {
        name: value for name, value in os.environ.items() if not any(word in name.upper() for word in _SECRET_WORDS)
    }
    return kept | ENVIRONMENT


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    echo: Echo
    output: asyncio.ReadTransport
    level: Any = None

    async def ask(self, message: Any) -> Any:
        await _send(self.writer, message)
        return await _receive(self.reader)

    def kill(self) -> None:
        self.writer.close()
        self.process.kill()
        self.process.wait()

    async def last_words(self) -> str:
        """Why it ended, as far as that can be told."""
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                while not self.output.is_closing():  # it has ended, so its output will
                    await asyncio.sleep(0.01)
        code = self.process.returncode
        return f"exit code {code}: {self.echo.last_line}" if self.echo.last_line else f"exit code {code}"


async def _send(writer: asyncio.StreamWriter, message: Any) -> None:
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    writer.write(HEADER.pack(len(body)) + body)
    await writer.drain()


async def _receive(reader: asyncio.StreamReader) -> Any:
    (length,) = HEADER.unpack(await reader.readexactly(HEADER.size))
    return pickle.loads(await reader.readexactly(length))  # noqa: S301 - from a trusted worker of ours


class Pool:
    """A fixed number of workers; `submit` waits for a free one. An async context manager.

    Args:
        setup: what each worker loads.
        jobs: how many workers.
    """

    def __init__(self, setup: Setup, jobs: int) -> None:
        self._setup, self._jobs = setup, jobs
        self._idle: asyncio.Queue[_Worker | None] = asyncio.Queue()
        self._workers: list[_Worker] = []
        self._undo = ExitStack()
        self.level: Any = None

    async def __aenter__(self) -> Self:
        """Start all workers.

        Raises:
            EvolveError: what kept a worker from loading the problem.
            sandbox.SandboxError: what kept it from starting its sandbox.
        """
        account = self._undo.enter_context(memory_account())
        self._setup = replace(self._setup, memory_account=account)
        try:
            for worker in await asyncio.gather(*(self._start() for _ in range(self._jobs))):
                self._idle.put_nowait(worker)
        except BaseException:
            self._kill_all()
            raise
        self.level = self._workers[0].level
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._kill_all()

    def _kill_all(self) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()
        self._undo.close()

    async def submit(self, task: Task) -> Evaluation:
        """Run a task on the next free worker; one that hangs, or dies twice at it, costs this evaluation and is replaced."""
        worker = await self._idle.get()
        try:
            if worker is None:
                worker = await self._start()
            try:
                evaluation = await self._ask(worker, task)
            except (asyncio.IncompleteReadError, ConnectionError):
                # Somebody may have ended it from outside, as a system short of memory does: the result must not hang on
                # that. One that ends again at the same task does so by itself.
                self._discard(worker)
                worker = None
                worker = await self._start()
                evaluation = await self._ask(worker, task)
        except TimeoutError:
            evaluation = await self._lost(worker, f"hung for {self._setup.limits.evaluation_seconds:g} s")
            worker = None
        except (asyncio.IncompleteReadError, ConnectionError):
            evaluation = await self._lost(worker, "ended without an answer")
            worker = None
        except asyncio.CancelledError:
            # Its answer would be read as the next task's: the worker cannot be used again.
            self._discard(worker)
            worker = None
            raise
        finally:
            self._idle.put_nowait(worker)
        return evaluation

    async def _ask(self, worker: _Worker, task: Task) -> Evaluation:
        async with asyncio.timeout(self._setup.limits.evaluation_seconds):
            evaluation: Evaluation = await worker.ask(task)
        return evaluation

    async def _lost(self, worker: _Worker | None, what: str) -> Evaluation:
        assert worker is not None
        self._discard(worker)
        reason = f"the evaluator process {what} ({await worker.last_words()})"
        return Evaluation(status=Status.EVALUATOR, reason=reason)

    def _discard(self, worker: _Worker | None) -> None:
        if worker is not None:
            worker.kill()
            self._workers.remove(worker)

    async def _start(self) -> _Worker:
        ours, theirs = socket.socketpair()
        echo, output, writing = await echo_pipe()
        with theirs:
            command = [sys.executable, "-P", "-m", "evolve.evaluation.worker", str(theirs.fileno()), str(os.getpid())]
            process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                pass_fds=[theirs.fileno()],
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
            )
        os.close(writing)
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        worker = _Worker(process, reader, writer, echo, output)
        self._workers.append(worker)
        try:
            worker.level = await worker.ask(self._setup)
        except (asyncio.IncompleteReadError, ConnectionError):
            self._discard(worker)
            ended = await worker.last_words()
            raise EvaluationError(f"an evaluator process ended while it loaded the problem ({ended})") from None
        if isinstance(worker.level, Exception):
            raise worker.level
        return worker
