"""Evaluates one program: smoke test, tuning on train, scores on train and validation. Runs in a trusted worker process."""

import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from evolve.errors import EvolveError, ProgramError
from evolve.evaluation.forms import Block, RowOutcomes, run_block
from evolve.evaluation.layout import block_layout, child_limits
from evolve.evaluation.memory import default_megabytes
from evolve.evaluation.rows import Floats, Indices, Recorder
from evolve.evaluation.tasks import Evaluation, ScoreTask, Setup, Status, Task, Tuned, TuneTask, Values
from evolve.instances import instances_of
from evolve.problem import Evidence, Instance, Outcome, Problem, Split
from evolve.program import Program, read_program
from evolve.registry import load_problem
from evolve.space import Space
from sandbox import Child, ChildFailed, Level, Limits, MemoryBudget, Refused, Sandbox, SandboxError

COMPILE_FROM = 200_000
"""Row-steps per candidate from which compiling it pays: it costs about as much as that many plain steps."""

CHEAP_ROWS = 512
"""Rows up to which a block costs little more than a single row: the round trip is most of it."""

MAX_BATCH = 16
"""Most parameter vectors per block: the tuner learns only between blocks."""

HOPELESS = 30
"""Evaluations per group after which a program that has not succeeded in any is given up."""

MAX_ROWS = 1 << 15
"""Most rows in a block: more adds memory and no speed."""

_CHILD_STATUS = {
    "timeout": Status.TIMEOUT,
    "cpu": Status.TIMEOUT,
    "memory": Status.MEMORY,
    "sandbox": Status.EVALUATOR,
}


class ProgramFailed(Exception):  # noqa: N818 - ends an evaluation with a status
    """The program cannot be scored."""

    def __init__(self, status: Status, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


class Grouping:
    """Which instances share parameters.

    Args:
        instances: the instances of a split.
        per_group: whether each group has its own parameters.
    """

    def __init__(self, instances: Sequence[Instance], *, per_group: bool) -> None:
        labels = [instance.group if per_group else "" for instance in instances]
        self.names = tuple(dict.fromkeys(labels))
        position = {name: index for index, name in enumerate(self.names)}
        self.of_instance: Indices = np.array([position[label] for label in labels], dtype=np.intp)

    def theta(self, space: Space, values: Values) -> Floats:
        """One parameter vector per group, shape *(groups, width)*; groups without values take those of "", then defaults."""
        shared = values.get("", {})
        return np.stack([space.warm_start(values.get(name, shared)) for name in self.names])


class Evaluator:
    """Holds a problem, its instances and a sandbox.

    Args:
        setup: which problem, with which settings, under which limits.

    Raises:
        EvolveError: if the problem cannot be loaded.
        sandbox.SandboxUnavailable: if the machine offers less isolation than asked for.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.problem: Problem[Any, Any] = load_problem(setup.problem, dict(setup.values))
        required = Level.LANGUAGE_ONLY if setup.weak_sandbox else Level.OS_PARTIAL
        self.sandbox = Sandbox(require=required, budget=_budget(setup))
        self.level = self.sandbox.level
        self._instances: dict[Split, Sequence[Instance]] = {}

    def close(self) -> None:
        """End the sandbox."""
        self.sandbox.close()

    def run(self, task: Task) -> Evaluation:
        """Do a task; whatever the program does comes back as a status."""
        began, cpu = time.perf_counter(), _cpu_seconds()
        try:
            evaluation = self._run_again_if_lost(task)
        except ProgramError as refusal:
            evaluation = Evaluation(status=Status.REFUSED, kind=refusal.kind, reason=str(refusal))
        except Refused as refusal:
            evaluation = Evaluation(status=Status.REFUSED, kind=refusal.rule, reason=str(refusal))
        except ProgramFailed as failure:
            evaluation = Evaluation(status=failure.status, reason=failure.reason)
        except ChildFailed as failure:
            status = _CHILD_STATUS.get(failure.kind, Status.CRASHED)
            evaluation = Evaluation(status=status, kind=failure.kind, reason=str(failure))
        except (EvolveError, SandboxError) as error:
            evaluation = Evaluation(status=Status.EVALUATOR, reason=str(error))
        except Exception as error:  # noqa: BLE001 - a plug-in's own code may raise anything: it costs one evaluation
            reason = f"{self.problem.name} raised {type(error).__name__}: {error}"
            evaluation = Evaluation(status=Status.EVALUATOR, reason=reason)
        return replace(evaluation, seconds=time.perf_counter() - began, cpu_seconds=_cpu_seconds() - cpu)

    def _run_again_if_lost(self, task: Task) -> Evaluation:
        """A sandbox that somebody ended from outside is no fault of the program, nor may the result depend on it."""
        try:
            return self._run(task)
        except ChildFailed as failure:
            if failure.kind != "sandbox":
                raise
        return self._run(task)

    def _run(self, task: Task) -> Evaluation:
        signature = self.problem.signature
        program = read_program(task.source, signature.entry, signature.positional)
        if isinstance(task, TuneTask):
            return self._tune_and_score(program, task)
        return self._score(program, task)

    def instances(self, split: Split) -> Sequence[Instance]:
        """The instances of a split, made once."""
        if split not in self._instances:
            self._instances[split] = instances_of(self.problem, split, self.setup.seed)
        return self._instances[split]

    @cached_property
    def _limits(self) -> Limits:
        return child_limits(self.problem.limits, self.setup.limits)

    def _spawn(self, program: Program, row_steps: float, *, compiled: bool | None = None) -> Child:
        layout = block_layout(self.problem.signature, program.space)
        if compiled is None:
            compiled = self.setup.compile and row_steps >= COMPILE_FROM
        return self.sandbox.spawn(program.source, layout, limits=self._limits, max_rows=MAX_ROWS, compiled=compiled)

    # -- tuning

    def _tune_and_score(self, program: Program, task: TuneTask) -> Evaluation:
        train = self.instances("train")
        per_group = self._per_group(task)
        grouping = Grouping(train, per_group=per_group)
        tunes = task.tuning.method != "none" and task.tuning.vectors > 1 and program.space.width > 0
        vectors = task.tuning.vectors if tunes else 1
        row_steps = float(vectors * len(train) * self.problem.decisions)
        with self._spawn(program, row_steps) as child:
            runner = _Runner(self.problem, child, train)
            start = program.space.rounded(grouping.theta(program.space, task.start))
            tuned: Tuned | None = None
            theta = start
            if tunes:
                tuned, theta = self._tune(program, task, runner, grouping, start)
            values = _values(program.space, grouping, theta)
            evaluation = self._score_splits(program, child, values, ("train", "validation"), per_group=per_group)
            return replace(
                evaluation,
                tuned=tuned,
                evaluations=evaluation.evaluations + runner.evaluations,
                descriptors=self._descriptors(evaluation),
                compiled=child.ready.compiled,
            )

    def _per_group(self, task: TuneTask) -> bool:
        return self.problem.tune_per_group if task.tuning.per == "problem" else task.tuning.per == "group"

    def _tune(
        self, program: Program, task: TuneTask, runner: "_Runner", grouping: Grouping, start: Floats
    ) -> tuple[Tuned, Floats]:
        from evolve.tuning import Racing, initial_spread, make_tuner, tune

        sign = 1.0 if self.problem.direction == "minimize" else -1.0
        of_tuner, of_racing = np.random.SeedSequence(entropy=task.entropy, spawn_key=task.spawn_key).spawn(2)
        tuner = make_tuner(
            task.tuning.method,
            program.space,
            groups=len(grouping.names),
            start=start,
            budget=task.tuning.vectors,
            batch=task.tuning.batch or _batch(len(runner.instances), len(grouping.names)),
            seed=of_tuner,
            spread=initial_spread(program.space, {name for values in task.start.values() for name in values}),
        )

        def losses(theta: Floats, vector: Indices, instance: Indices) -> Floats:
            scores = runner.run(theta, vector, instance).score
            if runner.succeeded == 0 and runner.evaluations >= HOPELESS * len(grouping.names):
                raise ProgramFailed(Status.FAILED, runner.failure)
            return sign * scores

        result = tune(
            tuner,
            losses,
            group_of_instance=grouping.of_instance,
            racing=Racing() if task.tuning.racing else None,
            seed=of_racing,
        )
        if not np.isfinite(result.scores).all() or not np.isfinite(result.scores.mean()):
            raise ProgramFailed(Status.FAILED, runner.failure or "no parameter vector has a finite mean score on train")
        tuned = Tuned(
            method=result.method,
            vectors=result.vectors,
            evaluations=result.evaluations,
            saved=result.evaluations_saved,
            start_score=sign * result.start_score if np.isfinite(result.start_score) else None,
            best_score=sign * float(result.scores.mean()),
            history=[(count, sign * best) for count, best in result.history],
        )
        return tuned, program.space.rounded(result.theta)

    # -- scoring

    def _score(self, program: Program, task: ScoreTask) -> Evaluation:
        rows = sum(len(self.instances(split)) for split in task.splits)
        per_group = set(task.values) != {""} and bool(task.values)
        with self._spawn(program, float(rows * self.problem.decisions), compiled=task.compiled) as child:
            evaluation = self._score_splits(program, child, task.values, task.splits, per_group=per_group)
            evidence = None
            if task.evidence:
                evidence = self._evidence(program, child, task.values, per_group=per_group)
            return replace(evaluation, compiled=child.ready.compiled, evidence=evidence)

    def _score_splits(
        self, program: Program, child: Child, values: Values, splits: Sequence[Split], *, per_group: bool
    ) -> Evaluation:
        outcomes: dict[Split, dict[str, Outcome]] = {}
        scores: dict[Split, float] = {}
        for split in splits:
            instances = self.instances(split)
            grouping = Grouping(instances, per_group=per_group)
            runner = _Runner(self.problem, child, instances)
            rows = runner.run(grouping.theta(program.space, values), grouping.of_instance, np.arange(len(instances)))
            if np.isnan(rows.score).any():
                raise ProgramFailed(Status.FAILED, f"on {split}: {rows.failure}")
            outcomes[split] = _outcomes(instances, rows)
            scores[split] = float(rows.score.mean())
            if not np.isfinite(scores[split]):
                raise ProgramFailed(Status.FAILED, f"on {split}: the mean of the scores is {scores[split]}")
        count = sum(len(per_split) for per_split in outcomes.values())
        return Evaluation(status=Status.OK, values=values, scores=scores, outcomes=outcomes, evaluations=count)

    def _descriptors(self, evaluation: Evaluation) -> Mapping[str, float]:
        described = self.problem.descriptors(list(evaluation.outcomes["train"].values()))
        return {name: float(value) for name, value in described.items()}

    def _evidence(self, program: Program, child: Child, values: Values, *, per_group: bool) -> Evidence | None:
        instances = self.instances("validation")
        grouping = Grouping(instances, per_group=per_group)
        runner = _Runner(self.problem, child, instances)
        theta = grouping.theta(program.space, values)
        rows = runner.run(theta, grouping.of_instance, np.arange(len(instances)), record=True)
        if rows.trace is None or np.isnan(rows.score).any():
            return None
        return self.problem.evidence(list(_outcomes(instances, rows).values()), rows.trace)


class _Runner:
    """Runs rows of one program on one set of instances, in blocks of bounded size, and counts them."""

    def __init__(self, problem: Problem[Any, Any], child: Child, instances: Sequence[Instance]) -> None:
        self.problem, self.child, self.instances = problem, child, instances
        self.evaluations = self.succeeded = 0
        self.failure = ""

    def run(self, theta: Floats, vector: Indices, instance: Indices, *, record: bool = False) -> RowOutcomes:
        """Score rows: row r runs `theta[vector[r]]` on `instances[instance[r]]`."""
        parts = []
        for first in range(0, len(vector), MAX_ROWS):
            part = slice(first, first + MAX_ROWS)
            recorder = Recorder(self.problem.signature) if record else None
            block = Block(self.child, theta, vector[part], instance[part], self.instances, recorder)
            parts.append(run_block(self.problem, block))
        self.evaluations += len(vector)
        outcomes = parts[0] if len(parts) == 1 else _joined(parts)
        self.succeeded += int(np.isfinite(outcomes.score).sum())
        self.failure = self.failure or outcomes.failure
        return outcomes


def _joined(parts: Sequence[RowOutcomes]) -> RowOutcomes:
    names = set.intersection(*(set(part.metrics) for part in parts))
    return RowOutcomes(
        score=np.concatenate([part.score for part in parts]),
        metrics={name: np.concatenate([part.metrics[name] for part in parts]) for name in sorted(names)},
        failure=next((part.failure for part in parts if part.failure), ""),
    )


def _outcomes(instances: Sequence[Instance], rows: RowOutcomes) -> dict[str, Outcome]:
    columns = {name: values.tolist() for name, values in rows.metrics.items()}
    return {
        instance.key: Outcome(score=score, metrics={name: column[row] for name, column in columns.items()})
        for row, (instance, score) in enumerate(zip(instances, rows.score.tolist(), strict=True))
    }


def _budget(setup: Setup) -> MemoryBudget | None:
    if setup.memory_account is None:
        return None
    return MemoryBudget(setup.memory_account, setup.memory_mb or default_megabytes())


def _batch(instances: int, groups: int) -> int | None:
    """Vectors per block: a step costs nearly the same up to some hundred rows, so small sets of instances get more."""
    if groups > 1 or instances >= CHEAP_ROWS:
        return None
    return min(MAX_BATCH, -(-CHEAP_ROWS // instances))


def _values(space: Space, grouping: Grouping, theta: Floats) -> Values:
    return {name: space.decode(row) for name, row in zip(grouping.names, theta, strict=True)}


def _cpu_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
