"""Rules for statements and for the shape of a program: what may stand where.

Defends against: code that runs at import; functions that keep state (defaults that can change, `global`, `nonlocal`,
generators, classes, attributes); catching what ends a program; imports.

Does not defend against: state in module constants. They are frozen after they have been made (`sandbox.freeze`), since a
tree does not show what a call returns.
"""

# ruff: noqa: N802, D102 - visitors are named after the nodes they visit

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from sandbox import allow
from sandbox.expressions import ExpressionRules, shown
from sandbox.survey import DROPPED, MODULES, Survey, modules_imported, names_bound

_PATTERNS = (ast.MatchValue, ast.MatchSingleton, ast.MatchSequence, ast.MatchStar, ast.MatchAs, ast.MatchOr)
_DEFAULTS = (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp, ast.BinOp, ast.Tuple)


class Rules(ExpressionRules):
    """Visits every node of a program once; raises at the first that breaks a rule. Drops imports and annotations.

    Args:
        survey: the names of the program.
    """

    def __init__(self, survey: Survey) -> None:
        super().__init__(survey)
        self.functions_around = 0

    @contextmanager
    def _function(self) -> Iterator[None]:
        self.functions_around += 1
        yield
        self.functions_around -= 1

    # -- the module

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for statement in node.body:
            self._check_level(statement)
        self._check_modules(node)
        self.node_contents_visit(node)
        self._check_rebinding(node.body)
        return node

    def _check_modules(self, tree: ast.Module) -> None:
        """A name of a module is bound by imports of that module alone."""
        known = self.survey.modules
        for node in ast.walk(tree):
            for name in names_bound(node):
                if name in known:
                    self.refuse(node, "module", f"`{name}` is the name of a module here: use another name for this")
            for name, _ in modules_imported(node):
                if len(known[name]) > 1:
                    self.refuse(node, "module", f"`{name}` stands for two modules: use a name for each")

    def _check_level(self, node: ast.stmt) -> None:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        fits = (ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Pass, ast.ClassDef)
        if not text and not isinstance(node, (*fits, ast.AsyncFunctionDef)):
            self.refuse(
                node,
                "module-level",
                f"`{shown(node)}` at module level is not allowed: only functions and constants may stand there",
            )

    def _check_rebinding(self, body: Sequence[ast.stmt]) -> None:
        functions = {statement.name for statement in body if isinstance(statement, ast.FunctionDef)}
        for statement in body:
            if not isinstance(statement, ast.Assign):
                continue
            for name in ast.walk(statement):
                if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Load) and name.id in functions:
                    self.refuse(statement, "module-level", f"`{name.id}` is a function too: use different names")

    # -- functions

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.check_name(node, node.name)
        if node.decorator_list:
            self.refuse(node, "statement", f"`{node.name}` must have no decorator: delete it")
        if getattr(node, "type_params", None):
            self.refuse(node, "statement", f"`{node.name}` must have no type parameters: delete them")
        node.returns = None
        with self._function():
            return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        with self._function():
            return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        if node.kwarg:
            self.refuse(node.kwarg, "signature", f"`**{node.kwarg.arg}` is not allowed: name the arguments")
        for default in (*node.defaults, *node.kw_defaults):
            if default is not None:
                self._check_default(default)
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_arg(self, node: ast.arg) -> ast.arg:
        self.check_name(node, node.arg)
        node.annotation = None
        return node

    def _check_default(self, node: ast.expr) -> None:
        """A default lives as long as its function, so it must hold no state."""
        if not isinstance(node, _DEFAULTS):
            self.refuse(node, "default", "a default must be a number, None or a tuple of numbers: make others inside")
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._check_default(child)

    # -- plain statements

    def visit_For(self, node: ast.For) -> ast.For:
        self.allow_view(node.iter)
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        if node.is_async:
            self.refuse(node.target, "statement", "`async for` is not allowed: write `for`")
        self.allow_view(node.iter)
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        target = self.visit(node.target)
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign(targets=[target], value=self.visit(node.value)), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.NamedExpr:
        if not self.functions_around:
            self.refuse(node, "module-level", "`:=` at module level is not allowed: write an assignment")
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        if isinstance(node.value, ast.Constant):
            return node  # a docstring may hold any text: nothing can reach it
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    # -- errors

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        if isinstance(node.exc, ast.Call):
            node.exc.func = self.visit(node.exc.func)
            self._check_no_keywords(node.exc)
            node.exc.args = [self.visit_told(argument) for argument in node.exc.args]
        elif node.exc is not None:
            node.exc = self.visit(node.exc)
        if node.cause is not None:
            node.cause = self.visit(node.cause)
        return node

    def _check_no_keywords(self, node: ast.Call) -> None:
        if node.keywords:
            self.refuse(node, "keyword", f"`{shown(node.func)}` takes no keyword arguments here: leave them out")

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        node.test = self.visit(node.test)
        if node.msg is not None:
            node.msg = self.visit_told(node.msg)
        return node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        """No `finally`: it runs while memory is short, and by `return` or `raise` it hides that from nobody but us."""
        if node.finalbody:
            self.refuse(node.finalbody[0], "statement", "`finally` is not allowed: write what it does after the `try`")
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        if node.type is None:
            self.refuse(node, "except", "a bare `except:` is not allowed: write `except Exception:`")
        for kind in node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]:
            linalg = isinstance(kind, ast.Attribute) and kind.attr == "LinAlgError"
            named = isinstance(kind, ast.Name) and kind.id in allow.EXCEPTIONS - self.survey.bound
            if not linalg and not named:
                self.refuse(kind, "except", f"`{shown(kind)}` cannot be caught: catch `Exception` or a named error")
        self.check_name(node, node.name)
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    # -- imports: what is already there is dropped, other names for it are kept

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        aliases: list[ast.stmt] = []
        for name in node.names:
            if name.name not in MODULES and name.name not in DROPPED:
                self._refuse_import(node, name.name)
            known, wanted = MODULES.get(name.name), name.asname or name.name
            if known is not None and wanted != known:
                aliases.append(self._alias(wanted, ast.Name(known, ast.Load()), node))
        return aliases or [ast.copy_location(ast.Pass(), node)]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        module = node.module or "."
        aliases: list[ast.stmt] = []
        if node.level or module not in DROPPED | set(MODULES):
            self._refuse_import(node, module)
        if any(name.name == "*" for name in node.names):
            self.refuse(node, "import", f"`import *` is not allowed: name what you use, as in `{module}.sqrt(x)`")
        if module in MODULES:
            for name in node.names:
                value = ast.Attribute(ast.Name(MODULES[module], ast.Load()), name.name, ast.Load())
                aliases.append(self._alias(name.asname or name.name, value, node))
        return aliases or [ast.copy_location(ast.Pass(), node)]

    def _alias(self, name: str, value: ast.expr, at: ast.stmt) -> ast.stmt:
        self.check_name(at, name)
        value = ast.fix_missing_locations(ast.copy_location(value, at))
        target = ast.copy_location(ast.Name(name, ast.Store()), at)
        if not self.survey.modules_of(value):
            value = self.visit(value)
        return ast.copy_location(ast.Assign(targets=[target], value=value), at)

    def _refuse_import(self, node: ast.stmt, module: str) -> NoReturn:
        instead = allow.INSTEAD.get(module) or allow.INSTEAD.get(module.split(".", maxsplit=1)[0])
        self.refuse(
            node,
            "import",
            f"import of `{module}` is not allowed: {instead or '`math` and `np` (numpy) are already there'}",
        )

    # -- match: values and sequences only, since a class pattern reads attributes by name

    def visit_Match(self, node: ast.Match) -> ast.Match:
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        for pattern in ast.walk(node.pattern):
            if isinstance(pattern, ast.pattern) and not isinstance(pattern, _PATTERNS):
                self.refuse(pattern, "match", "only values, names and sequences may be matched: use if and elif")
            if isinstance(pattern, (ast.MatchAs, ast.MatchStar)):
                self.check_name(pattern, pattern.name)
            if isinstance(pattern, ast.MatchValue):
                pattern.value = self.visit(pattern.value)
        if node.guard is not None:
            node.guard = self.visit(node.guard)
        node.body = [self.visit(statement) for statement in node.body]
        return node

    # -- what has no place in a decision rule

    def visit_ClassDef(self, node: ast.ClassDef) -> NoReturn:
        self.refuse(node, "statement", "a class is not allowed: use functions and tuples")

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> NoReturn:
        self.refuse(node, "statement", "`async def` is not allowed: write `def`")

    def visit_Global(self, node: ast.Global) -> NoReturn:
        self.refuse(node, "state", "`global` is not allowed: a program keeps no state between calls; use arguments")

    def visit_Nonlocal(self, node: ast.Nonlocal) -> NoReturn:
        self.refuse(node, "state", "`nonlocal` is not allowed: return the value instead")

    def visit_Yield(self, node: ast.Yield) -> NoReturn:
        self.refuse(node, "state", "`yield` is not allowed: return a value, or build a list")

    def visit_YieldFrom(self, node: ast.YieldFrom) -> NoReturn:
        self.refuse(node, "state", "`yield` is not allowed: return a value, or build a list")

    def visit_With(self, node: ast.With) -> NoReturn:
        self.refuse(node, "statement", "`with` is not allowed: nothing here needs closing")
