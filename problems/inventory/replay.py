"""What happened in every period, from the recorded actions of a rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from problems.inventory.block import Block, Floats
from problems.inventory.settings import InventorySettings
from problems.inventory.simulate import Simulator


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Every counted period of every instance; arrays of shape *(periods, instances)*.

    Args:
        demand: units asked for.
        stock: units on hand at the end of the period.
        owed: units owed at the end of the period; 0 if unmet demand is lost.
        unmet: units that stock could not meet when they were asked for.
        position: stock, less what is owed, and units on order, before the order.
        order: units ordered.
        coming: units that were on order before the order.
        decided: whether the period began with a decision; shape *(periods,)*.
    """

    demand: Floats
    stock: Floats
    owed: Floats
    unmet: Floats
    position: Floats
    order: Floats
    coming: Floats
    decided: NDArray[np.bool_]

    def cost(self, block: Block, settings: InventorySettings) -> dict[str, Floats]:
        """Mean cost per period by cause; each of shape *(instances,)*."""
        short = self.unmet if settings.unmet == "lost" else self.owed
        return {
            "holding": block.holding * self.stock.mean(axis=0),
            "shortage": block.shortage * short.mean(axis=0),
            "ordering": settings.order_cost * (self.order > 0).mean(axis=0),
        }


class _Recorded:
    """A policy that answers what was recorded, one row per instance."""

    def __init__(self, actions: NDArray[Any]) -> None:
        self._actions = iter(actions)
        self.rows = actions.shape[1]
        self.instance = np.arange(self.rows)

    def __call__(self, **_: NDArray[Any]) -> Floats:
        return np.asarray(next(self._actions), dtype=np.float64)


def replay(block: Block, actions: Sequence[Any] | NDArray[Any], settings: InventorySettings) -> Replay:
    """Simulate a block again with recorded actions.

    Args:
        block: the instances, in the order of the rows.
        actions: what the rule answered, shape *(decisions, instances)*.
        settings: those of the run.
    """
    series: dict[str, list[Floats]] = {name: [] for name in ("stock", "owed", "unmet", "position", "order", "coming")}
    simulator = Simulator(
        _Recorded(np.asarray(actions)),
        block,
        unmet=settings.unmet,
        review_period=settings.review_period,
        whole_units=settings.whole_units,
    )
    at_once = block.lead_time == 0

    def watch(period: int) -> None:
        demand, net = block.demand[period], simulator.on_hand
        order = simulator.order.copy()
        coming = simulator.pipeline.sum(axis=1) - np.where(at_once, 0.0, order)
        unmet = simulator.unmet_now.copy()
        before = net + demand - (unmet if settings.unmet == "lost" else 0.0) - np.where(at_once, order, 0.0)
        series["stock"].append(np.maximum(net, 0.0))
        series["owed"].append(np.maximum(-net, 0.0))
        series["unmet"].append(unmet)
        series["position"].append(before + coming)
        series["order"].append(order)
        series["coming"].append(coming)

    simulator.run(watch)
    counted = slice(block.burn_in, None)
    reviews = np.arange(block.periods) % settings.review_period == 0
    return Replay(
        demand=block.demand[counted],
        decided=reviews[counted],
        **{name: np.stack(values)[counted] for name, values in series.items()},
    )
