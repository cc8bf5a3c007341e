"""A search on Zipkin's lost-sales bed, and how far its rules are from the optimum of each of the 32 cells.

    python benchmarks/zipkin_search.py [--tickets N] [--seed N] [--archive FILE --run NAME]

Runs `evolve run inventory --set bed=zipkin` (or goes on with a run, or reads a finished one), then takes the finalists and
the tuned baselines, each with the parameters it was tuned to, and computes their average cost in each cell from its Markov
chain, or by a long simulation where that does not fit. Programs run in locked processes, here as always.
"""

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np

from archive import Archive
from evolve.evaluation.layout import block_layout
from evolve.evaluation.rows import RowPolicy
from evolve.evaluation.tasks import Values
from evolve.program import read_program
from evolve.registry import load_problem
from evolve.search.finals import Finals
from evolve.session import Session
from evolve.settings import RunSettings
from problems.inventory.beds import cells
from problems.inventory.chain import as_decide
from problems.inventory.gap import Gap, gap, mean_gap
from sandbox import Sandbox

ROWS = 1024
MAX_STATES = 30_000
"""Of a rule in a cell; a larger chain takes longer than the simulation."""


def search(archive: Archive, run: str | None, tickets: int, seed: int) -> Finals:
    """Run the search, or see a run to its end."""
    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    session = Session(archive=archive, jobs=jobs)
    settings = RunSettings(problem="inventory", set={"bed": "zipkin"}, tickets=tickets, seed=seed)
    finals = (session.resume(run) if run else session.start(settings)).finals
    assert finals is not None
    return finals


def gaps(sandbox: Sandbox, source: str, values: Values) -> list[Gap]:
    """One program in all cells, each with its own parameters."""
    signature = load_problem("inventory", {"bed": "zipkin"}).signature
    program = read_program(source, signature.entry, signature.positional)
    width = next(argument.shape[0] for argument in signature.arguments if argument.name == "pipeline")
    found = []
    with sandbox.spawn(program.source, block_layout(signature, program.space), max_rows=ROWS, compiled=True) as child:
        for cell in cells("zipkin"):
            theta = program.space.warm_start(values.get(cell.name, {}))[None, :]
            rows = np.zeros(ROWS, dtype=np.intp)
            policy = RowPolicy(child, signature, theta=theta, vector=rows, instance=rows, instances=1)
            found.append(gap(as_decide(policy), cell, width=width, max_states=MAX_STATES))
    return found


def main() -> None:
    """Print a line per program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tickets", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--archive", type=Path, help="keep the run here, or find it here")
    parser.add_argument("--run", help="a run in the archive")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Archive.open(options.archive or Path(folder) / "zipkin.db") as archive,
    ):
        finals = search(archive, options.run, options.tickets, options.seed)
        print("program                      gap % (mean over 32 cells)   worst cell   exact cells   on holdout")
        with Sandbox() as sandbox:
            for final in [*finals.finalists, *finals.baselines]:
                found = gaps(sandbox, final.member.source, final.member.values)
                half = np.mean([(entry.high - entry.low) / 2 / entry.cell.reference for entry in found])
                worst = max(entry.relative for entry in found)
                exact = sum(entry.method == "exact" for entry in found)
                mean, holdout = 100 * mean_gap(found), 100 * (final.mean("holdout") - 1)
                print(f"{final.label:28} {mean:12.3f} ± {100 * half:.3f}       {100 * worst:11.2f} ", end="")
                print(f"{exact:11} {holdout:13.2f}", flush=True)


if __name__ == "__main__":
    main()
