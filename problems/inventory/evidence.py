"""What the critic and the report are shown: where cost comes from, as text and pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.problem import Evidence, Instance, Outcome, Trace
from problems.inventory.block import Block, Floats
from problems.inventory.pictures import behaviour, policy_map
from problems.inventory.replay import Replay, replay
from problems.inventory.settings import InventorySettings

WORST = 5
SPIKE = 3.0
"""A period is a spike where demand exceeds the mean by this many standard deviations."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run of one rule over instances, with all that the text and the pictures draw on.

    Args:
        instances: one per row.
        score: shape *(instances,)*.
        block: what happened on them.
        replay: what the rule did.
        settings: those of the run.
        unit: what a period is called.
        calendar: month (1 to 12) of every counted period and instance, shape *(periods, instances)*; None on a bed.
    """

    instances: Sequence[Instance]
    score: Floats
    block: Block
    replay: Replay
    settings: InventorySettings
    unit: str
    calendar: NDArray[np.int64] | None


def make_evidence(
    outcomes: Sequence[Outcome], trace: Trace, block: Block, settings: InventorySettings
) -> Evidence | None:
    """Text and figures; None if nothing was recorded or no instance has a score."""
    kept = [place for place, outcome in enumerate(outcomes) if outcome.failure is None]
    if len(kept) < len(outcomes) or not kept or not trace.actions.size:
        return None
    day = block.known.get("day_of_year")
    case = Case(
        instances=trace.instances,
        score=np.array([outcome.score for outcome in outcomes]),
        block=block,
        replay=replay(block, trace.actions, settings),
        settings=settings,
        unit="period" if settings.bed else settings.period,
        calendar=None
        if day is None
        else np.asarray(np.minimum(day[block.burn_in :] * 12 // 366 + 1, 12), dtype=np.int64),
    )
    worst, typical = int(case.score.argmax()), int(np.argsort(case.score)[len(case.score) // 2])
    text = "\n".join(
        [*_overview(case), *_extremes(case), *_shortages(case), *_stock(case), *_orders(case), *_months(case)]
    )
    return Evidence(text=text, figures=(behaviour(case, typical, worst), policy_map(case)))


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole > 0 else "none"


def _overview(case: Case) -> list[str]:
    cost = {
        name: float((values / case.block.scale).mean())
        for name, values in case.replay.cost(case.block, case.settings).items()
    }
    total = sum(cost.values())
    split = ", ".join(f"{name} {_share(value, total)}" for name, value in cost.items() if value > 0)
    cover = float((case.replay.stock.mean(axis=0) / case.block.typical).mean())
    filled = 1.0 - case.replay.unmet.sum() / max(case.replay.demand.sum(), 1e-9)
    return [
        f"Mean score {case.score.mean():.4g} over {len(case.score)} instances (median {np.median(case.score):.4g}).",
        f"Cost: {split}. Met from stock: {100 * filled:.0f} % of units. Mean stock: {cover:.1f} {case.unit}s of demand.",
    ]


def _extremes(case: Case) -> list[str]:
    """The groups that cost most, and one in the middle."""
    names = sorted({instance.group for instance in case.instances})
    member = np.array([names.index(instance.group) for instance in case.instances])
    score = np.array([case.score[member == group].mean() for group in range(len(names))])
    by_score = np.argsort(-score, kind="stable")
    chosen = dict.fromkeys([*by_score[:WORST].tolist(), int(by_score[len(names) // 2])])
    head = (
        f"Worst {min(WORST, len(names))}, then a typical one (score; holding / shortage cost; met from stock; stock in "
        f"{case.unit}s of demand; mean demand, share of {case.unit}s with demand, largest demand):"
    )
    return [head] + [f"  {_row(case, names[group], score[group], member == group)}" for group in chosen]


def _row(case: Case, name: str, score: float, rows: NDArray[np.bool_]) -> str:
    cost = {key: float(values[rows].mean()) for key, values in case.replay.cost(case.block, case.settings).items()}
    demand, unmet, stock = case.replay.demand[:, rows], case.replay.unmet[:, rows], case.replay.stock[:, rows]
    filled = _share(float(demand.sum() - unmet.sum()), float(demand.sum()))
    cover = float((stock.mean(axis=0) / case.block.typical[rows]).mean())
    return (
        f"{name}: {score:.4g}; {cost['holding']:.4g} / {cost['shortage']:.4g}; {filled}; {cover:.1f}; "
        f"{demand.mean():.3g}, {_share(float((demand > 0).sum()), demand.size)}, {demand.max():g}"
    )


def _shortages(case: Case) -> list[str]:
    """Whether units were short because too little was ordered, too late, or because demand leapt."""
    unmet = case.replay.unmet / case.block.typical
    total = float(unmet.sum())
    if total <= 0:
        return ["Nothing was ever short."]
    late = float(unmet[case.replay.coming > 0].sum())
    spread = case.replay.demand.std(axis=0)
    spikes = case.replay.demand > case.replay.demand.mean(axis=0) + SPIKE * spread
    return [
        f"Short in {100 * (case.replay.unmet > 0).mean():.1f} % of {case.unit}s.",
        f"Of the units short, {_share(late, total)} while an order was on its way, {_share(total - late, total)} with none;",
        f"{_share(float(unmet[spikes].sum()), total)} in demand spikes (> mean + {SPIKE:g} standard deviations).",
    ]


def _stock(case: Case) -> list[str]:
    """Stock that lay while nothing was asked for."""
    stock = case.replay.stock / case.block.typical
    total = float(stock.sum())
    if total <= 0:
        return ["There was never stock at the end of a period."]
    horizon = case.block.lead_time + case.settings.review_period
    ample = case.replay.stock > 3 * np.maximum(horizon * case.block.typical, 1.0)
    beyond = _share(float(stock[ample].sum()), total)
    lines = [f"Of all stock, {beyond} lay where there was more than three times the demand of lead time and review."]
    if case.block.past is not None:
        idle = float(stock[_recent_sum(case.block) <= 0].sum())
        lines.append(f"{_share(idle, total)} lay where the last {case.block.history} {case.unit}s had seen no demand.")
    return lines


def _recent_sum(block: Block) -> Floats:
    """Demand of the recent periods before each counted period, shape *(periods, instances)*."""
    assert block.past is not None
    sums = np.concatenate([np.zeros((len(block.past), 1)), np.cumsum(block.past, axis=1)], axis=1)
    recent = sums[:, block.history :] - sums[:, : -block.history]
    return np.asarray(recent[:, : block.periods].T[block.burn_in :], dtype=np.float64)


def _orders(case: Case) -> list[str]:
    order, position = case.replay.order[case.replay.decided], case.replay.position[case.replay.decided]
    typical = case.block.typical
    placed = order > 0
    if not placed.any():
        return ["No order was ever placed."]
    size, count = (order / typical)[placed], float(placed.sum())
    low = position <= (case.block.lead_time + case.settings.review_period) * typical
    needed = _share(float((placed & low).sum()), count)
    return [
        f"Orders at {_share(count, placed.size)} of decisions.",
        f"Their size in {case.unit}s of demand: median {np.median(size):.2g}, largest {size.max():.2g}.",
        f"{needed} of them with stock and pipeline below the demand of lead time and review.",
    ]


def _months(case: Case) -> list[str]:
    """Cost by month, if the instances have a calendar."""
    if case.calendar is None:
        return []
    short = case.replay.unmet if case.settings.unmet == "lost" else case.replay.owed
    holding = case.block.holding * case.replay.stock / case.block.scale
    shortage = case.block.shortage * short / case.block.scale
    parts = []
    for month in range(1, 13):
        there = case.calendar == month
        if there.any():
            parts.append(f"{month}: {holding[there].mean():.3g} / {shortage[there].mean():.3g}")
    return [f"By month, holding / shortage cost per unit of demand: {'; '.join(parts)}."]
