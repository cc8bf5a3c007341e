"""The least average cost of a cell with lost sales, by value iteration.

The state before a decision is (x; y₁, …, y_{L−1}): stock on hand and what arrives in 1, …, L − 1 periods. The optimal rule
never brings stock and pipeline above a known level, so the state space is finite without cutting anything off. Values lie
in one flat array: the pipeline as the digits of one number, then the stock; so the next states that demand leads to are
neighbours. Between two searches for better orders the present orders are followed for some sweeps, which is cheaper
(Puterman's modified policy iteration); the least and the greatest change in a full sweep enclose the optimum.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from problems.inventory.beds import Cell
from problems.inventory.chain import CostBounds
from problems.inventory.laws import expected_cost, newsvendor_level, next_stock

MAX_VALUES = 60_000_000
"""Above this many places of the flat array (half a gigabyte) the state space does not fit."""

CHEAP_SWEEPS = 12
MAX_ROUNDS = 1_000


@dataclass(frozen=True)
class _Pipelines:
    """All contents of the pipeline that the level allows; arrays of one entry each.

    Args:
        code: its number: digits base level + 1, what arrives next is the highest.
        total: units on order.
        next_units: what arrives next.
        rest: the number without that digit, ready to take a new order as its lowest digit.
    """

    code: NDArray[np.int64]
    total: NDArray[np.int64]
    next_units: NDArray[np.int64]
    rest: NDArray[np.int64]

    @classmethod
    def up_to(cls, level: int, places: int) -> "_Pipelines":
        base = level + 1
        code, total = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        for _ in range(places):
            units = np.arange(base)
            sums = total[:, None] + units
            keep = sums <= level
            code, total = (code[:, None] * base + units)[keep], sums[keep]
        if not places:
            return cls(code, total, np.zeros(1, dtype=np.int64), code)
        top = base ** (places - 1)
        return cls(code, total, code // top, code % top * base)


def optimal_cost(cell: Cell, tolerance: float = 1e-5) -> CostBounds | None:
    """Bounds on the optimal average cost per period; None if the state space does not fit.

    Args:
        cell: lost sales, lead time at least 1.
        tolerance: stop when the bounds are this close.
    """
    level = newsvendor_level(cell)
    places = cell.lead_time - 1
    if (level + 1) ** cell.lead_time > MAX_VALUES:
        return None
    pipelines = _Pipelines.up_to(level, places)
    weights, cost = next_stock(cell, level), expected_cost(cell, level)
    improve, follow = _kernels()
    values = np.zeros((level + 1) ** cell.lead_time)
    new, orders = np.zeros_like(values), np.zeros(len(values), dtype=np.int64)
    tables = (pipelines.code, pipelines.total, pipelines.next_units, pipelines.rest, weights, cost, level, places == 0)
    low, high = -np.inf, np.inf
    for _ in range(MAX_ROUNDS):
        least, greatest = improve(values, new, orders, tables)
        values, new = new, values
        low, high = max(low, least), min(high, greatest)
        if high - low < tolerance:
            break
        for _ in range(CHEAP_SWEEPS):
            follow(values, new, orders, tables)
            values, new = new, values
        values -= values[0]
    return CostBounds(low=low, high=high, states=int((level - pipelines.total + 1).sum()))


@cache
def _kernels() -> tuple[Any, Any]:
    """Compiled sweeps over all states: search for the best orders, and follow the present ones."""
    from numba import njit

    @njit(boundscheck=False)  # type: ignore[untyped-decorator]
    def expected(values: Any, weights: Any, stock: int, first: int) -> float:
        total = 0.0
        for left in range(stock + 1):
            total += weights[stock, left] * values[first + left]
        return total

    @njit(boundscheck=False)  # type: ignore[untyped-decorator]
    def improve(values: Any, new: Any, orders: Any, tables: Any) -> tuple[float, float]:
        code, total, next_units, rest, weights, cost, level, at_once = tables
        least, greatest = np.inf, -np.inf
        for k in range(len(code)):
            room = level - total[k]
            for stock in range(room + 1):
                best, best_order = np.inf, 0
                for order in range(room - stock + 1):
                    first = order if at_once else (rest[k] + order) * (level + 1) + next_units[k]
                    value = expected(values, weights, stock, first)
                    if value < best:
                        best, best_order = value, order
                state = code[k] * (level + 1) + stock
                new[state] = cost[stock] + best
                orders[state] = best_order
                change = new[state] - values[state]
                least, greatest = min(least, change), max(greatest, change)
        return least, greatest

    @njit(boundscheck=False)  # type: ignore[untyped-decorator]
    def follow(values: Any, new: Any, orders: Any, tables: Any) -> None:
        code, total, next_units, rest, weights, cost, level, at_once = tables
        for k in range(len(code)):
            for stock in range(level - total[k] + 1):
                state = code[k] * (level + 1) + stock
                order = orders[state]
                first = order if at_once else (rest[k] + order) * (level + 1) + next_units[k]
                new[state] = cost[stock] + expected(values, weights, stock, first)

    return improve, follow
