"""Beds of generated demand with published figures: lost sales, unit holding cost, independent demand."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evolve.problem import SPLITS, Argument, Instance, Per, ProblemError, Split
from problems.inventory.block import Block, Floats
from problems.inventory.settings import Bed, InventorySettings
from problems.inventory.simulate import Simulator

Law = Literal["poisson", "geometric"]


@dataclass(frozen=True, slots=True)
class Control:
    """A capped base-stock rule whose average cost is known, exactly or within .02 %."""

    level: float
    cap: float
    cost: float


@dataclass(frozen=True)
class Cell:
    """One setting of a bed.

    Args:
        name: short and unique.
        law: distribution of demand per period; the geometric one counts from 0.
        mean: mean demand per period.
        holding: cost of one unit left at the end of a period.
        shortage: cost of one unit lost.
        lead_time: periods from order to arrival.
        reference: cost per period that gives score 1: the optimum, or the best of four rules where no optimum is known.
        figures: the cell's row of the published table.
        control: a rule of known cost, against which the noise of a demand path is measured; None if there is none.
    """

    name: str
    law: Law
    mean: float
    holding: float
    shortage: float
    lead_time: int
    reference: float
    figures: dict[str, float]
    control: Control | None = None

    @property
    def spread(self) -> float:
        """Standard deviation of demand per period."""
        return float(np.sqrt(self.mean + (self.mean**2 if self.law == "geometric" else 0.0)))

    def draw(self, rng: np.random.Generator, periods: int) -> Floats:
        """One demand path, shape *(periods,)*."""
        if self.law == "poisson":
            return rng.poisson(self.mean, periods).astype(np.float64)
        return (rng.geometric(1.0 / (1.0 + self.mean), periods) - 1).astype(np.float64)


@cache
def cells(bed: Bed) -> tuple[Cell, ...]:
    """All cells of a bed, in the order of its table."""
    rows = _rows(f"{bed}.csv")
    if bed == "zipkin":
        return tuple(_zipkin_cell(row) for row in rows)
    controls = {
        row["cell"]: Control(float(row["capped_S"]), float(row["capped_cap"]), float(row["cost"]))
        for row in _rows("long_lead_capped.csv")
    }
    found = [_long_lead_cell(row) for row in rows]
    return tuple(replace(cell, control=controls[cell.name]) for cell in found)


def _rows(name: str) -> list[dict[str, str]]:
    with (files("problems.inventory.data") / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _zipkin_cell(row: dict[str, str]) -> Cell:
    law: Law = "poisson" if row["demand"] == "poisson" else "geometric"
    figures = {name: float(value) for name, value in row.items() if name != "demand"}
    return Cell(
        name=f"{law} L={row['L']} p={row['p']}",
        law=law,
        mean=figures["mean"],
        holding=figures["h"],
        shortage=figures["p"],
        lead_time=int(row["L"]),
        reference=figures["optimal"],
        figures=figures,
        control=Control(figures["capped_S"], figures["capped_cap"], figures["capped_base_stock"]),
    )


def _long_lead_cell(row: dict[str, str]) -> Cell:
    figures = {name: float(value) for name, value in row.items()}
    rules = [value for name, value in figures.items() if name.startswith("best_")]
    return Cell(
        name=f"poisson mean={row['demand_mean']} L={row['lead_time']} p={row['p']}",
        law="poisson",
        mean=figures["demand_mean"],
        holding=figures["h"],
        shortage=figures["p"],
        lead_time=int(row["lead_time"]),
        reference=min(rules),
        figures=figures,
    )


def draw_block(
    chosen: Sequence[Cell],
    entropy: Sequence[tuple[int, ...]],
    *,
    periods: int,
    burn_in: int,
    width: int,
    start: Floats | float = 1.0,
) -> Block:
    """Draw one demand path per entry, and lay out the block.

    What the control rule of a cell costs on a path, less what it costs on average, is taken off every score on that path:
    the noise that all rules share is gone, and the mean is unchanged.

    Args:
        chosen: the cell of each path.
        entropy: what the random numbers of each path grow from.
        periods: simulated periods, burn-in included.
        burn_in: the first periods, which are not counted.
        width: places of the pipeline that a rule sees.
        start: stock at the beginning in periods of mean demand, a number or shape *(paths,)*.
    """
    demand = np.empty((periods, len(chosen)))
    for column, (cell, seed) in enumerate(zip(chosen, entropy, strict=True)):
        demand[:, column] = cell.draw(np.random.default_rng(np.random.SeedSequence(seed)), periods)
    mean, spread, holding, shortage, reference = (
        np.array([getattr(cell, name) for cell in chosen])
        for name in ("mean", "spread", "holding", "shortage", "reference")
    )
    lead_time = np.array([cell.lead_time for cell in chosen], dtype=np.int64)
    block = Block(
        demand=demand,
        burn_in=burn_in,
        lead_time=lead_time,
        width=width,
        holding=holding,
        shortage=shortage,
        start=np.round(mean * start),
        arriving=np.round(mean),
        typical=mean,
        scale=reference,
        offset=np.zeros(len(chosen)),
        fixed={"mean": mean, "spread": spread, "lead_time": lead_time, "shortage": shortage / holding},
    )
    return replace(block, offset=_control_surplus(chosen, block))


class _ControlRules:
    """The control rules of all paths as one policy; paths of cells without one order nothing."""

    def __init__(self, chosen: Sequence[Cell]) -> None:
        rules = [cell.control or Control(0.0, 0.0, 0.0) for cell in chosen]
        self._level = np.array([rule.level for rule in rules])
        self._cap = np.array([rule.cap for rule in rules])
        self.rows = len(rules)
        self.instance = np.arange(self.rows)

    def __call__(self, **told: NDArray[Any]) -> Floats:
        gap = self._level - told["on_hand"] - told["pipeline"].sum(axis=1)
        return np.asarray(np.minimum(self._cap, np.maximum(gap, 0.0)), dtype=np.float64)


def _control_surplus(chosen: Sequence[Cell], block: Block) -> Floats:
    """What each path costs the control rule above its average. Shape *(paths,)*."""
    totals = Simulator(_ControlRules(chosen), block).run()
    cost = block.holding * totals.stock + block.shortage * totals.short
    average = np.array([np.nan if cell.control is None else cell.control.cost for cell in chosen])
    return np.where(np.isnan(average), 0.0, cost - average)


OVERSTOCK = 0.4
"""Part of the burn-in that a stock lasts which is far too large, at mean demand."""

CHECK_TIMES = 5
"""How much longer paths of validation and holdout are. They are run once per program and train some hundred times, so it
costs little; and a rule that rare states drive astray, piling up stock for ever, needs time to meet them."""


@dataclass(frozen=True)
class DemandPath(Instance):
    """One generated demand path of one cell.

    Args:
        cell: its place in the bed.
        entropy: what its random numbers grow from.
        periods: simulated periods.
    """

    cell: int = 0
    entropy: tuple[int, ...] = ()
    periods: int = 0


class Paths:
    """A bed as a source of instances; splits differ by their random numbers.

    Args:
        settings: with a bed.
    """

    def __init__(self, settings: InventorySettings) -> None:
        if settings.bed is None:
            raise ProblemError("inventory: a bed needs bed=zipkin or bed=long_lead")
        self._settings = settings
        self.cells = cells(settings.bed)
        self.width = max(cell.lead_time for cell in self.cells)

    def instances(self, split: Split, seed: int) -> list[DemandPath]:
        """`paths` demand paths for each cell, longer ones where a rule is checked."""
        times = 1 if split == "train" else CHECK_TIMES
        periods = self._settings.burn_in + times * self._settings.periods
        return [
            DemandPath(
                key=f"{cell.name} {split} {seed}/{path}",
                group=cell.name,
                cell=place,
                entropy=(seed, SPLITS.index(split), place, path),
                periods=periods,
            )
            for path in range(self._settings.paths)
            for place, cell in enumerate(self.cells)
        ]

    def block(self, instances: Sequence[DemandPath]) -> Block:
        """Draw the demand of instances of one split."""
        if len({path.periods for path in instances}) > 1:
            raise ProblemError("inventory: instances of one evaluation must be of one split")
        chosen = [self.cells[path.cell] for path in instances]
        return draw_block(
            chosen,
            [path.entropy for path in instances],
            periods=instances[0].periods,
            burn_in=self._settings.burn_in,
            width=self.width,
            start=np.array([self._start(path.entropy[-1]) for path in instances]),
        )

    def _start(self, path: int) -> float:
        """Stock at the beginning in periods of mean demand: every fourth path begins with far too much.

        A sensible rule lets that sell off before costs count, and what it costs on average does not depend on where it
        began. A rule that orders more the more it has would otherwise go unnoticed until a rare run of weak demand.
        """
        return OVERSTOCK * self._settings.burn_in if path % 4 == 3 else 1.0

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What a rule sees, beside the stock on hand and the pipeline."""
        mean = max(cell.mean for cell in self.cells)
        spread = max(cell.spread for cell in self.cells)
        return (
            Argument(name="mean", meaning="mean demand per period", unit="units", per=Per.INSTANCE, low=1.0, high=mean),
            Argument(
                name="spread",
                meaning="standard deviation of demand per period",
                unit="units",
                per=Per.INSTANCE,
                low=1.0,
                high=spread,
            ),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the bed is."""
        settings = self._settings
        return (
            (
                f"{len(self.cells)} cells, {settings.paths} demand paths of {settings.periods} periods each; "
                f"{CHECK_TIMES} times as long on validation and holdout"
            ),
        )

    @property
    def top_order(self) -> float:
        """An order beyond this is beyond reason, in any cell."""
        return max(10 * cell.mean * (cell.lead_time + 1) for cell in self.cells)
