"""Pictures of a run as PNG bytes."""

import io
from typing import TYPE_CHECKING, Literal

from evolve.session import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Shown = Literal["train", "validation"]
_COLOURS = {"train": "tab:blue", "validation": "tab:orange"}
_LABEL_GAP = 0.04
"""Least distance between two labels, as a share of the height."""


def progress_picture(result: Result) -> bytes:
    """Scores over tickets, on train and on validation: every program, the best so far, the tuned baselines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    splits: tuple[Shown, Shown] = ("train", "validation")
    for axes, split in zip(figure.subplots(1, 2), splits, strict=True):
        _panel(axes, result, split)
    aim = "smaller is better" if not result.state.maximize else "larger is better"
    figure.suptitle(f"{result.run.id}: score of each program (dots) and the best so far; {aim}", fontsize=11)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def _panel(axes: "Axes", result: Result, split: Shown) -> None:
    state = result.state

    def score(name: str) -> float:
        return state.members[name].score if split == "train" else state.members[name].validation

    tickets = sorted((int(name[1:]), score(name)) for name in state.members if name.startswith("t"))
    seeds = [score(name) for name in state.members if name.startswith("s")]
    baselines = {
        label: member.score if split == "train" else member.validation for label, member in state.baselines.items()
    }
    numbers, scores = [n for n, _ in tickets], [s for _, s in tickets]
    axes.scatter(numbers, scores, s=9, alpha=0.45, color=_COLOURS[split], linewidths=0)
    axes.step(*_best_so_far(tickets, seeds, maximize=state.maximize), where="post", color=_COLOURS[split], linewidth=2)
    _zoom(axes, scores or seeds, list(baselines.values()), maximize=state.maximize)
    _label_baselines(axes, baselines)
    axes.set_title(split, fontsize=10)
    axes.set_xlabel("ticket")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _best_so_far(
    scores: list[tuple[int, float]], start: list[float], *, maximize: bool
) -> tuple[list[float], list[float]]:
    better = max if maximize else min
    best = better(start) if start else None
    xs: list[float] = [] if best is None else [-1.0]
    ys: list[float] = [] if best is None else [best]
    for number, score in scores:
        best = score if best is None else better(best, score)
        xs.append(number)
        ys.append(best)
    return xs, ys


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
