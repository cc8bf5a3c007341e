"""The genetic proposer by operator: CPU time per proposal, and how many of its children are new.

    python -m benchmarks.genetic [PROPOSALS]

The parent is a rule of twenty lines; mates are random programs. "ms" is the median CPU time of a proposal that found a
child, tries included; "found" the share of requests that did; "different" the share of these with a fingerprint of their
own; "weight" the median size of children in names, numbers and operations (the parent's stands below the table).
"""

import sys
import time
from collections import defaultdict
from statistics import median

import numpy as np

from evolve.fingerprint import fingerprint
from evolve.problem import Action, Argument, Signature
from evolve.program import Program, read_program
from evolve.proposers.base import ProposalFailed, Relative, Request, Skill
from evolve.proposers.genetic import Genetic, breed, from_scratch
from evolve.proposers.genetic.draft import Draft

SIGNATURE = Signature(
    entry="order",
    arguments=(
        Argument(name="on_hand", meaning="units in stock", unit="units", high=60.0),
        Argument(name="pipeline", meaning="units on order", unit="units", shape=(4,), high=20.0),
    ),
    action=Action(meaning="units to order", unit="units", low=0.0),
)

PARENT = """def clip(x, low, high):
    return low if x < low else high if x > high else x


def order(on_hand, pipeline, *, level: Real(0, 60) = 20.0, cap: Integer(0, 20) = 8, decay: Real(0.1, 1) = 0.9):
    position = on_hand + pipeline.sum()
    projected = on_hand
    for arriving in pipeline:
        projected = max(0.0, projected + arriving - 5.0)
    late = (pipeline * decay ** np.arange(len(pipeline))).sum()
    gap = level - position + 0.2 * late
    if on_hand > 10.0 and projected > 3.0:
        gap = gap - 0.5 * (on_hand - 10.0)
    elif on_hand < 2.0:
        gap = gap + 1.5
    else:
        gap = gap * 1.1
    smooth = 0.8 * gap + 0.2 * cap
    result = min(cap, max(0.0, smooth))
    return clip(result, 0.0, cap)
"""

SKILL = Skill(name="t1.0", code="max(0.0, threshold - on_hand)", parameters={"threshold": "Real(0, 10) = 3.0"})


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    parent = relative("parent", PARENT)
    mates = [relative(f"mate{seed}", from_scratch(SIGNATURE, np.random.SeedSequence(seed))) for seed in range(4)]
    print(f"{'operator':<12}{'ms':>7}{'found':>8}{'different':>11}{'weight':>8}")
    everything: list[float] = []
    for operator in Genetic().operators:
        times, children = proposals(operator, parent, mates, count)
        everything += times
        prints = {fingerprint(child, SIGNATURE.positional) for child in children}
        weights = [Draft.of(child, SIGNATURE).weight for child in children]
        found, different = len(children) / count, len(prints) / max(1, len(children))
        print(f"{operator:<12}{median(times):>7.2f}{found:>8.0%}{different:>11.0%}{median(weights):>8.0f}")
    weight = Draft.of(parent.program, SIGNATURE).weight
    print(f"all operators: median {median(everything):.2f} ms; parent of weight {weight}")


def proposals(operator: str, parent: Relative, mates: list[Relative], count: int) -> tuple[list[float], list[Program]]:
    """CPU times in ms and children of so many requests."""
    times: dict[bool, list[float]] = defaultdict(list)
    children = []
    for seed in range(count):
        request = Request(
            ticket=seed, island=0, operator=operator, signature=SIGNATURE, parent=parent, others=mates, skills=(SKILL,),
            seed=np.random.SeedSequence([1, seed]),
        )  # fmt: skip
        start = time.process_time()
        try:
            source = breed(request).source
        except ProposalFailed:
            times[False].append(1e3 * (time.process_time() - start))
            continue
        times[True].append(1e3 * (time.process_time() - start))
        children.append(read_program(source, SIGNATURE.entry, SIGNATURE.positional))
    return times[True] or times[False], children


def relative(name: str, source: str) -> Relative:
    """A program as a parent or mate."""
    program = read_program(source, SIGNATURE.entry, SIGNATURE.positional)
    return Relative(name=name, program=program, values=program.space.defaults, score=0.0)


if __name__ == "__main__":
    main()
