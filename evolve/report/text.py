"""How tables and text look, on a terminal and in a pipe."""

import json
import math
from collections.abc import Mapping
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.syntax import Syntax
from rich.table import Table

PIPE_WIDTH = 120
"""Columns to assume where there is no terminal to ask."""


def make_console() -> Console:
    """A console on standard output."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def make_table(*headings: str, title: str = "", right: tuple[str, ...] = (), wrap: tuple[str, ...] = ()) -> Table:
    """A plain table: names are never broken, columns of numbers are aligned to the right.

    Args:
        headings: of the columns.
        title: above it.
        right: headings of columns of numbers.
        wrap: headings of columns of prose.
    """
    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=heading not in wrap, justify="right" if heading in right else "left")
    return table


def table_width(console: Console, table: Table) -> int:
    """Columns a table needs so that only its prose is wrapped, and nothing is cut."""
    wide = console.options.update(width=10_000)
    width = Measurement.get(console, wide, table).maximum
    for column in table.columns:
        if not column.no_wrap:
            cells = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
            width -= max(cell.maximum for cell in cells) - max(cell.minimum for cell in cells)
    return width


def print_table(console: Console, table: Table) -> None:
    """A table whose names and numbers are whole: where it is too narrow, the terminal breaks lines instead."""
    before = console.width
    console.width = max(before, table_width(console, table))
    try:
        console.print(table)
    finally:
        console.width = before


def outcome_text(status: str, reason: str) -> str:
    """A status and its reason; a reason that names the status already says both."""
    return reason if reason.startswith(status) else f"{status}: {reason}" if reason else status


def print_code(console: Console, code: str, language: str) -> None:
    """Source text, every line of it whole: coloured on a terminal, and exactly as it is anywhere else."""
    if console.is_terminal:
        console.print(Syntax(code, language, background_color="default", word_wrap=True))
    else:
        console.file.write(code.rstrip("\n") + "\n")


def json_line(data: Any) -> str:
    """JSON on one line. JSON has no infinity and no NaN: such a number, as of an interval of one unit, becomes null."""
    return json.dumps(_finite(data), allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return data


def print_json(data: Any) -> None:
    """One object on a line of its own."""
    typer.echo(json_line(data))
