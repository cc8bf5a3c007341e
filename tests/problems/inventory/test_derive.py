import csv
import lzma
from datetime import date, timedelta
from pathlib import Path

from problems.inventory.data import derive

HEADER = "Invoice,StockCode,Description,Quantity,InvoiceDate,Price,Customer ID,Country\n"


def lines_of(text: str, folder: Path) -> list[derive.Line]:
    path = folder / "source.csv.xz"
    path.write_bytes(lzma.compress((HEADER + text).encode()))
    return list(derive.read_lines(path))


def test_what_counts_as_demand(tmp_path: Path) -> None:
    lines = lines_of(
        "1,10001a,RED  MUG ,6,12/1/2009 7:45,2.5,7,UK\n"
        "1,POST,POSTAGE,1,12/1/2009 7:45,2.5,7,UK\n"
        "2,10001A,RED MUG,4,12/1/2009 9:00,2.5,8,UK\n"
        "C3,10001A,RED MUG,-4,12/1/2009 9:30,2.5,8,UK\n"
        "C4,10001A,RED MUG,-1,12/3/2009 9:30,2.5,7,UK\n"
        "5,10001A,RED MUG,3,12/4/2009 9:30,0,7,UK\n"
        "6,10001A,,2,12/5/2009 9:30,2.5,,UK\n"
        "7,10001A,RED MUG,5,12/2/2009 9:30,2.5,9,UK\n"
        "6,10001A,RED MUG,2,12/5/2009 9:30,2.5,,UK\n",
        tmp_path,
    )
    assert len(lines) == 8, "the second sheet repeats invoice 6"
    items = derive.daily_units(lines)
    assert dict(items["10001A"].days) == {date(2009, 12, 1): 6, date(2009, 12, 5): 2, date(2009, 12, 2): 5}
    assert items["10001A"].text == "RED MUG"


def test_choice_looks_at_the_first_part_only() -> None:
    """Whatever comes after the 443rd day changes nothing."""
    items = {}
    for number in range(60):
        code = f"{10000 + number}"
        step = 1 + number % 12
        days = {derive.FIRST_DAY + timedelta(days=d): 1 + (d + number) % 5 for d in range(0, 443, step)}
        items[code] = derive.Item(text=code, days=days)  # type: ignore[arg-type]
    first = derive.choose(items)
    for item in items.values():
        item.days[date(2011, 6, 1)] = 10_000
    assert derive.choose(items) == first
    assert first
    assert all(len([c for c in first.values() if c == name]) <= 4 for name in set(first.values()))


def test_the_bundled_files_fit_together() -> None:
    folder = Path(derive.__file__).parent
    with (folder / "items.csv").open(encoding="utf-8") as file:
        items = list(csv.DictReader(file))
    with (folder / "demand.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(items) == 30
    assert {row["item"] for row in rows} == {item["item"] for item in items}
    assert (rows[0]["date"], rows[-1]["date"]) == ("2009-12-01", "2011-12-09")
    assert all(int(row["units"]) > 0 for row in rows)
    assert rows == sorted(rows, key=lambda row: (row["date"], row["item"]))
