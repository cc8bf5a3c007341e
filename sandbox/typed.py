"""What may not be compiled for its types, which only numba's type inference knows.

Defends against: truth values that become numbers on the way (numba returns 1.0 where a program returns True on one path
and a number on another; the plain loop says that this is no number); numbers with a point that are stored among whole
ones (NaN becomes an arbitrary number, numpy raises); masks and arrays as indices, whose length numba does not compare
with that of the array.

Does not defend against: what depends on the values rather than the types of a program; `sandbox.guards` does.
"""

from collections.abc import Iterable
from typing import Any

from numba import types
from numba.core import ir

from sandbox.compiled import CompileFailed

_STORES = (ir.SetItem, ir.StaticSetItem)
_LOADS = ("getitem", "static_getitem")


def check(functions: Iterable[Any]) -> None:
    """Look over everything that was compiled of a program.

    Args:
        functions: numba's dispatchers.

    Raises:
        CompileFailed: naming the line and what is wrong.
    """
    for function in functions:
        for compiled in function.overloads.values():
            annotation = compiled.type_annotation
            for block in annotation.blocks.values():
                for instruction in block.body:
                    reason = _reason(instruction, annotation.typemap)
                    if reason:
                        raise CompileFailed(f"line {instruction.loc.line}: {reason}")


def _reason(instruction: Any, kinds: dict[str, Any]) -> str:
    if isinstance(instruction, _STORES):
        return _storing(instruction, kinds)
    if not isinstance(instruction, ir.Assign):
        return ""
    value, target = instruction.value, kinds[instruction.target.name]
    sources: list[Any] = [value] if isinstance(value, ir.Var) else []
    if isinstance(value, ir.Expr):
        if value.op in _LOADS and _by_array(_index_kind(value, kinds)):
            return "an array as index is not compiled"
        if value.op == "cast":
            sources = [value.value]
        elif value.op == "phi":
            sources = [source for source in value.incoming_values if isinstance(source, ir.Var)]
    for source in sources:
        kind = kinds.get(source.name)
        if kind is not None and _loses_truth(kind, target):
            return "True or False on one path and a number on another"
    return ""


def _storing(instruction: Any, kinds: dict[str, Any]) -> str:
    array, value = kinds[instruction.target.name], kinds[instruction.value.name]
    if _by_array(_index_kind(instruction, kinds)):
        return "an array as index is not compiled"
    element = getattr(value, "dtype", value)
    whole = isinstance(array, types.Array) and isinstance(array.dtype, (types.Integer, types.Boolean))
    if whole and type(types.unliteral(element)) is not type(array.dtype):
        return "a number with a point among whole numbers"
    if isinstance(array, types.List) and _loses_truth(element, array.dtype):
        return "True or False among numbers"
    return ""


def _index_kind(node: Any, kinds: dict[str, Any]) -> Any:
    variable = node.index if isinstance(node.index, ir.Var) else node.index_var
    return kinds.get(variable.name) if variable is not None else None


def _by_array(kind: Any) -> bool:
    parts = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
    return any(isinstance(part, (types.Array, types.List, types.Boolean)) for part in parts)


def _loses_truth(kind: Any, target: Any) -> bool:
    if isinstance(kind, types.BaseTuple) and isinstance(target, types.BaseTuple):
        return any(_loses_truth(*pair) for pair in zip(kind.types, target.types, strict=False))
    if isinstance(kind, types.Optional):
        kind = kind.type
    return isinstance(kind, types.Boolean) and isinstance(target, types.Number)
