"""Foreign optimizers by name: every kind of space, quiet, repeatable, and refused where they could hang."""

import random
import threading

import numpy as np
import pytest

from evolve.errors import SettingsError
from evolve.space import Categorical, Integer, Parameter, Real, Space
from evolve.tuning.foreign import GOOD

EVERY_KIND = Space(
    (
        Parameter("real", Real(-2, 3), 0.5),
        Parameter("scale", Real(0.01, 100, log=True), 1.0),
        Parameter("scales", Real(0.1, 10, log=True, size=2), (0.5, 5.0)),
        Parameter("weights", Real(0, 1, size=2), (0.1, 0.2)),
        Parameter("count", Integer(-3, 9), 2),
        Parameter("counts", Integer(0, 7, size=2), (1, 6)),
        Parameter("size", Integer(1, 1000, log=True), 30),
        Parameter("kind", Categorical("a", "b", "c"), "b"),
    )
)


def score(_, theta):
    unit = EVERY_KIND.to_unit(theta)
    return float(((unit[:-1] - 0.4) ** 2).sum() + 0.3 * (theta[-1] != 2))


@pytest.mark.parametrize("name", GOOD)
def test_the_methods_that_errors_recommend_work_on_every_kind_of_space(lab, name):
    threads = threading.active_count()
    tuner = lab.tuner(f"nevergrad:{name}", EVERY_KIND, budget=60, batch=8)
    asked = lab.run(tuner, score)[0]
    start = EVERY_KIND.encode(EVERY_KIND.defaults)
    assert np.array_equal(asked[0], start)
    assert tuner.best_scores[0] < score(0, start)
    whole = EVERY_KIND.whole
    assert np.array_equal(asked[:, whole], np.round(asked[:, whole]))
    assert all(len(np.unique(column)) > 3 for column in asked[:, :-1].T), "every number is varied"
    assert threading.active_count() == threads
    assert tuner.method == f"nevergrad:{name}"


def test_the_global_random_streams_are_left_alone(lab):
    """Some methods draw from them; the search must not depend on them, nor they on the search."""
    searches = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - the stream in question
        expected = random.Random(seed).random(), np.random.RandomState(seed).random()
        tuner = lab.tuner("nevergrad:LognormalDiscreteOnePlusOne", EVERY_KIND, budget=30)
        searches.append(lab.run(tuner, score))
        assert (random.random(), np.random.random()) == expected  # noqa: NPY002
    assert np.array_equal(*searches)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("NoSuchThing", "there is no such method"),
        ("Cobyla", "background thread"),
        ("Powell", "background thread"),
        ("SPSA", "does not support parallelization"),
    ],
)
def test_what_cannot_take_part_is_refused_with_advice(lab, name, why):
    with pytest.raises(SettingsError, match=rf"nevergrad:{name} cannot tune here: .*{why}.*work: DE, TwoPointsDE"):
        lab.tuner(f"nevergrad:{name}", EVERY_KIND, budget=30)


def test_a_thread_started_on_the_way_is_stopped_and_reported(lab):
    threads = threading.active_count()
    tuner = lab.tuner("nevergrad:ParaPortfolio", EVERY_KIND, budget=60, batch=8)
    with pytest.raises(SettingsError, match="background thread"):
        lab.run(tuner, score)
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(5)
    assert threading.active_count() == threads
