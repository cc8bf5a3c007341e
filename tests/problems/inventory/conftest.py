"""A stand-in for the sandbox: trusted rules in this process, and small problems to run them on."""

import ast
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.problem import Instance, Outcome, Per, Trace
from evolve.program import read_program
from problems.inventory import Inventory, InventorySettings


def plain_source(source: str) -> str:
    """A program whose parameters are ordinary arguments without a search space, as a row loop calls it."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.args.args += [ast.arg(entry.arg) for entry in node.args.kwonlyargs]
            node.args.kwonlyargs, node.args.kw_defaults = [], []
    return ast.unparse(ast.fix_missing_locations(tree))


class LocalPolicy:
    """A trusted program called row by row, with one parameter vector for all rows.

    Args:
        problem: whose signature the program follows.
        source: the program.
        values: its parameters; defaults where none is given.
        instance: the instance of each row.
    """

    def __init__(self, problem: Inventory, source: str, values: dict[str, Any], instance: np.ndarray) -> None:
        signature = problem.signature
        program = read_program(source, signature.entry, signature.positional)
        space: dict[str, Any] = {"np": np, "math": math}
        exec(compile(plain_source(program.source), "<rule>", "exec"), space)
        self.function = space[signature.entry]
        self.values = list({**program.space.defaults, **values}.values())
        self.arguments, self.high = signature.arguments, signature.action.high
        self.instance, self.rows = np.asarray(instance, dtype=np.intp), len(instance)
        self.actions: list[np.ndarray] = []

    def __call__(self, **told: Any) -> np.ndarray:
        assert set(told) == {argument.name for argument in self.arguments}
        answers = np.empty(self.rows)
        for row in range(self.rows):
            seen = [told[a.name][row if a.per is Per.ROW else self.instance[row]] for a in self.arguments]
            answers[row] = self.function(*seen, *self.values)
        answers = np.clip(answers, 0.0, self.high)
        self.actions.append(answers)
        return answers


class TablePolicy:
    """A rule written over whole arrays: `rule(on_hand, pipeline, **told)` gives all orders."""

    def __init__(self, rule: Callable[..., Any], rows: int) -> None:
        self.rule, self.rows = rule, rows
        self.instance = np.arange(rows)

    def __call__(self, **told: Any) -> np.ndarray:
        return np.asarray(self.rule(**told), dtype=np.float64)


@pytest.fixture(scope="session")
def bundled() -> Inventory:
    return Inventory(InventorySettings())


@pytest.fixture(scope="session")
def zipkin() -> Inventory:
    return Inventory(InventorySettings(bed="zipkin", paths=1, periods=60, warm_up=20))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file and return its path."""

    def write_file(text: str | bytes, name: str = "demand.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_file


@pytest.fixture(scope="session")
def run_rule() -> Callable[..., tuple[list[Outcome], Trace]]:
    """Run a program over instances, and keep outcomes and trace."""

    def run(
        problem: Inventory, source: str, instances: list[Instance], values: dict[str, Any] | None = None
    ) -> tuple[list[Outcome], Trace]:
        policy = LocalPolicy(problem, source, values or {}, np.arange(len(instances)))
        outcomes = problem.evaluate(policy, instances)
        rows = [
            Outcome(score=float(score), metrics={name: float(values[row]) for name, values in outcomes.metrics.items()})
            for row, score in enumerate(outcomes.score)
        ]
        return rows, Trace(instances=instances, observations={}, actions=np.stack(policy.actions))

    return run


@pytest.fixture(scope="session")
def table_policy() -> type[TablePolicy]:
    return TablePolicy


@pytest.fixture(scope="session")
def plain() -> Callable[[str], str]:
    return plain_source
