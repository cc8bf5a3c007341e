"""Pictures of a run as PNG bytes."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from evolve.search.population import Member
from evolve.session import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Shown = Literal["train", "validation"]
_COLOURS = {"train": "tab:blue", "validation": "tab:orange"}
_LABEL_GAP = 0.04
"""Least distance between two labels, as a share of the height."""


def progress_picture(result: Result) -> bytes:
    """Scores over tickets, on train and on validation: every program, the leader on train, the champion, the baselines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    splits: tuple[Shown, Shown] = ("train", "validation")
    for axes, split in zip(figure.subplots(1, 2), splits, strict=True):
        _panel(axes, result, split)
    aim = "smaller is better" if not result.state.maximize else "larger is better"
    figure.suptitle(
        f"{result.run.id}: score of each program (dots), of the leader on train (line) and of the champion (star); {aim}",
        fontsize=11,
    )
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def _panel(axes: "Axes", result: Result, split: Shown) -> None:
    state = result.state

    def score(member: Member) -> float:
        return member.score if split == "train" else member.validation

    tickets = {int(name[1:]): member for name, member in state.members.items() if name.startswith("t")}
    seeds = [member for name, member in state.members.items() if name.startswith("s")]
    baselines = {label: score(member) for label, member in state.baselines.items()}
    scores = [score(member) for member in tickets.values()]
    axes.scatter(list(tickets), scores, s=9, alpha=0.45, color=_COLOURS[split], linewidths=0)
    leaders = _leaders(tickets, seeds)
    axes.step(
        list(leaders), [score(leader) for leader in leaders.values()], where="post", color=_COLOURS[split], linewidth=2
    )
    champion = result.finals.champion.member if result.finals else None
    if champion is not None:
        place = int(champion.name[1:]) if champion.name.startswith("t") else -1
        axes.plot([place], [score(champion)], "*", markersize=13, color="black", markeredgecolor="white")
    _zoom(axes, scores or [score(member) for member in seeds], list(baselines.values()), maximize=state.maximize)
    _label_baselines(axes, baselines)
    axes.set_title(split, fontsize=10)
    axes.set_xlabel("ticket")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _leaders(tickets: Mapping[int, Member], seeds: Sequence[Member]) -> dict[int, Member]:
    """The best on train after each ticket; −1 stands for the start."""
    best = min(seeds, key=lambda member: member.loss, default=None)
    leaders = {} if best is None else {-1: best}
    for number in sorted(tickets):
        if best is None or tickets[number].loss < best.loss:
            best = tickets[number]
        leaders[number] = best
    return leaders


def _zoom(axes: "Axes", scores: list[float], references: list[float], *, maximize: bool) -> None:
    """Show the region where programs compete: a few hopeless ones must not squash the rest into a line."""
    ordered = sorted(scores, reverse=maximize)
    near = ordered[: max(1, int(0.8 * len(ordered)))] + sorted(references, reverse=maximize)[: -(-len(references) // 2)]
    if not near:
        return
    low, high = min(near), max(near)
    margin = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    axes.set_ylim(low - margin, high + margin)


def _label_baselines(axes: "Axes", baselines: dict[str, float]) -> None:
    """A grey line each, with its name at the right; names that would overlap move up."""
    low, high = axes.get_ylim()
    place = low
    for label, score in sorted(baselines.items(), key=lambda item: item[1]):
        if not low <= score <= high:
            continue
        axes.axhline(score, color="grey", linewidth=0.8, linestyle=":")
        place = max(score, place + _LABEL_GAP * (high - low))
        axes.annotate(
            f" {label}",
            (1.0, place),
            xycoords=("axes fraction", "data"),
            fontsize=7,
            va="center",
            annotation_clip=False,
        )
