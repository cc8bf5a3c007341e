"""Pictures of what a rule does. Drawn without a display and without global state."""

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from evolve.problem import Figure

if TYPE_CHECKING:
    from problems.inventory.evidence import Case

STOCK, ORDER, DEMAND, SHORT = "#3b6ea5", "#e08a1e", "#9aa5b1", "#c0392b"
SHOWN = 180
"""Most periods in a picture of behaviour: more is a blur."""

POINTS = 4_000
"""Most decisions in a policy map."""


def behaviour(case: "Case", typical: int, worst: int) -> Figure:
    """Stock, orders, demand and shortages over time, for a typical instance and the worst one."""
    figure, panels = _canvas(2, 1, (9.0, 6.0))
    for panel, row, word in ((panels[0], typical, "typical"), (panels[1], worst, "worst")):
        _draw_path(panel, case, row)
        panel.set_title(f"{word}: {case.instances[row].key} (score {case.score[row]:.4g})", fontsize=9, loc="left")
    panels[0].legend(fontsize=8, ncols=4, loc="upper right", frameon=False)
    panels[1].set_xlabel(f"{case.unit}s")
    return Figure(
        name="behaviour",
        caption="Stock, orders, demand and unmet demand over time, for a typical and for the worst instance.",
        png=_png(figure),
    )


def policy_map(case: "Case") -> Figure:
    """Every decision: how much was ordered at which inventory position, in periods of mean demand."""
    figure, panels = _canvas(1, 1, (6.0, 4.5))
    panel = panels[0]
    decided = case.replay.decided
    typical = case.block.typical
    position, order = (case.replay.position / typical)[decided].ravel(), (case.replay.order / typical)[decided].ravel()
    coming = (case.replay.coming / typical)[decided].ravel()
    step = max(1, len(position) // POINTS)
    share = np.clip(coming[::step] / np.maximum(position[::step], 1e-9), 0.0, 1.0)
    dots = panel.scatter(position[::step], order[::step], c=share, s=6, cmap="viridis", vmin=0, vmax=1, linewidths=0)
    figure.colorbar(dots, ax=panel, label="share of the position on order")
    panel.set_xlim(*_bounds(position))
    panel.set_ylim(0, max(_bounds(order)[1], 1e-6))
    panel.set_xlabel(f"stock and pipeline before the decision ({case.unit}s of demand)")
    panel.set_ylabel(f"order ({case.unit}s of demand)")
    return Figure(
        name="policy_map",
        caption="Each dot is one decision: the order against stock and pipeline, both in periods of mean demand.",
        png=_png(figure),
    )


def _draw_path(panel: Any, case: "Case", row: int) -> None:
    shown = slice(-SHOWN, None)
    demand, stock = case.replay.demand[shown, row], case.replay.stock[shown, row]
    unmet, order = case.replay.unmet[shown, row], case.replay.order[shown, row]
    times = np.arange(len(case.replay.demand))[shown]
    panel.bar(times, demand, width=1.0, color=DEMAND, label="demand")
    panel.step(times, stock, where="mid", color=STOCK, linewidth=1.2, label="stock")
    placed, short = order > 0, unmet > 0
    panel.plot(times[placed], order[placed], linestyle="", marker="^", markersize=3.5, color=ORDER, label="order")
    panel.plot(times[short], unmet[short], linestyle="", marker="x", markersize=4.5, color=SHORT, label="unmet")
    panel.set_ylabel("units")
    panel.set_ylim(bottom=0)


def _bounds(values: Any) -> tuple[float, float]:
    """Where nearly all values lie, with some air: a single huge one must not flatten the picture."""
    low, high = np.quantile(values, (0.005, 0.995)).tolist()
    air = 0.04 * max(high - low, 1e-6)
    return low - air, high + air


def _canvas(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    panels = np.ravel(figure.subplots(rows, columns))
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    return figure, list(panels)


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, metadata={"Software": None})
    return buffer.getvalue()
