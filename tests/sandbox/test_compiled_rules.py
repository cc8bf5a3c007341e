"""Every rule of the inventory problem is compiled: what the allow list leaves out, a search would pay for tenfold."""

import pytest

from evolve.evaluation.layout import block_layout
from evolve.program import read_program
from problems.inventory import Inventory, InventorySettings
from sandbox.compilation import compile_rows
from sandbox.load import load
from sandbox.rows import PlainRows
from sandbox.warm import warm_up

CASES = {"bundled": InventorySettings(), "zipkin": InventorySettings(bed="zipkin")}


@pytest.mark.parametrize("case", CASES)
def test_every_rule_is_compiled(case: str) -> None:
    warm_up(compiling=False)
    problem = Inventory(CASES[case])
    signature = problem.signature
    for source in {*problem.baselines().values(), *problem.seeds().values()}:
        program = read_program(source, signature.entry, signature.positional)
        layout = block_layout(signature, program.space)
        loaded = load(program.source, layout)
        compile_rows(loaded, layout, PlainRows(loaded.entry, layout))  # raises where it stays plain
