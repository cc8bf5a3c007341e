"""When are two programs the same up to writing? Their canonical texts have one fingerprint.

What does not count: layout, comments, docstrings, annotations of plain variables; the names of helpers, local variables
and parameters; the order of parameters and their default values (the tuner finds them anew); the order of terms, of
factors, and of what `min` and `max` are taken of; `a > b` against `b < a`; `2.0` against `2`. The search domains of
parameters do count: a wider domain is another program.

The canonical text is written here and not by `ast.dump`, whose form differs between versions of Python.
"""

import ast
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from evolve.annotations import domain_text
from evolve.program import Program
from evolve.trees import walk

_COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
_TURNED: dict[type[ast.cmpop], str] = {ast.Gt: "Lt", ast.GtE: "LtE"}
_UNSAID = {"ctx", "returns", "annotation", "type_comment", "type_params", "kind", "lineno"}


def fingerprint(program: Program, positional: Iterable[str]) -> str:
    """Canonical identity of a program, 16 hexadecimal digits; `positional` are the names the contract fixes."""
    bound = _bound_names(program.tree) - {*positional, program.entry, "math", "np"}
    tags = dict.fromkeys(sorted(bound), "·")
    tags |= {parameter.name: f"·{domain_text(parameter.domain)}" for parameter in program.space.parameters}
    text = _Named(program.entry, tags).write(program.tree)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _bound_names(tree: ast.AST) -> set[str]:
    """Names that the program itself binds: only these may be renamed."""
    names: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ExceptHandler)) and node.name:
            names.add(node.name)
    return names


class _Writer(ABC):
    """Writes a tree as one canonical text; how names appear and operands are ordered is left to two subclasses."""

    def __init__(self, entry: str, tags: dict[str, str]) -> None:
        self.entry, self.tags = entry, tags

    @abstractmethod
    def name(self, name: str) -> str:
        """How a name appears."""

    @abstractmethod
    def ordered(self, operands: Sequence[ast.expr]) -> list[str]:
        """The texts of operands whose order does not count."""

    def write(self, node: ast.AST) -> str:
        """The canonical text of a node."""
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.Constant):
            return _constant(node.value)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._comparison(node)
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return self.write(ast.Assign(targets=[node.target], value=node.value))
        if isinstance(node, ast.FunctionDef) and node.name == self.entry:
            return self._entry(node)
        return self._other(node)

    def _operation(self, node: ast.BinOp) -> str:
        kind = type(node.op)
        if not isinstance(node.op, _COMMUTATIVE):
            return f"({kind.__name__} {self.write(node.left)} {self.write(node.right)})"
        operands: list[ast.expr] = []
        rest: list[ast.expr] = [node]
        while rest:
            operand = rest.pop()
            if isinstance(operand, ast.BinOp) and type(operand.op) is kind:
                rest += (operand.right, operand.left)
            else:
                operands.append(operand)
        return f"({kind.__name__} {' '.join(self.ordered(operands))})"

    def _call(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Name) and function.id in {"min", "max"} and function.id not in self.tags:
            return f"({function.id} {' '.join(self.ordered(node.args))} {self._list(node.keywords)})"
        return f"(call {self.write(function)} {self._list(node.args)} {self._list(node.keywords)})"

    def _comparison(self, node: ast.Compare) -> str:
        kind, left, right = type(node.ops[0]), node.left, node.comparators[0]
        if kind in _TURNED:
            return f"({_TURNED[kind]} {self.write(right)} {self.write(left)})"
        return f"({kind.__name__} {self.write(left)} {self.write(right)})"

    def _entry(self, node: ast.FunctionDef) -> str:
        """The body first: parameters are named by their first use in it, and stand in that order."""
        body = self._list(node.body)
        domains = {self.name(argument.arg): self.tags.get(argument.arg, "") for argument in node.args.kwonlyargs}
        return f"(entry {body} {sorted(domains.items())})"

    def _other(self, node: ast.AST) -> str:
        parts = [type(node).__name__]
        for field in node._fields:
            if field in _UNSAID:
                continue
            value: Any = getattr(node, field, None)
            if isinstance(value, list):
                parts.append(self._list(value))
            elif isinstance(value, ast.AST):
                parts.append(self.write(value))
            elif isinstance(value, str) and field in {"name", "arg", "id"}:
                parts.append(self.name(value))
            else:
                parts.append(repr(value))
        return f"({' '.join(parts)})"

    def _list(self, items: Sequence[Any]) -> str:
        texts = [self.write(item) if isinstance(item, ast.AST) else self._plain(item) for item in items if _says(item)]
        return f"[{' '.join(texts)}]"

    def _plain(self, item: object) -> str:
        return self.name(item) if isinstance(item, str) else repr(item)


class _Blind(_Writer):
    """Bound names appear as what kind they are: a text that does not change when they are renamed."""

    def __init__(self, entry: str, tags: dict[str, str]) -> None:
        super().__init__(entry, tags)
        self._seen: dict[int, str] = {}

    def name(self, name: str) -> str:
        return self.tags.get(name, name)

    def ordered(self, operands: Sequence[ast.expr]) -> list[str]:
        return sorted(self.text(operand) for operand in operands)

    def text(self, node: ast.AST) -> str:
        """As `write`, remembered, since enclosing operations ask again."""
        text = self._seen.get(id(node))
        if text is None:
            text = self._seen[id(node)] = self.write(node)
        return text


class _Named(_Writer):
    """Bound names are numbered in order of appearance; operands stand in the order of their blind texts."""

    def __init__(self, entry: str, tags: dict[str, str]) -> None:
        super().__init__(entry, tags)
        self._blind = _Blind(entry, tags)
        self._numbers: dict[str, str] = {}

    def name(self, name: str) -> str:
        if name not in self.tags:
            return name
        return self._numbers.setdefault(name, f"v{len(self._numbers)}")

    def ordered(self, operands: Sequence[ast.expr]) -> list[str]:
        return [self.write(operand) for operand in sorted(operands, key=self._rank)]

    def _rank(self, operand: ast.expr) -> tuple[str, int]:
        """What looks alike to the blind stands in the order in which it was named before."""
        number = self._numbers.get(operand.id, "") if isinstance(operand, ast.Name) else ""
        return self._blind.text(operand), int(number[1:] or len(self.tags))


def _says(item: object) -> bool:
    """Whether a statement does anything: bare constants (docstrings) and declarations without a value do not."""
    if isinstance(item, ast.Expr):
        return not isinstance(item.value, ast.Constant)
    return not (isinstance(item, ast.AnnAssign) and item.value is None)


def _constant(value: object) -> str:
    return repr(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)
