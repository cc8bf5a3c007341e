"""The values a caller describes a program with: its limits, its arguments, its parameters and its answer.

They are trusted input: they come from a problem's author and from the engine, never from a program. They cross to the
child as JSON.

Defends against: a caller's slips, such as a limit that is no number or a name that is none, before a process is started.

Does not defend against: limits that are valid and too generous, or a layout that hands a program what it should not see.
"""

import math
import sys
from dataclasses import asdict, dataclass
from typing import Any, Literal

Dtype = Literal["float", "int", "bool"]
Per = Literal["row", "instance", "block"]
Scalar = float | int | bool | str


def _check_name(name: str) -> None:
    if not (name.isidentifier() and name.isascii()) or name.startswith("__"):
        raise ValueError(f"{name!r} is no plain name for a function or an argument")


def _check_choice(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{what} is one of {', '.join(allowed)}, not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one child may use. Wall limits are the only ones that depend on how busy the machine is: keep them generous.

    Args:
        start_seconds: wall time to check, import and (if asked) compile the program, all in all; a compilation is given
            up after half of it, so that the program can still come up plain. A binding may take as long once more.
        call_seconds: wall time of one block call.
        cpu_seconds: processor time of the child's whole life, enforced by the kernel.
        memory_mb: memory the child may add to what it is born with, enforced by the kernel (not on macOS and Windows).
    """

    start_seconds: float = 20.0
    call_seconds: float = 10.0
    cpu_seconds: float = 600.0
    memory_mb: int = 512

    def __post_init__(self) -> None:
        for name in ("start_seconds", "call_seconds", "cpu_seconds", "memory_mb"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a positive number, not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A positional argument of the entry function.

    Args:
        name: as in the signature.
        dtype: what one element is in the program.
        shape: () for a number, (7,) for an array of seven; None for a length that varies from call to call.
        per: whether rows, instances or the whole block have their own.
        low: smallest plausible value; bounds the random rows on which compiled and plain results are compared.
        high: largest plausible value.
    """

    name: str
    dtype: Dtype = "float"
    shape: tuple[int | None, ...] = ()
    per: Per = "row"
    low: float = 0.0
    high: float = 100.0

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_choice("dtype", self.dtype, ("float", "int", "bool"))
        _check_choice("per", self.per, ("row", "instance", "block"))
        if any(length is not None and length < 0 for length in self.shape):
            raise ValueError(f"{self.name}: lengths in shape are whole numbers from 0, or None, not {self.shape!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What the entry function returns for one row.

    Args:
        dtype: what one element is.
        shape: () for a number, (n,) for an array of n.
        low: smallest valid value.
        high: largest valid value.
        clip: move a finite value outside [low, high] to the nearest end; otherwise it fails the row.
    """

    dtype: Dtype = "float"
    shape: tuple[int, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    clip: bool = False

    def __post_init__(self) -> None:
        _check_choice("dtype", self.dtype, ("float", "int", "bool"))
        low, high = self.bounds
        if not low <= high:
            raise ValueError(f"no finite answer lies between low={self.low!r} and high={self.high!r}")

    @property
    def bounds(self) -> tuple[float | int, float | int]:
        """The smallest and the largest value that an answer can have, as what it is."""
        if self.dtype == "int":
            low, high = (min(max(bound, -(2.0**63)), 2.0**63) for bound in (self.low, self.high))
            return math.ceil(low), min(math.floor(high), 2**63 - 1)
        return max(self.low, -sys.float_info.max), min(self.high, sys.float_info.max)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterField:
    """A keyword-only argument of the entry function.

    In theta a real or an integer takes one place (`size` places if it is a vector), a choice one place that holds the
    index of the choice.

    Args:
        name: as in the signature.
        kind: what it is.
        size: length of a vector; None for a single value. A vector arrives as a tuple of Python numbers, just as its
            default in the source is one.
        choices: the values of a choice.
    """

    name: str
    kind: Literal["real", "integer", "choice"] = "real"
    size: int | None = None
    choices: tuple[Scalar, ...] = ()

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_choice("kind", self.kind, ("real", "integer", "choice"))
        if self.kind == "choice" and (not self.choices or self.size is not None):
            raise ValueError(f"{self.name}: a choice needs choices and has no size")

    @property
    def width(self) -> int:
        """Places it takes in theta."""
        return self.size or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The signature of a program: how its arguments and its answer lie in memory.

    Args:
        entry: name of the entry function.
        fields: its positional arguments in order, without `memory`.
        parameters: its keyword-only arguments in the order of theta.
        output: what it returns.
        memory: if above 0, the last positional argument is `memory`, an array of that many floats, and the program
            returns `(action, memory)`.
    """

    entry: str
    fields: tuple[Field, ...] = ()
    parameters: tuple[ParameterField, ...] = ()
    output: Output = Output()
    memory: int = 0

    def __post_init__(self) -> None:
        _check_name(self.entry)
        names = [*self.positional, *(parameter.name for parameter in self.parameters)]
        if len(set(names)) < len(names):
            raise ValueError(f"arguments must have different names, not {names!r}")

    @property
    def positional(self) -> tuple[str, ...]:
        """Names of all positional arguments, `memory` included."""
        names = tuple(field.name for field in self.fields)
        return (*names, "memory") if self.memory else names

    @property
    def width(self) -> int:
        """Places in theta."""
        return sum(parameter.width for parameter in self.parameters)


def layout_to_json(layout: Layout) -> dict[str, Any]:
    """A layout as JSON values."""
    return asdict(layout)


def layout_from_json(values: dict[str, Any]) -> Layout:
    """The layout that `layout_to_json` wrote."""
    fields = tuple(Field(**{**field, "shape": tuple(field["shape"])}) for field in values["fields"])
    parameters = tuple(ParameterField(**{**p, "choices": tuple(p["choices"])}) for p in values["parameters"])
    output = Output(**{**values["output"], "shape": tuple(values["output"]["shape"])})
    return Layout(entry=values["entry"], fields=fields, parameters=parameters, output=output, memory=values["memory"])
