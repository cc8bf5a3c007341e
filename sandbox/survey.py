"""What names a program binds, found before the rules are applied.

The rules need to know whether a name that a program reads can exist at all, and which of its names stand for `math` or
numpy. A name counts as bound wherever it is bound: a wrong guess here only changes a message, since the restricted
globals decide what exists when the program runs.
"""

import ast
from dataclasses import dataclass, field

MODULES = {"math": "math", "numpy": "np"}
"""Modules that are always there, under the name that a program knows them by."""

DROPPED = frozenset({"typing", "__future__", "collections.abc", "numpy.typing"})
"""Imports that only serve annotations, which are stripped."""

FACADES = frozenset({"math", "np", "np.linalg"})


@dataclass
class Survey:
    """Names of one program.

    Args:
        bound: every name that it binds, in any scope.
        parameters: names of all parameters of its functions: they may be keywords in calls.
        modules: for each name that stands for a module, the modules it may stand for.
    """

    bound: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    modules: dict[str, set[str]] = field(default_factory=lambda: {"math": {"math"}, "np": {"np"}})

    @classmethod
    def of(cls, tree: ast.Module) -> "Survey":
        """Look over a whole program."""
        survey = cls()
        for node in ast.walk(tree):
            survey._note(node)
        return survey

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                self.bound.add(node.id)
        elif isinstance(node, ast.arg):
            self.bound.add(node.arg)
            self.parameters.add(node.arg)
        elif isinstance(node, ast.Assign):
            self._note_alias(node)
        elif isinstance(node, (ast.FunctionDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            if node.name:
                self.bound.add(node.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                self._bind_module(alias.asname or alias.name, MODULES.get(alias.name))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                linalg = (node.module, alias.name) == ("numpy", "linalg")
                self._bind_module(alias.asname or alias.name, "np.linalg" if linalg else None)

    def _note_alias(self, node: ast.Assign) -> None:
        module = dotted(node.value)
        if module in FACADES:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._bind_module(target.id, module)

    def _bind_module(self, name: str, module: str | None) -> None:
        self.bound.add(name)
        if module is not None:
            self.modules.setdefault(name, set()).add(module)

    def modules_of(self, node: ast.expr) -> set[str]:
        """The modules that an expression may stand for; empty for anything else."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id, set())
        if isinstance(node, ast.Attribute) and node.attr == "linalg" and "np" in self.modules_of(node.value):
            return {"np.linalg"}
        return set()


def dotted(node: ast.expr) -> str | None:
    """`np.linalg` as text, or None for any other kind of expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        home = dotted(node.value)
        return f"{home}.{node.attr}" if home else None
    return None
