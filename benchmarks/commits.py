"""What the archive costs: processor time per commit as it grows, bytes on disk, and the time to read it back.

    python benchmarks/commits.py [--quick] [--url postgresql://…]

One program per commit, each with a source of about 600 characters, two parents, tuned values, a tuning with ten points of
history, ten outcomes with two metrics each, a proposal and an event. Processor time is this process's (for PostgreSQL
the server's comes on top), as the median over the last commits before each size.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from archive import (
    Archive,
    EventRecord,
    OutcomeRecord,
    ParentEdge,
    ProgramRecord,
    ProposalRecord,
    TuningRecord,
)

SOURCE = '''def order(on_hand, pipeline, *, level: Real(0, 60) = 20.0, cap: Integer(0, 20) = 8):
    """Order up to a level, but never more than a cap."""
    position = on_hand + pipeline.sum()
    gap = level - position
    slack = pipeline.max() - pipeline.min()
    if gap < 0:
        return 0.0
    if slack > cap:
        return min(cap, 0.5 * gap)
    return min(cap, max(0.0, level - position)) + 0.0 * {number}
'''


def ticket(number: int) -> ProgramRecord:
    """A program of the size that a run writes."""
    parents = (ParentEdge(f"t{number - 1}"), ParentEdge(f"t{number // 2}", "mate")) if number else ()
    return ProgramRecord(
        name=f"t{number}",
        role="ticket",
        number=number,
        island=number % 4,
        operator="patch",
        source=SOURCE.format(number=number),
        values={"": {"level": 20.0 + number / 7, "cap": number % 20}},
        train_score=100.0 / (number + 3),
        validation_score=101.0 / (number + 3),
        descriptors={"fill_rate": 0.9 + 0.01 / (number + 3), "mean_order": number / 11},
        size=57,
        fingerprint=f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}",
        parents=parents,
        tuning=TuningRecord(
            method="cma",
            vectors=64,
            evaluations=640,
            evaluations_saved=100,
            start_score=110.0 / (number + 3),
            best_score=100.0 / (number + 3),
            history=tuple((64 * step, (110.0 - step) / (number + 3)) for step in range(1, 11)),
        ),
        outcomes=tuple(
            OutcomeRecord(
                split="train",
                instance=f"item {item}",
                score=(100.0 + item) / (number + 3),
                metrics={"fill_rate": 0.9 + item / (number + 30), "lost": item / 3},
            )
            for item in range(10)
        ),
        proposal=ProposalRecord(proposer="genetic", operator="patch", note="clamp the order by a new parameter"),
        level="full",
        compiled=True,
        seconds=0.25,
        cpu_seconds=0.2,
    )


def commits(archive: Archive, run: str, sizes: list[int]) -> None:
    """Commit up to the largest size; print what a commit costs just before each."""
    done = 0
    for size in sizes:
        last = min(400, size - done)
        spent = []
        for number in range(done, size):
            record, event = ticket(number), EventRecord(kind="commit", ticket=number)
            start = time.process_time()
            archive.commit(run, [record], events=[event])
            if number >= size - last:
                spent.append(time.process_time() - start)
        done = size
        print(f"{size:>7,} programs: {1e3 * statistics.median(spent):.2f} ms of CPU per commit", end="")
        path = Path(archive.where)
        bytes_used = sum(part.stat().st_size for part in path.parent.glob(path.name + "*")) if path.exists() else 0
        print(f", {bytes_used / 1e6:.1f} MB on disk with its log" if bytes_used else "")


def reads(archive: Archive, run: str, newest: int) -> None:
    """Print what it costs to read a run back."""
    jobs = {
        "all programs without outcomes": lambda: sum(1 for _ in archive.programs(run)),
        "all programs with outcomes": lambda: sum(1 for _ in archive.programs(run, outcomes=True)),
        "digest": lambda: archive.digest(run),
        "one program": lambda: archive.program(run, f"t{newest}"),
        "the ten best": lambda: archive.best(run, n=10),
        "tally": lambda: archive.tally(run),
        "children": lambda: archive.children(run, "t7"),
        "ancestors by first parents of t500": lambda: archive.ancestors(run, "t500", roles=("parent",)),
    }
    for name, job in jobs.items():
        times = []
        for _ in range(3):
            start = time.process_time()
            job()
            times.append(time.process_time() - start)
        print(f"  {name}: {1e3 * min(times):.1f} ms of CPU")


def opening(target: str) -> None:
    """Print what it costs to make and to open an archive, in fresh processes."""
    code = (
        "import sys, time; start = time.process_time(); from archive import Archive; imported = time.process_time(); "
        "Archive.open(sys.argv[1]).close(); opened = time.process_time(); Archive.open(sys.argv[1]).close(); "
        "print(imported - start, opened - imported, time.process_time() - opened)"
    )
    runs = []
    for trial in range(5):
        done = subprocess.run(
            [sys.executable, "-c", code, f"{target}.{trial}"], capture_output=True, text=True, check=True
        )
        runs.append([float(part) for part in done.stdout.split()])
    imported, made, opened = (1e3 * min(column) for column in zip(*runs, strict=True))
    print(
        f"import archive {imported:.0f} ms; make an archive {made:.0f} ms with SQLAlchemy; open it {opened:.1f} ms (CPU)"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 2,000 programs instead of 20,000")
    parser.add_argument("--url", help="measure this archive instead of a new SQLite file")
    options = parser.parse_args()
    sizes = [100, 2_000] if options.quick else [100, 2_000, 20_000]
    with tempfile.TemporaryDirectory() as folder:
        if not options.url:
            opening(str(Path(folder) / "opening.db"))
        target = options.url or str(Path(folder) / "evolve.db")
        with Archive.open(target) as archive:
            run = archive.create_run(problem="benchmark", seed=0, direction="minimize").id
            archive.claim(run)
            commits(archive, run, sizes)
            print(f"reading {sizes[-1]:,} programs:")
            reads(archive, run, sizes[-1] - 1)
        if not options.url:
            print(f"closed: {Path(target).stat().st_size / 1e6:.1f} MB in one file")


if __name__ == "__main__":
    main()
