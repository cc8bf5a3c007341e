"""What may be compiled and what not; and that what is compiled answers as the plain loop does, at every edge."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sandbox import Field, Layout, ParameterField
from sandbox.compilation import compile_rows
from sandbox.compiled import CompileFailed
from sandbox.errors import Refused
from sandbox.load import load
from sandbox.placement import DTYPES
from sandbox.rows import Block, PlainRows
from sandbox.warm import warm_up

LAYOUT = Layout(
    entry="f",
    fields=(
        Field(name="x", low=-10.0, high=10.0),
        Field(name="n", dtype="int", low=-5, high=9),
        Field(name="y", shape=(4,), low=-3.0, high=3.0),
        Field(name="b", dtype="bool"),
    ),
    parameters=(ParameterField(name="p"), ParameterField(name="days", kind="integer")),
)
HEAD = "def f(x, n, y, b, *, p=0.5, days=1):\n"


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> None:
    warm_up(compiling=False)


def run(loop: Any, layout: Layout, arrays: list[Any], theta: Any, plain: PlainRows | None = None) -> Block:
    rows = len(arrays[0])
    block = Block(
        rows=rows,
        arguments=arrays,
        per=["row"] * len(arrays),
        memory=None,
        actions=np.zeros(rows, dtype=DTYPES[layout.output.dtype]),
        status=np.zeros(rows, dtype=np.uint8),
        memory_out=None,
    )
    loop.bind(theta, np.arange(rows) % len(theta), np.zeros(rows, dtype=np.int64))
    if plain is None:
        loop.run(block, range(rows))
    else:
        plain.bind(theta, np.arange(rows) % len(theta), np.zeros(rows, dtype=np.int64))
        loop.run(block, plain)
    return block


def agree(source: str, layout: Layout, arrays: list[Any], theta: Any) -> None:
    """Both loops on the same rows, in blocks so small that the compiled loop is asked every row."""
    loaded = load(source, layout)
    plain = PlainRows(loaded.entry, layout)
    fast = compile_rows(loaded, layout, plain)
    rows = len(arrays[0])
    for row in range(0, rows, 16):
        part = [np.ascontiguousarray(array[row : row + 16]) for array in arrays]
        for array in part:
            array.setflags(write=False)
        expected = run(plain, layout, part, theta)
        found = run(fast, layout, part, theta, plain)
        assert found.status.tolist() == expected.status.tolist(), source
        good = expected.status == 0
        np.testing.assert_allclose(found.actions[good], expected.actions[good], rtol=1e-12, atol=1e-300)


FLOATS = np.array(
    [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.0, 2.0, -7.25, 3.0, 1e-300, 5e-324, -1e-9, 1e9, 1e17, 9.3e18, -9.3e18, 1e154,
     1e308, -1e308, 710.0, -710.0]
)  # fmt: skip
WHOLES = np.array(
    [0, 1, -1, 2, 3, -7, 10, 62, 63, 64, 2**31, 3037000500, 2**53 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63)]
)
THETA = np.array([[0.5, 1.0], [-1.0, 0.0], [90.0, 3.0], [1e300, 4.0], [0.0, -2.0]])


def edges() -> list[Any]:
    xs, ns = np.meshgrid(FLOATS, WHOLES)
    rows = xs.size
    random = np.random.default_rng(0)
    y = random.choice(np.array([0.0, -0.0, 1.0, -1.0, 2.5, 1e308, -1e308, 1e-300]), size=(rows, 4))
    return [xs.ravel().copy(), ns.ravel().copy(), y, np.arange(rows) % 3 == 0]


AS_PYTHON = """
n + n|n - 3 * n|n * n|n * 4611686018427387904|n + 1|1 - n|-n|abs(n)
n // 2|2 // n|n % 3|7 % n|n // -1|n % -1|n / 3|3 / n
n ** 2|n ** 3|n ** 8|2 ** (n % 99)|(-2) ** (n % 70)|n ** (n % 9)|n ** -1|n ** 0.5|n ** p|int(x) ** 8|int(x) * int(x)
float(n) * n|n + x|n * x|n // x|n % x|x // n|x % n|x % 2|x // 0.3|x % -0.3|-x % 7.0
round(x)|round(x * 1e17)|round(n)|int(x * 1e17)|int(x * 1e300)|int(n)|int(b)|float(b)|float(n)
x * x|x ** 2|x ** 3|x ** 0.5|x ** p|p ** x
x ** -1|x ** n|x / p|x / x|x - x * 1e308|x * 1e308 * 0.0|x * 1e308 - x * 1e308
math.sqrt(x)|math.log(x)|math.exp(x)|math.sin(x * 1e300)
math.cos(x)|math.tan(x)|math.fmod(x, p)|math.fmod(x * 1e300, 2.0)
math.pow(x, p)|math.pow(n, 2)|math.hypot(x, x)|math.floor(x)
math.ceil(x)|math.trunc(x * 1e10)|math.gamma(x)|math.lgamma(x)
math.atan2(x, p)|math.copysign(1.0, x)|math.log1p(x)|math.expm1(x)|math.tanh(x)|math.erf(x)|math.sinh(x)|math.log(n)
np.sqrt(x)|np.log(x)|np.exp(x)|np.maximum(x, p)|np.minimum(n, 3)|np.sign(x)|np.floor(x)|np.rint(x)
np.round(x)|np.abs(x)
np.clip(x, -1.0, p)|np.clip(n, 0, 5)|np.clip(y, -1.0, p)[0]|np.power(x, 2.0)|np.power(x, p)|np.float64(x) / p
float(np.where(x > p, x, p))|np.where(y > 0.0, y, 0.0).sum()|np.add(n, n)
np.multiply(n, n)|np.square(x)|float(np.isnan(x - x))
min(x, p)|max(x, n)|min(n, 3)|max(0, x)|max(y)|min(y)|sum(y)|y.sum()|y.mean()|y.std()|y.var()|np.max(y)|np.argmax(y)
np.quantile(y, p)|np.quantile(y, x)|np.quantile(y, 0.3)|np.quantile(y, 0.9)|np.quantile(y[days:], 0.5)
np.quantile(y[n:], 1.0)
np.argsort(y)[0]|np.sort(y)[0]|np.median(y)|sorted(y)[0]|np.diff(y)[0]|np.cumsum(y)[-1]|np.prod(y)|np.dot(y, y)
y[n]|y[-n]|y[int(x)]|y[n % 4]|y[:n].sum()
y[-days:].sum()|y[-days:].mean()|y[days:].mean()|y[days:].max()|max(y[days:])
y[days:].std()|np.argmax(y[days:])|np.median(y[days:])|min(y[:n])|y[n:days].sum()|y[::-1][n]|y[days]|y.T[n]|len(y[n:])
(y > 0.0).sum()|(y > p).mean()|(y > 0.0).astype(int)[0]|y.astype(int)[0]|y[1] / y[0]|y[1] // y[0]|(y / y[0])[1]
(y * y).sum()
(y ** 2).sum()|(y - y.mean()).max()|(-y)[0]|np.array([x, p]).sum()
np.array([n, 1]).sum()
np.arange(n % 50).sum()|np.linspace(0.0, x, 3)[1]|np.linspace(0.0, 1.0, n % 3)[0]
np.zeros(n % 4)[0]|np.full(3, x).sum()|np.zeros(days)[0]
1.0 if 0 < x < p else 2.0|1.0 if 0.0 < x <= p < 3 else 2.0|x if b else p|x if not b else p|1.0 if b and x > p else 0.0
x or p|x and p|b + 1|b + b|b * x|b * n|n & 7|n ^ 3|1.0 if n in (1, 2, 3) else 0.0|sum([n, n])|sum([x > 0, b])
len([n] * days)
([1.0, 2.0] * days)[0]|([1.0] + [x])[n]|(1.0, x, p)[n]|[1.0, x][n]
[v * v for v in y][0]
sum(v * n for v in y)|sum(range(n % 100))
sum([i * n for i in range(4)])|float(any(v > p for v in y))|float(all(v > p for v in y))
np.count_nonzero(y)|np.maximum.accumulate(y)[-1]|np.cumsum(np.array([n, n]))[1]
y.item()|np.arange(3)[n]|np.full(3, n)[0] + n
"""
EXPRESSIONS = AS_PYTHON.strip().replace("\n", "|").split("|")


@pytest.mark.parametrize("part", range(12))
def test_what_is_compiled_answers_as_python_does(part: int) -> None:
    """On edge values, most of them outside the range that the comparison looks at; many expressions in one program."""
    mine = EXPRESSIONS[part::12]
    layout = replace(LAYOUT, fields=(Field(name="k", dtype="int", high=len(mine)), *LAYOUT.fields))
    branches = "".join(f"    if k == {k}:\n        return {expression}\n" for k, expression in enumerate(mine))
    arrays = [np.concatenate([array[part % 2 :: 2]] * len(mine)) for array in edges()]
    which = np.repeat(np.arange(len(mine)), len(arrays[0]) // len(mine))
    agree(f"{HEAD.replace('x', 'k, x', 1)}{branches}    return 0.0\n", layout, [which, *arrays], THETA)


BODIES_THAT_STAY_PLAIN = [
    # numba trusts their arguments
    "return np.take_along_axis(y, np.array([n]), 0)[0]",
    "return float(np.bincount(np.array([-5, 2, 3]))[0])",
    "return np.add(np.ones(2), 1.0, np.zeros(1000)).sum()",
    "return np.sqrt(y, np.zeros(2))[0]",
    "return np.delete(y, np.array([100, -100]))[0]",
    "return np.array_split(y, -1)[0][0]",
    "return float(np.histogram(y, 3, (0.0, math.inf))[0][0])",
    "return np.take(y, n)",
    "return y.take(n)",
    "return np.percentile(y, x)",
    "return np.repeat(y, n)[0]",
    "return np.partition(y, n)[0]",
    "return np.searchsorted(y, x)",
    "return np.interp(x, y, y)",
    "g = np.add\n    return g(np.ones(2), 1.0, np.zeros(1000)).sum()",
    "return y[np.array([n])][0]",
    "return y[y > 0.0].sum()",
    "return y[np.array([True, False, True, False, True, True])].sum()",
    "z = y.copy()\n    z[z > 0.0] = 0.0\n    return z.sum()",
    "z = y.copy()\n    z += y[1:]\n    return z.sum()",
    "z = y.copy()\n    z /= y[1:]\n    return z.sum()",
    "z = np.ones(2)\n    z -= y\n    return z.sum()",
    # unbound where they are read
    "if p < 77.0:\n        z = x\n    return z",
    "for i in range(n):\n        z = x\n    return z",
    "for i in range(n):\n        pass\n    return i",
    "while x > 100.0:\n        z = x\n    return z",
    "if b and (z := x) > 0.0:\n        return z\n    return z",
    "if p < 77.0:\n        z = 1.0\n    z += x\n    return z",
    "for v in y:\n        if v > x:\n            z = v\n            break\n    return z",
    "z = x\n    del z\n    return x",
    "z = x\n    g = lambda: z\n    z = 2.0\n    return g()",
    # another meaning
    "def g(v, k=2.0):\n        return v * k\n    return g(x) + g(p, k=3.0)",
    "z = y.copy()\n    w = z\n    z **= 2\n    return w.sum()",
    "z = np.arange(3)\n    z += x\n    return z.sum()",
    "z = np.arange(3)\n    z /= 2\n    return z.sum()",
    "return 1 << 300",
    "return 1 << n",
    "return n >> 70",
    "return ~(x > 0)",
    "return -(y > 1)",
    "return -b",
    "return +b",
    "return np.int64(x * 1e300)",
    "return np.int32(n)",
    "return round(x, 2)",
    "return 9223372036854775808 + n",
    "return b if n > 3 else 1.0",
    "if n > 3:\n        return x > 0.0\n    return x",
    "z = x > 0.0\n    if n > 3:\n        z = 2.0\n    return z",
    "z = np.arange(3)\n    z[0] = x\n    return z[0]",
    "z = np.array([1, n])\n    z[0] += x\n    return z[0]",
    "z = np.arange(3)\n    return (z ** n)[0]",
    "try:\n        return float(n * n)\n    except Exception:\n        return -1.0",
    "return float(len({n, 1, 2}))",
    "return 1.0 if n is days else 0.0",
    "f2 = max\n    return f2(x, p)",
    "return y.astype(np.int32)[0]",
    "return np.zeros(2, dtype=np.int32)[0] + x",
    "return max(*y)",
    "return sum(y, start=1.0)",
    "return pow(n, 2, 5)",
    "return divmod(n, 3)[0]",
    "m = math\n    return m.sqrt(x)",
    "return math.log(x, 2.0)",
    "return math.comb(100, n)",
    "return math.factorial(n)",
]
MODULES_THAT_STAY_PLAIN = [
    "g = np.add\nh = g\ndef f(x, n, y, b, *, p=0.5, days=1):\n    return h(np.ones(2), 1.0, np.zeros(99)).sum()\n",
    "g, h = np.take, np.dot\ndef f(x, n, y, b, *, p=0.5, days=1):\n    return g(y, n)\n",
    "g = np.add\ndef f(x, n, y, b, *, p=0.5, days=1):\n    return g(np.ones(2), 1.0, np.zeros(99)).sum()\n",
    "G = (np.take, np.take)\ndef f(x, n, y, b, *, p=0.5, days=1):\n    return G[0](y, n)\n",
    "BIG = 2 ** 63\ndef f(x, n, y, b, *, p=0.5, days=1):\n    return BIG + n\n",
    "def g(round):\n    return round\ndef f(x, n, y, b, *, p=0.5, days=1):\n    return round(x * 1e17) + g(x)\n",
    "def g(v, k=2 ** 70):\n    return v + k\ndef f(x, n, y, b, *, p=0.5, days=1):\n    return g(x)\n",
    "A = np.array([1, 2], dtype=np.int32)\ndef f(x, n, y, b, *, p=0.5, days=1):\n    return A[0] * 2000000000\n",
]


@pytest.mark.parametrize("source", [f"{HEAD}    {body}\n" for body in BODIES_THAT_STAY_PLAIN] + MODULES_THAT_STAY_PLAIN)
def test_what_could_differ_stays_plain(source: str) -> None:
    try:
        loaded = load(source, LAYOUT)
    except Refused:
        return  # by the static layer: there is nothing to compile
    with pytest.raises(CompileFailed):
        compile_rows(loaded, LAYOUT, PlainRows(loaded.entry, LAYOUT))


COMPILED = [
    "return np.where(x > p, x, p)",
    "total = 0.0\n    for k in range(len(y)):\n        total += y[k] * p\n    return total",
    "k = 0\n    while True:\n        k += 1\n        if k > 3:\n            z = x\n            break\n    return z",
    "if b:\n        z = 1.0\n    elif x > 0.0:\n        z = 2.0\n    else:\n        return 0.0\n    return z",
    "if x > 0.0:\n        z = 1.0\n    else:\n        raise ValueError('no')\n    return z",
    "z = y.copy()\n    z[0] += x\n    z[1:] *= 2.0\n    z[n] = 1.0\n    return z.sum()",
    "z = y.copy()\n    z[n:] = 0.0\n    return z.sum()",
    "z = [n, 2]\n    z[0] += n\n    z.append(3)\n    return z[0] * z[-1]",
    "z = n\n    z *= n\n    z -= 1\n    return z",
    "return (y + y[n:]).sum()",
    "return (y * y[1:]).sum()",
    "return np.maximum(y, y[days:]).sum()",
    "return np.add(y[1:], y).sum()",
    "return np.where(y > 0.0, y, y[2:]).sum()",
    "return np.dot(y, y[1:])",
    "z = y.copy()\n    z[1:] = y\n    return z.sum()",
    "z = y.copy()\n    z += x\n    z /= 2.0\n    return z.sum()",
    "total = 0.0\n    for i, v in enumerate(y):\n        total += i * v\n    return total",
    "if days < 1:\n        raise ValueError('days')\n    return y[-days:].mean()",
    "def g(v, k):\n        return v * k\n    return g(x, 2.0) + g(p, 3.0)",
    "z = x\n    z /= n\n    return z",
    "z = n\n    z /= 2\n    return z",
]


@pytest.mark.parametrize("body", COMPILED)
def test_forms_at_edge_values(body: str) -> None:
    """Among them: arrays of different lengths, which raise as in numpy."""
    agree(f"{HEAD}    {body}\n", LAYOUT, [array[:128] for array in edges()], THETA)
