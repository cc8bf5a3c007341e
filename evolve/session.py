"""A run from outside: start it or resume it, watch it, and get its result. The command line is a thin layer over this."""

import asyncio
import hashlib
import importlib.metadata
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from archive import Archive, ProgramRecord, RunRecord
from evolve.errors import RunError
from evolve.evaluation.pool import Pool
from evolve.evaluation.tasks import Setup
from evolve.instances import data_digest, instances_of
from evolve.problem import Problem, Split
from evolve.program import read_program
from evolve.proposers.base import Proposer
from evolve.proposers.genetic import Genetic, extract_skills
from evolve.registry import load_problem
from evolve.search.credit import Credit
from evolve.search.engine import Engine
from evolve.search.finals import Finals, run_finals
from evolve.search.state import SearchState
from evolve.settings import RunSettings, validate


class Observer:
    """Watches a run: a progress display, a log. This one looks away; override what you want to be told."""

    def started(self, run: RunRecord, settings: RunSettings, state: SearchState) -> None:
        """The workers are up; `state` is live and may be read at any later call."""

    def committed(self, record: ProgramRecord) -> None:
        """One more program is archived; also told of archived ones while a resumed run catches up."""

    def finishing(self) -> None:
        """The tickets are done; the finalists are scored once more."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended.

    Args:
        run: its record.
        problem: the problem, for names and instances.
        settings: what it was asked to do.
        state: the final state of its search.
        finals: finalists and baselines on all splits; None if nothing could be scored.
    """

    run: RunRecord
    problem: Problem[Any, Any]
    settings: RunSettings
    state: SearchState = field(repr=False)
    finals: Finals | None = None


@dataclass(frozen=True, kw_only=True)
class Session:
    """How runs are driven, whatever they search for.

    Args:
        archive: where they go.
        jobs: worker processes; the result does not depend on it.
        observer: told of progress.
        weak_sandbox: run even where the machine cannot isolate programs by process.
        memory_mb: what the programs of all workers may use together; None: three quarters of the machine.
    """

    archive: Archive
    jobs: int
    observer: Observer = field(default_factory=Observer)
    weak_sandbox: bool = False
    memory_mb: int | None = None

    def start(self, settings: RunSettings) -> Result:
        """Start a run and see it to its end.

        Raises:
            EvolveError, sandbox.SandboxError, archive.ArchiveError: what keeps it from starting or going on.
            KeyboardInterrupt: when it was interrupted; it is marked as such and can be resumed.
        """
        problem = load_problem(settings.problem, settings.set)
        run = self.archive.create_run(
            problem=problem.name,
            seed=settings.seed,
            direction=problem.direction,
            settings=settings.model_dump(mode="json"),
            facts={"versions": _versions(), "data": _data_digest(problem, settings.seed)},
        )
        return self._drive(run, problem, settings)

    def resume(self, name: str) -> Result:
        """Go on with a run where its archive ends; a finished run comes back as it is.

        Raises:
            EvolveError, sandbox.SandboxError, archive.ArchiveError: what keeps it from going on.
            KeyboardInterrupt: when it was interrupted again.
        """
        run = self.archive.run(name)
        settings = validate(RunSettings, run.settings, f"settings of run {run.id}")
        problem = load_problem(settings.problem, settings.set)
        found, before = _data_digest(problem, settings.seed), run.facts.get("data")
        if found != before:
            raise RunError(
                f"run {run.id} was started on other data, or on another version of problem {problem.name} "
                f"(digest {before} then, {found} now): it cannot go on; start a new run"
            )
        return self._drive(run, problem, settings)

    def _drive(self, run: RunRecord, problem: Problem[Any, Any], settings: RunSettings) -> Result:
        proposer = _proposer(settings)
        state = _state(problem, settings, proposer)
        with self._claimed(run):
            finals = asyncio.run(self._search(run, problem, settings, state, proposer))
        return Result(run=self.archive.run(run.id), problem=problem, settings=settings, state=state, finals=finals)

    @contextmanager
    def _claimed(self, run: RunRecord) -> Iterator[None]:
        """Own the run, and leave it with the status that tells how it ended."""
        archive = self.archive
        archive.claim(run.id)
        try:
            archive.set_status(run.id, "running")
            yield
        except (KeyboardInterrupt, asyncio.CancelledError):
            archive.set_status(run.id, "interrupted", "stopped by the user")
            raise
        except RunError as error:
            archive.set_status(run.id, "failed", str(error))
            raise
        else:
            archive.set_status(run.id, "finished")
        finally:
            archive.release(run.id)

    async def _search(
        self,
        run: RunRecord,
        problem: Problem[Any, Any],
        settings: RunSettings,
        state: SearchState,
        proposer: Proposer,
    ) -> Finals | None:
        async with Pool(self._setup(settings), self.jobs) as pool:
            self.observer.started(run, settings, state)
            engine = Engine(
                problem=problem,
                settings=settings,
                archive=self.archive,
                run=run.id,
                state=state,
                proposer=proposer,
                evaluate=pool.submit,
                level=str(pool.level),
                notify=self.observer.committed,
            )
            beating = asyncio.ensure_future(self._beat(run.id))
            try:
                await engine.search()
                self.observer.finishing()
                return await run_finals(
                    self.archive, run.id, problem=problem, settings=settings, state=state, evaluate=pool.submit
                )
            finally:
                beating.cancel()

    def _setup(self, settings: RunSettings) -> Setup:
        return Setup(
            problem=settings.problem,
            values=settings.set,
            seed=settings.seed,
            limits=settings.limits,
            compile=settings.compile,
            weak_sandbox=self.weak_sandbox,
            memory_mb=self.memory_mb,
        )

    async def _beat(self, run: str) -> None:
        """Show that this process is alive even while one evaluation takes minutes."""
        while True:
            await asyncio.sleep(5.0)
            self.archive.beat(run)


def _proposer(settings: RunSettings) -> Proposer:
    assert settings.proposer == "genetic"
    return Genetic()


def _state(problem: Problem[Any, Any], settings: RunSettings, proposer: Proposer) -> SearchState:
    signature = problem.signature
    return SearchState(
        settings=settings,
        maximize=problem.direction == "maximize",
        credit=Credit(weights=proposer.operators),
        read=lambda source: read_program(source, signature.entry, signature.positional),
        extract=lambda parent, child: extract_skills(parent, child, signature),
    )


def _versions() -> Mapping[str, str]:
    """Versions of everything whose change may change a number."""
    packages = ("evolve-policies", "numpy", "scipy", "numba", "nevergrad", "RestrictedPython")
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _data_digest(problem: Problem[Any, Any], seed: int) -> str:
    """Identity of the train and validation instances: a run is only resumed on the data it was started on."""
    splits: tuple[Split, ...] = ("train", "validation")
    instances_of(problem, "holdout", seed)  # that there are some is better known now than after the search
    parts = [problem.name, problem.version, *(data_digest(instances_of(problem, split, seed)) for split in splits)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]
