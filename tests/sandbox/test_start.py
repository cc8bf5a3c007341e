"""A program has `start_seconds` once for its whole start, whatever it does in between; measured by the parent."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbox import ChildFailed, Field, Layout, Limits, Sandbox, host
from sandbox.berth import Berth, Request
from sandbox.errors import Kind
from sandbox.frames import Code

SOURCE = "def f(x):\n    return x\n"
LAYOUT = Layout(entry="f", fields=(Field(name="x"),))


@dataclass
class Story:
    """A child that takes a given time for each frame, on a clock of its own."""

    frames: list[tuple[float, Code | Kind]]
    now: float = 100.0
    limits: list[float] = field(default_factory=list)

    def perf_counter(self) -> float:
        return self.now

    def limit(self, seconds: float) -> None:
        self.limits.append(seconds)

    def receive(self, sequence: int) -> Code:
        takes, end = self.frames.pop(0)
        self.now += min(takes, max(self.limits[-1], 0.0))
        if takes > self.limits[-1]:
            raise ChildFailed("timeout", "as the story goes")
        if not isinstance(end, Code):
            raise ChildFailed(end, "as the story goes")
        return end

    def text(self) -> str:
        return "why"


def tell(monkeypatch: pytest.MonkeyPatch, *frames: tuple[float, Code | Kind], compiled: bool) -> tuple[Story, Any]:
    """Let a program start as the story goes, with ten seconds; returns the story, and the child's note or the failure."""
    story = Story(list(frames))

    def take(self: Sandbox, berth: Berth, request: Request) -> None:
        berth.connection = story  # type: ignore[assignment]

    monkeypatch.setattr(host, "perf_counter", story.perf_counter)
    monkeypatch.setattr(host, "Child", lambda **_: _Child())
    monkeypatch.setattr(Sandbox, "_take", take)
    monkeypatch.setattr(Sandbox, "level", "os-full")
    try:
        child = Sandbox().spawn(SOURCE, LAYOUT, limits=Limits(start_seconds=10.0), compiled=compiled)
    except ChildFailed as failure:
        return story, failure
    return story, child


class _Child:
    ready: Any
    compiled: bool
    note: str


def test_all_frames_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    story, child = tell(monkeypatch, (6.0, Code.CHECKED), (3.0, Code.READY), compiled=False)
    assert story.limits == [10.0, 4.0]
    assert child.ready.seconds == 9.0


def test_a_late_second_frame_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    story, failure = tell(monkeypatch, (6.0, Code.CHECKED), (4.5, Code.READY), compiled=False)
    assert (failure.kind, failure.detail) == ("timeout", "not ready within 10 s")
    assert story.now == 110.0


def test_a_compilation_is_given_up_after_half_and_the_rest_is_for_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = ((1.0, Code.CHECKED), (9.0, Code.READY), (1.0, Code.CHECKED), (0.5, Code.READY))
    story, child = tell(monkeypatch, *frames, compiled=True)
    assert story.limits == [10.0, 4.0, 5.0, 4.0]
    assert not child.compiled
    assert child.note == "compilation ended the process: timeout: not ready within 5 s"


def test_module_code_that_takes_most_of_it_is_not_given_as_much_again(monkeypatch: pytest.MonkeyPatch) -> None:
    story, failure = tell(monkeypatch, (9.0, Code.CHECKED), (1.0, "crashed"), (9.0, Code.CHECKED), compiled=True)
    assert failure.kind == "timeout"
    assert story.now <= 110.0


def test_a_compiler_that_crashes_leaves_the_rest_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[tuple[float, Code | Kind]]
    frames = [(1.0, Code.CHECKED), (2.0, "crashed"), (1.0, Code.CHECKED), (1.0, Code.READY)]
    story, child = tell(monkeypatch, *frames, compiled=True)
    assert story.limits == [10.0, 4.0, 7.0, 6.0]
    assert child.note.startswith("compilation ended the process: crashed")


def test_a_lost_zygote_is_not_taken_for_a_compiler_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    _, failure = tell(monkeypatch, (1.0, Code.CHECKED), (1.0, "sandbox"), compiled=True)
    assert failure.kind == "sandbox"
