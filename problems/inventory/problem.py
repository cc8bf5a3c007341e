"""The inventory problem: how much to order now, with a lead time, under uncertain demand."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from evolve.problem import (
    Action,
    Argument,
    Evidence,
    Instance,
    Outcome,
    Outcomes,
    Per,
    Policy,
    Problem,
    Signature,
    Split,
    Trace,
)
from problems.inventory import rules
from problems.inventory.beds import Paths
from problems.inventory.block import Block, BlockCache
from problems.inventory.evidence import make_evidence
from problems.inventory.settings import InventorySettings
from problems.inventory.simulate import Simulator, Totals
from problems.inventory.windows import Windows


class Source(Protocol):
    """Where instances come from: demand data or a bed."""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What a rule sees, beside stock, pipeline, lead time and shortage cost."""

    @property
    def width(self) -> int:
        """Places of the pipeline that a rule sees."""

    @property
    def top_order(self) -> float:
        """An order beyond this is beyond reason."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the instances."""

    def instances(self, split: Split, seed: int) -> Sequence[Instance]:
        """The instances of a split."""

    def block(self, instances: Sequence[Any]) -> Block:
        """Lay out instances of one split for the simulator."""


class Inventory(Problem[InventorySettings, Instance]):
    """Replenish stock under uncertain demand with a lead time.

    Args:
        settings: demand data or a bed, costs, lead time, splits.
    """

    name: ClassVar[str] = "inventory"
    summary: ClassVar[str] = "how much to order now: lead time, lost sales or backorders, on your own demand data"
    Settings = InventorySettings

    def __init__(self, settings: InventorySettings) -> None:
        super().__init__(settings)
        self.source: Source = Windows(settings) if settings.bed is None else Paths(settings)
        self._blocks = BlockCache()

    # -- what to decide

    @cached_property
    def signature(self) -> Signature:
        """`order(on_hand, pipeline, …, lead_time, shortage)` returns the units to order now."""
        unit, width, top = self._unit, self.source.width, self.source.top_order
        lost = self.settings.unmet == "lost"
        on_hand = Argument(
            name="on_hand",
            meaning="units in stock, with what just arrived" + ("" if lost else "; below 0: units owed to customers"),
            unit="units",
            low=0.0 if lost else -top / 10,
            high=top / 10,
        )
        pipeline = Argument(
            name="pipeline",
            meaning=f"units on order by arrival: the first in 1 {unit}, the next in 2, …; a new order in lead_time",
            unit="units",
            shape=(width,),
            high=top / 10 / width,
        )
        lead_time = Argument(
            name="lead_time",
            meaning="time until an order placed now arrives",
            unit=f"{unit}s",
            dtype="int",
            per=Per.INSTANCE,
            high=width,
        )
        shortage = Argument(
            name="shortage",
            meaning=f"cost of a unit {'lost' if lost else f'owed for a {unit}'}, in costs of holding one for a {unit}",
            per=Per.INSTANCE,
            high=max(100.0, self.settings.shortage / self.settings.holding),
        )
        return Signature(
            entry="order",
            arguments=(on_hand, pipeline, *self.source.arguments, lead_time, shortage),
            action=Action(meaning="units to order now", unit="units", low=0.0, high=top, clip=True),
        )

    @property
    def description(self) -> str:
        """The situation, the order of events, the costs and the score."""
        settings, unit = self.settings, self._unit
        lost = settings.unmet == "lost"
        sentences = [
            f"Decide every {_several(settings.review_period, unit)} how many units of one item to order.",
            f"Order of events in a {unit}: the order that is due arrives; you decide, and your order arrives after",
            f"lead_time {unit}s; demand comes and is met from stock; costs are counted.",
            "Demand that stock cannot meet is lost."
            if lost
            else "Demand that stock cannot meet waits for the next arrivals.",
            f"Costs: {self._costs()}.",
            "Orders are rounded to whole units." if settings.whole_units else "",
            self._scoring(),
            "Each group has its own parameters."
            if self.tune_per_group
            else "All instances share one parameter vector.",
            "Nothing about future demand is known.",
            f"Instances: {'; '.join(self.source.notes)}.",
        ]
        return " ".join(sentence for sentence in sentences if sentence)

    @property
    def _unit(self) -> str:
        """What a period is called."""
        return self.settings.period if self.settings.bed is None else "period"

    def _costs(self) -> str:
        settings, unit = self.settings, self._unit
        if settings.bed is not None:
            return f"holding 1 per unit left at the end of a {unit}, `shortage` per unit lost"
        short = "lost" if settings.unmet == "lost" else f"owed at the end of a {unit}"
        fixed = f", {settings.order_cost:g} per order placed" if settings.order_cost else ""
        return (
            f"holding {settings.holding:g} per unit left at the end of a {unit}, "
            f"shortage {settings.shortage:g} per unit {short}{fixed}"
        )

    def _scoring(self) -> str:
        if self.settings.bed is None:
            return "The score is cost per unit of demand, averaged over items: smaller is better."
        reference = "the optimal cost" if self.settings.bed == "zipkin" else "the cost of the best of four known rules"
        return f"The score is cost divided by {reference}: smaller is better."

    @property
    def _style(self) -> rules.Style:
        settings = self.settings
        return rules.Style(
            positional=self.signature.positional,
            own=self.tune_per_group,
            varied=settings.bed is not None,
            lost=settings.unmet == "lost",
            fixed=settings.order_cost > 0,
            review_period=settings.review_period,
            history=settings.recent if settings.bed is None else 0,
            spacious=settings.bed is None,
            cover={None: 1.5, "zipkin": 1.3, "long_lead": 1.0}[settings.bed],
        )

    def seeds(self) -> Mapping[str, str]:
        """Simple rules that leave room."""
        return rules.seeds(self._style)

    def baselines(self) -> Mapping[str, str]:
        """The rules of the textbooks and of the lost-sales literature."""
        return rules.baselines(self._style)

    # -- on which instances

    def instances(self, split: Split, seed: int) -> Sequence[Instance]:
        """Windows of the data (the same for every seed), or freshly drawn demand paths."""
        return self.source.instances(split, seed)

    @property
    def tune_per_group(self) -> bool:
        """Own parameters per item or cell: by default on a bed, not on data."""
        chosen = self.settings.tune_per_group
        return self.settings.bed is not None if chosen is None else chosen

    def block(self, instances: Sequence[Instance]) -> Block:
        """What happens on these instances, and what a rule may know of it when."""
        return self._blocks.get(tuple(instances), lambda: self.source.block(instances))

    # -- scored how

    def evaluate(self, policy: Policy, instances: Sequence[Instance]) -> Outcomes:
        """Simulate all rows side by side."""
        settings, block = self.settings, self.block(instances)
        totals = Simulator(
            policy,
            block,
            unmet=settings.unmet,
            review_period=settings.review_period,
            whole_units=settings.whole_units,
        ).run()
        at = policy.instance
        cost = (
            block.holding[at] * totals.stock + block.shortage[at] * totals.short + settings.order_cost * totals.orders
        )
        score = (cost - block.offset[at]) / block.scale[at]
        return Outcomes(score=score, metrics={"cost": cost, **_metrics(totals, block, at)})

    @cached_property
    def decisions(self) -> int:
        """Decisions per instance."""
        first = self.instances("train", 0)[0]
        return -(-self.block([first]).periods // self.settings.review_period)

    def descriptors(self, outcomes: Sequence[Outcome]) -> Mapping[str, float]:
        """Two coordinates in [0, 1]: how much stock a rule keeps, and how often it orders.

        `stock` is c / (c + lead time + review period) with c = the mean stock in periods of demand; `rhythm` is the
        share of reviews at which an order was placed. Both are means over instances.
        """
        metrics = [outcome.metrics for outcome in outcomes if outcome.failure is None]
        if not metrics:
            return {}
        horizon = self.source.width + self.settings.review_period
        cover = np.array([entry["cover"] for entry in metrics])
        rhythm = np.array([entry["orders"] for entry in metrics]) * self.settings.review_period
        return {"stock": float(np.mean(cover / (cover + horizon))), "rhythm": float(np.mean(np.minimum(rhythm, 1.0)))}

    def evidence(self, outcomes: Sequence[Outcome], trace: Trace) -> Evidence | None:
        """Where cost comes from, and what the rule does."""
        return make_evidence(outcomes, trace, self.block(trace.instances), self.settings)

    def report(self, score: float) -> str:
        """A score for people."""
        if self.settings.bed is None:
            return f"{score:.3f} (cost per unit of demand)"
        reference = "the optimum" if self.settings.bed == "zipkin" else "the best of four rules"
        return f"{score:.4f} ({100 * (score - 1):+.2f} % against {reference})"


def _several(count: int, unit: str) -> str:
    return unit if count == 1 else f"{count} {unit}s"


def _metrics(totals: Totals, block: Block, at: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
    """Named figures per period beside cost; each of shape *(rows,)*."""
    demand = block.demand[block.burn_in :].mean(axis=0)[at]
    typical = block.typical[at]
    unmet = np.divide(totals.unmet, demand, out=np.zeros_like(demand), where=demand > 0)
    variance = np.maximum(totals.ordered_squared - totals.ordered**2, 0.0)
    return {
        "stock": totals.stock,
        "short": totals.short,
        "fill_rate": 1.0 - unmet,
        "cover": totals.stock / typical,
        "orders": totals.orders,
        "order_spread": np.sqrt(variance) / typical,
    }
