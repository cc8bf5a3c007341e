"""Records check and normalise themselves: whatever can be made can be archived."""

import dataclasses
import math

import numpy as np
import pytest

from archive import (
    EventRecord,
    OutcomeRecord,
    ParentEdge,
    ProgramRecord,
    ProposalRecord,
    RecordError,
    SkillRecord,
    TuningRecord,
)

NOT_FINITE = [math.nan, math.inf, -math.inf, np.float64("nan")]


@pytest.mark.parametrize("score", NOT_FINITE)
def test_a_score_that_is_no_finite_number_is_refused(score, program):
    with pytest.raises(RecordError, match=r"train score of t1 is .* no finite number"):
        program(1, train_score=score)
    with pytest.raises(RecordError, match="validation score of t1"):
        program(1, validation_score=score)
    with pytest.raises(RecordError, match="score on train instance item 1"):
        OutcomeRecord(split="train", instance="item 1", score=score)
    with pytest.raises(RecordError, match=r"tuning\.start_score"):
        TuningRecord(method="cma", vectors=1, evaluations=1, start_score=score)
    with pytest.raises(RecordError, match=r"tuning\.best_score"):
        TuningRecord(method="cma", vectors=1, evaluations=1, best_score=score)
    with pytest.raises(RecordError, match=r"tuning\.history"):
        TuningRecord(method="cma", vectors=1, evaluations=1, history=((1, score),))
    with pytest.raises(RecordError, match=r"gain of skill t1\.0"):
        SkillRecord(name="t1.0", code="1", gain=score)


def test_a_failure_has_no_score(program):
    with pytest.raises(RecordError, match="a failure has no score"):
        program(1, status="timeout", train_score=3.0, validation_score=None)
    with pytest.raises(RecordError, match="a score stands with the status 'ok'"):
        OutcomeRecord(split="train", instance="item 1", status="failed", score=1e9)
    with pytest.raises(RecordError, match="a score stands with the status 'ok'"):
        OutcomeRecord(split="train", instance="item 1")


@pytest.mark.parametrize("value", [*NOT_FINITE, None, (1.0, math.nan)])
def test_a_parameter_has_a_value(value, program):
    with pytest.raises(RecordError, match="parameter level of t1"):
        program(1, values={"": {"level": value}})


def test_figures_without_a_value_are_none(program):
    assert program(1, descriptors={"a": math.nan, "b": 1.0}).descriptors == {"a": None, "b": 1.0}
    assert OutcomeRecord(split="train", instance="i", score=1.0, metrics={"a": math.inf}).metrics == {"a": None}


def test_numbers_of_numpy_become_pythons(program):
    record = program(
        1,
        train_score=np.float32(0.5),
        validation_score=np.float64(0.25),
        values={"": {"level": np.float64(2.5), "cap": np.int64(3)}},
        descriptors={"a": np.float32(0.5)},
    )
    assert type(record.train_score) is type(record.validation_score) is float
    assert record.values == {"": {"level": 2.5, "cap": 3}}
    assert type(record.values[""]["cap"]) is int
    assert type(record.values[""]["level"]) is float
    assert type(record.descriptors["a"]) is float
    record = program(np.int64(1), island=np.int32(0), size=np.int64(9), compiled=np.bool_(True))
    assert [type(part) for part in (record.number, record.island, record.size, record.compiled)] == [
        int,
        int,
        int,
        bool,
    ]
    tuning = TuningRecord(method="m", vectors=np.int64(1), evaluations=np.int64(2), history=((np.int64(2), 1),))
    assert type(tuning.vectors) is type(tuning.history[0][0]) is int
    assert type(EventRecord(kind="k", ticket=np.int64(3)).ticket) is int


def test_minus_zero_is_zero():
    """SQLite would lose the sign, and with it equality of digests."""
    outcome = OutcomeRecord(split="train", instance="i", score=-0.0, metrics={"a": -0.0})
    assert math.copysign(1, outcome.score) == 1
    assert math.copysign(1, outcome.metrics["a"]) == 1


def test_lists_of_values_become_tuples(program):
    assert program(1, values={"": {"weights": [1.0, 2.0]}}).values == {"": {"weights": (1.0, 2.0)}}


def test_json_is_normalised():
    event = EventRecord(kind="note", data={"a": (1, True, None, "\ud800\0"), "b": {"c": math.nan}})
    assert event.data == {"a": [1, True, None, "\\ud800\\x00"], "b": {"c": None}}


@pytest.mark.parametrize("data", [{"a": object()}, {"a": {1: 2}}, {"a": b"bytes"}, {"a": {1, 2}}, {"a": 1j}])
def test_what_is_no_json_is_refused(data):
    with pytest.raises(RecordError, match="data of event note"):
        EventRecord(kind="note", data=data)
    with pytest.raises(RecordError, match=r"proposal\.detail"):
        ProposalRecord(proposer="p", operator="o", detail=data)


def test_text_that_no_database_holds_is_escaped(program):
    assert program(1, source="a\0b\ud800").source == "a\\x00b\\ud800"
    assert ParentEdge("t\0").name == "t\\x00"
    assert ProposalRecord(proposer="p", operator="o", note="\udfff").note == "\\udfff"
    assert OutcomeRecord(split="train", instance="é\0", score=1.0).instance == "é\\x00"
    assert program(1, source="é\n😀\t").source == "é\n😀\t"


def test_records_are_frozen(program):
    with pytest.raises(dataclasses.FrozenInstanceError):
        program(1).status = "failed"


def test_a_record_can_be_changed_into_another(program):
    assert dataclasses.replace(program(1), seconds=2.0) == program(1, seconds=2.0)


def test_a_bare_record_is_short():
    record = ProgramRecord(name="t1", role="ticket", number=1)
    assert record.status == "ok"
    assert record.outcomes == record.parents == ()
    assert record.tuning is record.proposal is record.train_score is None
