from dataclasses import dataclass

import numpy as np
import pytest

from evolve.errors import EvaluationError
from evolve.instances import data_digest, instances_of
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


class Broken:
    name = "broken"

    def __init__(self, made):
        self.made = made

    def instances(self, split, seed):
        if isinstance(self.made, Exception):
            raise self.made
        return self.made


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ([], "has no instances in its holdout split"),
        (
            [Instance(key="a"), Instance(key="b"), Instance(key="a")],
            "two instances with the key 'a' in its holdout split",
        ),
        (KeyError("demand"), r"broken.instances\('holdout', 3\) raised KeyError: 'demand'"),
    ],
)
def test_instances_that_no_run_could_use_are_refused_first(made, said):
    with pytest.raises(EvaluationError, match=said):
        instances_of(Broken(made), "holdout", 3)


def test_good_instances_come_as_they_are():
    made = [Instance(key="a"), Instance(key="b")]
    assert instances_of(Broken(made), "train", 0) is made
