"""The rules, one by one: what is refused, under which rule, in which line, and with what advice."""

import pytest

from sandbox import Field, Layout, ParameterField, Refused, check_program

LAYOUT = Layout(entry="f", fields=(Field(name="x", shape=(3,)), Field(name="y")))


def refusal(source: str, layout: Layout = LAYOUT) -> Refused:
    with pytest.raises(Refused) as caught:
        check_program(source, layout)
    return caught.value


def body(*lines: str) -> str:
    return "def f(x, y):\n" + "".join(f"    {line}\n" for line in lines)


REFUSED = [
    # rule, offending lines, advice
    ("attribute", ["return x.__class__"], "arithmetic"),
    ("attribute", ["return x.flags"], "copy the array"),
    ("attribute", ["return np.random.rand()"], "deterministic"),
    ("attribute", ["return np.cumsumm(x)"], "did you mean `cumsum`"),
    ("attribute", ["return math.sqrtt(y)"], "did you mean `sqrt`"),
    ("attribute", ["return np.linalg.norn(x)"], "did you mean `norm`"),
    ("attribute", ["return x.appendd(1)"], "did you mean `append`"),
    ("attribute", ["return np.finfo(float).eps"], "1e-16"),
    ("attribute", ["return np.empty(3)"], "use np.zeros"),
    ("attribute", ["return np.empty_like(x)"], "use np.zeros_like"),
    ("attribute", ["from numpy import empty", "return empty(3)"], "use np.zeros"),
    ("module", ["z = math", "return z.sqrt(y)"], "another name"),
    ("module", ["z = np.linalg", "return z.norm(x)"], "another name"),
    ("module", ["return [np][0].zeros(3)"], "np.f(x)"),
    ("module", ["return (np if y > 0 else math).sqrt(y)"], "np.f(x)"),
    ("module", ["return (lambda m: 1.0)(math)"], "math.f(x)"),
    ("module", ["import numpy as m", "return (m or 1).sqrt(y)"], "m.f(x)"),
    ("module", ["return (z := np).sqrt(y)"], "np.f(x)"),
    ("module", ["return np"], "np.f(x)"),
    ("module", ["np.linalg", "return y"], "np.linalg.f(x)"),
    ("module", ["math = 1.0", "return math"], "another name"),
    ("module", ["import numpy as m", "m = 1.0", "return m"], "another name"),
    ("module", ["import numpy as m", "m: float = 1.0", "return m"], "another name"),
    ("module", ["import numpy as m", "m += 1.0", "return 1.0"], "another name"),
    ("module", ["import numpy as m", "del m", "return 1.0"], "another name"),
    ("module", ["import numpy as m", "for m in x:", "    pass", "return 1.0"], "another name"),
    ("module", ["import numpy as m", "return sum(m for m in x)"], "another name"),
    ("module", ["import numpy as m", "return (m := y)"], "another name"),
    ("module", ["import numpy as m", "def m():", "    return 1.0", "return m()"], "another name"),
    ("module", ["import numpy as m", "def g(m):", "    return m", "return g(1)"], "another name"),
    ("module", ["import numpy as m", "return (lambda *, m: m)(m=1)"], "another name"),
    (
        "module",
        ["import numpy as m", "try:", "    pass", "except ValueError as m:", "    pass", "return 1.0"],
        "another",
    ),
    ("module", ["import numpy as m", "match y:", "    case m:", "        return m"], "another name"),
    ("module", ["import numpy as m", "match x:", "    case [*m]:", "        return m"], "another name"),
    ("module", ["import numpy as m", "from math import pi as m", "return m"], "another name"),
    ("module", ["import numpy as m", "import typing as m", "return m"], "another name"),
    ("module", ["import numpy as m", "import math as m", "return m.sqrt(y)"], "a name for each"),
    ("module", ["import math as np", "return np.sqrt(y)"], "a name for each"),
    ("set", ["return len({1, y})"], "a tuple, a list, sorted"),
    ("set", ["return len({v for v in x})"], "a tuple, a list, sorted"),
    ("set", ["return y in {1, y}"], "a tuple, a list, sorted"),
    ("set", ["return y in {1, None}"], "a tuple, a list, sorted"),
    ("set", ["return y in {1, (lambda: 1)}"], "a tuple, a list, sorted"),
    ("set", ["return y == {1, 2}"], "a tuple, a list, sorted"),
    ("set", ["return {1, 2} in [y]"], "a tuple, a list, sorted"),
    ("set", ["return {*x}"], "a tuple, a list, sorted"),
    ("set", ["d = {1: 2}", "return len(d.keys() | {})"], "list("),
    ("set", ["d = {1: 2}", "return len(d.items() - [1])"], "list("),
    ("set", ["d = {1: 2}", "k = d.keys", "return len(k() | [1])"], "list("),
    ("set", ["k = {1: 2}.keys()", "return len(k ^ [1])"], "list("),
    ("set", ["d = {1: 2}", "return len(max(d.keys(), d.keys()) & [1])"], "list("),
    ("set", ["list = lambda v: v | v", "d = {1: 2}", "return len(list(d.keys()))"], "list("),
    ("name", ["return len(set(x))"], "a tuple, a list, sorted"),
    ("name", ["return len(frozenset(x))"], "a tuple, a list, sorted"),
    ("name", ["return undefined + 1"], "define it first"),
    ("name", ["return getattr(x, 'T')"], "write the attribute itself"),
    ("name", ["print(y)", "return 1.0"], "nobody reads output"),
    ("name", ["return str(y)"], "use an f-string"),
    ("name", ["__x = 1", "return __x"], "without leading underscores"),
    ("name", ["return __name__"], "without leading underscores"),
    ("store", ["x.T = y", "return 1.0"], "cannot be set"),
    ("store", ["del x.T", "return 1.0"], "cannot be set or deleted"),
    ("store", ["math.pi = 3", "return 1.0"], "cannot be set"),
    ("store", ["for np.pi in x:", "    pass", "return 1.0"], "cannot be set"),
    ("keyword", ["return np.add(x, x, where=x > 0)"], "np.where"),
    ("keyword", ["f2 = np.add", "return f2(x, x, where=x > 0)"], "np.where"),
    ("keyword", ["return np.array(x, like=x)"], "leave it out"),
    ("keyword", ["return np.hypot(x1=y, x2=y)"], "by position"),
    ("keyword", ["def g(order):", "    return order", "return np.sort(x, order='a')"], "leave it out"),
    (
        "keyword",
        ["def g(overwrite_input):", "    return 1", "return np.median(x, overwrite_input=True)"],
        "leave it out",
    ),
    ("keyword", ["g = lambda stat_length: 1", "return np.pad(x, 1, 'mean', stat_length=0)"], "leave it out"),
    ("keyword", ["g = lambda subok: 1", "g = np.array", "return g(x, subok=True)"], "leave it out"),
    ("keyword", ["def g(g, order):", "    return g(x, order=1)", "return g(np.sort, 1)"], "leave it out"),
    ("keyword", ["return np.add(x, x, **{})"], "name the arguments"),
    ("keyword", ["raise ValueError(name='a')"], "leave them out"),
    ("dtype", ["return np.zeros(3, dtype=object)"], "float, int, bool"),
    ("dtype", ["return x.astype('M8[s]')"], "float, int, bool"),
    ("dtype", ["float = 'O'", "return x.astype(float)"], "float, int, bool"),
    ("dtype", ["cast = x.astype", "return cast('O')"], "where it is named"),
    ("dtype", ["return x.astype(float, 'C')"], "takes one type"),
    ("constant", ["return 1j"], "real numbers"),
    ("constant", ["return b'x'"], "real numbers"),
    ("constant", ["z = '\\u202e'", "return 1.0"], "delete them"),
    ("constant", ["z = '\\x00'", "return 1.0"], "delete them"),
    ("constant", [f"return {'a' * 201!r}"], "shorter"),
    ("format", ["z = f'{y}'", "return 1.0"], "raise"),
    ("format", ["return '%d' % 3"], "raise"),
    ("format", ["z = '{}'", "return 1.0"], "raise"),
    ("format", ["raise ValueError('%s' % f)"], "f-string"),
    ("format", ["raise ValueError('{}'.format(f))"], "f-string"),
    ("format", ["assert y > 0, 'bad %s' % y", "return 1.0"], "f-string"),
    ("format", ["raise ValueError(f'{y:{10 ** 9}}')"], "short and constant"),
    ("format", ["raise ValueError(f'{y:1000000000}')"], "short and constant"),
    ("format", ["raise ValueError(len(f'{f}'))"], "raise"),
    ("format", ["assert len(f'{f}') > 3", "return 1.0"], "raise"),
    ("import", ["import os", "return 1.0"], "already there"),
    ("import", ["import numpy.lib", "return 1.0"], "already there"),
    ("import", ["from os import path as p", "return 1.0"], "already there"),
    ("import", ["from . import a", "return 1.0"], "already there"),
    ("import", ["from numpy.linalg import norm", "return norm(x)"], "np.linalg.norm"),
    ("import", ["import numpy.linalg as la", "return la.norm(x)"], "np.linalg.norm"),
    ("import", ["from math import *", "return sqrt(y)"], "math.sqrt"),
    ("import", ["import random", "return 1.0"], "deterministic"),
    ("import", ["import time", "return 1.0"], "deterministic"),
    ("attribute", ["from numpy import fromfile", "return 1.0"], ""),
    ("attribute", ["from math import __dict__ as d", "return 1.0"], ""),
    ("except", ["try:", "    pass", "except:", "    pass", "return 1.0"], "except Exception"),
    ("except", ["try:", "    pass", "except BaseException:", "    pass", "return 1.0"], "Exception"),
    ("except", ["try:", "    pass", "except (ValueError, MemoryError):", "    pass", "return 1.0"], "Exception"),
    ("except", ["ValueError = 1", "try:", "    pass", "except ValueError:", "    pass", "return 1.0"], "Exception"),
    ("except", ["try:", "    pass", "except RecursionError:", "    pass", "return 1.0"], "Exception"),
    ("except", ["try:", "    pass", "except [MemoryError][0]:", "    pass", "return 1.0"], "Exception"),
    ("statement", ["try:", "    pass", "finally:", "    pass", "return 1.0"], "after the `try`"),
    ("statement", ["try:", "    pass", "except* ValueError:", "    pass", "return 1.0"], "plain statements"),
    ("statement", ["with x:", "    pass", "return 1.0"], "nothing here needs closing"),
    ("statement", ["class A:", "    pass", "return 1.0"], "functions and tuples"),
    ("statement", ["async def g():", "    pass", "return 1.0"], "write `def`"),
    ("statement", ["@abs", "def g():", "    pass", "return 1.0"], "delete it"),
    ("state", ["global z", "return 1.0"], "no state"),
    ("state", ["z = 1", "def g():", "    nonlocal z", "return 1.0"], "return the value"),
    ("state", ["yield 1.0"], "return a value"),
    ("state", ["yield from x"], "return a value"),
    ("default", ["def g(a=[]):", "    return a", "return 1.0"], "make others inside"),
    ("default", ["g = lambda a={}: a", "return 1.0"], "make others inside"),
    ("default", ["def g(a=list(x)):", "    return a", "return 1.0"], "make others inside"),
    ("signature", ["def g(**k):", "    return k", "return 1.0"], "name the arguments"),
    ("match", ["match y:", "    case float(real=r):", "        return r", "return 1.0"], "if and elif"),
    ("match", ["match y:", "    case {'a': z}:", "        return z", "return 1.0"], "if and elif"),
    ("size", [f"return {'-' * 200}y"], "steps"),
    ("size", ["return " + "(" * 30 + "y" + ")" * 30], "steps"),
    ("size", ["z = " + "9" * 50, "return 1.0"], "shorter"),
]


@pytest.mark.parametrize(
    ("rule", "lines", "advice"), REFUSED, ids=[f"{rule}-{lines[0]}"[:50] for rule, lines, _ in REFUSED]
)
def test_refused(rule: str, lines: list[str], advice: str) -> None:
    found = refusal(body(*lines))
    assert found.rule == rule
    assert found.line is not None
    assert 2 <= found.line <= 1 + len(lines)
    assert ": " in found.message
    assert advice in found.message


MODULE_LEVEL = [
    "for i in range(3):\n    pass",
    "while True:\n    pass",
    "if True:\n    z = 1",
    "if __name__ == '__main__':\n    pass",
    "try:\n    z = 1\nexcept Exception:\n    pass",
    "with np:\n    pass",
    "assert True",
    "raise ValueError",
    "del f",
    "sum(range(10))",
    "(z := 1)",
    "z = (w := 1)",
    "z += 1",
    "return 1",
    "global z",
]


@pytest.mark.parametrize("statement", MODULE_LEVEL)
def test_only_functions_and_constants_at_module_level(statement: str) -> None:
    assert refusal(f"{body('return 1.0')}{statement}\n").line == 3


def test_a_function_is_not_bound_twice() -> None:
    assert refusal(body("return 1.0") + "f = lambda x, y: 2.0\n").rule == "module-level"
    assert refusal(body("return 1.0") + "(f, g) = (1, 2)\n").rule == "module-level"


ACCEPTED = [
    ["return 1.0"],
    ["z: float = 1.0", "w: 'anything at all'", "return z"],
    ["def g(a: int, b: list[float] = None) -> float:", "    return a", "return g(1)"],
    ["g = lambda a, b=2.0: a * b", "return g(y)"],
    ["x2 = [v for v in x if v > 0]", "return sum(x2)"],
    ["d = {'a': 1.0, 'b': 2.0}", "d['c'] = y", "return d.get('a', 0.0)"],
    ["return 1.0 if y in {1, -2, 'a', True} and y not in {3.5} else 0.0"],
    ["d = {'a': y}", "for k, v in d.items():", "    y += v", "return y + max(d.items(), key=lambda i: i[1])[1]"],
    ["d = {1.0: y}", "return sum(d.keys()) + sum(v for _, v in d.items()) + len(sorted(d.items())) + len([*d.keys()])"],
    ["d = {1.0: y}", "if 2.0 in d.keys():", "    return list(map(abs, d.keys()))[0]", "return dict(zip(d.keys(), x))"],
    ["def g(v, *, order=1, dtype=2):", "    return v * order * dtype", "return g(y, order=3, dtype=int(y))"],
    ["g = lambda v, order: v", "return g(1.0, order=2)"],
    ["return np.percentile(x, q=50) + np.interp(y, xp=x, fp=x) + round(y, ndigits=2) + np.roll(x, shift=1)[0]"],
    ["return x.astype(dtype=float)[0] + x.astype(int, copy=True)[0]"],
    ["from numpy import linalg as la", "return np.linalg.norm(x) + la.norm(x)"],
    ["a, *b = x", "return a + sum(b)"],
    ["z = np.zeros(3, dtype=float)", "z[0] += y", "z[1:] *= 2.0", "del z", "return y"],
    ["return float(np.sum(x, where=x > 0))"],
    ["return x.astype(int).sum() + np.ones(2, dtype='int64').sum() + x.astype(np.float64).sum()"],
    ["import math", "import numpy", "from math import sqrt as root, pi", "return root(pi) + numpy.sum(x)"],
    ["import math as m", "from numpy import linalg", "return m.exp(-linalg.norm(x))"],
    ["if isinstance(y, (int, float, np.floating)) and isinstance(x, np.ndarray):", "    return 1.0", "return 2.0"],
    ["try:", "    return 1 / y", "except (ZeroDivisionError, ValueError) as e:", "    raise RuntimeError('bad') from e"],
    ["try:", "    z = np.linalg.inv(np.eye(2))", "except np.linalg.LinAlgError:", "    return 0.0", "else:",
     "    return 1.0"],
    ["raise ValueError(f'bad value {y:.2f} of {x!r}' + ' and more')"],
    ["assert y > 0, f'y is {y}'", "return 1.0"],
    ["if (z := y) > 0:", "    return z", "return 0.0"],
    ["match y:", "    case 1 | 2:", "        return 1.0", "    case [a, *b]:", "        return 2.0", "    case z if z > 3:",
     "        return z", "    case _:", "        return 0.0"],
    ["_private = 1.0", "_ = 2.0", "return _private + _"],
    ["sum = 3.0", "max = 4.0", "return sum + max"],
    ["return dict(a=y)['a']"],
    ["d = {}", "d.update(level=y)", "return d['level']"],
    ["return y if y > 0 else -y"],
    ["for i, (a, b) in enumerate(zip(x, x)):", "    if a > b:", "        break", "    continue", "return 1.0"],
    ["return np.maximum.accumulate(x)[-1] + np.add.reduce(x) + np.multiply.outer(x, x).sum()"],
    ["return x[..., 0] + x[None, :].sum() + x[::-1][0]"],
    ["return np.pad(x, 1, mode='edge').sum()"],
    ["'''A docstring with % and {braces} and \u2264.'''", "return 1.0"],
]  # fmt: skip


@pytest.mark.parametrize("lines", ACCEPTED, ids=lambda lines: lines[0][:40])
def test_accepted(lines: list[str]) -> None:
    check_program(body(*lines), LAYOUT)


def test_annotations_are_never_evaluated() -> None:
    source = """
z: open('a') = 1.0
def f(x: __import__('os'), y: 1 / 0) -> exec('b'):
    w: quit() = 1
    return w
"""
    check_program(source, LAYOUT)


def test_module_constants() -> None:
    source = """
import math
A = 1.0
B = [1, 2]
C = np.array([1.0])
D = {'a': (1, 2)}
E = math.sqrt(2)
F = tuple(i for i in range(3))
G = lambda v: v
H = A if A > 0 else 2

def f(x, y):
    return A
"""
    check_program(source, LAYOUT)


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("def g(x, y):\n    return 1.0\n", "no top-level function `f`"),
        ("f = 3\n", "no top-level function `f`"),
        ("f = lambda x, y: 1.0\n", "no top-level function `f`"),
        ("def g():\n    def f(x, y):\n        return 1\n", "no top-level function `f`"),
        ("def f(x):\n    return 1.0\n", "write `def f(x, y):`"),
        ("def f(y, x):\n    return 1.0\n", "write `def f(x, y):`"),
        ("def f(x, y, z):\n    return 1.0\n", "write `def f(x, y):`"),
        ("def f(x, y=1.0):\n    return 1.0\n", "write `def f(x, y):`"),
        ("def f(*a):\n    return 1.0\n", "write `def f(x, y):`"),
        ("def f(x, y, *, a=1):\n    return 1.0\n", "keyword-only"),
    ],
)
def test_signature(source: str, advice: str) -> None:
    found = refusal(source)
    assert found.rule == "signature"
    assert advice in found.message


def test_keyword_only_arguments_are_the_parameters() -> None:
    layout = Layout(entry="f", fields=LAYOUT.fields, parameters=(ParameterField(name="a"), ParameterField(name="b")))
    check_program("def f(x, y, *, b=1.0, a=2.0):\n    return a\n", layout)
    assert refusal("def f(x, y, *, a=1.0):\n    return a\n", layout).rule == "signature"
    assert refusal("def f(x, y):\n    return 1.0\n", layout).message.endswith("write `def f(x, y, *, a, b):`")


def test_too_much_code() -> None:
    line = "    z = y + 1.0  # a comment, which does not count\n"
    check_program("def f(x, y):\n" + line * 300 + "    return y\n", LAYOUT)
    found = refusal("def f(x, y):\n" + line * 600 + "    return y\n")
    assert found.rule == "size"


@pytest.mark.parametrize("choice", ["%s", "{}", "\u202e", "a" * 201])
def test_choices_are_constants_too(choice: str) -> None:
    parameter = ParameterField(name="a", kind="choice", choices=("plain", choice))
    layout = Layout(entry="f", fields=LAYOUT.fields, parameters=(parameter,))
    assert refusal("def f(x, y, *, a='plain'):\n    return 1.0 if a == 'plain' else 0.0\n", layout).rule in {
        "format",
        "constant",
    }


@pytest.mark.parametrize(
    "source", ["def f(x, y:\n", "def f(x, y):\nreturn 1\n", "f(", "x = = 1\n", "\t def f(x, y):\n  return 1"]
)
def test_syntax(source: str) -> None:
    assert refusal(source).rule in {"syntax", "size"}


def test_the_message_has_line_and_rule() -> None:
    assert (
        str(refusal(body("return x.base")))
        == "line 2: `.base` is not available: write it with arithmetic and loops [attribute]"
    )
