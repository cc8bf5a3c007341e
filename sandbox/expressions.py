"""Rules for expressions: names, attributes, calls, constants and text.

Defends against: reaching an object by a name or an attribute that is not allow-listed; naming an array type that holds
addresses, text or the clock; results that contain memory nobody wrote (`where=`); text made from objects anywhere but in
an error message, where only people read it.

Does not defend against: what an allowed name does with absurd arguments (limits do that).
"""

# ruff: noqa: N802, D102 - visitors are named after the nodes they visit

import ast
import difflib
from collections.abc import Iterable
from typing import NoReturn

from RestrictedPython import RestrictingNodeTransformer

from sandbox import allow
from sandbox.errors import Refused
from sandbox.survey import Survey

_HOMES = {"np": allow.NUMPY, "math": allow.MATH, "np.linalg": allow.LINALG}
_KNOWN = allow.BUILTINS | allow.EXCEPTIONS | {"math", "np"}
_VIEWS = frozenset({"items", "keys"})
"""Methods of dictionaries whose results make sets when they are combined."""
_CONSUMERS = frozenset(
    {"all", "any", "dict", "enumerate", "len", "list", "max", "min", "reversed", "sorted", "sum", "tuple"}
)
_EACH = frozenset({"filter", "map", "zip"})
"""Builtins that read what they are given, the first with one argument, and never pass on the thing itself."""
_MAX_STRING = 200
_MAX_SPEC = 6
_MAX_GUESSED = 40
_SET = "a set is not allowed, since its order can differ: use a tuple, a list, sorted(…) or a dict"
_F_STRING = 'an f-string may stand only in an error message: write it as in `raise ValueError(f"…")`, or after `assert`'


def shown(node: ast.AST) -> str:
    """A node as a reader knows it, cut to a phrase."""
    text = ast.unparse(node).split("\n", 1)[0]
    return text if len(text) <= 40 else text[:37] + "..."


def _instead(name: str, allowed: Iterable[str], fallback: str) -> str:
    if name in allow.INSTEAD:
        return allow.INSTEAD[name]
    near = difflib.get_close_matches(name[:_MAX_GUESSED], allowed, n=1, cutoff=0.7)
    return f"did you mean `{near[0]}`?" if near else fallback


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_constant(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str))


def _is_formatting(node: ast.expr) -> bool:
    """`"…" % x` or `"…".format(x)`."""
    if isinstance(node, ast.BinOp):
        text: ast.expr = node.left
        named = isinstance(node.op, ast.Mod)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        text, named = node.func.value, node.func.attr == "format"
    else:
        return False
    return named and isinstance(text, ast.Constant) and isinstance(text.value, str)


class ExpressionRules(RestrictingNodeTransformer):  # type: ignore[misc]
    """Visits expressions; raises at the first that breaks a rule.

    Args:
        survey: the names of the program.
    """

    def __init__(self, survey: Survey) -> None:
        super().__init__()
        self.survey = survey
        self.views: set[int] = set()

    def refuse(self, node: ast.AST, rule: str, message: str) -> NoReturn:
        """Refuse the program because of `node`."""
        raise Refused(message, rule=rule, line=getattr(node, "lineno", None))

    def error(self, node: ast.AST, info: str) -> NoReturn:
        """The base class's own refusals: syntax that it does not know."""
        self.refuse(node, "statement", f"{info.rstrip('.')}: write it with plain statements")

    # -- names

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = False) -> None:  # noqa: ARG002
        """Refuse names with two leading underscores; all others are decided where they are read."""
        if name is not None and name.startswith("__"):
            self.refuse(node, "name", f"the name `{name}` is not allowed: use one without leading underscores")

    def visit_Name(self, node: ast.Name) -> ast.Name:
        self.check_name(node, node.id)
        if isinstance(node.ctx, ast.Load) and node.id not in _KNOWN and node.id not in self.survey.bound:
            known = _KNOWN | self.survey.bound
            instead = _instead(node.id, known, "define it first")
            self.refuse(node, "name", f"`{node.id[:_MAX_GUESSED]}` is not available: {instead}")
        if node.id in self.survey.modules:
            self._refuse_module(node)
        return node

    def _refuse_module(self, node: ast.expr) -> NoReturn:
        """The name of a module has one meaning in a whole program, so that every layer reads it alike."""
        name = shown(node)
        self.refuse(node, "module", f"the module `{name}` can only be used as in `{name}.f(x)`: use another name here")

    def _visit_home(self, node: ast.expr) -> ast.expr:
        """What stands left of a dot: the only place for a module."""
        if not self.survey.modules_of(node):
            return self.visit(node)  # type: ignore[no-any-return]
        if isinstance(node, ast.Attribute):
            node.value = self._visit_home(node.value)
        return node

    # -- attributes

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        if node.attr == "astype":
            self.refuse(node, "dtype", "`.astype` must be called where it is named: write x.astype(float)")
        node.value = self._visit_home(node.value)  # first, so that `np.random.rand` is blamed for `random`
        self._check_attribute(node)
        if self.survey.modules_of(node):
            self._refuse_module(node)
        if node.attr in _VIEWS and id(node) not in self.views:
            self.refuse(
                node, "set", f"`.{node.attr}()` may only be read: write list(d.{node.attr}()), or a loop over it"
            )
        return node

    def _check_attribute(self, node: ast.Attribute) -> None:
        name = node.attr
        if not isinstance(node.ctx, ast.Load):
            self.refuse(node, "store", f"`.{name}` cannot be set or deleted: use a variable, or x[i] = v")
        homes = self.survey.modules_of(node.value)
        allowed = frozenset[str]().union(*(_HOMES[home] for home in homes)) if homes else allow.METHODS
        if name in allowed:
            return
        home = f"{shown(node.value)}" if homes else ""
        instead = _instead(name, allowed, "write it with arithmetic and loops")
        self.refuse(node, "attribute", f"`{home}.{name[:_MAX_GUESSED]}` is not available: {instead}")

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    # -- calls

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            self._check_astype(node)
            node.func.value = self.visit(node.func.value)
        else:
            node.func = self.visit(node.func)
        for keyword in node.keywords:
            self._check_keyword(node, keyword)
            if keyword.arg != "dtype" or self.survey.is_own_function(node.func):
                keyword.value = self.visit(keyword.value)
        if self._is_type_test(node):
            node.args = [self.visit(node.args[0]), self._visit_types(node.args[1])]
        else:
            self._allow_views(node)
            node.args = [self.visit(argument) for argument in node.args]
        return node

    def _allow_views(self, node: ast.Call) -> None:
        function = node.func.id if isinstance(node.func, ast.Name) and node.func.id not in self.survey.bound else ""
        if function in _EACH or (function in _CONSUMERS and len(node.args) == 1):  # max(a, b) returns a or b itself
            for argument in node.args:
                self.allow_view(argument)

    def _check_keyword(self, call: ast.Call, keyword: ast.keyword) -> None:
        name = keyword.arg
        if name is None:
            self.refuse(keyword.value, "keyword", "`**` in a call is not allowed: name the arguments")
        if self._takes_any_keyword(call.func):
            self.check_name(keyword.value, name)
        elif name == "dtype":
            self._check_dtype(keyword.value)
        elif name == "where":
            reduction = isinstance(call.func, ast.Attribute) and call.func.attr in allow.REDUCTIONS
            if not reduction:
                self.refuse(keyword.value, "keyword", "`where=` leaves results undefined: use np.where(mask, a, b)")
        elif name not in allow.KEYWORDS:
            instead = "leave it out" if name in allow.UNSAFE_KEYWORDS else "give it by position, or leave it out"
            self.refuse(keyword.value, "keyword", f"the keyword argument `{name}=` is not available here: {instead}")

    def _takes_any_keyword(self, function: ast.expr) -> bool:
        """Functions of the program; `dict(a=1)` and `d.update(a=1)`, where the names are data."""
        if self.survey.is_own_function(function):
            return True
        if isinstance(function, ast.Attribute):
            return function.attr == "update"
        return isinstance(function, ast.Name) and function.id == "dict" and "dict" not in self.survey.bound

    def _check_astype(self, node: ast.Call) -> None:
        keywords = sorted(keyword.arg or "**" for keyword in node.keywords if keyword.arg != "copy")
        if len(node.args) == 1 and not keywords and not isinstance(node.args[0], ast.Starred):
            self._check_dtype(node.args[0])
        elif node.args or keywords != ["dtype"]:
            self.refuse(node, "dtype", "`.astype` takes one type: write x.astype(float)")

    def _check_dtype(self, node: ast.expr) -> None:
        if isinstance(node, ast.Name) and node.id in {"float", "int", "bool"} and node.id not in self.survey.bound:
            return
        if isinstance(node, ast.Constant) and node.value in allow.DTYPES:
            return
        if isinstance(node, ast.Attribute) and node.attr in allow.DTYPES and "np" in self.survey.modules_of(node.value):
            return
        self.refuse(node, "dtype", f"`{shown(node)}` cannot be an array type: name it, float, int, bool or np.float64")

    def _is_type_test(self, node: ast.Call) -> bool:
        named = isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        return named and len(node.args) == 2 and "isinstance" not in self.survey.bound

    def _visit_types(self, node: ast.expr) -> ast.expr:
        """`np.ndarray` makes arrays of raw memory when called, so it may be named only here, where it is not."""
        if isinstance(node, ast.Tuple):
            node.elts = [self._visit_types(element) for element in node.elts]
            return node
        if isinstance(node, ast.Attribute) and node.attr == "ndarray" and self.survey.modules_of(node.value) == {"np"}:
            return node
        return self.visit(node)  # type: ignore[no-any-return]

    # -- sets: their order depends on addresses and on what is in them, so none is ever made

    def visit_Set(self, node: ast.Set) -> NoReturn:
        self.refuse(node, "set", _SET)

    def visit_SetComp(self, node: ast.SetComp) -> NoReturn:
        self.refuse(node, "set", _SET)

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        """`x in {1, 2}` tests only; nothing can reach the set."""
        node.left = self.visit(node.left)
        node.comparators = [
            self._visit_tested(right) if isinstance(operator, (ast.In, ast.NotIn)) else self.visit(right)
            for operator, right in zip(node.ops, node.comparators, strict=True)
        ]
        return node

    def _visit_tested(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Set) and all(map(_is_constant, node.elts)):
            node.elts = [self.visit(element) for element in node.elts]
            return node
        self.allow_view(node)
        return self.visit(node)  # type: ignore[no-any-return]

    def allow_view(self, node: ast.expr) -> None:
        """Let `d.keys()` or `d.items()` stand here, where they are only read: elsewhere, `d.keys() | other` makes a set."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
            self.views.add(id(node.func))

    def visit_Starred(self, node: ast.Starred) -> ast.Starred:
        self.allow_view(node.value)
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    # -- constants and text

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, (bytes, complex)):
            self.refuse(node, "constant", f"a {type(node.value).__name__} constant is not allowed: use real numbers")
        if isinstance(node.value, str):
            if len(node.value) > _MAX_STRING:
                self.refuse(node, "constant", f"a text has more than {_MAX_STRING} characters: write a shorter one")
            if not node.value.replace("\n", " ").replace("\t", " ").isprintable():
                self.refuse(node, "constant", "a text with unseen characters is not allowed: delete them")
            if not set("%{}").isdisjoint(node.value):
                self.refuse(
                    node, "format", "a text with %, { or } may stand only in `raise` or after `assert`: delete it"
                )
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> NoReturn:
        self.refuse(node, "format", _F_STRING)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> NoReturn:
        self.refuse(node, "format", _F_STRING)

    def visit_told(self, node: ast.expr) -> ast.expr:
        """Visit an expression whose text goes to people only, so that it may be formatted."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node
        if isinstance(node, ast.JoinedStr):
            for value in node.values:
                if isinstance(value, ast.FormattedValue):
                    self._visit_formatted(value)
            return node
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            node.left, node.right = self.visit_told(node.left), self.visit_told(node.right)
            return node
        if _is_formatting(node):
            self.refuse(node, "format", 'text is formatted only by an f-string: write raise ValueError(f"bad {x}")')
        return self.visit(node)  # type: ignore[no-any-return]

    def _visit_formatted(self, node: ast.FormattedValue) -> None:
        spec = node.format_spec
        if isinstance(spec, ast.JoinedStr):
            texts = [part.value for part in spec.values if isinstance(part, ast.Constant)]
            if len(texts) < len(spec.values) or len("".join(map(str, texts))) > _MAX_SPEC:
                self.refuse(node, "format", "a format must be short and constant: write {x:.2f} or {x}")
        node.value = self.visit(node.value)
