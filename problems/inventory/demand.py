"""Demand per item and period, as it is read from a table."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evolve.problem import ProblemError
from problems.inventory.calendar import Calendar, DateOrder, read_dates
from problems.inventory.settings import Period
from problems.inventory.table import Records, read_records

MAX_CELLS = 200_000_000
"""Most items × periods: 1.6 GB of numbers."""

STRAY_AFTER = timedelta(days=366)
"""A date that lies at most this far from another is no stray, however close together the others are."""


@dataclass(frozen=True)
class Demand:
    """Demand of several items over the same periods.

    Args:
        items: names, sorted.
        calendar: the periods.
        units: demand, shape *(items, periods)*, none below 0.
        notes: what was filled in or left out while reading, one phrase each.
    """

    items: tuple[str, ...]
    calendar: Calendar
    units: NDArray[np.float64] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def periods(self) -> int:
        """Number of periods."""
        return int(self.units.shape[1])

    def digest(self, item: int) -> str:
        """Identity of one item's numbers: 8 hexadecimal digits."""
        return hashlib.blake2b(self.units[item].tobytes(), digest_size=4).hexdigest()


def read_demand(path: Path, period: Period | None = None, date_order: DateOrder = "auto") -> Demand:
    """Read a demand table.

    Args:
        path: a CSV file, compressed with gzip or not.
        period: demand is summed over these; None: days, but a file that looks weekly or monthly is refused.
        date_order: how to read dates such as 03/04/2024 where the file leaves it open.

    Raises:
        ProblemError: naming the file, line, column, what was found and what was expected.
    """
    records = read_records(path)
    if not records.units:
        raise ProblemError(f"{path}: no rows below the header: expected columns date, item, units")
    stripped: dict[str, int] = {}
    for text, line in zip(records.dates.codes, records.dates.lines, strict=True):
        stripped.setdefault(text.strip(), line)
    known = read_dates(stripped, date_order, str(path))
    _refuse_stray(known, stripped, path)
    dates = [known[text.strip()] for text in records.dates.codes]
    if period is None:
        _refuse_coarse(set(dates), path)
    calendar = Calendar.starting(period or "day", min(dates))
    return _fill(records, dates, calendar, path)


def _refuse_stray(known: Mapping[str, date], lines: Mapping[str, int], path: Path) -> None:
    """One mistyped year (2202) would fill most of the calendar, and so whole splits, with zero demand."""
    days = sorted(set(known.values()))
    if len(days) < 2:
        return
    for stray, nearest, others in ((days[-1], days[-2], days[:-1]), (days[0], days[1], days[1:])):
        away = abs(stray - nearest)
        if away > max(others[-1] - others[0], STRAY_AFTER):
            text, line = next((text, lines[text]) for text, day in known.items() if day == stray)
            raise ProblemError(
                f"{path}, line {line}, column date: found {text!r}, {away.days:,} days from all other dates, expected "
                f"one near {others[0]} to {others[-1]}: correct it, or if it is right add rows with 0 units in between"
            )


def _refuse_coarse(dates: set[date], path: Path) -> None:
    """A weekly file read as daily would have six days without demand in every week: rather ask."""
    if len(dates) < 8:
        return
    monthly = len({day.day for day in dates}) == 1
    if monthly or len({day.weekday() for day in dates}) == 1:
        kind = "month" if monthly else "week"
        raise ProblemError(
            f"{path}: all dates are one {kind} or more apart, so it looks like {kind}ly demand: set period={kind} "
            "(or period=day, if there is really no demand on other days)"
        )


def _fill(records: Records, dates: Sequence[date], calendar: Calendar, path: Path) -> Demand:
    """Sum the records into a table without gaps: what no row mentions is zero demand."""
    periods = calendar.index(max(dates)) + 1
    names = sorted({text.strip() for text in records.items.codes})
    if len(names) * periods > MAX_CELLS:
        raise ProblemError(
            f"{path}: {len(names)} items × {periods} {calendar.period}s ({min(dates)} to {max(dates)}) are more than "
            f"{MAX_CELLS:,} numbers: check the first and last date, or take fewer items"
        )
    place = {name: index for index, name in enumerate(names)}
    item_rows = np.array([place[text.strip()] for text in records.items.codes], dtype=np.int64)
    columns = np.array([calendar.index(day) for day in dates], dtype=np.int64)
    date_codes, item_codes = np.asarray(records.date), np.asarray(records.item)
    amounts = np.asarray(records.units)
    blank, negative = np.isnan(amounts), amounts < 0
    notes = []
    if blank.any():
        notes.append(f"missing numbers counted as no demand: {int(blank.sum()):,}")
    if negative.any():
        notes.append(f"negative numbers (returns) left out: {int(negative.sum()):,}")
    if blank.any() or negative.any():
        amounts = np.where(blank | negative, 0.0, amounts)
    cells = item_rows[item_codes] * periods + columns[date_codes]
    units: NDArray[np.float64] = np.bincount(cells, weights=amounts, minlength=len(names) * periods).astype(np.float64)
    return Demand(tuple(names), calendar, units.reshape(len(names), periods), tuple(notes))
