"""The command line. Each group of commands is a module; what a command needs is imported when it runs."""

import sys
from pathlib import Path

DEFAULT_ARCHIVE = "evolve.db"

EXIT_ERROR = 1
EXIT_NOTHING = 3
EXIT_INTERRUPTED = 130


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "Examples:\n\n" + "\n\n".join(f"  {line}" for line in lines)


def main() -> None:
    """Entry point of the `evolve` command: every expected fault is one line, and an exit code."""
    shadow = _shadowing_folder()
    if shadow:
        sys.stderr.write(f"evolve: {shadow}\n")
        raise SystemExit(EXIT_ERROR)
    from evolve.cli.app import run_app

    run_app()


def _shadowing_folder() -> str:
    """A sentence, if a folder of the user's stands in the way of one of our packages.

    `problems`, `sandbox` and `archive` are common folder names; with `python -m evolve`, or PYTHONPATH set, one in the
    current directory is imported in our packages' stead.
    """
    import importlib.util

    home = Path(__file__).resolve().parents[2]
    for name in ("problems", "sandbox", "archive"):
        spec = importlib.util.find_spec(name)
        places = list(spec.submodule_search_locations or []) if spec else []
        if places and Path(places[0]).resolve() != home / name:
            return (
                f"{places[0]} hides the installed package {name!r}; run from another folder, rename it, "
                "or use the `evolve` command instead of `python -m evolve`"
            )
    return ""
