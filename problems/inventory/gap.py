"""How far a rule is from the reference of a cell: exactly where its Markov chain fits, else by a long simulation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from problems.inventory.beds import Cell, draw_block
from problems.inventory.block import Floats
from problems.inventory.chain import MAX_STATES, Decide, chain_cost
from problems.inventory.simulate import Simulator


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A rule's average cost in a cell, in a confidence interval (95 %) or in exact bounds, beside the reference.

    Args:
        cell: the cell.
        cost: average cost per period.
        low: lower end.
        high: upper end.
        method: `exact` or `simulated`.
    """

    cell: Cell
    cost: float
    low: float
    high: float
    method: Literal["exact", "simulated"]

    @property
    def relative(self) -> float:
        """Cost above the reference, as a share of it."""
        return self.cost / self.cell.reference - 1.0


def gap(
    decide: Decide,
    cell: Cell,
    *,
    width: int | None = None,
    max_states: int = MAX_STATES,
    paths: int = 64,
    periods: int = 20_000,
    seed: int = 0,
) -> Gap:
    """Compare a rule with the reference of a cell.

    Args:
        decide: the rule, for any number of rows of this cell (`chain.as_decide` makes one from a policy).
        cell: one cell of a bed.
        width: places of the pipeline that the rule sees; by default the lead time.
        max_states: above this many states the chain does not fit.
        paths: simulated paths, where it does not.
        periods: counted periods of each path.
        seed: of the simulation.
    """
    width = width or cell.lead_time
    exact = chain_cost(decide, cell, width=width, max_states=max_states)
    if exact is not None and exact.high - exact.low < 1e-4 * exact.cost:
        return Gap(cell=cell, cost=exact.cost, low=exact.low, high=exact.high, method="exact")
    cost, half = simulated_cost(decide, cell, width=width, paths=paths, periods=periods, seed=seed)
    return Gap(cell=cell, cost=cost, low=cost - half, high=cost + half, method="simulated")


def simulated_cost(
    decide: Decide, cell: Cell, *, width: int, paths: int, periods: int, seed: int
) -> tuple[float, float]:
    """Average cost per period, and the half-width of its 95 % confidence interval (Student's t over paths)."""
    from scipy.special import stdtrit

    burn_in = 50 * (cell.lead_time + 1)
    entropy = [(seed, path) for path in range(paths)]
    block = draw_block([cell] * paths, entropy, periods=burn_in + periods, burn_in=burn_in, width=width)
    totals = Simulator(_OneCell(decide, paths), block).run()
    cost = cell.holding * totals.stock + cell.shortage * totals.short - block.offset
    return float(cost.mean()), float(stdtrit(paths - 1, 0.975) * cost.std(ddof=1) / np.sqrt(paths))


class _OneCell:
    """A rule as a policy of one row per path: paths of one cell tell it the same, so it is told once."""

    def __init__(self, decide: Decide, rows: int) -> None:
        self._decide = decide
        self.rows = rows
        self.instance = np.arange(rows)

    def __call__(self, **told: NDArray[Any]) -> Floats:
        rows = {name: told.pop(name) for name in ("on_hand", "pipeline")}
        once = {name: values[:1] for name, values in told.items()}
        return np.maximum(np.asarray(self._decide(**rows, **once), dtype=np.float64), 0.0)


def mean_gap(gaps: Sequence[Gap]) -> float:
    """Mean over cells of the relative gap."""
    return float(np.mean([entry.relative for entry in gaps]))
