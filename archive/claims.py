"""Claims: one engine per run at a time, and the claim of a dead one free at once.

On the same machine a claim is dead when its process is: it has ended, or its number belongs to a process that started
at another time. Another machine (or container) cannot look, so there it is dead when no sign of life came for `EXPIRY`
seconds. Every write of the claimant checks the claim's token in its own transaction: a process that was suspended,
and whose run was taken over meanwhile, writes nothing.
"""

import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, insert, select, update

from archive.errors import ClaimError
from archive.reading import moment
from archive.records import ClaimRecord
from archive.tables import claims, runs

EXPIRY = 60.0
"""Seconds without a sign of life after which another machine may take a run over."""
BEAT = 10.0
"""Seconds between two signs of life."""

_CLAIM: Select[Any] = select(claims).where(claims.c.run_id == bindparam("run"))
_LOCK: Select[Any] = (
    select(runs.c.id, claims)
    .outerjoin(claims, claims.c.run_id == runs.c.id)
    .where(runs.c.name == bindparam("name"))
    .with_for_update(of=runs)
)
"""Finds a run and keeps other writers off it until the transaction ends (SQLite has but one writer anyway)."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process as others can recognise it.

    Args:
        host: name of its machine, for people.
        machine: what tells machines (and containers, and boots) apart.
        pid: its number.
        started: when it started, in the system's own words; tells it from a later process of the same number.
    """

    host: str
    machine: str
    pid: int
    started: str

    @classmethod
    def own(cls) -> "Process":
        """This process."""
        pid = os.getpid()
        return cls(socket.gethostname(), _machine(), pid, started(pid) or "")


def lock(connection: Connection, name: str) -> Row[Any] | None:
    """The run's `id` and its claim, if any, held until the transaction ends."""
    return connection.execute(_LOCK, {"name": name}).one_or_none()


def check(row: Row[Any], name: str, token: str | None) -> None:
    """Check that the run is not claimed by someone else, and that `token`, if any, still holds.

    Raises:
        ClaimError: otherwise.
    """
    if row.token == token:
        return
    if row.token is not None:
        owner = f"run {name} belongs to process {row.pid} on {row.host}"
        if _alive(row):
            raise ClaimError(f"{owner}: stop that process, or wait until it is done")
        raise ClaimError(f"{owner}, which has ended: claim the run first")
    raise ClaimError(f"run {name} was taken from this process and has been released: resume it to go on")


def take(connection: Connection, row: Row[Any], name: str, token: str) -> ClaimRecord:
    """Claim a run, whose row `lock` gave, for this process; its own claim it keeps.

    Raises:
        ClaimError: if a live process has it.
    """
    if row.token not in {None, token} and _alive(row):
        raise ClaimError(_busy(row, name))
    own, now = Process.own(), time.time()
    since = row.since if row.token == token else now
    connection.execute(delete(claims).where(claims.c.run_id == row.id))
    connection.execute(
        insert(claims),
        {
            "run_id": row.id,
            "token": token,
            "host": own.host,
            "machine": own.machine,
            "pid": own.pid,
            "started": own.started,
            "since": since,
            "beat": now,
        },
    )
    return ClaimRecord(host=own.host, pid=own.pid, since=moment(since), beat=moment(now), alive=True)


def beat(connection: Connection, run: int) -> None:
    """Write a sign of life."""
    connection.execute(update(claims).where(claims.c.run_id == run), {"beat": time.time()})


def give_back(connection: Connection, run: int, token: str) -> None:
    """Release a run, if the claim is still `token`'s."""
    connection.execute(delete(claims).where(claims.c.run_id == run, claims.c.token == token))


def holder(connection: Connection, run: int) -> ClaimRecord | None:
    """Who has a run."""
    row = connection.execute(_CLAIM, {"run": run}).one_or_none()
    if row is None:
        return None
    return ClaimRecord(host=row.host, pid=row.pid, since=moment(row.since), beat=moment(row.beat), alive=_alive(row))


def _alive(row: Row[Any]) -> bool:
    if row.machine == _machine() and row.started and not _hidden(row.pid):
        return bool(started(row.pid) == row.started)
    return bool(time.time() - row.beat < EXPIRY)


def _busy(row: Row[Any], name: str) -> str:
    if row.machine == _machine():
        return f"run {name} is being worked on by process {row.pid} on this machine: stop it first (kill {row.pid})"
    left = max(1, round(EXPIRY - (time.time() - row.beat)))
    return (
        f"run {name} is being worked on by process {row.pid} on {row.host}: stop it there first, or, if that machine "
        f"is gone, try again in {left} s"
    )


@cache
def _machine() -> str:
    """Host name, and on Linux boot and process namespace: only where all agree do process numbers mean the same."""
    parts = [socket.gethostname()]
    boot = Path("/proc/sys/kernel/random/boot_id")
    if boot.exists():
        parts += [boot.read_text().strip(), str(Path("/proc/self/ns/pid").stat().st_ino)]
    return "/".join(parts)


def started(pid: int) -> str | None:
    """When a process of this machine started, in the system's own words; None if it has ended or none can be seen."""
    if Path("/proc/self/stat").exists():
        try:
            state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if state in "ZX" else fields[18]  # 22nd field of proc(5): clock ticks from boot to start
    return _started_by_ps(pid)


def _hidden(pid: int) -> bool:
    """Whether a process is another user's: a system may not show when it started, nor that it is there at all."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return started(pid) is None
    except ProcessLookupError:
        pass
    return False


def _started_by_ps(pid: int) -> str | None:
    program = shutil.which("ps")
    if program is None:
        return None  # as on Windows: claims made there end by `EXPIRY`
    words = subprocess.run([program, "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603
    return words.stdout.strip() or None
