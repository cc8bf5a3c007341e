"""What the summary says of a champion is what the intervals on holdout say."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from evolve.report.summary import _scores_table, _verdict
from evolve.search.finals import Final, Finals

KEYS = [f"item-{number}" for number in range(12)]
NOISE = np.random.default_rng(0).normal(size=(4, len(KEYS)))


def final(name, label, level, noise):
    scores = {
        split: dict(zip(KEYS, (level + noise).tolist(), strict=True)) for split in ("train", "validation", "holdout")
    }
    return Final(name=name, label=label, member=None, scores=scores)


def finals(*, maximize, champion="t3"):
    common = 10.0 * NOISE[0]  # items differ far more than rules do: only the pairing shows it
    return Finals(
        finalists=[final(champion, champion, 50.0, common)],
        baselines=[
            final("b0", "low", 47.0, common + NOISE[1]),
            final("b1", "close", 50.0, common + NOISE[2]),
            final("b2", "high", 53.0, common + NOISE[3]),
        ],
        groups={split: dict.fromkeys(KEYS, "") for split in ("train", "validation", "holdout")},
        maximize=maximize,
    )


@pytest.mark.parametrize(
    ("maximize", "said"),
    [
        (False, "better than high; not clearly different from close; worse than low"),
        (True, "better than low; not clearly different from close; worse than high"),
    ],
)
def test_the_verdict_follows_the_intervals_in_both_directions(maximize, said):
    found = finals(maximize=maximize)
    assert _verdict(found, found.champion) == f"on holdout t3 is {said}"


@pytest.mark.parametrize(("name", "kind"), [("t3", "evolved"), ("s1", "start program")])
def test_a_start_program_that_nothing_beat_is_not_called_evolved(name, kind):
    found = finals(maximize=False, champion=name)
    console = Console(width=120, file=io.StringIO())
    console.print(_scores_table(SimpleNamespace(problem=SimpleNamespace(direction="minimize")), found))
    (row,) = [line.split() for line in console.file.getvalue().splitlines() if line.startswith(f" {name}")]
    assert row == [name, *kind.split(), *[f"{50.0 + 10.0 * NOISE[0].mean():.5g}"] * 3]
