import math
from typing import Any

import numpy as np
import pytest

from problems.inventory import Inventory
from problems.inventory.beds import Cell, cells
from problems.inventory.chain import as_decide, chain_cost, observations
from problems.inventory.gap import gap, mean_gap, simulated_cost
from problems.inventory.laws import expected_cost, newsvendor_level, next_stock, probabilities
from problems.inventory.optimum import optimal_cost

SMALL = [cell for cell in cells("zipkin") if cell.lead_time <= 3]


def base_stock(level: float) -> Any:
    return lambda on_hand, pipeline, **_: np.maximum(level - on_hand - pipeline.sum(axis=1), 0.0)


def capped(level: float, cap: float) -> Any:
    return lambda on_hand, pipeline, **_: np.clip(level - on_hand - pipeline.sum(axis=1), 0.0, cap)


@pytest.mark.parametrize("cell", cells("zipkin")[::9], ids=lambda cell: cell.name)
def test_laws(cell: Cell) -> None:
    chance = probabilities(cell, 400)
    units = np.arange(400)
    assert chance.sum() == pytest.approx(1.0)
    assert (chance * units).sum() == pytest.approx(cell.mean)
    assert (chance * units**2).sum() - cell.mean**2 == pytest.approx(cell.spread**2)
    cost = [
        (chance * (cell.holding * np.maximum(x - units, 0) + cell.shortage * np.maximum(units - x, 0))).sum()
        for x in range(30)
    ]
    assert expected_cost(cell, 29) == pytest.approx(cost)
    table = next_stock(cell, 29)
    assert table.sum(axis=1) == pytest.approx(np.ones(30))
    assert table[3, :4].tolist() == pytest.approx([1 - chance[:3].sum(), chance[2], chance[1], chance[0]])
    total = np.convolve(chance, chance) if cell.lead_time == 1 else None
    if total is not None:
        level = newsvendor_level(cell)
        ratio = cell.shortage / (cell.shortage + cell.holding)
        assert total[:level].sum() < ratio <= total[: level + 1].sum()


@pytest.mark.parametrize("cell", SMALL, ids=lambda cell: cell.name)
def test_exact_costs_are_the_published_ones(cell: Cell) -> None:
    """Base-stock, capped base-stock and the optimum, to the four digits that are printed."""
    figures = cell.figures
    for rule, name in (
        (base_stock(figures["base_stock_S"]), "base_stock"),
        (capped(figures["capped_S"], figures["capped_cap"]), "capped_base_stock"),
    ):
        bounds = chain_cost(rule, cell)
        assert bounds is not None
        assert bounds.high - bounds.low < 1e-5
        assert bounds.cost == pytest.approx(figures[name], abs=5.5e-5)


@pytest.mark.parametrize(
    "cell", [cell for cell in SMALL if cell.lead_time < 3 or cell.law == "poisson"], ids=lambda cell: cell.name
)
def test_value_iteration_gives_the_published_optimum(cell: Cell) -> None:
    bounds = optimal_cost(cell)
    assert bounds is not None
    assert bounds.high - bounds.low < 1e-5
    assert bounds.cost == pytest.approx(cell.reference, abs=5.5e-5)


def test_no_best_action_lies_above_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger action space has the same optimum: the level is no cut."""
    cell = cells("zipkin")[1]
    first = optimal_cost(cell)
    monkeypatch.setattr("problems.inventory.optimum.newsvendor_level", lambda cell: newsvendor_level(cell) + 6)
    second = optimal_cost(cell)
    assert first is not None
    assert second is not None
    assert second.states > first.states
    assert second.cost == pytest.approx(first.cost, abs=2e-5)


def projected(cell: Cell, target: float) -> Any:
    """Projected inventory level with the exact distribution of demand; orders rounded down, as in the reference figures."""

    def rule(on_hand: np.ndarray, pipeline: np.ndarray, **_: Any) -> np.ndarray:
        most = int((on_hand + pipeline.sum(axis=1)).max())
        table, units = next_stock(cell, most), np.arange(most + 1)
        chance = (on_hand[:, None] == units).astype(float)
        for slot in range(cell.lead_time):
            chance = chance @ table
            back = units - pipeline[:, slot, None].astype(int)
            chance = np.where(back >= 0, np.take_along_axis(chance, np.maximum(back, 0), axis=1), 0.0)
        return np.floor(np.maximum(target - chance @ units, 0.0) + 1e-9)

    return rule


@pytest.mark.parametrize("cell", [cell for cell in SMALL if cell.lead_time < 3], ids=lambda cell: cell.name)
def test_projected_inventory_level_costs_what_was_simulated(cell: Cell) -> None:
    """The table's figures are simulated: within 0.2 % for Poisson demand; for geometric demand they lie up to 0.45 % low."""
    bounds = chain_cost(projected(cell, cell.figures["pil_U"]), cell)
    assert bounds is not None
    tolerance = 0.0025 if cell.law == "poisson" else 0.0045
    assert bounds.cost == pytest.approx(cell.figures["projected_inventory_level"], rel=tolerance)


def rule_of(problem: Inventory, name: str, **values: float) -> Any:
    """A baseline as a rule over rows of one cell."""
    space: dict[str, Any] = {"np": np, "math": math, "Real": lambda *_: None, "Integer": lambda *_: None}
    exec(problem.baselines()[name], space)

    def decide(on_hand: np.ndarray, pipeline: np.ndarray, **told: np.ndarray) -> np.ndarray:
        once = {key: value[0] for key, value in told.items()}
        return np.array([space["order"](x, y, **once, **values) for x, y in zip(on_hand, pipeline, strict=True)])

    return decide


@pytest.mark.parametrize("place", [0, 1, 5, 16, 21])
def test_baselines_reach_the_published_figures(place: int, zipkin: Inventory) -> None:
    cell = cells("zipkin")[place]
    figures, horizon = cell.figures, cell.mean * (cell.lead_time + 1)
    rules = {
        "base_stock": rule_of(zipkin, "base_stock", cover=figures["base_stock_S"] / horizon),
        "capped_base_stock": rule_of(
            zipkin, "capped_base_stock", cover=figures["capped_S"] / horizon, cap=figures["capped_cap"] / cell.mean
        ),
    }
    for name, rule in rules.items():
        bounds = chain_cost(rule, cell, width=4)
        assert bounds is not None
        assert bounds.cost == pytest.approx(figures[name], abs=5.5e-5)
    target = (figures["pil_U"] - 0.5) / cell.mean  # rounding to the nearest instead of down
    best = min(
        bounds.cost
        for shift in (-0.1, -0.05, 0.0, 0.05)
        if (bounds := chain_cost(rule_of(zipkin, "projected_inventory_level", target=target + shift), cell, width=4))
    )
    assert best < 1.004 * figures["projected_inventory_level"]


@pytest.mark.parametrize("place", [1, 9, 22, 28])
def test_simulation_agrees_with_the_exact_cost(place: int) -> None:
    """Within its own confidence interval, at three times its half-width: four cells, two rules."""
    cell = cells("zipkin")[place]
    for rule in (
        base_stock(cell.figures["base_stock_S"] + 2),
        capped(cell.figures["capped_S"] - 1, cell.figures["capped_cap"] + 1),
    ):
        exact = chain_cost(rule, cell)
        assert exact is not None
        cost, half = simulated_cost(rule, cell, width=cell.lead_time, paths=32, periods=3_000, seed=11)
        assert 0 < half < 0.01 * cost
        assert abs(cost - exact.cost) < 1.5 * half


def test_gap_is_exact_where_it_fits_and_simulated_where_not() -> None:
    cell = cells("zipkin")[2]
    rule = base_stock(cell.figures["base_stock_S"])
    exact = gap(rule, cell)
    assert exact.method == "exact"
    assert exact.relative == pytest.approx(4.9750 / 4.5987 - 1, abs=1e-4)
    simulated = gap(rule, cell, max_states=10, paths=16, periods=2_000)
    assert simulated.method == "simulated"
    assert simulated.low < exact.cost < simulated.high
    assert mean_gap([exact, exact]) == pytest.approx(exact.relative)


def test_a_rule_that_orders_without_end_does_not_fit() -> None:
    assert chain_cost(lambda on_hand, **_: on_hand + 10, cells("zipkin")[0], max_states=5_000) is None


def test_transient_states_do_not_matter() -> None:
    """With no order at all stock only falls: every state ends at 0, and the bounds meet at the cost of that."""
    cell = cells("zipkin")[0]
    bounds = chain_cost(lambda on_hand, **_: 0 * on_hand, cell)
    assert bounds is not None
    assert bounds.cost == pytest.approx(cell.shortage * cell.mean)


def test_policies_with_fixed_rows_answer_any_number(table_policy) -> None:  # type: ignore[no-untyped-def]
    cell = cells("zipkin")[1]
    rule = base_stock(16)
    states = observations(cell, np.arange(11.0), np.ones((11, 2)))

    def fixed(**told: np.ndarray) -> np.ndarray:
        assert len(told["on_hand"]) == 4
        return rule(**told)

    assert as_decide(table_policy(fixed, 4))(**dict(states)).tolist() == rule(**states).tolist()
