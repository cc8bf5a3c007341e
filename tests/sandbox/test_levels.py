"""Weaker machines: each level works, is named honestly, and is refused where more is required."""

import os
import signal
import sys
from typing import Any

import numpy as np
import pytest

from sandbox import (
    ChildFailed,
    Field,
    Layout,
    Level,
    Limits,
    ParameterField,
    Refused,
    Sandbox,
    SandboxUnavailable,
    probe,
)
from sandbox.levels import NEEDED, Mechanism, level_of, report_of

LAYOUT = Layout(entry="f", fields=(Field(name="x"),))
WEAK = [Level.LANGUAGE_ONLY, Level.RLIMITS, Level.OS_PARTIAL]


def test_levels_compare_by_strength() -> None:
    assert sorted(Level, key=lambda level: level.strength) == [
        Level.LANGUAGE_ONLY, Level.RLIMITS, Level.OS_PARTIAL, Level.OS_FULL,
    ]  # fmt: skip
    assert Level.LANGUAGE_ONLY < Level.RLIMITS < Level.OS_PARTIAL < Level.OS_FULL
    assert Level.OS_FULL >= Level.OS_FULL > Level.OS_PARTIAL
    assert Level("os-full") is Level.OS_FULL
    assert str(Level.OS_PARTIAL) == "os-partial"


@pytest.mark.parametrize("level", list(Level))
def test_a_level_is_what_its_mechanisms_reach(level: Level) -> None:
    assert level_of(NEEDED[level]) is level


def test_one_missing_wall_lowers_the_level() -> None:
    whole = NEEDED[Level.OS_FULL]
    assert level_of(whole & ~Mechanism.LANDLOCK) is Level.OS_PARTIAL
    assert level_of(whole & ~Mechanism.UNPRIVILEGED) is Level.OS_PARTIAL
    assert level_of(whole & ~Mechanism.SECCOMP) is Level.RLIMITS
    assert level_of(whole & ~Mechanism.RLIMITS) is Level.LANGUAGE_ONLY


def test_what_is_missing_has_a_remedy() -> None:
    for wall in report_of(Mechanism.FORK).mechanisms:
        assert wall.purpose
        assert bool(wall.remedy) is not wall.present


@pytest.mark.skipif(sys.platform != "linux", reason="what this machine reaches is known for Linux only")
def test_probe() -> None:
    report = probe()
    assert report.level >= Level.RLIMITS
    assert {wall.name for wall in report.mechanisms} >= {"seccomp", "landlock", "rlimits", "no-new-privileges"}


@pytest.fixture(scope="module", params=WEAK, ids=str)
def weak(request: pytest.FixtureRequest) -> Any:
    with Sandbox(require=Level.LANGUAGE_ONLY, at_most=request.param) as sandbox:
        assert sandbox.level is request.param
        yield sandbox


def test_programs_run_at_weaker_levels(weak: Sandbox) -> None:
    source = "def f(x, *, a=1.0):\n    if x > 2.5:\n        raise ValueError\n    return a * x\n"
    layout = Layout(entry="f", fields=LAYOUT.fields, parameters=(ParameterField(name="a"),))
    with weak.spawn(source, layout, max_rows=4) as child:
        child.bind(np.array([[2.0], [3.0]]), np.array([0, 1, 0, 1]), np.zeros(4, int))
        for _ in range(3):
            block = child.call({"x": np.arange(4.0)})
            assert block.actions.tolist() == [0.0, 3.0, 4.0, 0.0]
            assert block.status.tolist() == [0, 0, 0, 1]


def test_refusals_at_weaker_levels(weak: Sandbox) -> None:
    with pytest.raises(Refused, match="import of `os`"):
        weak.spawn("import os\ndef f(x):\n    return x\n", LAYOUT)


def test_time_limits_at_weaker_levels(weak: Sandbox) -> None:
    limits = Limits(call_seconds=0.3)
    with weak.spawn("def f(x):\n    while True:\n        pass\n", LAYOUT, limits=limits) as child:
        child.bind(np.zeros((1, 0)))
        with pytest.raises(ChildFailed) as caught:
            child.call({"x": np.ones(1)})
        assert caught.value.kind == "timeout"


def test_a_child_that_ends_at_weaker_levels(weak: Sandbox) -> None:
    with weak.spawn("def f(x):\n    return x\n", LAYOUT) as child:
        child.bind(np.zeros((1, 0)))
        connection = child._connection
        os.kill(connection.pid if hasattr(connection, "pid") else connection.process.pid, signal.SIGKILL)
        with pytest.raises(ChildFailed):
            child.call({"x": np.ones(1)})


@pytest.mark.parametrize("level", WEAK, ids=str)
def test_too_weak_a_machine_is_refused_in_one_clear_line(level: Level) -> None:
    with Sandbox(require=Level.OS_FULL, at_most=level) as sandbox:
        with pytest.raises(
            SandboxUnavailable, match=f"only the level {level} on this machine, but os-full is required"
        ) as caught:
            _ = sandbox.level
        assert "\n" not in str(caught.value)
        with pytest.raises(SandboxUnavailable):
            sandbox.spawn("def f(x):\n    return x\n", LAYOUT)


def test_nothing_is_compiled_where_nothing_can_be_forked() -> None:
    with (
        Sandbox(require=Level.LANGUAGE_ONLY, at_most=Level.LANGUAGE_ONLY) as sandbox,
        sandbox.spawn("def f(x):\n    return x\n", LAYOUT, compiled=True) as child,
    ):
        assert "nothing is compiled" in child.note
        child.bind(np.zeros((1, 0)))
        assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]


def test_without_a_compiler_programs_run_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    from sandbox import launch

    monkeypatch.setattr(launch, "_COMPILER_PACKAGES", ("no_such_compiler",))
    with Sandbox() as sandbox:
        sandbox.warm_up(compiled=True)
        for _ in range(2):
            with sandbox.spawn("def f(x):\n    return x\n", LAYOUT, compiled=True) as child:
                assert "no_such_compiler is not installed" in child.note
                assert not child.ready.compiled
                child.bind(np.zeros((1, 0)))
                assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]


def test_a_broken_installation_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from sandbox import launch

    monkeypatch.setattr(launch, "_BOOT", "raise SystemExit('no numpy here')")
    with Sandbox() as sandbox, pytest.raises(SandboxUnavailable, match="no numpy here"):
        _ = sandbox.level
