"""Variables that only repeat something: another variable, a number, or what another variable holds already."""

import ast
from collections import Counter

from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.nodes import clone, name, names_in, value_of
from evolve.proposers.genetic.sites import places
from evolve.trees import walk


def substitute_copies(draft: Draft) -> bool:
    """Read the original instead of its copy. The copies' own assignments are dropped later, as nothing reads them.

    Returns:
        Whether there were copies that something read.
    """
    changed = False
    stores = Counter(
        node.id for node in walk(draft.function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    held: dict[str, str] = {}  # text of a value: the first variable that holds it
    for where in places(draft):
        statement = where.statement
        if not isinstance(statement, ast.Assign) or where.loops:
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or stores[target.id] > 1 or target.id in draft.signature.positional:
            continue
        if any(stores[read] > 1 or _is_rebound(read, draft, stores) for read in names_in(statement.value)):
            continue
        text = ast.dump(statement.value)
        original = held.get(text)
        if isinstance(statement.value, ast.Name) or value_of(statement.value) is not None:
            changed |= _substitute(draft.function, target.id, statement.value)
        elif original is not None and original in where.env:
            changed |= _substitute(draft.function, target.id, name(original))
        else:
            held.setdefault(text, target.id)
    return changed


def _is_rebound(read: str, draft: Draft, stores: Counter[str]) -> bool:
    """Whether an argument, a parameter or a constant is assigned to somewhere, and so may differ at another place."""
    return bool(stores[read]) and (read in draft.signature.positional or read in draft.parameters)


def _substitute(function: ast.FunctionDef, gone: str, value: ast.expr) -> bool:
    """Put a value in every place that reads a name."""
    changed = False
    for node in list(walk(function)):
        for field, child in list(node.__dict__.items()):
            if _reads(child, gone):
                setattr(node, field, clone(value))
                changed = True
            elif type(child) is list and any(_reads(item, gone) for item in child):
                child[:] = [clone(value) if _reads(item, gone) else item for item in child]
                changed = True
    return changed


def _reads(node: object, known: str) -> bool:
    return isinstance(node, ast.Name) and node.id == known and isinstance(node.ctx, ast.Load)
