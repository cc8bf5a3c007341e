"""Skills: what a better child says that its parent did not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules import DOMAINS, INVENTORY, function_of, rows

from evolve.proposers.base import ProposalFailed, Skill
from evolve.proposers.genetic import Genetic, breed, extract_skills


def skills(parent: str, child: str) -> list[Skill]:
    head = "def order(on_hand, pipeline, weekday, promotion, *, {}):\n    {}\n"
    texts = [head.format(*text.split(" => ")).replace("; ", "\n    ") for text in (parent, child)]
    return extract_skills(*(INVENTORY.program(text) for text in texts), INVENTORY.signature, prefix="t7")


PARENT = "level: Real(0, 60) = 20.0 => position = on_hand + pipeline.sum(); return max(0.0, level - position)"


@pytest.mark.parametrize(
    ("child", "code"),
    [
        (
            (
                "level: Real(0, 60) = 20.0, w: Real(-1, 1) = 0.5, t: Real(0, 9) = 3.0 => "
                "position = on_hand + pipeline.sum(); return max(0.0, level - position) + w * max(0.0, t - on_hand)"
            ),
            "w * max(0.0, t - on_hand)",
        ),
        (
            (
                "level: Real(0, 60) = 20.0, cap: Real(0, 20) = 9.0 => position = on_hand + pipeline.sum(); "
                "return min(cap, max(0.0, level - position))"
            ),
            "min(cap, max(0.0, level - (on_hand + pipeline.sum())))",
        ),
        (
            (
                "level: Real(0, 60) = 20.0, d: Real(0, 1) = 0.9 => late = (pipeline * d ** np.arange(len(pipeline))).sum(); "
                "position = on_hand + late; return max(0.0, level - position)"
            ),
            "(pipeline * d ** np.arange(len(pipeline))).sum()",
        ),
        (
            (
                "level: Real(0, 60) = 20.0, t: Real(0, 9) = 3.0 => position = on_hand + pipeline.sum(); "
                "return 0.0 if on_hand > t * pipeline.std() else max(0.0, level - position)"
            ),
            "on_hand > t * pipeline.std()",
        ),
    ],
)
def test_what_is_new_becomes_a_skill(child: str, code: str) -> None:
    (skill,) = skills(PARENT, child)
    assert skill.code == code
    assert skill.name == "t7.0"
    assert "on_hand" in skill.description or "pipeline" in skill.description


def test_parameters_come_along_at_their_tuned_values() -> None:
    child = (
        "level: Real(0, 60) = 20.0, w: Real(-1, 1) = 0.5, t: Integer(0, 9) = 3 => position = on_hand + pipeline.sum(); "
        "return max(0.0, level - position) + w * max(0.0, t - on_hand)"
    )
    (skill,) = skills(PARENT, child)
    assert skill.parameters == {"w": "Real(-1, 1) = 0.5", "t": "Integer(0, 9) = 3"}


@pytest.mark.parametrize(
    "child",
    [
        PARENT,
        PARENT.replace("Real(0, 60) = 20.0", "Real(0, 90) = 25.0"),
        PARENT.replace("level: Real(0, 60) = 20.0", "target: Real(0, 60) = 20.0").replace("level", "target"),
        PARENT.replace("level - position", "level"),
        "p: Real(0, 9) = 3.0, q: Real(0, 9) = 3.0, r: Real(0, 9) = 3.0 => return p * q + r * p",
        "level: Real(0, 60) = 20.0 => left = on_hand; for q in pipeline: left = max(0.0, left + q); return level * left",
    ],
)
def test_trivial_changes_and_loops_give_none(child: str) -> None:
    assert skills(PARENT, child) == []


@pytest.mark.parametrize("name", ["inventory", "scoring", "control", "market"])
@given(seed=st.integers(0, 10**6))
def test_every_skill_is_an_expression_over_arguments_and_its_own_parameters(name: str, seed: int) -> None:
    domain = DOMAINS[name]
    operators = tuple(Genetic().operators)
    request = domain.request(operators[seed % len(operators)], domain.sources[0], seed, *domain.sources[1:])
    try:
        child = domain.program(breed(request).source)
    except ProposalFailed:
        return
    found = extract_skills(request.parent.program, child, domain.signature)
    assert len(found) <= 3
    for skill in found:
        declared = ", ".join(f"{known}: {text}" for known, text in skill.parameters.items())
        star = f", *, {declared}" if declared else ""
        text = (
            f"def {domain.signature.entry}({', '.join(domain.signature.positional)}{star}):\n    return {skill.code}\n"
        )
        program = domain.program(text)
        assert set(program.space.names) == set(skill.parameters)
        for row in rows(domain.signature, 3, seed):
            with np.errstate(all="ignore"):
                answer = function_of(program)(**row, **program.space.defaults)
            assert np.isscalar(answer)
