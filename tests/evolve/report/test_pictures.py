"""The line of the progress picture is the leader on train, in both panels."""

from types import SimpleNamespace

import pytest

from evolve.report.pictures import _leaders, progress_picture

PNG = b"\x89PNG\r\n\x1a\n"


def member(name, loss, validation=1.0, sign=1.0):
    return SimpleNamespace(name=name, loss=loss, score=sign * loss, validation=validation)


def test_the_leader_changes_only_for_a_better_score_on_train():
    tickets = {4: member("t4", 2.0), 0: member("t0", 5.0), 2: member("t2", 3.0, validation=0.0), 3: member("t3", 9.0)}
    leaders = _leaders(tickets, [member("s0", 6.0), member("s1", 4.0)])
    assert {number: leader.name for number, leader in leaders.items()} == {-1: "s1", 0: "s1", 2: "t2", 3: "t2", 4: "t4"}


def test_without_start_programs_it_begins_with_the_first_ticket():
    assert {number: leader.name for number, leader in _leaders({1: member("t1", 2.0)}, []).items()} == {1: "t1"}


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_any_number_of_programs_makes_a_picture(maximize, count):
    sign = -1.0 if maximize else 1.0
    members = {f"t{n}": member(f"t{n}", 40.0 - n, 50.0 - n, sign) for n in range(count)} | {
        "s0": member("s0", 41.0, 51.0, sign)
    }
    state = SimpleNamespace(members=members, baselines={"base": member("b0", 45.0, 44.0, sign)}, maximize=maximize)
    finals = SimpleNamespace(champion=SimpleNamespace(member=members["s0"]))
    result = SimpleNamespace(run=SimpleNamespace(id="x-1"), state=state, finals=finals)
    assert progress_picture(result).startswith(PNG)
