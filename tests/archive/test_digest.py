"""Equal runs have equal digests, whatever the machine, the time and the place; different ones differ."""

import dataclasses

import pytest

from archive import Archive, EventRecord, OutcomeRecord, ParentEdge, ProposalRecord, TuningRecord
from archive.digest import digest

SAME = {
    "reason": "stopped after 2.31 s",
    "size": 99,
    "evaluations": 5,
    "fingerprint": "f",
    "tuning": TuningRecord(method="other", vectors=1, evaluations=1),
    "proposal": ProposalRecord(proposer="other", operator="other"),
    "level": "weak",
    "compiled": None,
    "seconds": 9.0,
    "cpu_seconds": 8.0,
}
DIFFERENT = {
    "name": "t7",
    "role": "seed",
    "number": 7,
    "label": "x",
    "island": None,
    "operator": "rewrite",
    "kind": "loop",
    "source": "def order(): pass",
    "values": {"": {"level": 13.500000000000002}},
    "train_score": 5.000000000000001,
    "validation_score": None,
    "descriptors": {},
    "parents": (ParentEdge("t0"),),
    "outcomes": (),
}


@pytest.mark.parametrize("field", SAME)
def test_what_may_differ_between_equal_runs_does_not_count(program, field):
    assert digest([dataclasses.replace(program(1), **{field: SAME[field]})], []) == digest([program(1)], [])


@pytest.mark.parametrize("field", DIFFERENT)
def test_what_equal_runs_have_in_common_counts(program, field):
    assert digest([dataclasses.replace(program(1), **{field: DIFFERENT[field]})], []) != digest([program(1)], [])


def test_status_counts(program):
    failed = {"train_score": None, "validation_score": None, "outcomes": ()}
    assert digest([program(1, status="timeout", **failed)], []) != digest([program(1, status="memory", **failed)], [])


def test_every_field_is_accounted_for(program):
    """A new field of a program must be put on one side or the other."""
    fields = {field.name for field in dataclasses.fields(program(1))}
    assert fields == SAME.keys() | DIFFERENT.keys() | {"status", "committed"}


@pytest.mark.parametrize(
    "change",
    [
        {"split": "holdout"},
        {"instance": "item 9"},
        {"status": "failed", "score": None},
        {"score": 1.5000000000000002},
        {"metrics": {"lost": 0.5}},
    ],
)
def test_every_field_of_an_outcome_counts(program, change):
    outcome = OutcomeRecord(split="train", instance="item 1", score=1.5, metrics={"lost": 0.25})
    changed = dataclasses.replace(outcome, **change)
    assert digest([program(1, outcomes=(changed,))], []) != digest([program(1, outcomes=(outcome,))], [])


def test_the_order_of_outcomes_does_not_count_and_that_of_programs_and_parents_does(program):
    first = program(1)
    assert digest([program(1, outcomes=first.outcomes[::-1])], []) == digest([first], [])
    assert digest([first, program(2)], []) != digest([program(2), first], [])
    edges = (ParentEdge("a"), ParentEdge("b"))
    assert digest([program(1, parents=edges)], []) != digest([program(1, parents=edges[::-1])], [])
    assert digest([program(1, parents=(ParentEdge("a"),))], []) != digest(
        [program(1, parents=(ParentEdge("a", "mate"),))], []
    )


def test_deterministic_events_count():
    event = EventRecord(kind="migration", ticket=3, data={"from": 0})
    plain = digest([], [event])
    assert plain == digest([], [event, EventRecord(kind="interrupted", deterministic=False, data={"at": 1.5})])
    assert plain == digest([], [dataclasses.replace(event, key="m3")])
    changes = [
        {"kind": "reset"},
        {"ticket": 4},
        {"data": {"from": 1}},
        {"data": {"from": 0.0}},
        {"deterministic": False},
    ]
    digests = [digest([], [dataclasses.replace(event, **change)]) for change in changes]
    assert len({plain, *digests}) == len(changes) + 1
    assert digest([], [EventRecord(kind="a", data={"x": {}})]) != digest([], [EventRecord(kind="a", data={"x": []})])


def test_the_place_does_not_count(archive: Archive, run, program, child):
    """Over every database the digest is that of the records themselves."""
    records = [program(0, name="s0", role="seed"), child(1, "s0"), program(2, parents=(ParentEdge("t1", "example"),))]
    events = [EventRecord(kind="migration", ticket=2), EventRecord(kind="steer", deterministic=False)]
    other = archive.create_run(problem="other", seed=9, direction="maximize", settings={"jobs": 7})
    archive.commit(other.id, records, events=events)
    for record in records:
        archive.commit(run.id, [record])
    archive.commit(run.id, events=events)
    assert archive.digest(run.id) == archive.digest(other.id) == digest(records, events)
    archive.commit(run.id, events=events[:1])
    assert archive.digest(run.id) != archive.digest(other.id)


def test_the_digest_is_fixed(program):
    """Digests are written down in papers and issues: a change of the recipe must be meant."""
    event = EventRecord(kind="migration", ticket=1)
    assert digest([program(1)], [event]) == "fdf685203a8d6686f2e22caeb2df763db6b335044811802306f7a92f5b135121"
