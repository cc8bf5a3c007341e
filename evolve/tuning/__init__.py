"""Tuning: an optimizer without gradients finds a program's parameters, whole batches of vectors at a time.

`make_tuner` gives a tuner (ask and tell), `tune` spends its budget on a block evaluator, with or without `Racing`.
"""

from evolve.tuning.base import State, Tuner
from evolve.tuning.make import DEFAULT, METHODS, initial_spread, make_tuner
from evolve.tuning.racing import Racing
from evolve.tuning.tune import Evaluate, TuningResult, tune

__all__ = [
    "DEFAULT",
    "METHODS",
    "Evaluate",
    "Racing",
    "State",
    "Tuner",
    "TuningResult",
    "initial_spread",
    "make_tuner",
    "tune",
]
