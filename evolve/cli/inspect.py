"""Commands that read an archive: `runs`, `show`, `best`, `lineage`, `diff`, `digest`. Most take `--json`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from evolve.cli.run import DEFAULT_ARCHIVE, ArchiveOption, JsonOption
from evolve.errors import RunError

if TYPE_CHECKING:
    from rich.console import Console

    from archive import Archive, ProgramRecord, RunRecord

RunArgument = Annotated[str, typer.Argument(metavar="[RUN]", help="A run's name, its beginning, or 'last'.")]
ProgramArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN:PROGRAM", help="A program, as in inventory-1:t17; 'last:best' is the newest run's best."
    ),
]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    for command in (runs, show, best, lineage, diff, digest):
        app.command()(command)


@contextmanager
def reading(target: str) -> Iterator["Archive"]:
    """An archive opened for reading; it must exist."""
    from archive import Archive

    with Archive.open(target, read_only=True, create=False) as store:
        yield store


def find_program(store: "Archive", reference: str) -> tuple["RunRecord", "ProgramRecord"]:
    """The program that RUN:PROGRAM names; PROGRAM may be `best`, a baseline's or a seed's name, and RUN may be left out.

    Raises:
        RunError: if there is none.
    """
    run_name, _, name = reference.rpartition(":")
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
    """The evolved and seed programs that are best on validation, best first."""
    roles: tuple[Literal["ticket", "seed"], ...] = ("ticket", "seed")
    found = [record for role in roles for record in store.best(run.id, "validation", count, role=role)]
    sign = -1.0 if run.direction == "maximize" else 1.0
    return sorted(found, key=lambda r: (sign * (r.validation_score or 0.0), r.size, r.name))[:count]


def _console() -> "Console":
    from rich.console import Console

    return Console()


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data))


def runs(archive: ArchiveOption = DEFAULT_ARCHIVE, json_lines: JsonOption = False) -> None:
    """List the runs of an archive."""
    from rich.table import Table

    with reading(archive) as store:
        records = store.runs()
        rows = []
        for run in records:
            tally = store.tally(run.id)
            best = best_records(store, run, 1)
            rows.append((run, sum(tally.values()), tally.get("ok", 0), best[0] if best else None))
    if json_lines:
        for run, tickets, scored, top in rows:
            _print_json(
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
    table = Table("run", "problem", "seed", "status", "tickets", "scored", "best", "validation", "started")
    for run, tickets, scored, top in rows:
        table.add_row(
            run.id,
            run.problem,
            str(run.seed),
            run.status,
            f"{tickets}/{run.settings.get('tickets', '?')}",
            str(scored),
            top.name if top else "",
            _score(top.validation_score if top else None),
            f"{run.created:%Y-%m-%d %H:%M}",
        )
    _console().print(table)


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def show(
    program: ProgramArgument = "last:best", archive: ArchiveOption = DEFAULT_ARCHIVE, json_lines: JsonOption = False
) -> None:
    """Show a PROGRAM: source with tuned values, scores, tuning, where it came from."""
    with reading(archive) as store:
        run, record = find_program(store, program)
    if json_lines:
        _print_json(_as_json(run, record))
        return
    from rich.syntax import Syntax

    console = _console()
    console.print(
        f"[bold]{run.id}:{record.name}[/bold] {record.label} · {record.status} {record.reason}", highlight=False
    )
    scores = [
        f"{split} {_score(value)}"
        for split, value in (("train", record.train_score), ("validation", record.validation_score))
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
        gained = f"{_score(tuning.start_score)} → {_score(tuning.best_score)}"
        console.print(f"tuning: {tuning.method}, {spent}, {gained}", highlight=False)
    console.print(Syntax(tuned_source(record, run), "python", background_color="default"))
    if len(record.values) > 1:
        _print_groups(console, record)


def _print_groups(console: "Console", record: "ProgramRecord") -> None:
    from rich.table import Table

    names = list(next(iter(record.values.values())))
    table = Table("group", *names, title="parameters by group", title_justify="left")
    for group, values in record.values.items():
        table.add_row(
            group, *(f"{values[name]:.5g}" if isinstance(values[name], float) else str(values[name]) for name in names)
        )
    console.print(table)


def _as_json(run: "RunRecord", record: "ProgramRecord") -> dict[str, Any]:
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
        "operator": record.operator,
        "island": record.island,
        "parents": [[edge.name, edge.role] for edge in record.parents],
        "outcomes": [[o.split, o.instance, o.score] for o in record.outcomes],
        "descriptors": record.descriptors,
    }


def tuned_source(record: "ProgramRecord", run: "RunRecord") -> str:
    """A program's text with its tuned values as defaults, where it can be read."""
    from evolve.errors import ProgramError
    from evolve.program import read_program
    from evolve.registry import load_problem
    from evolve.search.population import typical

    signature = load_problem(run.settings["problem"], run.settings["set"]).signature
    try:
        program = read_program(record.source, signature.entry, signature.positional)
    except ProgramError:
        return record.source
    return program.with_values(typical(record.values))


def best(
    name: RunArgument = "last",
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many.")] = 5,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    json_lines: JsonOption = False,
) -> None:
    """List a RUN's best programs on validation, beside its tuned baselines."""
    from rich.table import Table

    with reading(archive) as store:
        run = store.run(name)
        records = best_records(store, run, count)
        baselines = list(store.programs(run.id, role="baseline", status="ok"))
    if json_lines:
        for record in (*records, *baselines):
            _print_json(
                {
                    "run": run.id,
                    "name": record.name,
                    "label": record.label,
                    "role": record.role,
                    "train": record.train_score,
                    "validation": record.validation_score,
                    "size": record.size,
                }
            )
        return
    table = Table("program", "", "train", "validation", "size", "operator", "from")
    for record in (*records, *baselines):
        origin = ", ".join(edge.name for edge in record.parents if edge.role != "skill")
        table.add_row(
            record.name,
            record.label,
            _score(record.train_score),
            _score(record.validation_score),
            str(record.size),
            record.operator,
            origin,
        )
    _console().print(table)


def lineage(
    program: ProgramArgument = "last:best", archive: ArchiveOption = DEFAULT_ARCHIVE, json_lines: JsonOption = False
) -> None:
    """Show where a PROGRAM came from: its ancestors with scores and what each step changed."""
    from rich.tree import Tree

    with reading(archive) as store:
        run, record = find_program(store, program)
        known = {ancestor.name: ancestor for ancestor in store.ancestors(run.id, record.name)}
        migrations = {str(event.data["program"]): event.data for event in store.events(run.id, "migration")}
    known[record.name] = record
    if json_lines:
        for item in known.values():
            _print_json(
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
    _console().print(tree, highlight=False)


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
    scores = f"train {_score(record.train_score)}  validation {_score(record.validation_score)}"
    return f"{record.name}  {scores}  {record.operator}: {note}"


def diff(
    first: ProgramArgument,
    second: Annotated[
        str, typer.Argument(metavar="[OTHER]", help="Another program; without it, the first parent.")
    ] = "",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
) -> None:
    """Show what a program changed: against its first parent, or against another program."""
    import difflib

    from rich.syntax import Syntax

    with reading(archive) as store:
        run, record = find_program(store, first)
        if second:
            other_run, other = find_program(store, second)
        elif record.parents:
            other_run, other = run, store.program(run.id, record.parents[0].name)
        else:
            raise RunError(f"{record.name} has no parent; name another program to compare with")
    lines = difflib.unified_diff(
        tuned_source(other, other_run).splitlines(),
        tuned_source(record, run).splitlines(),
        f"{other_run.id}:{other.name}",
        f"{run.id}:{record.name}",
        lineterm="",
    )
    text = "\n".join(lines)
    _console().print(Syntax(text, "diff", background_color="default") if text else "no difference")


def digest(name: RunArgument = "last", archive: ArchiveOption = DEFAULT_ARCHIVE) -> None:
    """Print one hash over a RUN's programs, parameters, scores and lineage: equal runs have equal digests."""
    with reading(archive) as store:
        typer.echo(store.digest(store.run(name).id))
