"""`evolve runs`, `evolve best` and `evolve digest`."""

from typing import TYPE_CHECKING, Annotated

import typer

from evolve.cli import DEFAULT_ARCHIVE, examples
from evolve.cli.reading import RunArgument, best_records, finalist_names, holdout_score, reading, score_text
from evolve.cli.run import ArchiveOption, JsonOption

if TYPE_CHECKING:
    from rich.table import Table

    from archive import ProgramRecord, RunRecord


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(epilog=examples("evolve runs", "evolve runs --archive demo.db --json"))(runs)
    app.command(epilog=examples("evolve best", "evolve best inventory-1 --count 20"))(best)
    app.command(epilog=examples("evolve digest", "evolve digest inventory-1 --archive demo.db"))(digest)


def runs(archive: ArchiveOption = DEFAULT_ARCHIVE, json_lines: JsonOption = False) -> None:
    """List the runs of an archive."""
    from evolve.report.text import make_console, print_json, print_table, table_width

    with reading(archive) as store:
        records = store.runs()
        rows = []
        for run in records:
            tally = store.tally(run.id)
            best = best_records(store, run, 1)
            rows.append((run, sum(tally.values()), tally.get("ok", 0), best[0] if best else None))
    if json_lines:
        for run, tickets, scored, top in rows:
            print_json(
                {
                    "run": run.id,
                    "problem": run.problem,
                    "seed": run.seed,
                    "status": run.status,
                    "reason": run.reason,
                    "tickets": tickets,
                    "scored": scored,
                    "best": top.name if top else None,
                    "validation": top.validation_score if top else None,
                    "created": run.created.isoformat(),
                }
            )
        return
    console = make_console()
    table = _runs_table(rows, started=True)
    if table_width(console, table) > console.width:
        table = _runs_table(rows, started=False)
    print_table(console, table)


def _runs_table(rows: list[tuple["RunRecord", int, int, "ProgramRecord | None"]], *, started: bool) -> "Table":
    from evolve.report.text import make_table

    numbers = ("seed", "tickets", "scored", "validation")
    headings = ("run", "status", "seed", "tickets", "scored", "best", "validation", *["started"] * started)
    table = make_table(*headings, right=numbers)
    for run, tickets, scored, top in rows:
        cells = [
            run.id,
            run.status,
            str(run.seed),
            f"{tickets}/{run.settings.get('tickets', '?')}",
            str(scored),
            top.name if top else "",
            score_text(top.validation_score if top else None),
            f"{run.created:%Y-%m-%d %H:%M}",
        ]
        table.add_row(*cells[: len(headings)])
    return table


def best(
    name: RunArgument = "last",
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many.")] = 5,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    json_lines: JsonOption = False,
) -> None:
    """List a RUN's finalists, its best programs on validation, and its tuned baselines.

    Finalists live on an island, so they are good on train too. Only they and the baselines are ever scored on holdout.
    """
    from evolve.report.text import make_console, make_table, print_json, print_table

    with reading(archive) as store:
        run = store.run(name)
        records = best_records(store, run, count)
        records += store.programs(run.id, role="baseline", status="ok")
        finalists = finalist_names(store, run)
        holdout = {record.name: holdout_score(store, run, record.name) for record in records}
    if json_lines:
        for record in records:
            print_json(
                {
                    "run": run.id,
                    "name": record.name,
                    "label": record.label,
                    "role": record.role,
                    "finalist": record.name in finalists,
                    "train": record.train_score,
                    "validation": record.validation_score,
                    "holdout": holdout[record.name],
                    "size": record.size,
                }
            )
        return
    numbers = ("train", "validation", "holdout", "size")
    table = make_table("program", "", *numbers, "operator", "from", right=numbers, wrap=("from",))
    for record in records:
        origin = ", ".join(edge.name for edge in record.parents if edge.role != "skill")
        scores = (record.train_score, record.validation_score, holdout[record.name])
        table.add_row(
            record.name,
            _standing(record, finalists),
            *(score_text(score) for score in scores),
            str(record.size),
            record.operator,
            origin,
        )
    print_table(make_console(), table)


def _standing(record: "ProgramRecord", finalists: list[str]) -> str:
    if record.name in finalists:
        return "finalist" if finalists[0] != record.name else "champion"
    return record.label


def digest(name: RunArgument = "last", archive: ArchiveOption = DEFAULT_ARCHIVE) -> None:
    """Print one hash over a RUN's programs, parameters, scores and lineage: equal runs have equal digests."""
    with reading(archive) as store:
        typer.echo(store.digest(store.run(name).id))
