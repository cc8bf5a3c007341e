"""Parameter spaces: what the optimizer may change in a program, and how it is coded as numbers.

A program's keyword-only arguments are its parameters. Each has a domain (`Real`, `Integer`, `Categorical`) and a
default. Three codings are used, each for one purpose:

- *values*: what the program receives, a dictionary of Python numbers, strings, booleans and tuples;
- *theta*: the same as a flat row of floats of length `Space.width`, which crosses to the sandbox and into the archive
  (a categorical is the index of its choice; a vector takes `size` places);
- *unit*: theta mapped onto the unit cube, one coordinate per place, where every optimizer here works.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Scalar = float | int | bool | str
Value = Scalar | tuple[float, ...] | tuple[int, ...]
Floats = NDArray[np.float64]

MAX_PARAMETERS = 32
"""Most parameters (names) a program may have: more is no rule that a person can read."""

MAX_WIDTH = 256
"""Most places of theta, vectors counted by their size: what an optimizer without gradients can still search."""


class SpaceError(ValueError):
    """A malformed domain or default; the message says what was found and what to write instead."""


@dataclass(frozen=True, slots=True)
class Real:
    """A real number in [low, high], or a vector of `size` of them.

    Args:
        low: smallest value.
        high: largest value, above `low`.
        log: search on a logarithmic scale; needs low > 0.
        size: length of a vector parameter; None for a single number.
    """

    low: float
    high: float
    log: bool = False
    size: int | None = None

    def __post_init__(self) -> None:
        _check_bounds(self.low, self.high, log=self.log, size=self.size)


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number in {low, …, high}, or a vector of `size` of them.

    Args:
        low: smallest value.
        high: largest value, above `low`; both ends are included.
        log: search on a logarithmic scale; needs low > 0.
        size: length of a vector parameter; None for a single number.
    """

    low: int
    high: int
    log: bool = False
    size: int | None = None

    def __post_init__(self) -> None:
        for name, bound in (("low", self.low), ("high", self.high)):
            if isinstance(bound, bool) or not isinstance(bound, int):
                raise SpaceError(f"Integer bounds are whole numbers, not {name}={bound!r}")
            if abs(bound) > 2**53:
                raise SpaceError("Integer bounds beyond ±2**53 cannot be searched exactly")
        _check_bounds(self.low, self.high, log=self.log, size=self.size)


@dataclass(frozen=True, slots=True, init=False)
class Categorical:
    """One of several choices: strings, numbers or booleans.

    Args:
        choices: at least two different values, as `Categorical("a", "b")` or `Categorical(["a", "b"])`.
    """

    choices: tuple[Scalar, ...]

    def __init__(self, *choices: Scalar | Sequence[Scalar]) -> None:
        if len(choices) == 1 and isinstance(choices[0], (list, tuple)):
            choices = tuple(choices[0])
        for choice in choices:
            if not isinstance(choice, (str, int, float)) or (isinstance(choice, float) and not math.isfinite(choice)):
                raise SpaceError(f"Categorical choices are strings, finite numbers or booleans, not {choice!r}")
        if len({(type(choice), choice) for choice in choices}) < max(2, len(choices)):
            raise SpaceError(f"Categorical needs at least two different choices, not {choices!r}")
        object.__setattr__(self, "choices", choices)


Domain = Real | Integer | Categorical


def is_finite(number: float) -> bool:
    """Whether a number is finite as a float; a whole number may be too large for one."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _check_bounds(low: float, high: float, *, log: bool, size: int | None) -> None:
    if not (is_finite(low) and is_finite(high) and is_finite(high - low)):
        raise SpaceError("bounds and the distance between them must be finite numbers")
    if not low < high:
        raise SpaceError(f"low must be below high, not ({low!r}, {high!r})")
    if log and low <= 0:
        raise SpaceError(f"log=True needs low above 0, not {low!r}")
    if size is not None and (type(size) is not int or not 1 <= size <= MAX_WIDTH):
        raise SpaceError(f"size is a whole number from 1 to {MAX_WIDTH}: write for example size=4")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One tunable parameter: its name, its domain and the value the search starts from."""

    name: str
    domain: Domain
    default: Value

    def __post_init__(self) -> None:
        if self.name.startswith("_"):
            raise SpaceError(f"a parameter's name does not begin with an underscore: write `{self.name.lstrip('_')}`")
        check_value(self.name, self.domain, self.default)

    @property
    def width(self) -> int:
        """Places it takes in theta."""
        return 1 if isinstance(self.domain, Categorical) else (self.domain.size or 1)


def check_value(name: str, domain: Domain, value: Value) -> None:
    """Check that `value` lies in `domain`.

    Raises:
        SpaceError: naming the parameter, the value and what its domain allows.
    """
    if isinstance(domain, Categorical):
        if not any(type(choice) is type(value) and choice == value for choice in domain.choices):
            raise SpaceError(f"{name} = {value!r} is none of the choices {domain.choices!r}")
        return
    if domain.size is None:
        places: tuple[Any, ...] = (value,)
    elif isinstance(value, tuple) and len(value) == domain.size:
        places = value
    else:
        raise SpaceError(f"{name} has size={domain.size}: its value is a tuple of {domain.size} numbers, not {value!r}")
    for place in places:
        if isinstance(place, bool) or not isinstance(place, (int, float)) or not is_finite(place):
            raise SpaceError(f"{name} = {place!r} is no finite number")
        if isinstance(domain, Integer) and (isinstance(place, float) or place != int(place)):
            raise SpaceError(f"{name} = {place!r} must be a whole number: its domain is Integer")
        if not domain.low <= place <= domain.high:
            raise SpaceError(f"{name} = {place!r} lies outside its domain [{domain.low:g}, {domain.high:g}]")


@dataclass(frozen=True)
class Space:
    """The parameters of one program, in the order of its signature.

    Args:
        parameters: all with different names; may be empty.
    """

    parameters: tuple[Parameter, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.parameters):
            raise SpaceError(f"parameter names must differ, not {self.names!r}")
        if len(self.parameters) > MAX_PARAMETERS:
            raise SpaceError(f"{len(self.parameters)} parameters: at most {MAX_PARAMETERS} are allowed")
        if self.width > MAX_WIDTH:
            raise SpaceError(f"{self.width} numbers to tune (vectors counted by size): at most {MAX_WIDTH} are allowed")

    @cached_property
    def width(self) -> int:
        """Length of theta."""
        return sum(parameter.width for parameter in self.parameters)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Parameter names in order."""
        return tuple(parameter.name for parameter in self.parameters)

    def spans(self) -> Iterator[tuple[Parameter, slice]]:
        """Each parameter with the places it takes in theta."""
        start = 0
        for parameter in self.parameters:
            yield parameter, slice(start, start + parameter.width)
            start += parameter.width

    @cached_property
    def defaults(self) -> dict[str, Value]:
        """The values that the source text gives."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    def encode(self, values: Mapping[str, Value]) -> Floats:
        """Values to theta, shape *(width,)*.

        Raises:
            SpaceError: if a value is missing or outside its domain.
        """
        theta = np.empty(self.width)
        for parameter, span in self.spans():
            if parameter.name not in values:
                raise SpaceError(f"no value for parameter {parameter.name}")
            value = values[parameter.name]
            check_value(parameter.name, parameter.domain, value)
            if isinstance(parameter.domain, Categorical):
                theta[span] = _position(parameter.domain, value)
            else:
                theta[span] = value
        return theta

    def decode(self, theta: Floats) -> dict[str, Value]:
        """Theta, shape *(width,)*, to values."""
        values: dict[str, Value] = {}
        for parameter, span in self.spans():
            domain, places = parameter.domain, theta[span].tolist()
            if isinstance(domain, Categorical):
                values[parameter.name] = domain.choices[int(places[0])]
                continue
            if isinstance(domain, Integer):
                places = [int(place) for place in places]
            values[parameter.name] = places[0] if domain.size is None else tuple(places)
        return values

    def warm_start(self, values: Mapping[str, Value]) -> Floats:
        """Theta that takes each of `values` whose name matches and whose value fits, and the default elsewhere.

        A number just outside a narrower domain is moved to its nearest end: a child keeps what its parent learned.
        """
        start = dict(self.defaults)
        for parameter in self.parameters:
            if parameter.name in values:
                fitted = _fit(parameter.domain, values[parameter.name])
                if fitted is not None:
                    start[parameter.name] = fitted
        return self.encode(start)

    @cached_property
    def _codes(self) -> "_Codes":
        return _Codes.of(self)

    def from_unit(self, unit: Floats) -> Floats:
        """Unit coordinates, shape *(…, width)*, to theta of the same shape; coordinates beyond the cube are clipped."""
        codes = self._codes
        unit = np.clip(unit, 0.0, 1.0)
        theta = codes.low + unit * codes.span
        if codes.log.any():
            theta = np.where(codes.log, np.exp(np.where(codes.log, theta, 0.0)), theta)
        if codes.whole.any():
            theta = np.where(codes.whole, np.floor(theta), theta)
        return np.clip(theta, codes.first, codes.last)

    def to_unit(self, theta: Floats) -> Floats:
        """Theta, shape *(…, width)*, to unit coordinates; a whole number maps to the middle of its cell."""
        codes = self._codes
        theta = np.where(codes.whole, theta + 0.5, theta)
        if codes.log.any():
            theta = np.where(codes.log, np.log(np.where(codes.log, theta, 1.0)), theta)
        return np.clip((theta - codes.low) / codes.span, 0.0, 1.0)

    def rounded(self, theta: Floats, digits: int = 6) -> Floats:
        """Theta, shape *(…, width)*, with real places at `digits` significant digits: what a person would copy."""
        codes = self._codes
        short = np.array([float(f"{place:.{digits}g}") for place in theta.ravel().tolist()]).reshape(theta.shape)
        return np.clip(np.where(codes.whole, theta, short), codes.first, codes.last)

    @cached_property
    def categorical(self) -> NDArray[np.bool_]:
        """Which places of theta hold the index of a choice, shape *(width,)*."""
        return self._codes.categorical

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Which places of theta hold whole numbers (categoricals included), shape *(width,)*."""
        return self._codes.whole


def _position(domain: Categorical, value: Value) -> int:
    """Place of a choice; True and 1 are different ones."""
    return next(i for i, choice in enumerate(domain.choices) if type(choice) is type(value) and choice == value)


def _fit(domain: Domain, value: Value) -> Value | None:
    """`value` moved into `domain`, or None where that makes no sense."""
    if isinstance(domain, Categorical):
        return value if any(type(c) is type(value) and c == value for c in domain.choices) else None
    if (len(value) if isinstance(value, tuple) else None) != domain.size:
        return None
    moved: list[float] = []
    for place in value if isinstance(value, tuple) else (value,):
        if isinstance(place, (bool, str)) or not is_finite(place):
            return None
        inside = min(max(place, domain.low), domain.high)
        moved.append(round(inside) if isinstance(domain, Integer) else float(inside))
    return tuple(moved) if isinstance(value, tuple) else moved[0]


@dataclass(frozen=True, slots=True)
class _Codes:
    """Per place of theta: the affine (or log) map from the unit interval. All arrays have shape *(width,)*."""

    low: Floats
    span: Floats
    first: Floats
    last: Floats
    log: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    categorical: NDArray[np.bool_]

    @classmethod
    def of(cls, space: Space) -> "_Codes":
        rows: list[tuple[float, float, float, float, bool, bool, bool]] = []
        for parameter in space.parameters:
            domain = parameter.domain
            if isinstance(domain, Categorical):
                count = len(domain.choices)
                row = (0.0, float(count), 0.0, count - 1.0, False, True, True)
            else:
                whole = isinstance(domain, Integer)
                low, high = float(domain.low), float(domain.high) + (1.0 if whole else 0.0)
                if domain.log:
                    low, high = math.log(low), math.log(high)
                row = (low, high - low, float(domain.low), float(domain.high), domain.log, whole, False)
            rows += [row] * parameter.width
        columns = np.array(rows, dtype=np.float64).reshape(-1, 7).T
        low, span, first, last = columns[:4]
        log, whole_, categorical = columns[4:].astype(np.bool_)
        return cls(low, span, first, last, log, whole_, categorical)
