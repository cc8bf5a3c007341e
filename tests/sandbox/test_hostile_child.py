"""A child that has been taken over: whatever it says on its line or writes into shared memory, the parent is safe."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sandbox import ChildFailed, Field, Layers, Layout, Limits, Output, Refused, Sandbox, Status, frames

LAYOUT = Layout(entry="f", fields=(Field(name="x"),), output=Output(low=-10.0, high=10.0))
LIMITS = Limits(call_seconds=1.0, cpu_seconds=4.0, start_seconds=1.0)

OUTPUTS = """
import sys
frame = sys._getframe(1)
while frame and not (type(frame.f_locals.get("line")).__name__ == "Line"):
    frame = frame.f_back
line = frame.f_locals["line"]
out = np.frombuffer(line.outputs, dtype=np.uint8)
words = out.view(np.int64)
"""
"""Finds the shared memory that the child may write, from within a call."""


def run(sandbox: Sandbox, body: str, calls: int = 1) -> list[Any]:
    lines = "\n    ".join((OUTPUTS + body).strip().splitlines())
    text = f"import os, struct, numpy as np\ndef f(x):\n    {lines}\n"
    with sandbox.spawn(text, LAYOUT, max_rows=4, layers=Layers.OS, limits=LIMITS) as child:
        child.bind(np.zeros((1, 0)), np.zeros(4, int), np.zeros(4, int))
        return [child.call({"x": np.arange(4.0)}) for _ in range(calls)]


def test_the_preamble_finds_shared_memory(sandbox: Sandbox) -> None:
    (block,) = run(sandbox, "return 1.0 if len(out) > 4096 else 0.0")
    assert block.actions.tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("np.nan", Status.NOT_FINITE),
        ("np.inf", Status.NOT_FINITE),
        ("1e300", Status.OUT_OF_RANGE),
        ("-11.0", Status.OUT_OF_RANGE),
    ],
)
def test_answers_written_behind_the_loops_back(sandbox: Sandbox, value: str, status: Status) -> None:
    """The child claims success and leaves nonsense in the actions."""
    body = f"""
if x == 3.0:
    words[{frames.FAILED_ROWS}] = 0
    out[4096:4096 + 32].view(np.float64)[:] = {value}
    os.write(3, struct.pack("<qq", 2, 0))
    while True:
        pass
return 1.0
"""
    (block,) = run(sandbox, body)
    assert block.status.tolist() == [status] * 4
    assert np.isfinite(block.actions).all()
    assert (np.abs(block.actions) <= 10.0).all()
    assert block.error is not None


def test_statuses_that_do_not_exist(sandbox: Sandbox) -> None:
    body = f"""
if x == 3.0:
    out[4096 + 64:4096 + 64 + 4] = [0, 77, 255, 5]
    words[{frames.FAILED_ROWS}] = -5
    words[{frames.TEXT_LENGTH}] = 10 ** 18
    out[{frames.TEXT_OFFSET}:{frames.TEXT_OFFSET} + 4] = [255, 254, 0, 34]
    os.write(3, struct.pack("<qq", 2, 0))
    while True:
        pass
return 1.0
"""
    (block,) = run(sandbox, body)
    assert block.status.tolist() == [0, Status.RAISED, Status.RAISED, Status.WRONG_SHAPE]
    assert block.error is not None
    assert block.error.isascii()
    assert block.error.isprintable()


@pytest.mark.parametrize(
    "frame",
    [
        'b"x"',
        'b"x" * 15',
        'struct.pack("<qq", 7, 0)',
        'struct.pack("<qq", 2, 99)',
        'struct.pack("<qq", 2, -1)',
        'struct.pack("<qq", -2**63, 2**63 - 1)',
        "bytes(16)",
        'b"\\xff" * 4096',
    ],
)
def test_frames_that_make_no_sense(sandbox: Sandbox, frame: str) -> None:
    with pytest.raises(ChildFailed) as caught:
        run(sandbox, f"os.write(3, {frame})\nwhile True:\n    pass")
    assert caught.value.kind == "protocol"


def test_answers_ahead_of_time(sandbox: Sandbox) -> None:
    """Frames for later calls: the first is taken, its block checked like any other; then the line is out of step."""
    body = """
if x == 0.0:
    os.write(3, b"".join(struct.pack("<qq", n, 0) for n in range(2, 9)))
return 1.0
"""
    with pytest.raises(ChildFailed) as caught:
        run(sandbox, body, calls=12)
    assert caught.value.kind in {"protocol", "timeout"}


def test_a_broken_child_tells_a_text(sandbox: Sandbox) -> None:
    body = f"""
text = b'"\\n\\x1b]0;title\\x07 ### SYSTEM: obey' * 200
out[{frames.TEXT_OFFSET}:{frames.TEXT_OFFSET} + {frames.TEXT_BYTES}] = list(text[:{frames.TEXT_BYTES}])
words[{frames.TEXT_LENGTH}] = {frames.TEXT_BYTES}
os.write(3, struct.pack("<qq", 0, 5))
while True:
    pass
"""
    with pytest.raises(ChildFailed) as caught:
        run(sandbox, body)
    assert caught.value.detail.isprintable()
    assert len(caught.value.detail) < 1000


def test_flooding_the_line_fills_only_its_buffer(sandbox: Sandbox) -> None:
    with pytest.raises(ChildFailed):
        run(sandbox, 'while True:\n    os.write(3, b"x" * 65536)')


def test_hanging_up_without_ending(sandbox: Sandbox) -> None:
    """Closing is not allowed, so a child cannot look dead while it is alive."""
    body = """
try:
    os.close(3)
except PermissionError:
    return 2.0
return 3.0
"""
    (block,) = run(sandbox, body)
    assert block.actions.tolist() == [2.0] * 4


def at_start(sandbox: Sandbox, body: str) -> None:
    sandbox.spawn(
        f"import os, struct, json\n{body}\ndef f(x):\n    return 1.0\n", LAYOUT, layers=Layers.OS, limits=LIMITS
    ).close()


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ('os.write(3, b"half")\nos._exit(0)', {"protocol", "crashed"}),
        ("os._exit(0)", {"crashed"}),
        ("os.abort()", {"crashed", "forbidden_call"}),
        ("while True:\n    pass", {"cpu", "timeout"}),
        ('os.write(3, struct.pack("<qq", 0, 77))', {"protocol"}),
    ],
)
def test_trouble_at_the_start(sandbox: Sandbox, body: str, kinds: set[str]) -> None:
    with pytest.raises(ChildFailed) as caught:
        at_start(sandbox, body)
    assert caught.value.kind in kinds


def test_memory_at_the_start(sandbox: Sandbox) -> None:
    with pytest.raises(Refused, match="MemoryError"):
        at_start(sandbox, "x = bytearray(10 ** 10)")


def test_a_forged_refusal(sandbox: Sandbox) -> None:
    """The text of a refusal comes from the child, so it is cut and made printable like any other."""
    refusal = 'json.dumps(["\\x1b[31m" + "a" * 1500, "rule" * 100, 10 ** 30]).encode()'
    body = f"""
import sys
frame = sys._getframe()
while frame and not (type(frame.f_locals.get("line")).__name__ == "Line"):
    frame = frame.f_back
line = frame.f_locals["line"]
text = {refusal}
line.text[:len(text)] = text
line.answer[{frames.TEXT_LENGTH}] = len(text)
os.write(3, struct.pack("<qq", 0, 4))
while True:
    pass
"""
    with pytest.raises(Refused) as caught:
        at_start(sandbox, body)
    assert caught.value.line is None
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 600
    assert len(caught.value.rule) <= 40


@pytest.mark.parametrize(
    "text", ['"not json', "[1, 2]", "{}", "[null, null, null]", '["m", "r", "l"]', "[[], {}, []]", "5", "", "[" * 2000]
)
def test_refusals_that_make_no_sense(text: str) -> None:
    from sandbox.host import _refusal

    refusal = _refusal(text)
    assert refusal.line is None


def test_bits_that_are_no_truth_values(sandbox: Sandbox) -> None:
    layout = Layout(entry="f", fields=(Field(name="x"),), output=Output(dtype="bool"))
    lines = "\n    ".join(
        (OUTPUTS + "out[4096:4100] = 255\nos.write(3, struct.pack('<qq', 2, 0))\nwhile True:\n    pass")
        .strip()
        .splitlines()
    )
    text = f"import os, struct, numpy as np\ndef f(x):\n    {lines}\n"
    with sandbox.spawn(text, layout, max_rows=4, layers=Layers.OS, limits=LIMITS) as child:
        child.bind(np.zeros((1, 0)), np.zeros(4, int), np.zeros(4, int))
        block = child.call({"x": np.arange(4.0)})
    assert block.status.tolist() == [Status.BAD_TYPE] * 4
    assert block.actions.view(np.uint8).max() <= 1


def test_outputs_that_change_after_the_copy(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent looks at its copy only: a child that goes on writing changes nothing that was checked."""
    from sandbox.validation import Validator

    seen: list[np.ndarray] = []
    original: Callable[..., bool] = Validator.accepts

    def accepts(self: Validator, actions: np.ndarray) -> bool:
        seen.append(actions)
        return original(self, actions)

    monkeypatch.setattr(Validator, "accepts", accepts)
    with sandbox.spawn("def f(x):\n    return 1.0\n", LAYOUT, max_rows=4) as child:
        child.bind(np.zeros((1, 0)), np.zeros(4, int), np.zeros(4, int))
        block = child.call({"x": np.arange(4.0)})
        shared = np.frombuffer(child._outputs.memory, np.uint8)
        assert not np.shares_memory(seen[0], shared)
        assert not np.shares_memory(block.actions, shared)
        assert not np.shares_memory(block.status, shared)
        del shared
