"""Pictures of a run as PNG bytes."""

import io

from evolve.session import Result


def progress_picture(result: Result) -> bytes:
    """Scores over tickets: every program, the best so far, and the tuned baselines as lines."""
    from matplotlib.figure import Figure

    state = result.state
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    tickets = sorted((int(name[1:]), member) for name, member in state.members.items() if name.startswith("t"))
    seeds = [member for name, member in state.members.items() if name.startswith("s")]
    for split, colour, shade in (("train", "tab:blue", 0.15), ("validation", "tab:orange", 0.15)):
        scores = [(number, member.score if split == "train" else member.validation) for number, member in tickets]
        axes.scatter([n for n, _ in scores], [s for _, s in scores], s=8, alpha=shade, color=colour, linewidths=0)
        start = [member.score if split == "train" else member.validation for member in seeds]
        xs, ys = _best_so_far(scores, start, maximize=state.maximize)
        axes.step(xs, ys, where="post", color=colour, label=f"best so far, {split}")
    reference = state.best_baseline()
    for label, member in sorted(state.baselines.items(), key=lambda item: state.loss(item[1].validation)):
        style = "-" if reference and label == reference[0] else ":"
        axes.axhline(member.validation, color="grey", linewidth=1, linestyle=style)
        axes.annotate(label, (1.0, member.validation), xycoords=("axes fraction", "data"), fontsize=7, va="center")
    _zoom(
        axes,
        [y for _, member in tickets for y in (member.score, member.validation)],
        [member.validation for member in state.baselines.values()],
    )
    axes.set_xlabel("ticket")
    axes.set_ylabel(f"score ({result.problem.direction} is the aim)")
    axes.set_title(
        f"{result.run.id}: programs (dots), best so far (steps), tuned baselines on validation (grey)", fontsize=10
    )
    axes.legend(loc="upper right" if not state.maximize else "lower right", fontsize=8)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()


def _best_so_far(
    scores: list[tuple[int, float]], start: list[float], *, maximize: bool
) -> tuple[list[float], list[float]]:
    better = max if maximize else min
    xs: list[float] = []
    ys: list[float] = []
    best = better(start) if start else None
    if best is not None:
        xs, ys = [-1.0], [best]
    for number, score in scores:
        best = score if best is None else better(best, score)
        xs.append(number)
        ys.append(best)
    return xs, ys


def _zoom(axes: object, scores: list[float], references: list[float]) -> None:
    """Show the region where programs compete: a few hopeless ones must not squash the rest into a line."""
    if not scores and not references:
        return
    ordered = sorted(scores)
    middle = ordered[len(ordered) // 10 : len(ordered) - len(ordered) // 10] or ordered
    values = [*middle, *ordered[:1], *references]
    low, high = min(values), max(values)
    margin = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    axes.set_ylim(low - margin, high + margin)  # type: ignore[attr-defined]
