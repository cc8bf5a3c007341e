"""Which names may be read before they are bound? The proposer refuses a child that has more of them than its parent."""

import ast
import builtins

from evolve.trees import walk

_ALWAYS = frozenset(dir(builtins)) | {"math", "np"}


def unbound_names(tree: ast.Module, function: ast.FunctionDef) -> set[str]:
    """Names that some path through `function` may read unbound."""
    bound = set(_ALWAYS) | {argument.arg for argument in walk(function.args) if isinstance(argument, ast.arg)}
    for statement in tree.body:
        bound |= _stored(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign)) else set()
        bound |= {statement.name} if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else set()
    missing: set[str] = set()
    _block(function.body, bound, missing)
    return missing


def _block(block: list[ast.stmt], bound: set[str], missing: set[str]) -> set[str] | None:
    """Names bound after a block; None if its end is never reached."""
    for statement in block:
        if isinstance(statement, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            missing |= _read(statement) - bound
            return None
        if isinstance(statement, ast.If):
            missing |= _read(statement.test) - bound
            branches = (statement.body, statement.orelse)
            ends = [end for branch in branches if (end := _block(branch, set(bound), missing)) is not None]
            if not ends:
                return None
            bound = ends[0] if len(ends) == 1 else ends[0] & ends[1]
        elif isinstance(statement, (ast.For, ast.While)):
            head = statement.iter if isinstance(statement, ast.For) else statement.test
            missing |= _read(head) - bound
            inner = bound | (_stored(statement.target) if isinstance(statement, ast.For) else set())
            _block(statement.body, inner, missing)
            _block(statement.orelse, set(bound), missing)
        else:
            missing |= (
                _read(statement) - bound - (set() if isinstance(statement, ast.Assign) else _stored_inside(statement))
            )
            bound = bound | _stored(statement)
    return bound


def _stored(node: ast.AST) -> set[str]:
    names = {child.id for child in walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)}
    return names | {child.name for child in walk(node) if isinstance(child, ast.FunctionDef)}


def _stored_inside(statement: ast.stmt) -> set[str]:
    """What a compound statement binds on its own way (`with`, `try`, `match`): taken to be bound where it is read."""
    return set() if isinstance(statement, ast.AugAssign) else _stored(statement)


def _read(node: ast.AST) -> set[str]:
    """Names that a node reads from outside: not the variables of its own comprehensions and functions."""
    own: set[str] = set()
    for child in walk(node):
        if isinstance(child, ast.comprehension):
            own |= _stored(child.target)
        elif isinstance(child, ast.arg):
            own.add(child.arg)
        elif isinstance(child, ast.NamedExpr):
            own |= _stored(child.target)
    read = {child.id for child in walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)}
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        read.add(node.target.id)
    return read - own
