"""Programs that try to remember earlier blocks, or to tell one block from another: the answer depends on the row alone."""

from typing import Any

import numpy as np
import pytest

from sandbox import Field, Layout, Refused, Sandbox

LAYOUT = Layout(entry="f", fields=(Field(name="x"), Field(name="y", shape=(3,))))

CARRIERS = """
### list
SEEN = []
def f(x, y):
    SEEN.append(x)
    return float(len(SEEN))

### dictionary
SEEN = {}
def f(x, y):
    SEEN[x] = 1
    return float(len(SEEN))

### set
SEEN = set()
def f(x, y):
    SEEN.add(x)
    return float(len(SEEN))

### array
SEEN = np.zeros(1)
def f(x, y):
    SEEN[0] += 1
    return SEEN[0]

### array by method
SEEN = np.zeros(1)
def f(x, y):
    SEEN.fill(x)
    return SEEN[0]

### array by out
SEEN = np.zeros(3)
def f(x, y):
    np.add(SEEN, 1.0, out=SEEN)
    return SEEN[0]

### array through a list
SEEN = [np.zeros(1)]
def f(x, y):
    SEEN[0][0] += 1
    return SEEN[0][0]

### array through a view
A = np.zeros(4)
B = A.reshape(2, 2)
def f(x, y):
    B[0, 0] += 1
    return A[0]

### default
SEEN = [0]
def g(s=SEEN):
    s[0] += 1
    return s[0]
def f(x, y):
    return float(g())

### default array
SEEN = np.zeros(1)
def g(s=SEEN):
    s[0] += 1
    return s[0]
def f(x, y):
    return g()

### default in a tuple
S = ([0],)
def g(s=S):
    s[0][0] += 1
    return s[0][0]
def f(x, y):
    return float(g())

### lambda default
S = [0]
G = lambda s=S: s
def f(x, y):
    G().append(1)
    return float(len(G()))

### closure
def m():
    b = [0]
    def g():
        b[0] += 1
        return b[0]
    return g
G = m()
def f(x, y):
    return float(G())

### closure in a tuple
def m():
    b = [0]
    return lambda: b
G = (m(),)
def f(x, y):
    G[0]().append(1)
    return float(len(G[0]()))

### generator
G = (i for i in range(99))
def f(x, y):
    return float(next(G))

### map
G = map(abs, range(99))
def f(x, y):
    return float(next(G))

### enumerate
G = enumerate(range(99))
def f(x, y):
    return float(next(G)[0])

### reversed
G = reversed(range(99))
def f(x, y):
    return float(next(G))

### bound method
ADD = [].append
def f(x, y):
    ADD(1)
    return 1.0

### dictionary view
D = {}
V = D.keys()
def f(x, y):
    return float(len(V))

### slice
S = slice([0], None)
def f(x, y):
    S.start[0] += 1
    return float(S.start[0])

### exception
E = ValueError([0])
def f(x, y):
    return 1.0

### fresh memory
def f(x, y):
    m = np.empty(100000)
    r = m[0]
    m[:] = x
    return r

### fresh memory like
def f(x, y):
    m = np.empty_like(np.ones(1000))
    r = m[0]
    m[:] = x
    return r

### fresh small memory
def f(x, y):
    m = np.empty(6)
    r = m[0] + m[5]
    m[:] = x
    return r

### fresh small memory by another name
from numpy import empty as e
def f(x, y):
    m = e(6)
    r = m[0] + m[5]
    m[:] = x
    return r

### arguments
def f(x, y):
    r = y[0]
    y[0] = x
    return r

### arguments by sort
def f(x, y):
    y.sort()
    return y[0]

### object identity
def f(x, y):
    return 1.0 if y is y[:] else 0.0

### string interning
def f(x, y):
    a = 'ab' * 3
    return 1.0 if a is 'ababab' else 0.0

### recursion depth
def g(n):
    try:
        return g(n + 1)
    except Exception:
        return n
def f(x, y):
    return float(g(0))

### error state
def f(x, y):
    return float(np.isnan(np.log(-1.0)))
"""
PROGRAMS = dict(block.split("\n", 1) for block in CARRIERS.split("### ")[1:])


def ask(child: Any, value: float) -> list[float]:
    block = child.call({"x": np.full(3, value), "y": np.tile([3.0, 1.0, 2.0], (3, 1))})
    return [*block.actions.tolist(), *block.status.tolist()]


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_nothing_is_carried_from_block_to_block_or_row_to_row(sandbox: Sandbox, source: str, compiled: bool) -> None:
    try:
        child = sandbox.spawn(source, LAYOUT, max_rows=3, compiled=compiled)
    except Refused:
        return
    with child:
        child.bind(np.zeros((1, 0)))
        first = ask(child, 1.0)
        for value in (2.0, 3.0, 4.0):
            ask(child, value)
        again = ask(child, 1.0)
        child.bind(np.zeros((1, 0)))
        rebound = ask(child, 1.0)
    assert first == again == rebound
    assert len(set(first[:3])) == 1


def test_a_program_cannot_tell_where_in_a_block_it_stands(sandbox: Sandbox) -> None:
    """The same row gives the same answer at any place, in blocks of any size, under any number of vectors."""
    source = "def f(x, y):\n    return x * y.sum() + (y > 1).sum()\n"
    random = np.random.default_rng(0)
    x, y = random.random(16), random.random((16, 3))
    with sandbox.spawn(source, LAYOUT, max_rows=16) as child:
        child.bind(np.zeros((1, 0)))
        whole = child.call({"x": x, "y": y}).actions
        order = random.permutation(16)
        assert child.call({"x": x[order], "y": y[order]}).actions.tolist() == whole[order].tolist()
        for row in (0, 7, 15):
            assert child.call({"x": x[[row]], "y": y[[row]]}).actions.tolist() == [whole[row]]


def test_a_fresh_child_answers_the_same(sandbox: Sandbox) -> None:
    """What an engine relies on when it scores a champion again in a new process."""
    source = "def f(x, y):\n    return sum({v: v * x for v in y}.values()) + len({'a': 1, 'b': 2})\n"
    answers = set()
    for _ in range(3):
        with sandbox.spawn(source, LAYOUT, max_rows=3) as child:
            child.bind(np.zeros((1, 0)))
            answers.add(tuple(ask(child, 0.1)))
    assert len(answers) == 1
