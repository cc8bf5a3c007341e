from dataclasses import dataclass

import numpy as np
import pytest

from evolve.instances import data_digest
from evolve.problem import Instance


@dataclass(frozen=True)
class Case(Instance):
    demand: object = None
    cost: float = 1.0


def test_equal_data_have_equal_digests():
    first = [Case(key="a", demand=np.arange(3.0)), Case(key="b", demand=[1, 2.5, "x"])]
    again = [Case(key="a", demand=np.arange(6.0)[:3]), Case(key="b", demand=[1, 2.5, "x"])]
    assert data_digest(first) == data_digest(again)


@pytest.mark.parametrize(
    "other",
    [
        [Case(key="b", demand=np.arange(3.0))],
        [Case(key="a", group="g", demand=np.arange(3.0))],
        [Case(key="a", demand=np.arange(3.0) + 1e-12)],
        [Case(key="a", demand=np.arange(3))],
        [Case(key="a", demand=np.arange(3.0)[:, None])],
        [Case(key="a", demand=np.arange(3.0), cost=2.0)],
        [Case(key="a", demand=np.arange(3.0))] * 2,
        [],
    ],
)
def test_any_difference_shows(other):
    assert data_digest(other) != data_digest([Case(key="a", demand=np.arange(3.0))])
