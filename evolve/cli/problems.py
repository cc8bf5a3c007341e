"""`evolve problems`."""

from typing import TYPE_CHECKING, Any

import typer

from evolve.cli import examples
from evolve.cli.run import SetOption

if TYPE_CHECKING:
    from rich.console import Console

    from evolve.problem import Problem


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    shown = examples("evolve problems", "evolve problems inventory", "evolve problems inventory --set data=demand.csv")
    app.command(epilog=shown)(problems)


def problems(
    name: str = typer.Argument("", metavar="[PROBLEM]", help="Show this problem's arguments and settings."),
    settings: SetOption = None,
) -> None:
    """List the installed problems, or describe one: what its programs see, what they decide, what can be set."""
    from evolve.registry import available, find_problem, load_problem
    from evolve.report.text import make_console
    from evolve.settings import parse_assignment

    console = make_console()
    if name:
        _describe(console, load_problem(name, dict(parse_assignment(item) for item in settings or [])))
        return
    for key in available():
        console.print(f"[bold]{key}[/bold]  {find_problem(key).summary}", highlight=False, soft_wrap=True)


def _describe(console: "Console", problem: "Problem[Any, Any]") -> None:
    from rich.markup import escape

    from evolve.report.text import make_table, print_table

    console.print(f"[bold]{problem.name}[/bold] ({problem.direction} the score)", highlight=False)
    console.print(problem.description, markup=False, highlight=False, soft_wrap=True)
    signature = problem.signature
    title = f"{signature.entry}(…) sees"
    arguments = make_table("argument", "meaning", "unit", "type", title=title, wrap=("meaning",))
    for argument in signature.arguments:
        shape = "number" if argument.shape == () else f"array {argument.shape}".replace("None", "any")
        arguments.add_row(argument.name, escape(argument.meaning), argument.unit, shape)
    arguments.add_row("returns", signature.action.meaning, signature.action.unit, signature.action.dtype)
    print_table(console, arguments)
    settings = make_table("--set", "default", "meaning", title="settings", wrap=("meaning",))
    for key, field in problem.Settings.model_fields.items():
        settings.add_row(key, escape(_as_typed(field.default)), escape(field.description or ""))
    print_table(console, settings)


def _as_typed(value: Any) -> str:
    """A default the way one would write it after `--set`."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
