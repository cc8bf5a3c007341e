"""Errors that say something about the process rather than about the program pass every handler.

Defends against: a program that observes how much memory or stack is left, which is state that outlives a row (memory
leaked by one row, in a cycle or by a library, is missing in the next). Every `try` gets a first handler that passes
such errors on. `except Exception` and `except RuntimeError`, which would catch them too, keep their meaning for all
other errors, and the row fails.

Does not defend against: a function of a library that swallows such an error itself; `sandbox.facade` stands before those
that are allowed.
"""

import ast

NAME = "__endings__"
"""Under this name, which a program cannot write, its builtins hold the errors that pass."""

ENDINGS = (MemoryError, RecursionError, SystemError)


class _PassingOn(ast.NodeTransformer):
    def visit_Try(self, node: ast.Try) -> ast.Try:
        self.generic_visit(node)
        first = node.handlers[0]
        again = ast.copy_location(ast.Raise(), first)
        kind = ast.copy_location(ast.Name(NAME, ast.Load()), first)
        node.handlers.insert(0, ast.copy_location(ast.ExceptHandler(type=kind, name=None, body=[again]), first))
        return node


def passing_on(tree: ast.Module) -> ast.Module:
    """A checked program in which no handler catches `ENDINGS`; changes the tree in place.

    The compiled loop reads the same tree. The compiler knows no handler but `except Exception`, so programs that catch
    errors run plain.
    """
    return ast.fix_missing_locations(_PassingOn().visit(tree))  # type: ignore[no-any-return]
