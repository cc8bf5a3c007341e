"""Small geometry of the unit cube that the numpy tuners share. The last axis is always the place in theta."""

import numpy as np

from evolve.space import Categorical, Floats, Space

DEFAULT_SPREAD = 0.15
"""First standard deviation of a search around a start that nothing is known of, in unit coordinates."""

INHERITED_SPREAD = 0.05
"""The same for a parameter whose start was tuned before."""


def reflect(unit: Floats) -> Floats:
    """Fold coordinates beyond the cube back into it."""
    folded = np.abs(unit) % 2.0
    return np.where(folded > 1.0, 2.0 - folded, folded)


def inside(points: Floats) -> Floats:
    """Bring points, shape *(…, points, width)*, into the cube: every other one onto its border, where optima often lie."""
    onto = (np.arange(points.shape[-2]) % 2 == 0)[:, None]
    return np.where(onto, np.clip(points, 0.0, 1.0), reflect(points))


def cells(space: Space, unit: Floats) -> Floats:
    """How far apart neighbouring whole numbers lie at `unit`; 0 for real places. A shorter step changes nothing."""
    if not space.whole.any():
        return np.zeros(unit.shape)
    theta, one = space.from_unit(unit), space.whole.astype(np.float64)
    here = space.to_unit(theta)
    return np.maximum(space.to_unit(theta + one) - here, here - space.to_unit(theta - one)) * one


def stratified(rng: np.random.Generator, count: int, width: int) -> Floats:
    """A Latin hypercube sample: `count` points, each column spread evenly; shape *(count, width)*."""
    order = rng.random((count, width)).argsort(axis=0)
    return (order + rng.random((count, width))) / count


class Embedding:
    """Places a vector where distance means difference: whole numbers at their cell's middle, categoricals one-hot.

    Args:
        space: the space of theta.
    """

    APART = 0.5
    """Scale of a one-hot coordinate: two choices of a categorical lie .7 apart."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._numbers = np.flatnonzero(~space.categorical)
        self._choices = [
            (span.start, len(parameter.domain.choices))
            for parameter, span in space.spans()
            if isinstance(parameter.domain, Categorical)
        ]
        self.width = len(self._numbers) + sum(count for _, count in self._choices)

    def __call__(self, unit: Floats) -> Floats:
        """Unit coordinates, shape *(…, width)*, to embedded ones, shape *(…, self.width)*."""
        if not self._space.whole.any():
            return unit
        theta = self._space.from_unit(unit)
        parts = [self._space.to_unit(theta)[..., self._numbers]]
        for place, count in self._choices:
            parts.append(self.APART * (theta[..., place, None] == np.arange(count)))
        return np.concatenate(parts, axis=-1)


def first_design(rng: np.random.Generator, space: Space, start: Floats, spread: Floats, count: int) -> Floats:
    """A first look: the start, then by turns three points around it and one from anywhere in the cube.

    Args:
        rng: the random draws, the same for all groups.
        space: the space of theta.
        start: shape *(groups, width)*.
        spread: standard deviation of the points around the start, shape *(width,)*.
        count: how many points.

    Returns:
        Unit coordinates, shape *(groups, count, width)*.
    """
    shape = (count, space.width)
    center = space.to_unit(start)
    around = reflect(center[:, None] + spread * rng.standard_normal(shape))
    anywhere = stratified(rng, *shape)
    local = (np.arange(count) % 4 > 0)[:, None]
    redrawn = space.categorical & (rng.random(shape) < 0.5)
    design = np.where(local & ~redrawn, around, anywhere)
    design[:, 0] = center
    return design
