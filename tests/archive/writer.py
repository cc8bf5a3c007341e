"""A process that commits programs to a run, one by one, and tells of each: `writer.py TARGET RUN|new COUNT`."""

import sys

from archive import (
    Archive,
    EventRecord,
    OutcomeRecord,
    ParentEdge,
    ProgramRecord,
    ProposalRecord,
    SkillRecord,
    TuningRecord,
)


def whole(number: int) -> ProgramRecord:
    """A program of every part, all of which follow from its number: half of one would show."""
    parents = (ParentEdge(f"t{number - 1}"), ParentEdge(f"t{number // 2}", "mate")) if number else ()
    return ProgramRecord(
        name=f"t{number}",
        role="ticket",
        number=number,
        island=number % 4,
        source=f"def order(on_hand):\n    return {number}\n" * (1 + number % 50),
        values={"": {"level": number / 7}},
        train_score=number / 3,
        parents=parents,
        tuning=TuningRecord(method="cma", vectors=number, evaluations=number, history=((number, 1.5),)),
        outcomes=tuple(
            OutcomeRecord(split="train", instance=f"item {item}", score=number / (item + 1)) for item in range(10)
        ),
        proposal=ProposalRecord(proposer="genetic", operator="patch", detail={"number": number}),
    )


def main(target: str, run: str, count: int) -> None:
    """Go on where the run stands."""
    with Archive.open(target) as archive:
        if run == "new":
            run = archive.create_run(problem="work", seed=0, direction="minimize").id
        archive.claim(run)
        done = sum(archive.tally(run).values())
        print(run, done, flush=True)
        for number in range(done, done + count):
            event = EventRecord(kind="commit", ticket=number)
            skill = SkillRecord(name="s", code="1", uses=number)
            assert archive.commit(run, [whole(number)], events=[event], skills=[skill])
            print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
