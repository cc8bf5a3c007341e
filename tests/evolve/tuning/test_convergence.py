"""Known functions and their optima: every method of ours finds them, with a margin, and in every group."""

import numpy as np
import pytest

from evolve.space import Categorical, Integer, Parameter, Real, Space
from evolve.tuning import initial_spread

METHODS = ("default", "surrogate", "cma", "de")
WIDTH = 5
PLACES = np.arange(1, WIDTH + 1)
REAL = Space((Parameter("x", Real(-5, 5, size=WIDTH), (4.0,) * WIDTH),))
WHOLE = Space((Parameter("n", Integer(-50, 50, size=WIDTH), (30,) * WIDTH),))


def rotation(seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((WIDTH, WIDTH)))[0]


def sphere(group, theta):
    return float(((theta - 1.0 + 0.5 * group) ** 2).sum())


def ellipsoid(group, theta):
    return float((10.0 ** (0.5 * PLACES) * (rotation(group) @ (theta - 0.5)) ** 2).sum())


def rosenbrock(_, theta):
    return float((100 * (theta[1:] - theta[:-1] ** 2) ** 2 + (1 - theta[:-1]) ** 2).sum())


def corner(_, theta):
    """Lowest at a vertex of the space."""
    return float((PLACES * (theta + 5.0)).sum())


def steps(_, theta):
    """Flat almost everywhere: only whole parts count."""
    return float((PLACES * np.abs(np.floor(theta))).sum())


# score to reach within 300, 1,000 and 4,000 vectors; the start has 45, 2,500, 58,000, 135 and 60
REAL_CASES = [
    (sphere, "surrogate", 300, 1e-2),
    (sphere, "cma", 1000, 1e-4),
    (sphere, "de", 4000, 1e-6),
    (sphere, "default", 1000, 1e-4),
    (ellipsoid, "surrogate", 300, 60.0),
    (ellipsoid, "cma", 4000, 1e-5),
    (ellipsoid, "de", 4000, 1e-1),
    (ellipsoid, "default", 4000, 1e-5),
    (rosenbrock, "surrogate", 300, 400.0),
    (rosenbrock, "cma", 4000, 1e-3),
    (rosenbrock, "default", 4000, 1e-3),
    (corner, "surrogate", 300, 0.5),
    (corner, "cma", 1000, 2.0),
    (corner, "de", 4000, 0.1),
    (corner, "default", 1000, 0.1),
    (steps, "surrogate", 300, 5.0),
    (steps, "cma", 1000, 0.0),
    (steps, "de", 1000, 0.0),
    (steps, "default", 1000, 0.0),
]


@pytest.mark.parametrize(("score", "method", "budget", "reach"), REAL_CASES)
def test_real_spaces(lab, score, method, budget, reach):
    for seed in range(3):
        tuner = lab.tuner(method, REAL, groups=2, budget=budget, seed=seed)
        lab.run(tuner, score)
        assert (tuner.best_scores <= reach).all(), tuner.best_scores


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_any_batch(lab, batch):
    tuner = lab.tuner("default", REAL, groups=3, budget=1500, batch=batch)
    lab.run(tuner, sphere)
    assert (tuner.best_scores < 1e-3).all(), tuner.best_scores


@pytest.mark.parametrize("method", METHODS)
def test_whole_numbers_do_not_freeze(lab, method):
    """Far from the start, and the places count very differently, so that the last ones must be moved one by one."""
    goal = np.array([-17, 3, 44, -2, 11])

    def score(_, theta):
        return float((3.0**PLACES * np.abs(theta - goal)).sum())

    for seed in range(3):
        tuner = lab.tuner(method, WHOLE, budget=1500, seed=seed)
        lab.run(tuner, score)
        assert np.array_equal(tuner.best_theta[0], goal), tuner.best_theta


@pytest.mark.parametrize("method", METHODS)
def test_a_whole_number_off_by_one_is_found(lab, method):
    """A start one step away in every place, among many vectors: no search may be blind to a single step."""
    space = Space((Parameter("n", Integer(0, 1000, size=3), (500, 500, 500)), Parameter("x", Real(0, 1), 0.5)))

    def score(_, theta):
        return float(np.abs(theta[:3] - 501).sum() + abs(theta[3] - 0.4))

    tuner = lab.tuner(method, space, budget=600)
    lab.run(tuner, score)
    assert np.array_equal(tuner.best_theta[0, :3], [501, 501, 501]) or tuner.best_scores[0] < 1.2


MIXED = Space(
    (
        Parameter("kind", Categorical("a", "b", "c", "d"), "a"),
        Parameter("on", Categorical(True, False), True),
        Parameter("level", Integer(0, 40), 5),
        Parameter("x", Real(0, 1, size=2), (0.1, 0.9)),
    )
)


def trap(group, theta):
    """Each choice has an optimum of its own, and the best choice (c, off) looks poor around the start's."""
    kind = (int(theta[0]) + group) % 4
    goal = np.array([[8, 0.2, 0.8], [20, 0.5, 0.5], [30, 0.8, 0.3], [35, 0.9, 0.9]])[kind]
    depth = np.array([0.5, 0.35, 0.0, 0.6])[kind]
    away = (theta[2:] - goal) / np.array([40.0, 1.0, 1.0])
    return float(depth + 2.0 * (away**2).sum() + 0.1 * (theta[1] == 0))


@pytest.mark.parametrize(("method", "budget"), [("surrogate", 300), ("de", 2000), ("default", 600)])
def test_the_right_choice_is_found(lab, method, budget):
    found = 0
    for seed in range(5):
        tuner = lab.tuner(method, MIXED, groups=2, budget=budget, seed=seed)
        lab.run(tuner, trap)
        found += int((tuner.best_scores < 0.05).sum())
    assert found >= 9


def test_a_surrogate_beats_random_search_at_few_vectors(lab):
    """Where most of the value of tuning lies: medians over seeds, on every kind of space."""
    for space, score in ((REAL, ellipsoid), (WHOLE, sphere), (MIXED, lab.bowl(MIXED))):
        medians = {}
        for method in ("default", "random"):
            best = []
            for seed in range(7):
                tuner = lab.tuner(method, space, budget=50, seed=seed)
                lab.run(tuner, score)
                best.append(tuner.best_scores[0])
            medians[method] = np.median(best)
        assert medians["default"] < 0.5 * medians["random"], medians


def test_a_search_that_has_converged_starts_again(lab):
    """Two basins: the start lies in the shallow one, and nothing but a restart leaves it."""
    space = Space((Parameter("x", Real(0, 1, size=2), (0.1, 0.1)),))

    def score(_, theta):
        near, far = np.abs(theta - 0.12).max(), np.abs(theta - 0.8).max()
        return float(min(1.0 + near, far if far < 0.1 else 9.0))

    for method in ("cma", "de"):
        tuner = lab.tuner(method, space, budget=3000, spread=np.full(2, 0.02), seed=1)
        lab.run(tuner, score)
        assert tuner.best_scores[0] < 0.01


def test_inherited_parameters_are_searched_closer_to_their_start(lab):
    space = Space((Parameter("old", Real(0, 1), 0.5), Parameter("new", Real(0, 1, size=2), (0.5, 0.5))))
    spread = initial_spread(space, {"old", "gone"})
    assert spread[0] < spread[1] == spread[2]
    for method in ("default", "surrogate", "cma"):
        theta = lab.tuner(method, space, spread=spread, budget=2000, batch=64).ask()[0]
        around = theta[np.arange(len(theta)) % 4 > 0] if method != "cma" else theta[1:]
        assert np.abs(around[:, 0] - 0.5).mean() < 0.6 * np.abs(around[:, 1] - 0.5).mean()


@pytest.mark.parametrize(("width", "methods"), [(1, METHODS), (2, METHODS), (40, METHODS), (256, ("surrogate", "de"))])
def test_every_width(lab, width, methods):
    space = Space((Parameter("x", Real(0, 1, size=width), (0.9,) * width),))

    def score(_, theta):
        return float(((theta - 0.3) ** 2).mean())

    for method in methods:
        tuner = lab.tuner(method, space, budget=400)
        lab.run(tuner, score)
        assert tuner.best_scores[0] < (1e-4 if width < 3 else 0.36 * 0.75)
