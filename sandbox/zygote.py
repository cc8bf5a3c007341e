"""The zygote: a process without secrets that forks a child per program.

Defends against: children that inherit the caller's environment, open files, threads or keys. The zygote is started by
exec with an environment of its own and never by a fork of the caller. It imports and warms up what children need, gives
up root, and then only forks and reaps. It reads nothing that a child has written.

Does not defend against: its own parent, whom it trusts, and being killed from outside: its children end with it then, and
their failures say so.

It ends when its parent ends or hangs up; its children end with it (the kernel sees to that on Linux).
"""

import gc
import os
import select
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress

from sandbox import inside, lockdown, regions
from sandbox.frames import CONTROL, Code, Command
from sandbox.levels import Mechanism
from sandbox.warm import idle_work, warm_up

_IDLE_MILLISECONDS = 500
_REAP_MILLISECONDS = 2
_SOCKET = 3
"""The descriptor a child keeps for its line to the parent."""


def main(control: int, allowed: int, *, compiling: bool) -> None:
    """Serve one parent until it ends.

    Args:
        control: descriptor of the socket to the parent.
        allowed: mechanisms that may be used, as a number; tests allow fewer than the machine has.
        compiling: whether to warm up the compiler.
    """
    parent = os.getppid()
    line = socket.socket(fileno=control)
    line.set_inheritable(False)
    os.environ.clear()
    os.chdir("/")
    os.umask(0o077)
    sys.argv.clear()
    sys.orig_argv.clear()
    warnings.simplefilter("ignore")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the parent decides when this ends, by hanging up
    warm_up(compiling=compiling)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("1000")  # if the machine runs out of memory, this goes first
    unprivileged = lockdown.drop_root() if allowed & Mechanism.UNPRIVILEGED else False
    hidden = lockdown.hide()
    watch = _watch(parent)
    mechanisms = _try_mechanisms(
        Mechanism(allowed),
        (Mechanism.UNPRIVILEGED if unprivileged else Mechanism(0))
        | (Mechanism.HIDDEN if hidden else Mechanism(0))
        | (Mechanism.PIDFD if watch is not None else Mechanism(0)),
    )
    lockdown.prepare(mechanisms, _SOCKET)
    _freeze()
    line.sendall(CONTROL.pack(os.getpid(), int(mechanisms), _own_memory(), 0, 0, 0, 0, 0))
    os.dup2(0, 2)  # complaints went to the parent until now; 0 is the null device
    _Zygote(line, watch, mechanisms, idle_work() if compiling else iter(())).serve()


def _freeze() -> None:
    """Keep a child's collector from touching, and so copying, what it shares with the zygote."""
    gc.collect()
    gc.freeze()


def _watch(parent: int) -> int | None:
    """A descriptor that becomes readable when the parent ends, whoever else still holds its end of the socket."""
    try:
        watch = os.pidfd_open(parent)
    except (OSError, AttributeError):
        return None
    if os.getppid() != parent:
        os._exit(0)
    return watch


def _own_memory() -> int:
    """Bytes that a child may have to copy, at worst, by changing what it shares with the zygote."""
    with suppress(OSError), open("/proc/self/status", "rb") as file:  # noqa: PTH123
        for row in file:
            if row.startswith(b"RssAnon:"):
                return int(row.split()[1]) * 1024
    return 0


def _try_mechanisms(allowed: Mechanism, known: Mechanism) -> Mechanism:
    """What works here: what is known to, and what a child can do."""
    found = known | Mechanism.FORK
    if regions.can_seal():
        found |= Mechanism.SEALED_MEMORY
    zygote = os.getpid()
    if _works(lambda: lockdown.die_with_parent(zygote)):
        found |= Mechanism.PARENT_DEATH
    tried = Mechanism(0)
    for wall in (Mechanism.NO_NEW_PRIVILEGES, Mechanism.LANDLOCK, Mechanism.RLIMITS, Mechanism.SECCOMP):
        needed = wall | Mechanism.NO_NEW_PRIVILEGES if wall & allowed & ~Mechanism.RLIMITS else wall
        if _stands(needed):
            tried |= wall
    return (found | tried) & allowed


def _stands(walls: Mechanism) -> bool:
    """Whether a child can put up these walls, and they bite."""
    here, there = socket.socketpair()

    def trial() -> None:
        os.dup2(there.fileno(), _SOCKET)
        lockdown.lock_down(walls, lockdown.Bounds(memory=1 << 28, cpu_seconds=10), _SOCKET, compiling=False)
        if walls & (Mechanism.LANDLOCK | Mechanism.SECCOMP) and not lockdown.bites():
            os._exit(2)

    with here, there:
        return _works(trial)


def _works(trial: Callable[[], None]) -> bool:
    """Whether a forked child gets through a trial."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            trial()
            code = 0
        except (OSError, ValueError):
            code = 3
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return status == 0


class _Zygote:
    """Serves requests one at a time."""

    def __init__(self, line: socket.socket, watch: int | None, mechanisms: Mechanism, idle: Iterator[None]) -> None:
        self.line, self.watch, self.mechanisms, self.idle = line, watch, mechanisms, idle
        self.children: set[int] = set()
        self.dying: list[int] = []  # killed, but not yet reaped

    def serve(self) -> None:
        poll = select.poll()
        poll.register(self.line, select.POLLIN)
        if self.watch is not None:
            poll.register(self.watch, select.POLLIN)
        working = True
        while True:
            pause = _REAP_MILLISECONDS if self.dying else _IDLE_MILLISECONDS if working else None
            ready = {descriptor for descriptor, _ in poll.poll(pause)}
            if self.watch in ready:
                return
            self.dying = [pid for pid in self.dying if not _reaped(pid)]
            if not ready:  # nothing asked for a while
                if not self.dying and working:
                    working = next(self.idle, self) is None
                    _freeze()
                continue
            request, descriptors, _, _ = socket.recv_fds(self.line, CONTROL.size, 3, socket.MSG_WAITALL)
            if len(request) < CONTROL.size:
                return
            command, *arguments = CONTROL.unpack(request)
            if command == Command.SPAWN:
                self._spawn(arguments, descriptors)
            else:
                self._end(arguments[0], tell=command == Command.REAP)

    def _end(self, pid: int, *, tell: bool) -> None:
        """Have a child ended; wait for it only if its end is to be told."""
        mine = pid in self.children  # else the number may mean any process
        self.children.discard(pid)
        if tell:
            self.line.sendall(CONTROL.pack(pid, _end(pid) if mine else -1, 0, 0, 0, 0, 0, 0))
        elif mine:
            _kill(pid)
            self.dying.append(pid)  # its end takes a while, in which another can be forked

    def _spawn(self, arguments: list[int], descriptors: list[int]) -> None:
        walls, memory, cpu_milliseconds, flags, input_bytes, output_bytes, _ = arguments
        order = inside.Order(
            walls=Mechanism(walls) & self.mechanisms,
            bounds=lockdown.Bounds(memory=memory, cpu_seconds=cpu_milliseconds / 1000),
            static=bool(flags & 1),
            compiling=bool(flags & 2),
            input_bytes=input_bytes,
            output_bytes=output_bytes,
        )
        zygote = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            _close(descriptors)
            self.line.sendall(CONTROL.pack(-(error.errno or 1), 0, 0, 0, 0, 0, 0, 0))
            return
        if pid == 0:
            _become_child(zygote, order, descriptors)
        self.children.add(pid)
        _close(descriptors)
        self._tell(pid)

    def _tell(self, pid: int) -> None:
        reply = CONTROL.pack(pid, _own_memory(), 0, 0, 0, 0, 0, 0)
        try:
            handle = os.pidfd_open(pid) if Mechanism.PIDFD in self.mechanisms else None
        except OSError:  # no memory, say: the parent then has its child killed by its zygote
            handle = None
        if handle is None:
            self.line.sendall(reply)
        else:
            socket.send_fds(self.line, [reply], [handle])
            os.close(handle)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _kill(pid: int) -> None:
    """Kill a child; it is our own and not reaped, so the number cannot mean another process."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _end(pid: int) -> int:
    """Make sure that a child is dead and gone; returns its wait status, or -1 if unknown."""
    _kill(pid)
    try:
        return os.waitpid(pid, 0)[1]
    except ChildProcessError:
        return -1


def _reaped(pid: int) -> bool:
    """Whether a killed child has been reaped by now."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _become_child(zygote: int, order: inside.Order, descriptors: list[int]) -> None:
    """Turn the forked process into a locked child; never returns."""
    code = 1
    try:
        if Mechanism.PARENT_DEATH in order.walls:
            lockdown.die_with_parent(zygote)
        inputs, outputs = inside.map_regions(order, descriptors[1], descriptors[2])
        os.dup2(descriptors[0], _SOCKET)
        os.closerange(_SOCKET + 1, 1 << 20)
        line = inside.Line(_SOCKET, _SOCKET, inputs, outputs)
        try:
            lockdown.lock_down(order.walls, order.bounds, _SOCKET, compiling=order.compiling)
        except OSError as error:
            line.say(0, Code.BROKEN, f"a wall could not be put up: {error}")
            return
        inside.live(line, order)
        code = 0
    finally:
        os._exit(code)
