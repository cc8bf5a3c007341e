"""Hostile programs against each layer alone and both together; and without any, to show that the canaries sing.

The programs are the project's own (`attacks.txt`) and those of the folder that `EVOLVE_ATTACKS` names. In every mode
limits on memory, processor time and processes are in force: without them, bombs would hit the machine.
"""

from collections.abc import Callable
from typing import Any

from sandbox import Layers

Run = Callable[..., Any]

LOUD = ("filesystem", "attribute_chain", "numpy_escape", "env_read", "import_trick")
"""Categories that can show that the positive control is one, without harm to the machine."""


def test_full(attack: Any, run_attack: Run) -> None:
    result = run_attack(attack, Layers.ALL)
    assert not result.harm
    assert result.outcome in attack.ends, result.text


def test_static_only(attack: Any, run_attack: Run) -> None:
    result = run_attack(attack, Layers.STATIC)
    assert not result.harm
    assert result.outcome in attack.ends, result.text


def test_operating_system_only(attack: Any, run_attack: Run) -> None:
    assert not run_attack(attack, Layers.OS).harm


def test_compiled(running_attack: Any, run_attack: Run) -> None:
    result = run_attack(running_attack, Layers.ALL, compiled=True)
    assert not result.harm
    assert result.outcome in running_attack.ends, result.text


def test_own_full(own_attack: Any, run_attack: Run) -> None:
    result = run_attack(own_attack, Layers.ALL)
    assert not result.harm
    assert result.outcome in own_attack.ends, result.text


def test_own_static_only(own_attack: Any, run_attack: Run) -> None:
    result = run_attack(own_attack, Layers.STATIC)
    assert not result.harm
    assert result.outcome in own_attack.ends, result.text


def test_own_operating_system_only(own_attack: Any, run_attack: Run) -> None:
    assert not run_attack(own_attack, Layers.OS).harm


def test_without_layers_an_attack_succeeds(own_attacks: list[Any], run_attack: Run) -> None:
    harmed = (run_attack(attack, Layers.NONE).harm for attack in own_attacks if attack.category in LOUD)
    assert any(harmed)
