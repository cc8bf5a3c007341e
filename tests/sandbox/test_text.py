"""The first look at a text: characters, declarations, sizes, nesting, chains."""

import pytest

from sandbox import Refused, check_text
from sandbox.text import MAX_BYTES, MAX_DEPTH, check_tree_size

GOOD = [
    "def f(x):\n    return x\n",
    "x = 1\r\ny = 2\r\n",
    "# comment ≥ × – → é 漢字 🙂\nx = 'äöü'\n",
    "# -*- coding: utf-8 -*-\nx = 1\n",
    "x = '''a\nb'''\ny = \"it's\"\nz = r'\\d'\nw = f'{x}'\n",
    "x = 1_000.5e-3 + 0xFF + .5\n",
    "x = {'a': [1, (2, 3)]}\n",
    "x = 1 + \\\n    2\n",
    "x = [" + ", ".join(str(i) for i in range(5000)) + "]\n",
    "x: int = 3; y = x if x else -x\n",
    "if x:\n\tpass\n",
]


@pytest.mark.parametrize("source", GOOD, ids=range(len(GOOD)))
def test_good(source: str) -> None:
    check_text(source)


BAD = [
    ("", "empty"),
    ("  \n\n", "empty"),
    ("x = 1\0", "U\\+0000"),
    ("x = '\u202e'", "U\\+202E"),
    ("# \u200b\n", "U\\+200B"),
    ("\ufeffx = 1", "U\\+FEFF"),
    ("x = 1\x0c", "U\\+000C"),
    ("x = 1\ry = 2", "U\\+000D"),
    ("x = 1\u2028y = 2", "U\\+2028"),
    ("x = '\ud800'", "U\\+D800"),
    ("x = '\ue000'", "U\\+E000"),
    ("x\xad = 1", "U\\+00AD"),
    ("х = 1", "not allowed outside"),
    ("ｅval('1')", "not allowed outside"),
    ("ﬁ = 1", "not allowed outside"),
    ("x = 1 ; é = 2", "not allowed outside"),
    ("x = $y", "not allowed outside"),
    ("x = 'open", "not closed"),
    ("# coding: rot13\nx = 1\n", "encoding declaration"),
    ("#!/usr/bin/python\n# vim: set fileencoding=utf-7 :\nx = 1", "encoding declaration"),
    ("x = 1\n" * 1001, "lines"),
    ("x" * (MAX_BYTES + 1), "bytes"),
    ("'" + "é" * (MAX_BYTES // 2) + "'", "bytes"),
    ("x = " + "1, " * 20_000, "tokens"),
    ("x = " + "[" * 25 + "]" * 25, "nested too deep"),
    ("x = " + "1 + " * 200 + "1", "too long"),
    ("x = " + "not " * 200 + "1", "too long"),
    ("x = " + "lambda: " * 130 + "1", "too long"),
    ("x = a" + "[0]" * 200, "too long"),
    ("x = a" + "()" * 200, "too long"),
    ("x = a" + ".b" * 200, "too long"),
    ("x = " + "1 if 1 else " * 100 + "1", "too long"),
    ("x = " + "'a' " * 200, "too long"),
    ("x = " + "x = " * 200 + "1", "too long"),
    ("x = " + "9" * 41, "characters"),
    ("x = 0x" + "f" * 60, "characters"),
    ("x = )", "no opening"),
    ("".join("  " * i + "if x:\n" for i in range(30)) + "  " * 30 + "pass", "nested too deep"),
    ("if a:\n    pass\n" + "elif b:\n    pass\n" * 70, "elif"),
]


@pytest.mark.parametrize(("source", "message"), BAD, ids=range(len(BAD)))
def test_bad(source: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        check_text(source)


def test_lines_are_named() -> None:
    with pytest.raises(Refused) as caught:
        check_text("x = 1\ny = 2\nz = '\u202e'\n")
    assert caught.value.line == 3


def test_the_length_of_code_leaves_comments_out() -> None:
    assert check_text("x = 1  # " + "a" * 100) == len("x = 1  ")


def test_depth_and_size_of_trees_are_bounded() -> None:
    import ast

    tree: ast.expr = ast.Constant(1)
    for _ in range(MAX_DEPTH + 1):
        tree = ast.UnaryOp(ast.USub(), tree)
    with pytest.raises(Refused, match="nested too deep"):
        check_tree_size(tree)
    with pytest.raises(Refused, match="too large"):
        check_tree_size(ast.List([ast.Constant(1)] * 50_000, ast.Load()))
