"""Saying the same with less: statements that nothing reads, variables that repeat others, parameters that are one.

Expressions are the business of `evolve.proposers.genetic.algebra`.
"""

import ast

from evolve.proposers.genetic.algebra import Algebra
from evolve.proposers.genetic.copies import substitute_copies
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.facts import Env
from evolve.proposers.genetic.merge import merge_parameters
from evolve.proposers.genetic.nodes import names_in
from evolve.proposers.genetic.sites import places
from evolve.trees import walk

PURE_CALLS = frozenset(
    {"min", "max", "abs", "float", "int", "bool", "round", "len", "sum", "range", "enumerate", "zip"}
)
"""Builtins that a statement may call and still be dropped when nothing reads its result."""

_WRITING_METHODS = frozenset(
    {"append", "sort", "fill", "pop", "extend", "insert", "remove", "clear", "update", "reverse"}
)

ROUNDS = 6
"""Most passes over a program; each may open something for the next."""


def simplify_draft(draft: Draft) -> bool:
    """Simplify the entry function until nothing changes; values stay as they are at the parameters' defaults.

    Returns:
        Whether there was anything to simplify.
    """
    changed = False
    for _ in range(ROUNDS):
        algebra = Algebra()
        for where in places(draft):
            _simplify_statement(where.statement, algebra, where.env)
        tidier = _Tidier()
        draft.function.body = tidier.block(draft.function.body)
        again = algebra.changed | tidier.changed | substitute_copies(draft)
        again |= _drop_unread(draft.function) | merge_parameters(draft)
        changed |= again
        if not again:
            break
    return changed


def _simplify_statement(statement: ast.stmt, algebra: Algebra, env: Env) -> None:
    if isinstance(statement, ast.If):
        statement.test = algebra.simplified(statement.test, env)
    elif isinstance(statement, (ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign)) and statement.value is not None:
        statement.value = algebra.simplified(statement.value, env)


class _Tidier:
    """Drops statements that are never reached and conditions that decide nothing."""

    def __init__(self) -> None:
        self.changed = False

    def block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """What is left of a block; may be empty."""
        kept: list[ast.stmt] = []
        for statement in block:
            parts = self._statement(statement)
            self.changed |= len(parts) != 1 or parts[0] is not statement
            for part in parts:
                kept.append(part)
                if isinstance(part, ast.Return):
                    self.changed |= len(kept) < len(block)
                    return self._without_last_choice(kept)
        return kept

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        if isinstance(statement, ast.For):
            statement.body = self.block(statement.body)
            return [statement] if statement.body else []
        if not isinstance(statement, ast.If):
            return [] if isinstance(statement, ast.Pass) else [statement]
        statement.body, statement.orelse = self.block(statement.body), self.block(statement.orelse)
        if isinstance(statement.test, ast.Constant):
            return statement.body if statement.test.value else statement.orelse
        if [ast.dump(node) for node in statement.body] == [ast.dump(node) for node in statement.orelse]:
            return statement.body
        if not statement.body:
            self.changed = True
            statement.test, statement.body, statement.orelse = _opposite(statement.test), statement.orelse, []
        return [statement]

    def _without_last_choice(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """`if c: return x` right before `return x` decides nothing."""
        while len(block) > 1:
            last, before = block[-1], block[-2]
            if not (isinstance(before, ast.If) and not before.orelse and len(before.body) == 1):
                break
            if ast.dump(before.body[0]) != ast.dump(last):
                break
            self.changed = True
            del block[-2]
        return block


def _opposite(test: ast.expr) -> ast.expr:
    return (
        test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(ast.Not(), test)
    )


def _drop_unread(function: ast.FunctionDef) -> bool:
    """Drop assignments to names that nothing reads."""
    read = set(names_in(function))
    body, count = _dropped(function.body, read)
    function.body = body
    return count > 0


def _dropped(block: list[ast.stmt], read: set[str]) -> tuple[list[ast.stmt], int]:
    kept: list[ast.stmt] = []
    count = 0
    for statement in block:
        if isinstance(statement, (ast.If, ast.For)):
            statement.body, inner = _dropped(statement.body, read)
            statement.orelse, other = _dropped(statement.orelse, read)
            count += inner + other
            if not statement.body and not statement.orelse and _pure(statement):
                count += 1
                continue
            statement.body = statement.body or [ast.Pass()]
        elif _is_unread(statement, read):
            count += 1
            continue
        kept.append(statement)
    return kept, count


def _is_unread(statement: ast.stmt, read: set[str]) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or not _pure(statement):
        return False
    return all(isinstance(target, ast.Name) and target.id not in read for target in targets)


def _pure(statement: ast.stmt) -> bool:
    """Whether a statement does nothing but bind names: what it calls is known to change nothing."""
    for node in walk(statement):
        if isinstance(node, ast.NamedExpr):
            return False
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id not in PURE_CALLS:
                return False
            if isinstance(node.func, ast.Attribute) and node.func.attr in _WRITING_METHODS:
                return False
    return True
