"""Random streams: every draw of a run comes from (seed, purpose, numbers), never from a shared generator.

So what a ticket draws does not depend on what ran before it, on the number of workers, or on a crash in between.
"""

import enum

import numpy as np


class Purpose(enum.IntEnum):
    """What a stream is for; the values are part of what makes a run reproducible and never change."""

    SELECT = 1
    PROPOSE = 2
    TUNE = 3
    INSTANCES = 4


def stream(seed: int, purpose: Purpose, *numbers: int) -> np.random.SeedSequence:
    """The seed sequence of one purpose at one place of the run."""
    return np.random.SeedSequence(entropy=seed, spawn_key=(int(purpose), *numbers))
