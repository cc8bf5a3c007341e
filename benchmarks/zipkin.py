"""Zipkin's lost-sales bed: is the exact evaluator exact, does the simulator agree with it, and how fast is it?

    python benchmarks/zipkin.py [--cells PART] [--speed]

For each cell: the optimum by value iteration, base-stock and capped base-stock by their Markov chains, and projected
inventory level with the exact distribution of demand, each beside the reference figure; then two rules simulated, with the
distance from the exact cost in half-widths of the simulation's own 95 % interval. `--speed` measures the simulator without
a program: row-steps per second with an answer that costs nothing.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from problems.inventory import Inventory, InventorySettings
from problems.inventory.beds import Cell, cells
from problems.inventory.chain import Decide, chain_cost
from problems.inventory.gap import simulated_cost
from problems.inventory.laws import next_stock
from problems.inventory.optimum import optimal_cost

PRINTED = 5.5e-5
"""Figures are printed to four digits."""


def base_stock(level: float) -> Decide:
    """Order up to a level."""
    return lambda on_hand, pipeline, **_: np.maximum(level - on_hand - pipeline.sum(axis=1), 0.0)


def capped(level: float, cap: float) -> Decide:
    """Order up to a level, but not more than a cap."""
    return lambda on_hand, pipeline, **_: np.clip(level - on_hand - pipeline.sum(axis=1), 0.0, cap)


def projected(cell: Cell, target: float) -> Decide:
    """Projected inventory level; orders rounded down, as in the reference figures."""

    def rule(on_hand: Any, pipeline: Any, **_: Any) -> Any:
        orders = [
            _projected_order(cell, target, on_hand[k : k + 4096], pipeline[k : k + 4096])
            for k in range(0, len(on_hand), 4096)
        ]
        return np.concatenate(orders)

    return rule


def _projected_order(cell: Cell, target: float, on_hand: Any, pipeline: Any) -> Any:
    most = int((on_hand + pipeline.sum(axis=1)).max())
    table, units = next_stock(cell, most), np.arange(most + 1)
    chance = (on_hand[:, None] == units).astype(float)
    for slot in range(cell.lead_time):
        chance = chance @ table
        back = units - pipeline[:, slot, None].astype(int)
        chance = np.where(back >= 0, np.take_along_axis(chance, np.maximum(back, 0), axis=1), 0.0)
    return np.floor(np.maximum(target - chance @ units, 0.0) + 1e-9)


def check(cell: Cell) -> dict[str, float]:
    """Differences from the reference figures (relative for projected inventory level), and seconds."""
    figures = cell.figures
    found: dict[str, float] = {}
    began = time.perf_counter()
    optimum = optimal_cost(cell)
    assert optimum is not None
    found["optimum_seconds"] = time.perf_counter() - began
    found["states"] = optimum.states
    found["optimal"] = optimum.cost - figures["optimal"]
    began = time.perf_counter()
    rules = {
        "base_stock": base_stock(figures["base_stock_S"]),
        "capped_base_stock": capped(figures["capped_S"], figures["capped_cap"]),
    }
    costs = {}
    for name, rule in rules.items():
        bounds = chain_cost(rule, cell)
        assert bounds is not None
        costs[name] = bounds.cost
        found[name] = bounds.cost - figures[name]
    found["chain_seconds"] = time.perf_counter() - began
    bounds = chain_cost(projected(cell, figures["pil_U"]), cell)
    assert bounds is not None
    found["pil"] = bounds.cost / figures["projected_inventory_level"] - 1
    found["pil_gap"] = bounds.cost / figures["optimal"] - 1
    raw = replace(cell, control=None)  # no help from a rule of known cost: the simulator alone
    for name, rule in rules.items():
        seed = cells("zipkin").index(cell) + 100 * len(name)
        cost, half = simulated_cost(rule, raw, width=cell.lead_time, paths=64, periods=5_000, seed=seed)
        found[f"{name}_simulated"] = (cost - costs[name]) / half
    return found


def main() -> None:
    """Print one line per cell and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="", help="only cells whose name contains this, such as L=2")
    parser.add_argument("--speed", action="store_true", help="measure the simulator instead")
    arguments = parser.parse_args()
    if arguments.speed:
        measure_speed()
        return
    optimal_cost(cells("zipkin")[0])  # compile before the clock runs
    chosen = [cell for cell in cells("zipkin") if arguments.cells in cell.name]
    print(f"{'cell':24} {'optimal':>9} {'off by':>9} {'states':>8} {'s':>6} | {'base off':>9} {'capped off':>10} {'s':>6} | "
          f"{'PIL off':>8} | simulated, in half-widths")  # fmt: skip
    results = []
    for cell in chosen:
        found = check(cell)
        results.append(found)
        print(f"{cell.name:24} {cell.reference:9.4f} {found['optimal']:9.1e} {found['states']:8.0f} "
              f"{found['optimum_seconds']:6.2f} | {found['base_stock']:9.1e} {found['capped_base_stock']:10.1e} "
              f"{found['chain_seconds']:6.2f} | {100 * found['pil']:7.2f}% | {found['base_stock_simulated']:+.2f} "
              f"{found['capped_base_stock_simulated']:+.2f}", flush=True)  # fmt: skip
    summarise(results)


def summarise(results: Sequence[dict[str, float]]) -> None:
    """How many figures agree."""
    for name in ("optimal", "base_stock", "capped_base_stock"):
        agree = sum(abs(found[name]) < PRINTED for found in results)
        print(f"{name}: {agree} of {len(results)} cells agree to four digits")
    for name in ("base_stock", "capped_base_stock"):
        inside = [abs(found[f"{name}_simulated"]) <= 1 for found in results]
        print(f"simulated {name}: {sum(inside)} of {len(inside)} within their 95 % interval")
    gaps = [found["pil_gap"] for found in results]
    print(
        f"projected inventory level, orders rounded down: mean gap {100 * np.mean(gaps):.2f} %, max {100 * max(gaps):.2f} %"
    )


class Answer:
    """A policy that costs nothing."""

    def __init__(self, rows: int, instances: int) -> None:
        self.rows, self.instance = rows, np.arange(rows) % instances
        self._orders = np.full(rows, 3.0)

    def __call__(self, **_: Any) -> Any:
        """The same order for every row."""
        return self._orders


def measure_speed() -> None:
    """Row-steps per second of the simulator alone, best of seven."""
    for title, problem in (
        ("bundled data, lead time 7", Inventory(InventorySettings())),
        ("zipkin, lead times 1 to 4", Inventory(InventorySettings(bed="zipkin"))),
    ):
        instances = problem.instances("train", 0)
        steps = problem.block(instances).periods
        for rows in (64, 1_024, 4_096, 16_384):
            seconds = []
            for _ in range(7):
                began = time.perf_counter()
                problem.evaluate(Answer(rows, len(instances)), instances)
                seconds.append(time.perf_counter() - began)
            step = min(seconds) / steps
            print(f"{title}: {rows:6} rows: {1e6 * step:6.1f} µs per step, {rows / step / 1e6:6.1f} M row-steps/s")


if __name__ == "__main__":
    main()
