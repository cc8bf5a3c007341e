"""From a loaded program to compiled rows that have been compared with the plain loop.

Defends against: compiled rows that nobody compared with what the program means as plain Python.

Does not defend against: anything by itself; see `sandbox.kernel` for what is compiled and `sandbox.comparison` for what
is compared.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.comparison import compare
from sandbox.compiled import CompiledRows, CompileFailed
from sandbox.load import Loaded
from sandbox.rows import PlainRows
from sandbox.values import Layout


def compile_rows(loaded: Loaded, layout: Layout, plain: PlainRows) -> CompiledRows:
    """Compile a program with its row loop, and compare it with the plain loop on random rows.

    Raises:
        CompileFailed: if it cannot be compiled, or the two disagree.
    """
    try:
        from sandbox import kernel
    except ImportError:
        raise CompileFailed("numba is not installed") from None
    compiled = CompiledRows(kernel.build(loaded, layout), layout)
    compare(compiled, plain, layout, default_vectors(loaded, layout))
    return compiled


def default_vectors(loaded: Loaded, layout: Layout) -> NDArray[np.float64]:
    """Parameter vectors around a program's own defaults, shape *(8, width)*; the same in every run."""
    random = np.random.default_rng(1)
    defaults = loaded.entry.__kwdefaults__ or {}
    columns: list[NDArray[np.float64]] = []
    for parameter in layout.parameters:
        default: Any = defaults.get(parameter.name, 1)
        if parameter.kind == "choice":
            columns.append(random.integers(len(parameter.choices), size=(8, 1)).astype(float))
            continue
        start = np.resize(np.asarray(_numbers(default), dtype=float), parameter.width)
        column = start * random.uniform(0.5, 1.5, size=(8, parameter.width))
        column[0] = start
        columns.append(np.round(column) if parameter.kind == "integer" else column)
    return np.concatenate(columns, axis=1) if columns else np.zeros((1, 0))


def _numbers(default: Any) -> Sequence[float] | float:
    numbers = default if isinstance(default, tuple) else (default,)
    return [float(n) if isinstance(n, (int, float)) and abs(n) < 1e300 else 1.0 for n in numbers] or 1.0
