"""What the engine itself costs: CPU per committed ticket, with a proposer and an evaluator that cost nothing.

Everything else is real: every candidate gets a locked process of its own, is read, checked, run and archived.

    python benchmarks/overhead.py [--quick] [--jobs 2]
"""

import argparse
import asyncio
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from archive import Archive, ProgramRecord
from evolve.evaluation.pool import Pool
from evolve.evaluation.tasks import Setup
from evolve.program import read_program
from evolve.proposers.base import Proposal, Request
from evolve.registry import load_problem
from evolve.search.credit import Credit
from evolve.search.engine import Engine
from evolve.search.state import SearchState
from evolve.settings import IslandSettings, RunSettings, TuningSettings

PROBLEM = '''
"""A decision that costs nothing to score."""
from evolve.problem import Action, Argument, Instance, Outcome, Problem, Signature


class Free(Problem):
    """Free."""

    name = "free"

    @property
    def signature(self):
        x = Argument(name="x", meaning="a number")
        return Signature(entry="rule", arguments=(x,), action=Action(meaning="a number"))

    def seeds(self):
        return {"zero": "def rule(x):\\n    return 0.0"}

    def instances(self, split, seed):
        return [Instance(key=f"{split}-{number}") for number in range(4)]

    def evaluate_one(self, policy, instance):
        return Outcome(score=abs(float(policy(x=2.0)) - 7.0))
'''

BODY = """def rule(x):
    level = {a} + x * {b}
    if x > {c}:
        level = min(level, {a} * 2.0)
    total = 0.0
    for step in range(3):
        total = total + level / (1.0 + step)
    return max(0.0, total - {c})
"""


class Free:
    """Writes a new ten-line program each time."""

    name = "free"
    operators: ClassVar = {"new": 1.0}

    async def propose(self, request: Request) -> Proposal:
        """A program with the ticket's number in its literals."""
        number = request.ticket
        source = BODY.format(a=f"{number}.5", b=f"0.{number + 1}", c=f"{number % 7}.25")
        return Proposal(source=source, operator="new", parents=(request.parent.name,))


@dataclass
class Meter:
    """Notes CPU and wall time when a number of tickets has been committed."""

    marks: tuple[int, ...]
    rows: list[tuple[int, float, float]]

    def committed(self, record: ProgramRecord) -> None:
        """Called for every commit."""
        committed = record.number + 1 if record.role == "ticket" else 0
        if committed in self.marks or record.name == "s0":
            self.rows.append((committed, cpu_of_tree(), time.perf_counter()))


def cpu_of_tree() -> float:
    """CPU seconds of this process and all its descendants, ended ones included (Linux)."""
    parents, times = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(entry.name)
        parents[pid] = int(fields[1])
        times[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total, me = 0.0, os.getpid()
    for pid, seconds in times.items():
        above = pid
        while above not in (me, 0, 1) and above in parents:
            above = parents[above]
        total += seconds if above == me else 0.0
    return total


async def measure(marks: tuple[int, ...], jobs: int, folder: Path) -> tuple[Meter, int]:
    """Run as many tickets as the last mark says."""
    plugin = folder / "free.py"
    plugin.write_text(PROBLEM)
    settings = RunSettings(
        problem=str(plugin), tickets=marks[-1], tuning=TuningSettings(method="none"), islands=IslandSettings(count=4)
    )
    problem = load_problem(settings.problem, {})
    signature = problem.signature
    state = SearchState(
        settings=settings,
        maximize=False,
        credit=Credit(weights=Free.operators),
        read=lambda source: read_program(source, signature.entry, signature.positional),
        extract=lambda *_: [],
    )
    meter = Meter(marks, [])
    setup = Setup(problem=settings.problem, values={}, seed=0, limits=settings.limits)
    path = folder / "free.db"
    with Archive.open(path) as archive:
        run = archive.create_run(problem="free", seed=0, direction="minimize")
        async with Pool(setup, jobs) as pool:
            engine = Engine(
                problem=problem,
                settings=settings,
                archive=archive,
                run=run.id,
                state=state,
                proposer=Free(),
                evaluate=pool.submit,
                level=str(pool.level),
                notify=meter.committed,
            )
            await engine.search()
    assert state.statuses["ok"] == marks[-1] + 1, state.reasons
    return meter, path.stat().st_size


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 tickets only")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    marks = (50, 100) if options.quick else (100, 500, 1000, 1500, 2000)
    with tempfile.TemporaryDirectory() as folder:
        meter, size = asyncio.run(measure(marks, options.jobs, Path(folder)))
    print(f"{options.jobs} workers, a locked process per candidate")
    print("tickets        CPU ms/ticket   tickets/s")
    for (first, cpu0, wall0), (last, cpu1, wall1) in zip(meter.rows, meter.rows[1:], strict=False):
        count = last - first
        print(f"{first:5d} – {last:5d}   {1000 * (cpu1 - cpu0) / count:8.2f}      {count / (wall1 - wall0):8.0f}")
    print(f"archive: {size / 1e6:.2f} MB at {meter.rows[-1][0]} programs")


if __name__ == "__main__":
    main()
