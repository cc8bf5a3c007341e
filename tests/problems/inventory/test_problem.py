from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evolve.problem import Outcome, Per
from problems.inventory import Inventory, InventorySettings
from problems.inventory.replay import replay

Run = Callable[..., Any]


def test_arguments_are_few_and_explained(bundled: Inventory, zipkin: Inventory) -> None:
    for problem in (bundled, zipkin):
        arguments = problem.signature.arguments
        assert len(arguments) <= 10
        assert all(argument.meaning for argument in arguments)
        assert {argument.name for argument in arguments if argument.per is Per.ROW} == {"on_hand", "pipeline"}
    assert bundled.signature.positional == (
        "on_hand", "pipeline", "recent", "mean", "spread", "last_year", "weekday", "day_of_year", "lead_time", "shortage",
    )  # fmt: skip
    assert zipkin.signature.positional == ("on_hand", "pipeline", "mean", "spread", "lead_time", "shortage")


def test_observations_are_what_the_signature_says(bundled: Inventory, zipkin: Inventory) -> None:
    for problem in (bundled, zipkin):
        instances = problem.instances("validation", 0)
        told = problem.block(instances).observe(3)
        for argument in problem.signature.arguments[2:]:
            values = told[argument.name]
            assert values.shape == (len(instances), *argument.shape)
            assert values.dtype == (np.int64 if argument.dtype == "int" else np.float64)
            assert values.min() >= argument.low


def test_score_is_cost_per_unit_of_demand(bundled: Inventory, run_rule: Run) -> None:
    """Ordering nothing: all demand is lost, and an item's score is the shortage cost, or less if it faded."""
    instances = bundled.instances("holdout", 0)
    source = f"def order({', '.join(bundled.signature.positional)}, *, x: Real(0, 1) = 0.0):\n    return 0.0 * x\n"
    outcomes, _ = run_rule(bundled, source, instances)
    block = bundled.block(instances)
    demand = block.demand[block.burn_in :].mean(axis=0)
    for outcome, mean, typical in zip(outcomes, demand, block.typical, strict=True):
        held = outcome.metrics["stock"]
        assert outcome.score == pytest.approx((held + 100 * outcome.metrics["short"]) / typical)
        assert outcome.metrics["short"] <= mean
    lost = [outcome for outcome, mean, typical in zip(outcomes, demand, block.typical, strict=True) if mean == typical]
    assert len(lost) > 5
    assert all(95 < outcome.score <= 100.5 for outcome in lost)


def test_metrics(bundled: Inventory, run_rule: Run) -> None:
    outcomes, trace = run_rule(bundled, bundled.baselines()["base_stock"], bundled.instances("validation", 0))
    seen = replay(bundled.block(trace.instances), trace.actions, bundled.settings)
    for row, outcome in enumerate(outcomes):
        metrics = outcome.metrics
        assert set(metrics) == {"cost", "stock", "short", "fill_rate", "cover", "orders", "order_spread"}
        assert metrics["cost"] == pytest.approx(metrics["stock"] + 100 * metrics["short"] + 100 * metrics["orders"])
        assert metrics["stock"] == pytest.approx(seen.stock[:, row].mean())
        assert metrics["orders"] == pytest.approx((seen.order[:, row] > 0).mean())
        assert 0 <= metrics["fill_rate"] <= 1
        assert metrics["order_spread"] * bundled.block(trace.instances).typical[row] == pytest.approx(
            seen.order[:, row].std()
        )


@pytest.mark.parametrize(
    "values",
    [
        {"unmet": "backorder", "lead_time": 0, "shortage": 5},
        {"unmet": "backorder", "review_period": 5, "fixed_cost": 40},
        {"review_period": 7, "fixed_cost": 10, "window": 40},
        {"lead_time": 1, "whole_units": False},
    ],
)
def test_replay_tells_the_same_cost(values: dict[str, Any], run_rule: Run) -> None:
    problem = Inventory(InventorySettings.model_validate(values))
    outcomes, trace = run_rule(problem, problem.baselines()["s_S"], problem.instances("validation", 0)[:9])
    block = problem.block(trace.instances)
    seen = replay(block, trace.actions, problem.settings)
    total = sum(seen.cost(block, problem.settings).values())
    assert total == pytest.approx([outcome.metrics["cost"] for outcome in outcomes])
    assert np.all(seen.coming >= -1e-9)
    if problem.settings.unmet == "lost":
        assert np.all(seen.position >= seen.coming - 1e-9)


def test_rows_may_take_instances_in_any_order(bundled: Inventory, table_policy: Any) -> None:
    instances = bundled.instances("validation", 0)[:5]

    def rule(on_hand: np.ndarray, pipeline: np.ndarray, **_: Any) -> np.ndarray:
        return np.maximum(0.0, 40 - on_hand - pipeline.sum(axis=1))

    straight = bundled.evaluate(table_policy(rule, 5), instances)
    mixed = table_policy(rule, 7)
    mixed.instance = np.array([4, 1, 1, 3, 0, 2, 4])
    outcomes = bundled.evaluate(mixed, instances)
    assert outcomes.score.tolist() == straight.score[mixed.instance].tolist()


def test_descriptors_are_bounded(bundled: Inventory, run_rule: Run) -> None:
    instances = bundled.instances("validation", 0)
    outcomes, _ = run_rule(bundled, bundled.baselines()["base_stock"], instances, {"cover": 9.0, "safety": 6.0})
    rich = bundled.descriptors(outcomes)
    outcomes, _ = run_rule(bundled, bundled.baselines()["constant_order"], instances, {"rate": 0.1})
    poor = bundled.descriptors([*outcomes, Outcome(score=0.0, failure="it raised")])
    assert set(rich) == {"stock", "rhythm"}
    assert all(0 <= value <= 1 for value in [*rich.values(), *poor.values()])
    assert rich["stock"] > poor["stock"] + 0.2
    assert bundled.descriptors([]) == {}


def test_texts_for_people(bundled: Inventory, zipkin: Inventory) -> None:
    assert "lead_time days" in bundled.description
    assert "shortage 100 per unit lost" in bundled.description
    assert "optimal cost" in zipkin.description
    assert bundled.report(31.9) == "31.900 (cost per unit of demand)"
    assert zipkin.report(1.0072) == "1.0072 (+0.72 % against the optimum)"
    assert bundled.decisions == 341
    assert Inventory(InventorySettings(review_period=7)).decisions == 49
    weekly = Inventory(InventorySettings(period="week", lead_time=2, review_period=2, unmet="backorder", fixed_cost=5))
    assert "Decide every 2 weeks" in weekly.description
    assert "5 per order placed" in weekly.description


def test_evidence(bundled: Inventory, run_rule: Run) -> None:
    instances = bundled.instances("validation", 0)
    outcomes, trace = run_rule(bundled, bundled.baselines()["capped_base_stock"], instances)
    evidence = bundled.evidence(outcomes, trace)
    assert evidence is not None
    worst = instances[int(np.argmax([outcome.score for outcome in outcomes]))].group
    assert f"  {worst}: " in evidence.text
    assert "By month" in evidence.text
    assert len(evidence.text) < 2_500
    assert [figure.name for figure in evidence.figures] == ["behaviour", "policy_map"]
    for figure in evidence.figures:
        assert figure.png.startswith(b"\x89PNG")
        assert figure.caption
    assert bundled.evidence([*outcomes[1:], Outcome(score=0.0, failure="it raised")], trace) is None


def test_evidence_on_a_bed(zipkin: Inventory, run_rule: Run) -> None:
    instances = zipkin.instances("validation", 0)
    outcomes, trace = run_rule(zipkin, zipkin.baselines()["constant_order"], instances, {"rate": 0.0})
    evidence = zipkin.evidence(outcomes, trace)
    assert evidence is not None
    assert "No order was ever placed." in evidence.text
    assert "There was never stock" in evidence.text
    assert "By month" not in evidence.text


def test_loading_the_problem_is_light() -> None:
    import subprocess
    import sys

    heavy = "('matplotlib', 'numba', 'scipy', 'pandas')"
    code = f"import sys, problems.inventory; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
