"""Parameter spaces: what is refused, and that the three codings agree."""

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.space import (
    MAX_PARAMETERS,
    MAX_WIDTH,
    Categorical,
    Domain,
    Integer,
    Parameter,
    Real,
    Space,
    SpaceError,
    check_value,
)

HUGE = 10**400


@st.composite
def parameters(draw: st.DrawFn, name: str) -> Parameter:
    kind = draw(st.sampled_from(["real", "log", "integer", "categorical"]))
    size = draw(st.none() | st.integers(1, 4))
    if kind == "categorical":
        choices = draw(
            st.lists(st.text(max_size=3) | st.integers(-5, 5), min_size=2, max_size=5, unique_by=lambda c: (type(c), c))
        )
        domain: Real | Integer | Categorical = Categorical(choices)
        return Parameter(name, domain, draw(st.sampled_from(choices)))
    if kind == "integer":
        low = draw(st.integers(-1000, 1000))
        domain = Integer(low, low + draw(st.integers(1, 1000)), size=size)
        one = st.integers(domain.low, domain.high)
    else:
        low = draw(st.floats(1e-6, 1e3)) if kind == "log" else draw(st.floats(-1e6, 1e6))
        domain = Real(low, low + draw(st.floats(1e-3, 1e6)), log=kind == "log", size=size)
        one = st.floats(domain.low, domain.high)
    value = draw(one) if size is None else tuple(draw(st.lists(one, min_size=size, max_size=size)))
    return Parameter(name, domain, value)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    return Space(tuple(draw(parameters(f"p{i}")) for i in range(draw(st.integers(0, 4)))))


@given(spaces())
def test_values_survive_their_coding_as_theta(space: Space) -> None:
    theta = space.encode(space.defaults)
    assert theta.shape == (space.width,)
    decoded = space.decode(theta)
    assert decoded == space.defaults
    assert [type(value) for value in decoded.values()] == [type(value) for value in space.defaults.values()]


@given(spaces())
def test_theta_survives_its_coding_as_unit_coordinates(space: Space) -> None:
    theta = space.encode(space.defaults)
    unit = space.to_unit(theta)
    assert np.all((unit >= 0) & (unit <= 1))
    np.testing.assert_allclose(space.from_unit(unit), theta, rtol=1e-9, atol=1e-9)
    assert np.array_equal(space.from_unit(unit)[space.whole], theta[space.whole])


@given(spaces(), st.lists(st.floats(-0.5, 1.5), min_size=64, max_size=64))
def test_every_point_of_the_cube_is_a_valid_program_input(space: Space, numbers: list[float]) -> None:
    unit = np.resize(np.array(numbers), (3, space.width))
    for theta in space.from_unit(unit):
        for parameter in space.parameters:
            check_value(parameter.name, parameter.domain, space.decode(theta)[parameter.name])


@given(spaces())
def test_rounding_stays_inside_and_changes_little(space: Space) -> None:
    theta = space.encode(space.defaults)
    rounded = space.rounded(theta)
    for parameter in space.parameters:
        check_value(parameter.name, parameter.domain, space.decode(rounded)[parameter.name])
    np.testing.assert_allclose(rounded, theta, rtol=1e-5, atol=1e-9)


def test_the_ends_of_whole_numbers_get_as_much_of_the_cube_as_the_others() -> None:
    space = Space((Parameter("n", Integer(0, 3), 0),))
    unit = np.linspace(0, 1, 4001)[:, None]
    values, counts = np.unique(space.from_unit(unit), return_counts=True)
    assert values.tolist() == [0, 1, 2, 3]
    assert counts.max() - counts.min() <= 2


def test_a_logarithmic_scale_is_even_in_orders_of_magnitude() -> None:
    space = Space((Parameter("rate", Real(0.01, 100.0, log=True), 1.0),))
    assert space.from_unit(np.array([0.5]))[0] == pytest.approx(1.0)
    assert space.from_unit(np.array([0.25]))[0] == pytest.approx(0.1)


def test_a_warm_start_takes_what_fits_and_moves_what_is_just_outside() -> None:
    space = Space(
        (
            Parameter("level", Real(0, 10), 5.0),
            Parameter("cap", Integer(0, 10), 5),
            Parameter("mode", Categorical("a", "b"), "a"),
            Parameter("weights", Real(0, 1, size=2), (0.5, 0.5)),
        )
    )
    given_values = {"level": 12.5, "cap": 3.6, "mode": "c", "weights": (0.1, 7.0), "other": 1.0}
    assert space.decode(space.warm_start(given_values)) == {
        "level": 10.0, "cap": 4, "mode": "a", "weights": (0.1, 1.0),
    }  # fmt: skip
    odd = {"level": "x", "cap": math.nan, "mode": True, "weights": (0.1, 0.2, 0.3)}
    assert space.decode(space.warm_start(odd)) == space.defaults
    assert space.decode(space.warm_start({"level": HUGE, "weights": 0.3})) == space.defaults


@pytest.mark.parametrize("kind", [Real, Integer])
@pytest.mark.parametrize(
    "bounds",
    [(1, 1), (2, 1), (0, math.inf), (-math.inf, 0), (math.nan, 1), (0, HUGE)],
)
def test_bounds_that_are_none_are_refused(kind: Callable[..., Domain], bounds: tuple[float, float]) -> None:
    with pytest.raises(SpaceError):
        kind(*bounds)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Real(-1e308, 1e308),
        lambda: Real(0, 1, log=True),
        lambda: Real(0, 1, size=0),
        lambda: Real(0, 1, size=True),
        lambda: Real(0, 1, size=2.0),  # type: ignore[arg-type]
        lambda: Real(0, 1, size=MAX_WIDTH + 1),
        lambda: Integer(0, 2.5),  # type: ignore[arg-type]
        lambda: Integer(False, 3),
        lambda: Integer(0, 2**60),
        lambda: Categorical("a"),
        lambda: Categorical("a", "a"),
        lambda: Categorical(1.0, math.nan),
        lambda: Categorical("a", None),  # type: ignore[arg-type]
        lambda: Categorical([]),
    ],
)
def test_malformed_domains_are_refused(make: Callable[[], Domain]) -> None:
    with pytest.raises(SpaceError):
        make()


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (Real(0, 1), 1.5),
        (Real(0, 1), math.nan),
        (Real(0, 1), True),
        (Real(0, 1), "x"),
        (Real(0, 1), HUGE),
        (Real(0, 1), (0.5,)),
        (Real(0, 1, size=2), 0.5),
        (Real(0, 1, size=2), (0.5,)),
        (Integer(0, 3), 1.5),
        (Integer(0, 3), 2.0),
        (Categorical(1, 2), 1.0),
        (Categorical(1, 2), True),
    ],
)
def test_values_outside_their_domain_are_refused(domain: Domain, value: Any) -> None:
    with pytest.raises(SpaceError, match=r"^p "):
        Parameter("p", domain, value)


def test_a_space_is_bounded_and_its_names_differ() -> None:
    with pytest.raises(SpaceError, match="at most"):
        Space(tuple(Parameter(f"p{i}", Real(0, 1), 0.5) for i in range(MAX_PARAMETERS + 1)))
    with pytest.raises(SpaceError, match="at most"):
        Space(tuple(Parameter(f"p{i}", Real(0, 1, size=200), (0.5,) * 200) for i in range(2)))
    with pytest.raises(SpaceError, match="differ"):
        Space((Parameter("p", Real(0, 1), 0.5), Parameter("p", Real(0, 2), 0.5)))


def test_choices_may_be_given_as_a_list_and_keep_their_types() -> None:
    assert Categorical(["a", "b"]) == Categorical("a", "b")
    space = Space((Parameter("n", Categorical(True, 1, 1.0, "1"), 1.0),))
    assert space.encode({"n": 1.0}).tolist() == [2.0]
    assert space.decode(np.array([0.0]))["n"] is True


def test_an_empty_space_has_no_width() -> None:
    space = Space()
    assert space.width == 0
    assert space.encode({}).shape == (0,)
    assert space.from_unit(np.zeros((5, 0))).shape == (5, 0)


def test_a_space_can_be_sent_to_another_process() -> None:
    space = Space((Parameter("level", Real(0, 10), 5.0), Parameter("mode", Categorical("a", "b"), "a")))
    assert space.width == 2
    assert pickle.loads(pickle.dumps(space)) == space


def test_missing_values_are_named() -> None:
    with pytest.raises(SpaceError, match="level"):
        Space((Parameter("level", Real(0, 10), 5.0),)).encode({})


def test_a_name_that_begins_with_an_underscore_is_refused():
    with pytest.raises(SpaceError, match="does not begin with an underscore: write `x`"):
        Parameter("__x", Real(0, 1), 0.5)
