"""Reading programs: what is accepted, what is refused and why, and that nothing but a `ProgramError` comes out."""

import json
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.annotations import domain_text, literal, literal_in
from evolve.errors import ProgramError
from evolve.program import KINDS, MAX_DEPTH, Program, parse, read_program
from evolve.space import Categorical, Integer, Real, SpaceError

POSITIONAL = ("on_hand", "pipeline")
REPLIES = Path(__file__).parents[2] / ".." / "shared" / "replies" / "open.jsonl"

BASE_STOCK = '''def order(on_hand, pipeline, *, level: Real(0, 60) = 20.0, cap: Integer(0, 20) = 8):
    """Order up to a level, but never more than a cap."""
    position = on_hand + pipeline.sum()
    return min(cap, max(0.0, level - position))
'''


def read(source: str) -> Program:
    return read_program(source, "order", POSITIONAL)


def refusal(source: str) -> ProgramError:
    with pytest.raises(ProgramError) as caught:
        read(source)
    assert caught.value.kind in KINDS
    return caught.value


def with_parameter(text: str) -> str:
    return f"def order(on_hand, pipeline, *, {text}):\n    return on_hand\n"


def test_a_program_is_read_with_its_space() -> None:
    program = read(BASE_STOCK)
    assert program.source == BASE_STOCK
    assert program.space.names == ("level", "cap")
    assert program.space.defaults == {"level": 20.0, "cap": 8}
    assert program.space.parameters[1].domain == Integer(0, 20)
    assert len(program.digest) == 16


@pytest.mark.parametrize(
    ("text", "domain", "default"),
    [
        ("p: Real(0, 5) = 2", Real(0, 5), 2.0),
        ("p: Real(low=0, high=5, log=False) = 2.5", Real(0, 5), 2.5),
        ("p: Real(-2 ** 3, 10 / 4) = -(1 + 1)", Real(-8, 2.5), -2.0),
        ("p: Real(1e-3, 10, True) = 1.0", Real(1e-3, 10, log=True), 1.0),
        ("p: Real(0, 1, size=3) = (0, 0.5, 1)", Real(0, 1, size=3), (0.0, 0.5, 1.0)),
        ("p: Real(0, 1, size=2.0) = (0, 0.5)", Real(0, 1, size=2), (0.0, 0.5)),
        ("p: Integer(0.0, 20.0) = 5.0", Integer(0, 20), 5),
        ("p: Integer(0, 9, size=2) = (1, 2)", Integer(0, 9, size=2), (1, 2)),
        ('p: Categorical("a", "b") = "b"', Categorical("a", "b"), "b"),
        ('p: Categorical(["a", "b"]) = "b"', Categorical("a", "b"), "b"),
        ("p: Categorical(-1, 2) = -1", Categorical(-1, 2), -1),
        ("p: Categorical(1, 2) = 2.0", Categorical(1, 2), 2),
        ("p: Categorical(True, False) = True", Categorical(True, False), True),
    ],
)
def test_domains_and_defaults_are_read(text: str, domain: object, default: object) -> None:
    (parameter,) = read(with_parameter(text)).space.parameters
    assert parameter.domain == domain
    assert parameter.default == default
    assert type(parameter.default) is type(default)


@pytest.mark.parametrize(
    "text",
    [
        "p=1.0",
        "p: Real(0, 5)",
        "p: float = 1.0",
        "p: Real[0, 5] = 1.0",
        "p: np.Real(0, 5) = 1.0",
        "p: real(0, 5) = 1.0",
        "p: 'Real(0, 5)' = 1.0",
        "p: Real(5) = 1.0",
        "p: Real(5, 0) = 1.0",
        "p: Real(0, 5) = 9.0",
        "p: Real(0, TOP) = 1.0",
        "p: Real(0, math.inf) = 1.0",
        "p: Real('0', '5') = 1.0",
        "p: Real(0, 5, 0, 2, 1) = 1.0",
        "p: Real(0, 5, step=1) = 1.0",
        "p: Real(0, 5, high=6) = 1.0",
        "p: Real(*bounds) = 1.0",
        "p: Real(0, 5, **more) = 1.0",
        "p: Real(0, 5, log=1) = 1.0",
        "p: Real(0, 5, size=None) = 1.0",
        "p: Real(0, 5, size=2) = 1.0",
        "p: Real(0, 5, size=2) = (1.0,)",
        "p: Real(0, 5) = (b := 1.0)",
        "p: Real(0, 5) = True",
        "p: Real(0, 1 / 0) = 0.5",
        "p: Real(0, 10 ** 99) = 0.5",
        "p: Real(0, (-2) ** 0.5) = 0.5",
        "p: Real(0, 1e999) = 0.5",
        "p: Real(-1e308, 1e308) = 0.5",
        f"p: Real(0, {' * '.join(['10 ** 64'] * 6)}) = 0.5",
        f"p: Real(0, 5) = {' * '.join(['10 ** 64'] * 6)}",
        "p: Integer(0, 1e999) = 1",
        "p: Integer(0, 1e999 - 1e999) = 1",
        "p: Integer(0, 5.5) = 1",
        "p: Integer(0, 5) = 1.5",
        "p: Real(0, 1, size=1e999) = (0.0,)",
        'p: Categorical("a", "b") = "c"',
        'p: Categorical(choices=["a", "b"]) = "a"',
        'p: Categorical("a") = "a"',
    ],
)
def test_malformed_spaces_are_refused_with_the_parameter_named(text: str) -> None:
    error = refusal(with_parameter(text))
    assert error.kind == "bad_parameter_space"
    assert "`p`" in str(error)
    assert error.line == 1
    assert len(str(error)) < 300


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def order(on_hand, pipeline)\n    return 0.0\n", "syntax_error"),
        ("def order(on_hand, pipeline, on_hand):\n    return 0.0\n", "syntax_error"),
        ("return 1\ndef order(on_hand, pipeline):\n    return 0.0\n", "syntax_error"),
        ("def order(on_hand, pipeline):\n    return '\0'\n", "syntax_error"),
        ("def order(on_hand, pipeline):\n    return " + "9" * 5000, "syntax_error"),
        ("def order(on_hand, pipeline):\n    return " + "(" * 300 + "1" + ")" * 300, "syntax_error"),
        ("def order(on_hand, pipeline):\n    return " + " + ".join(["on_hand"] * 900), "syntax_error"),
        ("def order(on_hand, pipeline):\n    return " + "-" * 900 + "on_hand", "syntax_error"),
        ("def order(on_hand, pipeline):\n    return on_hand  # \ud800\n", "syntax_error"),
        ("order = lambda on_hand, pipeline: 0.0\n", "missing_entry"),
        ("class Rule:\n    def order(on_hand, pipeline):\n        return 0.0\n", "missing_entry"),
        ("def order(on_hand, pipeline):\n    ...\n", "missing_entry"),
        ("def order(on_hand, pipeline):\n    raise NotImplementedError('later')\n", "missing_entry"),
        ("import random\ndef order(on_hand, pipeline):\n    return 0.0\n", "forbidden_import"),
        ("def order(on_hand, pipeline):\n    import os\n    return 0.0\n", "forbidden_import"),
        ("from math import *\ndef order(on_hand, pipeline):\n    return 0.0\n", "forbidden_import"),
        ("from . import math\ndef order(on_hand, pipeline):\n    return 0.0\n", "forbidden_import"),
        ("def order(on_hand, pipeline):\n    return __import__('os')\n", "forbidden_import"),
        ("async def order(on_hand, pipeline):\n    return 0.0\n", "wrong_signature"),
        ("@cached\ndef order(on_hand, pipeline):\n    return 0.0\n", "wrong_signature"),
        ("def order(pipeline, on_hand):\n    return 0.0\n", "wrong_signature"),
        ("def order(on_hand, pipeline=()):\n    return 0.0\n", "wrong_signature"),
        ("def order(on_hand, pipeline, *rest):\n    return 0.0\n", "wrong_signature"),
        ("def order(on_hand, pipeline, **rest):\n    return 0.0\n", "wrong_signature"),
    ],
)
def test_faults_have_their_kind(source: str, kind: str) -> None:
    assert refusal(source).kind == kind


def test_kinds_are_tested_in_their_order() -> None:
    everything = "import os\n@cached\ndef order(stock, *, p=1):\n    return 0.0\n"
    assert refusal(everything + "def (").kind == "syntax_error"
    assert refusal(everything.replace("order", "other")).kind == "missing_entry"
    assert refusal(everything).kind == "forbidden_import"
    assert refusal(everything.replace("import os", "")).kind == "wrong_signature"
    repaired = everything.replace("import os\n@cached\n", "").replace("stock", "on_hand, pipeline")
    assert refusal(repaired).kind == "bad_parameter_space"


def test_the_line_of_a_fault_is_that_of_the_text_as_given() -> None:
    source = (
        "import math\n\n\n# a comment\ndef order(on_hand, pipeline, *,\n        p: Real(0, 1) = 2.0):\n    return 0.0\n"
    )
    assert refusal(source).line == 6


def test_chains_up_to_the_limit_are_read() -> None:
    terms = " + ".join(["on_hand"] * (MAX_DEPTH - 10))
    assert read(f"def order(on_hand, pipeline):\n    return {terms}\n").space.width == 0


def test_what_a_program_does_not_need_is_dropped() -> None:
    source = '''"""A rule."""
from __future__ import annotations
import math, numpy as np
from typing import Sequence
import numpy
from math import floor, sqrt as root


def order(on_hand, pipeline):
    import math as m
    if on_hand > 3:
        import math
    return m.floor(floor(on_hand))


print(order(3, [1]))
if __name__ == "__main__":
    order(1, [2])
'''
    program = read(source)
    assert "import" not in program.source
    assert "print" not in program.source
    assert "__main__" not in program.source
    assert program.source.startswith('"""A rule."""')
    for kept in ("numpy = np", "floor = math.floor", "root = math.sqrt", "m = math", "pass"):
        assert kept in program.source
    assert read(program.source) == program


def test_valid_text_is_left_as_it_is() -> None:
    source = "X = '''a   \nb'''\ndef order( on_hand,pipeline ):   # odd\n    return   on_hand\n"
    assert read(source).source == source


@pytest.mark.parametrize(
    "text", ["\ufeff" + BASE_STOCK, BASE_STOCK.replace("\n", "\r\n"), "\n\n" + BASE_STOCK + "\n\n"]
)
def test_line_ends_and_marks_are_made_plain(text: str) -> None:
    assert read(text) == read(BASE_STOCK)


def test_the_last_definition_counts() -> None:
    source = "def order(a):\n    return 1\n\n\ndef order(on_hand, pipeline, *, p: Real(0, 1) = 0.5):\n    return p\n"
    program = read(source)
    assert program.space.names == ("p",)
    assert "Real(0, 1) = 0.25" in program.with_values({"p": 0.25})


def test_odd_text_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read("def order(on_hand, pipeline):\n    '\\d'\n    return on_hand is 1\n")
        parse("x = '\\d'")


def test_tuned_values_are_written_into_the_text() -> None:
    program = read(BASE_STOCK)
    text = program.with_values({"level": 12.3456789, "cap": 3, "other": 1.0})
    assert text == BASE_STOCK.replace("20.0", "12.3457").replace("= 8", "= 3")
    with pytest.raises(SpaceError):
        program.with_values({"level": 99.0})


def test_values_are_written_where_the_defaults_stand() -> None:
    source = (
        "X = 'é'; Y = 2\ndef order(on_hand, pipeline, *, v: Real(0, 9) = 1.0, w: Real(-1, 1, size=2) = (\n"
        "    0.5,  # half\n    0.25,\n),"
        " mode: Categorical('a', 'b') = 'a', n: Integer(0, 5) = 2 + 1):\n    return v\n"
    )
    program = read_program(source, "order", POSITIONAL)
    tuned = read(program.with_values({"v": 2.5, "w": (-0.125, 1.0), "mode": "b", "n": 4}))
    assert tuned.space.defaults == {"v": 2.5, "w": (-0.125, 1.0), "mode": "b", "n": 4}


@given(st.floats(0, 19.9999999), st.integers(1, 12))
def test_a_written_value_stays_in_its_domain(value: float, digits: int) -> None:
    domain = Real(0, 19.9999999)
    assert 0 <= float(literal_in(domain, value, digits)) <= 19.9999999
    program = read(with_parameter("p: Real(0, 19.9999999) = 1.0"))
    assert read(program.with_values({"p": value})).space.defaults["p"] == pytest.approx(value, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "Real(0, 60)", "Real(0.001, 10, log=True)", "Real(-1, 1, size=4)",
        "Integer(0, 20)", "Integer(1, 90, log=True, size=2)",
        "Categorical('a', 'b')", "Categorical(1, 2.5)", "Categorical(True, False)",
    ],
)  # fmt: skip
def test_domains_are_written_as_they_are_read(text: str) -> None:
    defaults = {"R": "1.0", "I": "1", "C": "'a'"}
    default = "True" if "(True" in text else "2.5" if "2.5" in text else defaults[text[0]]
    size = 4 if "size=4" in text else 2 if "size=2" in text else 0
    default = f"({', '.join([default] * size)})" if size else default
    (parameter,) = read(with_parameter(f"p: {text} = {default}")).space.parameters
    assert domain_text(parameter.domain) == text


def test_literals_are_short() -> None:
    assert literal(1 / 3) == "0.333333"
    assert literal((0.5,)) == "(0.5,)"
    assert literal((1, 2)) == "(1, 2)"
    assert literal("a") == "'a'"
    assert literal(-1e-7) == "-1e-07"


@given(st.text(alphabet="def order(on_hand,pipeline*):\n Real01=.'\"#\\\t\r\u2028\x0c", max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    for source in (text, with_parameter(text), BASE_STOCK.replace("8", text)):
        try:
            program = read(source)
        except ProgramError:
            continue  # anything else fails the test
        assert read(program.source) == program
        assert read(program.with_values(program.space.defaults)).space == program.space


@pytest.mark.skipif(not REPLIES.exists(), reason="the shared corpus of replies is not there")
def test_programs_of_the_reply_corpus() -> None:
    decided = set(KINDS)
    checked = 0
    for line in REPLIES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["kind"] == "diagnosis":
            continue
        expected = case["expect"]
        if "program" in expected:
            assert read(expected["program"]).space.width >= 0, case["id"]
            checked += 1
        elif case["candidate"] and case["kind"] == "rewrite" and expected["reject"] in decided:
            assert refusal(case["candidate"]).kind == expected["reject"], case["id"]
            checked += 1
    assert checked > 150


def test_text_that_python_would_take_minutes_to_compile_is_refused_first():
    """Each `finally` is compiled twice: nineteen within one another are half a million copies."""
    lines = ["def f(x):"]
    lines += [f"{'  ' * depth}try:\n{'  ' * (depth + 1)}pass\n{'  ' * depth}finally:" for depth in range(1, 20)]
    source = "\n".join([*lines, "  " * 20 + "x = 1", "  return x", ""])
    with pytest.raises(ProgramError, match="more than 4 `finally`") as caught:
        read_program(source, "f", ("x",))
    assert caught.value.kind == "syntax_error"
