"""A checked program as numba should read it: guards put in, and the few forms turned that numba does not take.

The meaning stays the same but for rows that raise: those are run again by the plain loop. Names that begin with two
underscores are ours; the static layer keeps programs from having any.

Defends against: arithmetic that compiled code does without a word where Python raises, by calling `sandbox.guards` and
`sandbox.arithmetic` in its place.

Does not defend against: names that mean something else in another place of the program; `sandbox.compilable` turns such
programs away first.
"""

# ruff: noqa: D102 - visitors are named after the nodes they visit

import ast
import copy
from typing import Any

from sandbox import guards
from sandbox.arithmetic import OPERATORS
from sandbox.survey import Survey

_PREFIX = "__guard_"
_CONSUMERS = frozenset({"sum", "any", "all", "max", "min", "sorted", "list"})
"""Builtins that may be given a list where a generator is written; numba has no generators in expressions."""

NAMESPACE: dict[str, Any] = {
    f"{_PREFIX}{name}": function
    for name, function in {
        "power": guards.POWER,
        "square": guards.SQUARE,
        **{f"running_{name}": function for name, function in guards.RUNNING.items()},
        **{f"math_{name}": function for name, function in guards.MATH.items()},
        **{f"np_{name}": function for name, function in guards.NUMPY.items()},
        **{f"array_{name}": function for name, function in guards.ARRAY.items()},
        **guards.BUILTINS,
        **OPERATORS,
    }.items()
}
"""The names that a rewritten program uses."""


def _guard(name: str, at: ast.expr) -> ast.Name:
    return ast.copy_location(ast.Name(f"{_PREFIX}{name}", ast.Load()), at)


class Rewriting(ast.NodeTransformer):
    """Rewrites a whole program.

    Args:
        survey: the names of the program.
    """

    def __init__(self, survey: Survey) -> None:
        self.survey = survey

    def _is(self, node: ast.expr, module: str) -> bool:
        return self.survey.modules_of(node) == {module}

    def _is_builtin(self, node: ast.expr, names: frozenset[str]) -> bool:
        return isinstance(node, ast.Name) and node.id in names - self.survey.bound

    # -- calls

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr in guards.MATH and self._is(node.value, "math"):
            return _guard(f"math_{node.attr}", node)
        if node.attr == "accumulate" and isinstance(node.value, ast.Attribute) and self._is(node.value.value, "np"):
            name = node.value.attr
            return _guard(f"running_{name}", node) if name in guards.RUNNING else node
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if (
            len(node.args) == 1
            and isinstance(node.args[0], ast.GeneratorExp)
            and self._is_builtin(node.func, _CONSUMERS)
        ):
            generator = node.args[0]
            node.args = [ast.copy_location(ast.ListComp(generator.elt, generator.generators), generator)]
        if (
            self._is_builtin(node.func, frozenset({"float"}))
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Constant)
        ):
            return self._float_of(node, node.args[0])
        if not node.keywords:
            node.func = self._function(node, node.func)
        return node

    @staticmethod
    def _float_of(call: ast.Call, constant: ast.Constant) -> ast.expr:
        """`float("inf")` to the number; nonsense stays, and keeps the program from compiling."""
        try:
            return ast.copy_location(ast.Constant(float(constant.value)), call)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return call

    def _function(self, call: ast.Call, function: ast.expr) -> ast.expr:
        if (
            len(call.args) == 1
            and isinstance(function, ast.Name)
            and self._is_builtin(function, frozenset(guards.BUILTINS))
        ):
            return _guard(function.id, function)
        if not isinstance(function, ast.Attribute):
            return function
        if self._is(function.value, "np"):
            return _guard(f"np_{function.attr}", function) if function.attr in guards.NUMPY else function
        if function.attr == "astype" and isinstance(call.args[0], ast.Name) and call.args[0].id == "int":
            call.args = []
        elif function.attr in guards.ARRAY and not call.args:
            pass
        else:
            return function
        call.args = [function.value]
        return _guard(f"array_{function.attr}", function)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = type(node.op).__name__
        if isinstance(node.op, ast.Pow):
            if isinstance(node.right, ast.Constant) and node.right.value == 2 and type(node.right.value) is int:
                return ast.copy_location(ast.Call(_guard("square", node), [node.left], []), node)
            name = "power"
        elif name not in OPERATORS:
            return node
        return ast.copy_location(ast.Call(_guard(name, node), [node.left, node.right], []), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        constant = isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float)
        if not isinstance(node.op, ast.USub) or constant:
            return node
        return ast.copy_location(ast.Call(_guard("USub", node), [node.operand], []), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """`a += b` becomes an assignment of a checked sum; what an index is made of is read twice, and has no effects."""
        name = f"i{type(node.op).__name__}"
        before = copy.deepcopy(node.target)
        before.ctx = ast.Load()
        call = ast.Call(_guard(name, node.target), [self.visit(before), self.visit(node.value)], [])
        return ast.copy_location(ast.Assign([self.visit(node.target)], ast.copy_location(call, node)), node)

    # -- statements

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        """The compiler knows no keyword-only arguments."""
        self.generic_visit(node)
        if node.kwonlyargs:
            node.args += node.kwonlyargs
            node.defaults += [default for default in node.kw_defaults if default is not None]
            node.kwonlyargs, node.kw_defaults = [], []
        return node

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        """`if (x := …) > 0:` becomes an assignment and a test."""
        self.generic_visit(node)
        first = node.test.left if isinstance(node.test, ast.Compare) else node.test
        if not isinstance(first, ast.NamedExpr):
            return [node]
        assignment = ast.copy_location(ast.Assign([first.target], first.value), node)
        name = ast.copy_location(ast.Name(first.target.id, ast.Load()), first)
        if isinstance(node.test, ast.Compare):
            node.test.left = name
        else:
            node.test = name
        return [assignment, node]

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        """The plain loop tells the text; building it here would only keep the program from compiling."""
        if isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        node.cause = None
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        self.generic_visit(node)
        node.msg = None
        return node
