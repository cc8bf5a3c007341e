"""The archive's contract, over every database."""

import math
import random

import pytest

from archive import (
    Archive,
    ClaimError,
    EventRecord,
    IslandRecord,
    NotFoundError,
    OutcomeRecord,
    ParentEdge,
    ProgramRecord,
    RecordError,
    RunRecord,
    SkillRecord,
    StorageError,
)
from archive.reading import PAGE


def names(records):
    return [record.name for record in records]


class TestRuns:
    def test_names_count_up_per_problem(self, archive):
        made = [
            archive.create_run(problem=problem, seed=0, direction="maximize").id for problem in ("a", "b-1", "a", "b")
        ]
        assert made == ["a-1", "b-1-1", "a-2", "b-1"]
        assert [run.id for run in archive.runs()] == made

    def test_what_was_asked_for_is_kept(self, archive):
        made = archive.create_run(
            problem="inventory",
            seed=2**63 - 1,
            direction="maximize",
            settings={"tickets": 30, "set": {"data": None, "rate": 0.1}, "seeds": (1, 2)},
            facts={"numpy": "2.3", "größe": "✓"},
            islands=[IslandRecord(number=1, settings={"operators": ["patch"]}), IslandRecord(number=0)],
        )
        found = archive.run("inventory-1")
        assert found == made
        assert found.seed == 2**63 - 1
        assert found.direction == "maximize"
        assert found.settings == {"tickets": 30, "set": {"data": None, "rate": 0.1}, "seeds": [1, 2]}
        assert found.facts == {"numpy": "2.3", "größe": "✓"}
        assert (found.status, found.reason) == ("running", "")
        assert found.created == made.created
        assert archive.islands(made.id) == [
            IslandRecord(number=0),
            IslandRecord(number=1, settings={"operators": ["patch"]}),
        ]

    @pytest.mark.parametrize("seed", [-1, 2**63])
    def test_a_seed_that_does_not_fit_is_refused(self, archive, seed):
        with pytest.raises(RecordError, match=str(seed)):
            archive.create_run(problem="a", seed=seed, direction="minimize")

    @pytest.mark.parametrize("problem", ["", "two words", "a/b", "last\n"])
    def test_a_problem_without_a_plain_name_is_refused(self, archive, problem):
        with pytest.raises(RecordError, match="name"):
            archive.create_run(problem=problem, seed=0, direction="minimize")

    def test_a_direction_is_one_of_two(self, archive):
        with pytest.raises(RecordError, match="'minimize' or 'maximize'"):
            archive.create_run(problem="a", seed=0, direction="min")

    def test_runs_are_found_as_people_name_them(self, archive):
        for problem in ["inventory"] * 10 + ["trading"]:
            archive.create_run(problem=problem, seed=0, direction="minimize")
        assert archive.run("inventory-1").id == "inventory-1"  # although inventory-10 begins so too
        assert archive.run("tr").id == "trading-1"
        assert archive.run("last").id == "trading-1"
        with pytest.raises(NotFoundError, match="any of 10 runs"):
            archive.run("inv")
        with pytest.raises(NotFoundError, match=r"no run 'packing'.*trading-1"):
            archive.run("packing")

    def test_an_empty_archive_says_so(self, archive):
        assert archive.runs() == []
        with pytest.raises(NotFoundError, match="no run yet"):
            archive.run("last")

    def test_status(self, archive, run):
        archive.set_status(run.id, "interrupted", "Ctrl-C")
        found = archive.run(run.id)
        assert (found.status, found.reason) == ("interrupted", "Ctrl-C")
        assert found.changed >= run.changed
        assert found.created == run.created

    def test_every_method_names_an_unknown_run(self, archive, program):
        calls = [
            lambda: archive.set_status("x-1", "failed"),
            lambda: archive.claim("x-1"),
            lambda: archive.claimant("x-1"),
            lambda: archive.commit("x-1", [program()]),
            lambda: archive.programs("x-1"),
            lambda: archive.program("x-1", "t1"),
            lambda: archive.best("x-1"),
            lambda: archive.tally("x-1"),
            lambda: archive.outcomes("x-1", "t1"),
            lambda: archive.events("x-1"),
            lambda: archive.islands("x-1"),
            lambda: archive.skills("x-1"),
            lambda: archive.parents("x-1", "t1"),
            lambda: archive.children("x-1", "t1"),
            lambda: archive.ancestors("x-1", "t1"),
            lambda: archive.digest("x-1"),
        ]
        for call in calls:
            with pytest.raises(NotFoundError, match="x-1"):
                call()


class TestCommit:
    def test_everything_comes_back(self, archive, run, program):
        first = program(1)
        second = program(2, parents=(ParentEdge("t1"), ParentEdge("t1", "mate"), ParentEdge("t1", "example")))
        assert archive.commit(run.id, [first, second])
        assert list(archive.programs(run.id, outcomes=True)) == [first, second]
        assert archive.program(run.id, "t2") == second
        assert archive.program(run.id, "t2").committed >= run.created

    def test_a_failed_ticket_needs_no_program(self, archive, run):
        failed = ProgramRecord(
            name="t9", role="ticket", number=9, status="failed", kind="reply", reason="the reply held no code"
        )
        archive.commit(run.id, [failed])
        assert archive.program(run.id, "t9") == failed

    def test_repeating_a_commit_changes_nothing(self, archive, run, program):
        event = EventRecord(kind="migration", ticket=1, data={"from": 0, "to": 1})
        skill = SkillRecord(name="t1.0", code="on_hand + 1")
        assert archive.commit(run.id, [program(1)], events=[event], skills=[skill])
        digest = archive.digest(run.id)
        better = SkillRecord(name="t1.0", code="on_hand + 1", gain=2.0, uses=5)
        assert archive.commit(run.id, [program(1, source="other")], events=[event], skills=[better]) is False
        assert archive.digest(run.id) == digest
        assert list(archive.programs(run.id, outcomes=True)) == [program(1)]
        assert list(archive.events(run.id)) == [event]
        assert archive.skills(run.id) == [skill]

    def test_of_a_commit_that_is_known_in_part_the_rest_is_written(self, archive, run, program):
        archive.commit(run.id, [program(1)])
        assert archive.commit(run.id, [program(1, source="other"), program(2)], events=[EventRecord(kind="note")])
        assert list(archive.programs(run.id, outcomes=True)) == [program(1), program(2)]
        assert len(list(archive.events(run.id))) == 1

    def test_an_event_with_a_key_is_archived_once(self, archive, run):
        keyed = EventRecord(kind="promotion", key="promotion of t3")
        assert archive.commit(run.id, events=[keyed])
        assert archive.commit(run.id, events=[keyed]) is False
        plain = EventRecord(kind="steer")
        assert archive.commit(run.id, events=[plain])
        assert archive.commit(run.id, events=[plain])
        assert list(archive.events(run.id)) == [keyed, plain, plain]

    def test_a_commit_of_nothing_writes_nothing(self, archive, run):
        assert archive.commit(run.id) is False

    def test_a_refused_commit_leaves_nothing(self, archive, run, program, child):
        with pytest.raises(RecordError, match="t2 names the program t7"):
            archive.commit(run.id, [program(1), child(2, "t7")], events=[EventRecord(kind="note")])
        assert list(archive.programs(run.id)) == []
        assert list(archive.events(run.id)) == []
        assert archive.islands(run.id) == []
        # Islands and instances that the refused commit had made up are made up again.
        archive.commit(run.id, [program(1)])
        assert archive.program(run.id, "t1") == program(1)

    def test_an_unknown_skill_is_refused(self, archive, run, program):
        with pytest.raises(RecordError, match=r"t1 names the skill t0\.0"):
            archive.commit(run.id, [program(1, parents=(ParentEdge("t0.0", "skill"),))])

    def test_a_skill_may_be_admitted_with_its_first_user(self, archive, run, program):
        user = program(1, parents=(ParentEdge("t0.0", "skill"),))
        archive.commit(run.id, [user], skills=[SkillRecord(name="t0.0", code="1")])
        assert archive.program(run.id, "t1").parents == (ParentEdge("t0.0", "skill"),)
        assert archive.parents(run.id, "t1", roles=("skill",)) == []

    def test_names_that_stand_twice_are_refused(self, archive, run, program):
        with pytest.raises(RecordError, match="program t1 stands twice"):
            archive.commit(run.id, [program(1), program(1)])
        with pytest.raises(RecordError, match="event k stands twice"):
            archive.commit(run.id, events=[EventRecord(kind="a", key="k"), EventRecord(kind="b", key="k")])
        with pytest.raises(RecordError, match="skill s stands twice"):
            archive.commit(run.id, skills=[SkillRecord(name="s", code="1"), SkillRecord(name="s", code="2")])

    def test_two_outcomes_on_one_instance_are_refused(self, archive, run, program):
        outcome = OutcomeRecord(split="train", instance="item 1", score=1.0)
        with pytest.raises(RecordError, match="two outcomes on train instance item 1"):
            archive.commit(run.id, [program(1, outcomes=(outcome, outcome))])

    def test_outcomes_on_further_instances_are_added_once(self, archive, run, program):
        archive.commit(run.id, [program(1), program(2)])
        digest = archive.digest(run.id)
        opened = EventRecord(kind="holdout", key="holdout")
        held = OutcomeRecord(split="holdout", instance="item 1", score=4.0)
        changed = OutcomeRecord(split="train", instance="item 1", score=-1.0)
        assert archive.commit(run.id, outcomes={"t1": [held, changed], "t2": [held]}, events=[opened])
        assert archive.outcomes(run.id, "t1") == [*program(1).outcomes, held]
        assert archive.outcomes(run.id, "t2", "holdout") == [held]
        assert archive.digest(run.id) != digest
        assert archive.commit(run.id, outcomes={"t1": [held]}, events=[opened]) is False
        assert archive.commit(run.id, outcomes={"t1": [held]}) is False
        assert archive.outcomes(run.id, "t1", "holdout") == [held]

    def test_outcomes_of_an_unknown_program_are_refused(self, archive, run, program):
        held = OutcomeRecord(split="holdout", instance="item 1", score=4.0)
        with pytest.raises(RecordError, match="outcomes of t9, which is not archived"):
            archive.commit(run.id, [program(1)], outcomes={"t1": [held], "t9": [held]})
        assert list(archive.programs(run.id)) == []
        assert archive.commit(run.id, [program(1)], outcomes={"t1": [held]})  # as part of its own commit, too
        assert archive.outcomes(run.id, "t1", "holdout") == [held]

    def test_runs_do_not_mix(self, archive, run, program):
        other = archive.create_run(problem="inventory", seed=2, direction="minimize")
        archive.commit(run.id, [program(1)])
        archive.commit(other.id, [program(1, source="other")], events=[EventRecord(kind="note")])
        archive.commit(run.id, [program(2)])
        assert list(archive.programs(run.id, outcomes=True)) == [program(1), program(2)]
        assert names(archive.programs(other.id)) == ["t1"]
        assert list(archive.events(run.id)) == []

    def test_hostile_text_is_archived(self, archive, run, program):
        source = "x = '\0 \ud800 é 😀'\r\n"
        archive.commit(
            run.id, [program(1, source=source, status="refused", reason="\0", train_score=None, validation_score=None)]
        )
        assert archive.program(run.id, "t1").source == "x = '\\x00 \\ud800 é 😀'\r\n"


class TestReading:
    def test_filters(self, archive, run, program):
        archive.commit(
            run.id,
            [
                program(0, name="s0", role="seed", label="base"),
                program(0, name="b0", role="baseline", island=None),
                *(program(number) for number in range(1, 5)),
                program(5, status="failed", train_score=None, validation_score=None),
            ],
        )
        assert names(archive.programs(run.id)) == ["s0", "b0", "t1", "t2", "t3", "t4", "t5"]
        assert names(archive.programs(run.id, role="seed")) == ["s0"]
        assert names(archive.programs(run.id, role="ticket", island=1)) == ["t1", "t3", "t5"]
        assert names(archive.programs(run.id, status="failed")) == ["t5"]
        assert names(archive.programs(run.id, after="t3")) == ["t4", "t5"]
        assert archive.tally(run.id) == {"failed": 1, "ok": 4}
        with pytest.raises(NotFoundError, match="t99"):
            archive.programs(run.id, after="t99")

    def test_without_outcomes_the_rest_is_there(self, archive, run, program):
        archive.commit(run.id, [program(1)])
        (cheap,) = archive.programs(run.id)
        assert cheap == program(1, outcomes=())

    def test_many_pages(self, archive, run):
        count = 2 * PAGE + 1
        bare = [ProgramRecord(name=f"t{number}", role="ticket", number=number) for number in range(count)]
        archive.commit(run.id, bare, events=[EventRecord(kind="note", ticket=number) for number in range(count)])
        assert list(archive.programs(run.id)) == bare
        assert [event.ticket for event in archive.events(run.id)] == list(range(count))

    def test_a_reader_may_stop_and_others_write_meanwhile(self, archive, run):
        bare = [ProgramRecord(name=f"t{number}", role="ticket", number=number) for number in range(PAGE + 2)]
        archive.commit(run.id, bare[:-1])
        reader = archive.programs(run.id)
        assert next(reader) == bare[0]
        archive.commit(run.id, bare[-1:])
        assert list(reader) == bare[1:]
        next(archive.programs(run.id))

    def test_outcomes(self, archive, run, program):
        archive.commit(run.id, [program(1), program(2, outcomes=())])
        assert archive.outcomes(run.id, "t1") == list(program(1).outcomes)
        assert archive.outcomes(run.id, "t1", "validation") == [program(1).outcomes[2]]
        assert archive.outcomes(run.id, "t2") == []
        with pytest.raises(NotFoundError, match="t3"):
            archive.outcomes(run.id, "t3")

    def test_outcomes_come_in_the_order_in_which_the_run_met_the_instances(self, archive, run, program):
        first, failed, other = program(1).outcomes
        archive.commit(
            run.id, [program(1, outcomes=(other, failed, first)), program(2, outcomes=(failed, first, other))]
        )
        assert archive.outcomes(run.id, "t2") == [other, failed, first]

    def test_events_by_kind(self, archive, run):
        told = [EventRecord(kind=kind, data={"n": n}) for n, kind in enumerate(["a", "b", "a"])]
        archive.commit(run.id, events=told)
        assert list(archive.events(run.id, "a")) == [told[0], told[2]]
        assert list(archive.events(run.id)) == told
        assert all(event.at >= run.created for event in archive.events(run.id))

    def test_skills_gain_and_are_listed_per_run_and_over_all(self, archive, run):
        other = archive.create_run(problem="trading", seed=0, direction="maximize")
        clamp = SkillRecord(
            name="t3.0", code="min(cap, x)", parameters={"cap": "Real(0, 9) = 3.0"}, description="not too much"
        )
        archive.commit(run.id, skills=[clamp])
        archive.commit(other.id, skills=[SkillRecord(name="t3.0", code="x")])
        archive.commit(run.id, skills=[SkillRecord(name="t3.0", code="ignored", gain=0.5, uses=2)])
        (kept,) = archive.skills(run.id)
        assert kept == SkillRecord(
            name="t3.0",
            code="min(cap, x)",
            parameters={"cap": "Real(0, 9) = 3.0"},
            description="not too much",
            gain=0.5,
            uses=2,
        )
        assert [(skill.run, skill.code) for skill in archive.skills()] == [(run.id, "min(cap, x)"), (other.id, "x")]


SCORES = {"t1": -1.0, "t2": 0.0, "t3": None, "t4": -3.0, "t5": 0.0, "t6": 2.0}


class TestBest:
    @pytest.fixture(params=["minimize", "maximize"])
    def scored(self, archive, request, program):
        run = archive.create_run(problem="signs", seed=0, direction=request.param)
        for number, (name, score) in enumerate(SCORES.items(), 1):
            status = "failed" if score is None else "ok"
            record = program(number, name=name, train_score=score, validation_score=None, status=status)
            archive.commit(run.id, [record])
        return run

    def test_negative_and_zero_scores_rank_right_and_failures_never(self, archive, scored):
        best = names(archive.best(scored.id, "train", 10))
        upwards = ["t4", "t1", "t2", "t5", "t6"]
        assert best == (upwards if scored.direction == "minimize" else ["t6", "t2", "t5", "t1", "t4"])
        assert names(archive.best(scored.id)) == best[:1]

    def test_a_split_without_scores_has_no_best(self, archive, scored):
        assert archive.best(scored.id, "validation") == []

    def test_by_role(self, archive, scored, program):
        archive.commit(scored.id, [program(0, name="b0", role="baseline", train_score=9.0)])
        assert names(archive.best(scored.id, "train", 3, role="baseline")) == ["b0"]


class TestLineage:
    @pytest.fixture
    def family(self, archive, run, program, child):
        archive.commit(run.id, [program(0, name="s0", role="seed"), child(1, "s0"), child(2, "s0")])
        archive.commit(
            run.id, [program(3, parents=(ParentEdge("t2"), ParentEdge("t1", "mate"), ParentEdge("s0", "example")))]
        )
        archive.commit(run.id, [child(4, "t3"), program(5, parents=(ParentEdge("t4", "example"),))])
        return run

    def test_parents_in_the_order_of_the_edges(self, archive, family):
        assert names(archive.parents(family.id, "t3")) == ["t2", "t1"]
        assert names(archive.parents(family.id, "t3", roles=("mate", "example"))) == ["t1", "s0"]
        assert archive.parents(family.id, "s0") == []

    def test_children(self, archive, family):
        assert names(archive.children(family.id, "s0")) == ["t1", "t2"]
        assert names(archive.children(family.id, "s0", roles=("example",))) == ["t3"]
        assert archive.children(family.id, "t5") == []

    def test_ancestors(self, archive, family):
        assert names(archive.ancestors(family.id, "t4")) == ["t3", "t2", "t1", "s0"]
        assert names(archive.ancestors(family.id, "t4", roles=("parent",))) == ["t3", "t2", "s0"]
        assert archive.ancestors(family.id, "t5") == []

    def test_relatives_are_whole_but_for_outcomes(self, archive, family, program):
        (parent,) = archive.parents(family.id, "t4")
        assert parent == program(
            3, parents=(ParentEdge("t2"), ParentEdge("t1", "mate"), ParentEdge("s0", "example")), outcomes=()
        )

    def test_a_program_that_reached_an_ancestor_by_many_paths_lists_it_once(self, archive, run):
        """A ladder of crossovers has 2**300 paths to the first program."""
        ladder = [
            ProgramRecord(
                name=f"t{number}",
                role="ticket",
                number=number,
                parents=tuple(ParentEdge(f"t{parent}", role) for parent, role in _rungs(number)),
            )
            for number in range(600)
        ]
        archive.commit(run.id, ladder)
        assert names(archive.ancestors(run.id, "t599")) == [f"t{number}" for number in reversed(range(598))]

    def test_lineage_agrees_with_a_walk_in_memory(self, archive, run):
        chance = random.Random(4)
        parents: dict[str, list[str]] = {}
        for number in range(80):
            known = list(parents)
            chosen = chance.sample(known, min(len(known), chance.randrange(4)))
            parents[f"t{number}"] = chosen
            edges = tuple(ParentEdge(name) for name in chosen)
            archive.commit(run.id, [ProgramRecord(name=f"t{number}", role="ticket", number=number, parents=edges)])
        for name, chosen in parents.items():
            seen: set[str] = set()
            left = list(chosen)
            while left:
                ancestor = left.pop()
                if ancestor not in seen:
                    seen.add(ancestor)
                    left += parents[ancestor]
            assert set(names(archive.ancestors(run.id, name))) == seen
            assert set(names(archive.children(run.id, name))) == {child for child in parents if name in parents[child]}


def _rungs(number):
    """Two programs per rung, each with both of the rung below as parents."""
    below = number - number % 2 - 2
    return [] if below < 0 else [(below, "parent"), (below + 1, "mate")]


class TestReadOnly:
    def test_reads_and_never_writes(self, lasting_target, program):
        with Archive.open(lasting_target) as archive:
            run = archive.create_run(problem="inventory", seed=1, direction="minimize")
            archive.commit(run.id, [program(1)])
            with Archive.open(lasting_target, read_only=True) as reader:
                assert reader.program(run.id, "t1") == program(1)
                archive.commit(run.id, [program(2)])
                assert names(reader.programs(run.id)) == ["t1", "t2"]
                for write in (
                    lambda: reader.commit(run.id, [program(3)]),
                    lambda: reader.create_run(problem="inventory", seed=1, direction="minimize"),
                    lambda: reader.set_status(run.id, "failed"),
                    lambda: reader.claim(run.id),
                ):
                    with pytest.raises(StorageError, match="for reading only"):
                        write()

    def test_makes_no_archive(self, lasting_target):
        for options in ({"read_only": True}, {"create": False}):
            with pytest.raises(NotFoundError, match="no archive"):
                Archive.open(lasting_target, **options)


class TestLasting:
    def test_what_one_process_wrote_another_finds(self, lasting_target, program):
        with Archive.open(lasting_target) as archive:
            run = archive.create_run(problem="inventory", seed=1, direction="minimize", settings={"jobs": 2})
            archive.commit(run.id, [program(1)], events=[EventRecord(kind="note")])
            digest = archive.digest(run.id)
        with Archive.open(lasting_target, create=False) as archive:
            assert archive.runs() == [run]
            assert list(archive.programs(run.id, outcomes=True)) == [program(1)]
            assert archive.digest(run.id) == digest
            # Islands and instances are known again.
            assert archive.commit(run.id, [program(1), program(2)])
            assert archive.program(run.id, "t2") == program(2)


class TestFencing:
    def test_only_the_claimant_writes_programs(self, lasting_target, program):
        with Archive.open(lasting_target) as engine, Archive.open(lasting_target) as other:
            run = engine.create_run(problem="inventory", seed=1, direction="minimize")
            other.commit(run.id, [program(1)])  # nobody has claimed it yet
            engine.claim(run.id)
            for write in (
                lambda: other.commit(run.id, [program(2)]),
                lambda: other.commit(run.id, skills=[SkillRecord(name="s", code="1")]),
                lambda: other.set_status(run.id, "failed"),
                lambda: other.claim(run.id),
            ):
                with pytest.raises(ClaimError, match="process"):
                    write()
            assert other.commit(run.id, events=[EventRecord(kind="steer", data={"hint": "less"})])
            assert engine.commit(run.id, [program(2)])
            engine.release(run.id)
            other.claim(run.id)
            with pytest.raises(ClaimError):
                engine.commit(run.id, [program(3)])

    def test_a_run_may_be_claimed_again_by_its_owner(self, archive, run):
        first = archive.claim(run.id)
        again = archive.claim(run.id)
        assert again.since == first.since
        assert archive.claimant(run.id).alive
        archive.release(run.id)
        archive.release(run.id)
        assert archive.claimant(run.id) is None

    def test_closing_releases(self, lasting_target):
        with Archive.open(lasting_target) as archive:
            run = archive.create_run(problem="inventory", seed=1, direction="minimize")
        with Archive.open(lasting_target) as archive:
            archive.claim(run.id)
        with Archive.open(lasting_target) as archive:
            assert archive.claimant(run.id) is None


def test_no_number_is_lost(archive: Archive, run: RunRecord, program) -> None:
    scores = [5e-324, 0.1 + 0.2, -1 / 3, 1.7976931348623157e308, math.pi * 1e-200, 0.0]
    outcomes = tuple(OutcomeRecord(split="train", instance=str(n), score=score) for n, score in enumerate(scores))
    archive.commit(run.id, [program(1, outcomes=outcomes)])
    assert [outcome.score.hex() for outcome in archive.outcomes(run.id, "t1")] == [score.hex() for score in scores]
