"""Simplifying: nothing changes but the length."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules import DOMAINS, function_of, rows

from evolve.problem import Action, Argument, Signature
from evolve.program import Program, read_program
from evolve.proposers.genetic import from_scratch
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.finish import Bounds, finish
from evolve.proposers.genetic.simplify import simplify_draft

SIGNATURE = Signature(
    entry="act",
    arguments=tuple(Argument(name=name, meaning=name, low=-5.0, high=5.0) for name in ("x", "y", "z")),
    action=Action(meaning="number"),
)
PARAMETERS = "p: Real(-2, 2) = 0.75, q: Real(0, 4) = 1.5, r: Real(-3, 3) = -1.0, n: Integer(0, 5) = 2"


def read(body: str, parameters: str = PARAMETERS) -> Program:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return read_program(f"def act(x, y, z, *, {parameters}):\n{lines}\n", "act", SIGNATURE.positional)


def simplified(program: Program, signature: Signature = SIGNATURE) -> Program:
    draft = Draft.of(program, signature)
    text = finish(draft, replace(Bounds.of(Draft.of(program, signature)), looks=False))
    return read_program(text, signature.entry, signature.positional)


def body_of(program: Program) -> str:
    return "\n".join(line.strip() for line in program.source.split(":\n", 1)[1].splitlines() if line.strip())


ATOMS = st.sampled_from(["x", "y", "z", "p", "q", "r", "n", "0.0", "1.0", "2.0", "-1.0", "0", "1", "0.5", "a", "b"])


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*"]), pair).map(lambda t: f"({t[1][0]} {t[0]} {t[1][1]})"),
        st.tuples(st.sampled_from(["min", "max"]), pair).map(lambda t: f"{t[0]}({t[1][0]}, {t[1][1]})"),
        inner.map(lambda e: f"(-{e})"),
        inner.map(lambda e: f"abs({e})"),
        inner.map(lambda e: f"({e} / 1.0)"),
        inner.map(lambda e: f"(abs({e}) ** 1)"),
        st.tuples(inner, pair, pair).map(lambda t: f"({t[1][0]} if {t[2][0]} > {t[2][1]} else {t[1][1]})"),
    )


EXPRESSIONS = st.recursive(ATOMS, compound, max_leaves=12)


def values(program: Program, signature: Signature, seed: int) -> list[float]:
    function = function_of(program)
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for row in rows(signature, 12, seed):
            try:
                answer = function(**row, **program.space.defaults)
            except (ArithmeticError, ValueError):
                answer = math.nan
            parts = answer if isinstance(answer, tuple) else (answer,)
            found += [float(number) for part in parts for number in np.ravel(part)]
    return found


@given(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS, EXPRESSIONS, st.integers(0, 1000))
def test_values_stay(first: str, second: str, condition: str, last: str, seed: int) -> None:
    body = f"""a = 1.0
b = 0.5
a = {first}
b = a
if {condition} > 0.25:
    b = {second}
else:
    pass
unread = {first}
for i in range(3):
    a = a + 0.0
if {condition} > 2.0:
    return {last}
return {last}"""
    program = read(body)
    shorter = simplified(program)
    np.testing.assert_allclose(values(shorter, SIGNATURE, seed), values(program, SIGNATURE, seed), rtol=1e-5, atol=1e-8)
    assert Draft.of(shorter, SIGNATURE).weight <= Draft.of(program, SIGNATURE).weight


@pytest.mark.parametrize("name", list(DOMAINS))
@given(seed=st.integers(0, 10**6))
def test_values_of_whole_programs_stay(name: str, seed: int) -> None:
    signature = DOMAINS[name].signature
    sources = [*DOMAINS[name].sources, from_scratch(signature, np.random.SeedSequence(seed))]
    program = DOMAINS[name].program(sources[seed % len(sources)])
    shorter = simplified(program, signature)
    np.testing.assert_allclose(values(shorter, signature, seed), values(program, signature, seed), rtol=1e-6, atol=1e-9)
    again = Draft.of(shorter, signature)
    assert not simplify_draft(again)


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("x + 0.0", "x"),
        ("0.0 + x * 1.0", "x"),
        ("x - 0", "x"),
        ("1 * x / 1.0", "x"),
        ("x * 0.0 + y", "y"),
        ("x + -y", "x - y"),
        ("x - -2.0 * y", "x + 2.0 * y"),
        ("x - x + y", "y"),
        ("x + x", "2.0 * x"),
        ("--x", "x"),
        ("0.0 - x", "-x"),
        ("2.0 * 3.0 + x", "6.0 + x"),
        ("x ** 1", "x"),
        ("min(x, x)", "x"),
        ("min(x, min(y, x))", "min(x, y)"),
        ("max(0.0, max(0.0, x))", "max(0.0, x)"),
        ("max(0.0, max(1.0, x))", "max(1.0, x)"),
        ("min(y, max(0.0, min(y, x)))", "min(y, max(0.0, x))"),
        ("max(0.0, abs(x))", "abs(x)"),
        ("abs(abs(x))", "abs(x)"),
        ("x if y > 0.0 else x", "x"),
        ("x if 2.0 > 1.0 else y", "x"),
        ("x if not not y > 0.0 else z", "x if y > 0.0 else z"),
        ("x if y > 0.0 and y > 0.0 else z", "x if y > 0.0 else z"),
    ],
)
def test_trivial_parts_go(long: str, short: str) -> None:
    assert body_of(simplified(read(f"return {long}", "p: Real(0, 1) = 0.5"))) == f"return {short}"


@pytest.mark.parametrize(
    ("long", "short", "domain"),
    [
        ("p * q * x", "p_2 * x", "Real(-8, 8) = 1.125"),
        ("p * (q * x)", "p_2 * x", "Real(-8, 8) = 1.125"),
        ("x + p - q", "x + p_2", "Real(-6, 2) = -0.75"),
        ("x - p - q", "x - p_2", "Real(-2, 6) = 2.25"),
        ("(1.0 - p) * x", "p_2 * x", "Real(-1, 3) = 0.25"),
        ("max(p, q, x)", "max(p_2, x)", "Real(0, 4) = 1.5"),
        ("max(0.5, x, q)", "max(q_2, x)", "Real(0.5, 4) = 1.5"),
        ("x + q + 2.0", "x + q_2", "Real(2, 6) = 3.5"),
        ("p * x + q * x", "p_2 * x", "Real(-2, 6) = 2.25"),
        ("p * x - q * x", "p_2 * x", "Real(-6, 2) = -0.75"),
    ],
)
def test_parameters_that_are_one_become_one(long: str, short: str, domain: str) -> None:
    shorter = simplified(read(f"return {long}"))
    assert body_of(shorter).removeprefix("return ") == short
    assert f": {domain}" in shorter.source.split(":\n")[0]
    assert len(shorter.space.parameters) == 1


@pytest.mark.parametrize(
    "kept", ["p * x + p * y", "p * x + q * y", "(1.0 - p) * x + p * y", "max(p, x) + q", "p * n * x", "x ** p"]
)
def test_parameters_that_are_two_stay_two(kept: str) -> None:
    assert body_of(simplified(read(f"return {kept}"))) == f"return {kept}"


def test_statements_that_decide_nothing_go() -> None:
    body = """unread = x + y + z
copy = z
again = copy
total = x + y
same = x + y
if y > 0.0:
    other = 1.0
for i in range(3):
    waste = i
if x > 1.0:
    return same + total
return same + again
return 0.0"""
    assert body_of(simplified(read(body))) == "total = x + y\nif x > 1.0:\nreturn 2.0 * total\nreturn total + z"


def test_an_empty_branch_turns_its_condition() -> None:
    body = "a = x\nif y > 0.0:\n    pass\nelse:\n    a = 2.0\nreturn a"
    assert "if not y > 0.0:\na = 2.0" in body_of(simplified(read(body)))


def test_what_could_have_side_effects_stays() -> None:
    source = """def note(values):
    values.append(1.0)
    return 0.0


def act(x, y, z):
    seen = [x]
    ignored = note(seen)
    later = (k := y)
    return seen[-1] + k
"""
    program = read_program(source, "act", SIGNATURE.positional)
    text = simplified(program).source
    assert "ignored = note(seen)" in text
    assert "later = (k := y)" in text
