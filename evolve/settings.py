"""Run settings: what a run does. All of it is stored with the run; a misspelt key is an error that names the nearest.

Settings come from a TOML file (`--config`), then from flags, which win. What does not change the result (how many workers,
which archive) is not here.
"""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evolve.errors import SettingsError

ModelT = TypeVar("ModelT", bound=BaseModel)

Count = Annotated[int, Field(ge=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class IslandSettings(_Section):
    """The `[islands]` table.

    Args:
        count: islands; each ticket belongs to one in turn.
        size: most programs that live on an island.
        topology: who sends migrants to whom.
        every: tickets per island between migrations; 0 never migrates.
        migrants: best programs copied each time.
    """

    count: Count = 4
    size: Annotated[int, Field(ge=2)] = 24
    topology: Literal["ring", "full"] = "ring"
    every: Annotated[int, Field(ge=0)] = 15
    migrants: Count = 1


class TuningSettings(_Section):
    """The `[tuning]` table.

    Args:
        method: `default` (chosen by the kind of space), a name from `evolve.tuning.METHODS`, `nevergrad:NAME`, or `none`.
        vectors: parameter vectors tried per program (and per group, where parameters are tuned per group).
        batch: parameter vectors per block; None lets the method choose.
        racing: stop a vector early that is clearly worse than the best.
        per: `problem` follows the plug-in; `all` tunes one vector for all instances; `group` one per group of instances.
    """

    method: str = "default"
    vectors: Annotated[int, Field(ge=0)] = 128
    batch: Annotated[int, Field(ge=1)] | None = None
    racing: bool = True
    per: Literal["problem", "all", "group"] = "problem"


class SelectionSettings(_Section):
    """The `[selection]` table.

    Args:
        exponent: parents are drawn with probability proportional to rank ** -exponent; 0 draws evenly.
        mates: further programs shown to the proposer for crossover or as examples.
        skills: archived snippets offered per ticket.
    """

    exponent: Annotated[float, Field(ge=0.0)] = 1.0
    mates: Annotated[int, Field(ge=0)] = 3
    skills: Annotated[int, Field(ge=0)] = 6


class LimitSettings(_Section):
    """The `[limits]` table: None keeps the problem's own limit.

    Args:
        start_seconds: wall time for one program to load and compile.
        call_seconds: wall time for one block of decisions.
        cpu_seconds: CPU time of one program's child process in all.
        memory_mb: memory of one program's child process, over what the interpreter needs.
        evaluation_seconds: wall time of one whole evaluation, trusted simulator included.
    """

    start_seconds: Annotated[float, Field(gt=0)] | None = None
    call_seconds: Annotated[float, Field(gt=0)] | None = None
    cpu_seconds: Annotated[float, Field(gt=0)] | None = None
    memory_mb: Annotated[int, Field(gt=0)] | None = None
    evaluation_seconds: Annotated[float, Field(gt=0)] = 600.0


class RunSettings(_Section):
    """All settings of a run.

    Args:
        problem: name of a plug-in, or a path to a Python file.
        set: the problem's own settings.
        tickets: numbered steps of the search: one proposal each.
        seed: the run's only source of randomness.
        window: tickets in flight: ticket k chooses its parents from the population as of ticket k − window.
        proposer: who writes programs.
        budget_evaluations: stop before more evaluations than this are spent (one parameter vector on one instance is one).
        finalists: best programs on validation that are scored once more, in fresh children, and on holdout.
        compile: compile programs where it pays.
    """

    problem: str
    set: dict[str, Any] = Field(default_factory=dict)
    tickets: Annotated[int, Field(ge=0)] = 300
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    window: Count = 8
    proposer: Literal["genetic"] = "genetic"
    budget_evaluations: Annotated[int, Field(ge=1)] | None = None
    finalists: Count = 3
    compile: bool = True
    islands: IslandSettings = IslandSettings()
    tuning: TuningSettings = TuningSettings()
    selection: SelectionSettings = SelectionSettings()
    limits: LimitSettings = LimitSettings()


def load_toml(path: Path) -> dict[str, Any]:
    """Read a TOML settings file.

    Raises:
        SettingsError: if it is missing or is no TOML, with the place of the fault.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path}: no such settings file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None


def parse_assignment(text: str) -> tuple[str, Any]:
    """Read `key=value` as given to `--set`: the value is TOML where it parses as such, else plain text.

    Raises:
        SettingsError: if there is no `=` or no key.
    """
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise SettingsError(f"--set {text!r}: write key=value, for example --set lead_time=4")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value


def validate(model: type[ModelT], values: Mapping[str, Any], where: str) -> ModelT:
    """Build a settings model.

    Args:
        model: the pydantic model.
        values: raw values by key.
        where: what a person calls these settings, for messages.

    Raises:
        SettingsError: one line that names the key, what was given and what is allowed.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        faults = error.errors()
        line = _explain(model, faults[0])
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise SettingsError(f"{where}: {line}{more}") from None


def _explain(model: type[BaseModel], fault: Mapping[str, Any]) -> str:
    path = [str(part) for part in fault["loc"]]
    key = ".".join(path)
    if fault["type"] == "extra_forbidden":
        known = _keys_at(model, path[:-1])
        near = difflib.get_close_matches(path[-1], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known)) or 'none'}"
        return f"unknown setting {key!r}; {hint}"
    if fault["type"] == "missing":
        return f"setting {key!r} is missing"
    message = str(fault["msg"]).removeprefix("Value error, ")
    if not key:
        return message
    return f"{key} = {fault['input']!r}: {message[:1].lower()}{message[1:]}"


def _keys_at(model: type[BaseModel], path: list[str]) -> list[str]:
    for part in path:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return list(model.model_fields)
