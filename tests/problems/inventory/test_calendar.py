from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.inventory.calendar import Calendar


@given(
    first=st.dates(date(1990, 1, 1), date(2090, 1, 1)),
    days=st.integers(0, 2000),
    period=st.sampled_from(("day", "week", "month")),
)
def test_every_day_lies_in_its_period(first: date, days: int, period: str) -> None:
    calendar = Calendar.starting(period, first)  # type: ignore[arg-type]
    day = first + timedelta(days=days)
    index = calendar.index(day)
    assert calendar.day(index) <= day < calendar.day(index + 1)
    assert calendar.index(calendar.day(index)) == index
    assert calendar.index(first) == 0


def test_weekdays_and_days_of_year() -> None:
    calendar = Calendar.starting("day", date(2024, 12, 30))  # a Monday
    assert calendar.weekdays(8).tolist() == [0, 1, 2, 3, 4, 5, 6, 0]
    assert calendar.days_of_year(3).tolist() == [365, 366, 1]
    assert np.all(Calendar.starting("month", date(2024, 12, 30)).weekdays(5) == 0)


@pytest.mark.parametrize(("period", "expected"), [("week", date(2024, 12, 30)), ("month", date(2025, 1, 1))])
def test_periods_begin_on_mondays_and_firsts(period: str, expected: date) -> None:
    assert Calendar.starting(period, date(2025, 1, 3)).first == expected  # type: ignore[arg-type]
