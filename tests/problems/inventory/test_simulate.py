from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems.inventory.block import Block, BlockCache
from problems.inventory.simulate import Simulator, whole


def block_of(demand: np.ndarray, lead_time: list[int], burn_in: int = 0, start: float = 3.0) -> Block:
    count = demand.shape[1]
    ones = np.ones(count)
    return Block(
        demand=demand.astype(float), burn_in=burn_in, lead_time=np.array(lead_time), width=max(1, *lead_time),
        holding=ones, shortage=ones, start=np.full(count, start),
        arriving=np.full(count, start), typical=ones, scale=ones, offset=0 * ones,
    )  # fmt: skip


def reference(
    demand: np.ndarray, lead_time: int, level: float, *, lost: bool, review: int, burn_in: int
) -> dict[str, float]:
    """One path in plain Python, with a dated list of deliveries."""
    on_hand, due = 3.0, dict.fromkeys(range(1, lead_time), 3.0)
    sums = dict.fromkeys(("stock", "short", "unmet", "orders", "ordered", "ordered_squared"), 0.0)
    for t, asked in enumerate(demand):
        on_hand += due.pop(t, 0.0)
        order = 0.0
        if t % review == 0:
            order = float(np.floor(max(0.0, level - on_hand - sum(due.values())) + 0.5))
            if lead_time == 0:
                on_hand += order
            else:
                due[t + lead_time] = order
        unmet = max(0.0, asked - max(on_hand, 0.0))
        on_hand = max(0.0, on_hand - asked) if lost else on_hand - asked
        if t >= burn_in:
            sums["stock"] += max(on_hand, 0.0)
            sums["unmet"] += unmet
            sums["short"] += unmet if lost else max(-on_hand, 0.0)
            sums["orders"] += order > 0
            sums["ordered"] += order
            sums["ordered_squared"] += order**2
    return {name: value / (len(demand) - burn_in) for name, value in sums.items()}


@settings(max_examples=150, deadline=None)
@given(
    demand=st.lists(st.lists(st.integers(0, 9), min_size=12, max_size=12), min_size=1, max_size=4),
    lead_times=st.lists(st.integers(0, 5), min_size=4, max_size=4),
    level=st.floats(0, 40),
    lost=st.booleans(),
    review=st.integers(1, 4),
    burn_in=st.integers(0, 5),
)
def test_agrees_with_a_plain_simulation(  # noqa: PLR0917 - hypothesis names them
    demand: list[list[int]], lead_times: list[int], level: float, lost: bool, review: int, burn_in: int
) -> None:
    paths = np.array(demand).T
    count = paths.shape[1]
    block = block_of(paths, lead_times[:count], burn_in)
    rows = np.array([*range(count), *range(count)][::-1])
    policy = _Rule(lambda on_hand, pipeline: np.maximum(0.0, level - on_hand - pipeline.sum(axis=1)), rows)
    totals = Simulator(policy, block, unmet="lost" if lost else "backorder", review_period=review).run()
    for row, column in enumerate(rows):
        expected = reference(paths[:, column], lead_times[column], level, lost=lost, review=review, burn_in=burn_in)
        found = {name: float(getattr(totals, name)[row]) for name in expected}
        assert found == pytest.approx(expected, abs=1e-9)


class _Rule:
    def __init__(self, rule, instance) -> None:  # type: ignore[no-untyped-def]
        self.rule, self.instance, self.rows = rule, instance, len(instance)

    def __call__(self, **told):  # type: ignore[no-untyped-def]
        return self.rule(told["on_hand"], told["pipeline"])


def test_a_path_by_hand() -> None:
    """Lead time 2, start 3 with 3 more arriving; order 4, then 0."""
    block = block_of(np.array([[2], [6], [1], [5]]), [2])
    orders = iter([4.0, 0.4, 0.5, 0.0])
    seen = []

    def rule(on_hand, pipeline):  # type: ignore[no-untyped-def]
        seen.append((float(on_hand[0]), pipeline[0].tolist()))
        return np.array([next(orders)])

    totals = Simulator(_Rule(rule, np.array([0])), block).run()
    assert seen == [(3, [3, 0]), (4, [4, 0]), (4, [0, 0]), (3, [1, 0])]
    # left over: 1, 0, 3, 0; lost: 0, 2, 0, 2; orders: 4, 0, 1 (0.5 rounds up), 0
    assert (totals.stock[0], totals.short[0], totals.orders[0], totals.ordered[0]) == (1.0, 1.0, 0.5, 1.25)


def test_orders_need_not_be_whole() -> None:
    block = block_of(np.array([[0], [0]]), [1])
    totals = Simulator(_Rule(lambda *_: np.array([0.25]), np.array([0])), block, whole_units=False).run()
    assert totals.ordered[0] == 0.25


def test_units_are_conserved() -> None:
    rng = np.random.default_rng(5)
    demand = rng.poisson(4, (200, 6))
    block = block_of(demand, [1, 2, 3, 4, 5, 0], start=10)
    simulator = Simulator(
        _Rule(lambda on_hand, pipeline: np.maximum(0, 25 - on_hand - pipeline.sum(axis=1)), np.arange(6)), block
    )
    first = simulator.on_hand.sum() + simulator.pipeline.sum()
    totals = simulator.run()
    left = simulator.on_hand.sum() + simulator.pipeline.sum()
    assert first + 200 * totals.ordered.sum() == pytest.approx(left + demand.sum() - 200 * totals.unmet.sum())


def test_halves_round_up() -> None:
    assert whole(np.array([0.49, 0.5, 1.5, 2.4999, 12.000000001])).tolist() == [0, 1, 2, 2, 12]


def test_cache_keeps_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr("problems.inventory.block.CACHE_BYTES", 100)

    def make(name: str):  # type: ignore[no-untyped-def]
        made.append(name)
        return SimpleNamespace(nbytes=60)

    cache = BlockCache()
    for name in ("a", "a", "b", "a"):
        cache.get(name, lambda name=name: make(name))  # type: ignore[misc]
    assert made == ["a", "b", "a"]
