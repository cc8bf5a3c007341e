"""Checks of what callers hand to a tuner: they say what was expected and what came."""

import numpy as np

from evolve.errors import SettingsError
from evolve.space import Floats, Space


def check_budget(budget: int, batch: int | None) -> None:
    """Check that both are whole numbers of at least 1.

    Raises:
        SettingsError: if not.
    """
    if budget < 1:
        raise SettingsError(f"a tuning budget is at least 1 vector (the start itself), not {budget}")
    if batch is not None and batch < 1:
        raise SettingsError(f"a batch holds at least 1 vector, not {batch}")


def check_start(space: Space, start: Floats) -> None:
    """Check that `start` holds one legal vector per group.

    Raises:
        ValueError: if its shape is not *(groups, width)* or a vector is not in `space`.
    """
    if start.ndim != 2 or start.shape[0] < 1 or start.shape[1] != space.width:
        raise ValueError(f"start has shape (groups, {space.width}) with at least one group, not {start.shape}")
    legal = np.isclose(space.from_unit(space.to_unit(start)), start, rtol=1e-6, atol=1e-9)
    if not legal.all():
        group, place = np.argwhere(~legal)[0]
        raise ValueError(f"start of group {group}: {start[group, place]!r} at place {place} is outside its domain")


def check_spread(width: int, spread: Floats) -> None:
    """Check that `spread` holds one positive number per place.

    Raises:
        ValueError: if its shape is not *(width,)* or a number is not in (0, 1].
    """
    if spread.shape != (width,) or not ((spread > 0) & (spread <= 1)).all():
        raise ValueError(f"spread holds {width} numbers above 0 and up to 1, not {spread!r}")


def check_scores(scores: Floats, expected: tuple[int, ...]) -> None:
    """Check the shape of told scores.

    Raises:
        ValueError: if it is not that of the vectors asked.
    """
    if scores.shape != expected:
        raise ValueError(f"scores have shape (groups, batch) = {expected}, as the batch asked last, not {scores.shape}")
