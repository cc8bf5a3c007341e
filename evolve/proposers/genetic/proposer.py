"""The embedded proposer: children by typed operators on syntax trees. No model, no key, no network, no cost."""

import ast
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from evolve.errors import ProgramError
from evolve.fingerprint import fingerprint
from evolve.program import read_program
from evolve.proposers.base import Proposal, ProposalFailed, Request
from evolve.proposers.genetic import bend, cut, fresh, grow, mix, retune, vary
from evolve.proposers.genetic.dice import Dice
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.finish import Bounds, TooLarge, finish
from evolve.proposers.genetic.workshop import NoWay, Workshop

NOTE = 200
"""Longest note, in characters."""

Operator = Callable[[Workshop], str]

OPERATORS: dict[str, Operator] = {
    "grow": grow.grow,
    "reshape": grow.reshape,
    "prune": cut.prune,
    "clamp": bend.clamp,
    "threshold": bend.threshold,
    "swap": vary.swap,
    "promote": vary.promote,
    "retune": retune.retune,
    "crossover": mix.crossover,
    "splice": mix.splice,
    "branch": mix.branch,
    "simplify": cut.simplify,
    "fresh": fresh.write_fresh,
}

_GROWING = {"grow", "reshape", "clamp", "threshold", "splice", "branch"}

FRESH_WEIGHT = 0.25
"""How often to write a program from nothing, as a share of what another operator gets."""

ATTEMPTS = 12
"""Tries within one request, each with random numbers of its own."""


class Genetic:
    """Writes children by changing syntax trees. It knows nothing of what programs mean and is no language model."""

    @property
    def name(self) -> str:
        """As in `--proposer genetic`."""
        return "genetic"

    @property
    def operators(self) -> Mapping[str, float]:
        """Ways it knows to make a child; what has nothing to do with its parent is tried less often."""
        return {name: FRESH_WEIGHT if name == "fresh" else 1.0 for name in OPERATORS}

    async def propose(self, request: Request) -> Proposal:
        """Write one child; what comes out depends on nothing but the request.

        Raises:
            ProposalFailed: if the operator finds nothing to change, or only finds programs that are known.
            KeyError: if the operator is none of `operators`.
        """
        return breed(request)


def breed(request: Request) -> Proposal:
    """As `Genetic.propose`, for callers that do not run an event loop."""
    parent = Draft.of(request.parent.program, request.signature)
    bounds = Bounds.of(parent)
    own = fingerprint(request.parent.program, request.signature.positional)
    room = 1 if request.operator in _GROWING and parent.weight > bounds.weight - 6 else 0
    reasons: Counter[str] = Counter()
    for attempt in range(ATTEMPTS):
        shop = Workshop(parent.copy(), _dice(request, attempt), request)
        try:
            note = _work(shop, room)
            child = read_program(finish(shop.draft, bounds), request.signature.entry, request.signature.positional)
        except TooLarge as way:
            room += request.operator != "fresh"  # more is pruned each time
            reasons[str(way)] += 1
            continue
        except NoWay as way:
            reasons[str(way)] += 1
            continue
        except ProgramError as error:
            reasons[f"the child broke the contract: {error}"] += 1
            continue
        if (identity := fingerprint(child, request.signature.positional)) == own or identity in request.known:
            reasons["the child is a program that is known already"] += 1
            continue
        return Proposal(
            source=child.source,
            operator=request.operator,
            parents=(request.parent.name, *shop.used),
            skills=tuple(shop.skills),
            note=note if len(note) <= NOTE else f"{note[: NOTE - 1]}…",
        )
    reason, _ = reasons.most_common(1)[0]
    raise ProposalFailed(f"{request.operator}: {reason} ({ATTEMPTS} tries)")


def _work(shop: Workshop, room: int) -> str:
    """Prune a program so many times, where it is large, and let the operator change it; returns what was done."""
    notes = [cut.prune(shop) for _ in range(room)]
    notes.append(OPERATORS[shop.request.operator](shop))
    if ast.get_docstring(shop.draft.function, clean=False) is not None and shop.request.operator != "retune":
        del shop.draft.function.body[0]  # it described the parent
    return "; ".join(notes)


def _dice(request: Request, attempt: int) -> Dice:
    """Random numbers of one attempt. The request's own seed is left as it is: asking twice gives the same answer."""
    seed = request.seed
    return Dice(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, attempt)))
