"""A child in the making: the parent's syntax tree, changed in place, and the parameters it will declare."""

import ast
import builtins
import keyword
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from evolve.problem import Signature
from evolve.program import Program
from evolve.proposers.genetic import nodes
from evolve.proposers.genetic.facts import Fact, infer, parameter_fact, signature_facts
from evolve.space import Domain, Parameter, Real, Value
from evolve.trees import walk

RESERVED = frozenset({*dir(builtins), *keyword.kwlist, "math", "np", "memory", "Real", "Integer", "Categorical"})
"""Names that a new parameter or variable must not take."""


@dataclass(slots=True)
class Draft:
    """A child in the making.

    Args:
        signature: the contract.
        tree: syntax tree of the whole text; owned by the draft.
        function: the entry function in it.
        parameters: what the child declares, by name; those that nothing reads are dropped at the end.
        inherited: names of the parent's parameters, whose tuned values the child takes over.
    """

    signature: Signature
    tree: ast.Module
    function: ast.FunctionDef
    parameters: dict[str, Parameter]
    inherited: frozenset[str]
    _taken: set[str] = field(default_factory=set)
    _units: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program, signature: Signature) -> "Draft":
        """A draft that says what `program` says."""
        tree = ast.parse(program.source)
        function = entry_of(tree, program.entry)
        parameters = {parameter.name: parameter for parameter in program.space.parameters}
        draft = cls(signature, tree, function, parameters, frozenset(parameters))
        draft._taken = {*RESERVED, program.entry} | _all_names(tree)
        draft._units = draft._find_units()
        return draft

    def copy(self) -> "Draft":
        """Another draft that says the same, to be changed on its own."""
        tree = _clone_module(self.tree)
        function = entry_of(tree, self.signature.entry)
        return Draft(
            self.signature, tree, function, dict(self.parameters), self.inherited, set(self._taken), dict(self._units)
        )

    # -- names and parameters

    def fresh_name(self, stem: str) -> str:
        """A name that nothing has yet: `stem`, `stem_2` and so on."""
        stem = stem.rstrip("0123456789").rstrip("_") or "value"
        name, count = stem, 1
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._taken.add(name)
        return name

    def parameter(self, stem: str, domain: Domain, default: Value, unit: str | None = None) -> ast.Name:
        """Declare a parameter and return the name that reads it."""
        return self.declare(self.fresh_name(stem), domain, default, unit)

    def declare(self, name: str, domain: Domain, default: Value, unit: str | None = None) -> ast.Name:
        """As `parameter`, under a name that is free or whose parameter goes."""
        if isinstance(domain, Real) and isinstance(default, int):
            default = float(default)
        self.parameters[name] = Parameter(name, domain, default)
        if unit is not None:
            self._units[name] = unit
        return nodes.name(name)

    def reads(self) -> Counter[str]:
        """How often each name is read, anywhere in the text."""
        return Counter(nodes.names_in(self.tree))

    @property
    def body(self) -> list[ast.stmt]:
        """Statements of the entry function."""
        return self.function.body

    @property
    def weight(self) -> int:
        """How much a person has to read."""
        return sum(nodes.weight_of(statement) for statement in self.tree.body if statement is not self.function) + sum(
            nodes.weight_of(statement) for statement in self.function.body
        )

    # -- facts

    def facts(self) -> dict[str, Fact]:
        """Facts of arguments, module constants and parameters, as they stand at the start of the function."""
        env = signature_facts(self.signature)
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                env[statement.targets[0].id] = infer(statement.value, env)
        return env | {p.name: parameter_fact(p, self._units.get(p.name)) for p in self.parameters.values()}

    def _find_units(self) -> dict[str, str]:
        """Parameters that are added to or compared with something have its unit; those that only multiply have none."""
        self._units = dict.fromkeys((known for known in _multipliers(self.function) if known in self.parameters), "")
        env = self.facts()
        found: dict[str, str] = {}
        for one, other in _companions(self.function):
            for side, partner in ((one, other), (other, one)):
                if isinstance(side, ast.Name) and side.id in self.parameters and side.id not in found:
                    unit = infer(partner, env).unit
                    if unit is not None:
                        found[side.id] = unit
        return self._units | found


def _clone_module(tree: ast.Module) -> ast.Module:
    return ast.Module([nodes.clone_statement(statement) for statement in tree.body], [])


def entry_of(tree: ast.Module, entry: str) -> ast.FunctionDef:
    """The definition of the entry function that counts: the last."""
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == entry][-1]


def _multipliers(function: ast.FunctionDef) -> Iterator[str]:
    for node in walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            yield from (side.id for side in (node.left, node.right) if isinstance(side, ast.Name))


def _companions(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            yield node.left, node.right
        elif isinstance(node, ast.Compare):
            yield node.left, node.comparators[0]
        elif nodes.called(node) in {"min", "max"} and isinstance(node, ast.Call) and len(node.args) > 1:
            yield from ((node.args[0], argument) for argument in node.args[1:])


def _all_names(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
    return names
