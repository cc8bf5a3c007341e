import csv
import gzip
import io
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evolve.problem import ProblemError
from problems.inventory.demand import Demand, read_demand

Write = Callable[..., Path]


def table(demand: Demand) -> dict[str, list[float]]:
    return {item: row.tolist() for item, row in zip(demand.items, demand.units, strict=True)}


EXPECTED = {"A": [1.0, 0.0, 2.5], "B": [0.0, 4.0, 0.0]}
VARIANTS = {
    "plain": "date,item,units\n2024-01-01,A,1\n2024-01-02,B,4\n2024-01-03,A,2.5\n",
    "unsorted, with gaps": "date,item,units\n2024-01-03,A,2.5\n2024-01-02,B,4\n2024-01-01,A,1\n",
    "other names": "Sales,SKU,Day\n1,A,2024-01-01\n4,B,2024-01-02\n2.5,A,2024-01-03\n",
    "names with spaces": "Order Date;Product ID;Qty\n2024-01-01;A;1\n2024-01-02;B;4\n2024-01-03;A;2,5\n",
    "tabs, decimal comma": "date\titem\tunits\n2024-01-01\tA\t1,0\n2024-01-02\tB\t4,0\n2024-01-03\tA\t2,5\n",
    "more columns": "shop,date,item,price,units\nx,2024-01-01,A,9,1\nx,2024-01-02,B,9,4\ny,2024-01-03,A,,2.5\n",
    "byte order mark": "\ufeffdate,item,units\n2024-01-01,A,1\n2024-01-02,B,4\n2024-01-03,A,2.5\n",
    "day first": "date;item;units\n01.01.2024;A;1\n02.01.2024;B;4\n03.01.2024;A;2,5\n",
    "month first": "date,item,units\n1/1/2024,A,1\n1/2/2024,B,4\n01/03/2024,A,2.5\n1/13/2024,A,0\n",
    "compact dates": "date,item,units\n20240101,A,1\n20240102,B,4\n20240103,A,2.5\n",
    "with times": "date,item,units\n2024-01-01 07:30:00,A,1\n2024-01-02T23:59:59Z,B,4\n2024-01-03,A,2.5\n",
    "duplicates add up": "date,item,units\n2024-01-01,A,0.5\n2024-01-01,A,0.5\n2024-01-02,B,4\n2024-01-03,A,2.5\n",
    "returns do not count": "date,item,units\n2024-01-01,A,1\n2024-01-01,A,-7\n2024-01-02,B,4\n2024-01-03,A,2.5\n",
    "missing numbers": "date,item,units\n2024-01-01,A,1\n2024-01-02,B,4\n2024-01-02,A,\n2024-01-03,B,NA\n2024-01-03,A,2.5\n",
    "blank lines": "\n\ndate,item,units\n\n2024-01-01,A,1\n2024-01-02,B,4\n , , \n2024-01-03,A,2.5\n\n",
    "trailing separators": "date,item,units\n2024-01-01,A,1,\n2024-01-02,B,4,,\n2024-01-03,A,2.5\n",
    "spaces": "date , item, units\n2024-01-01, A, 1\n 2024-01-02,B , 4\n2024-01-03,A,2.5 \n",
    "quoted": 'date,item,units\n"2024-01-01","A","1"\n2024-01-02,B,4\n2024-01-03,"A",2.5\n',
    "wide": "date,B,A\n2024-01-01,,1\n2024-01-02,4,0\n2024-01-03,0,2.5\n",
    "wide, with gaps": "date;A;B\n2024-01-03;2,5;\n2024-01-01;1;\n2024-01-02;;4\n",
    "Windows line ends": "date,item,units\r\n2024-01-01,A,1\r\n2024-01-02,B,4\r\n2024-01-03,A,2.5\r\n",
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_mean_the_same(variant: str, write: Write) -> None:
    demand = read_demand(write(VARIANTS[variant]))
    assert demand.calendar.first == date(2024, 1, 1)
    assert {item: row[:3] for item, row in table(demand).items()} == EXPECTED


def test_compressed_and_other_encodings(write: Write) -> None:
    text = "date;item;units\n2024-01-01;Rührei;1\n"
    for name, data in {
        "utf8": text.encode(),
        "utf16": text.encode("utf-16"),
        "windows": text.encode("cp1252"),
        "gzip": gzip.compress(text.encode()),
    }.items():
        assert table(read_demand(write(data, f"{name}.csv"))) == {"Rührei": [1.0]}, name


def test_a_file_without_an_item_column_is_one_item(write: Write) -> None:
    assert table(read_demand(write("date,units\n2024-01-01,3\n2024-01-03,4\n", "widgets.csv"))) == {
        "widgets": [3, 0, 4]
    }


def test_thousands(write: Write) -> None:
    assert table(read_demand(write('date,item,units\n2024-01-01,A,"1,234"\n2024-01-02,A,"1,234.5"\n')))["A"] == [
        1234,
        1234.5,
    ]
    assert table(read_demand(write("date;item;units\n2024-01-01;A;1.234,5\n2024-01-02;A;1 234\n")))["A"] == [
        1234.5,
        1234,
    ]


def test_what_was_left_out_is_said(write: Write) -> None:
    demand = read_demand(write("date,item,units\n2024-01-01,A,1\n2024-01-02,A,-2\n2024-01-03,A,\n2024-01-04,A,n/a\n"))
    assert demand.notes == ("missing numbers counted as no demand: 2", "negative numbers (returns) left out: 1")


def test_weeks_and_months(write: Write) -> None:
    days = [date(2024, 1, 29) + timedelta(days=d) for d in range(60)]
    path = write("date,item,units\n" + "".join(f"{day},A,1\n" for day in days))
    weekly = read_demand(path, "week")
    assert weekly.calendar.first == date(2024, 1, 29)
    assert weekly.units.tolist() == [[7, 7, 7, 7, 7, 7, 7, 7, 4]]
    monthly = read_demand(path, "month")
    assert monthly.calendar.first == date(2024, 1, 1)
    assert monthly.units.tolist() == [[3, 29, 28]]


def test_a_weekly_file_is_not_taken_for_days(write: Write) -> None:
    weeks = [date(2024, 1, 1) + timedelta(weeks=w) for w in range(9)]
    path = write("date,units\n" + "".join(f"{day},1\n" for day in weeks))
    with pytest.raises(ProblemError, match="looks like weekly demand: set period=week"):
        read_demand(path)
    assert read_demand(path, "day").periods == 57
    assert read_demand(path, "week").periods == 9


ERRORS = {
    "": "the file is empty: expected columns date, item, units",
    "date,item,units\n": "no rows below the header",
    "when,item,units\n2024-01-01,A,1\n": "line 1: no column named date among: when, item, units",
    "date,item,price\n2024-01-01,A,1\n": "line 1: no column named units among: date, item, price",
    "date\n2024-01-01\n": "no column named units",
    "ds,day,item,units\n2024-01-01,2024-01-01,A,1\n": "columns ds, day could each be date: call the right one date",
    "date,item,units\n2024-01-01,A,1\n2024-01-02,A,many\n": "line 3, column units: found 'many', expected a number",
    "date,item,units\n2024-01-01,A,1\n2024-13-02,A,1\n": "line 3, column date: found '2024-13-02', expected a date such as",
    "date,item,units\n2024-01-01,A,1\nyesterday,A,1\n": "line 3, column date: found 'yesterday', expected a date",
    "date,item,units\n2024-01-01,A,1\n,A,1\n": "line 3, column date: found '', expected a date",
    "date,item,units\n2024-01-01,A,1\n2024-01-01, ,1\n": "line 3, column item: found ' ', expected the name of an item",
    "date,item,units\n2024-01-01,A\n": "line 2: found 2 columns in '2024-01-01,A', expected 3 separated by ','",
    "date,item,units\n2024-01-01,A,1\n2024-01-02,A,2,5\n": "separated by ',': a number with a comma in it must",
    "date,item,units\n2024-01-01,A,1\n2024-01-02,B,2,5\n": "line 3: found 4 columns in '2024-01-02,B,2,5', expected 3",
    "date,item,units,\n2024-01-01,A,2,5\n": "line 2: found 4 columns in '2024-01-01,A,2,5', expected 3",
    "date;item;units\n2024-01-01;A;2;5\n": "line 2: found 4 columns in '2024-01-01;A;2;5', expected 3 separated by ';'",
    "date,A,B\n2024-01-01,1,2,5\n": "line 2: found 4 columns in '2024-01-01,1,2,5', expected 3",
    "date,item,units\n2024-01-01,A,inf\n": "line 2, column units: found 'inf', expected a finite number",
    "date,item,units\n2024-01-01,A,1\n\n2024-01-02,A,-1e400\n": "line 4, column units: found '-1e400', expected a finite",
    "day,A,B\n2024-01-01,1,2\n2024-01-02,1,Infinity\n": "line 3, column B: found 'Infinity', expected a finite number",
    "date,item,units\n01/02/2024,A,1\n": "line 2, column date: '01/02/2024' can be read day first or month first",
    "date,item,units\n31/01/2024,A,1\n01/31/2024,A,1\n": "mixes day first ('31/01/2024', line 2) and month first",
    "date,A,A\n2024-01-01,1,2\n": "needs a different name in each, found 'A' twice",
    "date,A,B\n2024-01-01,1\n": "line 2: found 2 columns in '2024-01-01,1', expected 3",
    "date,A,B\n2024-01-01,1,x\n": "line 2, column B: found 'x', expected a number",
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors_say_where_and_what(text: str, write: Write) -> None:
    path = write(text)
    with pytest.raises(ProblemError) as caught:
        read_demand(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert ERRORS[text] in message


def test_a_date_order_settles_what_the_file_leaves_open(write: Write) -> None:
    path = write("date,item,units\n01/02/2024,A,1\n")
    assert read_demand(path, date_order="day_first").calendar.first == date(2024, 2, 1)
    assert read_demand(path, date_order="month_first").calendar.first == date(2024, 1, 2)


def test_files_that_are_no_tables(tmp_path: Path, write: Write) -> None:
    with pytest.raises(ProblemError, match=r"cannot read demand data .*missing.csv: No such file"):
        read_demand(tmp_path / "missing.csv")
    with pytest.raises(ProblemError, match="cannot read demand data"):
        read_demand(tmp_path)
    with pytest.raises(ProblemError, match="damaged gzip file"):
        read_demand(write(gzip.compress(VARIANTS["plain"].encode())[:-9], "cut.csv.gz"))
    with pytest.raises(ProblemError):
        read_demand(write(bytes(range(256)) * 20, "noise.csv"))


def test_mistyped_years_are_told_before_memory_runs_out(write: Write) -> None:
    items = "".join(f"2024-01-01,I{i},1\n" for i in range(100))
    with pytest.raises(ProblemError, match=r"2024-01-01 to 9999-01-01.* check the first and last date"):
        read_demand(write("date,item,units\n" + items + "2024-01-02,I1,1\n9998-12-31,I1,1\n9999-01-01,I1,1\n"))


def daily(first: date, days: int, *more: str) -> str:
    rows = [f"{first + timedelta(days=day)},A,1" for day in range(days)]
    return "\n".join(("date,item,units", *rows, *more, ""))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            daily(date(2022, 1, 1), 730, "2202-01-05,A,1", "2202-01-05,B,1"),
            "line 732, column date: found '2202-01-05', 65,018 days from all other dates, expected one near 2022-01-01 to",
        ),
        (daily(date(2022, 1, 1), 730, "01.01.1970,A,1"), "line 732, column date: found '01.01.1970', 18,993 days from"),
        (daily(date(2022, 1, 1), 1, "2023-01-03,A,1"), "line 3, column date: found '2023-01-03', 367 days from"),
    ],
)
def test_a_date_far_from_all_others_is_refused(text: str, expected: str, write: Write) -> None:
    with pytest.raises(ProblemError) as caught:
        read_demand(write(text), "day")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        (daily(date(2022, 1, 1), 1, "2023-01-02,A,1"), 367),  # close together otherwise, but within a year
        (daily(date(2020, 1, 1), 731, "2023-12-31,A,1"), 1461),  # as far away as the others span
        (daily(date(2022, 1, 1), 1, "2023-01-01,A,0", "2024-01-01,A,1"), 731),
    ],
)
def test_a_late_date_is_kept(text: str, periods: int, write: Write) -> None:
    assert read_demand(write(text), "day").periods == periods


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 40),
            st.text(
                st.characters(categories=("L", "N"), include_characters=" -_.,;'\""), min_size=1, max_size=8
            ).filter(str.strip),
            st.integers(0, 999),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_any_table_is_read_back(rows: list[tuple[int, str, int]], write: Write) -> None:
    first = date(2024, 2, 27)
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(("date", "item", "units"))
    writer.writerows(((first + timedelta(days=day)).isoformat(), item, units) for day, item, units in rows)
    demand = read_demand(write(buffer.getvalue()), "day")
    assert demand.items == tuple(sorted({item.strip() for _, item, _ in rows}))
    expected: dict[tuple[str, int], int] = {}
    start = min(day for day, _, _ in rows)
    for day, item, units in rows:
        expected[item.strip(), day - start] = expected.get((item.strip(), day - start), 0) + units
    found = {(demand.items[i], int(t)): int(demand.units[i, t]) for i, t in zip(*np.nonzero(demand.units), strict=True)}
    assert found == {key: units for key, units in expected.items() if units}


PIECES = [
    *("date", "item", "units", "A", "ü", "\ufeff", " ", "\x00", "\n", "\r", "\t", '"', ",", ";"),
    *("2024-01-02", "1.2.2024", "0000-00-00", "9999-12-31", "3", "-1", "1e400", "nan", "1,5", "\u0663"),
]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(PIECES), max_size=40).map(
            lambda parts: ("date,item,units\n" + "".join(parts)).encode()
        ),
    )
)
def test_any_file_is_read_or_refused_in_one_line(data: bytes, write: Write) -> None:
    message = ""
    try:
        demand = read_demand(write(data))
        assert np.all(np.isfinite(demand.units))
        assert np.all(demand.units >= 0)
    except ProblemError as error:
        message = str(error)
    assert "\n" not in message


def test_many_items(write: Write) -> None:
    days = [(date(2024, 1, 1) + timedelta(days=d)).isoformat() for d in range(20)]
    text = "date,item,units\n" + "".join(f"{day},item {i},{i % 7}\n" for i in range(3_000) for day in days)
    demand = read_demand(write(text))
    assert demand.units.shape == (3_000, 20)
    assert demand.units.sum() == 20 * sum(i % 7 for i in range(3_000))
    assert len({demand.digest(i) for i in range(3_000)}) == 7
