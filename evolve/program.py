"""Programs: source text with an entry function whose keyword-only arguments are the parameters to tune.

Reading never evaluates: the space is taken from the syntax tree. Every refusal carries its kind and a message that a
model can act on. The order of the tests is fixed (`KINDS`), so that one text has one reading.
"""

import ast
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evolve.annotations import EXAMPLE, literal_in, read_parameter
from evolve.errors import ProgramError
from evolve.space import Space, SpaceError, Value
from evolve.tidy import tidy
from evolve.trees import is_deeper, walk
from sandbox import Refused, check_text

KINDS = ("syntax_error", "missing_entry", "forbidden_import", "wrong_signature", "bad_parameter_space")
"""Faults in the order they are tested; the first that applies is reported."""

MAX_DEPTH = 100
"""Deepest syntax tree: walking deeper ones would exhaust the interpreter's stack, here or in a later stage."""

MAX_FINALLY = 4
"""Most `finally` blocks: Python compiles each twice, so that some dozens within one another exhaust time and memory. The
sandbox has the same limit; programs are compiled here too, where nothing else holds them."""


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
        """The syntax tree of `source`. Not to be changed: parse the source again instead."""
        return self._tree

    @property
    def digest(self) -> str:
        """Identity of the text, 16 hexadecimal digits."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]

    def with_values(self, values: Mapping[str, Value]) -> str:
        """The source with the defaults of its parameters replaced, for example by tuned values.

        Raises:
            SpaceError: if a value is outside its parameter's domain.
        """
        arguments = _last_definition(self._tree, self.entry).args
        defaults = zip(self.space.parameters, arguments.kw_defaults, strict=True)
        lines = [line.encode() for line in self.source.split("\n")]
        spots = [(default, p) for p, default in defaults if default is not None and p.name in values]
        for node, parameter in reversed(spots):
            _replace(lines, node, literal_in(parameter.domain, values[parameter.name]))
        return b"\n".join(lines).decode()


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
    source = _plain_lines(source)
    try:
        check_text(source)
    except Refused as refusal:
        raise ProgramError("syntax_error", refusal.message, refusal.line) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a stray backslash in generated text is nobody's business here
            tree = ast.parse(source)
    except SyntaxError as error:
        raise _not_valid(error) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProgramError("syntax_error", f"not readable as Python ({type(error).__name__})") from None
    _check_depth(tree)
    return tree


def _plain_lines(source: str) -> str:
    """Text with plain line ends, no byte order mark and no blank lines round it, as every later stage expects it."""
    return source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip("\n") + "\n"


def _not_valid(error: SyntaxError) -> ProgramError:
    reason = error.msg.split(";")[0]  # what follows is advice to someone who runs the interpreter
    return ProgramError("syntax_error", f"not valid Python: {reason}", error.lineno)


def _check_depth(tree: ast.Module) -> None:
    node = is_deeper(tree, MAX_DEPTH)
    if node is not None:
        message = f"nested deeper than {MAX_DEPTH} levels: split long expressions and chains"
        raise ProgramError("syntax_error", message, getattr(node, "lineno", None))


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
    text = _plain_lines(source)
    _check_entry(tree, entry)
    _check_compiles(tree)
    tidied = tidy(tree)
    function = _last_definition(tree, entry)
    _check_signature(function, positional)
    space = _read_space(function)
    if tidied:
        text = ast.unparse(tree) + "\n"
        tree = ast.parse(text)
    return Program(source=text, entry=entry, space=space, _tree=tree)


def _last_definition(tree: ast.Module, entry: str) -> ast.FunctionDef:
    """The last top-level definition of `entry`, which is the one that counts."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    last = [node for node in tree.body if isinstance(node, kinds) and node.name == entry][-1]
    if isinstance(last, ast.AsyncFunctionDef):
        raise ProgramError("wrong_signature", f"`{entry}` must be a plain function, not `async def`", last.lineno)
    return last


def _check_entry(tree: ast.Module, entry: str) -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in tree.body if isinstance(node, kinds) and node.name == entry]
    if not found:
        raise ProgramError("missing_entry", f"no top-level function `def {entry}(…)`: write one")
    body = [node for node in found[-1].body if not _is_bare_constant(node)]
    if all(isinstance(node, ast.Pass) or _raises_not_implemented(node) for node in body):
        message = f"`{entry}` is only a stub: give it a body that returns an action"
        raise ProgramError("missing_entry", message, found[-1].lineno)


def _is_bare_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _raises_not_implemented(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _check_compiles(tree: ast.Module) -> None:
    """Faults that the parser leaves to the compiler, as `return` outside a function."""
    finals = [node for node in walk(tree) if isinstance(node, ast.Try | ast.TryStar) and node.finalbody]
    if len(finals) > MAX_FINALLY:
        message = f"there are more than {MAX_FINALLY} `finally`: leave them out"
        raise ProgramError("syntax_error", message, finals[MAX_FINALLY].lineno)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(tree, "<program>", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _not_valid(error) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProgramError("syntax_error", f"not readable as Python ({type(error).__name__})") from None


def _check_signature(function: ast.FunctionDef, positional: Sequence[str]) -> None:
    arguments, line = function.args, function.lineno
    wanted = f"write `def {function.name}({', '.join(positional)}, *, {EXAMPLE}):`"
    found = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if function.decorator_list:
        raise ProgramError("wrong_signature", f"`{function.name}` must have no decorator: remove it", line)
    if arguments.vararg or arguments.kwarg:
        raise ProgramError("wrong_signature", f"no *args or **kwargs: {wanted}", line)
    if found != list(positional):
        differ = f"positional arguments are ({', '.join(found)}) but must be ({', '.join(positional)})"
        raise ProgramError("wrong_signature", f"{differ}: {wanted}", line)
    if arguments.defaults:
        raise ProgramError("wrong_signature", f"positional arguments have no defaults: {wanted}", line)


def _read_space(function: ast.FunctionDef) -> Space:
    parameters = []
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        try:
            parameters.append(read_parameter(argument, default))
        except SpaceError as error:
            message = f"parameter `{argument.arg}`: {error}"
            raise ProgramError("bad_parameter_space", message, argument.lineno) from None
    try:
        return Space(tuple(parameters))
    except SpaceError as error:
        raise ProgramError("bad_parameter_space", str(error), function.lineno) from None
