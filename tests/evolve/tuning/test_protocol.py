"""What every tuner promises, whatever its method: order, shapes, budget, failures, seeds, groups and exact resuming."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evolve.errors import SettingsError
from evolve.space import Categorical, Integer, Parameter, Real, Space


def legal(space, theta):
    """Whether every vector decodes to values that the space takes."""
    for row in theta.reshape(-1, space.width):
        assert np.array_equal(space.encode(space.decode(row)), row)


def test_budget_is_spent_in_legal_vectors_from_the_start_on(lab, method, space):
    start = space.from_unit(np.array([[0.15] * space.width, [0.85] * space.width]))
    tuner = lab.tuner(method, space, start=start, budget=43)
    asked = lab.run(tuner, lab.bowl(space))
    assert asked.shape == (2, 43, space.width)
    assert np.array_equal(asked[:, 0], start)
    legal(space, asked)
    assert (tuner.left, tuner.told) == (0, 43)
    with pytest.raises(RuntimeError, match="nothing is left to ask: all 43"):
        tuner.ask()


def test_best_is_the_lowest_told(lab, method, space):
    tuner = lab.tuner(method, space, groups=2, budget=30)
    score = lab.bowl(space)
    assert np.isnan(tuner.best_scores).all()
    assert np.array_equal(tuner.best_theta, np.tile(space.encode(space.defaults), (2, 1)))
    asked = lab.run(tuner, score)
    scores = np.array([[score(group, row) for row in rows] for group, rows in enumerate(asked)])
    assert np.array_equal(tuner.best_scores, scores.min(axis=1))
    for group in range(2):
        assert np.array_equal(tuner.best_theta[group], asked[group, scores[group].argmin()])


def test_what_a_tuner_returns_is_the_callers(lab, built_in):
    space = lab.spaces["mixed"]
    tuner = lab.tuner(built_in, space)
    theta = tuner.ask()
    kept = theta.copy()
    theta[:] = np.nan
    tuner.best_theta[:] = np.nan
    tuner.tell(np.arange(theta.shape[1], dtype=float)[None])
    assert np.array_equal(tuner.best_theta, kept[:, 0])


def test_order_and_shapes_are_checked(lab, built_in):
    tuner = lab.tuner(built_in, lab.spaces["mixed"], groups=2)
    with pytest.raises(RuntimeError, match=r"tell\(\) without ask\(\)"):
        tuner.tell(np.zeros((2, 4)))
    batch = tuner.ask().shape[1]
    with pytest.raises(RuntimeError, match=r"ask\(\) came twice"):
        tuner.ask()
    with pytest.raises(ValueError, match=rf"\(groups, batch\) = \(2, {batch}\).*not \(2, {batch + 1}\)"):
        tuner.tell(np.zeros((2, batch + 1)))
    tuner.tell(np.zeros((2, batch)))
    with pytest.raises(RuntimeError, match="without ask"):
        tuner.tell(np.zeros((2, batch)))


def test_equal_seeds_search_alike_and_others_differ(lab, method, space):
    score = lab.bowl(space)
    asked = [lab.run(lab.tuner(method, space, budget=30, seed=seed), score) for seed in (5, 5, 6)]
    assert np.array_equal(asked[0], asked[1])
    if method != "nevergrad:LognormalDiscreteOnePlusOne" or space.width > 1:
        assert not np.array_equal(asked[0], asked[2])


def test_a_group_is_searched_as_if_alone(lab, method, space):
    score = lab.bowl(space)
    start = space.from_unit(np.array([[0.2] * space.width, [0.6] * space.width, [0.9] * space.width]))
    together = lab.run(lab.tuner(method, space, start=start, budget=48), score)
    alone = lab.run(lab.tuner(method, space, start=start[1:2], budget=48), lambda _, theta: score(1, theta))
    assert np.allclose(together[1], alone[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("told", [0, 1, 3])
def test_resuming_is_exact(lab, method, space, told):
    score = lab.bowl(space)

    def scored(group, theta):
        return np.nan if theta.sum() % 1 > 0.8 else score(group, theta)

    def new():
        return lab.tuner(method, space, groups=2, budget=60)

    whole = lab.run(new(), scored)
    first = new()
    for _ in range(told):
        theta = first.ask()
        first.tell(np.array([[scored(group, row) for row in rows] for group, rows in enumerate(theta)]))
    first.ask()  # a batch in flight when the process ends: it is asked again
    second = new()
    second.restore(json.loads(json.dumps(first.state())))
    assert second.told == first.told
    assert np.array_equal(second.best_theta, first.best_theta)
    assert np.array_equal(second.best_scores, first.best_scores, equal_nan=True)
    rest = lab.run(second, scored)
    assert np.array_equal(rest, whole[:, second.told - rest.shape[1] :])


def test_resuming_past_the_first_stage_is_exact(lab):
    for name in ("real", "mixed"):
        space = lab.spaces[name]
        score = lab.bowl(space)
        first = lab.tuner("default", space, budget=400)
        while first.told < 250:
            theta = first.ask()
            first.tell(np.array([[score(0, row) for row in theta[0]]]))
        second = lab.tuner("default", space, budget=400)
        second.restore(first.state())
        assert np.array_equal(lab.run(first, score), lab.run(second, score))


def test_a_state_of_another_tuner_is_refused(lab, built_in):
    space = lab.spaces["real"]
    first = lab.tuner(built_in, space, seed=1)
    first.tell(np.zeros(first.ask().shape[:2]))
    with pytest.raises(ValueError, match="same space, start, budget, batch and seed"):
        lab.tuner(built_in, space, seed=2).restore(first.state())
    with pytest.raises(RuntimeError, match="fresh tuner"):
        first.restore(first.state())


def test_failed_vectors_are_worse_than_any_number(lab, method, space):
    """A third of the space fails, and the rest has large scores: still the search finds its way."""
    bowl = lab.bowl(space)

    def score(group, theta):
        return np.nan if space.to_unit(theta)[0] > 0.66 else 1e6 + bowl(group, theta)

    tuner = lab.tuner(method, space, groups=2, budget=60)
    asked = lab.run(tuner, score)
    legal(space, asked)
    assert np.isfinite(tuner.best_scores).all()
    assert (tuner.best_scores < 1e6 + 0.3 * space.width**2).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_search_in_which_all_fail_ends_like_any_other(lab, method, space, bad):
    tuner = lab.tuner(method, space, budget=40)
    lab.run(tuner, lambda *_: bad)
    assert np.isnan(tuner.best_scores).all()
    assert np.array_equal(tuner.best_theta[0], space.encode(space.defaults))


@pytest.mark.parametrize("score", [0.0, -3.0, 1e300, 1e-300])
def test_a_flat_score_disturbs_nobody(lab, built_in, space, score):
    tuner = lab.tuner(built_in, space, budget=400)
    lab.run(tuner, lambda *_: score)
    assert tuner.best_scores == [score]


def test_a_single_vector_is_the_start(lab, method, space):
    tuner = lab.tuner(method, space, budget=1)
    asked = lab.run(tuner, lab.bowl(space))
    assert np.array_equal(asked, space.encode(space.defaults)[None, None])


def test_no_parameters_make_one_vector(lab, method):
    tuner = lab.tuner(method, Space(), groups=3, budget=50)
    assert tuner.ask().shape == (3, 1, 0)
    tuner.tell(np.array([[1.0], [np.nan], [3.0]]))
    assert tuner.left == 0
    assert np.array_equal(tuner.best_scores, [1.0, np.nan, 3.0], equal_nan=True)


def test_a_space_smaller_than_the_budget_is_tried_out(lab, method):
    space = Space((Parameter("on", Categorical(True, False), False), Parameter("n", Integer(-3, 4, size=2), (0, -2))))
    start = np.array([[1.0, 0.0, -2.0], [0.0, 4.0, 4.0]])
    tuner = lab.tuner(method, space, start=start, budget=128)
    asked = lab.run(tuner, lambda group, theta: -theta.sum() if group else theta.sum())
    assert asked.shape == (2, 128, 3)
    assert np.array_equal(asked[:, 0], start)
    assert all(len(np.unique(rows, axis=0)) == 128 for rows in asked)
    assert np.array_equal(tuner.best_theta, [[0, -3, -3], [1, 4, 4]])


def test_an_enormous_whole_space_costs_nothing_to_refuse_to_try_out(lab):
    space = Space((Parameter("n", Integer(-(2**53), 2**53, size=4), (0, 0, 0, 0)),))
    assert lab.tuner("default", space, budget=10).ask().shape[2] == 4


def test_a_preferred_batch_is_kept_where_the_budget_allows(lab, built_in):
    space = lab.spaces["mixed"]
    tuner = lab.tuner(built_in, space, budget=2000, batch=40)
    sizes = []
    while tuner.left:
        sizes.append(tuner.ask().shape[1])
        tuner.tell(np.zeros((1, sizes[-1])))
    assert max(sizes) <= 40
    assert np.median(sizes) == 40
    few = lab.tuner(built_in, space, budget=2000)
    assert few.ask().shape[1] <= 16


WRONG = [
    ({"method": "cmaes"}, SettingsError, "unknown tuner 'cmaes': choose default, surrogate.*nevergrad:NAME"),
    ({"budget": 0}, SettingsError, "at least 1 vector"),
    ({"batch": 0}, SettingsError, "a batch holds at least 1"),
    ({"start": np.zeros((2, 3))}, ValueError, r"start has shape \(groups, 2\)"),
    ({"start": np.array([[9.0, 1.0]])}, ValueError, "start of group 0: .*9.0.* at place 0 is outside"),
    ({"start": np.array([[np.nan, 1.0]])}, ValueError, "outside its domain"),
    ({"spread": np.zeros(2)}, ValueError, "spread holds 2 numbers above 0"),
    ({"spread": np.ones(3)}, ValueError, "spread holds 2 numbers"),
]


@pytest.mark.parametrize(("change", "error", "words"), WRONG)
def test_wrong_arguments_are_named(lab, change, error, words):
    arguments = {"method": "default", **change}
    with pytest.raises(error, match=words):
        lab.tuner(arguments.pop("method"), lab.spaces["real"], **arguments)


def domains():
    bounds = st.tuples(st.floats(-50, 49), st.floats(0.5, 100)).map(lambda pair: (pair[0], pair[0] + pair[1]))
    sizes = st.none() | st.integers(1, 3)
    real = st.builds(lambda ends, size: Real(*ends, size=size), bounds, sizes)
    scaled = st.builds(lambda low, ratio: Real(low, low * ratio, log=True), st.floats(1e-6, 1e3), st.floats(1.5, 1e6))
    whole = st.builds(
        lambda low, span, size: Integer(low, low + span, size=size), st.integers(-99, 99), st.integers(1, 999), sizes
    )
    counts = st.builds(lambda low, span: Integer(low, low + span, log=True), st.integers(1, 99), st.integers(1, 9999))
    choices = st.integers(2, 6).map(lambda count: Categorical(list(range(count))))
    return real | scaled | whole | counts | choices


def default(domain):
    if isinstance(domain, Categorical):
        return domain.choices[-1]
    return domain.low if domain.size is None else (domain.low,) * domain.size


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(domains(), min_size=1, max_size=4), seed=st.integers(0, 2**32), data=st.data())
def test_every_vector_of_every_space_is_legal(lab, built_in, parts, seed, data):
    space = Space(tuple(Parameter(f"p{i}", domain, default(domain)) for i, domain in enumerate(parts)))
    budget = data.draw(st.integers(1, 70))
    batch = data.draw(st.none() | st.integers(1, 70))
    failing = data.draw(st.floats(0, 1))
    tuner = lab.tuner(built_in, space, groups=2, budget=budget, batch=batch, seed=seed)
    rng = np.random.default_rng(seed)
    asked = lab.run(tuner, lambda *_: np.nan if rng.random() < failing else rng.standard_normal())
    assert asked.shape[1] <= budget
    assert asked.shape[1] == budget or len(np.unique(asked[0], axis=0)) == asked.shape[1]
    legal(space, asked)


def test_more_groups_than_are_searched_at_once(lab):
    """Ten thousand items are tuned in parts: the result is that of each alone."""
    space = lab.spaces["mixed"]
    start = space.from_unit(np.random.default_rng(0).random((70, space.width)))
    score = lab.bowl(space)
    many = lab.run(lab.tuner("surrogate", space, start=start, budget=16), lambda _, theta: score(0, theta))
    for group in (0, 31, 32, 69):
        alone = lab.run(lab.tuner("surrogate", space, start=start[group : group + 1], budget=16), score)
        assert np.allclose(many[group], alone[0], rtol=1e-6, atol=1e-9)


def test_enormous_scores_are_numbers_too(lab, built_in, space):
    bowl = lab.bowl(space)
    tuner = lab.tuner(built_in, space, budget=60)
    lab.run(tuner, lambda group, theta: 1e305 * bowl(group, theta))
    assert np.isfinite(tuner.best_scores).all()
