"""Spaces, tuners and a small driver that the tests of tuning share."""

from types import SimpleNamespace

import numpy as np
import pytest

from evolve.space import Categorical, Integer, Parameter, Real, Space
from evolve.tuning import make_tuner

SPACES = {
    "real": Space((Parameter("a", Real(-2, 3), 0.5), Parameter("b", Real(0.01, 100, log=True), 1.0))),
    "one": Space((Parameter("a", Real(0, 1), 0.9),)),
    "whole": Space((Parameter("i", Integer(-40, 60), 3), Parameter("j", Integer(1, 900, log=True), 30))),
    "mixed": Space(
        (
            Parameter("kind", Categorical("x", "y", "z"), "y"),
            Parameter("on", Categorical(True, False), True),
            Parameter("level", Integer(0, 50), 10),
            Parameter("gain", Real(1e-3, 10, log=True), 1.0),
            Parameter("weights", Real(-1, 1, size=3), (0.0, 0.5, -0.5)),
        )
    ),
}

BUILT_IN = ("default", "surrogate", "cma", "de", "random")
NEVERGRAD = ("nevergrad:TwoPointsDE", "nevergrad:LognormalDiscreteOnePlusOne")


def new_tuner(method, space, *, groups=1, start=None, budget=40, batch=None, seed=0, spread=None):
    """A tuner that starts every group at the defaults of its space unless told otherwise."""
    if start is None:
        start = np.tile(space.encode(space.defaults), (groups, 1))
    seeds = np.random.SeedSequence(seed)
    return make_tuner(
        method, space, groups=len(start), start=start, budget=budget, batch=batch, seed=seeds, spread=spread
    )


def run(tuner, score):
    """Spend a tuner's budget on `score(group, theta)`; all vectors in order, shape *(groups, budget, width)*."""
    asked = []
    while tuner.left:
        theta = tuner.ask()
        asked.append(theta)
        tuner.tell(np.array([[score(group, row) for row in rows] for group, rows in enumerate(theta)]))
    return np.concatenate(asked, axis=1)


def bowl(space):
    """A score per group with its optimum inside the space, at another place for each group."""

    def score(group, theta):
        unit = space.to_unit(theta)
        return float((((unit - 0.3 - 0.07 * group) * (1 + np.arange(space.width))) ** 2).sum())

    return score


@pytest.fixture(scope="session")
def lab():
    """`lab.tuner(method, space, …)`, `lab.run(tuner, score)`, `lab.bowl(space)` and `lab.spaces`."""
    return SimpleNamespace(tuner=new_tuner, run=run, bowl=bowl, spaces=SPACES)


@pytest.fixture(params=SPACES)
def space(request):
    return SPACES[request.param]


@pytest.fixture(params=(*BUILT_IN, *NEVERGRAD))
def method(request):
    return request.param


@pytest.fixture(params=BUILT_IN)
def built_in(request):
    return request.param
