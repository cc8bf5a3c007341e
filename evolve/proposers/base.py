"""What the engine asks of a proposer, and what it gets back.

A request holds everything a proposer may use: it is complete, immutable and taken from the population at a fixed point of
the search, so that a proposal depends on nothing but the request (and, for a language model, on its reply).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from evolve.problem import Signature
from evolve.program import Program
from evolve.space import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A reusable snippet and what it gained.

    Args:
        name: unique in the run, for example "t17.0".
        code: a Python expression over the entry's arguments and its own `parameters`.
        parameters: the parameters that `code` names, as source: name to "Real(0, 60) = 20.0".
        description: what it computes, in words.
        gain: mean improvement of score by the programs that took it in, in units of the reference score's spread.
        uses: how many programs took it in.
    """

    name: str
    code: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    gain: float = 0.0
    uses: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """An archived program as a parent or an example: its text with tuned values as defaults, and how good it is."""

    name: str
    program: Program
    values: Mapping[str, Value]
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One ticket's order for a child program.

    Args:
        ticket: number of the ticket.
        island: island it belongs to.
        operator: which of the proposer's `operators` to use.
        signature: the contract of the entry function.
        parent: the program to change.
        others: further programs, best first: mates for crossover, examples for a model.
        skills: snippets that may be spliced in.
        known: fingerprints of programs already in the archive; a proposal among them is rejected as a duplicate.
        seed: the only source of randomness.
    """

    ticket: int
    island: int
    operator: str
    signature: Signature
    parent: Relative
    others: Sequence[Relative] = ()
    skills: Sequence[Skill] = ()
    known: Collection[str] = frozenset()
    seed: np.random.SeedSequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A child program, as text that nobody has checked yet.

    Args:
        source: the program.
        operator: how it was made.
        parents: names of the relatives it was made from; the first is the one it starts tuning from.
        skills: names of the skills it took in.
        note: one line for people: what was changed.
    """

    source: str
    operator: str
    parents: tuple[str, ...]
    skills: tuple[str, ...] = ()
    note: str = ""


class ProposalFailed(Exception):  # noqa: N818 - an outcome of a ticket, not a fault of the software
    """No child came of this request; the reason is archived with the ticket."""


class Proposer(Protocol):
    """Writes child programs."""

    @property
    def name(self) -> str:
        """Short name, as in `--proposer NAME`."""

    @property
    def operators(self) -> Mapping[str, float]:
        """Ways it knows to make a child, each with the weight of its share; the engine learns which of them pay."""

    async def propose(self, request: Request) -> Proposal:
        """Write one child.

        Raises:
            ProposalFailed: if it cannot; the ticket is spent.
        """
