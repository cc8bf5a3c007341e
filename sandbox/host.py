"""The sandbox as its caller sees it: it owns the zygotes and spawns a locked child per program.

Defends against: everything a child may do to its parent. The parent waits with a limit, copies before it looks, reads
frames of fixed size, kills by a handle and never unpickles.

Does not defend against: misuse by the trusted side, such as sharing one sandbox between threads.
"""

import json
import os
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from types import TracebackType
from typing import Self

from sandbox.berth import Berth, Layers, Request, ZygoteLost
from sandbox.budget import MemoryBudget
from sandbox.child import Child, Ready
from sandbox.connection import Connection
from sandbox.errors import ChildFailed, Refused, SandboxError, SandboxUnavailable
from sandbox.frames import Code, printable
from sandbox.launch import Zygote
from sandbox.levels import NEEDED, Level, Mechanism, Report, level_of, report_of
from sandbox.placement import VARIABLE_BYTES
from sandbox.static import check_program
from sandbox.text import MAX_BYTES
from sandbox.values import Layout, Limits

_COMPILATION = 0.5
"""Share of the time for a start after which a compilation is given up; the rest is for coming up plain."""


class Sandbox:
    """Spawns locked children. One per trusted worker process; not to be shared between threads or across a fork.

    Args:
        require: weakest level to accept.
        at_most: use no more than this level has, though the machine has more; for tests of weaker systems.
        budget: the memory budget that children draw on, if any.
    """

    def __init__(
        self, *, require: Level = Level.OS_PARTIAL, at_most: Level = Level.OS_FULL, budget: MemoryBudget | None = None
    ) -> None:
        self._require, self._at_most, self._budget = require, at_most, budget
        self._zygotes: dict[bool, Zygote] = {}
        self._children: set[Child] = set()
        self._owner = os.getpid()
        self._no_compiler: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all children and zygotes; may be called again. The next spawn starts anew."""
        for child in list(self._children):
            child.close()
        for zygote in self._zygotes.values():
            zygote.stop()
        self._zygotes.clear()

    @property
    def mechanisms(self) -> Mechanism:
        """The walls that children get, found out by a trial.

        Raises:
            SandboxUnavailable: if the sandbox process does not start.
        """
        if self._alone:
            return Mechanism(0)
        return self._zygote(compiling=False).mechanisms

    @property
    def level(self) -> Level:
        """The level that children get.

        Raises:
            SandboxUnavailable: if the sandbox process does not start, or the level is below what is required.
        """
        level = level_of(self.mechanisms)
        if level < self._require:
            walls = report_of(self.mechanisms | ~NEEDED[self._require]).mechanisms
            missing = ", ".join(wall.name for wall in walls if not wall.present)
            raise SandboxUnavailable(
                f"the sandbox reaches only the level {level} on this machine, but {self._require} is required; missing: "
                f"{missing}; `sandbox.probe` says what would supply each"
            )
        return level

    def warm_up(self, *, compiled: bool = False) -> None:
        """Start the processes that `spawn` will need; takes a second, or some if it is to compile.

        Raises:
            SandboxUnavailable: as `level`.
        """
        _ = self.level
        if compiled and not self._alone:
            with suppress(_CompilerFailedError):
                self._compiling_zygote()

    @property
    def _alone(self) -> bool:
        return self._at_most == Level.LANGUAGE_ONLY or not hasattr(os, "fork")

    def _zygote(self, *, compiling: bool) -> Zygote:
        if os.getpid() != self._owner:
            raise SandboxError("a sandbox cannot be used across a fork: make one in each worker process")
        zygote = self._zygotes.get(compiling)
        if zygote is None or not zygote.alive:
            if zygote is not None:
                zygote.stop()
            zygote = self._zygotes[compiling] = Zygote(NEEDED[self._at_most], compiling=compiling)
        return zygote

    def _compiling_zygote(self) -> Zygote:
        """The zygote that can compile.

        Raises:
            _CompilerFailedError: if there is none, for example because numba is not installed.
        """
        if self._no_compiler is None:
            try:
                return self._zygote(compiling=True)
            except SandboxUnavailable as error:
                self._no_compiler = f"nothing can be compiled here: {error}"
        raise _CompilerFailedError(self._no_compiler)

    def spawn(
        self,
        source: str,
        layout: Layout,
        *,
        limits: Limits | None = None,
        max_rows: int = 65_536,
        variable_bytes: int = VARIABLE_BYTES,
        compiled: bool = False,
        layers: Layers = Layers.ALL,
    ) -> Child:
        """Lock up a program in a process of its own.

        Args:
            source: the program; hostile.
            layout: its signature.
            limits: what it may use.
            max_rows: rows of the largest block it will be called with.
            variable_bytes: room for arguments whose length varies from call to call.
            compiled: compile it, if that works (and a compiling child fits in the memory budget); otherwise its rows run
                in plain Python, and `Child.note` says why.
            layers: for tests only.

        Returns:
            The child, ready to be bound.

        Raises:
            Refused: by the static layer.
            ChildFailed: if the program does not come up within its limits.
            SandboxUnavailable: as `level`; or the sandbox process has died and does not come back.
            SandboxError: if the memory budget has no room, or this process lacks memory or descriptors; other children
                are not touched.
        """
        if Layers.STATIC in layers:
            check_program(source, layout)  # the child does so again; here it saves a process, and the message is ours
        request = Request(
            source=source, layout=layout, limits=limits or Limits(), max_rows=max_rows, variable_bytes=variable_bytes,
            compiled=compiled, layers=layers,
        )  # fmt: skip
        _ = self.level
        began, seconds = perf_counter(), request.limits.start_seconds
        try:
            return self._spawn(request, seconds, began)
        except _CompilerFailedError as failure:
            child = self._spawn(replace(request, compiled=False), seconds - failure.seconds, began)
            child.note = str(failure)
            child.ready = replace(child.ready, note=child.note)
            return child

    def _spawn(self, request: Request, seconds: float, began: float) -> Child:
        """One attempt, with so many seconds for the program to come up."""
        berth = Berth(request.placement())
        try:
            self._take(berth, request)
            compiled, note = _await_program(berth, request, seconds)
            child = Child(berth=berth, request=request, on_close=self._children.discard)
        except BaseException:
            berth.close()
            raise
        child.ready = Ready(compiled=compiled, note=note, seconds=perf_counter() - began)
        child.compiled, child.note = compiled, note
        self._children.add(child)
        return child

    def _take(self, berth: Berth, request: Request) -> None:
        if self._alone:
            if request.compiled:
                raise _CompilerFailedError("nothing is compiled where each program has to start Python anew")
            berth.alone(request)
            return
        if request.compiled and self._budget is not None:
            megabytes = berth.megabytes(request, own_memory=0)
            if not self._budget.fits(megabytes):
                whole = self._budget.total_mb
                raise _CompilerFailedError(f"compiling takes {megabytes} MB, but the memory budget is {whole} MB")
        for last in (False, True):
            zygote = self._compiling_zygote() if request.compiled else self._zygote(compiling=False)
            try:
                berth.at_zygote(zygote, request, self._budget)
            except ZygoteLost as lost:
                berth.close()
                self._zygotes.pop(request.compiled).stop()  # it may have been killed: once more, with a new one
                if last:
                    raise SandboxUnavailable(f"the sandbox process does not work: {lost}") from None
            else:
                return


class _CompilerFailedError(Exception):
    """There is no compiler, or a program that is fine took it down or too long to compile.

    Args:
        note: which.
        seconds: time that the program has used up of that for its start.
    """

    def __init__(self, note: str, seconds: float = 0.0) -> None:
        super().__init__(note)
        self.seconds = seconds


def _await_program(berth: Berth, request: Request, seconds: float) -> tuple[bool, str]:
    """Wait until the program is ready, all in all for so long; returns whether it is compiled, and a note."""
    connection, began = berth.connection, perf_counter()
    code = _receive(connection, seconds, request.limits.start_seconds)
    if code == Code.REFUSED:
        raise _refusal(connection.text())
    allowed = seconds * _COMPILATION if request.compiled else seconds
    try:
        code = _receive(connection, allowed - (perf_counter() - began), allowed)
    except ChildFailed as failure:
        if request.compiled and failure.kind != "sandbox":
            used = perf_counter() - began
            raise _CompilerFailedError(f"compilation ended the process: {failure}", used) from None
        raise
    return code == Code.READY and request.compiled, printable(connection.text()) if code == Code.READY_PLAIN else ""


def _receive(connection: Connection, seconds: float, told: float) -> Code:
    """A frame of the start; if it is late, the error names the whole time that the start may take."""
    connection.limit(seconds)
    try:
        return connection.receive(0)
    except ChildFailed as failure:
        if failure.kind == "timeout":
            raise ChildFailed("timeout", f"not ready within {told:g} s") from None
        raise


def _refusal(text: str) -> Refused:
    """The refusal that a child reports, because of what module code did; hostile, so it is checked like anything else."""
    try:
        message, rule, line = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return Refused("the program was refused", rule="unknown")
    line = line if type(line) is int and 0 < line <= MAX_BYTES else None
    return Refused(printable(str(message))[1:-1], rule=printable(str(rule))[1:-1][:40], line=line)


def probe() -> Report:
    """What this machine's sandbox reaches, found out by trying; takes about a second.

    Raises:
        SandboxUnavailable: if the sandbox process does not start at all.
    """
    with Sandbox(require=Level.LANGUAGE_ONLY) as sandbox:
        return report_of(sandbox.mechanisms)
