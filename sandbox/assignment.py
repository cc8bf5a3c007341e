"""Definite assignment: is every local name bound wherever it is read?

Python raises UnboundLocalError at such a read; compiled code finds whatever the variable's place holds, mostly zero.

Defends against: a failure that compiled code would turn into a score. Every path is thought possible, so a name that is
bound only in the body of a loop counts as unbound behind it.

Does not defend against: anything else that compiled code does otherwise; `sandbox.compilable` and `sandbox.guards` do.
"""

import ast
from collections.abc import Iterable, Iterator

from sandbox.compiled import CompileFailed

Function = ast.FunctionDef | ast.Lambda
_Names = frozenset[str]
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_SCOPES = (ast.FunctionDef, ast.Lambda, *_COMPREHENSIONS)


def check_function(function: Function) -> None:
    """Check one function of the module, and those inside it.

    Raises:
        CompileFailed: naming a name that may be unbound where it is read.
    """
    _Paths(function, frozenset()).check()


def _parameters(function: Function) -> _Names:
    arguments = function.args
    return frozenset(
        argument.arg
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg)
        if argument is not None
    )


def _own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of one scope; of scopes inside it only the node itself."""
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _own_nodes(ast.iter_child_nodes(node))


def _bindings(function: Function) -> list[str]:
    body = function.body if isinstance(function.body, list) else [function.body]
    names = []
    for node in _own_nodes(body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.FunctionDef):
            names.append(node.name)
    return names


class _Paths:
    """Follows the paths through one function with the names that are bound on each; None for a path that ended."""

    def __init__(self, function: Function, around: _Names) -> None:
        self.function, self.around = function, around
        self.bindings = _bindings(function)
        self.parameters = _parameters(function)
        self.local = frozenset(self.bindings) | self.parameters
        self.breaks: list[list[_Names]] = []

    def check(self) -> None:
        if isinstance(self.function, ast.Lambda):
            self._expression(self.function.body, self.parameters)
        else:
            self._block(self.function.body, self.parameters)

    # -- statements

    def _block(self, body: Iterable[ast.stmt], bound: _Names | None) -> _Names | None:
        for statement in body:
            if bound is None:  # nothing gets here
                return None
            bound = self._statement(statement, bound)
        return bound

    def _statement(self, node: ast.stmt, bound: _Names) -> _Names | None:
        if isinstance(node, (ast.Return, ast.Raise)):
            self._expressions(ast.iter_child_nodes(node), bound)
            return None
        if isinstance(node, (ast.Break, ast.Continue)):
            if isinstance(node, ast.Break):
                self.breaks[-1].append(bound)
            return None
        if isinstance(node, ast.If):
            bound = self._expression(node.test, bound)
            return _meet(self._block(node.body, bound), self._block(node.orelse, bound))
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, bound)
        if isinstance(node, ast.FunctionDef):
            self._inner(node, bound)
            return bound | {node.name}
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            return self._assign(node, bound)
        if isinstance(node, (ast.Expr, ast.Assert, ast.Pass)):
            return self._expressions(ast.iter_child_nodes(node), bound)
        raise CompileFailed(f"line {node.lineno}: `{type(node).__name__.lower()}` is not compiled")

    def _assign(self, node: ast.Assign | ast.AugAssign, bound: _Names) -> _Names:
        bound = self._expression(node.value, bound)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                bound = self._expression(target, bound)
            return bound
        if isinstance(node.target, ast.Name):
            self._read(node.target, bound)
        return self._expression(node.target, bound)

    def _loop(self, node: ast.For | ast.While, bound: _Names) -> _Names | None:
        self.breaks.append([])
        if isinstance(node, ast.For):
            before: _Names | None = self._expression(node.iter, bound)
            self._block(node.body, self._expression(node.target, before or bound))
        else:
            before = self._expression(node.test, bound)
            self._block(node.body, before)
            if isinstance(node.test, ast.Constant) and node.test.value:
                before = None
        after = self._block(node.orelse, before)
        for left in self.breaks.pop():
            after = _meet(after, left)
        return after

    # -- expressions

    def _expressions(self, nodes: Iterable[ast.AST], bound: _Names) -> _Names:
        for node in nodes:
            bound = self._expression(node, bound)
        return bound

    def _expression(self, node: ast.AST, bound: _Names) -> _Names:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                return bound | {node.id}
            self._read(node, bound)
            return bound
        if isinstance(node, ast.BoolOp):
            return self._first_counts(node.values, bound)
        if isinstance(node, ast.Compare):
            bound = self._expression(node.left, bound)
            return self._first_counts(node.comparators, bound)
        if isinstance(node, ast.IfExp):
            bound = self._expression(node.test, bound)
            return self._expression(node.body, bound) & self._expression(node.orelse, bound)
        if isinstance(node, ast.Lambda):
            self._inner(node, bound)
            return bound
        if isinstance(node, ast.NamedExpr):
            return self._expression(node.value, bound) | {node.target.id}
        if isinstance(node, _COMPREHENSIONS):
            self._comprehension(node, bound)
            return bound
        return self._expressions(ast.iter_child_nodes(node), bound)

    def _first_counts(self, nodes: list[ast.expr], bound: _Names) -> _Names:
        """`a and b`: what `b` binds is bound only if it is reached."""
        first = inner = self._expression(nodes[0], bound)
        for node in nodes[1:]:
            inner = self._expression(node, inner)
        return first

    def _comprehension(self, node: ast.expr, bound: _Names) -> None:
        assert isinstance(node, _COMPREHENSIONS)
        if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node)):
            raise CompileFailed(f"line {node.lineno}: `:=` inside a comprehension is not compiled")
        own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        if own & self.local:
            raise CompileFailed(f"line {node.lineno}: a name of a comprehension is also a name of the function")
        for generator in node.generators:
            bound = self._expression(generator.iter, bound)
            bound = self._expression(generator.target, bound)
            bound = self._expressions(generator.ifs, bound)
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._expressions(elements, bound)

    def _inner(self, node: Function, bound: _Names) -> None:
        """A function inside: compiled code keeps the values of its surroundings, Python their names."""
        if node.args.defaults or node.args.kwonlyargs:  # numba passes them wrongly
            raise CompileFailed(f"line {node.lineno}: a function inside another has a default or keywords")
        inner = _Paths(node, self.around | self.local)
        for name in ast.walk(node):
            if not isinstance(name, ast.Name) or name.id in inner.local or name.id not in self.local | self.around:
                continue
            times = self.bindings.count(name.id) + (name.id in self.parameters)
            if name.id not in bound or times != 1 or self._in_loop(name.id):
                raise CompileFailed(f"line {node.lineno}: a function inside reads `{name.id}`, which may change")
        inner.check()

    def _in_loop(self, name: str) -> bool:
        body = self.function.body if isinstance(self.function.body, list) else [self.function.body]
        return any(
            isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Store)
            for loop in _own_nodes(body)
            if isinstance(loop, (ast.For, ast.While))
            for inner in ast.walk(loop)
        )

    def _read(self, node: ast.Name, bound: _Names) -> None:
        if node.id in self.local and node.id not in bound:
            raise CompileFailed(f"line {node.lineno}: `{node.id}` may be unbound")


def _meet(one: _Names | None, other: _Names | None) -> _Names | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
