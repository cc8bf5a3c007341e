"""`evolve export`."""

from pathlib import Path
from typing import Annotated

import typer

from evolve.cli import DEFAULT_ARCHIVE, examples
from evolve.cli.reading import ProgramArgument, find_program, reading
from evolve.cli.run import ArchiveOption, WeakOption


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    shown = examples("evolve export", "evolve export inventory-1:t141 --out rule", "python -m pytest rule")
    app.command(epilog=shown)(export)


def export(
    program: ProgramArgument = "last:best",
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write into.")] = Path(),
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Overwrite files, and write a program that is not to be trusted.")
    ] = False,
    allow_weak_sandbox: WeakOption = False,
) -> None:
    """Write a PROGRAM as a plain Python function with tuned defaults, and a small test beside it.

    It needs numpy and nothing of evolve. Before it is written it is scored once more, in a fresh process.
    """
    from evolve.export.function import export_function

    with reading(archive) as store:
        run, record = find_program(store, program)
        for path in export_function(store, run, record, out, force=force, weak_sandbox=allow_weak_sandbox):
            typer.echo(f"wrote {path}")
