"""Random choices from one generator, cheap enough to be drawn by the hundred."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Dice:
    """Draws from a seed; two of the same seed draw the same.

    Args:
        seed: where all randomness comes from.
    """

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._generator = np.random.default_rng(seed)
        self._pool: list[float] = []

    def real(self) -> float:
        """A number in [0, 1)."""
        if not self._pool:  # numpy's calls are costly one by one
            self._pool = self._generator.random(64).tolist()
        return self._pool.pop()

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.real() < probability

    def below(self, count: int) -> int:
        """A whole number in {0, …, count − 1}."""
        return int(self.real() * count)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, all alike."""
        return items[self.below(len(items))]

    def weigh(self, options: Sequence[tuple[float, T]]) -> T:
        """One of the options `(weight, item)`, in proportion to the weights."""
        left = self.real() * sum(weight for weight, _ in options)
        for weight, item in options:
            left -= weight
            if left < 0.0:
                return item
        return options[-1][1]

    def order(self, options: Sequence[tuple[float, T]]) -> list[T]:
        """All items of positive weight in random order, heavy ones rather early."""
        keys = [(self.real() ** (1.0 / weight), -i) for i, (weight, _) in enumerate(options) if weight > 0.0]
        return [options[-i][1] for _, i in sorted(keys, reverse=True)]
