"""Properties: whatever text or tree comes, the check ends in acceptance or a refusal, and rules do not contradict."""

import ast
import json
import string
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox import Block, Field, Layout, Output, ParameterField, Refused, Status, check_program, check_text
from sandbox.frames import printable
from sandbox.rows import decode
from sandbox.rules import Rules
from sandbox.survey import Survey
from sandbox.validation import Validator
from sandbox.values import layout_from_json, layout_to_json

LAYOUT = Layout(entry="f", fields=(Field(name="x"),))
NAMES = st.sampled_from(
    ["x", "f", "np", "math", "abs", "sum", "__class__", "os", "_a", "eval", "print", "sqrt", "zeros"]
)


def outcome(source: str) -> str | None:
    try:
        check_program(source, LAYOUT)
    except Refused as refusal:
        found = refusal
    else:
        return None
    assert found.message
    assert found.line is None or found.line >= 0
    return found.rule


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_text(source: str) -> None:
    outcome(source)


@given(st.text(alphabet=string.printable + "é≥\u202e", max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_printable_body(text: str) -> None:
    outcome(f"def f(x):\n    return {text}\n")


TOKENS = """
def f ( x ) : return if else for in while lambda not and or is [ ] { } , . ; = == + - * / // % ** @ < > & | ^ ~ := ->
1 2.5 0 'a' f'{x}' b'' np math sum abs __class__ yield await async global nonlocal class with try except finally raise
from import assert del pass break continue match case _ * ** ... None True
""".split()  # noqa: SIM905


@given(st.lists(st.sampled_from([*TOKENS, "\n", "\n    ", "\n        "]), max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_tokens(tokens: list[str]) -> None:
    outcome("def f(x):\n    return 1\n" + " ".join(tokens))


def expressions() -> st.SearchStrategy[ast.expr]:
    leaves = st.one_of(
        st.builds(lambda n: ast.Name(n, ast.Load()), NAMES),
        st.builds(ast.Constant, st.one_of(st.integers(-5, 5), st.floats(0, 9), st.text("ab%{", max_size=3), st.none())),
    )

    def extend(inner: st.SearchStrategy[ast.expr]) -> st.SearchStrategy[ast.expr]:
        return st.one_of(
            st.builds(lambda a, b: ast.BinOp(a, ast.Add(), b), inner, inner),
            st.builds(lambda a, n: ast.Attribute(a, n, ast.Load()), inner, NAMES),
            st.builds(lambda a, b: ast.Call(a, b, []), inner, st.lists(inner, max_size=2)),
            st.builds(lambda a, b: ast.Subscript(a, b, ast.Load()), inner, inner),
            st.builds(ast.IfExp, inner, inner, inner),
            st.builds(ast.Await, inner),
            st.builds(ast.Yield, inner),
            st.builds(lambda a: ast.JoinedStr([ast.FormattedValue(a, -1, None)]), inner),
            st.builds(lambda a: ast.List(a, ast.Load()), st.lists(inner, max_size=3)),
            st.builds(lambda a: ast.Lambda(ast.arguments([], [], None, [], [], None, []), a), inner),
            st.builds(lambda n, a: ast.NamedExpr(ast.Name(n, ast.Store()), a), NAMES, inner),
            st.builds(lambda a: ast.Starred(a, ast.Load()), inner),
            st.builds(
                lambda a, b: ast.GeneratorExp(a, [ast.comprehension(ast.Name("x", ast.Store()), b, [], 0)]),
                inner,
                inner,
            ),
        )

    return st.recursive(leaves, extend, max_leaves=12)


def statements() -> st.SearchStrategy[ast.stmt]:
    simple = st.one_of(
        st.builds(ast.Expr, expressions()),
        st.builds(ast.Return, expressions()),
        st.builds(lambda n, e: ast.Assign([ast.Name(n, ast.Store())], e), NAMES, expressions()),
        st.builds(
            lambda a, n, e: ast.Assign([ast.Attribute(a, n, ast.Store())], e), expressions(), NAMES, expressions()
        ),
        st.builds(lambda e: ast.Raise(e, None), expressions()),
        st.builds(lambda e: ast.Delete([ast.Subscript(e, ast.Constant(0), ast.Del())]), expressions()),
        st.builds(lambda n: ast.Import([ast.alias(n, None)]), NAMES),
        st.builds(lambda n: ast.Global([n]), NAMES),
    )
    return st.one_of(
        simple,
        st.builds(lambda e, b: ast.While(e, b, []), expressions(), st.lists(simple, min_size=1, max_size=2)),
        st.builds(
            lambda e, b: ast.With([ast.withitem(e, None)], b), expressions(), st.lists(simple, min_size=1, max_size=2)
        ),
        st.builds(lambda n, b: ast.ClassDef(n, [], [], b, []), NAMES, st.lists(simple, min_size=1, max_size=2)),
    )


@given(st.lists(statements(), min_size=1, max_size=3))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_tree(body: list[ast.stmt]) -> None:
    """Trees that no text need ever have: the rules refuse or accept, and never fail."""
    arguments = ast.arguments([], [ast.arg("x", None)], None, [], [], None, [])
    function = ast.FunctionDef("f", arguments, body, [], None)
    tree = ast.fix_missing_locations(ast.Module([function], []))
    try:
        Rules(Survey.of(tree)).visit_Module(tree)
    except Refused:
        return
    for node in ast.walk(tree):
        assert not isinstance(
            node, (ast.ClassDef, ast.With, ast.Global, ast.Await, ast.Yield, ast.Import, ast.JoinedStr)
        )
        assert not (isinstance(node, ast.Attribute) and node.attr.startswith("_"))
        assert not (isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load))
        assert not (isinstance(node, ast.Name) and node.id.startswith("__"))


@given(st.text(max_size=500))
@settings(max_examples=200, deadline=None)
def test_the_check_of_texts_is_deterministic(source: str) -> None:
    def look() -> Any:
        try:
            return check_text(source)
        except Refused as refusal:
            return str(refusal)

    assert look() == look()


@given(st.text(max_size=2000))
@settings(max_examples=300, deadline=None)
def test_printable_text_is_one_short_quoted_line_of_ascii(text: str) -> None:
    shown = printable(text)
    assert shown.isascii()
    assert shown.isprintable()
    assert shown.startswith('"')
    assert shown.endswith('"')
    assert len(shown) < 6000


@given(
    st.fixed_dictionaries(
        {
            "dtype": st.sampled_from(["float", "int", "bool"]),
            "bounds": st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)),
            "clip": st.booleans(),
            "shape": st.sampled_from([(), (2,), (2, 3)]),
        }
    ),
    st.binary(min_size=24 * 8, max_size=24 * 8),
    st.binary(min_size=4, max_size=4),
    st.text(max_size=20),
)
@settings(max_examples=400, deadline=None)
def test_whatever_bytes_come_back_the_caller_gets_numbers_in_range(
    given_output: dict[str, Any], data: bytes, statuses: bytes, text: str
) -> None:
    bounds = given_output.pop("bounds")
    try:
        output = Output(low=min(bounds), high=max(bounds), **given_output)
    except ValueError:
        return
    dtype, shape = output.dtype, output.shape
    kind = {"float": np.float64, "int": np.int64, "bool": np.bool_}[dtype]
    actions = np.resize(np.frombuffer(data, np.uint8).view(kind), (4, *shape)).copy()
    validator = Validator(output)
    if validator.accepts(actions):
        return
    block: Block = validator.mended(actions, np.frombuffer(statuses, np.uint8).copy(), None, None, text)
    assert set(block.status.tolist()) <= {int(status) for status in Status}
    assert np.isfinite(block.actions.astype(float)).all()
    if output.dtype == "bool":
        assert block.actions.view(np.uint8).max() <= 1
    else:
        assert (block.actions >= validator.low).all()
        assert (block.actions <= validator.high).all()
    assert (block.error is None) == (not block.status.any())


PARAMETERS = st.lists(
    st.one_of(
        st.builds(lambda size: {"kind": "real", "size": size}, st.one_of(st.none(), st.integers(1, 4))),
        st.builds(lambda size: {"kind": "integer", "size": size}, st.one_of(st.none(), st.integers(1, 4))),
        st.builds(
            lambda choices: {"kind": "choice", "choices": tuple(choices)},
            st.lists(st.text("abc", min_size=1), min_size=1, max_size=3),
        ),
    ),
    max_size=5,
)


@given(PARAMETERS, st.data())
@settings(max_examples=200, deadline=None)
def test_parameters_decode_to_what_they_are(kinds: list[dict[str, Any]], data: st.DataObject) -> None:
    parameters = [ParameterField(name=f"p{place}", **kind) for place, kind in enumerate(kinds)]
    columns: list[float] = []
    for parameter in parameters:
        top = len(parameter.choices) - 1 if parameter.kind == "choice" else 1000
        columns += [float(data.draw(st.integers(0, top))) for _ in range(parameter.width)]
    (values,) = decode(np.array([columns]).reshape(1, -1), parameters)
    place = 0
    for parameter in parameters:
        value, raw = values[parameter.name], columns[place : place + parameter.width]
        place += parameter.width
        if parameter.kind == "choice":
            assert value == parameter.choices[int(raw[0])]
        elif parameter.size is None:
            assert value == raw[0]
            assert type(value) is (int if parameter.kind == "integer" else float)
        else:
            assert value == tuple(raw)


@given(
    st.lists(st.sampled_from([(), (3,), (None,), (2, None)]), max_size=4),
    st.integers(0, 3),
    st.sampled_from(["float", "int", "bool"]),
    st.tuples(st.floats(-1e9, 0), st.floats(0, 1e9) | st.just(float("inf"))),
)
def test_layouts_survive_the_way_to_the_child(
    shapes: list[Any], memory: int, dtype: Any, bounds: tuple[float, float]
) -> None:
    layout = Layout(
        entry="f",
        fields=tuple(Field(name=f"a{i}", shape=shape, dtype=dtype) for i, shape in enumerate(shapes)),
        parameters=(ParameterField(name="p", kind="choice", choices=("a", "b")), ParameterField(name="q", size=2)),
        output=Output(dtype=dtype, low=min(bounds), high=max(bounds)),
        memory=memory,
    )
    assert layout_from_json(json.loads(json.dumps(layout_to_json(layout)))) == layout
