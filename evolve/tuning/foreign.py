"""Any optimizer of nevergrad by name: breadth for costly evaluations and unusual spaces.

Its parametrisation is used as it is meant (`Log`, integer casting, `Choice`), so that a method sees what kind of number
it changes. One optimizer per group; a batch is that many candidates in flight.
"""

import gc
import random
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

import numpy as np

from evolve.errors import SettingsError
from evolve.space import Categorical, Floats, Integer, Parameter, Space
from evolve.tuning.base import BatchTuner

PREFIX = "nevergrad:"

GOOD = ("DE", "TwoPointsDE", "OnePlusOne", "DiscreteOnePlusOne", "DiscreteLenglerOnePlusOne", "CMA", "PSO", "NGOpt")
"""Some that work on every kind of space; named in error messages."""

UNFIT = (ImportError, ValueError, TypeError, ZeroDivisionError, AssertionError)
"""What its methods raise where a package is missing or a space, a budget or a number of vectors in flight is not theirs."""

ENDS_WITHIN = 5.0
"""Seconds that a thread which was told to stop may take."""


class Nevergrad(BatchTuner):
    """Asks an optimizer of nevergrad. Its own choice of first steps holds; it starts from the given vector.

    Args:
        name: as in `nevergrad.optimizers.registry`, for example "TwoPointsDE".
        space: the space of theta.
        start: the first vector of each group, shape *(groups, width)*.
        budget: vectors of each group that may be asked; several methods plan with it.
        batch: vectors of a group in one `ask`.
        seed: of the random draws.

    Raises:
        SettingsError: if there is no such method, or it cannot take part: one that works with a background thread would
            keep the process from ending, some need further packages, and some cannot have several vectors in flight.
    """

    def __init__(
        self, *, name: str, space: Space, start: Floats, budget: int, batch: int, seed: np.random.SeedSequence
    ) -> None:
        super().__init__(space=space, start=start, budget=budget, batch=batch)
        self.method = PREFIX + name
        self._name = name
        number = int(seed.generate_state(1)[0])
        self._randomness = [_Randomness(number) for _ in range(self.groups)]
        self._optimizers = [self._make(theta, number, group) for group, theta in enumerate(self.start)]
        self._flying: list[list[Any]] = []
        self._worst = np.full(self.groups, -np.inf)
        self._lowest = np.full(self.groups, np.inf)

    def _make(self, theta: Floats, seed: int, group: int) -> Any:
        ng = _nevergrad()
        method = ng.optimizers.registry.get(self._name)
        if method is None:
            raise self._refuse("there is no such method")
        if getattr(method, "recast", False):
            raise self._refuse("it runs in a background thread that keeps the process from ending")
        values = self.space.decode(theta)
        with self._quiet(group):
            parts = {p.name: _parametrize(ng, p, values[p.name]) for p in self.space.parameters}
            parametrization = ng.p.Dict(**parts)
            parametrization.random_state = np.random.RandomState(seed)
            try:
                optimizer = method(parametrization=parametrization, budget=self.left, num_workers=self.batch)
            except UNFIT as error:
                raise self._refuse(str(error)) from error
            optimizer.suggest(self._values(theta))
        return optimizer

    def _propose(self, count: int) -> Floats:
        self._flying = [self._ask_one(group, count) for group in range(self.groups)]
        theta = [[self._theta(candidate.value) for candidate in candidates] for candidates in self._flying]
        return self.space.to_unit(np.array(theta))

    def _ask_one(self, group: int, count: int) -> list[Any]:
        before = set(threading.enumerate())
        with self._quiet(group):
            try:
                candidates = [self._optimizers[group].ask() for _ in range(count)]
            except UNFIT as error:
                raise self._refuse(str(error)) from error
        self._check_threads(before)
        return candidates

    def _check_threads(self, before: set[threading.Thread]) -> None:
        """See that no thread outlives an `ask`: one that waits for a score keeps the process from ending."""

        def started() -> list[threading.Thread]:
            return [t for t in threading.enumerate() if t not in before and type(t).__name__ == "_MessagingThread"]

        if not started():
            return
        gc.collect()  # one that served a search within the search is told to stop when that is collected
        for thread in started():
            thread.join(ENDS_WITHIN)
        stray = started()
        for thread in stray:
            thread.stop()  # type: ignore[attr-defined]  # a class of nevergrad's
        if stray:
            raise self._refuse("it started a background thread that keeps the process from ending")

    def _learn(self, unit: Floats, scores: Floats) -> None:
        del unit
        known = np.isfinite(scores)
        self._worst = np.maximum(self._worst, np.where(known, scores, -np.inf).max(axis=1))
        self._lowest = np.minimum(self._lowest, np.where(known, scores, np.inf).min(axis=1))
        for group, optimizer in enumerate(self._optimizers):
            failed = 2.0 * self._worst[group] - self._lowest[group] + 1.0 if np.isfinite(self._worst[group]) else 1e12
            with self._quiet(group):
                for candidate, score in zip(self._flying[group], scores[group].tolist(), strict=True):
                    with suppress(
                        _nevergrad().errors.TellNotAskedNotSupportedError
                    ):  # a few cannot learn from the start
                        optimizer.tell(candidate, score if np.isfinite(score) else failed)

    @contextmanager
    def _quiet(self, group: int) -> Iterator[None]:
        """Without nevergrad's warnings, and with random streams of the group's own behind the global functions."""
        with warnings.catch_warnings(), self._randomness[group].installed():
            warnings.simplefilter("ignore")
            yield

    def _values(self, theta: Floats) -> dict[str, Any]:
        """Theta as the parametrisation above wants it."""
        values: dict[str, Any] = {}
        for parameter, span in self.space.spans():
            domain, places = parameter.domain, theta[span].tolist()
            if isinstance(domain, (Categorical, Integer)):
                places = [int(place) for place in places]
            if isinstance(domain, Categorical) or domain.size is None:
                values[parameter.name] = places[0]
            else:
                values[parameter.name] = tuple(places) if domain.log else np.array(places)
        return values

    def _theta(self, values: dict[str, Any]) -> Floats:
        return np.concatenate([np.atleast_1d(np.asarray(values[name], dtype=np.float64)) for name in self.space.names])

    def _refuse(self, why: str) -> SettingsError:
        return SettingsError(f"{self.method} cannot tune here: {why}. Methods that work: {', '.join(GOOD)}")


class _Randomness:
    """States of the global random streams, which some methods of nevergrad draw from beside the one they are given."""

    def __init__(self, seed: int) -> None:
        self._numpy = np.random.RandomState(seed).get_state()
        self._python = random.Random(seed).getstate()  # noqa: S311  a search, no secret

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Use them inside the block and give the process its own streams back afterwards."""
        outside = np.random.get_state(), random.getstate()  # noqa: NPY002
        np.random.set_state(self._numpy)  # noqa: NPY002
        random.setstate(self._python)
        try:
            yield
        finally:
            self._numpy, self._python = np.random.get_state(), random.getstate()  # noqa: NPY002
            np.random.set_state(outside[0])  # noqa: NPY002
            random.setstate(outside[1])


def _nevergrad() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nevergrad  # 1.4 CPU seconds: only for those who ask for it
    return nevergrad  # type: ignore[no-any-return]


def _parametrize(ng: ModuleType, parameter: Parameter, value: Any) -> Any:
    """The nevergrad parameter of one domain, starting at `value`."""
    domain = parameter.domain
    if isinstance(domain, Categorical):
        return ng.p.Choice(list(range(len(domain.choices))))
    bounds = {"lower": domain.low, "upper": domain.high}
    if domain.log:
        starts = value if isinstance(value, tuple) else (value,)
        numbers = [ng.p.Log(init=start, **bounds) for start in starts]
        if isinstance(domain, Integer):
            numbers = [number.set_integer_casting() for number in numbers]
        return numbers[0] if domain.size is None else ng.p.Tuple(*numbers)
    number = ng.p.Scalar(init=value, **bounds) if domain.size is None else ng.p.Array(init=np.array(value), **bounds)
    return number.set_integer_casting() if isinstance(domain, Integer) else number
