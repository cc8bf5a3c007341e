"""What names a program binds, found before the rules are applied.

Defends against: a name that the rules read one way and another layer another way. A name of a module means that module
wherever it stands, and what counts as a function of the program can be nothing else.

Does not defend against: any other name whose value is another than it seems, since scopes are not told apart. The rules
allow on such a name only what is harmless on every object.

The rules need to know whether a name that a program reads can exist at all, and which of its names stand for `math` or
numpy. A name counts as bound wherever it is bound: a wrong guess about any other name only changes a message, since the
restricted globals decide what exists when the program runs. The rules refuse a program that binds a name of a module to
anything else, or that uses a module otherwise than left of a dot.
"""

import ast
from collections import Counter
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
        modules: for each name that stands for a module, the modules it may stand for.
        bindings: how often each name is bound.
        functions: how often each name is bound to a function of the program.
    """

    bound: set[str] = field(default_factory=set)
    modules: dict[str, set[str]] = field(default_factory=lambda: {"math": {"math"}, "np": {"np"}})
    bindings: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, tree: ast.Module) -> "Survey":
        """Look over a whole program."""
        survey = cls()
        for node in ast.walk(tree):
            survey._note(node)
        return survey

    def _note(self, node: ast.AST) -> None:
        for name in names_bound(node):
            self.bound.add(name)
            self.bindings[name] += 1
        if isinstance(node, ast.FunctionDef):
            self.functions[node.name] += 1
        elif isinstance(node, ast.Assign):
            self._note_alias(node)
        for name, module in modules_imported(node):
            self._bind_module(name, module)

    def _note_alias(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Lambda):
            self.functions.update(target.id for target in node.targets if isinstance(target, ast.Name))
        module = dotted(node.value)
        if module in FACADES:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._bind_module(target.id, module)

    def _bind_module(self, name: str, module: str) -> None:
        self.bound.add(name)
        self.modules.setdefault(name, set()).add(module)

    def is_own_function(self, node: ast.expr) -> bool:
        """Whether an expression is a name that can only be a function of the program."""
        return isinstance(node, ast.Name) and 0 < self.bindings[node.id] == self.functions[node.id]

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


def names_bound(node: ast.AST) -> list[str]:
    """The names that this node alone binds, modules left out."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, (ast.FunctionDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        modules = {name for name, _ in modules_imported(node)}
        return [name for name in (alias.asname or alias.name for alias in node.names) if name not in modules]
    return []


def modules_imported(node: ast.AST) -> list[tuple[str, str]]:
    """The names that an import binds to modules, with these."""
    if isinstance(node, ast.Import):
        return [(alias.asname or alias.name, MODULES[alias.name]) for alias in node.names if alias.name in MODULES]
    if isinstance(node, ast.ImportFrom) and node.module == "numpy":
        return [(alias.asname or alias.name, "np.linalg") for alias in node.names if alias.name == "linalg"]
    return []
