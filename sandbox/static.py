"""The static layer: decides from the syntax tree alone whether a program may run.

Defends against: everything a program could do through the language and its libraries that is not arithmetic on what it
is given. It consists of `sandbox.text` (before parsing), `sandbox.expressions` and `sandbox.rules` (the tree) and
`sandbox.allow` (the names). An accepted program runs without imports and annotations, else as it is (but see
`sandbox.endings`), so the layer costs nothing per call.

Does not defend against: endless loops, large memory, deep recursion (the process's limits do) and flaws of CPython or
numpy behind allowed names (the operating-system layer does).

The rules are a subclass of RestrictedPython's transformer, which refuses every node that it does not know: a new Python
with new syntax opens nothing. Its rewriting for guards at run time is replaced by rules that decide here.
"""

import ast

from sandbox.errors import Refused
from sandbox.rules import Rules
from sandbox.survey import Survey
from sandbox.text import MAX_CODE_BYTES, check_text, check_tree_size
from sandbox.values import Layout


def check_program(source: str, layout: Layout) -> None:
    """Apply the whole static layer, for an early refusal in the caller's process. Nothing of the program runs.

    Args:
        source: the text, from anywhere.
        layout: the signature it must have.

    Raises:
        Refused: naming the line, the rule and what to write instead.
    """
    restrict(source, layout)


def restrict(source: str, layout: Layout) -> ast.Module:
    """Check a program and return its tree, ready to compile: without imports and annotations.

    Raises:
        Refused: naming the line, the rule and what to write instead.
    """
    if check_text(source) > MAX_CODE_BYTES:
        raise Refused(f"the program has more than {MAX_CODE_BYTES} bytes of code: write a shorter rule", rule="size")
    tree = parse(source)
    check_tree_size(tree)
    rules = Rules(Survey.of(tree))
    try:
        tree = rules.visit_Module(tree)
    except RecursionError:
        raise Refused("the program is nested too deep: split it into steps", rule="size") from None
    check_signature(tree, layout)
    for parameter in layout.parameters:
        for choice in parameter.choices:  # a program sees it like a constant, so "%s" is none here either
            rules.visit_Constant(ast.Constant(choice))
    return tree


def parse(source: str) -> ast.Module:
    """Parse checked text; whatever the parser raises is a refusal.

    Raises:
        Refused: of rule `syntax`.
    """
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise Refused(f"not valid Python: {error.msg}", rule="syntax", line=error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"not readable as Python ({type(error).__name__})", rule="syntax") from None


def check_signature(tree: ast.Module, layout: Layout) -> None:
    """Check that the entry function takes what the layout says.

    Raises:
        Refused: of rule `signature`.
    """
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == layout.entry]
    keywords = [parameter.name for parameter in layout.parameters]
    wanted = f"def {layout.entry}({', '.join([*layout.positional, *(['*', *keywords] if keywords else [])])}):"
    if not found:
        raise Refused(f"no top-level function `{layout.entry}`: write `{wanted}`", rule="signature")
    entry = found[-1]
    arguments = entry.args
    positional = tuple(argument.arg for argument in (*arguments.posonlyargs, *arguments.args))
    if arguments.vararg or positional != layout.positional or arguments.defaults:
        raise Refused(f"positional arguments differ: write `{wanted}`", rule="signature", line=entry.lineno)
    if sorted(argument.arg for argument in arguments.kwonlyargs) != sorted(keywords):
        raise Refused(f"keyword-only arguments differ: write `{wanted}`", rule="signature", line=entry.lineno)
