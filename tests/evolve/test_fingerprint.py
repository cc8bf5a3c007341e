"""Fingerprints: the same for what is the same up to writing, different for what is another program."""

import pytest

from evolve.fingerprint import fingerprint
from evolve.program import read_program

POSITIONAL = ("x", "y")

BASE = '''LIMIT = 3.0


def clip(value, top):
    return min(value, top)


def act(x, y, *, weight: Real(0, 1) = 0.5, offset: Real(-1, 1) = 0.0):
    """A rule."""
    total = weight * x + offset
    for step in range(3):
        total = total + step * y
    if total > LIMIT:
        return clip(value=total, top=2.0)
    return max(total, y)
'''


def of(source: str) -> str:
    return fingerprint(read_program(source, "act", POSITIONAL), POSITIONAL)


def changed(old: str, new: str) -> str:
    assert old in BASE
    return BASE.replace(old, new)


@pytest.mark.parametrize(
    "same",
    [
        changed('    """A rule."""\n', "    # no docstring\n"),
        changed("LIMIT", "CAP"),
        changed("clip", "bound"),
        changed("total", "score"),
        changed("weight", "w"),
        changed("value", "v").replace("top", "t"),
        changed("= 0.5", "= 0.75"),
        changed(
            "weight: Real(0, 1) = 0.5, offset: Real(-1, 1) = 0.0", "offset: Real(-1, 1) = 0.0, weight: Real(0, 1) = 0.5"
        ),
        changed("Real(0, 1)", "Real(0.0, high=1)"),
        changed("weight * x + offset", "offset + x * weight"),
        changed("total + step * y", "y * step + total"),
        changed("total > LIMIT", "LIMIT < total"),
        changed("max(total, y)", "max(y, total)"),
        changed("min(value, top)", "min(top, value)"),
        changed("LIMIT = 3.0", "LIMIT = 3"),
        changed("    total = weight", "    total: float = weight"),
        changed("def act(x, y, *,", "def act(x: float, y: float, *,"),
        changed("total = weight * x + offset", "total = ( weight*x\n        + offset )"),
    ],
)
def test_what_does_not_count(same: str) -> None:
    assert of(same) == of(BASE)


@pytest.mark.parametrize(
    "other",
    [
        changed("Real(0, 1)", "Real(0, 2)"),
        changed("Real(0, 1)", "Real(0, 1, log=False, size=1)")
        .replace("= 0.5", "= (0.5,)")
        .replace("weight *", "weight[0] *"),
        changed("range(3)", "range(4)"),
        changed("weight * x + offset", "weight * x - offset"),
        changed("weight * x + offset", "weight * y + offset"),
        changed("weight * x + offset", "offset * x + weight"),
        changed("total > LIMIT", "total >= LIMIT"),
        changed("total > LIMIT", "total < LIMIT"),
        changed("max(total, y)", "max(total, x)"),
        changed("max(total, y)", "min(total, y)"),
        changed("    for step in range(3):\n        total = total + step * y\n", ""),
        changed("max(total, y)", "math.fmod(y, total)"),
    ],
)
def test_what_counts(other: str) -> None:
    assert of(other) != of(BASE)


def test_the_order_of_operands_counts_where_it_matters() -> None:
    def plain(expression: str) -> str:
        return of(f"def act(x, y, *, p: Real(0, 1) = 0.5, q: Real(0, 1) = 0.5):\n    return {expression}\n")

    assert plain("x - y") != plain("y - x")
    assert plain("math.atan2(x, y)") != plain("math.atan2(y, x)")
    assert plain("x + y + p") == plain("p + (y + x)")
    assert plain("x * y * 2.0") == plain("2 * (y * x)")
    assert plain("p * x + q * y") == plain("q * x + p * y")
    assert plain("p * x + q * y") == plain("q * y + p * x")
    assert plain("p * x + p * y") != plain("p * x + q * y")


def test_a_function_that_shadows_min_keeps_its_order() -> None:
    source = "def min(a, b):\n    return a - b\n\n\ndef act(x, y):\n    return min({})\n"
    assert of(source.format("x, y")) != of(source.format("y, x"))


def test_truth_values_are_no_numbers() -> None:
    source = "def act(x, y):\n    return x if {} else y\n"
    assert of(source.format("True")) != of(source.format("1"))


def test_a_fingerprint_is_the_same_everywhere() -> None:
    assert of(BASE) == "c8132bff664e4f0c"
