"""What a zygote does before the first fork, so that no child has to: imports and first uses.

A locked child cannot open a file, so everything that loads code on first use must have been used once. It is also where
time goes: a first compilation by numba takes ten times as long as a later one.

Defends against: harmless programs that would die, or fail a row, because a library opens a file on first use. It runs
only our own samples, before any program is there.

Does not defend against: a first use that it does not know. Such a program fails behind the walls; they do not open.
"""

import contextlib
import io
import math
import os
import traceback
from collections.abc import Iterator

import numpy as np

from sandbox import allow, facade
from sandbox.compilation import compile_rows
from sandbox.compiled import CompileFailed
from sandbox.errors import Refused
from sandbox.load import load
from sandbox.rows import PlainRows
from sandbox.values import Field, Layout, ParameterField

_SAMPLE = """
SCALE = (0.5, 1.0)
TABLE = np.array([1.0, 2.0])

def helper(x, y):
    return x if x > y else y

def warm(a, b, n, memory, *, level=1.0, cap=2, weights=(0.1, 0.2), rule="first"):
    if n < 0:
        raise ValueError(f"{n} is negative")
    total = 0.0
    for i in range(len(b)):
        total += helper(b[i], a) * SCALE[i % 2] + TABLE[i % 2]
    x = np.zeros(3)
    x[0] += total ** 0.5 + math.exp(-a)
    memory[0] += weights[0]
    if rule == "first":
        total = max(0.0, min(total, float(np.sum(b)) + math.sqrt(abs(a)) + x.sum()))
    return min(total, level * cap), memory
"""

_LAYOUT = Layout(
    entry="warm",
    fields=(Field(name="a"), Field(name="b", shape=(4,), per="instance"), Field(name="n", dtype="int", per="block")),
    parameters=(
        ParameterField(name="level"),
        ParameterField(name="cap", kind="integer"),
        ParameterField(name="weights", size=2),
        ParameterField(name="rule", kind="choice", choices=("first", "second")),
    ),
    memory=2,
)


_SLOW = (
    "float(np.where(x > 0.0, x, 0.0)[0])",
    "sorted(x)[0]",
    "np.diff(x)[0]",
    "x[np.argsort(x)[0]]",
    "np.where(y > 0.0, y, 0.0)",
    "x.std() + x.max() - x.min()",
)
"""What takes a second or more to compile for the first time, and a fraction of that in every child afterwards."""


def warm_up(*, compiling: bool) -> None:
    """Import and use everything once.

    Args:
        compiling: also warm up numba (some seconds).
    """
    np.seterr(all="ignore")
    _use_numpy()
    _use_python()
    with contextlib.suppress(Refused):
        load("def f(x):\n    return x.y\n", Layout(entry="f", fields=(Field(name="x"),)))
    loaded = load(_SAMPLE, _LAYOUT)
    if compiling:
        os.getcwd = lambda: "/"  # numba asks at every compilation, and a locked child may not
        with contextlib.suppress(ImportError):
            import scipy.linalg.cython_blas
            import scipy.linalg.cython_lapack  # noqa: F401
        with contextlib.suppress(CompileFailed):
            compile_rows(loaded, _LAYOUT, PlainRows(loaded.entry, _LAYOUT))


def idle_work() -> Iterator[None]:
    """Further compilations that save children time, one per step, for a zygote that has nothing else to do."""
    layout = Layout(entry="f", fields=(Field(name="x", shape=(4,)), Field(name="y")))
    for expression in _SLOW:
        loaded = load(f"def f(x, y):\n    return {expression}\n", layout)
        with contextlib.suppress(CompileFailed):
            compile_rows(loaded, layout, PlainRows(loaded.entry, layout))
        yield


def _use_numpy() -> None:
    """Some array methods and functions load modules, and the linear algebra its work memory, on first use."""
    array, matrix, large = np.arange(1.0, 5.0), np.eye(3) + 0.1, np.eye(64) + 0.1
    functions = [getattr(array.copy(), name, None) for name in sorted(allow.METHODS)]
    functions += [*vars(facade.NUMPY).values(), *vars(facade.LINALG).values()]
    for function in functions:
        for arguments in ((), (array,), (matrix,), (array, array), (matrix, array), (array, 1)):
            if callable(function) and not isinstance(function, type):
                with contextlib.suppress(Exception):
                    function(*arguments)
    for work in (large.dot, np.linalg.inv, np.linalg.cholesky, np.linalg.eigh, np.linalg.svd, np.linalg.qr):
        work(large)
    for mistake in (
        lambda: array[9],
        lambda: array.reshape(3, 3),
        lambda: np.zeros(-1),
        lambda: np.linalg.inv(matrix * 0),
    ):
        with contextlib.suppress(Exception):
            mistake()


def _use_python() -> None:
    """Error paths load modules too."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            math.sqrt(-1)
        except ValueError:
            traceback.format_exc()
