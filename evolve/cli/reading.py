"""What the commands that read an archive have in common."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evolve.errors import RunError

if TYPE_CHECKING:
    from archive import Archive, ProgramRecord, RunRecord

RunArgument = Annotated[str, typer.Argument(metavar="[RUN]", help="A run's name, its beginning, or 'last'.")]
ProgramArgument = Annotated[
    str,
    typer.Argument(
        metavar="[RUN:]PROGRAM", help="A program, as in inventory-1:t17; 'last:best' is the newest run's best."
    ),
]


@contextmanager
def reading(target: str) -> Iterator["Archive"]:
    """An archive opened for reading; it must exist."""
    from archive import Archive

    with Archive.open(target, read_only=True, create=False) as store:
        yield store


def find_program(store: "Archive", reference: str) -> tuple["RunRecord", "ProgramRecord"]:
    """The program that RUN:PROGRAM names; PROGRAM may be `best`, a baseline's or a seed's name; either may be left out.

    Raises:
        RunError: if there is none.
    """
    run_name, _, name = reference.rpartition(":")
    if not name:
        raise RunError(f"{reference!r} names no program; write RUN:PROGRAM, as in inventory-1:t17 or last:best")
    if name == "last" or name in {run.id for run in store.runs()}:
        run_name, name = name, "best"
    run = store.run(run_name or "last")
    if name == "best":
        found = best_records(store, run, 1)
        if not found:
            raise RunError(f"run {run.id} has no program with a score yet")
        return run, store.program(run.id, found[0].name)
    for record in store.programs(run.id):
        if name in {record.name, record.label}:
            return run, store.program(run.id, record.name)
    raise RunError(f"run {run.id} has no program {name!r}; `evolve best {run.id}` lists some")


def best_records(store: "Archive", run: "RunRecord", count: int) -> list["ProgramRecord"]:
    """The best programs, seeds included: the finalists of a finished run in their order, then by validation score."""
    roles: tuple[Literal["ticket", "seed"], ...] = ("ticket", "seed")
    found = [record for role in roles for record in store.best(run.id, "validation", count, role=role)]
    sign = -1.0 if run.direction == "maximize" else 1.0
    found.sort(key=lambda r: (sign * (r.validation_score or 0.0), r.size, r.name))
    finalists = finalist_names(store, run)
    chosen = [store.program(run.id, name) for name in finalists]
    return [*chosen, *(record for record in found if record.name not in finalists)][:count]


def finalist_names(store: "Archive", run: "RunRecord") -> list[str]:
    """Names of a finished run's finalists, the champion first."""
    return [str(name) for event in store.events(run.id, "finalists") for name in event.data["finalists"]]


def holdout_score(store: "Archive", run: "RunRecord", name: str) -> float | None:
    """Mean score on holdout, for the few programs that were scored there."""
    scores = [outcome.score for outcome in store.outcomes(run.id, name, "holdout") if outcome.score is not None]
    return sum(scores) / len(scores) if scores else None


def tuned_source(record: "ProgramRecord", run: "RunRecord") -> str:
    """A program's text with its tuned values as defaults, where it can be read."""
    from evolve.errors import EvolveError
    from evolve.program import read_program
    from evolve.registry import load_problem
    from evolve.search.population import typical

    try:
        signature = load_problem(run.settings["problem"], run.settings["set"]).signature
        program = read_program(record.source, signature.entry, signature.positional)
    except EvolveError:  # the problem's file or data may have moved since; the text is in the archive
        return record.source
    return program.with_values(typical(record.values))


def score_text(value: float | None) -> str:
    """A score for a table."""
    return "" if value is None else f"{value:.5g}"
