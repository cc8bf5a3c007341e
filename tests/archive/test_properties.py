"""Whatever records are written are read back equal, over every database."""

import math
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archive import (
    EventRecord,
    IslandRecord,
    OutcomeRecord,
    ParentEdge,
    ProgramRecord,
    ProposalRecord,
    SkillRecord,
    TuningRecord,
)
from archive.digest import digest

OVER_ALL = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

texts = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates and NUL included
floats = st.floats(allow_nan=False, allow_infinity=False)
any_floats = st.floats()
counts = st.integers(0, 2**53)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | any_floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, json_values, max_size=4)
figures = st.dictionaries(texts, any_floats, max_size=4)
parameters = st.one_of(floats, st.integers(), st.booleans(), texts, st.lists(floats, max_size=3).map(tuple))


@st.composite
def outcomes(draw):
    key = st.tuples(st.sampled_from(["train", "validation", "holdout"]), texts)
    records = {}
    for split, instance in draw(st.lists(key, max_size=5)):
        score = draw(st.none() | floats)
        status = "ok" if score is not None else draw(st.sampled_from(["failed", "timeout"]))
        metrics = draw(figures)
        record = OutcomeRecord(split=split, instance=instance, status=status, score=score, metrics=metrics)
        records[record.split, record.instance] = record
    return tuple(records.values())


tunings = st.builds(
    TuningRecord,
    method=texts,
    vectors=counts,
    evaluations=counts,
    evaluations_saved=counts,
    start_score=st.none() | floats,
    best_score=st.none() | floats,
    history=st.lists(st.tuples(counts, floats), max_size=5).map(tuple),
)
proposals = st.builds(ProposalRecord, proposer=texts, operator=texts, note=texts, detail=objects)
events = st.builds(
    EventRecord, kind=texts, ticket=st.none() | st.integers(0, 2**31 - 1), data=objects, deterministic=st.booleans()
)
skills = st.builds(
    SkillRecord,
    name=texts,
    code=texts,
    parameters=objects,
    description=texts,
    gain=floats,
    uses=st.integers(0, 2**31 - 1),
)


@st.composite
def families(draw):
    """Programs, parents before children."""
    records: list[ProgramRecord] = []
    for number in range(draw(st.integers(0, 4))):
        known = [record.name for record in records]
        edge = st.builds(ParentEdge, st.sampled_from(known), st.sampled_from(["parent", "mate", "example"]))
        status = draw(st.sampled_from(["ok", "failed", "duplicate"]))
        score = st.none() | floats if status == "ok" else st.none()
        records.append(
            ProgramRecord(
                name=f"t{number}",
                role=draw(st.sampled_from(["ticket", "seed", "baseline"])),
                number=number,
                label=draw(texts),
                island=draw(st.none() | st.integers(0, 3)),
                operator=draw(texts),
                status=status,
                kind=draw(texts),
                reason=draw(texts),
                source=draw(texts),
                values=draw(st.dictionaries(texts, st.dictionaries(texts, parameters, max_size=3), max_size=2)),
                train_score=draw(score),
                validation_score=draw(score),
                descriptors=draw(figures),
                size=draw(st.integers(0, 2**31 - 1)),
                fingerprint=draw(texts),
                parents=tuple(draw(st.lists(edge, max_size=3))) if known else (),
                tuning=draw(st.none() | tunings),
                evaluations=draw(counts),
                outcomes=draw(outcomes()),
                proposal=draw(st.none() | proposals),
                level=draw(texts),
                compiled=draw(st.none() | st.booleans()),
                seconds=draw(st.floats(0, 1e9)),
                cpu_seconds=draw(st.floats(0, 1e9)),
            )
        )
    return records


def ordered(record: ProgramRecord) -> ProgramRecord:
    """The same with outcomes in one order: the archive gives them in that in which the run met the instances."""
    return replace(
        record, outcomes=tuple(sorted(record.outcomes, key=lambda outcome: (outcome.split, outcome.instance)))
    )


@OVER_ALL
@given(family=families(), told=st.lists(events, max_size=3), facts=objects)
def test_what_is_written_is_read(archive, family, told, facts):
    run = archive.create_run(problem="any", seed=0, direction="minimize", settings=facts, facts=facts)
    assert archive.run(run.id) == run
    written = archive.commit(run.id, family, events=told)
    assert written is bool(family or told)
    back = list(archive.programs(run.id, outcomes=True))
    assert [ordered(record) for record in back] == [ordered(record) for record in family]
    assert list(archive.events(run.id)) == told
    assert archive.digest(run.id) == digest(family, told)
    assert [replace(record, outcomes=()) for record in family] == list(archive.programs(run.id))


@OVER_ALL
@given(family=families(), cut=st.integers(0, 4))
def test_commits_are_idempotent_and_may_be_cut_anywhere(archive, family, cut):
    whole = archive.create_run(problem="any", seed=0, direction="minimize")
    parts = archive.create_run(problem="any", seed=0, direction="minimize")
    archive.commit(whole.id, family)
    for part in (family[:cut], family[cut:], family[:cut], family):
        before = archive.digest(parts.id)
        if not archive.commit(parts.id, part):
            assert archive.digest(parts.id) == before
    assert archive.digest(parts.id) == archive.digest(whole.id)


@OVER_ALL
@given(admitted=st.lists(skills, max_size=3, unique_by=lambda skill: skill.name))
def test_skills_are_read_as_written(archive, admitted):
    run = archive.create_run(problem="any", seed=0, direction="minimize")
    archive.commit(run.id, skills=admitted)
    assert archive.skills(run.id) == admitted
    better = [replace(skill, gain=skill.gain / 2, uses=7) for skill in admitted]
    archive.commit(run.id, skills=better)
    assert archive.skills(run.id) == better


@OVER_ALL
@given(described=st.dictionaries(st.integers(0, 2**31 - 1), objects, max_size=4))
def test_islands_are_read_as_written(archive, described):
    islands = [IslandRecord(number=number, settings=settings) for number, settings in described.items()]
    run = archive.create_run(problem="any", seed=0, direction="minimize", islands=islands)
    assert archive.islands(run.id) == sorted(islands, key=lambda island: island.number)


@OVER_ALL
@given(scores=st.lists(st.none() | floats, max_size=12))
def test_the_best_are_the_best(archive, scores):
    for direction, worse in (("minimize", False), ("maximize", True)):
        run = archive.create_run(problem="any", seed=0, direction=direction)
        archive.commit(
            run.id,
            [
                ProgramRecord(name=f"t{n}", role="ticket", number=n, train_score=score, status="ok")
                for n, score in enumerate(scores)
            ],
        )
        scored = [n for n, score in enumerate(scores) if score is not None]
        ranked = sorted(scored, key=lambda n: (-scores[n] if worse else scores[n], n))
        assert [record.number for record in archive.best(run.id, n=5)] == ranked[:5]
        assert all(math.isfinite(record.train_score) for record in archive.best(run.id, n=5))
