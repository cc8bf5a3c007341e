"""Instances on demand data: one item over one stretch of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from evolve.problem import SPLITS, Argument, Instance, Per, ProblemError, Split
from problems.inventory.block import Block, Floats, Ints
from problems.inventory.calendar import SEASON
from problems.inventory.demand import Demand, read_demand
from problems.inventory.settings import Cut, InventorySettings

SEASON_MARGIN = {"day": 7, "week": 1, "month": 0}
"""Periods by which last year's stretch is widened on both sides, since a single week of one item is mostly noise."""


@dataclass(frozen=True)
class Window(Instance):
    """One item over one stretch of time.

    Args:
        item: its place in the demand table.
        start: the first simulated period; costs count from `burn_in` periods later.
        periods: simulated periods.
    """

    item: int = 0
    start: int = 0
    periods: int = 0


class Windows:
    """Demand data as a source of instances.

    A rule never sees demand of the period it decides in, or of a later one. The first window of a split warms up on the
    last periods of the split before, which are past by then.

    Args:
        settings: without a bed.
    """

    def __init__(self, settings: InventorySettings) -> None:
        self._settings = settings
        self.demand = _load(settings)
        self._bounds = self._split_bounds()
        train_end = self._bounds["validation"][0]
        self._scale: Floats = self.demand.units[:, :train_end].mean(axis=1)
        self.kept = np.flatnonzero(self._scale > 0)
        if not self.kept.size:
            raise ProblemError(
                f"{self._source}: no item has any demand before validation begins "
                f"({self.demand.calendar.day(train_end)}): nothing can be tuned; set validation_from to a later date"
            )
        self._known = _Known(self.demand, settings)

    @property
    def _source(self) -> str:
        return str(self._settings.data or "bundled demand")

    def _split_bounds(self) -> dict[Split, tuple[int, int]]:
        """First and one past the last scored period of each split."""
        settings, periods = self._settings, self.demand.periods
        first = settings.recent + settings.burn_in
        cuts = [first, self._cut(settings.validation_from), self._cut(settings.holdout_from), periods]
        bounds = {split: (cuts[place], cuts[place + 1]) for place, split in enumerate(SPLITS)}
        needed = settings.window or settings.lead_time + settings.review_period
        for split, (begin, end) in bounds.items():
            if end - begin < needed:
                raise ProblemError(
                    f"{self._source}: {periods} {settings.period}s of demand leave {max(0, end - begin)} for {split}, "
                    f"but {needed} are needed: {first} go to history={settings.recent} and warm_up={settings.burn_in}, "
                    f"validation begins at {cuts[1]} and holdout at {cuts[2]}; give more data, or set these smaller"
                )
        return bounds

    def _cut(self, cut: Cut) -> int:
        if isinstance(cut, date):
            return self.demand.calendar.index(cut)
        return int(cut * self.demand.periods)

    def instances(self, split: Split, seed: int) -> list[Window]:
        """All items over all windows of a split. The last window ends where the split ends."""
        del seed  # the data are what they are
        begin, end = self._bounds[split]
        length = self._settings.window or end - begin
        starts = range(end - length * ((end - begin) // length), end, length)
        calendar, burn_in = self.demand.calendar, self._settings.burn_in
        return [
            Window(
                key=f"{name} {calendar.day(start)}..{calendar.day(start + length - 1)} {self.demand.digest(item)}",
                group=name,
                item=item,
                start=start - burn_in,
                periods=burn_in + length,
            )
            for item, name in ((int(item), self.demand.items[item]) for item in self.kept)
            for start in starts
        ]

    def block(self, instances: Sequence[Window]) -> Block:
        """Lay out instances of one split for the simulator."""
        settings = self._settings
        if len({window.periods for window in instances}) > 1:
            raise ProblemError("inventory: instances of one evaluation must be of one split")
        item = np.array([window.item for window in instances], dtype=np.intp)
        start = np.array([window.start for window in instances], dtype=np.intp)
        times = start + np.arange(instances[0].periods)[:, None]
        demand = self.demand.units[item, times]
        typical = np.maximum(self._scale[item], demand[settings.burn_in :].mean(axis=0))
        count = len(instances)
        first = np.round(self._known.mean(item, start))
        back = np.arange(-settings.recent, instances[0].periods)
        return Block(
            demand=demand,
            burn_in=settings.burn_in,
            lead_time=np.full(count, settings.lead_time),
            width=self.width,
            holding=np.full(count, settings.holding),
            shortage=np.full(count, settings.shortage),
            start=first,
            arriving=first,
            typical=typical,
            scale=typical,
            offset=np.zeros(count),
            known=self._known.at(item, times),
            fixed={
                "lead_time": np.full(count, settings.lead_time),
                "shortage": np.full(count, settings.shortage / settings.holding),
            },
            past=self.demand.units[item[:, None], start[:, None] + back],
        )

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What a rule sees, beside the stock on hand and the pipeline."""
        settings = self._settings
        unit, top = settings.period, float(self.demand.units.max())
        mean_top = float(self._scale.max())
        return (
            Argument(
                name="recent",
                meaning=f"demand of the last {settings.recent} {unit}s, the latest last",
                unit="units",
                shape=(settings.recent,),
                per=Per.INSTANCE,
                high=top,
            ),
            Argument(
                name="mean",
                meaning=f"mean demand per {unit} over the last year (or since the first sale)",
                unit="units",
                per=Per.INSTANCE,
                high=mean_top,
            ),
            Argument(
                name="spread",
                meaning=f"standard deviation of demand per {unit} over the same time",
                unit="units",
                per=Per.INSTANCE,
                high=3 * mean_top,
            ),
            Argument(
                name="last_year",
                meaning=f"mean demand per {unit} around the same time last year; equal to mean if unknown",
                unit="units",
                per=Per.INSTANCE,
                high=3 * mean_top,
            ),
            Argument(name="weekday", meaning="day of the week, Monday = 0", dtype="int", per=Per.INSTANCE, high=6),
            Argument(
                name="day_of_year",
                meaning="day of the year, from 1",
                unit="days",
                dtype="int",
                per=Per.INSTANCE,
                low=1,
                high=366,
            ),
        )

    @property
    def width(self) -> int:
        """Places of the pipeline that a rule sees."""
        return max(1, self._settings.lead_time)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read, and what was left out."""
        demand, left_out = self.demand, len(self.demand.items) - self.kept.size
        first, last = demand.calendar.day(0), demand.calendar.day(demand.periods - 1)
        notes = (
            f"{self._source}: {self.kept.size} items, {demand.periods} {self._settings.period}s from {first} to {last}",
            *demand.notes,
        )
        return (*notes, f"items left out for want of demand before validation: {left_out:,}") if left_out else notes

    @property
    def top_order(self) -> float:
        """An order beyond this is beyond reason, for any item."""
        settings = self._settings
        return float(np.ceil(self.demand.units.max() * (settings.lead_time + settings.review_period + settings.recent)))


class _Known:
    """What can be said about an item at a time from its demand strictly before that time."""

    def __init__(self, demand: Demand, settings: InventorySettings) -> None:
        units = demand.units
        self._lag = SEASON[settings.period]
        self._least = settings.recent
        margin = SEASON_MARGIN[settings.period]
        self._stretch = (-margin, settings.lead_time + settings.review_period + margin)
        self._sums = _running_sum(units)
        self._squares = _running_sum(units * units)
        self._first_sale = (units > 0).argmax(axis=1)
        self._weekday = demand.calendar.weekdays(demand.periods)
        self._day_of_year = demand.calendar.days_of_year(demand.periods)

    def at(self, item: NDArray[np.intp], times: NDArray[np.intp]) -> dict[str, Floats | Ints]:
        """Everything, for items of shape *(instances,)* at times of shape *(periods, instances)*."""
        since, count = self._since(item, times)
        mean = (self._sums[item, times] - self._sums[item, since]) / count
        square = (self._squares[item, times] - self._squares[item, since]) / count
        return {
            "mean": mean,
            "spread": np.sqrt(np.maximum(square - mean * mean, 0.0)),
            "last_year": self._last_year(item, times, mean),
            "weekday": self._weekday[times],
            "day_of_year": self._day_of_year[times],
        }

    def mean(self, item: NDArray[np.intp], times: NDArray[np.intp]) -> Floats:
        """Mean demand per period, as `at` has it."""
        since, count = self._since(item, times)
        return (self._sums[item, times] - self._sums[item, since]) / count

    def _since(self, item: NDArray[np.intp], times: NDArray[np.intp]) -> tuple[NDArray[np.intp], Floats]:
        """Where the last year begins, or the first sale if that is later; the recent periods are always in it."""
        since = np.maximum(times - self._lag, np.minimum(self._first_sale[item], times - self._least))
        since = np.maximum(since, 0)
        return since, np.maximum(times - since, 1).astype(np.float64)

    def _last_year(self, item: NDArray[np.intp], times: NDArray[np.intp], mean: Floats) -> Floats:
        begin = times - self._lag + self._stretch[0]
        end = np.minimum(times - self._lag + self._stretch[1], times)
        known = begin >= 0
        begin, end = np.maximum(begin, 0), np.maximum(end, 0)
        total = self._sums[item, end] - self._sums[item, begin]
        return np.where(known, total / np.maximum(end - begin, 1), mean)


def _running_sum(units: Floats) -> Floats:
    """Sums before each period: entry t holds periods 0 to t − 1. Shape *(items, periods + 1)*."""
    sums = np.zeros((units.shape[0], units.shape[1] + 1))
    np.cumsum(units, axis=1, out=sums[:, 1:])
    return sums


def _load(settings: InventorySettings) -> Demand:
    period = settings.period if "period" in settings.model_fields_set else None
    if settings.data is not None:
        return read_demand(settings.data, period, settings.date_order)
    with as_file(files("problems.inventory.data") / "demand.csv") as path:
        return read_demand(path, settings.period, settings.date_order)
