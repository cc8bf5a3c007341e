"""Programs: source text with an entry function whose keyword-only arguments are the parameters to tune.

Reading never evaluates: the space is taken from the syntax tree, where only number literals and arithmetic on them count.
Every refusal carries its kind and a message that a model can act on. The order of the tests is fixed (`KINDS`), so that one
text has one reading.
"""

import ast
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evolve.errors import ProgramError
from evolve.space import (
    Categorical,
    Domain,
    Integer,
    Parameter,
    Real,
    Scalar,
    Space,
    SpaceError,
    Value,
)
from sandbox import Refused, check_text

KINDS = ("syntax_error", "missing_entry", "forbidden_import", "wrong_signature", "bad_parameter_space")
"""Faults in the order they are tested; the first that applies is reported."""

HARMLESS_MODULES = {"math": "math", "numpy": "np"}
"""Modules that are always there, under the name a program knows them by."""

DROPPED_MODULES = {"typing", "__future__", "collections.abc"}
"""Imports that only serve annotations, which the sandbox strips."""

_EXAMPLE = "level: Real(0, 60) = 20.0"


@dataclass(frozen=True)
class Program:
    """A program that satisfies the contract's form; whether it is safe to run is the sandbox's decision.

    Args:
        source: normalised text: harmless imports, a main guard and bare expressions are gone.
        entry: name of the entry function.
        space: its parameters.
    """

    source: str
    entry: str
    space: Space
    _tree: ast.Module = field(repr=False, compare=False)

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of `source`. Not to be changed: copy it first."""
        return self._tree

    @property
    def digest(self) -> str:
        """Identity of the text, 16 hexadecimal digits."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]

    def with_values(self, values: Mapping[str, Value]) -> str:
        """The source with the defaults of its parameters replaced, for example by tuned values."""
        tree = ast.parse(self.source)
        arguments = _entry_of(tree, self.entry).args
        lines = [line.encode() for line in self.source.splitlines(keepends=True)]
        spots = [
            (default, values[argument.arg])
            for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if argument.arg in values and default is not None
        ]
        for node, value in reversed(spots):
            _replace(lines, node, literal(value))
        return b"".join(lines).decode()


def literal(value: Value, digits: int = 6) -> str:
    """A value as source text; floats rounded to `digits` significant digits where that loses nothing a person would miss."""
    if isinstance(value, tuple):
        inner = ", ".join(literal(place, digits) for place in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float):
        return repr(float(f"{value:.{digits}g}"))
    return repr(value)


def _replace(lines: list[bytes], node: ast.expr, text: str) -> None:
    """Replace the text of `node` (which may span lines) in place; columns of a syntax tree count bytes."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    tail = lines[last][node.end_col_offset :]
    lines[first : last + 1] = [lines[first][: node.col_offset] + text.encode() + tail]


def parse(source: str) -> ast.Module:
    """Parse untrusted text into a syntax tree.

    Raises:
        ProgramError: of kind `syntax_error`, also where the text is too long, too deep or holds unseen characters.
    """
    try:
        check_text(source)
    except Refused as refusal:
        raise ProgramError("syntax_error", refusal.message, refusal.line) from None
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise ProgramError("syntax_error", f"not valid Python: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProgramError("syntax_error", f"not readable as Python ({type(error).__name__})") from None


def read_program(source: str, entry: str, positional: Sequence[str]) -> Program:
    """Read a program and its parameter space.

    Args:
        source: the text, from anywhere.
        entry: name of the entry function.
        positional: names of its positional arguments, in order.

    Raises:
        ProgramError: with the kind of fault, a message that says what to write instead, and the line.
    """
    tree = parse(source)
    _find_entry(tree, entry)
    _check_compiles(source)
    tidy = _Tidy()
    changed = tidy.visit(tree)
    function = _entry_of(changed, entry)
    _check_signature(function, positional)
    space = _read_space(function)
    ast.fix_missing_locations(changed)
    text = tidy.text(source, changed)
    return Program(source=text, entry=entry, space=space, _tree=ast.parse(text))


def _definitions(tree: ast.Module, entry: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in tree.body if isinstance(node, kinds) and node.name == entry]


def _entry_of(tree: ast.Module, entry: str) -> ast.FunctionDef:
    """The last top-level definition of `entry`, which is the one that counts."""
    last = _definitions(tree, entry)[-1]
    if isinstance(last, ast.AsyncFunctionDef):
        raise ProgramError("wrong_signature", f"`{entry}` must be a plain function, not `async def`", last.lineno)
    if last.decorator_list:
        raise ProgramError("wrong_signature", f"`{entry}` must have no decorator: remove it", last.lineno)
    return last


def _find_entry(tree: ast.Module, entry: str) -> None:
    found = _definitions(tree, entry)
    if not found:
        raise ProgramError("missing_entry", f"no top-level function `def {entry}(…)`: write one")
    last = found[-1]
    body = [node for node in last.body if not _is_bare_expression(node)]
    if all(isinstance(node, ast.Pass) or _raises_not_implemented(node) for node in body):
        raise ProgramError("missing_entry", f"`{entry}` is only a stub: give it a body that returns an action", last.lineno)


def _is_bare_expression(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _raises_not_implemented(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _check_compiles(source: str) -> None:
    """Faults that the parser leaves to the compiler, as `return` outside a function."""
    try:
        compile(source, "<program>", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise ProgramError("syntax_error", f"not valid Python: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProgramError("syntax_error", f"not readable as Python ({type(error).__name__})") from None


class _Tidy(ast.NodeTransformer):
    """Drops what a program does not need: harmless imports, a main guard, bare top-level expressions.

    A harmless module under another name is kept working by an assignment, as in `floor = math.floor`.
    """

    def __init__(self) -> None:
        self.changed = False

    def text(self, source: str, tree: ast.Module) -> str:
        """The tidied source: as written where nothing was dropped, else written anew from the tree."""
        if self.changed:
            return ast.unparse(tree) + "\n"
        return "\n".join(line.rstrip() for line in source.strip("\n").splitlines()) + "\n"

    def visit_Module(self, node: ast.Module) -> ast.Module:
        kept = [child for child in node.body if not (_is_main_guard(child) or self._is_idle(child, node))]
        self.changed |= len(kept) < len(node.body)
        node.body = kept
        self.generic_visit(node)
        return node

    @staticmethod
    def _is_idle(child: ast.stmt, module: ast.Module) -> bool:
        docstring = child is module.body[0] and _is_bare_expression(child)
        return isinstance(child, ast.Expr) and not docstring

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        aliases: list[ast.stmt] = []
        for name in node.names:
            if name.name in DROPPED_MODULES:
                continue
            if name.name not in HARMLESS_MODULES:
                raise _forbidden(name.name, node.lineno)
            known, wanted = HARMLESS_MODULES[name.name], name.asname or name.name
            if wanted != known:
                aliases.append(_assignment(wanted, ast.Name(known, ast.Load()), node))
        return self._instead(aliases)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        module = node.module or ""
        if module in DROPPED_MODULES and node.level == 0:
            return self._instead([])
        if module not in HARMLESS_MODULES or node.level or any(name.name == "*" for name in node.names):
            raise _forbidden(module or ".", node.lineno)
        home = HARMLESS_MODULES[module]
        return self._instead(
            [
                _assignment(name.asname or name.name, ast.Attribute(ast.Name(home, ast.Load()), name.name, ast.Load()), node)
                for name in node.names
            ]
        )

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id == "__import__":
            raise _forbidden("__import__", node.lineno)
        return node

    def _instead(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        self.changed = True
        return statements

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if block == [] and name == "body" and isinstance(node, ast.stmt | ast.ExceptHandler):
                node.body = [ast.Pass()]  # type: ignore[union-attr]
        return node


def _is_main_guard(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == "__name__"
    )


def _assignment(name: str, value: ast.expr, at: ast.stmt) -> ast.Assign:
    return ast.copy_location(ast.Assign(targets=[ast.Name(name, ast.Store())], value=value), at)


def _forbidden(module: str, line: int) -> ProgramError:
    return ProgramError(
        "forbidden_import", f"import of `{module}` is not allowed: `math` and `np` (numpy) are already there", line
    )


def _check_signature(function: ast.FunctionDef, positional: Sequence[str]) -> None:
    arguments = function.args
    wanted = f"def {function.name}({', '.join(positional)}, *, {_EXAMPLE})"
    found = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg or arguments.kwarg:
        raise ProgramError("wrong_signature", f"no *args or **kwargs: write `{wanted}`", function.lineno)
    if found != list(positional):
        raise ProgramError(
            "wrong_signature",
            f"positional arguments are ({', '.join(found)}) but must be ({', '.join(positional)}): write `{wanted}`",
            function.lineno,
        )
    if arguments.defaults:
        raise ProgramError("wrong_signature", f"positional arguments have no defaults: write `{wanted}`", function.lineno)


def _read_space(function: ast.FunctionDef) -> Space:
    parameters = []
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        try:
            parameters.append(_read_parameter(argument, default))
        except SpaceError as error:
            line = argument.lineno
            raise ProgramError("bad_parameter_space", f"parameter `{argument.arg}`: {error}", line) from None
    try:
        return Space(tuple(parameters))
    except SpaceError as error:
        raise ProgramError("bad_parameter_space", str(error), function.lineno) from None


def _read_parameter(argument: ast.arg, default: ast.expr | None) -> Parameter:
    if argument.annotation is None:
        raise SpaceError(f"it has no search space: annotate it, for example `{_EXAMPLE}`")
    if default is None:
        raise SpaceError(f"it has no start value: give a default, for example `{_EXAMPLE}`")
    domain = _read_domain(argument.annotation)
    if isinstance(domain, Categorical) or domain.size is None:
        value: Value = _read_scalar(default)
    elif isinstance(default, ast.Tuple):
        value = tuple(_read_number(element) for element in default.elts)  # type: ignore[assignment]
    else:
        raise SpaceError(f"size={domain.size} needs a tuple of {domain.size} numbers as default")
    return Parameter(argument.arg, domain, _settle(domain, value))


def _settle(domain: Domain, value: Value) -> Value:
    """Give numbers the type of their domain: `Real(0, 5) = 2` starts from 2.0, `Integer(0, 5) = 2.0` from 2."""
    if isinstance(domain, Real):
        if isinstance(value, tuple):
            return tuple(float(place) for place in value)
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(domain, Integer):
        places = value if isinstance(value, tuple) else (value,)
        whole = [int(p) if isinstance(p, float) and math.isfinite(p) and p == int(p) else p for p in places]
        return tuple(whole) if isinstance(value, tuple) else whole[0]  # type: ignore[arg-type]
    return value


def _read_domain(node: ast.expr) -> Domain:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        raise SpaceError(f"`{ast.unparse(node)}` is no search space: write Real(low, high), Integer(low, high) or Categorical(a, b)")
    if node.func.id == "Categorical":
        return _read_categorical(node)
    if node.func.id not in {"Real", "Integer"}:
        raise SpaceError(f"`{node.func.id}` is no search space: write Real, Integer or Categorical")
    given: dict[str, float | int | bool] = {}
    for name, argument in zip(("low", "high", "log", "size"), node.args, strict=False):
        given[name] = _read_option(name, argument)
    if len(node.args) > 4:
        raise SpaceError(f"{node.func.id} takes low, high, log and size, not {len(node.args)} arguments")
    for keyword in node.keywords:
        if keyword.arg not in {"low", "high", "log", "size"} or keyword.arg in given:
            raise SpaceError(f"{node.func.id} takes low, high, log and size once each, not {keyword.arg!r}")
        given[keyword.arg] = _read_option(keyword.arg, keyword.value)
    if not {"low", "high"} <= set(given):
        raise SpaceError(f"{node.func.id} needs low and high, for example {node.func.id}(0, 60)")
    domain: Domain = Real(**given) if node.func.id == "Real" else _read_integer(given)  # type: ignore[arg-type]
    return domain


def _read_integer(given: dict[str, float | int | bool]) -> Integer:
    for name in ("low", "high"):
        if isinstance(given[name], float) and given[name] == math.floor(given[name]):
            given[name] = int(given[name])
    return Integer(**given)  # type: ignore[arg-type]


def _read_option(name: str, node: ast.expr) -> float | int | bool:
    if name == "log":
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return node.value
        raise SpaceError(f"log is True or False, not `{ast.unparse(node)}`")
    if name == "size" and isinstance(node, ast.Constant) and node.value is None:
        raise SpaceError("size is a whole number: leave it out for a single number")
    return _read_number(node)


def _read_categorical(node: ast.Call) -> Categorical:
    if node.keywords:
        raise SpaceError('Categorical takes its choices by position: Categorical("a", "b")')
    elements: Sequence[ast.expr] = node.args
    if len(elements) == 1 and isinstance(elements[0], (ast.List, ast.Tuple)):
        elements = elements[0].elts
    return Categorical(*(_read_scalar(element) for element in elements))


def _read_scalar(node: ast.expr) -> Scalar:
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, bool)):
        return node.value
    return _read_number(node)


_OPERATIONS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def _read_number(node: ast.expr) -> float | int:
    """A number literal, or arithmetic on number literals; nothing is looked up or called."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = _read_number(node.operand)
        return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.BinOp):
        left, right = _read_number(node.left), _read_number(node.right)
        try:
            if isinstance(node.op, ast.Pow):
                return _power(left, right)
            if type(node.op) in _OPERATIONS:
                result: float | int = _OPERATIONS[type(node.op)](left, right)
                return result
        except (ArithmeticError, ValueError) as error:
            raise SpaceError(f"`{ast.unparse(node)}` cannot be computed: {error}") from None
    raise SpaceError(f"`{ast.unparse(node)}` is no number: write a number literal")


def _power(base: float, exponent: float) -> float | int:
    if abs(exponent) > 64 or abs(base) > 1e6:
        raise SpaceError(f"{base!r} ** {exponent!r} is too large for a bound or a default")
    result = base**exponent
    if isinstance(result, complex):
        raise SpaceError(f"{base!r} ** {exponent!r} is no real number")
    return float(result) if isinstance(result, float) else int(result)
