"""How tables and text look, on a terminal and in a pipe."""

import json
from typing import Any

import typer
from rich import box
from rich.console import Console
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


def print_json(data: Any) -> None:
    """One object on a line of its own."""
    typer.echo(json.dumps(data))
