"""Tuners by name, and how far each parameter's first steps should reach."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

import numpy as np

from evolve.errors import SettingsError
from evolve.space import Floats, Space
from evolve.tuning.base import Tuner
from evolve.tuning.checks import check_budget, check_spread, check_start
from evolve.tuning.cmaes import CmaEs
from evolve.tuning.cube import DEFAULT_SPREAD, INHERITED_SPREAD
from evolve.tuning.differential import Differential
from evolve.tuning.foreign import PREFIX, Nevergrad
from evolve.tuning.simple import Exhaustive, Random, countable
from evolve.tuning.staged import Staged
from evolve.tuning.surrogate import Surrogate, usual_batch

DEFAULT = "default"

_BUILT_IN: Mapping[str, type[Staged | Surrogate | CmaEs | Differential]] = MappingProxyType(
    {DEFAULT: Staged, "surrogate": Surrogate, "cma": CmaEs, "de": Differential}
)

METHODS = (*_BUILT_IN, "random")
"""Names that `make_tuner` takes, beside `nevergrad:NAME`."""


def make_tuner(
    method: str,
    space: Space,
    *,
    groups: int,
    start: Floats,
    budget: int,
    batch: int | None = None,
    seed: np.random.SeedSequence,
    spread: Floats | None = None,
) -> Tuner:
    """A tuner by name.

    A space with no more vectors than the budget is simply tried out, whatever the method; one without parameters has a
    single vector, its start.

    Args:
        method: one of `METHODS`, or `nevergrad:NAME` for an optimizer of nevergrad.
        space: the parameters to tune.
        groups: problems tuned in lock-step.
        start: where each group's search begins, shape *(groups, width)*.
        budget: parameter vectors of each group that may be asked in all.
        batch: preferred number of vectors of a group in one `ask`, if larger blocks are cheaper by the row; a method asks
            fewer where the budget would allow too few rounds. None lets it choose for the most value per vector.
        seed: the same seed and scores give the same search.
        spread: how far from the start a place is likely to lie, as a standard deviation in unit coordinates, shape
            *(width,)*; see `initial_spread`. Random search and nevergrad's methods do without it.

    Raises:
        SettingsError: if the method is unknown or cannot tune this space, or a number is below 1.
        ValueError: if `start` or `spread` has the wrong shape or values out of range.
    """
    check_budget(budget, batch)
    few = batch or usual_batch(budget)
    check_start(space, start)
    if len(start) != groups:
        raise ValueError(f"start has one row per group: {groups}, not {len(start)}")
    if spread is None:
        spread = np.full(space.width, DEFAULT_SPREAD)
    check_spread(space.width, spread)
    foreign = method.startswith(PREFIX)
    if not foreign and method not in METHODS:
        raise SettingsError(f"unknown tuner {method!r}: choose {', '.join(METHODS)} or {PREFIX}NAME")
    if countable(space, budget):
        return Exhaustive(space=space, start=start, batch=few)
    if foreign:
        name = method.removeprefix(PREFIX)
        return Nevergrad(name=name, space=space, start=start, budget=budget, batch=few, seed=seed)
    if method == "random":
        return Random(space=space, start=start, budget=budget, batch=few, seed=seed)
    return _BUILT_IN[method](space=space, start=start, budget=budget, batch=batch, seed=seed, spread=spread)


def initial_spread(space: Space, inherited: Collection[str]) -> Floats:
    """First spread of a search whose start came from a parent: small where it was tuned before, usual where it was not.

    Args:
        space: the child's parameters.
        inherited: names of the parameters that the parent had too.

    Returns:
        Standard deviations in unit coordinates, shape *(width,)*.
    """
    spread = np.full(space.width, DEFAULT_SPREAD)
    for parameter, span in space.spans():
        if parameter.name in inherited:
            spread[span] = INHERITED_SPREAD
    return spread
