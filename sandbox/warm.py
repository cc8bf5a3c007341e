"""What a zygote does before the first fork, so that no child has to: imports and first uses.

A locked child cannot open a file, so everything that loads code on first use must have been used once. It is also where
time goes: a first compilation by numba takes ten times as long as a later one.
"""

import contextlib
import io
import math
import traceback

import numpy as np

from sandbox import allow, facade
from sandbox.errors import Refused
from sandbox.load import load
from sandbox.values import Field, Layout

_SAMPLE = '''
SCALE = (0.5, 1.0)

def helper(x, y):
    return x if x > y else y

def warm(a, b):
    """Uses what programs use most."""
    total = 0.0
    for i in range(len(b)):
        total += helper(b[i], a) * SCALE[i % 2]
    return max(0.0, min(total, float(np.sum(b)) + math.sqrt(abs(a))))
'''


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
    layout = Layout(entry="warm", fields=(Field(name="a"), Field(name="b", shape=(4,))))
    load(_SAMPLE, layout)
    if compiling:
        from sandbox import compiled  # noqa: PLC0415 - numba is heavy

        compiled.warm_up()


def _use_numpy() -> None:
    """Some array methods and functions load modules, and the linear algebra its work memory, on first use."""
    array, matrix = np.arange(1.0, 5.0), np.eye(64) + 0.1
    for name in sorted(allow.METHODS):
        method = getattr(array.copy(), name, None)
        if callable(method):
            with contextlib.suppress(Exception):
                method()
    for home in (np, np.linalg):
        for name in sorted(allow.NUMPY if home is np else allow.LINALG):
            function = getattr(facade.NUMPY if home is np else facade.LINALG, name, None)
            for arguments in ((array,), (matrix,), (array, array), (matrix, matrix), (matrix, array), (array, 1)):
                if callable(function) and not isinstance(function, type):
                    with contextlib.suppress(Exception):
                        function(*arguments)
    _ = matrix @ matrix
    for bad in (lambda: array[9], lambda: array.reshape(3, 3), lambda: np.zeros(-1), lambda: np.linalg.inv(matrix * 0)):
        with contextlib.suppress(Exception):
            bad()


def _use_python() -> None:
    """Error paths load modules too."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            math.sqrt(-1)
        except ValueError:
            traceback.format_exc()
