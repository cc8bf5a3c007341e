"""The compiled loop: agreement with the plain one, rows that surprise, programs that stay plain, and why."""

import ast
from typing import Any

import numpy as np
import pytest

from sandbox import Field, Layout, Limits, Output, ParameterField, Sandbox, Status
from sandbox.compiled import CompileFailed
from sandbox.kernel import _expanded_size
from sandbox.load import load
from sandbox.rows import PlainRows
from sandbox.warm import warm_up

X = Layout(entry="f", fields=(Field(name="x", low=-10.0, high=10.0),), parameters=(ParameterField(name="a"),))
PAIR = Layout(entry="f", fields=(Field(name="x", shape=(5,), low=-2.0, high=5.0), Field(name="n", dtype="int", high=9)))


def both(
    sandbox: Sandbox, source: str, layout: Layout, arrays: dict[str, Any], theta: Any = None
) -> tuple[Any, Any, str]:
    """The same block compiled and plain, and the note."""
    rows = len(next(iter(arrays.values())))
    blocks, note = [], ""
    for compiled in (True, False):
        with sandbox.spawn(source, layout, max_rows=rows, compiled=compiled) as child:
            child.bind(np.ones((1, layout.width)) if theta is None else theta)
            blocks.append(child.call(arrays))
            note = child.note or note
    return blocks[0], blocks[1], note


def agree(compiled: Any, plain: Any) -> None:
    assert compiled.status.tolist() == plain.status.tolist()
    assert compiled.error == plain.error
    np.testing.assert_allclose(compiled.actions, plain.actions, rtol=1e-12, atol=1e-12)


VALUES = np.array([-9.5, -2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 3.7, 9.0])


ARITHMETIC = """
math.sqrt(x)|math.log(x)|math.log2(x)|math.log10(x)|math.log1p(x)|math.exp(100*x)|math.expm1(100*x)|math.asin(x)
math.acos(x)|math.acosh(x)|math.atanh(x)|math.gamma(x)|math.lgamma(x)|math.sinh(100*x)|math.cosh(100*x)|math.tan(x)
math.fmod(1.0,x)|math.pow(x,0.5)|math.pow(x,-1.0)|x**0.5|x**a|x**-1.0|2.0**(200*x)|1.0/x|1.0//x|1.0%x|x**2|x**3
math.floor(x)|math.ceil(x)|math.trunc(x)|int(x)|round(x)|math.floor(1e300*x)|int(1e300*x)|abs(x)
float(int(x)//2)|int(x)%3|(-7)//(int(x)-20)|min(x,1)|max(0,x)|x if x > 0 else 0|int(x)**2|2**int(abs(x))
math.hypot(x,1.0)|math.atan2(x,1.0)|math.copysign(1.0,x)|math.erf(x)|math.degrees(x)|np.sqrt(abs(x))|np.exp(x)
np.clip(x,-1.0,1.0)|np.clip(x,-1,1)|np.sign(x)|np.maximum(x,0.0)|np.abs(x)|float(x>0)|float("2.5")
1.0 if any([x>0,x>5]) else 0.0|1.0 if all([x>0,x<5]) else 0.0|(-2)**int(x)
int(x>0)|int(int(x))|float(int(x>0)+int(x<1))|sum([x>0,x<1])|x//2|x%2|int(x)/3|float(int(x))
"""
EXPRESSIONS = ARITHMETIC.strip().replace("\n", "|").split("|")


@pytest.mark.parametrize("part", range(4))
def test_arithmetic_means_what_python_says(sandbox: Sandbox, part: int) -> None:
    """Above all where Python raises and compiled code would not. One program holds many expressions; one row asks one."""
    mine = EXPRESSIONS[part::4]
    branches = "".join(f"    if k == {k}:\n        return {expression}\n" for k, expression in enumerate(mine))
    layout = Layout(
        entry="f", fields=(Field(name="k", dtype="int", high=len(mine)), *X.fields), parameters=X.parameters
    )
    arrays = {"k": np.repeat(np.arange(len(mine)), len(VALUES)), "x": np.tile(VALUES, len(mine))}
    source = f"def f(k, x, *, a=0.5):\n{branches}    return 0.0\n"
    compiled, plain, note = both(sandbox, source, layout, arrays, np.array([[0.5]]))
    agree(compiled, plain)
    assert not note, note
    assert plain.status.any()


def test_errors_are_told_by_the_plain_loop(sandbox: Sandbox) -> None:
    source = "def f(x, *, a=1.0):\n    y = x\n    return math.sqrt(y)\n"
    compiled, plain, _ = both(sandbox, source, X, {"x": VALUES})
    agree(compiled, plain)
    assert compiled.error == '"ValueError in line 3: math domain error"'


def test_an_error_that_the_program_catches(sandbox: Sandbox) -> None:
    source = "def f(x, *, a=1.0):\n    try:\n        return math.sqrt(x)\n    except Exception:\n        return -1.0\n"
    compiled, plain, _ = both(sandbox, source, X, {"x": VALUES})
    agree(compiled, plain)
    assert plain.actions[0] == -1.0


def test_division_inside_arrays_follows_numpy(sandbox: Sandbox) -> None:
    """numpy gives infinity where compiled code raises: the plain result stands."""
    source = "def f(x, n):\n    y = x / (x - x[0])\n    return float(np.isfinite(y).sum()) + n\n"
    arrays = {"x": np.arange(15.0).reshape(3, 5), "n": np.array([1, 2, 3])}
    compiled, plain, _ = both(sandbox, source, PAIR, arrays)
    agree(compiled, plain)
    assert plain.actions.tolist() == [5.0, 6.0, 7.0]


def test_whole_numbers_beyond_64_bits_are_python_s(sandbox: Sandbox) -> None:
    source = "def f(x, n):\n    big = 3 * 10 ** 18 + n\n    return float(big * 4 % 7)\n"
    arrays = {"x": np.zeros((4, 5)), "n": np.arange(4)}
    compiled, plain, note = both(sandbox, source, PAIR, arrays)
    agree(compiled, plain)
    assert not note


def test_whole_numbers_that_overflow_only_with_the_callers_parameters(sandbox: Sandbox) -> None:
    layout = Layout(entry="f", fields=X.fields, parameters=(ParameterField(name="a", kind="integer"),))
    source = "def f(x, *, a=1):\n    return float(a * 4000000000 * 4000000000 % 7) + x\n"
    compiled, plain, note = both(sandbox, source, layout, {"x": np.zeros(4)}, np.array([[3.0]]))
    agree(compiled, plain)
    assert not note
    assert plain.actions.tolist() == [float(3 * 4000000000 * 4000000000 % 7)] * 4


STAYS_PLAIN = [
    ("def f(x, n):\n    return f(x, n - 1) if n > 0 else 1.0\n", "calls itself"),
    (
        "def g(n):\n    return h(n - 1) if n > 0 else 1.0\ndef h(n):\n    return g(n)\ndef f(x, n):\n    return g(n)\n",
        "calls itself",
    ),
    (
        "def f(x, n):\n    try:\n        return 1.0 / n\n    except ZeroDivisionError:\n        return 0.0\n",
        "`try` is not compiled",
    ),
    ("T = {'a': 1.0}\ndef f(x, n):\n    return T['a']\n", "mappingproxy"),
    ("def f(x, n):\n    return None if n > 3 else 1.0\n", "not always a number"),
    ("def f(x, n):\n    return 'a' if n > 30 else 'b'\n", "returns unicode_type"),
    ("def f(x, n):\n    return n > 3\n", "returns bool"),
    ("def f(x, n):\n    return next(v for v in x)\n", "`next` is not compiled"),
]


@pytest.mark.parametrize(("source", "reason"), STAYS_PLAIN, ids=[reason for _, reason in STAYS_PLAIN])
def test_what_cannot_be_compiled_runs_plain_and_says_why(sandbox: Sandbox, source: str, reason: str) -> None:
    arrays = {"x": np.ones((4, 5)), "n": np.arange(4)}
    compiled, plain, note = both(sandbox, source, PAIR, arrays)
    agree(compiled, plain)
    assert reason in note


FORMS = [
    "if (m := n + 1) > 2:\n        return float(m)\n    return 0.0",
    "if n > 5:\n        return 1.0\n    elif (m := n * 2) > 4:\n        return float(m)\n    return 0.0",
    "return sum(v * v for v in x) + max(abs(v) for v in x)",
    "return float(any(v > 4 for v in x)) + float(all(v < 4 for v in x))",
    "y = sorted(x, reverse=True)\n    return y[0] - y[-1]",
    "return np.maximum.accumulate(x)[-1] + np.minimum.accumulate(x)[-1]",
    "return x.sum() + np.sum(x) + x[1:].sum() + np.sum(x[::2])",
    "return (x > 1.0).sum() + np.sum(x > 1.0)",
    "y = x.copy()\n    y[0] += n\n    y[1:] *= 2.0\n    return y.sum()",
    "total = 0.0\n    for i, v in enumerate(x):\n        total += i * v\n    return total",
    "a, b, *rest = x\n    return a + b",
    "def g(v, k=2.0):\n        return v * k\n    return g(x[0]) + g(x[1], k=3.0)",
    "g = lambda v: v + 1.0\n    return g(x[0])",
    "if n > 4:\n        raise ValueError(f'too many: {n}')\n    return 1.0",
    "assert n < 5, f'too many: {n}'\n    return 1.0",
    "return -x[-1] if n % 2 else x[-1]",
    "return float(np.argmax(x)) + np.mean(x) + np.std(x)",
    "return abs(x).max() + abs(n)",
    "y = [v for v in x if v > 0]\n    return float(len(y))",
    "i = 0\n    while i < len(x) and x[i] < 3.0:\n        i += 1\n    return float(i)",
    "k = int(x[0])\n    return x[k]",
    "k = n\n    return x[k]",
]


@pytest.mark.parametrize("body", FORMS, ids=range(len(FORMS)))
def test_forms_of_the_language(sandbox: Sandbox, body: str) -> None:
    random = np.random.default_rng(0)
    arrays = {"x": random.uniform(-2.0, 5.0, size=(20, 5)), "n": np.arange(20) % 10}
    compiled, plain, _ = both(sandbox, f"def f(x, n):\n    {body}\n", PAIR, arrays)
    agree(compiled, plain)


def test_vector_parameters_where_only_arrays_will_do(sandbox: Sandbox) -> None:
    pytest.importorskip("scipy", reason="numba calls its linear algebra")
    layout = Layout(
        entry="f",
        fields=(Field(name="x", shape=(3,)),),
        parameters=(ParameterField(name="w", size=3), ParameterField(name="k", kind="integer", size=2)),
    )
    source = "def f(x, *, w=(1.0, 2.0, 3.0), k=(1, 2)):\n    return np.dot(w, x) + k[0] + k[1]\n"
    compiled, plain, note = both(
        sandbox, source, layout, {"x": np.arange(6.0).reshape(2, 3)}, np.arange(1.0, 6.0)[None]
    )
    agree(compiled, plain)
    assert not note


def test_arrays_of_two_dimensions(sandbox: Sandbox) -> None:
    layout = Layout(entry="f", fields=(Field(name="x", shape=(2, 3)),), output=Output(shape=(3, 2)))
    compiled, plain, note = both(
        sandbox, "def f(x):\n    return x.T * 2.0\n", layout, {"x": np.arange(12.0).reshape(2, 2, 3)}
    )
    agree(compiled, plain)
    assert not note
    np.testing.assert_allclose(plain.actions[0], np.arange(6.0).reshape(2, 3).T * 2.0)


def test_module_constants_are_there(sandbox: Sandbox) -> None:
    source = "import math\nA = [1.0, 2.0]\nB = np.array([3.0, 4.0])\nC = math.pi\nroot = math.sqrt\n"
    source += "from numpy import exp as e\n"
    source += "def f(x, *, a=1.0):\n    return A[0] + B[1] + C + root(x) + e(x) + len(A)\n"
    compiled, plain, note = both(sandbox, source, X, {"x": VALUES})
    agree(compiled, plain)
    assert not note


def test_functions_of_one_name_are_told_apart(sandbox: Sandbox) -> None:
    source = """
A = lambda v: v + 1.0
B = lambda v: v * 10.0
def g(v):
    return v + 100.0
FIRST = g
def g(v):
    return v + 1000.0
def f(x, *, a=1.0):
    return A(x) + B(x) + FIRST(x) + g(x)
"""
    compiled, plain, note = both(sandbox, source, X, {"x": VALUES})
    agree(compiled, plain)
    assert not note
    np.testing.assert_allclose(plain.actions, 13.0 * VALUES + 1101.0)


def test_two_lambdas_on_a_line_stay_plain(sandbox: Sandbox) -> None:
    source = "A, B = (lambda v: v + 1.0), (lambda v: v * 10.0)\ndef f(x, *, a=1.0):\n    return A(x) + B(x)\n"
    compiled, plain, note = both(sandbox, source, X, {"x": VALUES})
    agree(compiled, plain)
    assert "not one of the functions" in note


def test_no_state_in_compiled_constants(sandbox: Sandbox) -> None:
    source = "B = np.zeros(3)\ndef f(x, *, a=1.0):\n    B[0] += 1.0\n    return B[0]\n"
    compiled, plain, _ = both(sandbox, source, X, {"x": VALUES})
    agree(compiled, plain)
    assert (plain.status == Status.RAISED).all()


def test_a_compiler_that_takes_too_long_costs_the_program_nothing(sandbox: Sandbox) -> None:
    """The process is given up, and the program comes up plain in a new one."""
    branch = "    if x > {0}.5:\n        y = math.sin(y) * math.cos(x) + y ** 0.{1}"
    branches = "\n".join(branch.format(i, i % 9 + 1) for i in range(60))
    source = f"def f(x, *, a=1.0):\n    y = x\n{branches}\n    return y\n"
    with sandbox.spawn(source, X, max_rows=2, compiled=True, limits=Limits(start_seconds=0.15)) as child:
        assert not child.ready.compiled
        assert child.note.startswith("compilation ended the process: timeout")
        child.bind(np.ones((1, 1)))
        assert child.call({"x": np.array([1.0, 2.0])}).error is None


@pytest.mark.parametrize(
    "source",
    [
        "A = lambda n: 1.0 if n <= 0 else A(n - 1)\ndef f(x, n):\n    return A(n)\n",
        "def g(n):\n    return 1.0 if n <= 0 else H(n - 1)\nH = g\ndef f(x, n):\n    return g(n)\n",
        "def f(x, n):\n    def g(k):\n        return 1.0 if k <= 0 else g(k - 1)\n    return g(n)\n",
    ],
)
def test_recursion_by_other_names_stays_plain(sandbox: Sandbox, source: str) -> None:
    """Compiled, it would end the process at the bottom of the stack."""
    arrays = {"x": np.zeros((3, 5)), "n": np.array([1, 100, 100_000])}
    compiled, plain, note = both(sandbox, source, PAIR, arrays)
    agree(compiled, plain)
    assert note
    assert plain.status.tolist() == [0, 0, Status.RAISED]


def test_calls_are_expanded_only_so_far() -> None:
    def chain(depth: int) -> ast.Module:
        lines = ["def f0(x):\n    return x\n"]
        lines += [f"def f{i}(x):\n    return {' + '.join([f'f{i - 1}(x)'] * 10)}\n" for i in range(1, depth + 1)]
        return ast.parse("".join(lines))

    assert _expanded_size(chain(2)) < 20_000 < _expanded_size(chain(4))
    with pytest.raises(CompileFailed, match="calls itself"):
        _expanded_size(ast.parse("def a():\n    return b()\ndef b():\n    return a()\n"))


def test_comparison_sees_what_differs() -> None:
    """A loop that is wrong in one row of a hundred is found out."""
    from sandbox.comparison import compare
    from sandbox.compiled import CompiledRows

    warm_up(compiling=False)
    loaded = load("def f(x, *, a=1.0):\n    return x\n", X)
    plain = PlainRows(loaded.entry, X)

    def wrong(start: int, stop: int, *arguments: Any) -> int:
        actions, x = arguments[6], arguments[7]
        actions[start:stop] = x[start:stop]
        actions[stop // 2] += 1e-3
        return stop

    with pytest.raises(CompileFailed, match="action differ"):
        compare(CompiledRows(wrong, X), plain, X, np.ones((1, 1)))
