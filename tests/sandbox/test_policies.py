"""Plausible, harmless programs as language models write them: nearly all must run, compiled as plain."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sandbox import Child, Refused, Sandbox, check_program

ROWS, INSTANCES = 48, 4
VECTOR, INSTANCE = np.arange(ROWS) % 3, np.arange(ROWS) % INSTANCES

REFUSED = {"debug-print", "hasattr-check", "main-guard"}
"""Refused, with good advice."""

PLAIN = {
    "match-statement",
    "normalised",
    "try-except",
    "dictionary",
    "isinstance",
    "polyfit-trend",
    "next-generator",
    "sorted-key",
    "equal-allocation",
}
"""What numba does not take: these run in plain Python."""

Blocks = Callable[..., dict[str, np.ndarray]]


def refusals(policies: list[Any]) -> dict[str, Refused]:
    found = {}
    for policy in policies:
        try:
            check_program(policy.source, policy.layout)
        except Refused as refusal:
            found[policy.name] = refusal
    return found


def test_there_are_enough(policies: list[Any]) -> None:
    assert len(policies) >= 60


def test_at_least_95_percent_are_accepted(policies: list[Any]) -> None:
    assert set(refusals(policies)) == REFUSED
    assert len(REFUSED) <= 0.05 * len(policies)


def test_refusals_name_line_rule_and_alternative(policies: list[Any]) -> None:
    for refusal in refusals(policies).values():
        assert refusal.line is not None
        assert refusal.rule
        assert ": " in refusal.message


def bind(child: Child, policy: Any) -> None:
    theta = np.tile(np.array(policy.theta), (3, 1))
    child.bind(theta, VECTOR, INSTANCE, INSTANCES)


def test_runs_the_same_compiled_and_plain(policy: Any, sandbox: Sandbox, blocks: Blocks) -> None:
    if policy.name in REFUSED:
        return
    arguments = blocks(policy.layout, ROWS, INSTANCES)
    with (
        sandbox.spawn(policy.source, policy.layout, max_rows=ROWS) as plain,
        sandbox.spawn(policy.source, policy.layout, max_rows=ROWS, compiled=True) as compiled,
    ):
        bind(plain, policy)
        bind(compiled, policy)
        expected, found = plain.call(arguments), compiled.call(arguments)
        assert compiled.compiled is (policy.name not in PLAIN), compiled.note
    assert expected.error is None
    assert not expected.status.any()
    np.testing.assert_allclose(found.actions, expected.actions, rtol=1e-9, atol=1e-12)
    assert not found.status.any()
    if policy.layout.memory:
        np.testing.assert_allclose(found.memory, expected.memory, rtol=1e-9, atol=1e-12)
