"""Which programs may be compiled: an allow list of forms and functions that mean in compiled code what they mean plain.

numba does not check bounds inside its own functions, and it takes some forms otherwise than Python without a word. So a
function is listed here only if numba's implementation of it, read in the version the project pins, neither reads nor
writes outside its arguments for any values, and if its result is Python's or it raises. Everything else runs plain, at a
tenth of the speed and with nothing lost.

Defends against: numba functions that trust their arguments (`take_along_axis`, `bincount`, ufuncs with an `out`, …);
shifts, `~`, `match`, `del` and other forms that differ; `try`, which would catch what the guards raise; functions that
are reached by a second name; whole numbers beyond 64 bits among the constants.

Does not defend against: an error in numba's code for what is listed, or in a newer version of it; the lock-down does.
What depends on types is looked at in `sandbox.typed`, what depends on values in `sandbox.guards`.
"""

import ast
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np

from sandbox import allow, facade
from sandbox.assignment import check_function
from sandbox.compiled import CompileFailed
from sandbox.survey import FACADES, Survey, dotted

_LARGE = 2**62
"""Whole numbers up to here can be compiled as such; numba makes others unsigned, and these mix into floats."""

_FORMS = (
    ast.FunctionDef, ast.Lambda, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.For, ast.While,
    ast.If, ast.Raise, ast.Assert, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp,
    ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.Compare,
    ast.Call, ast.keyword, ast.Constant, ast.Attribute, ast.Subscript, ast.Name, ast.List, ast.Tuple, ast.Slice,
    ast.Starred, ast.expr_context, ast.boolop, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
    ast.MatMult, ast.BitAnd, ast.BitOr, ast.BitXor, ast.Not, ast.USub, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
    ast.In, ast.NotIn, ast.Is, ast.IsNot,
)  # fmt: skip


def _table(text: str, fewest: int, most: int) -> dict[str, tuple[int, int]]:
    return dict.fromkeys(text.split(), (fewest, most))


_BUILTINS = {
    **_table("abs all any bool enumerate float int len list reversed round sorted sum tuple", 1, 1),
    **_table("min max zip", 1, 8),
    **_table("range", 1, 3),
}
_MATH = {
    **_table(
        """acos acosh asin asinh atan atanh ceil cos cosh degrees erf erfc exp expm1 fabs floor gamma isfinite isinf isnan
        lgamma log log10 log1p log2 radians sin sinh sqrt tan tanh trunc""",
        1,
        1,
    ),
    **_table("atan2 copysign fmod hypot pow", 2, 2),
}
_NUMPY = {
    # elementwise; a further argument would be the output, which numba does not measure
    **_table(
        """abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh cbrt ceil cos cosh
        deg2rad degrees exp exp2 expm1 fabs floor isfinite isinf isnan log log10 log1p log2 logical_not rad2deg radians
        rint sign signbit sin sinh sqrt square tan tanh trunc""",
        1,
        1,
    ),
    **_table(
        """add arctan2 atan2 copysign divide equal fmax fmin greater greater_equal hypot less less_equal logaddexp
        logical_and logical_or logical_xor maximum minimum multiply not_equal power quantile subtract true_divide""",
        2,
        2,
    ),
    # they read every element once, or make an array and fill it
    **_table(
        """all amax amin any argmax argmin argsort array asarray copy count_nonzero cumprod cumsum diff float64 max mean
        median min ones ones_like prod round sort std sum var zeros zeros_like""",
        1,
        1,
    ),
    **_table("arange", 1, 3),
    **_table("dot full full_like", 2, 2),
    **_table("clip linspace where", 3, 3),
    **_table("maximum.accumulate minimum.accumulate", 1, 1),
}
_METHODS = {
    **_table(
        """all any argmax argmin argsort copy cumprod cumsum flatten item max mean min pop prod ravel reverse sort std sum
        var""",
        0,
        0,
    ),
    **_table("append astype dot", 1, 1),
}
_ATTRIBUTES = frozenset({"T", "ndim", "shape", "size"})
_NUMPY_VALUES = frozenset({"e", "euler_gamma", "inf", "nan", "newaxis", "pi"})
_MATH_VALUES = frozenset({"e", "inf", "nan", "pi", "tau"})
_KEYWORDS = {("np", "zeros"): "dtype", ("np", "ones"): "dtype", ("np", "array"): "dtype", ("", "sorted"): "reverse"}


def check(tree: ast.Module, survey: Survey, namespace: Mapping[str, Any]) -> None:
    """Look over a whole program.

    Args:
        tree: as the static layer left it.
        survey: its names.
        namespace: its globals, as its module code left them.

    Raises:
        CompileFailed: naming what keeps it from being compiled.
    """
    _Check(tree, survey, namespace).run()


def number_in_range(value: Any) -> bool:
    """Is a constant one that compiled code can hold as it is?"""
    return not isinstance(value, int) or abs(value) <= _LARGE


class _Check:
    def __init__(self, tree: ast.Module, survey: Survey, namespace: Mapping[str, Any]) -> None:
        self.tree, self.survey, self.namespace = tree, survey, namespace
        self.names: dict[str, tuple[str, str]] = {}
        """Module and member behind each further name of a function."""

    def run(self) -> None:
        self._check_names()
        for name, value in self.namespace.items():
            if type(value) is FunctionType and not _is_constant(
                (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
            ):
                raise CompileFailed(f"`{name}` has a default that compiled code cannot hold")
        for statement in self.tree.body:
            functions = [statement] if isinstance(statement, ast.FunctionDef) else self._lambdas(statement)
            for function in functions:
                check_function(function)
                self._scan(function)

    def _lambdas(self, statement: ast.stmt) -> list[ast.Lambda]:
        found = [node for node in ast.walk(statement) if isinstance(node, ast.Lambda)]
        if found and not (isinstance(statement, ast.Assign) and statement.value is found[0]):
            raise CompileFailed("a function in the midst of an expression is not one of the functions at module level")
        return found[:1]

    # -- names

    def _check_names(self) -> None:
        times: dict[str, int] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                times[node.id] = times.get(node.id, 0) + 1
            elif isinstance(node, ast.arg):
                times[node.arg] = times.get(node.arg, 0) + 1
            elif isinstance(node, ast.FunctionDef):
                times[node.name] = times.get(node.name, 0) + 1
        for name in sorted(times):
            known = name in FACADES | allow.BUILTINS | allow.EXCEPTIONS
            if known or (name in self.survey.modules and times[name] > 1):
                raise CompileFailed(f"`{name}` is bound to something else")
        for name, modules in self.survey.modules.items():
            if len(modules) > 1:
                raise CompileFailed(f"`{name}` may be one of several modules")
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._note_name(statement.targets[0], statement.value, times)

    def _note_name(self, target: ast.expr, value: ast.expr, times: Mapping[str, int]) -> None:
        if isinstance(target, ast.Name) and times[target.id] == 1 and isinstance(value, ast.Attribute):
            member = self._member(value)
            if member is not None:
                self.names[target.id] = member

    def _module(self, node: ast.expr) -> str | None:
        modules = self.survey.modules_of(node)
        return next(iter(modules)) if len(modules) == 1 else None

    def _member(self, node: ast.expr) -> tuple[str, str] | None:
        """Module and name of what an expression stands for, if it is a member of one."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        module = self._module(node.value)
        if module is not None:
            return module, node.attr
        if node.attr == "accumulate":
            of = self._member(node.value)
            return (of[0], f"{of[1]}.accumulate") if of is not None else None
        return None

    # -- forms

    def _scan(self, node: ast.AST) -> None:
        if not isinstance(node, _FORMS):
            raise self._failed(node, f"`{type(node).__name__.lower()}` is not compiled")
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            self._value(node)
        elif isinstance(node, ast.arguments):
            if node.vararg:
                raise self._failed(node.vararg, "`*` in a function's arguments is not compiled")
            return  # defaults are computed when the module is loaded
        elif isinstance(node, ast.Raise):
            return  # the plain loop tells the text
        elif isinstance(node, ast.Assert):
            self._scan(node.test)
        else:
            self._check_form(node)
            for child in ast.iter_child_nodes(node):
                self._scan(child)

    def _check_form(self, node: ast.AST) -> None:
        if isinstance(node, ast.Constant):
            if not number_in_range(node.value) or isinstance(node.value, (bytes, complex)):
                raise self._failed(node, "a constant that compiled code cannot hold")
        elif isinstance(node, ast.Compare):
            for operator, right in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, (ast.Is, ast.IsNot)) and not (
                    isinstance(right, ast.Constant) and right.value is None
                ):
                    raise self._failed(node, "`is` is compiled only with None")
        elif isinstance(node, ast.AugAssign):
            self._check_in_place(node)

    def _check_in_place(self, node: ast.AugAssign) -> None:
        if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)):
            raise self._failed(node, f"`{type(node.op).__name__.lower()}` in place is not compiled")
        if any(isinstance(inner, (ast.Call, ast.NamedExpr)) for inner in ast.walk(node.target)):
            raise self._failed(node, "a call in what is changed in place")

    def _value(self, node: ast.Name | ast.Attribute) -> None:
        """A name or attribute that is not called."""
        member = self._member(node)
        if member is not None:
            module, name = member
            if name not in {"np": _NUMPY_VALUES, "math": _MATH_VALUES}.get(module, frozenset()):
                raise self._failed(node, f"`{name}` is compiled only where it is called")
        elif isinstance(node, ast.Attribute):
            if node.attr not in _ATTRIBUTES:
                raise self._failed(node, f"`.{node.attr}` is not compiled")
            self._scan(node.value)
        elif isinstance(node.ctx, ast.Load):
            self._name(node)

    def _name(self, node: ast.Name) -> None:
        if node.id in self.survey.modules:
            raise self._failed(node, f"the module `{node.id}` as a value is not compiled")
        if node.id in self.survey.bound:
            value = self.namespace.get(node.id)
            if not _is_constant(value) and not (type(value) is FunctionType and value not in facade.CALLABLES):
                raise self._failed(node, f"`{node.id}` is a {type(value).__name__}, which is not compiled")
        elif node.id in allow.BUILTINS:
            raise self._failed(node, f"`{node.id}` is compiled only where it is called")

    # -- calls

    def _call(self, node: ast.Call) -> None:
        if any(isinstance(a, ast.Starred) for a in node.args) or any(keyword.arg is None for keyword in node.keywords):
            raise self._failed(node, "`*` in a call is not compiled")
        member, function = self._member(node.func), node.func
        if member is not None:
            module, name = member
            self._check_call(node, {"np": _NUMPY, "math": _MATH}.get(module, {}), module, name)
        elif isinstance(function, ast.Attribute):
            self._check_call(node, _METHODS, ".", function.attr)
            self._scan(function.value)
            if function.attr == "astype":
                self._check_type(node.args[0], "float", "bool", "int")
                return
        elif not isinstance(function, ast.Name):
            raise self._failed(node, "a call of what an expression gives is not compiled")
        elif function.id in self.survey.bound:
            self._name(function)
            if node.keywords and type(self.namespace.get(function.id)) is not FunctionType:
                raise self._failed(node, "arguments by name for a function inside another are not compiled")
        else:
            self._check_call(node, _BUILTINS, "", function.id)
        self._arguments(node)

    def _arguments(self, node: ast.Call) -> None:
        for argument in node.args:
            self._scan(argument)
        for keyword in node.keywords:
            if keyword.arg == "dtype":
                self._check_type(keyword.value)
            else:
                self._scan(keyword.value)

    def _check_call(self, node: ast.Call, table: Mapping[str, tuple[int, int]], module: str, name: str) -> None:
        shown = f"{module}.{name}".lstrip(".")
        if name not in table:
            raise self._failed(node, f"`{shown}` is not compiled")
        fewest, most = table[name]
        if not fewest <= len(node.args) <= most:
            raise self._failed(node, f"`{shown}` is not compiled with {len(node.args)} arguments by position")
        for keyword in node.keywords:
            if keyword.arg != _KEYWORDS.get((module, name)):
                raise self._failed(node, f"`{shown}` is not compiled with the argument `{keyword.arg}`")

    def _check_type(self, node: ast.expr, *names: str) -> None:
        plain = isinstance(node, ast.Name) and node.id in {*(names or ("float", "bool"))} - self.survey.bound
        if not plain and self._member(node) != ("np", "float64"):
            raise self._failed(node, f"arrays of `{dotted(node)}` are not made in compiled code")

    @staticmethod
    def _failed(node: ast.AST, why: str) -> CompileFailed:
        return CompileFailed(f"line {getattr(node, 'lineno', 0)}: {why}")


def _is_constant(value: Any) -> bool:
    """Is a global one that compiled code holds as it is? None is also what a local name has."""
    if isinstance(value, np.ndarray):
        return value.dtype in (np.float64, np.int64, np.bool_)
    if isinstance(value, (tuple, list)):
        return all(_is_constant(element) for element in value)
    if isinstance(value, np.generic):
        return isinstance(value, (np.float64, np.int64, np.bool_))
    return value is None or (isinstance(value, (bool, int, float, str)) and number_in_range(value))
