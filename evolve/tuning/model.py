"""A cheap model of scores: a cubic radial basis function with a linear tail, for all groups at once."""

import numpy as np

from evolve.space import Floats

RIDGE = 1e-7
"""Smoothing, relative to a distance of 1 cubed; keeps equal points from making the system singular."""


class RadialModel:
    """Passes through known values, and goes on straight beyond them.

    Args:
        points: shape *(groups, points, places)*.
        values: finite, shape *(groups, points)*.
    """

    def __init__(self, points: Floats, values: Floats) -> None:
        groups, count, places = points.shape
        self._points = points
        level = values - values.mean(axis=1, keepdims=True)
        size = np.abs(level).max(axis=1, keepdims=True)
        tail = np.concatenate([np.ones((groups, count, 1)), points], axis=2)
        system = np.zeros((groups, count + places + 1, count + places + 1))
        system[:, :count, :count] = distances(points, points) ** 3 + RIDGE * np.eye(count)
        system[:, :count, count:] = tail
        system[:, count:, :count] = tail.swapaxes(1, 2)
        system[:, count:, count:] = -1e-8 * np.eye(places + 1)  # one-hot places sum to a constant: a collinear tail
        known = np.zeros((groups, count + places + 1, 1))
        known[:, :count, 0] = level / np.where(size > 0, size, 1.0)
        self._weights = np.linalg.solve(system, known)

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """Standardised values at `points` and distances to the nearest known point; both *(groups, points)*."""
        count = self._points.shape[1]
        distance = distances(points, self._points)
        bends, tilt = self._weights[:, :count], self._weights[:, count:]
        values = distance**3 @ bends + tilt[:, :1] + points @ tilt[:, 1:]
        return values[..., 0], distance.min(axis=2)


def distances(left: Floats, right: Floats) -> Floats:
    """Distances between two sets of points, shape *(groups, left, right)*."""
    apart: Floats = left @ (-2.0 * right).swapaxes(1, 2)
    apart += (left**2).sum(axis=2)[..., None]
    apart += (right**2).sum(axis=2)[:, None]
    np.maximum(apart, 0.0, out=apart)
    np.sqrt(apart, out=apart)
    return apart
