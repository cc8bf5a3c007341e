"""Average cost of a rule without simulation: by the Markov chain that it makes of stock and pipeline (lost sales).

The state before a decision is the stock on hand and what arrives in 1, …, L − 1 periods. All states that a rule can reach
are found by asking it about all new ones at once, until none is new. Demand is not cut off: whatever exceeds the stock
leads to the same next state, and its expected cost is known in closed form. Bounds on the average cost follow from
iterating the relative values: the least and the greatest change of a value in one step enclose it (Odoni 1969).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.problem import Policy
from problems.inventory.beds import Cell
from problems.inventory.laws import Floats, expected_cost, next_stock
from problems.inventory.simulate import whole

Decide = Callable[..., NDArray[Any]]
"""A rule for any number of rows of one cell: observations by name in, actions out (see `observations`)."""

MAX_STATES = 1_000_000
"""Above this many reachable states the chain does not fit."""

MAX_SWEEPS = 5_000


@dataclass(frozen=True, kw_only=True)
class CostBounds:
    """Average cost per period lies between `low` and `high`.

    Args:
        low: lower bound.
        high: upper bound.
        states: states of the chain.
    """

    low: float
    high: float
    states: int

    @property
    def cost(self) -> float:
        """The middle."""
        return 0.5 * (self.low + self.high)


def observations(cell: Cell, on_hand: Floats, pipeline: Floats) -> dict[str, NDArray[Any]]:
    """What a rule of a bed observes: *(rows,)* and *(rows, width)* for the state, one instance for the rest."""
    return {
        "on_hand": on_hand,
        "pipeline": pipeline,
        "mean": np.array([cell.mean]),
        "spread": np.array([cell.spread]),
        "lead_time": np.array([cell.lead_time]),
        "shortage": np.array([cell.shortage / cell.holding]),
    }


def as_decide(policy: Policy) -> Decide:
    """Ask a policy with a fixed number of rows, all of one instance, about any number of rows."""

    def decide(**told: NDArray[Any]) -> NDArray[Any]:
        on_hand, pipeline = told.pop("on_hand"), told.pop("pipeline")
        answers = []
        for first in range(0, len(on_hand), policy.rows):
            part = slice(first, first + policy.rows)
            short = policy.rows - len(on_hand[part])
            answer = policy(
                on_hand=np.pad(on_hand[part], (0, short)), pipeline=np.pad(pipeline[part], ((0, short), (0, 0))), **told
            )
            answers.append(np.array(answer[: policy.rows - short]))
        return np.concatenate(answers)

    return decide


def chain_cost(
    decide: Decide, cell: Cell, *, width: int | None = None, tolerance: float = 1e-6, max_states: int = MAX_STATES
) -> CostBounds | None:
    """Average cost of a rule in a cell; None if the rule reaches too many states.

    Args:
        decide: the rule; its orders are rounded to whole units, as in the simulator.
        cell: lost sales, lead time at least 1.
        width: places of the pipeline that the rule sees; by default the lead time.
        tolerance: stop when the bounds are this close. They stay apart where the chain is periodic or falls into several
            parts that never meet.
        max_states: most states.
    """
    chain = _explore(decide, cell, width or cell.lead_time, max_states)
    if chain is None:
        return None
    from scipy.sparse import csr_array

    stock, first = chain
    count = len(stock)
    most = int(stock.max())
    ends = np.cumsum(stock + 1)
    within = np.arange(ends[-1]) - np.repeat(ends - stock - 1, stock + 1)
    weights = next_stock(cell, most)[np.repeat(stock, stock + 1), within]
    steps = csr_array(
        (weights, np.repeat(first, stock + 1) + within, np.concatenate([[0], ends])), shape=(count, count)
    )
    cost = expected_cost(cell, most)[stock]
    values = np.zeros(count)
    low, high = -np.inf, np.inf
    for _ in range(MAX_SWEEPS):
        new = cost + steps @ values
        change = new - values
        low, high = max(low, float(change.min())), min(high, float(change.max()))
        if high - low < tolerance:
            break
        values = new - new[0]
    return CostBounds(low=low, high=high, states=count)


def _explore(
    decide: Decide, cell: Cell, width: int, max_states: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """All reachable states: stock on hand, and the place of the first of the stock + 1 consecutive next states.

    A state is one number whose lowest digits are the stock on hand: next states differ only there, by the demand.
    """
    bits = 62 // cell.lead_time
    start = round(cell.mean)
    new = np.array([sum(start << (bits * place) for place in range(cell.lead_time))], dtype=np.int64)
    known, targets = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    while new.size:
        successors = _successors(new, decide, cell, width, bits)
        if successors is None or known.size + new.size > max_states:
            return None
        place = np.searchsorted(known, new)
        known, targets = np.insert(known, place, new), np.insert(targets, place, successors)
        stock = new & ((1 << bits) - 1)
        ends = np.cumsum(stock + 1)
        within = np.arange(ends[-1]) - np.repeat(ends - stock - 1, stock + 1)
        reached = np.unique(np.repeat(successors, stock + 1) + within)
        place = np.minimum(np.searchsorted(known, reached), known.size - 1)
        new = reached[known[place] != reached]
    return known & ((1 << bits) - 1), np.searchsorted(known, targets)


def _successors(
    states: NDArray[np.int64], decide: Decide, cell: Cell, width: int, bits: int
) -> NDArray[np.int64] | None:
    """For each state the next one if demand takes all stock; None if a number outgrows its place."""
    mask = (1 << bits) - 1
    digits = [(states >> (bits * place)) & mask for place in range(cell.lead_time)]
    pipeline = np.zeros((len(states), width))
    for slot, units in enumerate(digits[1:]):
        pipeline[:, slot] = units
    stock = digits[0].astype(np.float64)
    order = whole(np.maximum(np.asarray(decide(**observations(cell, stock, pipeline)), dtype=np.float64), 0.0))
    coming = [*digits[1:], order.astype(np.int64)]
    if order.max() > mask or (digits[0] + coming[0]).max() > mask:
        return None
    return np.asarray(sum(units << (bits * place) for place, units in enumerate(coming)), dtype=np.int64)
