"""Every operator on many parents of several domains: children keep the contract and run."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import rules
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rules import DOMAINS, SKILLS, Domain, check_answer, function_of, rows

from evolve.evaluation.layout import block_layout
from evolve.fingerprint import fingerprint
from evolve.program import Program, read_program
from evolve.proposers.base import Proposal, ProposalFailed, Request
from evolve.proposers.genetic import Genetic, breed, from_scratch
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.finish import MAX_WEIGHT, MAX_WIDTH
from sandbox import check_program

OPERATORS = tuple(Genetic().operators)

LIKELY = {"grow", "reshape", "clamp", "threshold", "fresh", "swap", "crossover", "branch", "splice"}
"""Operators that always find something to do where the action is a number."""

NUMBERS = {"inventory", "scoring", "control", "market"}
"""Domains where it is."""


def bred(request: Request) -> Proposal | None:
    """The child, or None if the operator finds none."""
    try:
        return breed(request)
    except ProposalFailed:
        return None


def parents(domain: Domain, seed: int) -> list[str]:
    """The domain's programs, one from nothing, and a descendant of a few generations."""
    sources = [*domain.sources, from_scratch(domain.signature, np.random.SeedSequence([1, seed]))]
    rng = np.random.default_rng(seed)
    line = sources[seed % len(sources)]
    for generation in range(int(rng.integers(0, 6))):
        operator = OPERATORS[int(rng.integers(len(OPERATORS)))]
        try:
            request = domain.request(operator, line, seed * 10 + generation, *sources, skills=SKILLS)
            line = breed(request).source
        except ProposalFailed:
            continue
    return [*sources, line]


def check_child(child: Program, domain: Domain, seed: int) -> None:
    """The contract, the sandbox's static rules, and a run on random rows."""
    signature = domain.signature
    assert read_program(child.source, signature.entry, signature.positional) == child
    check_program(child.source, block_layout(signature, child.space))
    function = function_of(child)
    theta = child.space.from_unit(np.random.default_rng(seed).random((3, child.space.width)))
    variants = [child.space.defaults, *(child.space.decode(place) for place in theta)]
    for row in rows(signature, 6, seed):
        for values in variants:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore", RuntimeWarning)
                try:
                    answer = function(
                        **{k: np.copy(v) if isinstance(v, np.ndarray) else v for k, v in row.items()}, **values
                    )
                except (OverflowError, ZeroDivisionError):
                    continue  # a row of extreme values may fail; names, types and shapes may not
                check_answer(answer, signature)


def check_proposal(proposal: Proposal, domain: Domain, parent: Program, seed: int) -> None:
    signature = domain.signature
    child = domain.program(proposal.source)
    assert child.source == proposal.source
    assert fingerprint(child, signature.positional) != fingerprint(parent, signature.positional)
    assert proposal.parents[0] == "p0"
    assert proposal.note
    assert len(proposal.note) <= 200
    before, after = Draft.of(parent, signature), Draft.of(child, signature)
    assert after.weight <= max(MAX_WEIGHT, before.weight)
    assert child.space.width <= max(MAX_WIDTH, parent.space.width)
    names = child.space.names
    assert len(set(names)) == len(names)
    assert set(names) <= set(after.reads())
    check_child(child, domain, seed)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", list(DOMAINS))
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6))
def test_children_keep_the_contract_and_run(name: str, operator: str, seed: int) -> None:
    domain = DOMAINS[name]
    sources = parents(domain, seed)
    for i, source in enumerate(sources):
        request = domain.request(operator, source, seed + i, *sources, skills=SKILLS)
        proposal = bred(request)
        if proposal is None:
            assert not (operator in LIKELY and name in NUMBERS and source == domain.sources[0])
            continue
        assert proposal.operator == operator
        check_proposal(proposal, domain, request.parent.program, seed)


@pytest.mark.parametrize("name", list(DOMAINS))
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_programs_from_nothing_keep_the_contract_and_run(name: str, seed: int) -> None:
    domain = DOMAINS[name]
    source = from_scratch(domain.signature, np.random.SeedSequence(seed))
    assert source == from_scratch(domain.signature, np.random.SeedSequence(seed))
    check_child(domain.program(source), domain, seed)


@pytest.mark.parametrize("name", list(DOMAINS))
def test_programs_from_nothing_differ(name: str) -> None:
    domain = DOMAINS[name]
    made = {from_scratch(domain.signature, np.random.SeedSequence(seed)) for seed in range(40)}
    assert len(made) > 25


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_same_request_gives_the_same_child(operator: str) -> None:
    for name, domain in DOMAINS.items():
        results = []
        for _ in range(2):
            request = domain.request(operator, domain.sources[0], 5, *domain.sources[1:], skills=SKILLS)
            for _ in range(2):  # a request is not used up by asking
                try:
                    results.append(breed(request))
                except ProposalFailed as failure:
                    results.append(str(failure))
        assert len({str(result) for result in results}) == 1, name


def test_other_seeds_give_other_children() -> None:
    domain = DOMAINS["inventory"]
    children = {breed(domain.request("grow", domain.sources[0], seed)).source for seed in range(30)}
    assert len(children) > 20


@pytest.mark.parametrize("operator", ["grow", "swap", "clamp", "prune", "crossover"])
def test_known_programs_are_not_proposed_again(operator: str) -> None:
    domain = DOMAINS["inventory"]
    known: set[str] = set()
    for seed in range(25):
        request = domain.request(operator, domain.sources[2], seed, domain.sources[0], known=frozenset(known))
        proposal = bred(request)
        if proposal is None:
            continue
        identity = fingerprint(domain.program(proposal.source), domain.signature.positional)
        assert identity not in known
        known.add(identity)
    assert len(known) > 3


def test_children_do_not_depend_on_the_order_of_sets() -> None:
    script = (
        "from rules import DOMAINS, SKILLS\nfrom evolve.proposers.genetic import Genetic, breed\n"
        "for domain in DOMAINS.values():\n    for operator in Genetic().operators:\n        try:\n"
        "            print(breed(domain.request(operator, *domain.sources[:1], 4, *domain.sources, skills=SKILLS)).source)\n"
        "        except Exception as error:\n            print(error)\n"
    )
    printed = set()
    for hash_seed in ("1", "2"):
        paths = os.pathsep.join([str(Path(rules.__file__).parent), *sys.path])
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1
    assert "def order" in printed.pop()
