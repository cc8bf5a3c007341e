"""The small parts of the search: known programs, islands, selection, migration, credit, skills."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.proposers.base import Skill
from evolve.search.credit import Credit
from evolve.search.known import Known
from evolve.search.migration import routes
from evolve.search.population import Island, Member, typical
from evolve.search.randomness import Purpose, stream
from evolve.search.selection import power_law
from evolve.search.skills import KEEP, SkillBook


def member(name, loss, *, size=10, fingerprint=None):
    return Member(
        name=name,
        source="",
        values={},
        score=loss,
        validation=loss,
        loss=loss,
        size=size,
        fingerprint=fingerprint or name,
        read=lambda source: None,
    )


class TestKnown:
    def test_a_view_does_not_change_when_more_is_added(self):
        known = Known()
        known.add("a", "t0")
        view = known.now()
        known.add("b", "t1")
        assert list(view) == ["a"]
        assert "b" not in view
        assert "b" in known.now()
        assert len(view) == 1

    def test_the_first_of_a_kind_keeps_the_name(self):
        known = Known()
        known.add("a", "t0")
        known.add("a", "t5")
        assert known.name_of("a") == "t0"
        assert known.name_of("b") is None


class TestIsland:
    def test_keeps_the_best_in_order(self):
        island = Island(0, 3)
        for name, loss in [("a", 3.0), ("b", -1.0), ("c", 0.0), ("d", 2.0)]:
            island.add(member(name, loss))
        assert [resident.name for resident in island] == ["b", "c", "d"]
        assert not island.add(member("e", 9.0))

    def test_a_gain_too_small_to_notice_does_not_pay_for_a_larger_text(self):
        island = Island(0, 3)
        island.add(member("short", 1.0, size=5))
        assert not island.add(member("long", 0.99999, size=20))
        assert island.add(member("better", 0.99, size=20))
        assert [resident.name for resident in island] == ["better", "short"]

    def test_of_two_that_score_the_same_the_smaller_stays(self):
        island = Island(0, 3)
        assert island.add(member("long", 1.0, size=20))
        assert island.add(member("short", 1.0, size=5))
        assert not island.add(member("longer", 1.0, size=30))
        assert [resident.name for resident in island] == ["short"]

    def test_of_two_with_one_fingerprint_the_better_stays(self):
        island = Island(0, 3)
        island.add(member("a", 2.0, fingerprint="x"))
        assert island.add(member("b", 1.0, fingerprint="x"))
        assert [resident.name for resident in island] == ["b"]

    @given(st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 3)), max_size=30), st.integers(2, 6))
    def test_is_never_too_large_and_always_holds_the_best(self, entries, capacity):
        island = Island(0, capacity)
        for index, (loss, size) in enumerate(entries):
            island.add(member(f"t{index}", float(loss), size=size))
        assert len(island) <= capacity
        assert [m.rank for m in island] == sorted(m.rank for m in island)
        if entries:
            assert island.best.loss == min(loss for loss, _ in entries)


def test_typical_values_are_medians_and_commonest_choices():
    groups = {
        "a": {"level": 1.0, "kind": "x", "n": 3, "v": (1.0, 2.0)},
        "b": {"level": 9.0, "kind": "y", "n": 5, "v": (1.0, 2.0)},
        "c": {"level": 2.0, "kind": "y", "n": 4, "v": (0.0, 2.0)},
    }
    assert typical(groups) == {"level": 2.0, "kind": "y", "n": 4, "v": (1.0, 2.0)}
    assert typical({}) == {}


class TestSelection:
    def test_probability_follows_the_power_of_the_rank(self):
        rng = np.random.default_rng(1)
        drawn = [power_law("abc", 1.0, 1, rng)[0] for _ in range(6000)]
        share = [drawn.count(name) / 6000 for name in "abc"]
        assert share == pytest.approx([6 / 11, 3 / 11, 2 / 11], abs=0.02)

    def test_draws_each_at_most_once(self):
        assert sorted(power_law("abc", 2.0, 9, np.random.default_rng(0))) == ["a", "b", "c"]
        assert power_law("", 1.0, 3, np.random.default_rng(0)) == []


def test_routes():
    assert routes("ring", 3) == [(0, 1), (1, 2), (2, 0)]
    assert routes("full", 2) == [(0, 1), (1, 0)]
    assert routes("ring", 1) == []


class TestCredit:
    def test_what_pays_is_drawn_more_often_and_nothing_dies_out(self):
        credit = Credit(weights={"good": 1.0, "bad": 1.0})
        for _ in range(100):
            credit.update("good", 1.0)
            credit.update("bad", 0.0)
        shares = credit.shares()
        assert shares["good"] > 0.75
        assert shares["bad"] >= 0.15
        assert sum(shares.values()) == pytest.approx(1.0)

    def test_weights_multiply_shares(self):
        assert Credit(weights={"often": 3.0, "seldom": 1.0}).shares() == pytest.approx({"often": 0.75, "seldom": 0.25})

    def test_it_forgets(self):
        credit = Credit(weights={"a": 1.0, "b": 1.0})
        for _ in range(50):
            credit.update("a", 1.0)
        for _ in range(200):
            credit.update("a", 0.0)
        assert credit.mean("a") < 0.1

    def test_unknown_choices_teach_nothing(self):
        credit = Credit(weights={"a": 1.0, "b": 1.0})
        credit.update("c", 1.0)
        assert credit.shares() == {"a": 0.5, "b": 0.5}

    @pytest.mark.parametrize("reward", [-0.1, 1.1, float("nan")])
    def test_a_reward_outside_the_unit_interval_is_an_error(self, reward):
        with pytest.raises(ValueError, match="reward"):
            Credit(weights={"a": 1.0}).update("a", reward)


class TestSkills:
    def skill(self, name, code="x + 1", gain=0.1):
        return Skill(name=name, code=code, gain=gain)

    def test_the_same_code_is_admitted_once(self):
        book = SkillBook()
        assert book.admit(self.skill("a"))
        assert not book.admit(self.skill("b"))
        assert len(book) == 1

    def test_credit_moves_the_mean(self):
        book = SkillBook()
        book.admit(self.skill("a", gain=0.2))
        book.credit("a", -0.4)
        assert book.get("a").gain == pytest.approx(-0.1)
        assert book.get("a").uses == 1
        book.credit("unknown", 1.0)

    def test_the_weakest_makes_room(self):
        book = SkillBook()
        for index in range(KEEP):
            book.admit(self.skill(f"s{index}", code=str(index), gain=float(index)))
        book.admit(self.skill("new", code="new", gain=5.0))
        assert len(book) == KEEP
        assert book.get("s0") is None
        assert book.get("new") is not None

    def test_offers_differ_and_are_ranked(self):
        book = SkillBook()
        for index in range(5):
            book.admit(self.skill(f"s{index}", code=str(index), gain=float(index)))
        offered = book.offer(3, np.random.default_rng(0))
        assert len({skill.name for skill in offered}) == 3
        assert [skill.gain for skill in offered] == sorted((skill.gain for skill in offered), reverse=True)
        assert SkillBook().offer(3, np.random.default_rng(0)) == ()


def test_streams_differ_by_purpose_and_place():
    states = {tuple(stream(7, purpose, number).generate_state(2)) for purpose in Purpose for number in range(20)}
    assert len(states) == len(Purpose) * 20
    assert stream(7, Purpose.TUNE, 3).generate_state(1) == stream(7, Purpose.TUNE, 3).generate_state(1)
