"""Demand distributions of the beds, as numbers: probabilities, and the expected cost of one period."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from problems.inventory.beds import Cell

Floats = NDArray[np.float64]


def probabilities(cell: Cell, count: int) -> Floats:
    """Probability of a demand of 0, 1, …, count − 1 in one period. Shape *(count,)*."""
    units = np.arange(count)
    if cell.law == "geometric":
        return np.asarray((1.0 / (1.0 + cell.mean)) * (cell.mean / (1.0 + cell.mean)) ** units, dtype=np.float64)
    logs = units * math.log(cell.mean) - cell.mean - np.array([math.lgamma(k + 1.0) for k in units])
    return np.asarray(np.exp(logs), dtype=np.float64)


def expected_cost(cell: Cell, most: int) -> Floats:
    """Expected holding and shortage cost of a period that demand finds x = 0, 1, …, most units in. Shape *(most + 1,)*.

    E(x − D)⁺ is the sum of P(D ≤ k) over k < x, so nothing is cut off.
    """
    below = np.concatenate([[0.0], np.cumsum(np.cumsum(probabilities(cell, most)))])
    left = below[: most + 1]
    lost = left + cell.mean - np.arange(most + 1)
    return np.asarray(cell.holding * left + cell.shortage * lost, dtype=np.float64)


def next_stock(cell: Cell, most: int) -> Floats:
    """Probability that j units are left of x after demand, as row x and column j. Shape *(most + 1, most + 1)*."""
    chance = probabilities(cell, most + 1)
    table = np.zeros((most + 1, most + 1))
    for stock in range(most + 1):
        table[stock, 1 : stock + 1] = chance[:stock][::-1]
        table[stock, 0] = 1.0 - chance[:stock].sum()
    return table


def newsvendor_level(cell: Cell) -> int:
    """The least level that covers demand of lead time + 1 periods with probability p / (p + h).

    Holding less unmet demand back than a system with backorders does, the optimal rule never brings stock and pipeline
    above its level (Zipkin 2008, after Karlin and Scarf 1958 and Morton 1969).
    """
    spare = int(10 * (cell.lead_time + 1) * (cell.mean + cell.spread)) + 50
    once = probabilities(cell, spare)
    total: NDArray[Any] = once
    for _ in range(cell.lead_time):
        total = np.convolve(total, once)[:spare]
    return int(np.searchsorted(np.cumsum(total), cell.shortage / (cell.shortage + cell.holding)))
