"""A child follows its parent's processor while calls are frequent, and is let go when they are not."""

import os
import sys
import time

import numpy as np
import pytest

from sandbox import Field, Layout, Sandbox, nearness
from sandbox.nearness import Nearness

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processors are set on Linux")

EVERYWHERE = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
LAYOUT = Layout(entry="f", fields=(Field(name="x"),))


@pytest.fixture
def moves(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """Where a child is moved, without moving one; the parent runs on processor 5 of 8."""
    moves: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, where: moves.append(set(where)))
    monkeypatch.setattr(nearness, "current_processor", lambda: 5)
    return moves


def test_it_is_moved_once_while_the_parent_stays(moves: list[set[int]]) -> None:
    near = Nearness(1)
    near.start()
    for _ in range(500):
        near.call()
    near.start()
    assert moves == [{5}]


def test_it_follows(moves: list[set[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    near = Nearness(1)
    near.start()
    monkeypatch.setattr(nearness, "current_processor", lambda: 2)
    for _ in range(nearness._WINDOW):
        near.call()
    assert moves == [{5}, {2}]


def test_it_is_let_go_when_calls_are_rare(moves: list[set[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    near = Nearness(1)
    near.start()
    monkeypatch.setattr(nearness, "perf_counter", lambda: time.perf_counter() + 100.0)
    for _ in range(nearness._WINDOW):
        near.call()
    assert moves == [{5}, set(range(8))]


def test_nothing_is_moved_where_there_is_one_processor_or_none_is_told(
    moves: list[set[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {5})
    Nearness(1).start()
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    monkeypatch.setattr(nearness, "current_processor", lambda: None)
    Nearness(1).start()
    monkeypatch.delattr(os, "sched_getaffinity")
    Nearness(1).start()
    assert moves == []


def test_a_process_that_has_ended_is_no_matter() -> None:
    Nearness(2**22 + 1).start()


@pytest.mark.skipif(len(EVERYWHERE) < 2, reason="one processor")
def test_a_child_shares_one_processor(sandbox: Sandbox) -> None:
    with sandbox.spawn("def f(x):\n    return x\n", LAYOUT) as child:
        assert os.sched_getaffinity(child._connection.pid) == EVERYWHERE
        child.bind(np.zeros((1, 0)))
        assert len(os.sched_getaffinity(child._connection.pid)) == 1
        assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]
