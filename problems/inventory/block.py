"""A block of instances, laid out for the simulator: what happens in each period, and what a rule may know by then."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CACHE_BYTES = 256_000_000
"""Blocks kept for the next call are together no larger than this."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Several instances over equally many periods. Arrays over time have the period in front: one period is contiguous.

    Args:
        demand: units per period, shape *(periods, instances)*.
        burn_in: the first periods, which are simulated but not counted.
        lead_time: periods from order to arrival, shape *(instances,)*.
        width: places of the pipeline that a rule sees: the longest lead time of the problem, at least 1.
        holding: cost of one unit left at the end of a period, shape *(instances,)*.
        shortage: cost of one unit short, shape *(instances,)*.
        start: stock at the beginning, shape *(instances,)*.
        arriving: what arrives in each of the first periods, shape *(instances,)*.
        typical: typical demand per period, in which stock is told; shape *(instances,)*.
        scale: cost per period that gives score 1, shape *(instances,)*.
        offset: cost per period taken off before scaling (a control variate of known mean), shape *(instances,)*.
        known: what a rule is told in each period by argument name, arrays of shape *(periods, instances)*.
        fixed: what a rule is told that does not change, arrays of shape *(instances,)*.
        past: demand of `history` periods before the first one and of all periods, shape *(instances, history +
            periods)*; None if rules do not see recent demand.
    """

    demand: Floats
    burn_in: int
    lead_time: Ints
    width: int
    holding: Floats
    shortage: Floats
    start: Floats
    arriving: Floats
    typical: Floats
    scale: Floats
    offset: Floats
    known: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    fixed: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    past: Floats | None = None

    @property
    def periods(self) -> int:
        """Simulated periods, burn-in included."""
        return len(self.demand)

    @property
    def history(self) -> int:
        """Periods of recent demand that a rule sees; 0 if none."""
        return 0 if self.past is None else self.past.shape[1] - self.periods

    @property
    def nbytes(self) -> int:
        """Memory it takes, about."""
        arrays = [self.demand, *self.known.values(), *([] if self.past is None else [self.past])]
        return sum(int(array.nbytes) for array in arrays)

    def observe(self, period: int) -> dict[str, NDArray[Any]]:
        """What is known when the decision of a period is due: only demand of earlier periods is in it."""
        told = {name: values[period] for name, values in self.known.items()}
        told.update(self.fixed)
        if self.past is not None:
            told["recent"] = self.past[:, period : period + self.history]
        return told


class BlockCache:
    """The last few blocks by their instances: tuning asks for the same ones again and again."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[Hashable, Block] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Block]) -> Block:
        """The block of `key`, made if it is not there."""
        block = self._blocks.pop(key, None) or make()
        self._blocks[key] = block
        while len(self._blocks) > 1 and sum(kept.nbytes for kept in self._blocks.values()) > CACHE_BYTES:
            self._blocks.popitem(last=False)
        return block
