"""Operators as compiled code should see them: whole numbers that leave 64 bits raise instead of wrapping.

Each operator of a program becomes a call of one of these. For numbers with a point and for arrays the code is that of
numba's own operator; for whole numbers a check is added, which raises, and the plain loop then runs the row with
Python's unbounded numbers. Written below numba's own functions, so that compile time stays what it was.

Defends against: whole numbers that wrap around, minus of a truth value, a list repeated so often that its length wraps.

Does not defend against: whole numbers beyond 2**53 that lose digits where they meet a number with a point, as they do in
Python too, but not at the same place in comparisons and `/`.
"""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped,unused-ignore]
from numba import types
from numba.extending import intrinsic

_MOST_REPEATED = 1_000_000
_LOWEST = -(2**63)


def _raise_if(context: Any, builder: Any, wrong: Any) -> None:
    with builder.if_then(wrong, likely=False):
        context.call_conv.return_user_exc(builder, OverflowError, ())


def _is_whole(kind: Any) -> bool:
    return isinstance(kind, types.Integer)


def _widened(kind: Any) -> Any:
    return types.int64 if isinstance(kind, (types.Integer, types.Boolean)) else kind


def _plain(lowering: tuple[Any, Any], function: Any, signature: Any, kinds: Any, values: Any) -> Any:
    """Code of numba's own operator, for arguments of the given types."""
    context, builder = lowering
    casted = [
        context.cast(builder, value, kind, wanted)
        for value, kind, wanted in zip(values, kinds, signature.args, strict=True)
    ]
    return context.get_function(function, signature)(builder, casted)


def _in_place_differs(function: Any, a: Any, b: Any) -> bool:
    """Does numba change an array in place otherwise than numpy? It does not compare lengths, nor what numpy casts."""
    if not isinstance(a, types.Array) or function not in _IN_PLACE:
        return False
    if isinstance(a.dtype, types.Float):
        return not isinstance(b, (types.Float, types.Integer))
    return not (isinstance(a.dtype, types.Integer) and isinstance(b, types.Integer)) or function is operator.itruediv


_IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod)


def _binary(function: Any, overflowing: str | None) -> Any:
    """An operator; `overflowing` is LLVM's name of the checked instruction, None for the kinds of division."""

    @intrinsic
    def checked(typingctx, a, b):  # type: ignore[no-untyped-def]
        a, b = types.unliteral(a), types.unliteral(b)
        numbers = all(isinstance(kind, (types.Integer, types.Boolean)) for kind in (a, b))
        wanted = (_widened(a), _widened(b)) if numbers else (a, b)
        if _in_place_differs(function, a, b):
            return None
        fitting = typingctx.resolve_function_type(function, wanted, {})
        if fitting is None:
            return None
        inner = fitting

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            kinds = signature.args
            if numbers:
                values = [
                    context.cast(builder, value, kind, types.int64) for value, kind in zip(values, kinds, strict=True)
                ]
                kinds = (types.int64, types.int64)
                if overflowing:
                    pair = getattr(builder, overflowing)(*values)
                    _raise_if(context, builder, builder.extract_value(pair, 1))
                    return builder.extract_value(pair, 0)
                _raise_if(context, builder, builder.icmp_signed("==", values[0], ir.Constant(values[0].type, _LOWEST)))
            elif any(isinstance(kind, types.List) for kind in kinds):
                for value, kind in zip(values, kinds, strict=True):
                    if _is_whole(kind):
                        _raise_if(context, builder, builder.icmp_signed(">", value, value.type(_MOST_REPEATED)))
            result = _plain((context, builder), function, inner, kinds, values)
            return context.cast(builder, result, inner.return_type, signature.return_type)

        return inner.return_type(a, b), generate

    return checked


@intrinsic
def negative(typingctx, a):  # type: ignore[no-untyped-def]
    """`-a`; not of truth values: numba keeps them such, Python makes numbers of them."""
    a = types.unliteral(a)
    if isinstance(a, types.Boolean) or (isinstance(a, types.Array) and isinstance(a.dtype, types.Boolean)):
        return None
    inner = typingctx.resolve_function_type(operator.neg, (a,), {})
    if inner is None:
        return None

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        (value,) = values
        if _is_whole(a):
            value = context.cast(builder, value, a, types.int64)
            _raise_if(context, builder, builder.icmp_signed("==", value, ir.Constant(value.type, _LOWEST)))
            return builder.neg(value)
        return _plain((context, builder), operator.neg, inner, signature.args, values)

    return (types.int64 if _is_whole(a) else inner.return_type)(a), generate


OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": _binary(operator.add, "sadd_with_overflow"),
    "Sub": _binary(operator.sub, "ssub_with_overflow"),
    "Mult": _binary(operator.mul, "smul_with_overflow"),
    "FloorDiv": _binary(operator.floordiv, None),
    "Mod": _binary(operator.mod, None),
    "iAdd": _binary(operator.iadd, "sadd_with_overflow"),
    "iSub": _binary(operator.isub, "ssub_with_overflow"),
    "iMult": _binary(operator.imul, "smul_with_overflow"),
    "iDiv": _binary(operator.itruediv, None),
    "iFloorDiv": _binary(operator.ifloordiv, None),
    "iMod": _binary(operator.imod, None),
    "USub": negative,
}
"""Functions by the name of the operator in `ast`; with an i before it for the form that assigns."""
