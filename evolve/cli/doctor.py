"""`evolve doctor`."""

import typer

from evolve.cli import examples


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(epilog=examples("evolve doctor"))(doctor)


def doctor() -> None:
    """Say how well this machine can isolate programs, what is missing, and what to do about it."""
    from evolve.report.text import make_console, make_table, print_table
    from sandbox import probe

    report = probe()
    console = make_console()
    table = make_table("wall", "here", "what it is for", "what to do", wrap=("what it is for", "what to do"))
    for wall in report.mechanisms:
        table.add_row(wall.name, "yes" if wall.present else "no", wall.purpose, wall.remedy)
    print_table(console, table)
    console.print(f"sandbox level: [bold]{report.level}[/bold]", highlight=False)
