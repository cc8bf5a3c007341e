"""Good capped base-stock rules of the long-lead bed and their average costs, by long simulation (`long_lead_capped.csv`).

    python -m problems.inventory.data.derive_capped

They serve as control rules: what they cost on a demand path above their average is noise that every rule shares. Level
and cap are searched on one path of 4 million periods that all share, then the cost is measured on 64 paths of 8 million
periods. Takes a quarter of an hour.
"""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from problems.inventory.beds import Cell, cells

SEARCH_PERIODS, MEASURE_PERIODS, PATHS = 4_000_000, 8_000_000, 64
FIRST_CAP = 0.8
"""Caps are tried from this multiple of mean demand."""


def main() -> None:
    """Search, measure and write the table beside this script."""
    simulate = _compiled()
    rows = []
    for place, cell in enumerate(cells("long_lead")):
        level, cap = _best(simulate, cell, place)
        costs = np.array(
            [
                simulate(_draw(cell, MEASURE_PERIODS, (1, place, path)), cell.lead_time, level, cap, cell.shortage)
                for path in range(PATHS)
            ]
        )
        half = 1.998 * costs.std(ddof=1) / math.sqrt(PATHS)  # Student's t, 63 degrees of freedom
        rows.append((cell.name, level, cap, f"{costs.mean():.5f}", f"{half:.5f}"))
    with (Path(__file__).parent / "long_lead_capped.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("cell", "capped_S", "capped_cap", "cost", "half_width"))
        writer.writerows(rows)


def _draw(cell: Cell, periods: int, seed: tuple[int, ...]) -> Any:
    return np.random.default_rng(np.random.SeedSequence(seed)).poisson(cell.mean, periods).astype(np.int16)


def _best(simulate: Callable[..., float], cell: Cell, place: int) -> tuple[int, int]:
    """The level and cap of least cost: descent over whole numbers, from the level of backorders."""
    demand = _draw(cell, SEARCH_PERIODS, (0, place))
    known: dict[tuple[int, int], float] = {}

    def cost(rule: tuple[int, int]) -> float:
        if rule not in known:
            known[rule] = simulate(demand, cell.lead_time, *rule, cell.shortage)
        return known[rule]

    horizon = (cell.lead_time + 1) * cell.mean
    best = (round(horizon + 2 * math.sqrt(horizon)), max(1, round(1.2 * cell.mean)))
    while True:
        level, cap = best
        near = [
            (level + step, cap + wide)
            for step in (-3, -1, 0, 1, 3)
            for wide in (-1, 0, 1)
            if cap + wide > FIRST_CAP * cell.mean
        ]
        least = min([best, *near], key=cost)
        if cost(least) >= cost(best):
            return best
        best = least


def _compiled() -> Callable[..., float]:
    from numba import njit

    @njit  # type: ignore[untyped-decorator]
    def simulate(demand: Any, lead_time: int, level: int, cap: int, shortage: float) -> float:
        """Average cost of a capped base-stock rule after 1,000 periods of warm-up; unit holding cost."""
        pipeline = np.zeros(lead_time, dtype=np.int64)
        on_hand, on_order, stock, lost = level // 2, 0, 0, 0
        for period in range(len(demand)):
            slot = period % lead_time
            on_hand += pipeline[slot]
            on_order -= pipeline[slot]
            order = min(cap, max(0, level - on_hand - on_order))
            pipeline[slot] = order
            on_order += order
            left = on_hand - demand[period]
            on_hand = max(left, 0)
            if period >= 1000:
                stock += on_hand
                lost += on_hand - left
        return (stock + shortage * lost) / (len(demand) - 1000)

    compiled: Callable[..., float] = simulate
    return compiled


if __name__ == "__main__":
    main()
