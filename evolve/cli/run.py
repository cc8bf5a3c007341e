"""`evolve run` and `evolve resume`."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evolve.cli import DEFAULT_ARCHIVE, EXIT_INTERRUPTED, EXIT_NOTHING, examples

if TYPE_CHECKING:
    from archive import Archive
    from evolve.cli.display import Display
    from evolve.session import Result, Session
    from evolve.settings import RunSettings


ArchiveOption = Annotated[
    str, typer.Option("--archive", "-a", metavar="FILE|URL", help="Archive: a SQLite file, or a database URL.")
]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help=r"Worker processes; the result does not depend on it. \[default: cores]"),
]
OutOption = Annotated[
    Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for pictures; each run gets its own inside.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write one JSON object per line, for machines.")]
WeakOption = Annotated[
    bool,
    typer.Option(
        "--allow-weak-sandbox", help="Run even where programs cannot be isolated from this machine (evolve doctor)."
    ),
]
MemoryOption = Annotated[
    int | None,
    typer.Option(
        "--memory-mb", min=1536, help=r"Memory that all programs may use together. \[default: 3/4 of the machine's]"
    ),
]

ProblemArgument = Annotated[
    str | None, typer.Argument(help="Name of a problem (evolve problems), or a path to a Python file.")
]
TicketsOption = Annotated[
    int | None, typer.Option("--tickets", "-n", min=0, help=r"Steps of the search: one program each. \[default: 300]")
]
IslandsOption = Annotated[int | None, typer.Option("--islands", "-k", min=1, help=r"Sub-populations. \[default: 4]")]
SeedOption = Annotated[
    int | None, typer.Option("--seed", "-s", min=0, help=r"The run's only source of randomness. \[default: 0]")
]
TuneOption = Annotated[
    int | None, typer.Option("--tune", min=0, help=r"Parameter vectors tried per program. \[default: 128]")
]
BudgetOption = Annotated[
    int | None,
    typer.Option("--budget-evaluations", min=1, help="Most evaluations (one parameter vector on one instance is one)."),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the problem; may be repeated.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", metavar="FILE.toml", help="Settings file; flags win over it.")
]

RUN_EXAMPLES = examples(
    "evolve run inventory",
    "evolve run inventory --set data=demand.csv --set lead_time=4 --tickets 500",
    "evolve run inventory --set bed=zipkin --seed 3 --jobs 2",
    "evolve run ./my_problem.py --config run.toml",
)


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(epilog=RUN_EXAMPLES)(run)
    app.command(epilog=examples("evolve resume", "evolve resume inventory-1 --archive demo.db --jobs 2"))(resume)


def run(
    problem: ProblemArgument = None,
    tickets: TicketsOption = None,
    islands: IslandsOption = None,
    seed: SeedOption = None,
    tune: TuneOption = None,
    budget: BudgetOption = None,
    settings: SetOption = None,
    config: ConfigOption = None,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    jobs: JobsOption = None,
    memory_mb: MemoryOption = None,
    out: OutOption = Path("evolve-out"),
    json_lines: JsonOption = False,
    allow_weak_sandbox: WeakOption = False,
) -> None:
    """Search for decision rules of a PROBLEM.

    Baselines are tuned first, then new programs are proposed, checked, tuned in a sandbox and archived, ticket by ticket.
    Ctrl-C stops cleanly; evolve resume goes on where it stopped.
    """
    flags = {
        "problem": problem,
        "tickets": tickets,
        "islands.count": islands,
        "seed": seed,
        "tuning.vectors": tune,
        "budget_evaluations": budget,
    }
    chosen = _settings(flags, settings or [], config)

    def work(store: "Archive", display: "Display") -> "Result":
        session = _session(store, display, jobs, memory_mb, weak_sandbox=allow_weak_sandbox)
        return session.start(chosen)

    _execute(work, archive, out=out, json_lines=json_lines, create=True)


def resume(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run's name, its beginning, or 'last'.")] = "last",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    jobs: JobsOption = None,
    memory_mb: MemoryOption = None,
    out: OutOption = Path("evolve-out"),
    json_lines: JsonOption = False,
    allow_weak_sandbox: WeakOption = False,
) -> None:
    """Go on with an interrupted RUN; it ends exactly as if it had not been interrupted."""

    def work(store: "Archive", display: "Display") -> "Result":
        session = _session(store, display, jobs, memory_mb, weak_sandbox=allow_weak_sandbox)
        return session.resume(name)

    _execute(work, archive, out=out, json_lines=json_lines, create=False)


def _session(
    store: "Archive", display: "Display", jobs: int | None, memory_mb: int | None, *, weak_sandbox: bool
) -> "Session":
    from evolve.session import Session

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Session(archive=store, jobs=jobs or cores, observer=display, weak_sandbox=weak_sandbox, memory_mb=memory_mb)


def _settings(flags: dict[str, Any], assignments: list[str], config: Path | None) -> "RunSettings":
    from evolve.settings import RunSettings, load_toml, parse_assignment, validate

    values: dict[str, Any] = load_toml(config) if config else {}
    for key, value in flags.items():
        if value is not None:
            table = values
            *path, last = key.split(".")
            for part in path:
                table = _table(table, part, config)
            table[last] = value
    for assignment in assignments:
        key, value = parse_assignment(assignment)
        _table(values, "set", config)[key] = value
    if "problem" not in values:
        raise typer.BadParameter("name a problem, as in `evolve run inventory`; `evolve problems` lists them")
    return validate(RunSettings, values, str(config) if config else "run settings")


def _table(values: dict[str, Any], key: str, config: Path | None) -> dict[str, Any]:
    """The table `key` of a settings file, made if it is not there; a flag sets a key inside it."""
    from evolve.errors import SettingsError

    table = values.setdefault(key, {})
    if not isinstance(table, dict):
        raise SettingsError(f"{config}: {key} = {table!r}: write a table, [{key}], with its settings below")
    return table


def _execute(
    work: Callable[["Archive", "Display"], "Result"], target: str, *, out: Path, json_lines: bool, create: bool
) -> None:
    """Run `work` on the archive under a display that fits the terminal."""
    from archive import Archive
    from evolve.cli.display import make_display

    signal.signal(signal.SIGTERM, _as_interrupt)
    display = make_display(json_lines=json_lines, archive=target)
    try:
        with Archive.open(target, create=create) as store, display:
            result = work(store, display)
    except KeyboardInterrupt:
        display.interrupted()
        raise typer.Exit(EXIT_INTERRUPTED) from None
    display.result(result, out)
    if result.finals is None:
        raise typer.Exit(EXIT_NOTHING)


def _as_interrupt(signum: int, frame: object) -> None:
    """A polite end from outside is treated as Ctrl-C: stop cleanly and say how to go on."""
    del signum, frame
    signal.raise_signal(signal.SIGINT)
