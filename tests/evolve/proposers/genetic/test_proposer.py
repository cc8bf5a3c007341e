"""The proposer as the engine sees it, and what single operators do."""

import asyncio
import re
from collections.abc import Iterator

import numpy as np
import pytest
from rules import CONTROL, DOMAINS, INVENTORY, MARKET, SKILLS, WEIGHTS, Domain

from evolve.problem import Action, Argument, Signature
from evolve.proposers.base import Proposal, ProposalFailed, Request
from evolve.proposers.genetic import Genetic, breed
from evolve.space import Integer, Real

BASE = INVENTORY.sources[0]


def stream(
    domain: Domain, operator: str, source: str, *others: str, count: int = 40, **changes: object
) -> Iterator[Proposal]:
    for seed in range(count):
        try:
            yield breed(domain.request(operator, source, seed, *others, **changes))
        except ProposalFailed:
            continue


def children(
    domain: Domain, operator: str, source: str, *others: str, count: int = 40, **changes: object
) -> list[Proposal]:
    return list(stream(domain, operator, source, *others, count=count, **changes))


def inventory(parameters: str, *body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body)
    return f"def order(on_hand, pipeline, weekday, promotion, *, {parameters}):\n{lines}\n"


def test_it_says_what_it_is() -> None:
    proposer = Genetic()
    assert proposer.name == "genetic"
    assert len(set(proposer.operators)) == len(proposer.operators) >= 12


def test_propose_is_breed_in_an_event_loop() -> None:
    request = INVENTORY.request("grow", BASE, 3)
    assert asyncio.run(Genetic().propose(request)) == breed(request)


def test_an_unknown_operator_is_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError):
        breed(INVENTORY.request("dream", BASE, 3))


def test_a_failure_says_which_operator_and_why() -> None:
    source = "def order(on_hand, pipeline, weekday, promotion):\n    return on_hand\n"
    with pytest.raises(ProposalFailed, match=r"retune: no domain to change \(12 tries\)"):
        breed(INVENTORY.request("retune", source, 1))


def test_growing_starts_where_the_parent_is() -> None:
    """Most new terms have weight 0: before tuning, the child decides as its parent does."""
    grown = children(INVENTORY, "grow", BASE)
    neutral = [child for child in grown if re.search(r"(weight|swing|bonus)\w*: Real\([^)]*\) = 0\.0", child.source)]
    assert len(neutral) > len(grown) / 2


def test_the_docstring_of_the_parent_goes_with_its_rule() -> None:
    assert all("Order up to" not in child.source for child in children(INVENTORY, "clamp", BASE, count=5))
    assert all("Order up to" in child.source for child in children(INVENTORY, "retune", BASE, count=5))


def test_a_cap_is_found_on_base_stock() -> None:
    sources = [child.source for child in children(INVENTORY, "clamp", BASE, count=60)]
    assert any("return min(cap, max(0.0, level - position))" in source for source in sources)


@pytest.mark.parametrize(
    ("operator", "wanted"),
    [
        ("swap", r"discount \*\* np\.arange\(len\(pipeline\)\)"),
        ("swap", r"np\.array\(weights\) \* pipeline"),
        ("swap", r"cover \* "),
        ("grow", r"balance = max\(0\.0, balance \+ inflow - drain\)"),
        ("grow", r"if promotion else"),
        ("reshape", r"season\[weekday % 7\]"),
        ("reshape", r"math\.cos\(2\.0 \* math\.pi \* \(weekday - phase\) / 7\.0\)"),
        ("promote", r"level_by\[weekday % 7\]"),
        ("threshold", r"least"),
        ("branch", r"\(1\.0 - share\) \* "),
    ],
)
def test_useful_structures_are_one_step_away(operator: str, wanted: str) -> None:
    made = stream(INVENTORY, operator, BASE, INVENTORY.sources[2], count=400)
    assert any(re.search(wanted, child.source) for child in made)


def test_ratios_of_windows_are_one_step_away_in_a_market() -> None:
    source = "def position(prices, returns, holding, *, gain: Real(0, 5) = 1.0):\n    return gain * holding\n"
    wanted = r"prices\[-\w+:\]\.mean\(\) / prices\.mean\(\) - 1\.0"
    assert any(re.search(wanted, child.source) for child in stream(MARKET, "grow", source, count=200))


def test_a_memory_can_be_used() -> None:
    sources = [child.source for child in children(CONTROL, "grow", CONTROL.sources[0], count=120)]
    remembering = [text for text in sources if "trace" in text]
    assert remembering
    assert all("memory = np.array([trace, memory[1]])" in text or "memory[0], trace" in text for text in remembering)
    taken = [child.source for child in children(CONTROL, "grow", CONTROL.sources[1], count=120)]
    assert all("trace" not in text for text in taken)  # both places are in use


def test_a_literal_becomes_a_parameter_that_starts_from_it() -> None:
    source = inventory("level: Real(0, 60) = 20.0", "return max(0.0, level - 1.75 * on_hand)")
    for child in children(INVENTORY, "promote", source):
        space = INVENTORY.program(child.source).space
        if "factor" in space.names:
            assert space.defaults["factor"] == 1.75
            domain = dict(zip(space.names, space.parameters, strict=True))["factor"].domain
            assert isinstance(domain, Real)
            assert domain.low <= 0.0
            assert domain.high >= 3.5
            break
    else:
        pytest.fail("1.75 was never promoted")


def test_a_window_becomes_a_whole_parameter() -> None:
    source = (
        "def position(prices, returns, holding, *, gain: Real(0, 5) = 1.0):\n    return gain * prices[-7:].mean()\n"
    )
    spaces = [MARKET.program(child.source).space for child in children(MARKET, "promote", source)]
    windows = [p for space in spaces for p in space.parameters if p.name == "window"]
    assert windows
    assert all(
        window.default == 7 and isinstance(window.domain, Integer) and window.domain.low == 1 for window in windows
    )


def test_constants_named_like_keywords_make_valid_parameters() -> None:
    source = f"LAMBDA = 0.5\n\n\n{inventory('level: Real(0, 60) = 20.0', 'return max(0.0, level - LAMBDA * on_hand)')}"
    names = {
        name for child in children(INVENTORY, "promote", source) for name in INVENTORY.program(child.source).space.names
    }
    assert "lambda_2" in names


@pytest.mark.parametrize(
    ("parameter", "low", "high"),
    [
        ("level: Real(0, 60) = 59.9", 0, 200),
        ("level: Real(10, 60) = 10.0", 2.5, 60),
        ("level: Integer(0, 20) = 20", 0, 50),
        ("level: Real(-5, 5) = -5.0", -20, 5),
    ],
)
def test_a_domain_is_widened_where_the_value_sits_at_its_bound(parameter: str, low: float, high: float) -> None:
    source = inventory(parameter, "return max(0.0, level - on_hand)")
    domains = [
        INVENTORY.program(child.source).space.parameters[0].domain for child in children(INVENTORY, "retune", source)
    ]
    wide = [
        domain for domain in domains if isinstance(domain, (Real, Integer)) and (domain.low, domain.high) == (low, high)
    ]
    assert len(wide) > len(domains) / 2


@pytest.mark.parametrize(
    ("parameter", "expression"),
    [
        ("q: Real(0, 1) = 1.0", "np.quantile(pipeline, q)"),
        ("n: Integer(1, 4) = 1", "pipeline[-n:].mean()"),
        ("e: Real(0, 2) = 0.0", "on_hand ** e"),
        ("d: Real(0.5, 2) = 0.5", "on_hand / d"),
    ],
)
def test_a_domain_stays_where_other_values_would_raise(parameter: str, expression: str) -> None:
    program = INVENTORY.program(inventory(parameter, f"return {expression}"))
    before = program.space.parameters[0].domain
    assert isinstance(before, (Real, Integer))
    for child in children(INVENTORY, "retune", program.source):
        domain = INVENTORY.program(child.source).space.parameters[0].domain
        assert isinstance(domain, (Real, Integer))
        assert domain.low >= min(before.low, 1e-9) or domain.low > 0
        assert domain.high == before.high or "quantile" not in expression


def test_parameters_that_do_nothing_are_pruned() -> None:
    source = inventory(
        "level: Real(0, 60) = 20.0, weight: Real(-1, 1) = 0.004, cap: Real(0, 60) = 59.0",
        "return min(cap, max(0.0, level - on_hand) + weight * pipeline.sum())",
    )
    notes = [child.note for child in children(INVENTORY, "prune", source)]
    assert sum("did nothing" in note for note in notes) > len(notes) / 4
    assert any("weight" not in child.source for child in children(INVENTORY, "prune", source))
    assert any("cap" not in child.source for child in children(INVENTORY, "prune", source))


def test_crossover_takes_along_what_it_needs_under_new_names() -> None:
    mate = """SCALE = 2.0


def double(x):
    return SCALE * x


def order(on_hand, pipeline, weekday, promotion, *, level: Real(0, 90) = 33.0, share: Real(0, 1) = 0.5):
    position = double(on_hand) + share * pipeline.sum()
    if promotion:
        position = position - 1.0
    return max(0.0, level - position)
"""
    parent = inventory(
        "level: Real(0, 60) = 20.0",
        "position = on_hand + pipeline.sum()",
        "double = level - position",
        "return max(0.0, double)",
    )
    made = children(INVENTORY, "crossover", parent, mate, count=60)
    assert all(child.parents == ("p0", "p1") for child in made)
    whole = [
        c.source for c in made if "def double_2(x):" in c.source and "position_2" in c.source and "level_2" in c.source
    ]
    assert whole
    for source in whole:
        assert "SCALE = 2.0" in source
        assert "return SCALE * x" in source
        assert "level_2: Real(0, 90) = 33.0" in source
        assert source.index("position_2 = double_2(on_hand)") < source.index("if promotion")


def test_without_a_mate_crossover_mixes_with_a_random_program() -> None:
    for operator in ("crossover", "branch"):
        made = children(INVENTORY, operator, BASE, count=10)
        assert made
        assert all(child.parents == ("p0",) for child in made)
        assert any("a random program" in child.note for child in made)


def test_rules_that_answer_with_arrays_are_joined() -> None:
    made = children(WEIGHTS, "branch", *WEIGHTS.sources, count=30)
    assert any("share" in child.source for child in made)


def test_skills_are_taken_in_with_their_parameters() -> None:
    made = children(INVENTORY, "splice", BASE, skills=SKILLS[:1])
    assert {child.skills for child in made} == {("t1.0",)}
    assert all("threshold - on_hand" in child.source for child in made)
    assert all(": Real(0, 10) = 3.0" in child.source for child in made)


def test_skills_of_much_gain_are_taken_in_more_often() -> None:
    used = [skill for child in children(DOMAINS["inventory"], "splice", BASE, count=60, skills=(
        SKILLS[0], SKILLS[1].__class__(name="t9.0", code="pipeline.max()", gain=0.0),
    )) for skill in child.skills]  # fmt: skip
    assert used.count("t1.0") > used.count("t9.0") > 0


def test_without_a_skill_that_fits_something_is_grown() -> None:
    for skills in ((), SKILLS[1:]):
        made = children(INVENTORY, "splice", BASE, skills=skills, count=10)
        assert made
        assert all(not child.skills for child in made)


def test_large_parents_have_children_no_larger_than_themselves() -> None:
    terms = [f"{i}.5 * max(0.0, on_hand - {i}.25 * pipeline.mean())" for i in range(1, 14)]
    source = inventory(
        "level: Real(0, 60) = 20.0",
        f"total = level + {' + '.join(terms[:7])}",
        f"return total - {' - '.join(terms[7:])}",
    )
    assert children(INVENTORY, "grow", source, count=5)


def test_lines_stay_short_and_parts_get_names() -> None:
    mates = [INVENTORY.sources[2]]
    line = BASE
    for seed in range(12):
        try:
            line = breed(INVENTORY.request(("grow", "threshold", "branch")[seed % 3], line, seed, *mates)).source
        except ProposalFailed:
            continue
    assert max(len(text) for text in line.splitlines()) <= 125


def test_a_signature_of_nothing_but_one_number_is_enough() -> None:
    signature = Signature(
        entry="act", arguments=(Argument(name="x", meaning="x", unit="m"),), action=Action(meaning="answer", unit="m")
    )
    domain = Domain(signature, ("def act(x):\n    return x\n",))
    for operator in Genetic().operators:
        try:
            child = breed(domain.request(operator, domain.sources[0], 1))
        except ProposalFailed:
            continue
        assert domain.program(child.source).space.width >= 0


def test_the_seed_of_a_request_is_not_used_up() -> None:
    request: Request = INVENTORY.request("grow", BASE, 3)
    before = request.seed.n_children_spawned
    breed(request)
    assert request.seed.n_children_spawned == before
    assert (
        np.random.default_rng(request.seed).random() == np.random.default_rng(np.random.SeedSequence([7, 3])).random()
    )
