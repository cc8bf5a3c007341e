"""The application: its commands, its help, and the one place that turns an expected fault into a line."""

import os
import sys
from typing import Annotated

import typer

from archive import ArchiveError
from evolve.cli import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_NOTHING, doctor, export, problems, programs, run, runs
from evolve.errors import EvolveError, NothingScored
from sandbox import SandboxError, SandboxUnavailable

EPILOG = (
    "Exit codes: 0 done · 1 a fault, said in one line · 2 wrong usage · 3 the run ended but no program could be scored · "
    "130 stopped with Ctrl-C (the run can be resumed)."
)

app = typer.Typer(
    name="evolve",
    help="Evolve readable, tuned and tested decision rules.\n\nStart with:  [bold]evolve run inventory[/bold]",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"evolve {version('evolve-policies')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Evolve readable, tuned and tested decision rules."""


for module in (run, runs, programs, export, problems, doctor):
    module.register(app)


def run_app() -> None:
    """Run the command line; ends the process."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here its failure can still be told; when the interpreter ends, it cannot
    except SandboxUnavailable as error:
        sys.stderr.write(f"evolve: {error} (evolve doctor says more; --allow-weak-sandbox goes on with less)\n")
        raise SystemExit(EXIT_ERROR) from None
    except NothingScored as error:
        sys.stderr.write(f"evolve: {error}\n")
        raise SystemExit(EXIT_NOTHING) from None
    except (EvolveError, SandboxError, ArchiveError) as error:
        sys.stderr.write(f"evolve: {error}\n")
        raise SystemExit(EXIT_ERROR) from None
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        _drop_output()
        raise SystemExit(EXIT_ERROR) from None  # the reader of a pipe has gone, as with `evolve runs | head`
    except OSError as error:
        _drop_output()
        sys.stderr.write(f"evolve: {error.filename or 'cannot write the output'}: {error.strerror or error}\n")
        raise SystemExit(EXIT_ERROR) from None


def _drop_output() -> None:
    """What standard output could not take goes nowhere, lest the interpreter try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
