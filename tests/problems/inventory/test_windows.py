import ast
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from evolve.problem import SPLITS, ProblemError
from problems.inventory import Inventory, InventorySettings
from problems.inventory.windows import Windows

Write = Callable[..., Path]


def daily(units: list[list[float]], first: date = date(2024, 1, 1)) -> str:
    rows = [
        f"{first + timedelta(days=day)},item{item},{value:g}\n"
        for item, series in enumerate(units)
        for day, value in enumerate(series)
    ]
    return "date,item,units\n" + "".join(rows)


def source(path: Path, **values: object) -> Windows:
    return Windows(
        InventorySettings.model_validate({"data": path, "history": 7, "warm_up": 7, "lead_time": 3, **values})
    )


def test_splits_of_the_bundled_data(bundled: Inventory) -> None:
    found = {split: bundled.instances(split, 0) for split in SPLITS}
    assert {split: len(instances) for split, instances in found.items()} == dict.fromkeys(SPLITS, 30)
    assert bundled.instances("train", 0) == bundled.instances("train", 99)
    spans = {split: instances[0].key.split()[1] for split, instances in found.items()}
    assert spans == {
        "train": "2010-01-26..2010-12-04",
        "validation": "2010-12-05..2011-07-14",
        "holdout": "2011-07-15..2011-12-09",
    }
    keys = [instance.key for instances in found.values() for instance in instances]
    assert len(set(keys)) == len(keys)
    assert {instance.group for instance in found["train"]} == {instance.group for instance in found["holdout"]}


def test_windows_tile_a_split_from_its_end(write: Write) -> None:
    windows = source(write(daily([[1.0] * 100])), window=12)
    starts = {split: [(w.start + 7, w.start + w.periods) for w in windows.instances(split, 0)] for split in SPLITS}
    assert starts["train"] == [(14, 26), (26, 38), (38, 50)]
    assert starts["validation"] == [(56, 68), (68, 80)]
    assert starts["holdout"] == [(88, 100)]


def test_cuts_may_be_dates(write: Write) -> None:
    windows = source(write(daily([[1.0] * 100])), validation_from="2024-03-01", holdout_from="2024-03-31")
    assert windows.instances("holdout", 0)[0].key.split()[1] == "2024-03-31..2024-04-09"


@pytest.mark.parametrize(
    ("days", "values", "message"),
    [
        (1, {}, "1 days of demand leave 0 for train, but 4 are needed"),
        (20, {}, "leave 0 for train, but 4 are needed: 14 go to history=7 and warm_up=7"),
        (60, {"window": 30}, "but 30 are needed"),
        (60, {"holdout_from": "2025-01-01", "validation_from": "2024-02-01"}, "leave 0 for holdout"),
    ],
)
def test_too_short_series_say_what_is_missing(days: int, values: dict[str, object], message: str, write: Write) -> None:
    with pytest.raises(ProblemError, match=message):
        source(write(daily([[1.0] * days])), **values)


def test_items_without_demand_to_tune_on_are_left_out(write: Write) -> None:
    path = write(daily([[1.0] * 100, [0.0] * 70 + [5.0] * 30, [0.0] * 40 + [2.0] * 60]))
    windows = source(path)
    assert [w.group for w in windows.instances("train", 0)] == ["item0", "item2"]
    assert windows.notes[-1] == "items left out for want of demand before validation: 1"
    with pytest.raises(ProblemError, match="no item has any demand before validation begins"):
        source(write(daily([[0.0] * 100])))


def test_what_is_known(write: Write) -> None:
    """Every figure, recomputed from the series strictly before the day."""
    rng = np.random.default_rng(3)
    series = np.where(rng.random(900) < 0.3, rng.integers(1, 30, 900), 0).astype(float)
    series[:20] = 0.0
    path = write(daily([series.tolist()]))
    windows = source(path, validation_from=0.8, holdout_from=0.9)
    for split in SPLITS:
        [window] = windows.instances(split, 0)
        block = windows.block([window])
        first_sale = int(np.flatnonzero(series)[0])
        for period in range(0, window.periods, 37):
            day = window.start + period
            told = block.observe(period)
            assert told["recent"][0].tolist() == series[day - 7 : day].tolist()
            since = max(0, day - 364, min(first_sale, day - 7))
            assert told["mean"][0] == pytest.approx(series[since:day].mean())
            assert told["spread"][0] == pytest.approx(series[since:day].std(), abs=1e-6)
            begin, end = day - 364 - 7, day - 364 + 4 + 7
            expected = series[begin:end].mean() if begin >= 0 else series[since:day].mean()
            assert told["last_year"][0] == pytest.approx(expected)
            today = date(2024, 1, 1) + timedelta(days=day)
            assert (told["weekday"][0], told["day_of_year"][0]) == (today.weekday(), today.timetuple().tm_yday)
            assert block.demand[period, 0] == series[day]


def test_the_future_cannot_be_seen(bundled: Inventory) -> None:
    """Change demand from a day on: nothing that a rule is told up to that day changes."""
    windows = Windows(InventorySettings())
    [window] = [w for w in windows.instances("holdout", 0) if w.group == "22086"]
    before = windows.block([window])
    changed = 60
    units = windows.demand.units.copy()
    units[:, window.start + changed :] = 777.0
    windows.demand = replace(windows.demand, units=units)
    windows._known = type(windows._known)(windows.demand, InventorySettings())
    after = windows.block([window])
    for period in range(changed + 1):
        first, second = before.observe(period), after.observe(period)
        assert first.keys() == second.keys()
        for name, values in first.items():
            assert np.array_equal(values, second[name]), (name, period)
    assert after.observe(changed + 1)["recent"][0, -1] == 777.0


def test_an_item_costs_what_its_size_makes_comparable(write: Write) -> None:
    """Ten times the demand, ten times the cost, the same score."""
    rng = np.random.default_rng(8)
    series = rng.poisson(6, 200).astype(float)
    windows = source(write(daily([series.tolist(), (10 * series).tolist()])))
    block = windows.block(windows.instances("holdout", 0))
    assert block.scale[1] == pytest.approx(10 * block.scale[0])
    assert block.scale[0] == max(series[:120].mean(), series[160:].mean())


def test_the_bundled_data_are_what_the_notes_say() -> None:
    windows = Windows(InventorySettings())
    units = windows.demand.units
    assert units.shape == (30, 739)
    assert windows.notes == ("bundled demand: 30 items, 739 days from 2009-12-01 to 2011-12-09",)
    assert float((units == 0).mean()) > 0.5
    assert np.all(units == np.round(units))


def test_plug_in_imports_only_the_contract() -> None:
    import problems.inventory

    folder = Path(problems.inventory.__file__).parent
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in getattr(node, "names", [])]
            for name in names if isinstance(node, (ast.Import, ast.ImportFrom)) else []:
                assert name is not None
                root = name.split(".")[0]
                assert root not in {"sandbox", "archive"}, path
                assert root != "evolve" or name == "evolve.problem", path
