"""The form `episode` (a generator per row, a locked process deciding) against a plain loop that calls the rule directly.

    python benchmarks/episodes.py [--rows N] [--periods N]

The same scalar inventory is written twice: once as a generator that yields observations, once as a loop that calls the
function in its own process, without any isolation. Minimum of five runs each, in turns.
"""

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evolve import Action, Argument, Instance, Outcome, Problem, Signature, observe
from evolve.evaluation.forms import Block, run_block
from evolve.evaluation.layout import block_layout
from evolve.program import read_program
from sandbox import Sandbox

SHORT = """def order(on_hand, due, *, level: Real(0, 60) = 20.0, cap: Real(0, 20) = 8.0):
    return min(cap, max(0.0, level - on_hand - due))
"""
TYPICAL = """def order(on_hand, due, *, level: Real(0, 60) = 20.0, cap: Real(0, 20) = 8.0, share: Real(0, 1) = 0.5):
    position = on_hand + due
    expected = 0.0
    for step in range(4):
        left = position - 5.0 * (step + 1)
        expected += max(0.0, left) / (1.0 + step)
    if expected > 2.0 * level:
        return 0.0
    spread = math.sqrt(1.0 + abs(level - position))
    wanted = share * (level - position) + (1.0 - share) * spread
    return min(cap, max(0.0, wanted))
"""


@dataclass(frozen=True)
class Path(Instance):
    """One demand path."""

    demand: tuple[float, ...] = ()


class Shop(Problem):
    """A lost-sales inventory with lead time 1."""

    name = "shop"

    @property
    def signature(self) -> Signature:
        """Stock on hand and what is due."""
        arguments = (Argument(name="on_hand", meaning="stock"), Argument(name="due", meaning="on order"))
        return Signature(entry="order", arguments=arguments, action=Action(meaning="units to order"))

    def seeds(self) -> dict[str, str]:
        """The rules that are timed."""
        return {"short": SHORT, "typical": TYPICAL}

    def instances(self, split: str, seed: int) -> list[Path]:
        """None by itself; the benchmark brings them."""
        del split, seed
        return []

    def episode(self, instance: Path):  # type: ignore[no-untyped-def]
        """As the author of a problem writes it."""
        on_hand, due, cost = 10.0, 5.0, 0.0
        for demand in instance.demand:
            on_hand += due
            due = yield observe(on_hand=on_hand, due=0.0)
            sold = min(on_hand, demand)
            on_hand -= sold
            cost += on_hand + 9.0 * (demand - sold)
        return Outcome(score=cost / len(instance.demand))


def plain(rule, path: Path) -> float:  # type: ignore[no-untyped-def]
    """The same as a loop."""
    on_hand, due, cost = 10.0, 5.0, 0.0
    for demand in path.demand:
        on_hand += due
        due = rule(on_hand=on_hand, due=0.0)
        sold = min(on_hand, demand)
        on_hand -= sold
        cost += on_hand + 9.0 * (demand - sold)
    return cost / len(path.demand)


def as_function(source: str) -> Callable[..., float]:
    """A rule as an ordinary function, annotations and all."""
    names = {"math": math, "Real": lambda *_: None}
    exec(source, names)  # noqa: S102 - the two rules above
    return names["order"]  # type: ignore[return-value]


def measure(sandbox: Sandbox, source: str, rows: int, periods: int) -> dict[str, float]:
    """Seconds per way: minimum of five runs each, in turns."""
    rng = np.random.default_rng(0)
    paths = [Path(key=str(n), demand=tuple(rng.poisson(5.0, periods).tolist())) for n in range(rows)]
    problem, program, rule = (
        Shop(Shop.Settings()),
        read_program(source, "order", ("on_hand", "due")),
        as_function(source),
    )
    layout = block_layout(problem.signature, program.space)
    theta = program.space.warm_start({})[None, :]
    block_rows = np.zeros(rows, dtype=np.intp)
    times: dict[str, list[float]] = {"locked, compiled": [], "locked, plain": [], "loop without isolation": []}
    for _ in range(5):
        for compiled in (True, False):
            with sandbox.spawn(source, layout, max_rows=rows, compiled=compiled) as child:
                block = Block(child, theta, block_rows, np.arange(rows), paths)
                run_block(problem, block)
                begin = time.perf_counter()
                scores = run_block(problem, block).score
                times["locked, compiled" if compiled else "locked, plain"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        expected = [plain(rule, path) for path in paths]
        times["loop without isolation"].append(time.perf_counter() - begin)
        assert np.allclose(scores, expected)
    return {way: min(seconds) for way, seconds in times.items()}


def main() -> None:
    """Print rates and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--periods", type=int, default=200)
    options = parser.parse_args()
    with Sandbox() as sandbox:
        for name, source in (("a rule of one line", SHORT), ("a typical rule", TYPICAL)):
            print(f"{name}, {options.rows} rows")
            times = measure(sandbox, source, options.rows, options.periods)
            loop = times["loop without isolation"]
            for way, seconds in times.items():
                rate = options.rows * options.periods / seconds / 1e3
                print(
                    f"  {way:24} {rate:8.0f} thousand row-steps per second, {seconds / loop:.2f} times the loop's time"
                )


if __name__ == "__main__":
    main()
