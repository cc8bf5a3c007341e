"""The simulator: all rows of a block at once, period by period.

Order of events in a period: the order due arrives, the rule decides (at a review) and its order is placed, demand
comes, costs are counted. So an order with lead time L serves demand from L periods later on, and with lead time 0 at
once.

All state lives in arrays of one number per row that are changed in place; the pipeline is one flat array in which a
period passes by moving everything one place to the front.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evolve.problem import Policy
from problems.inventory.block import Block, Floats


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Means per counted period, each of shape *(rows,)*.

    Args:
        stock: units on hand at the end of a period.
        short: units lost; with backorders, units owed at the end of a period.
        unmet: units that stock could not meet when they were asked for (the same as `short` if they are lost).
        orders: orders placed.
        ordered: units ordered.
        ordered_squared: squares of the units ordered.
    """

    stock: Floats
    short: Floats
    unmet: Floats
    orders: Floats
    ordered: Floats
    ordered_squared: Floats


def whole(order: Floats, out: Floats | None = None) -> Floats:
    """Orders rounded to whole units, halves upwards."""
    rounded: Floats = np.floor(np.add(order, 0.5, out=out), out=out)
    return rounded


class Simulator:
    """State and counters of one block of rows.

    Args:
        policy: the rule, asked once per review for all rows.
        block: the instances.
        unmet: what becomes of demand that stock cannot meet.
        review_period: periods from one decision to the next.
        whole_units: round orders to whole units.

    Attributes:
        on_hand: units in stock, below 0 if units are owed; shape *(rows,)*.
        pipeline: units that arrive in 1, 2, … periods; shape *(rows, width)*.
        order: units ordered in this period; shape *(rows,)*.
        unmet_now: units that stock could not meet in this period; shape *(rows,)*.
    """

    def __init__(
        self,
        policy: Policy,
        block: Block,
        *,
        unmet: Literal["lost", "backorder"] = "lost",
        review_period: int = 1,
        whole_units: bool = True,
    ) -> None:
        self._policy, self._block = policy, block
        self._lost = unmet == "lost"
        self._review_period, self._whole_units = review_period, whole_units
        self._instance: NDArray[np.intp] = np.ascontiguousarray(policy.instance)
        rows = len(self._instance)
        lead = block.lead_time[self._instance]
        self._width = block.width
        self.pipeline = np.zeros((rows, self._width))
        self._flat = self.pipeline.reshape(-1)
        self.on_hand = block.start[self._instance].astype(np.float64)
        for slot in range(self._width):
            self.pipeline[:, slot] = np.where(slot < lead - 1, block.arriving[self._instance], 0.0)
        self._slot = int(lead[0]) - 1 if rows and np.all(lead == lead[0]) else None
        self._later, self._at_once = np.flatnonzero(lead > 0), np.flatnonzero(lead == 0)
        self._places = (np.arange(rows) * self._width + lead - 1)[self._later]
        self.order, self.unmet_now, self._demand, self._scratch = (np.zeros(rows) for _ in range(4))
        self._counters = {name: np.zeros(rows) for name in Totals.__dataclass_fields__}

    def run(self, watch: Callable[[int], None] | None = None) -> Totals:
        """Simulate all periods.

        Args:
            watch: called with each period after its demand was met and before the next arrival, to look at `on_hand`,
                `pipeline` and `order`.
        """
        for period in range(self._block.periods):
            if period == self._block.burn_in:
                for counter in self._counters.values():
                    counter.fill(0.0)
            if period % self._review_period == 0:
                self._decide(period)
            elif watch is not None:
                self.order.fill(0.0)
            self._serve(period)
            if watch is not None:
                watch(period)
            self._arrive()
        if self._lost:
            self._counters["unmet"] = self._counters["short"]
        counted = self._block.periods - self._block.burn_in
        return Totals(**{name: counter / counted for name, counter in self._counters.items()})

    def _decide(self, period: int) -> None:
        actions = self._policy(on_hand=self.on_hand, pipeline=self.pipeline, **self._block.observe(period))
        order = self.order
        if self._whole_units:
            whole(actions, out=order)
        else:
            np.copyto(order, actions)
        self._place(order)
        counters, scratch = self._counters, self._scratch
        counters["ordered"] += order
        counters["orders"] += np.sign(order, out=scratch)
        counters["ordered_squared"] += np.multiply(order, order, out=scratch)

    def _place(self, order: Floats) -> None:
        """Let orders join the pipeline where they belong; with lead time 0 they are there at once."""
        if self._slot is None:
            self._flat[self._places] = order[self._later]
            self.on_hand[self._at_once] += order[self._at_once]
        elif self._slot < 0:
            self.on_hand += order
        else:
            self.pipeline[:, self._slot] = order

    def _serve(self, period: int) -> None:
        on_hand, demand, unmet, counters = self.on_hand, self._demand, self.unmet_now, self._counters
        np.take(self._block.demand[period], self._instance, out=demand, mode="clip")
        if self._lost:
            np.subtract(demand, on_hand, out=unmet)
            np.maximum(unmet, 0.0, out=unmet)
            on_hand -= demand
            on_hand += unmet
            counters["short"] += unmet
            counters["stock"] += on_hand
            return
        scratch = np.maximum(on_hand, 0.0, out=self._scratch)
        np.subtract(demand, scratch, out=unmet)
        np.maximum(unmet, 0.0, out=unmet)
        counters["unmet"] += unmet
        on_hand -= demand
        counters["stock"] += np.maximum(on_hand, 0.0, out=scratch)
        counters["short"] -= np.minimum(on_hand, 0.0, out=scratch)

    def _arrive(self) -> None:
        self.on_hand += self.pipeline[:, 0]
        self._flat[:-1] = self._flat[1:]
        self.pipeline[:, -1] = 0.0
