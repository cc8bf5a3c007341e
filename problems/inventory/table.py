"""Tables of demand: from the text of a file to (date, item, units) records.

What is understood, and what each oddity means, is told in the user guide (`docs/inventory.md`). Every complaint names
the file, the line, the column, what was found and what was expected.
"""

import csv
import gzip
import io
import re
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isinf
from pathlib import Path
from typing import IO, Any, cast

from evolve.problem import ProblemError

ALIASES = {
    "date": (
        "date",
        "day",
        "ds",
        "week",
        "month",
        "period",
        "datum",
        "timestamp",
        "datetime",
        "orderdate",
        "invoicedate",
    ),
    "item": (
        "item",
        "sku",
        "product",
        "article",
        "artikel",
        "material",
        "itemid",
        "productid",
        "uniqueid",
        "stockcode",
    ),
    "units": ("units", "quantity", "qty", "demand", "sales", "sold", "y", "menge", "unitssold", "volume"),
}
"""Column names that are understood, in lower case and without spaces, dots, hyphens and underscores."""

BLANK = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})
"""Texts that stand for a missing number."""

_EXPECTED = "expected columns date, item, units"
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?")


@dataclass
class Names:
    """Different texts of one column: text → code, numbered as they come, and the line where each stands first."""

    codes: dict[str, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)

    def add(self, text: str, line: int) -> int:
        """The code of a text that was not seen before."""
        self.codes[text] = code = len(self.codes)
        self.lines.append(line)
        return code


@dataclass
class Records:
    """What the rows say: codes of date and item, and a number, which is NaN where it is missing."""

    dates: Names = field(default_factory=Names)
    items: Names = field(default_factory=Names)
    date: "array[int]" = field(default_factory=lambda: array("i"))
    item: "array[int]" = field(default_factory=lambda: array("i"))
    units: "array[float]" = field(default_factory=lambda: array("d"))


@dataclass(frozen=True)
class _Layout:
    """Where date, item and units stand in a row; a table without a units column has one column per item."""

    path: Path
    separator: str
    names: list[str]
    line: int
    date: int
    item: int | None
    units: int | None

    def error(self, line: int, column: int, found: str, expected: str) -> ProblemError:
        """What is wrong with one cell."""
        return ProblemError(
            f"{self.path}, line {line}, column {self.names[column]}: found {found!r}, expected {expected}"
        )


def read_records(path: Path) -> Records:
    """Read a table, compressed with gzip or not.

    The text is UTF-8 (or UTF-16 with its mark), else Windows-1252, which spreadsheets write.

    Raises:
        ProblemError: if it is no such table.
    """
    try:
        try:
            return _read(path, "utf-16" if _start(path) in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig")
        except UnicodeError:
            return _read(path, "cp1252")
    except OSError as error:
        raise ProblemError(f"cannot read demand data {path}: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise ProblemError(f"{path}: damaged gzip file ({error}): compress it anew") from None
    except UnicodeError:
        raise ProblemError(f"{path}: not a text file: expected a CSV file, {_EXPECTED}") from None
    except csv.Error as error:
        raise ProblemError(f"{path}: not a readable CSV file ({error}): {_EXPECTED}") from None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if packed:
            with gzip.open(file) as unpacked:
                yield cast("IO[bytes]", unpacked)
        else:
            yield file


def _start(path: Path) -> bytes:
    with _opened(path) as raw:
        return raw.read(2)


def _read(path: Path, encoding: str) -> Records:
    with _opened(path) as raw, io.TextIOWrapper(raw, encoding, newline="") as text:
        line, header = 1, text.readline()
        while header and not header.strip():
            line, header = line + 1, text.readline()
        if not header:
            raise ProblemError(f"{path}: the file is empty: {_EXPECTED}")
        layout = _lay_out(path, header, line)
        rows = csv.reader(text, delimiter=layout.separator)
        return _read_wide(rows, layout) if layout.units is None else _read_long(rows, layout, layout.units)


def _lay_out(path: Path, header: str, line: int) -> _Layout:
    separator = next((mark for mark in "\t;|" if mark in header), ",")
    names = [name.strip() for name in next(csv.reader([header], delimiter=separator))]
    where = f"{path}, line {line}"
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    date, item, units = (_column(role, names, where) for role in ALIASES)
    if date is None:
        raise ProblemError(f"{where}: no column named date among: {shown[:200]}: {_EXPECTED}")
    if units is None and (item is not None or len(names) == 1):
        raise ProblemError(f"{where}: no column named units among: {shown[:200]}: {_EXPECTED}")
    if units is None:
        _check_names(names, where)
    return _Layout(path, separator, names, line, date, item, units)


def _check_names(names: list[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if not name or name in seen:
            found = "an empty name" if not name else f"{name!r} twice"
            raise ProblemError(
                f"{where}: a table with one column per item needs a different name in each, found {found}"
            )
        seen.add(name)


def _column(role: str, names: list[str], where: str) -> int | None:
    """The column of a role: the one with the exact name, else the only one with an alias."""
    plain = [re.sub(r"[\s._-]", "", name).lower() for name in names]
    exact = [place for place, name in enumerate(plain) if name == role]
    places = exact or [place for place, name in enumerate(plain) if name in ALIASES[role]]
    if len(places) > 1:
        listed = ", ".join(names[place] for place in places)
        raise ProblemError(f"{where}: columns {listed} could each be {role}: call the right one {role}")
    return places[0] if places else None


def _read_long(rows: Any, layout: _Layout, units_column: int) -> Records:
    """One row per date and item. The loop sees every row of a large file: what can be done later is done later."""
    records = Records()
    date_column, item_column = layout.date, layout.item
    needed = max(date_column, units_column, item_column or 0) + 1
    named = max(place for place, name in enumerate(layout.names) if name) + 1
    only = records.items.add(layout.path.name.split(".")[0], layout.line) if item_column is None else 0
    dates, items = records.dates.codes, records.items.codes
    add_date, add_item, add_units = records.date.append, records.item.append, records.units.append
    for row in rows:
        if len(row) < needed:
            _check_blank(row, rows, layout, needed)
            continue
        if len(row) > named and any(cell.strip() for cell in row[named:]):
            raise _wrong_width(row, rows, layout, named)
        date = dates.get(row[date_column])
        if date is None:
            if not any(cell.strip() for cell in row):
                continue
            date = _new_name(row, date_column, records.dates, rows, layout)
        item = only
        if item_column is not None:
            item = items.get(row[item_column], -1)
            if item < 0:
                item = _new_name(row, item_column, records.items, rows, layout)
        try:
            units = float(row[units_column])
        except ValueError:
            units = _number_of(row[units_column], units_column, rows, layout)
        if isinf(units):
            raise layout.error(_line(rows, layout), units_column, row[units_column], "a finite number")
        add_date(date)
        add_item(item)
        add_units(units)
    return records


def _read_wide(rows: Any, layout: _Layout) -> Records:
    """One row per date, one column per item."""
    records = Records()
    columns = [place for place in range(len(layout.names)) if place != layout.date]
    codes = array("i", [records.items.add(layout.names[place], layout.line) for place in columns])
    for row in rows:
        if len(row) != len(layout.names):
            _check_blank(row, rows, layout, len(layout.names))
            continue
        if not any(cell.strip() for cell in row):
            continue
        date = records.dates.codes.get(row[layout.date])
        if date is None:
            date = _new_name(row, layout.date, records.dates, rows, layout)
        del row[layout.date]
        try:
            units = array("d", map(float, row))
        except ValueError:
            units = array(
                "d", [_number_of(cell, place, rows, layout) for cell, place in zip(row, columns, strict=True)]
            )
        if any(map(isinf, units)):
            place = next(place for place, number in enumerate(units) if isinf(number))
            raise layout.error(_line(rows, layout), columns[place], row[place], "a finite number")
        records.date.extend([date] * len(columns))
        records.item.extend(codes)
        records.units.extend(units)
    return records


def _line(rows: Any, layout: _Layout) -> int:
    return layout.line + int(rows.line_num)


def _check_blank(row: list[str], rows: Any, layout: _Layout, needed: int) -> None:
    """A row without the needed columns must be an empty one."""
    if any(cell.strip() for cell in row):
        raise _wrong_width(row, rows, layout, needed)


def _wrong_width(row: list[str], rows: Any, layout: _Layout, expected: int) -> ProblemError:
    shown = layout.separator.join(row)[:60]
    comma = layout.separator == "," and len(row) > expected
    hint = ': a number with a comma in it must be quoted ("2,5"), or take ; as separator' if comma else ""
    return ProblemError(
        f"{layout.path}, line {_line(rows, layout)}: found {len(row)} columns in {shown!r}, expected {expected} "
        f"separated by {layout.separator!r}{hint}"
    )


def _new_name(row: list[str], column: int, names: Names, rows: Any, layout: _Layout) -> int:
    if not row[column].strip():
        expected = "a date such as 2024-01-31" if column == layout.date else "the name of an item"
        raise layout.error(_line(rows, layout), column, row[column], expected)
    return names.add(row[column], _line(rows, layout))


def _number_of(text: str, column: int, rows: Any, layout: _Layout) -> float:
    """A number that is not written as Python writes it: blank, with a decimal comma, or with marks of thousands."""
    plain = text.strip().replace("\u00a0", "").replace(" ", "")
    if plain.lower() in BLANK:
        return float("nan")
    if layout.separator == "," and _THOUSANDS.fullmatch(plain):
        plain = plain.replace(",", "")
    elif "," in plain:
        plain = (
            plain.replace(".", "").replace(",", ".") if plain.rfind(",") > plain.rfind(".") else plain.replace(",", "")
        )
    try:
        return float(plain)
    except ValueError:
        raise layout.error(_line(rows, layout), column, text, "a number") from None
