"""The end of a run in words and tables: baselines, best programs, paired differences with intervals, the rule itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evolve.problem import SPLITS
from evolve.report.text import make_table, print_code, print_table
from evolve.search.finals import Final, Finals
from evolve.search.population import typical
from evolve.session import Result
from evolve.stats import PairedDifference


def print_summary(console: Console, result: Result, archive: str) -> None:
    """Print what came of a run."""
    state, finals = result.state, result.finals
    console.print()
    _print_counts(console, result)
    if finals is None:
        console.print("no program could be scored" + _commonest_reason(result), markup=False, highlight=False)
        return
    print_table(console, _scores_table(result, finals))
    for final in finals.finalists:
        if final.mark:
            console.print(f"not to be trusted: {final.label}: {final.mark}", markup=False, highlight=False)
    champion = finals.champion
    if finals.baselines and champion.scores:
        print_table(console, _differences_table(finals, champion))
        console.print(_verdict(finals, champion), highlight=False)
    source = champion.member.program.with_values(typical(champion.member.values))
    if champion.mark:
        console.print("every finalist is marked: none of them is to be trusted", style="bold red")
    console.print(f"\nbest program, {result.run.id}:{champion.name}", style="bold", highlight=False)
    print_code(console, source, "python")
    if len(champion.member.values) > 1:
        console.print(
            f"(median parameters of {len(champion.member.values)} groups; evolve show lists them all)", highlight=False
        )
    option = "" if archive == "evolve.db" else f" --archive {archive}"
    console.print(
        f"take it away:  evolve export {result.run.id}:{champion.name}{option}", highlight=False, soft_wrap=True
    )
    if state.tickets and not state.statuses["ok"]:
        console.print(_commonest_reason(result), markup=False)


def _print_counts(console: Console, result: Result) -> None:
    state = result.state
    counts = ", ".join(f"{count} {status}" for status, count in state.statuses.most_common())
    spent = state.evaluations + state.evaluations_saved
    saved = f"{state.evaluations_saved / spent:.0%}" if spent else "0%"
    text = f"run {result.run.id}: {state.tickets} tickets ({counts}), {state.evaluations:,} evaluations"
    console.print(f"{text}, {saved} saved by racing", highlight=False, soft_wrap=True)
    if state.tickets < result.settings.tickets and result.settings.budget_evaluations is not None:
        console.print(
            f"ended after {state.tickets} of {result.settings.tickets} tickets: one more might have passed the budget of "
            f"{result.settings.budget_evaluations:,} evaluations",
            highlight=False,
            soft_wrap=True,
        )


def _commonest_reason(result: Result) -> str:
    reasons = result.state.reasons.most_common(1)
    return f"; the commonest reason, {reasons[0][1]} times: {reasons[0][0]}" if reasons else ""


def _scores_table(result: Result, finals: Finals) -> Table:
    title = f"mean score ({result.problem.direction} is the aim)"
    table = make_table("program", "", *SPLITS, title=title, right=SPLITS)
    rows = [(final, "start program" if final.name.startswith("s") else "evolved") for final in finals.finalists]
    rows += [(final, "tuned baseline") for final in finals.baselines]
    best = {split: _best(finals, split) for split in SPLITS}
    for final, kind in rows:
        if final.scores:
            cells = [
                Text(f"{final.mean(split):.5g}", style="bold green" if best[split] == final.name else "")
                for split in SPLITS
            ]
            table.add_row(final.label, f"{kind}{', marked' if final.mark else ''}", *cells)
    return table


def _best(finals: Finals, split: Any) -> str:
    scored = [final for final in (*finals.finalists, *finals.baselines) if final.scores and not final.mark]
    if not scored:
        return ""
    sign = -1.0 if finals.maximize else 1.0
    return min(scored, key=lambda final: sign * final.mean(split)).name


def _differences_table(finals: Finals, champion: Final) -> Table:
    title = f"{champion.label} minus each baseline: mean of paired differences, 95 % interval"
    headings = ("train", "holdout", "better on")
    table = make_table("baseline", *headings, title=title, right=headings)
    for baseline in finals.baselines:
        train, holdout = (finals.difference(champion, baseline, split) for split in ("train", "holdout"))
        table.add_row(
            baseline.label,
            _difference_text(train, baseline.mean("train")),
            _difference_text(holdout, baseline.mean("holdout")),
            f"{holdout.wins} of {holdout.units}",
        )
    return table


def _verdict(finals: Finals, champion: Final) -> str:
    """In words, what the intervals on holdout say."""
    groups: dict[str, list[str]] = {"better than": [], "not clearly different from": [], "worse than": []}
    sign = -1.0 if finals.maximize else 1.0
    for baseline in finals.baselines:
        difference = finals.difference(champion, baseline, "holdout")
        low, high = sorted((sign * difference.low, sign * difference.high))
        says = "better than" if high < 0 else "worse than" if low > 0 else "not clearly different from"
        groups[says].append(baseline.label)
    said = [f"{says} {', '.join(labels)}" for says, labels in groups.items() if labels]
    return f"on holdout {champion.label} is {'; '.join(said)}"


def _difference_text(difference: PairedDifference, reference: float) -> str:
    """As in "-2.7 [-3.8, -1.6] -7.4%"; the share is of the baseline's mean."""
    share = f" {difference.mean / abs(reference):+.1%}" if reference else ""
    return f"{difference.mean:+.3g} [{difference.low:+.3g}, {difference.high:+.3g}]{share}"


def summary_data(result: Result) -> Mapping[str, Any]:
    """The same for machines."""
    state, finals = result.state, result.finals
    data: dict[str, Any] = {
        "status": result.run.status,
        "tickets": state.tickets,
        "statuses": dict(state.statuses),
        "evaluations": state.evaluations,
        "evaluations_saved": state.evaluations_saved,
    }
    if finals is None:
        return data | {"champion": None, "reasons": dict(state.reasons.most_common(3))}
    data["champion"] = finals.champion.name
    data["programs"] = [
        {
            "name": final.name,
            "label": final.label,
            "mark": final.mark,
            "scores": {split: final.mean(split) for split in final.scores},
        }
        for final in (*finals.finalists, *finals.baselines)
    ]
    data["holdout_differences"] = {
        baseline.label: {
            "mean": d.mean,
            "low": d.low,
            "high": d.high,
            "units": d.units,
            "wins": d.wins,
            "losses": d.losses,
        }
        for baseline in finals.baselines
        if finals.champion.scores
        for d in [finals.difference(finals.champion, baseline, "holdout")]
    }
    return data


def write_pictures(result: Result, out: Path) -> list[Path]:
    """Write PNG files into `out`/RUN: scores over tickets, and the champion's behaviour.

    Returns:
        Their paths; none if the folder cannot be written (said in a warning, the run is not lost for it).
    """
    import logging

    from evolve.report.pictures import progress_picture

    folder = out / result.run.id
    pictures = {"progress": progress_picture(result)}
    champion = result.finals.champion if result.finals else None
    if champion and champion.evidence:
        pictures |= {figure.name: figure.png for figure in champion.evidence.figures}
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, png in pictures.items():
            path = folder / f"{name}.png"
            path.write_bytes(png)
            paths.append(path)
    except OSError as error:
        logging.getLogger("evolve").warning("pictures cannot be written to %s: %s", folder, error.strerror)
    return paths
