"""What is written is whole: source lines, names, and JSON that any reader of JSON takes."""

import io
import json

import pytest
from rich.console import Console

from evolve.report.text import json_line, make_table, outcome_text, print_code, print_table

LONG = f"def order({', '.join(f'argument_{number}' for number in range(30))}):\n    return 1.0\n"


def test_a_pipe_gets_source_exactly_as_it_is():
    console = Console(width=80, file=io.StringIO())
    print_code(console, LONG, "python")
    assert console.file.getvalue() == LONG


def test_a_terminal_gets_every_character_of_a_long_line():
    console = Console(width=40, file=io.StringIO(), force_terminal=True, color_system=None)
    print_code(console, LONG, "python")
    assert "".join(console.file.getvalue().split()) == "".join(LONG.split())


def test_json_has_null_for_what_is_not_finite():
    data = {"low": float("-inf"), "high": float("inf"), "deep": [(1.5, float("nan"))], "name": "t3", "units": 1}
    assert json.loads(json_line(data), parse_constant=pytest.fail) == {
        "low": None,
        "high": None,
        "deep": [[1.5, None]],
        "name": "t3",
        "units": 1,
    }


@pytest.mark.parametrize("width", [20, 40, 80])
def test_names_and_numbers_are_never_cut(width):
    cells = ["inventory-with-a-long-name-17", "interrupted", "-0.00012345", "forecast_base_stock", "1234.5"]
    console = Console(width=width, file=io.StringIO())
    table = make_table("run", "status", "low", "best", "mean", right=("low", "mean"))
    table.add_row(*cells)
    print_table(console, table)
    printed = console.file.getvalue()
    assert "…" not in printed
    assert all(cell in printed for cell in cells)


def test_only_prose_is_wrapped():
    console = Console(width=40, file=io.StringIO())
    table = make_table("program", "from", wrap=("from",))
    table.add_row("a-name-of-some-length", "t1, t2, t3, t4, t5, t6, t7, t8, t9")
    print_table(console, table)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    assert any("a-name-of-some-length" in line for line in lines)


def test_a_reason_that_names_the_status_is_not_doubled():
    assert outcome_text("timeout", "timeout: a call took longer than 2 s") == "timeout: a call took longer than 2 s"
    assert outcome_text("invalid", "the action is NaN") == "invalid: the action is NaN"
    assert outcome_text("ok", "") == "ok"
