"""Dates of a demand file: how they are read, and the periods they fall into."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evolve.problem import ProblemError
from problems.inventory.settings import Period

DateOrder = Literal["auto", "day_first", "month_first"]

_YEAR_FIRST = re.compile(r"(\d{4})([-/.]?)(\d{1,2})\2(\d{1,2})(?:[T ].*)?")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?:[T ].*)?")

SEASON: dict[Period, int] = {"day": 364, "week": 52, "month": 12}
"""Periods after which the season repeats: 364 days are whole weeks, so weekdays keep their places."""


def read_dates(texts: Mapping[str, int], order: DateOrder, where: str) -> dict[str, date]:
    """Read all different date texts of one file.

    Year first (2024-01-31, 20240131, 2024/01/31) and a time behind the date, which is ignored, need no thought. Day
    first (31.01.2024, 31/01/2024) and month first (01/31/2024) are told apart by looking at all dates of the file.

    Args:
        texts: each text with the line where it stands first.
        order: what to assume where both readings are possible.
        where: the file, for messages.

    Raises:
        ProblemError: for a text that is no date, and where the order stays open.
    """
    parts: dict[str, tuple[int, int, int, str]] = {}
    dates: dict[str, date] = {}
    for text, line in texts.items():
        if found := _YEAR_FIRST.fullmatch(text):
            dates[text] = _date((int(found[1]), int(found[3]), int(found[4])), text, line, where)
        elif found := _YEAR_LAST.fullmatch(text):
            parts[text] = (int(found[1]), int(found[3]), int(found[4]), found[2])
        else:
            raise _no_date(text, line, where)
    slashed = {text: part for text, part in parts.items() if part[3] != "."}
    month_first = _is_month_first(slashed, order, texts, where) if slashed else False
    for text, (one, two, year, mark) in parts.items():
        month, day = (one, two) if month_first and mark != "." else (two, one)
        dates[text] = _date((year, month, day), text, texts[text], where)
    return dates


def _is_month_first(
    parts: Mapping[str, tuple[int, int, int, str]], order: DateOrder, lines: Mapping[str, int], where: str
) -> bool:
    if order != "auto":
        return order == "month_first"
    day_first = next((text for text, part in parts.items() if part[0] > 12), None)
    month_first = next((text for text, part in parts.items() if part[1] > 12), None)
    if day_first and month_first:
        raise ProblemError(
            f"{where}: column date mixes day first ({day_first!r}, line {lines[day_first]}) and month first "
            f"({month_first!r}, line {lines[month_first]}): write all dates as 2024-01-31"
        )
    if not (day_first or month_first):
        text = next(iter(parts))
        raise ProblemError(
            f"{where}, line {lines[text]}, column date: {text!r} can be read day first or month first, and no other "
            "date of the file tells which: set date_order=day_first or date_order=month_first"
        )
    return month_first is not None


def _date(parts: tuple[int, int, int], text: str, line: int, where: str) -> date:
    try:
        return date(*parts)
    except ValueError:
        raise _no_date(text, line, where) from None


def _no_date(text: str, line: int, where: str) -> ProblemError:
    return ProblemError(f"{where}, line {line}, column date: found {text!r}, expected a date such as 2024-01-31")


@dataclass(frozen=True)
class Calendar:
    """Consecutive periods without a gap.

    Args:
        period: what one period is.
        first: the first day of the first period.
    """

    period: Period
    first: date

    @classmethod
    def starting(cls, period: Period, day: date) -> "Calendar":
        """The calendar whose first period holds `day`."""
        if period == "week":
            day -= timedelta(days=day.weekday())
        elif period == "month":
            day = day.replace(day=1)
        return cls(period, day)

    def index(self, day: date) -> int:
        """The period that holds `day`, counted from 0; below 0 before the first."""
        if self.period == "month":
            return (day.year - self.first.year) * 12 + day.month - self.first.month
        days = (day - self.first).days
        return days // 7 if self.period == "week" else days

    def day(self, index: int) -> date:
        """The first day of a period."""
        if self.period == "month":
            months = self.first.year * 12 + self.first.month - 1 + index
            return date(months // 12, months % 12 + 1, 1)
        return self.first + timedelta(days=index * (7 if self.period == "week" else 1))

    def weekdays(self, count: int) -> NDArray[np.int64]:
        """Weekday of each of the first `count` periods, Monday = 0; all 0 for weeks and months. Shape *(count,)*."""
        if self.period != "day":
            return np.zeros(count, dtype=np.int64)
        return (self.first.weekday() + np.arange(count, dtype=np.int64)) % 7

    def days_of_year(self, count: int) -> NDArray[np.int64]:
        """Day of the year, from 1, of the first day of each of the first `count` periods. Shape *(count,)*."""
        return np.array([self.day(index).timetuple().tm_yday for index in range(count)], dtype=np.int64)
