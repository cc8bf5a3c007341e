"""The contract between a problem (a plug-in) and the engine.

A problem says what to decide, on which instances, and how a decision rule is scored. Programs are written for *one*
decision and run on *blocks* of rows: row = one parameter vector on one instance. The problem's own code is trusted: it
owns the state, the random numbers and the score. The program is locked up; all it can do is answer a block of
observations with a block of actions, so the score cannot be forged.

How a rule is scored comes in three forms. A problem overrides exactly one of

- `episode(instance)`: a generator for one instance; the framework advances all rows together;
- `evaluate(policy, instances)`: numpy over rows, for speed;
- `evaluate_one(policy, instance)`: calls the policy directly, from inside a foreign library's callback.

Plug-ins import from here (or from `evolve`) and from nothing else of the engine.
"""

import enum
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from evolve.errors import ProblemError
from sandbox import Limits

__all__ = [
    "SPLITS",
    "Action",
    "Argument",
    "Array",
    "Direction",
    "Dtype",
    "Evidence",
    "Figure",
    "Instance",
    "Limits",
    "Observation",
    "Outcome",
    "Outcomes",
    "Per",
    "Policy",
    "Problem",
    "ProblemError",
    "ProblemSettings",
    "Signature",
    "Split",
    "Trace",
    "observe",
]

Array = NDArray[Any]
Direction = Literal["minimize", "maximize"]
Dtype = Literal["float", "int", "bool"]
Split = Literal["train", "validation", "holdout"]
SPLITS: tuple[Split, ...] = ("train", "validation", "holdout")


class Per(enum.StrEnum):
    """How often an observation differs within a block."""

    ROW = "row"
    """each row has its own, as stock on hand does"""
    INSTANCE = "instance"
    """all parameter vectors on one instance see the same, as a demand history"""
    BLOCK = "block"
    """one for the whole block, as the calendar or the results so far"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One positional argument of the entry function: what the program may observe.

    Args:
        name: as in the signature.
        meaning: one phrase for the prompt and the docs, for example "units in stock before ordering".
        unit: for example "units", "days"; empty if it has none.
        dtype: what one element is in the program: `float`, `int` or `bool`.
        shape: () for a number, (7,) for an array of seven, (None,) for an array whose length varies from call to call.
        per: whether rows, instances or the whole block have their own.
        low: smallest plausible value; documents the argument and bounds the random rows of self-checks.
        high: largest plausible value.
    """

    name: str
    meaning: str
    unit: str = ""
    dtype: Dtype = "float"
    shape: tuple[int | None, ...] = ()
    per: Per = Per.ROW
    low: float = 0.0
    high: float = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What the program returns for one decision.

    Args:
        meaning: one phrase, for example "units to order now".
        unit: for example "units".
        dtype: `float`, `int` or `bool`.
        shape: () for a number, (n,) for an array of n.
        low: smallest valid value.
        high: largest valid value.
        clip: move a finite value outside [low, high] to the nearest end; otherwise it fails the row.
    """

    meaning: str
    unit: str = ""
    dtype: Dtype = "float"
    shape: tuple[int, ...] = ()
    low: float = -np.inf
    high: float = np.inf
    clip: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The entry function that every program of a problem defines.

    Args:
        entry: its name.
        arguments: its positional arguments in order; tunable parameters follow as keyword-only arguments.
        action: what it returns.
        memory: if above 0, the last positional argument is `memory`, an array of that many floats that is zero at the start
            of a row, and the program returns `(action, memory)`. The framework keeps it: evaluators see actions only.
    """

    entry: str
    arguments: tuple[Argument, ...]
    action: Action
    memory: int = 0

    @property
    def positional(self) -> tuple[str, ...]:
        """Names of all positional arguments, `memory` included."""
        names = tuple(argument.name for argument in self.arguments)
        return (*names, "memory") if self.memory else names


@dataclass(frozen=True)
class Instance:
    """One case to decide on. Problems subclass it and add their data (frozen: an evaluator must not change it).

    Args:
        key: stable, unique name within its split; it identifies the instance in the archive.
        group: instances of one group share parameters when a program is tuned per group, for example all demand windows of
            one item; the same group may appear in every split.
    """

    key: str
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one program did on one instance.

    Args:
        score: a finite float; a failure is never encoded here.
        metrics: named figures beside the score.
        failure: why there is no score, or None.
    """

    score: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Outcomes of a block, as `evaluate` returns them.

    Args:
        score: shape *(rows,)*.
        metrics: arrays of shape *(rows,)* by name.
    """

    score: NDArray[np.float64]
    metrics: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


class Policy(Protocol):
    """The locked-up program, as an evaluator sees it.

    Call it with one array per argument, by name: *(rows, …)* for a row's own arguments, *(instances, …)* for an
    instance's, the bare shape for the block's. It returns actions of shape *(rows, …)*, finite and in range. A row whose
    program raised, or answered with something else than a finite action, is marked as failed and answered with a
    harmless action from then on; the evaluator need not look.
    """

    @property
    def rows(self) -> int:
        """Rows in the block."""

    @property
    def instance(self) -> NDArray[np.intp]:
        """For each row, the position of its instance in `instances`; shape *(rows,)*."""

    def __call__(self, **observations: Any) -> Any:
        """Decide for the whole block."""


Observation = Mapping[str, Any]
"""What an `episode` yields: one row's arguments by name."""


def observe(**values: Any) -> Observation:
    """One row's observation by argument name: an episode yields it and gets the action."""
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Every observation and action of a block, as recorded by the framework for evidence and figures.

    Args:
        instances: the instances, in the order of the rows (a traced block has one row per instance).
        observations: by argument name, shape *(steps, rows, …)*, *(steps, instances, …)* or *(steps, …)*; only arguments
            of fixed shape.
        actions: shape *(steps, rows, …)*.
    """

    instances: Sequence[Instance]
    observations: Mapping[str, Array]
    actions: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture: a short file-safe name, a caption, and PNG bytes."""

    name: str
    caption: str
    png: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What happened, for the critic and the report: a text, and pictures for those who can look."""

    text: str
    figures: tuple[Figure, ...] = ()


class ProblemSettings(BaseModel):
    """Base of what a user may set with `--set key=value` or in the `[set]` table of a settings file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _no_form(name: str) -> ProblemError:
    return ProblemError(f"problem {name} overrides none of episode, evaluate and evaluate_one: it needs exactly one")


InstanceT = TypeVar("InstanceT", bound=Instance)
SettingsT = TypeVar("SettingsT", bound=ProblemSettings)


class Problem(ABC, Generic[SettingsT, InstanceT]):
    """A decision problem. Subclass it and override `signature`, `seeds`, `instances` and one of the three forms.

    Args:
        settings: the validated settings of this run.
    """

    name: ClassVar[str]
    """Short name, also the entry point's."""
    summary: ClassVar[str] = ""
    """One line for `evolve problems`."""
    direction: ClassVar[Direction] = "minimize"
    """Whether a smaller or a larger score is better."""
    version: ClassVar[str] = "1"
    """Raise it when scores change their meaning: archived outcomes are reused only for the same version."""
    Settings: ClassVar[type[ProblemSettings]] = ProblemSettings
    """The model of `settings`."""

    def __init__(self, settings: SettingsT) -> None:
        self.settings = settings

    # -- what to decide

    @property
    @abstractmethod
    def signature(self) -> Signature:
        """The entry function of every program."""

    @property
    def description(self) -> str:
        """What a model or a person reads before writing a program: the situation, the order of events, the costs."""
        return (type(self).__doc__ or "").strip()

    @abstractmethod
    def seeds(self) -> Mapping[str, str]:
        """Programs the search starts from: source by name; at least one."""

    def baselines(self) -> Mapping[str, str]:
        """Reference programs: source by name. They are tuned by the same optimizer with the same budget."""
        return {}

    # -- on which instances

    @abstractmethod
    def instances(self, split: Split, seed: int) -> Sequence[InstanceT]:
        """The instances of a split; the same for the same seed, and disjoint from the other splits'."""

    @property
    def tune_per_group(self) -> bool:
        """True: each group of instances gets its own parameters; False: one parameter vector for all."""
        return False

    # -- scored how: override exactly one

    def episode(self, instance: InstanceT) -> Generator[Observation, Any, Outcome]:
        """One row as a generator: `action = yield observe(…)` per decision, `return Outcome(…)` at the end."""
        del instance
        raise _no_form(self.name)

    def evaluate(self, policy: Policy, instances: Sequence[InstanceT]) -> Outcomes:
        """Score a block of rows with numpy: row r decides for `instances[policy.instance[r]]`."""
        del policy, instances
        raise _no_form(self.name)

    def evaluate_one(self, policy: Policy, instance: InstanceT) -> Outcome:
        """Score one row with direct calls; a block may have as many rows as the call's arrays bring."""
        del policy, instance
        raise _no_form(self.name)

    # -- optional

    @property
    def decisions(self) -> int:
        """About how many decisions one instance takes; tells whether compiling a program pays."""
        return 100

    @property
    def limits(self) -> Limits:
        """Limits of one program's child process."""
        return Limits()

    def descriptors(self, outcomes: Sequence[Outcome]) -> Mapping[str, float]:
        """Behaviour coordinates of a program, from its outcomes on `train`."""
        del outcomes
        return {}

    def evidence(self, outcomes: Sequence[Outcome], trace: Trace) -> Evidence | None:
        """What the critic and the report should see of a run over `trace.instances`."""
        del outcomes, trace
        return None

    def report(self, score: float) -> str:
        """A score for people, for example "1.24 (cost per unit of demand)"."""
        return f"{score:.6g}"
