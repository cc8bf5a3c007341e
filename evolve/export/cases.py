"""Cases for an exported function's test: plausible arguments and the answers that the sandboxed program gave."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolve.errors import ExportError
from evolve.evaluation.layout import block_layout, child_limits
from evolve.problem import Argument, Per, Problem
from evolve.program import Program
from evolve.settings import LimitSettings
from evolve.space import Value
from sandbox import Level, Sandbox

CASES = 5
ANY_LENGTH = 8
"""Length given to an array argument whose length varies."""


@dataclass(frozen=True, slots=True)
class Case:
    """Arguments of one call, as plain numbers and lists, and its answer."""

    arguments: Mapping[str, Any]
    answer: Any


def make_cases(
    problem: Problem[Any, Any], program: Program, values: Mapping[str, Value], *, weak_sandbox: bool
) -> list[Case]:
    """Ask the program in a sandbox, with arguments drawn from their plausible ranges.

    Raises:
        ExportError: if it fails on all of them.
    """
    rng = np.random.default_rng(0)
    signature, space = problem.signature, program.space
    theta = space.warm_start(values)[None, :]
    rows = np.arange(CASES)
    arrays = {argument.name: _draw(argument, rng) for argument in signature.arguments}
    with Sandbox(require=Level.LANGUAGE_ONLY if weak_sandbox else Level.OS_PARTIAL) as sandbox:
        limits = child_limits(problem.limits, LimitSettings())
        layout = block_layout(signature, space)
        with sandbox.spawn(program.source, layout, limits=limits, max_rows=CASES, compiled=False) as child:
            child.bind(theta, np.zeros(CASES, dtype=np.intp), rows, CASES)
            if signature.memory:
                arrays["memory"] = np.zeros((CASES, signature.memory))
            block = child.call(arrays)
    good = np.flatnonzero(block.status == 0)
    if not len(good):
        raise ExportError(f"the program fails on plausible arguments: {block.error}")
    per = {argument.name: argument.per for argument in signature.arguments}
    cases = []
    for row in good.tolist():
        chosen = {
            name: (array if per.get(name) is Per.BLOCK else array[row]).tolist() for name, array in arrays.items()
        }
        answer: Any = block.actions[row].tolist()
        if block.memory is not None:
            answer = (answer, block.memory[row].tolist())
        cases.append(Case(chosen, answer))
    return cases


def _draw(argument: Argument, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    shape = tuple(ANY_LENGTH if size is None else size for size in argument.shape)
    if argument.per is not Per.BLOCK:
        shape = (CASES, *shape)
    if argument.dtype == "bool":
        return rng.random(shape) < 0.5
    drawn = rng.uniform(argument.low, argument.high, shape).round(3)
    return np.floor(drawn).astype(np.int64) if argument.dtype == "int" else drawn
