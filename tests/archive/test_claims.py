"""One engine per run at a time, and the claim of a dead one free at once."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from archive import Archive, ClaimError, claims

HOLD = """
import sys, time
from archive import Archive
archive = Archive.open(sys.argv[1])
archive.claim(sys.argv[2])
print("claimed", flush=True)
time.sleep(600)
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "evolve.db")


@pytest.fixture
def archive(path):
    with Archive.open(path) as archive:
        yield archive


@pytest.fixture
def holder(path, run):
    """Another process that has claimed the run."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, path, run.id], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "claimed\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_live_owner_is_named(archive, run, holder):
    assert archive.claimant(run.id).pid == holder.pid
    assert archive.claimant(run.id).alive
    with pytest.raises(
        ClaimError, match=rf"run inventory-1 .* process {holder.pid} on this machine.*kill {holder.pid}"
    ):
        archive.claim(run.id)
    with pytest.raises(ClaimError, match=str(holder.pid)):
        archive.set_status(run.id, "failed")


def test_a_killed_owners_claim_is_taken_over_at_once(archive, run, holder):
    holder.kill()
    holder.wait()
    assert not archive.claimant(run.id).alive
    assert archive.claim(run.id).pid == os.getpid()


def test_an_owner_that_is_dead_but_not_yet_buried_is_dead(archive, run, holder):
    """A killed process whose parent has not asked for its exit code yet keeps its number."""
    os.kill(holder.pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while archive.claimant(run.id).alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert archive.claim(run.id).pid == os.getpid()


def test_a_later_process_of_the_same_number_is_another(archive, run, holder, monkeypatch):
    monkeypatch.setattr(claims, "started", lambda _: "at another time")
    assert not archive.claimant(run.id).alive
    archive.claim(run.id)


def test_on_another_machine_the_sign_of_life_decides(archive, run, holder, monkeypatch):
    monkeypatch.setattr(claims, "_machine", lambda: "elsewhere")
    with pytest.raises(ClaimError, match=rf"process {holder.pid} on .* try again in \d+ s"):
        archive.claim(run.id)
    late = time.time() + claims.EXPIRY + 1
    monkeypatch.setattr(time, "time", lambda: late)
    assert not archive.claimant(run.id).alive
    archive.claim(run.id)


def test_a_sign_of_life_is_written_when_it_is_due(archive, run, monkeypatch):
    claimed = archive.claim(run.id)
    archive.beat(run.id)
    assert archive.claimant(run.id).beat == claimed.beat
    later = time.monotonic() + claims.BEAT + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    archive.beat(run.id)
    assert archive.claimant(run.id).beat > claimed.beat


def test_a_commit_is_a_sign_of_life(archive, run, program, monkeypatch):
    claimed = archive.claim(run.id)
    archive.commit(run.id, [program(1)])
    assert archive.claimant(run.id).beat == claimed.beat
    later = time.monotonic() + claims.BEAT + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    archive.commit(run.id, [program(2)])
    assert archive.claimant(run.id).beat > claimed.beat


def test_a_process_that_the_system_hides_may_be_alive(archive, run, holder, monkeypatch):
    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(claims, "started", lambda _: None)
    monkeypatch.setattr(os, "kill", refuse)
    with pytest.raises(ClaimError, match=str(holder.pid)):
        archive.claim(run.id)
    monkeypatch.undo()


def test_only_an_owner_gives_signs_of_life(archive, run):
    with pytest.raises(ClaimError, match="claim it first"):
        archive.beat(run.id)


def test_an_owner_that_was_taken_over_writes_nothing_more(archive, path, run, program, monkeypatch):
    """As when a laptop wakes up whose run was resumed elsewhere."""
    archive.claim(run.id)
    with Archive.open(path) as other:
        with monkeypatch.context() as patch:
            patch.setattr(claims, "started", lambda _: None)
            other.claim(run.id)
        with pytest.raises(ClaimError, match="process"):
            archive.commit(run.id, [program(1)])
        archive.release(run.id)
        assert other.claimant(run.id).alive  # releasing gave nobody else's claim away
        assert list(other.programs(run.id)) == []


def test_of_many_at_once_one_wins(archive, path, run):
    won, lost = [], []
    opened = [Archive.open(path) for _ in range(6)]

    def attempt(rival: Archive) -> None:
        try:
            rival.claim(run.id)
            won.append(rival)
        except ClaimError:
            lost.append(rival)

    threads = [threading.Thread(target=attempt, args=(rival,)) for rival in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 5)
    for rival in opened:
        rival.close()


def test_without_proc_the_start_time_comes_from_ps():
    started = claims._started_by_ps(os.getpid())
    if started is None:
        pytest.skip("ps is not installed here")
    assert started == claims._started_by_ps(os.getpid())
    assert claims._started_by_ps(2**22 + 1) is None
