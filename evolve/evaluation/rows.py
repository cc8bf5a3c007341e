"""Rows: a block's parameter vectors and instances, and the locked program as an evaluator sees it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.problem import Instance, Per, Signature, Trace
from sandbox import Child

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class AllRowsFailed(Exception):  # noqa: N818 - ends a block early, through the problem's own code
    """Every row of the block has failed: there is nothing left to decide."""


@dataclass(slots=True)
class Recorder:
    """Keeps what a block saw and did, for evidence and figures."""

    signature: Signature
    observations: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    actions: list[NDArray[Any]] = field(default_factory=list)

    def record(self, observations: dict[str, Any], actions: NDArray[Any]) -> None:
        """Keep a copy of one call."""
        for argument in self.signature.arguments:
            if None not in argument.shape:
                kept = self.observations.setdefault(argument.name, [])
                kept.append(np.array(observations[argument.name]))
        self.actions.append(actions.copy())

    def trace(self, instances: Sequence[Instance]) -> Trace:
        """All calls, stacked; calls with another number of rows than the first (rows that ended early) are left out."""
        rows = len(self.actions[0]) if self.actions else 0
        whole = [step for step, actions in enumerate(self.actions) if len(actions) == rows]
        return Trace(
            instances=instances,
            observations={name: np.stack([kept[step] for step in whole]) for name, kept in self.observations.items()},
            actions=np.stack([self.actions[step] for step in whole]) if whole else np.empty(0),
        )


class RowPolicy:
    """A locked program bound to a block of rows (`evolve.problem.Policy`).

    Args:
        child: the program's process.
        signature: the contract of its entry function.
        theta: parameter vectors, shape *(vectors, width)*.
        vector: the parameter vector of each row, shape *(rows,)*.
        instance: the position of each row's instance, shape *(rows,)*.
        instances: how many instances there are.
        recorder: keeps a copy of every call, if given.
        memory: what the rows remember from before, shape *(rows, memory)*; None starts from zero.
    """

    def __init__(
        self,
        child: Child,
        signature: Signature,
        *,
        theta: Floats,
        vector: Indices,
        instance: Indices,
        instances: int,
        recorder: Recorder | None = None,
        memory: Floats | None = None,
    ) -> None:
        self._child, self._recorder = child, recorder
        self.instance = instance
        self.rows = len(vector)
        self.failed: NDArray[np.bool_] = np.zeros(self.rows, dtype=np.bool_)
        self.error = ""
        if memory is None and signature.memory:
            memory = np.zeros((self.rows, signature.memory))
        self.memory = memory
        child.bind(theta, vector, instance, instances)

    def __call__(self, **observations: Any) -> Any:
        """Decide for the whole block: see `evolve.problem.Policy`.

        Raises:
            AllRowsFailed: when no row is left that could be scored.
            sandbox.ChildFailed: when the program's process is gone.
        """
        if self.memory is not None:
            observations["memory"] = self.memory
        block = self._child.call(observations)
        self.memory = block.memory
        if block.error is not None:
            self.failed |= block.status != 0
            self.error = self.error or block.error
            if self.failed.all():
                raise AllRowsFailed(self.error)
        if self._recorder is not None:
            self._recorder.record(observations, block.actions)
        return block.actions


class CallPolicy:
    """A locked program for one row of the form `evaluate_one`: a call may bring as many candidates as it likes.

    Arguments per row come with the candidates in front, or bare for a single one; all others come bare. What the row
    remembers goes from call to call, so a signature with memory takes one candidate per call.
    """

    def __init__(self, child: Child, signature: Signature, theta: Floats) -> None:
        self._child, self._theta = child, theta[None, :]
        self._memory: Floats | None = np.zeros((1, signature.memory)) if signature.memory else None
        self._per_row = [argument.name for argument in signature.arguments if argument.per is Per.ROW]
        self._per_instance = [argument.name for argument in signature.arguments if argument.per is Per.INSTANCE]
        self._shapes = {argument.name: len(argument.shape) for argument in signature.arguments}
        self.rows = 0
        self.instance = np.zeros(0, dtype=np.intp)

    def __call__(self, **observations: Any) -> Any:
        """Decide; arrays with the rows in front give one action per row, bare values give a single action.

        Raises:
            AllRowsFailed: if the program failed on any row: its answer to this call cannot be used.
            sandbox.ChildFailed: when the program's process is gone.
        """
        arrays = {name: np.asarray(value) for name, value in observations.items()}
        single = all(arrays[name].ndim == self._shapes[name] for name in self._per_row)
        arrays.update({name: arrays[name][None] for name in self._per_instance})
        if single:
            arrays.update({name: arrays[name][None] for name in self._per_row})
        self._bind(len(arrays[self._per_row[0]]) if self._per_row else 1)
        if self._memory is not None:
            arrays["memory"] = self._memory
        block = self._child.call(arrays)
        if block.error is not None:
            raise AllRowsFailed(block.error)
        self._memory = block.memory
        return block.actions[0] if single else block.actions

    def _bind(self, rows: int) -> None:
        if rows != self.rows:
            self.rows = rows
            self.instance = np.zeros(rows, dtype=np.intp)
            self._child.bind(self._theta, self.instance, self.instance, 1)
