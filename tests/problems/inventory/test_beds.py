import csv
from pathlib import Path

import numpy as np
import pytest

from evolve.problem import SPLITS, ProblemError
from problems.inventory import Inventory, InventorySettings
from problems.inventory.beds import cells, draw_block

ANCHORS = Path(__file__).parents[4] / "shared" / "anchors"


def test_cells_of_the_beds() -> None:
    zipkin, long_lead = cells("zipkin"), cells("long_lead")
    assert (len(zipkin), len(long_lead)) == (32, 13)
    assert len({cell.name for cell in zipkin}) == 32
    assert {cell.lead_time for cell in zipkin} == {1, 2, 3, 4}
    assert zipkin[0].reference == 4.0407
    assert long_lead[0].reference == 4.935
    assert long_lead[3].reference == 5.129


@pytest.mark.parametrize(("ours", "theirs"), [("zipkin", "lost_sales_zipkin"), ("long_lead", "lost_sales_long_lead")])
def test_tables_are_the_reference_figures(ours: str, theirs: str) -> None:
    if not ANCHORS.is_dir():
        pytest.skip("the reference figures are not beside this repository")
    with (ANCHORS / f"{theirs}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row, cell in zip(rows, cells(ours), strict=True):  # type: ignore[arg-type]
        assert {name: float(value) for name, value in row.items() if name != "demand"} == cell.figures


def test_paths_differ_by_split_seed_and_path_and_nothing_else() -> None:
    problem = Inventory(InventorySettings(bed="zipkin", paths=2, periods=50))
    seen = set()
    for split in SPLITS:
        for seed in (0, 1):
            instances = problem.instances(split, seed)
            assert len(instances) == 64
            assert instances == problem.instances(split, seed)
            again = Inventory(problem.settings).block(instances)
            block = problem.block(instances)
            assert np.array_equal(block.demand, again.demand)
            seen |= {block.demand[:, column].tobytes() for column in range(64)}
    assert len(seen) == 3 * 2 * 64


def test_paths_are_longer_where_a_rule_is_checked() -> None:
    """A rule that goes astray in a rare state is not seen on short paths; on long ones it is, and it stays astray."""
    problem = Inventory(InventorySettings(bed="zipkin", paths=2, periods=50, warm_up=10))
    periods = {split: {instance.periods - 10 for instance in problem.instances(split, 0)} for split in SPLITS}
    assert periods == {"train": {50}, "validation": {250}, "holdout": {250}}
    assert problem.block(problem.instances("holdout", 0)).demand.shape == (260, 64)


def test_a_rule_that_orders_more_the_more_it_has_is_found_out(table_policy) -> None:  # type: ignore[no-untyped-def]
    """It costs next to nothing extra from a normal start; from too much stock it never comes back."""
    problem = Inventory(InventorySettings(bed="zipkin", paths=8, periods=200))
    instances = problem.instances("train", 0)
    block = problem.block(instances)
    late = np.array([instance.entropy[-1] % 4 == 3 for instance in instances])
    assert set(block.start[late]) == {200.0}
    assert set(block.start[~late]) == {5.0}
    assert set(block.arriving) == {5.0}

    def scores(feedback: float) -> np.ndarray:
        def rule(on_hand: np.ndarray, pipeline: np.ndarray, **_: object) -> np.ndarray:
            sensible = np.clip(30.0 - on_hand - pipeline.sum(axis=1), 0.0, 6.0)
            return np.where(on_hand > 90.0, feedback * on_hand, sensible)

        return problem.evaluate(table_policy(rule, len(instances)), instances).score

    sensible, astray = scores(0.0), scores(0.1)
    assert astray[~late] == pytest.approx(sensible[~late], rel=0.05)
    assert (astray[late] > 3 * sensible[late]).all()
    assert sensible[late].mean() == pytest.approx(sensible[~late].mean(), rel=0.1)


def test_groups_are_cells() -> None:
    problem = Inventory(InventorySettings(bed="zipkin", paths=3))
    assert problem.tune_per_group
    assert {i.group for i in problem.instances("train", 0)} == {cell.name for cell in cells("zipkin")}


@pytest.mark.parametrize("place", [0, 19, 31])
def test_demand_has_the_mean_and_spread_it_should(place: int) -> None:
    cell = cells("zipkin")[place]
    demand = cell.draw(np.random.default_rng(1), 200_000)
    assert demand.mean() == pytest.approx(5.0, abs=5 * cell.spread / np.sqrt(200_000))
    assert demand.std() == pytest.approx(cell.spread, rel=0.02)
    assert demand.min() == 0


def test_control_rules_of_the_long_lead_bed_cost_about_what_was_published() -> None:
    for cell in cells("long_lead"):
        assert cell.control is not None
        if cell.lead_time < 10:  # there the published figure is a constant order's
            assert cell.control.cost == pytest.approx(cell.figures["best_capped_base_stock"], rel=0.004)


def test_a_subset_of_cells_keeps_the_width_of_the_pipeline() -> None:
    problem = Inventory(InventorySettings(bed="zipkin", paths=1))
    short = [instance for instance in problem.instances("train", 0) if "L=1 " in instance.key]
    assert problem.block(short).width == 4
    assert problem.signature.arguments[1].shape == (4,)


def test_instances_of_two_splits_do_not_mix() -> None:
    problem = Inventory(InventorySettings(bed="zipkin", paths=1, periods=50))
    other = Inventory(InventorySettings(bed="zipkin", paths=1, periods=60))
    with pytest.raises(ProblemError, match="must be of one split"):
        problem.block([problem.instances("train", 0)[0], other.instances("train", 0)[0]])


def test_the_control_rule_scores_its_exact_cost_on_every_path(table_policy) -> None:  # type: ignore[no-untyped-def]
    """What is taken off as noise is exactly what the control rule costs above its average."""
    from problems.inventory.simulate import Simulator

    cell = cells("zipkin")[21]
    block = draw_block([cell] * 5, [(0, path) for path in range(5)], periods=150, burn_in=50, width=4)
    assert cell.control is not None
    rule = table_policy(
        lambda on_hand, pipeline, **_: np.clip(
            cell.control.level - on_hand - pipeline.sum(axis=1), 0, cell.control.cap
        ),
        5,
    )
    totals = Simulator(rule, block).run()
    cost = block.holding * totals.stock + block.shortage * totals.short
    assert np.ptp(cost) > 0.1
    assert cost - block.offset == pytest.approx(np.full(5, cell.control.cost))
