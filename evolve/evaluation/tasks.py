"""What crosses between the main process and its workers. Both sides are trusted; a locked child never sees these."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evolve.problem import Outcome, Split
from evolve.settings import LimitSettings, TuningSettings
from evolve.space import Value

Values = Mapping[str, Mapping[str, Value]]
"""Parameters by group ("" if all instances share them), then by name."""


class Status(enum.StrEnum):
    """How a program's evaluation ended. A failure is a status, never a score."""

    OK = "ok"
    REFUSED = "refused"
    """the static layer, or the contract's form, does not let it run"""
    FAILED = "failed"
    """it raised, or answered with something else than a finite action"""
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    """its process ended without an answer"""
    EVALUATOR = "evaluator"
    """the problem's own code raised, crashed or hung: the program is not to blame"""
    DUPLICATE = "duplicate"
    """the same program, up to writing, is in the archive already"""
    NO_PROPOSAL = "no proposal"
    """the proposer wrote nothing that can be read"""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a worker needs to know once: which problem, with which settings, under which limits.

    Args:
        problem: reference for `registry.load_problem`.
        values: the problem's settings as given.
        seed: seed of the instances.
        limits: overrides of the problem's limits.
        compile: compile programs where it pays.
        weak_sandbox: go on where the machine offers less than process isolation.
        memory_mb: what the programs of all workers may use together.
        memory_account: file by which workers share that; None where the system has no such thing.
    """

    problem: str
    values: Mapping[str, Any]
    seed: int
    limits: LimitSettings
    compile: bool = True
    weak_sandbox: bool = False
    memory_mb: int | None = None
    memory_account: Path | None = None


@dataclass(frozen=True, kw_only=True)
class TuneTask:
    """Tune a program on train, then score it on train and validation.

    Args:
        source: the program.
        start: values to start from, by group; "" serves groups that have none of their own.
        tuning: how to tune.
        entropy: entropy of the tuner's random stream.
        spawn_key: spawn key of the tuner's random stream.
    """

    source: str
    start: Values
    tuning: TuningSettings
    entropy: int
    spawn_key: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ScoreTask:
    """Score a program with fixed parameters, in a fresh child.

    Args:
        source: the program.
        values: its parameters by group.
        splits: splits to score on.
        compiled: whether to compile it, as in the evaluation to compare with; None decides by the work to do.
        evidence: also record a trace on the last split and make the problem's evidence of it.
    """

    source: str
    values: Values
    splits: Sequence[Split]
    compiled: bool | None = None
    evidence: bool = False


Task = TuneTask | ScoreTask


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What the tuner did.

    Args:
        method: the method that ran (never `default`).
        vectors: parameter vectors tried, summed over groups.
        evaluations: evaluations spent on them.
        saved: evaluations that racing spared.
        start_score: mean score on train of the start values; None if they failed.
        best_score: mean score on train of the tuned values.
        history: pairs (evaluations, best mean score so far).
    """

    method: str
    vectors: int
    evaluations: int
    saved: int
    start_score: float | None
    best_score: float
    history: Sequence[tuple[int, float]]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The result of a task.

    Args:
        status: how it ended.
        kind: which rule was broken or which limit met, one word, where there is one.
        reason: one line for people and prompts where it did not end well.
        values: the parameters that the scores belong to.
        scores: mean score per split.
        outcomes: per split, instance key to outcome.
        evaluations: evaluations spent in all (one parameter vector on one instance is one).
        tuned: what the tuner did, if it ran.
        descriptors: behaviour coordinates.
        compiled: whether the program ran compiled.
        seconds: wall time.
        cpu_seconds: CPU time of worker and child.
        evidence: text and figures, if asked for.
    """

    status: Status
    kind: str = ""
    reason: str = ""
    values: Values = field(default_factory=dict)
    scores: Mapping[Split, float] = field(default_factory=dict)
    outcomes: Mapping[Split, Mapping[str, Outcome]] = field(default_factory=dict)
    evaluations: int = 0
    tuned: Tuned | None = None
    descriptors: Mapping[str, float] = field(default_factory=dict)
    compiled: bool = False
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    evidence: Any = None
