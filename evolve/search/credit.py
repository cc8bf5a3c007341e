"""Which operator pays: probability matching on discounted credit.

Each way of making a child earns credit by what its children gained over their parents. Operators are drawn in proportion
to their mean credit, but never below a floor, so that one that is useless now can prove itself later. What counts is
counted, never timed: a decision depends on committed tickets alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(slots=True, kw_only=True)
class Credit:
    """Discounted mean reward per choice.

    Args:
        weights: the choices in a fixed order, each with the factor by which its share is multiplied.
        floor: smallest share of the draws that any choice keeps, as a fraction of an even share.
        discount: weight of what was learned before each new reward.
        prior: pseudo-observations of the mean reward 0.5 that every choice starts with.
    """

    weights: Mapping[str, float]
    floor: float = 0.3
    discount: float = 0.98
    prior: float = 4.0
    _weight: dict[str, float] = field(default_factory=dict)
    _reward: dict[str, float] = field(default_factory=dict)

    def update(self, choice: str, reward: float) -> None:
        """Record a reward in [0, 1] for one use of a choice.

        Raises:
            ValueError: if the reward is outside [0, 1].
        """
        if not 0.0 <= reward <= 1.0:
            raise ValueError(f"a reward lies in [0, 1], not {reward!r}")
        if choice not in self.weights:
            return  # an operator of an earlier version of the proposer: nothing to learn from it
        self._weight[choice] = self.discount * self._weight.get(choice, 0.0) + 1.0
        self._reward[choice] = self.discount * self._reward.get(choice, 0.0) + reward

    def mean(self, choice: str) -> float:
        """Discounted mean reward of a choice, drawn towards 0.5 while little is known."""
        weight = self._weight.get(choice, 0.0) + self.prior
        return (self._reward.get(choice, 0.0) + 0.5 * self.prior) / weight

    def shares(self) -> Mapping[str, float]:
        """Probability of each choice."""
        means = np.array([self.mean(name) for name in self.weights])
        share = (self.floor / len(means) + (1.0 - self.floor) * means / means.sum()) * np.array(
            [*self.weights.values()]
        )
        return dict(zip(self.weights, (share / share.sum()).tolist(), strict=True))

    def draw(self, rng: np.random.Generator) -> str:
        """Choose one."""
        shares = self.shares()
        return str(rng.choice(list(shares), p=list(shares.values())))
