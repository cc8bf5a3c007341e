"""`evolve show`, `evolve lineage` and `evolve diff`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from evolve.cli import DEFAULT_ARCHIVE, examples
from evolve.cli.reading import ProgramArgument, find_program, holdout_score, reading, score_text, tuned_source
from evolve.cli.run import ArchiveOption, JsonOption
from evolve.errors import RunError

if TYPE_CHECKING:
    from rich.console import Console

    from archive import ProgramRecord, RunRecord


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(epilog=examples("evolve show", "evolve show inventory-1:t17", "evolve show last:s_S"))(show)
    app.command(epilog=examples("evolve lineage", "evolve lineage inventory-1:t17 --archive demo.db"))(lineage)
    app.command(epilog=examples("evolve diff last:best", "evolve diff last:s0 last:best"))(diff)


def show(
    program: ProgramArgument = "last:best", archive: ArchiveOption = DEFAULT_ARCHIVE, json_lines: JsonOption = False
) -> None:
    """Show a PROGRAM: source with tuned values, scores, tuning, where it came from."""
    with reading(archive) as store:
        run, record = find_program(store, program)
        holdout = holdout_score(store, run, record.name)
    if json_lines:
        from evolve.report.text import print_json

        print_json(_as_json(run, record, holdout))
        return
    from rich.markup import escape

    from evolve.report.text import make_console, outcome_text, print_code

    console = make_console()
    console.print(
        f"[bold]{run.id}:{record.name}[/bold] {record.label} · {escape(outcome_text(record.status, record.reason))}",
        highlight=False,
    )
    scores = [
        f"{split} {score_text(value)}"
        for split, value in (
            ("train", record.train_score),
            ("validation", record.validation_score),
            ("holdout", holdout),
        )
        if value is not None
    ]
    parents = ", ".join(f"{edge.role} {edge.name}" for edge in record.parents) or "none"
    origin = f"operator {record.operator} · island {record.island} · parents: {parents}"
    console.print(f"scores: {', '.join(scores) or 'none'} · {origin}", highlight=False)
    if record.proposal and record.proposal.note:
        console.print(f"change: {record.proposal.note}", markup=False, highlight=False)
    if record.tuning:
        tuning = record.tuning
        spent = (
            f"{tuning.vectors} vectors, {tuning.evaluations} evaluations ({tuning.evaluations_saved} saved by racing)"
        )
        gained = f"{score_text(tuning.start_score)} → {score_text(tuning.best_score)}"
        console.print(f"tuning: {tuning.method}, {spent}, {gained}", highlight=False)
    print_code(console, tuned_source(record, run), "python")
    if len(record.values) > 1:
        _print_groups(console, record)


def _print_groups(console: "Console", record: "ProgramRecord") -> None:
    from evolve.report.text import make_table, print_table

    names = list(next(iter(record.values.values())))
    table = make_table("group", *names, title="parameters by group", right=tuple(names))
    for group, values in record.values.items():
        table.add_row(
            group, *(f"{values[name]:.5g}" if isinstance(values[name], float) else str(values[name]) for name in names)
        )
    print_table(console, table)


def _as_json(run: "RunRecord", record: "ProgramRecord", holdout: float | None) -> dict[str, Any]:
    return {
        "run": run.id,
        "name": record.name,
        "label": record.label,
        "role": record.role,
        "status": record.status,
        "reason": record.reason,
        "source": record.source,
        "values": record.values,
        "train": record.train_score,
        "validation": record.validation_score,
        "holdout": holdout,
        "operator": record.operator,
        "island": record.island,
        "parents": [[edge.name, edge.role] for edge in record.parents],
        "outcomes": [[o.split, o.instance, o.score] for o in record.outcomes],
        "descriptors": record.descriptors,
    }


def lineage(
    program: ProgramArgument = "last:best", archive: ArchiveOption = DEFAULT_ARCHIVE, json_lines: JsonOption = False
) -> None:
    """Show where a PROGRAM came from: its ancestors with scores and what each step changed."""
    from rich.tree import Tree

    from evolve.report.text import make_console, print_json

    with reading(archive) as store:
        run, record = find_program(store, program)
        known = {ancestor.name: ancestor for ancestor in store.ancestors(run.id, record.name)}
        migrations = {str(event.data["program"]): event.data for event in store.events(run.id, "migration")}
    known[record.name] = record
    if json_lines:
        for item in known.values():
            print_json(
                {
                    "name": item.name,
                    "operator": item.operator,
                    "train": item.train_score,
                    "validation": item.validation_score,
                    "parents": [[edge.name, edge.role] for edge in item.parents],
                }
            )
        return
    tree = Tree(_lineage_line(record))
    _grow(tree, record, known, migrations, {record.name})
    make_console().print(tree, highlight=False)


def _grow(
    tree: Any, record: "ProgramRecord", known: dict[str, "ProgramRecord"], migrations: dict[str, Any], seen: set[str]
) -> None:
    for edge in record.parents:
        parent = known.get(edge.name)
        if parent is None:
            continue
        moved = migrations.get(parent.name)
        note = f" (migrated from island {moved['from']})" if moved and parent.island != record.island else ""
        if parent.name in seen:
            tree.add(f"{edge.role} {parent.name}, shown above{note}")
            continue
        seen.add(parent.name)
        _grow(tree.add(f"{edge.role} {_lineage_line(parent)}{note}"), parent, known, migrations, seen)


def _lineage_line(record: "ProgramRecord") -> str:
    note = record.proposal.note if record.proposal else record.label
    scores = f"train {score_text(record.train_score)}  validation {score_text(record.validation_score)}"
    return f"{record.name}  {scores}  {record.operator}: {note}"


def diff(
    first: ProgramArgument,
    second: Annotated[
        str,
        typer.Argument(
            metavar="[OTHER]",
            help="What to compare it with; without it, PROGRAM is compared with its first parent.",
        ),
    ] = "",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
) -> None:
    """Show how a program differs from its first parent, or how OTHER differs from PROGRAM.

    Lines of the parent, or of PROGRAM where two are named, begin with -; lines of what came of it with +.
    """
    import difflib

    from evolve.report.text import make_console, print_code

    with reading(archive) as store:
        run, record = find_program(store, first)
        if second:
            new_run, new = find_program(store, second)
        elif record.parents:
            new_run, new = run, record
            record = store.program(run.id, record.parents[0].name)
        else:
            raise RunError(f"{record.name} has no parent; name another program to compare with")
    lines = difflib.unified_diff(
        tuned_source(record, run).splitlines(),
        tuned_source(new, new_run).splitlines(),
        f"{run.id}:{record.name}",
        f"{new_run.id}:{new.name}",
        lineterm="",
    )
    print_code(make_console(), "\n".join(lines) or "no difference", "diff")
