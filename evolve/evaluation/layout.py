"""From the contract's words to the sandbox's: signature and space to the layout of a block."""

from dataclasses import replace
from typing import Literal

from evolve.problem import Signature
from evolve.settings import LimitSettings
from evolve.space import Categorical, Integer, Space
from sandbox import Field, Layout, Limits, Output, ParameterField


def block_layout(signature: Signature, space: Space) -> Layout:
    """The block that a program of this signature and space answers."""
    fields = tuple(
        Field(
            name=argument.name,
            dtype=argument.dtype,
            shape=argument.shape,
            per=argument.per.value,
            low=argument.low,
            high=argument.high,
        )
        for argument in signature.arguments
    )
    action = signature.action
    output = Output(dtype=action.dtype, shape=action.shape, low=action.low, high=action.high, clip=action.clip)
    return Layout(
        entry=signature.entry, fields=fields, parameters=_parameters(space), output=output, memory=signature.memory
    )


def _parameters(space: Space) -> tuple[ParameterField, ...]:
    fields = []
    for parameter in space.parameters:
        domain = parameter.domain
        if isinstance(domain, Categorical):
            fields.append(ParameterField(name=parameter.name, kind="choice", choices=domain.choices))
        else:
            kind: Literal["integer", "real"] = "integer" if isinstance(domain, Integer) else "real"
            fields.append(ParameterField(name=parameter.name, kind=kind, size=domain.size))
    return tuple(fields)


def child_limits(limits: Limits, overrides: LimitSettings) -> Limits:
    """The problem's limits with what the user set instead."""
    names = ("start_seconds", "call_seconds", "cpu_seconds", "memory_mb")
    given = {name: getattr(overrides, name) for name in names}
    return replace(limits, **{name: value for name, value in given.items() if value is not None})
