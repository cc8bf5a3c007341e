"""Before a program leaves: it is scored once more, in a fresh process, on instances from a seed that its run did not use.

Where a problem draws its instances from the seed, these are new ones; where it reads them from data, they are the same,
and what is checked is that the program still comes to its score.
"""

import asyncio

from archive import Archive, ProgramRecord, RunRecord
from evolve.errors import ExportError
from evolve.evaluation.pool import Pool
from evolve.evaluation.tasks import Evaluation, ScoreTask, Setup, Status
from evolve.settings import RunSettings, validate

SEED_STEP = 1_000_003
"""From a run's seed to the fresh one."""


def refuse_marked(archive: Archive, run: RunRecord, record: ProgramRecord) -> None:
    """Refuse a finalist that was found out.

    Raises:
        ExportError: with what speaks against it.
    """
    for event in archive.events(run.id, "finalists"):
        mark = event.data["marked"].get(record.name)
        if mark:
            raise ExportError(f"{run.id}:{record.name} is not to be trusted: {mark}; --force writes it all the same")


def fresh_score(run: RunRecord, record: ProgramRecord, *, weak_sandbox: bool) -> tuple[int, float]:
    """Score on validation with a fresh seed.

    Returns:
        The seed and the mean score.

    Raises:
        ExportError: if it can no longer be scored.
        sandbox.SandboxUnavailable: if the machine cannot isolate it.
    """
    settings = validate(RunSettings, run.settings, f"run {run.id}")
    seed = (run.seed + SEED_STEP) % 2**63
    setup = Setup(
        problem=settings.problem,
        values=settings.set,
        seed=seed,
        limits=settings.limits,
        compile=settings.compile,
        weak_sandbox=weak_sandbox,
    )
    task = ScoreTask(source=record.source, values=record.values, splits=("validation",))
    evaluation = asyncio.run(_ask(setup, task))
    if evaluation.status is not Status.OK:
        raise ExportError(
            f"{run.id}:{record.name} fails when it is scored again ({evaluation.status}: {evaluation.reason})"
        )
    return seed, evaluation.scores["validation"]


async def _ask(setup: Setup, task: ScoreTask) -> Evaluation:
    async with Pool(setup, 1) as pool:
        return await pool.submit(task)
