"""The three forms of the contract, each turned into the same thing: scores and metrics of a block of rows.

A row that failed has a NaN score here and its reason beside it; this never leaves the evaluation as a number.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.errors import EvaluationError
from evolve.evaluation.rows import AllRowsFailed, CallPolicy, Floats, Indices, Recorder, RowPolicy
from evolve.problem import Argument, Instance, Observation, Outcome, Outcomes, Per, Problem, Trace
from sandbox import Child


@dataclass(slots=True)
class RowOutcomes:
    """What each row of a block came to.

    Args:
        score: shape *(rows,)*; NaN where the row failed.
        metrics: shape *(rows,)* each.
        failure: the first failure of the block, or empty.
        trace: what the block saw and did, if recorded.
    """

    score: Floats
    metrics: dict[str, Floats] = field(default_factory=dict)
    failure: str = ""
    trace: Trace | None = None


@dataclass(slots=True)
class Block:
    """A locked program, and which rows to run: `vector` and `instance` index `theta` and `instances`."""

    child: Child
    theta: Floats
    vector: Indices
    instance: Indices
    instances: Sequence[Instance]
    recorder: Recorder | None = None

    def __len__(self) -> int:
        return len(self.vector)


def run_block(problem: Problem[Any, Any], block: Block) -> RowOutcomes:
    """Run a block through the form that the problem overrides.

    Raises:
        EvaluationError: if the problem's own code raises or returns what the contract does not allow.
        sandbox.ChildFailed: if the program's process is gone.
    """
    try:
        outcomes = _FORMS[form_of(problem)](problem, block)
    except AllRowsFailed as failure:
        return RowOutcomes(np.full(len(block), np.nan), failure=str(failure))
    if block.recorder is not None:
        outcomes.trace = block.recorder.trace([block.instances[index] for index in block.instance])
    return outcomes


def form_of(problem: Problem[Any, Any]) -> str:
    """Which of `episode`, `evaluate` and `evaluate_one` the problem overrides.

    Raises:
        EvaluationError: unless it is exactly one.
    """
    own = [form for form in _FORMS if getattr(type(problem), form) is not getattr(Problem, form)]
    if len(own) != 1:
        raise EvaluationError(
            f"problem {problem.name} must override exactly one of {', '.join(_FORMS)}, not {', '.join(own) or 'none'}"
        )
    return own[0]


def _run_evaluate(problem: Problem[Any, Any], block: Block) -> RowOutcomes:
    policy = RowPolicy(
        block.child,
        problem.signature,
        theta=block.theta,
        vector=block.vector,
        instance=block.instance,
        instances=len(block.instances),
        recorder=block.recorder,
    )
    outcomes = problem.evaluate(policy, block.instances)
    if not isinstance(outcomes, Outcomes):
        raise EvaluationError(f"{problem.name}.evaluate must return Outcomes, not {type(outcomes).__name__}")
    score = _column(problem, "score", outcomes.score, len(block))
    metrics = {name: _column(problem, name, values, len(block)) for name, values in outcomes.metrics.items()}
    return _settle(problem, score, metrics, policy.failed, policy.error)


def _column(problem: Problem[Any, Any], name: str, values: NDArray[Any], rows: int) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (rows,):
        raise EvaluationError(f"{problem.name}: {name} must have shape ({rows},), one per row, not {column.shape}")
    return column


def _settle(
    problem: Problem[Any, Any], score: Floats, metrics: dict[str, Floats], failed: NDArray[np.bool_], error: str
) -> RowOutcomes:
    bad = ~np.isfinite(score) & ~failed
    if bad.any():
        row = int(bad.argmax())
        raise EvaluationError(
            f"{problem.name}: the score of row {row} is {score[row]!r}; a failed row is marked by the framework, "
            "all others need a finite score"
        )
    return RowOutcomes(np.where(failed, np.nan, score), metrics, error)


def _run_one(problem: Problem[Any, Any], block: Block) -> RowOutcomes:
    results: list[Outcome | None] = []
    for vector, instance in zip(block.vector.tolist(), block.instance.tolist(), strict=True):
        policy = CallPolicy(block.child, problem.signature, block.theta[vector])
        try:
            results.append(problem.evaluate_one(policy, block.instances[instance]))
        except AllRowsFailed as failure:
            results.append(Outcome(score=np.nan, failure=str(failure)))
    return _gather(problem, results)


def _gather(problem: Problem[Any, Any], returned: Sequence[Outcome | None]) -> RowOutcomes:
    """Outcomes of single rows as columns."""
    results = [result for result in returned if isinstance(result, Outcome)]
    if len(results) < len(returned):
        wrong = next(result for result in returned if not isinstance(result, Outcome))
        raise EvaluationError(f"{problem.name}: a row must return an Outcome, not {type(wrong).__name__}")
    failed = np.array([result.failure is not None for result in results], dtype=np.bool_)
    score = np.array([np.nan if result.failure is not None else float(result.score) for result in results])
    names = dict.fromkeys(name for result in results for name in result.metrics)
    metrics = {name: np.array([float(result.metrics.get(name, np.nan)) for result in results]) for name in names}
    error = next((result.failure for result in results if result.failure is not None), "")
    return _settle(problem, score, metrics, failed, error)


def _run_episodes(problem: Problem[Any, Any], block: Block) -> RowOutcomes:
    results: list[Outcome | None] = [None] * len(block)
    memory = np.zeros((len(block), problem.signature.memory))
    started = [
        _Episode(row, problem.episode(block.instances[instance]), memory[row])
        for row, instance in enumerate(block.instance.tolist())
    ]
    live, asked = _advance(started, [None] * len(started), results)
    while live:
        live, asked = _run_in_step(problem, block, live, asked, results)
    return _gather(problem, results)


class _Episode:
    """One row's generator and what its program remembers."""

    __slots__ = ("generator", "memory", "row", "send")

    def __init__(self, row: int, generator: Generator[Observation, Any, Outcome], memory: Floats) -> None:
        self.row, self.generator, self.memory = row, generator, memory
        self.send = generator.send


_Asked = tuple[list[_Episode], list[Observation]]
"""Episodes that go on, and what each of them asks."""


def _run_in_step(
    problem: Problem[Any, Any],
    block: Block,
    live: list[_Episode],
    asked: list[Observation],
    results: list[Outcome | None],
) -> _Asked:
    """Advance these episodes together until one ends; what is left comes back, to be bound anew."""
    signature = problem.signature
    rows = np.array([episode.row for episode in live])
    memory = np.stack([episode.memory for episode in live]) if signature.memory else None
    # Every episode counts as an instance of its own here, so that arguments per instance are gathered as those per row.
    policy = RowPolicy(
        block.child,
        signature,
        theta=block.theta,
        vector=block.vector[rows],
        instance=np.arange(len(rows)),
        instances=len(rows),
        recorder=block.recorder,
        memory=memory,
    )
    going = live
    while len(going) == len(live):
        try:
            answer = policy(**_gather_observations(problem, asked))
        except AllRowsFailed as failure:
            for episode in live:
                _fail(episode, str(failure), results)
            return [], []
        going, asked = _answer(live, answer, policy, results)
    if policy.memory is not None:
        for episode, kept in zip(live, policy.memory, strict=True):
            episode.memory = kept
    return going, asked


def _gather_observations(problem: Problem[Any, Any], asked: Sequence[Observation]) -> dict[str, Any]:
    """One array per argument; an argument of the whole block is taken from the first episode."""
    arguments = problem.signature.arguments
    try:
        return {
            argument.name: asked[0][argument.name] if argument.per is Per.BLOCK else _over_rows(argument, asked)
            for argument in arguments
        }
    except (KeyError, TypeError, ValueError, IndexError) as error:
        names = ", ".join(f"{argument.name}=…" for argument in arguments)
        raise EvaluationError(
            f"{problem.name}.episode must yield observe({names}); it yielded something else ({error!r})"
        ) from error


def _over_rows(argument: Argument, asked: Sequence[Observation]) -> NDArray[Any]:
    values = map(itemgetter(argument.name), asked)
    if argument.shape:
        return np.array(list(values))
    return np.fromiter(values, argument.dtype, len(asked))


def _answer(live: list[_Episode], actions: NDArray[Any], policy: RowPolicy, results: list[Outcome | None]) -> _Asked:
    """Send every episode its action (a plain number where it is one); end those whose program failed."""
    answers = actions.tolist() if actions.ndim == 1 else list(actions)
    if not policy.error:
        return _advance(live, answers, results)
    kept, kept_answers = [], []
    for episode, answer, failed in zip(live, answers, policy.failed.tolist(), strict=True):
        if failed:
            _fail(episode, policy.error, results)
        else:
            kept.append(episode)
            kept_answers.append(answer)
    return _advance(kept, kept_answers, results)


def _advance(live: list[_Episode], answers: Sequence[Any], results: list[Outcome | None]) -> _Asked:
    """Send each episode its action; keep those that ask again. This is the inner loop of every scalar simulator."""
    asked: list[Observation] = []
    ended: set[int] = set()
    for episode, answer in zip(live, answers, strict=True):
        try:
            asked.append(episode.send(answer))
        except StopIteration as stop:
            results[episode.row] = stop.value
            ended.add(episode.row)
    going = [episode for episode in live if episode.row not in ended] if ended else live
    return going, asked


def _fail(episode: _Episode, failure: str, results: list[Outcome | None]) -> None:
    episode.generator.close()
    results[episode.row] = Outcome(score=np.nan, failure=failure)


_FORMS = {"episode": _run_episodes, "evaluate": _run_evaluate, "evaluate_one": _run_one}
