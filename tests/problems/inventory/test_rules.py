import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evolve.problem import Argument
from evolve.program import read_program
from problems.inventory import Inventory, InventorySettings

CASES: dict[str, dict[str, Any]] = {
    "data, shared": {},
    "data, per item": {"tune_per_group": True},
    "backorders, at once": {"unmet": "backorder", "lead_time": 0, "history": 2, "warm_up": 5},
    "zipkin": {"bed": "zipkin"},
    "zipkin, shared": {"bed": "zipkin", "tune_per_group": False},
    "long lead": {"bed": "long_lead"},
}


def programs(problem: Inventory) -> dict[str, str]:
    return {**problem.baselines(), **{f"seed {name}": source for name, source in problem.seeds().items()}}


@pytest.mark.parametrize("case", CASES)
def test_every_rule_is_a_valid_program(case: str) -> None:
    problem = Inventory(InventorySettings.model_validate(CASES[case]))
    signature = problem.signature
    for name, source in programs(problem).items():
        program = read_program(source, signature.entry, signature.positional)
        assert 1 <= program.space.width <= 5, name
        assert program.space.encode(program.space.defaults).shape == (program.space.width,)


def test_which_rules_there_are(bundled: Inventory, zipkin: Inventory) -> None:
    five = {"base_stock", "s_S", "constant_order", "capped_base_stock", "projected_inventory_level"}
    assert set(bundled.baselines()) == five | {"forecast_base_stock", "forecast_s_S"}
    assert set(zipkin.baselines()) == five
    assert "forecast_s_S" not in Inventory(InventorySettings(fixed_cost=0)).baselines()
    assert "projected_inventory_level" not in Inventory(InventorySettings(unmet="backorder")).baselines()
    assert {"base_stock", "capped_base_stock", "forecast_base_stock"} <= set(bundled.seeds())


def random_value(argument: Argument, rng: np.random.Generator) -> Any:
    shape = argument.shape
    if argument.dtype == "int":
        return int(rng.integers(int(argument.low), int(argument.high) + 1))
    value = rng.uniform(argument.low, argument.high, shape) * (rng.random(shape) < 0.7)
    if not shape:
        return float(value)
    value.flags.writeable = False
    return value


@pytest.mark.parametrize("case", CASES)
def test_rules_compile_and_give_the_same_orders(case: str, plain: Callable[[str], str]) -> None:
    """In nopython mode, with arrays that cannot be written to, over random rows and parameters."""
    numba = pytest.importorskip("numba")
    problem = Inventory(InventorySettings.model_validate(CASES[case]))
    signature = problem.signature
    rng = np.random.default_rng(1)
    for name, source in programs(problem).items():
        space: dict[str, Any] = {"np": np, "math": math}
        program = read_program(source, signature.entry, signature.positional)
        exec(compile(plain(program.source), "<rule>", "exec"), space)
        function = space[signature.entry]
        compiled = numba.njit(boundscheck=True)(function)
        for _ in range(25):
            seen = [random_value(argument, rng) for argument in signature.arguments]
            theta = program.space.from_unit(rng.random(program.space.width))
            values = list(program.space.decode(theta).values())
            expected = function(*seen, *values)
            assert np.isfinite(expected)
            assert expected >= 0, name
            assert compiled(*seen, *values) == pytest.approx(expected, rel=1e-9, abs=1e-9), name


def test_constant_order_keeps_its_rate_in_whole_units(bundled: Inventory) -> None:
    space: dict[str, Any] = {"np": np, "math": math, "Real": lambda *_: None}
    exec(bundled.baselines()["constant_order"], space)
    told = dict.fromkeys(bundled.signature.positional, 0.0) | {"mean": 0.37}
    orders = [space["order"](**{**told, "day_of_year": day}, rate=0.9) for day in range(1, 366)]
    assert set(orders) == {0.0, 1.0}
    assert sum(orders) == math.floor(0.9 * 0.37 * 365)


def test_constant_order_covers_the_whole_review_period(run_rule: Callable[..., Any]) -> None:
    """Tuned, it is no worse than ordering the mean demand of the periods until the next review."""
    problem = Inventory(InventorySettings(review_period=7))
    instances = list(problem.instances("train", 0))

    def cost(source: str, **values: float) -> float:
        outcomes, _ = run_rule(problem, source, instances, values)
        return float(np.mean([outcome.score for outcome in outcomes]))

    source = problem.baselines()["constant_order"]
    mean_demand = f"def order({', '.join(problem.signature.positional)}):\n    return 7 * mean\n"
    assert min(cost(source, rate=float(rate)) for rate in np.linspace(0.0, 1.2, 13)) <= cost(mean_demand)


def test_constant_order_keeps_its_rate_with_reviews_apart() -> None:
    problem = Inventory(InventorySettings(review_period=7))
    space: dict[str, Any] = {"np": np, "math": math, "Real": lambda *_: None}
    exec(problem.baselines()["constant_order"], space)
    told = dict.fromkeys(problem.signature.positional, 0.0) | {"mean": 0.37}
    orders = [space["order"](**{**told, "day_of_year": day}, rate=0.9) for day in range(7, 365, 7)]
    assert set(orders) == {2.0, 3.0}
    assert sum(orders) == math.floor(0.9 * 0.37 * 364)
