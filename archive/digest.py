"""One hash over all that equal runs have in common, so that equality is a line to compare.

It reads, in the order of commits, of each program: name, role, number, label, island, operator, status, kind, source,
values, scores, descriptors, parents and outcomes; then, of each event marked deterministic: kind, ticket and data.
Floats count to the last bit. It reads no times, no paths, no names of runs, no reasons (they are for people and may
tell of seconds), nothing of the machine (level of isolation, compiled or not) and no count that follows from the rest.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from archive.records import EventRecord, ProgramRecord


def digest(programs: Iterable[ProgramRecord], events: Iterable[EventRecord]) -> str:
    """The hash, 64 hexadecimal digits, over programs with their outcomes and events, both in the order of commits."""
    lines = hashlib.sha256()
    for program in programs:
        lines.update(_line(_program(program)))
    for event in events:
        if event.deterministic:
            lines.update(_line(["event", event.kind, event.ticket, event.data]))
    return lines.hexdigest()


def _program(program: ProgramRecord) -> list[Any]:
    return [
        "program",
        program.name,
        program.role,
        program.number,
        program.label,
        program.island,
        program.operator,
        program.status,
        program.kind,
        program.source,
        program.values,
        program.train_score,
        program.validation_score,
        program.descriptors,
        [[edge.name, edge.role] for edge in program.parents],
        sorted(
            [outcome.split, outcome.instance, outcome.status, _exact(outcome.score), _exact(outcome.metrics)]
            for outcome in program.outcomes
        ),
    ]


def _line(parts: list[Any]) -> bytes:
    return json.dumps(_exact(parts), sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _exact(value: Any) -> Any:
    """`value` with each float as its exact text, in a form that no other value has."""
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, dict):
        return {"map": [[key, _exact(item)] for key, item in sorted(value.items())]}
    if isinstance(value, (list, tuple)):
        return [_exact(item) for item in value]
    return value
