"""Builds the compiled loop over rows: types, functions, the loop's own text.

The loop is written as Python text for one layout and compiled together with the program, so that a call per row costs
nothing. Nothing of the program runs while it is compiled: its functions are made anew from their code, and its constants
are the frozen ones of the plain program.

Defends against: programs that are not shown to mean the same compiled (they are turned away before numba sees them),
recursion, and answers of another kind than the signature says.

Does not defend against: a compiler that takes too much time or memory; the limits of the process end it, and the program
comes up plain.
"""

import ast
import copy
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher

from sandbox import facade, guards, typed
from sandbox.compilable import check
from sandbox.compiled import CompileFailed, Kernel
from sandbox.guarding import jit
from sandbox.load import Loaded
from sandbox.rewriting import NAMESPACE, Rewriting
from sandbox.rows import SOURCE_NAME
from sandbox.survey import Survey
from sandbox.values import Layout, ParameterField

_MAX_TUPLE = 16
_MAX_EXPANDED = 20_000
"""Nodes of a program with all calls expanded, up to which calls are compiled away; a chain of functions that call each
other ten times would else grow without bound."""
_SCALARS = {"float": types.float64, "int": types.int64, "bool": types.boolean}


def build(loaded: Loaded, layout: Layout) -> Kernel:
    """Compile a program and its loop.

    Raises:
        CompileFailed: if numba cannot.
    """
    if loaded.tree is None:
        raise CompileFailed("only programs that passed the static layer are compiled")
    check(loaded.tree, Survey.of(loaded.tree), loaded.namespace)
    inline = _expanded_size(loaded.tree) <= _MAX_EXPANDED
    vectors = [parameter for parameter in layout.parameters if parameter.size is not None]
    small = all((parameter.size or 0) <= _MAX_TUPLE for parameter in vectors)
    failure = CompileFailed("")
    for as_tuples in (True, False) if vectors and small else (not vectors,):
        try:
            return _build(loaded, layout, as_tuples=as_tuples, inline=inline)
        except CompileFailed as failed:
            failure = failed
    raise failure


def _build(loaded: Loaded, layout: Layout, *, as_tuples: bool, inline: bool) -> Kernel:
    try:
        namespace = _namespace(loaded, inline=inline)
        entry = namespace[layout.entry]
        answer = _answer_type(entry, layout, as_tuples=as_tuples)
        typed.check(value for value in namespace.values() if isinstance(value, Dispatcher))
        text = _Text(layout, answer, as_tuples=as_tuples).loop()
        exec(compile(text, "<loop>", "exec"), scope := {"entry": entry, "np": np, **_choices(layout)})  # noqa: S102
        loop = jit(scope["loop"])
        signature = _signature(layout)
        loop.compile(signature)  # type: ignore[attr-defined]
        entry_point: Kernel = loop.overloads[signature].entry_point  # type: ignore[attr-defined]
    except CompileFailed:
        raise
    except Exception as error:  # noqa: BLE001 - numba raises whatever its internals raise; the program runs plain then
        raise CompileFailed(_first_line(error)) from None
    return entry_point


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    wanted = [
        line for line in lines if not line.startswith(("Failed in", "During:", "File ", "Overload", "- ", "Rejected"))
    ]
    return f"{type(error).__name__}: {(wanted or lines or ['no reason given'])[0]}"


def _expanded_size(tree: ast.Module) -> int:
    """Nodes of the program with every use of its names replaced by what they stand for.

    Raises:
        CompileFailed: if a name can reach itself: compiled recursion has no limit but the stack.
    """
    bodies: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            bodies.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign) and node in tree.body:  # another name for a function, or a lambda
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        bodies.setdefault(name.id, []).append(node.value)
    sizes: dict[str, int] = {}

    def size(name: str, around: tuple[str, ...]) -> int:
        if name in around:
            raise CompileFailed(f"`{name}` calls itself")
        if name not in sizes:
            nodes = [node for body in bodies[name] for node in ast.walk(body)]
            used = [node.id for node in nodes if isinstance(node, ast.Name) and node.id in bodies]
            sizes[name] = len(nodes) + sum(size(other, (*around, name)) for other in used)
        return sizes[name]

    return sum(size(name, ()) for name in bodies)


# -- the program's functions, for numba


def _namespace(loaded: Loaded, *, inline: bool) -> dict[str, Any]:
    assert loaded.tree is not None
    tree = Rewriting(Survey.of(loaded.tree)).visit(copy.deepcopy(loaded.tree))
    module = compile(ast.fix_missing_locations(tree), SOURCE_NAME, "exec", dont_inherit=True)
    codes: dict[tuple[str, int], CodeType | None] = {}
    for code in module.co_consts:
        if isinstance(code, CodeType):
            place = (code.co_name, code.co_firstlineno)
            codes[place] = None if place in codes else code  # None: two lambdas on one line cannot be told apart
    namespace: dict[str, Any] = dict(NAMESPACE)
    for name, value in loaded.namespace.items():
        if name == "__builtins__":
            continue
        if type(value) is FunctionType and value not in facade.CALLABLES:
            namespace[name] = jit(_function(value, codes, namespace), inline=inline)
        else:
            namespace[name] = _real(value)
    return namespace


def _function(
    plain: FunctionType, codes: dict[tuple[str, int], CodeType | None], namespace: dict[str, Any]
) -> FunctionType:
    code = codes.get((plain.__name__, plain.__code__.co_firstlineno))
    if code is None:
        raise CompileFailed(f"`{plain.__name__}` is not one of the functions defined at module level")
    function = FunctionType(code, namespace, plain.__name__)
    keyword_only = plain.__kwdefaults__ or {}
    names = code.co_varnames[plain.__code__.co_argcount : code.co_argcount]
    function.__defaults__ = (
        *(plain.__defaults__ or ()),
        *(keyword_only[name] for name in names if name in keyword_only),
    )
    return function


_GUARDED = {
    id(vars(home)[name]): guard
    for home, guarded in ((facade.MATH, guards.MATH), (facade.NUMPY, guards.NUMPY))
    for name, guard in guarded.items()
}


def _real(value: Any) -> Any:
    """What numba should see instead of a member of the facade."""
    guard = _GUARDED.get(id(value))
    return guard if guard is not None else facade.REAL.get(id(value), value)


# -- types


def _array_type(dtype: str, dimensions: int) -> types.Type:
    return types.Array(_SCALARS[dtype], dimensions, "C", readonly=True)


def _parameter_type(parameter: ParameterField, *, as_tuples: bool) -> types.Type:
    if parameter.kind == "choice":
        kinds = {type(choice) for choice in parameter.choices}
        if len(kinds) != 1:
            raise CompileFailed(f"the choices of {parameter.name} are of different types")
        return {str: types.unicode_type, float: types.float64, int: types.int64, bool: types.boolean}[kinds.pop()]
    scalar = types.int64 if parameter.kind == "integer" else types.float64
    if parameter.size is None:
        return scalar
    if as_tuples:
        return types.UniTuple(scalar, parameter.size)
    return types.Array(scalar, 1, "C", readonly=parameter.kind == "real")


def _answer_type(entry: Any, layout: Layout, *, as_tuples: bool) -> types.Type:
    arguments = [
        _array_type(field.dtype, len(field.shape)) if field.shape else _SCALARS[field.dtype] for field in layout.fields
    ]
    if layout.memory:
        arguments.append(types.Array(types.float64, 1, "C"))
    arguments += [_parameter_type(parameter, as_tuples=as_tuples) for parameter in layout.parameters]
    names = [*layout.positional, *(parameter.name for parameter in layout.parameters)]
    order = entry.py_func.__code__.co_varnames[: entry.py_func.__code__.co_argcount]
    by_name = dict(zip(names, arguments, strict=True))
    signature = tuple(by_name[name] for name in order)
    entry.compile(signature)
    return entry.overloads[signature].signature.return_type


def _signature(layout: Layout) -> tuple[types.Type, ...]:
    indices = types.Array(types.int64, 1, "C", readonly=True)
    memory = types.Array(types.float64, 2, "C", readonly=True)
    output = layout.output
    return (
        types.int64,
        types.int64,
        types.Array(types.int64, 1, "C"),
        types.Array(types.float64, 2, "C", readonly=True),
        indices,
        indices,
        memory,
        types.Array(types.float64, 2, "C"),
        types.Array(_SCALARS[output.dtype], 1 + len(output.shape), "C"),
        *(_array_type(field.dtype, len(field.shape) + (field.per != "block")) for field in layout.fields),
    )


def _choices(layout: Layout) -> dict[str, Any]:
    return {f"choices_{p.name}": p.choices for p in layout.parameters if p.kind == "choice"}


class _Text:
    """The loop as text.

    Args:
        layout: the signature.
        answer: type of what the entry function returns.
        as_tuples: whether vectors are passed as tuples; as arrays otherwise.
    """

    def __init__(self, layout: Layout, answer: types.Type, *, as_tuples: bool) -> None:
        self.layout, self.answer, self.as_tuples = layout, answer, as_tuples

    def loop(self) -> str:
        """The whole function."""
        fields = ", ".join(f"field_{field.name}" for field in self.layout.fields)
        lines = [
            f"def loop(start, stop, position, theta, vector, instance, memory, memory_out, actions, {fields}):",
            "    for row in range(start, stop):",
            "        position[0] = row",
            "        v = vector[row]",
            "        i = instance[row]",
        ]
        call = f"entry({', '.join([*self._fields(), *self._parameters()])})"
        if self.layout.memory:
            if not isinstance(self.answer, types.BaseTuple) or len(self.answer) != 2:
                raise CompileFailed("it does not always return (action, memory)")
            action, memory = self.answer.types
            lines += [f"        answer, after = {call}", *self._store_memory(memory), *self._store(action)]
        else:
            lines += [f"        answer = {call}", *self._store(self.answer)]
        return "\n".join([*lines, "    return stop", ""])

    def _fields(self) -> list[str]:
        fields = []
        for field in self.layout.fields:
            index = {"row": "[row]", "instance": "[i]", "block": "" if field.shape else "[()]"}[field.per]
            fields.append(f"field_{field.name}{index}")
        return [*fields, "memory[row].copy()"] if self.layout.memory else fields

    def _parameters(self) -> list[str]:
        texts, place = [], 0
        for parameter in self.layout.parameters:
            texts.append(f"{parameter.name}={self._parameter(parameter, place)}")
            place += parameter.width
        return texts

    def _parameter(self, parameter: ParameterField, place: int) -> str:
        whole = parameter.kind == "integer"
        if parameter.kind == "choice":
            return f"choices_{parameter.name}[int(theta[v, {place}])]"
        if parameter.size is None:
            return f"int(theta[v, {place}])" if whole else f"theta[v, {place}]"
        if self.as_tuples:
            places = [f"theta[v, {place + k}]" for k in range(parameter.size)]
            return "(" + "".join(f"int({text}), " if whole else f"{text}, " for text in places) + ")"
        text = f"theta[v, {place}:{place + parameter.size}]"
        return f"{text}.astype(np.int64)" if whole else text

    def _store(self, answer: types.Type) -> list[str]:
        output = self.layout.output
        if output.shape:
            return self._store_array(answer)
        if isinstance(answer, types.Array) and answer.ndim == 0:
            return ["        answer = answer[()]", *self._store_number(answer.dtype)]
        return self._store_number(answer)

    def _store_number(self, answer: types.Type) -> list[str]:
        return [*self._check("answer", answer, "        "), "        actions[row] = answer"]

    def _check(self, name: str, answer: types.Type, indent: str) -> list[str]:
        """Leave the loop for the plain one at an answer that needs a second look."""
        dtype = self.layout.output.dtype
        if dtype == "bool":
            if not isinstance(answer, types.Boolean):
                raise CompileFailed(f"it returns {answer}, not True or False")
            return []
        if not isinstance(answer, (types.Float, types.Integer)):
            raise CompileFailed(f"it returns {answer}, not always a number")
        if isinstance(answer, types.Integer):
            return []
        surprise = (
            f"not np.isfinite({name})"
            if dtype == "float"
            else f"not (abs({name}) < 9.2e18 and {name} == np.floor({name}))"
        )
        return [f"{indent}if {surprise}:", f"{indent}    return row"]

    def _store_array(self, answer: types.Type) -> list[str]:
        shape = self.layout.output.shape
        if isinstance(answer, types.Array) and answer.ndim == len(shape):
            test, element = f"answer.shape != {shape!r}", answer.dtype
        elif isinstance(answer, (types.UniTuple, types.List)) and len(shape) == 1:
            test, element = f"len(answer) != {shape[0]}", answer.dtype
        else:
            raise CompileFailed(f"it returns {answer}, not always an array of {len(shape)} dimensions")
        lines = [f"        if {test}:", "            return row"]
        indent, names = "        ", [f"k{axis}" for axis in range(len(shape))]
        for name, length in zip(names, shape, strict=True):
            lines.append(f"{indent}for {name} in range({length}):")
            indent += "    "
        lines.append(f"{indent}element = answer[{', '.join(names)}]")
        return [*lines, *self._check("element", element, indent), f"{indent}actions[row, {', '.join(names)}] = element"]

    def _store_memory(self, memory: types.Type) -> list[str]:
        array = isinstance(memory, types.Array) and memory.ndim == 1
        if not (array or isinstance(memory, (types.UniTuple, types.List))) or not isinstance(
            memory.dtype, (types.Float, types.Integer)
        ):
            raise CompileFailed(f"it returns the memory {memory}, not always an array of numbers")
        return [
            f"        if len(after) != {self.layout.memory}:",
            "            return row",
            f"        for k in range({self.layout.memory}):",
            "            if not np.isfinite(after[k]):",
            "                return row",
            "            memory_out[row, k] = after[k]",
        ]
