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
_MAX_STRING = 200
_MAX_SPEC = 6
_MAX_GUESSED = 40
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


class ExpressionRules(RestrictingNodeTransformer):  # type: ignore[misc]
    """Visits expressions; raises at the first that breaks a rule.

    Args:
        survey: the names of the program.
    """

    def __init__(self, survey: Survey) -> None:
        super().__init__()
        self.survey = survey

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
        return node

    # -- attributes

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        if node.attr == "astype":
            self.refuse(node, "dtype", "`.astype` must be called where it is named: write x.astype(float)")
        node.value = self.visit(node.value)  # first, so that `np.random.rand` is blamed for `random`
        self._check_attribute(node)
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
            if keyword.arg != "dtype":
                keyword.value = self.visit(keyword.value)
        if self._is_type_test(node):
            node.args = [self.visit(node.args[0]), self._visit_types(node.args[1])]
        else:
            node.args = [self.visit(argument) for argument in node.args]
        return node

    def _check_keyword(self, call: ast.Call, keyword: ast.keyword) -> None:
        name = keyword.arg
        if name is None:
            self.refuse(keyword.value, "keyword", "`**` in a call is not allowed: name the arguments")
        if name == "dtype":
            self._check_dtype(keyword.value)
        elif self._takes_any_keyword(call.func):
            self.check_name(keyword.value, name)
        elif name == "where":
            reduction = isinstance(call.func, ast.Attribute) and call.func.attr in allow.REDUCTIONS
            if not reduction:
                self.refuse(keyword.value, "keyword", "`where=` leaves results undefined: use np.where(mask, a, b)")
        elif name not in allow.KEYWORDS and (name not in self.survey.parameters or name in allow.UNSAFE_KEYWORDS):
            own = (
                f"call that argument something else than `{name}`" if name in self.survey.parameters else "leave it out"
            )
            self.refuse(keyword.value, "keyword", f"the keyword argument `{name}=` is not available: {own}")

    def _takes_any_keyword(self, function: ast.expr) -> bool:
        """`dict(a=1)` and `d.update(a=1)`: the names are data."""
        if isinstance(function, ast.Attribute):
            return function.attr == "update"
        return isinstance(function, ast.Name) and function.id == "dict" and "dict" not in self.survey.bound

    def _check_astype(self, node: ast.Call) -> None:
        if (
            len(node.args) != 1
            or isinstance(node.args[0], ast.Starred)
            or {key.arg for key in node.keywords} - {"copy"}
        ):
            self.refuse(node, "dtype", "`.astype` takes one type: write x.astype(float)")
        self._check_dtype(node.args[0])

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
        return self.visit(node)  # type: ignore[no-any-return]

    def _visit_formatted(self, node: ast.FormattedValue) -> None:
        spec = node.format_spec
        if isinstance(spec, ast.JoinedStr):
            texts = [part.value for part in spec.values if isinstance(part, ast.Constant)]
            if len(texts) < len(spec.values) or len("".join(map(str, texts))) > _MAX_SPEC:
                self.refuse(node, "format", "a format must be short and constant: write {x:.2f} or {x}")
        node.value = self.visit(node.value)
