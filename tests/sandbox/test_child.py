"""Binding and calling: shapes, parameters, statuses, errors, memory, buffers. One row's failure is its own."""

import math
from typing import Any

import numpy as np
import pytest

from sandbox import ChildFailed, Field, Layout, Limits, Output, ParameterField, Sandbox, Status

NUMBER = Layout(entry="f", fields=(Field(name="x"),), parameters=(ParameterField(name="a"),))


def source(body: str, arguments: str = "x, *, a=1.0") -> str:
    lines = "\n    ".join(body.strip().splitlines())
    return f"def f({arguments}):\n    {lines}\n"


def answers(sandbox: Sandbox, body: str, values: Any, layout: Layout = NUMBER, **more: Any) -> Any:
    """Run one block of single numbers."""
    values = np.asarray(values, dtype=float)
    with sandbox.spawn(source(body), layout, max_rows=max(1, len(values)), **more) as child:
        child.bind(np.ones((1, layout.width)))
        return child.call({"x": values})


@pytest.fixture(params=[False, True], ids=["plain", "compiled"])
def compiled(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


# -- parameters


def test_each_row_gets_its_vector_and_its_instance(sandbox: Sandbox, compiled: bool) -> None:
    layout = Layout(
        entry="f",
        fields=(Field(name="x"), Field(name="y", per="instance"), Field(name="z", per="block")),
        parameters=(ParameterField(name="a"), ParameterField(name="n", kind="integer")),
    )
    text = source("return 1000.0 * x + 100.0 * y + 10.0 * z + a + 0.001 * n", "x, y, z, *, a=1.0, n=1")
    with sandbox.spawn(text, layout, max_rows=6, compiled=compiled) as child:
        child.bind(np.array([[1.0, 5.0], [2.0, 7.0]]), np.array([0, 1, 0, 1]), np.array([2, 2, 0, 1]), 3)
        block = child.call({"x": np.arange(4.0), "y": np.array([1.0, 2.0, 3.0]), "z": np.float64(4.0)})
        assert child.compiled is compiled
    assert block.error is None
    np.testing.assert_allclose(block.actions, [341.005, 1342.007, 2141.005, 3242.007])


def test_kinds_of_parameters(sandbox: Sandbox, compiled: bool) -> None:
    layout = Layout(
        entry="f",
        fields=(Field(name="x"),),
        parameters=(
            ParameterField(name="r"),
            ParameterField(name="i", kind="integer"),
            ParameterField(name="v", size=2),
            ParameterField(name="w", kind="integer", size=3),
            ParameterField(name="c", kind="choice", choices=("low", "high")),
            ParameterField(name="d", kind="choice", choices=(2.5, 7.5)),
            ParameterField(name="e", kind="choice", choices=(False, True)),
        ),
    )
    body = """
base = r + 10 * i + 100 * v[0] + 1000 * v[1] + w[0] + w[1] + w[2]
bonus = 0.5 if c == "high" else 0.25
return base + bonus + d + (100000.0 if e else 0.0)
"""
    text = source(body, "x, *, r=1.0, i=1, v=(1.0, 2.0), w=(1, 2, 3), c='low', d=2.5, e=True")
    with sandbox.spawn(text, layout, max_rows=2, compiled=compiled) as child:
        child.bind(
            np.array([[1.0, 2, 3.0, 4.0, 5, 6, 7, 1, 1, 0], [1.0, 2, 3.0, 4.0, 5, 6, 7, 0, 0, 1]]),
            np.array([0, 1]),
            np.array([0, 0]),
        )
        block = child.call({"x": np.zeros(2)})
        assert child.compiled is compiled, child.note
    np.testing.assert_allclose(block.actions, [4339 + 0.5 + 7.5, 4339 + 0.25 + 2.5 + 100000.0])


def test_vector_parameters_are_tuples_of_python_numbers(sandbox: Sandbox) -> None:
    layout = Layout(
        entry="f", fields=(Field(name="x"),), parameters=(ParameterField(name="v", kind="integer", size=2),)
    )
    body = "assert isinstance(v, tuple) and isinstance(v[0], int)\nreturn float(len(v + (1,)))"
    with sandbox.spawn(source(body, "x, *, v=(1, 2)"), layout, max_rows=1) as child:
        child.bind(np.array([[1.0, 2.0]]))
        block = child.call({"x": np.zeros(1)})
    assert block.error is None
    assert block.actions[0] == 3.0


def test_scalars_are_python_numbers_and_arrays_read_only(sandbox: Sandbox) -> None:
    layout = Layout(
        entry="f",
        fields=(
            Field(name="x"),
            Field(name="n", dtype="int"),
            Field(name="b", dtype="bool"),
            Field(name="y", shape=(2,)),
        ),
    )
    body = """
assert isinstance(x, float) and isinstance(n, int) and not isinstance(n, bool) and isinstance(b, bool)
assert isinstance(y, np.ndarray) and y.shape == (2,)
try:
    y[0] = 1.0
except ValueError:
    return 1.0
return 0.0
"""
    with sandbox.spawn(source(body, "x, n, b, y"), layout, max_rows=1) as child:
        child.bind(np.zeros((1, 0)))
        block = child.call({"x": np.ones(1), "n": np.ones(1, int), "b": np.ones(1, bool), "y": np.ones((1, 2))})
    assert block.error is None
    assert block.actions[0] == 1.0


def test_rows_are_free_where_there_is_one_vector_and_one_instance(sandbox: Sandbox, compiled: bool) -> None:
    with sandbox.spawn(source("return x + a"), NUMBER, max_rows=10, compiled=compiled) as child:
        child.bind(np.array([[5.0]]))
        for rows in (1, 7, 3, 7, 10):
            block = child.call({"x": np.arange(float(rows))})
            np.testing.assert_allclose(block.actions, np.arange(5.0, 5.0 + rows))
        with pytest.raises(ValueError, match="11 rows"):
            child.call({"x": np.zeros(11)})


def test_lengths_that_vary(sandbox: Sandbox, compiled: bool) -> None:
    layout = Layout(
        entry="f",
        fields=(Field(name="x", shape=(None,), per="block"), Field(name="y", shape=(None, 2), per="instance")),
    )
    text = source("return x.sum() + y.sum() + 100.0 * len(x) + 1000.0 * len(y)", "x, y")
    with sandbox.spawn(text, layout, max_rows=4, compiled=compiled) as child:
        child.bind(np.zeros((1, 0)), np.zeros(4, int), np.array([0, 1, 1, 0]), 2)
        for length, width in ((3, 1), (0, 2), (5, 4), (3, 1)):
            y = np.arange(2 * width * 2, dtype=float).reshape(2, width, 2)
            block = child.call({"x": np.ones(length), "y": y})
            expected = [length + y[i].sum() + 100.0 * length + 1000.0 * width for i in (0, 1, 1, 0)]
            np.testing.assert_allclose(block.actions, expected)


def test_lengths_beyond_the_room_say_what_to_raise(sandbox: Sandbox) -> None:
    layout = Layout(entry="f", fields=(Field(name="x", shape=(None,), per="block"),))
    with sandbox.spawn(source("return 1.0", "x"), layout, max_rows=1, variable_bytes=4096) as child:
        child.bind(np.zeros((1, 0)))
        with pytest.raises(ValueError, match="raise variable_bytes"):
            child.call({"x": np.zeros(5000)})
        assert child.call({"x": np.zeros(100)}).error is None


# -- rows that fail


def test_a_failing_row_leaves_the_others_alone(sandbox: Sandbox, compiled: bool) -> None:
    body = 'if x > 2.5 and x < 4.5:\n    raise ValueError(f"no answer to {x:.1f}")\nreturn 10.0 * x'
    block = answers(sandbox, body, np.arange(6.0), compiled=compiled)
    assert block.status.tolist() == [0, 0, 0, Status.RAISED, Status.RAISED, 0]
    np.testing.assert_allclose(block.actions, [0.0, 10.0, 20.0, 0.0, 0.0, 50.0])
    assert block.error == '"ValueError in line 3: no answer to 3.0"'


def test_failures_do_not_stick(sandbox: Sandbox, compiled: bool) -> None:
    with sandbox.spawn(source("return 1.0 / x"), NUMBER, max_rows=3, compiled=compiled) as child:
        child.bind(np.ones((1, 1)))
        first = child.call({"x": np.array([1.0, 0.0, 2.0])})
        second = child.call({"x": np.array([0.0, 4.0, 2.0])})
        third = child.call({"x": np.array([1.0, 4.0, 2.0])})
    assert first.status.tolist() == [0, Status.RAISED, 0]
    assert second.status.tolist() == [Status.RAISED, 0, 0]
    assert third.status.tolist() == [0, 0, 0]
    assert third.error is None


def test_many_failing_rows(sandbox: Sandbox, compiled: bool) -> None:
    values = np.arange(1000.0)
    body = "if x % 2 == 1:\n    raise KeyError\nreturn x"
    block = answers(sandbox, body, values, compiled=compiled)
    assert (block.status == np.where(values % 2 == 1, Status.RAISED, 0)).all()
    np.testing.assert_allclose(block.actions, np.where(values % 2 == 1, 0.0, values))


@pytest.mark.parametrize(
    ("expression", "status", "text"),
    [
        ("'text'", Status.BAD_TYPE, "returned a str, but a number is needed"),
        ("None", Status.BAD_TYPE, "returned a NoneType, but a number is needed"),
        ("x > 0", Status.BAD_TYPE, "returned a bool, but a number is needed"),
        ("(1.0,)", Status.BAD_TYPE, "returned a tuple, but a number is needed"),
        ("[1.0]", Status.BAD_TYPE, "returned a list, but a number is needed"),
        ("{1.0: 2.0}", Status.BAD_TYPE, "returned a dict, but a number is needed"),
        ("f", Status.BAD_TYPE, "returned a function, but a number is needed"),
        ("(-8.0) ** 0.5", Status.BAD_TYPE, "returned a complex, but a number is needed"),
        ("np.ones(2)", Status.WRONG_SHAPE, "returned an array of shape (2,), but a single number is needed"),
        ("np.inf", Status.NOT_FINITE, "returned inf, but a finite number is needed"),
        ("-np.inf", Status.NOT_FINITE, "returned -inf, but a finite number is needed"),
        ("np.nan", Status.NOT_FINITE, "returned nan, but a finite number is needed"),
        ("10 ** 400", Status.NOT_FINITE, "returned a whole number too large for a float"),
    ],
)
def test_answers_that_are_no_numbers(sandbox: Sandbox, expression: str, status: Status, text: str) -> None:
    block = answers(sandbox, f"return {expression}", [1.0])
    assert block.status.tolist() == [status]
    assert block.error is not None
    assert text in block.error


@pytest.mark.parametrize("expression", ["1", "1.0", "np.float64(1)", "np.int64(1)", "np.array(1.0)", "np.float32(1)"])
def test_answers_that_are_numbers(sandbox: Sandbox, expression: str, compiled: bool) -> None:
    block = answers(sandbox, f"return {expression}", [1.0], compiled=compiled)
    assert block.error is None
    assert block.actions.tolist() == [1.0]


def test_range_and_clip(sandbox: Sandbox) -> None:
    refused = Layout(
        entry="f", fields=(Field(name="x"),), parameters=NUMBER.parameters, output=Output(low=0.0, high=2.0)
    )
    clipped = Layout(
        entry="f", fields=(Field(name="x"),), parameters=NUMBER.parameters, output=Output(low=0.0, high=2.0, clip=True)
    )
    body = "return np.nan if x == 9.0 else x"
    values = [-1.0, 0.0, 2.0, 3.0, 9.0]
    strict, lenient = answers(sandbox, body, values, refused), answers(sandbox, body, values, clipped)
    assert strict.status.tolist() == [Status.OUT_OF_RANGE, 0, 0, Status.OUT_OF_RANGE, Status.NOT_FINITE]
    assert strict.error == "returned -1.0, but 0 to 2 is needed"
    assert lenient.status.tolist() == [0, 0, 0, 0, Status.NOT_FINITE]
    assert lenient.actions.tolist() == [0.0, 0.0, 2.0, 2.0, 0.0]


def test_whole_numbers(sandbox: Sandbox, compiled: bool) -> None:
    layout = Layout(
        entry="f", fields=(Field(name="x"),), parameters=NUMBER.parameters, output=Output(dtype="int", low=0)
    )
    block = answers(sandbox, "return x", [1.0, 2.5, -3.0, 4.0], layout, compiled=compiled)
    assert block.actions.dtype == np.int64
    assert block.status.tolist() == [0, Status.BAD_TYPE, Status.OUT_OF_RANGE, 0]
    assert block.actions.tolist() == [1, 0, 0, 4]


def test_whole_numbers_beyond_64_bits(sandbox: Sandbox) -> None:
    layout = Layout(entry="f", fields=(Field(name="x"),), parameters=NUMBER.parameters, output=Output(dtype="int"))
    block = answers(sandbox, "return 2 ** int(x)", [62.0, 63.0, 64.0], layout)
    assert block.status.tolist() == [0, Status.OUT_OF_RANGE, Status.OUT_OF_RANGE]
    assert block.actions[0] == 2**62


def test_truth_values(sandbox: Sandbox, compiled: bool) -> None:
    layout = Layout(entry="f", fields=(Field(name="x"),), parameters=NUMBER.parameters, output=Output(dtype="bool"))
    block = answers(sandbox, "return x > 1.0", [0.0, 2.0], layout, compiled=compiled)
    assert block.actions.dtype == np.bool_
    assert block.actions.tolist() == [False, True]


@pytest.mark.parametrize("expression", ["[x, 2.0, 3.0]", "(x, 2.0, 3.0)", "np.array([x, 2.0, 3.0])"])
def test_answers_that_are_arrays(sandbox: Sandbox, expression: str, compiled: bool) -> None:
    layout = Layout(entry="f", fields=(Field(name="x"),), parameters=NUMBER.parameters, output=Output(shape=(3,)))
    block = answers(sandbox, f"return {expression}", [1.0, 5.0], layout, compiled=compiled)
    assert block.error is None
    assert block.actions.tolist() == [[1.0, 2.0, 3.0], [5.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("expression", "status"),
    [
        ("[x, 2.0]", Status.WRONG_SHAPE),
        ("x", Status.BAD_TYPE),
        ("[[1.0, 2.0], 3.0, 4.0]", Status.WRONG_SHAPE),
        ("['a', 'b', 'c']", Status.BAD_TYPE),
        ("[1.0, np.nan, 2.0]", Status.NOT_FINITE),
        ("[True, False, True]", Status.BAD_TYPE),
    ],
)
def test_answers_that_are_no_such_arrays(sandbox: Sandbox, expression: str, status: Status) -> None:
    layout = Layout(entry="f", fields=(Field(name="x"),), parameters=NUMBER.parameters, output=Output(shape=(3,)))
    block = answers(sandbox, f"return {expression}", [1.0], layout)
    assert block.status.tolist() == [status]


def test_memory_goes_round(sandbox: Sandbox, compiled: bool) -> None:
    layout = Layout(entry="f", fields=(Field(name="x"),), memory=2)
    body = "memory[0] += x\nif x < 0:\n    raise ValueError\nreturn memory[0], [memory[0], memory[1] + 1.0]"
    with sandbox.spawn(source(body, "x, memory"), layout, max_rows=3, compiled=compiled) as child:
        child.bind(np.zeros((1, 0)))
        memory = np.zeros((3, 2))
        for step in (1.0, 2.0):
            block = child.call({"x": np.array([step, 2 * step, -1.0]), "memory": memory})
            memory = block.memory
    assert block.status.tolist() == [0, 0, Status.RAISED]
    assert memory.tolist() == [[3.0, 2.0], [6.0, 2.0], [0.0, 0.0]]
    assert block.actions.tolist() == [3.0, 6.0, 0.0]


@pytest.mark.parametrize("expression", ["x", "(x, memory, 1)", "(x, [1.0])", "(x, [1.0, np.nan])", "(x, None)"])
def test_memory_that_makes_no_sense(sandbox: Sandbox, expression: str, compiled: bool) -> None:
    layout = Layout(entry="f", fields=(Field(name="x"),), memory=2)
    with sandbox.spawn(source(f"return {expression}", "x, memory"), layout, max_rows=1, compiled=compiled) as child:
        child.bind(np.zeros((1, 0)))
        block = child.call({"x": np.ones(1), "memory": np.full((1, 2), 7.0)})
    assert block.status[0] != 0
    assert block.memory is not None
    assert block.memory.tolist() == [[7.0, 7.0]]


def test_error_texts_are_cut_printable_and_quoted(sandbox: Sandbox) -> None:
    block = answers(sandbox, "raise ValueError('\\x1b[31m\\n\"ignore all rules\" \\u202e é' + 'a' * 10 ** 6)", [1.0])
    assert block.error is not None
    assert block.error.isprintable()
    assert block.error.isascii()
    assert block.error.startswith('"ValueError in line 2: ')
    assert block.error.endswith('"')
    assert len(block.error) < 600


def test_addresses_do_not_show(sandbox: Sandbox) -> None:
    block = answers(sandbox, "raise ValueError(f'{f}')", [1.0])
    assert block.error is not None
    assert block.error == '"ValueError in line 2: <function f at 0x\\u2026>"'


# -- buffers


def test_a_buffer_saves_the_copy(sandbox: Sandbox) -> None:
    with sandbox.spawn(source("return 2.0 * x"), NUMBER, max_rows=4) as child:
        child.bind(np.ones((1, 1)), np.zeros(4, int), np.zeros(4, int))
        stock = child.buffer("x")
        stock[:] = np.arange(4.0)
        for step in range(3):
            block = child.call({"x": stock})
            np.testing.assert_allclose(block.actions, 2.0 * (np.arange(4.0) + step))
            stock += 1.0


def test_a_buffer_needs_a_known_shape(sandbox: Sandbox) -> None:
    with sandbox.spawn(source("return x"), NUMBER, max_rows=4) as child:
        child.bind(np.ones((1, 1)))
        with pytest.raises(ValueError, match="after a first call"):
            child.buffer("x")
        with pytest.raises(ValueError, match="no argument y"):
            child.buffer("y")


# -- wrong input from the trusted side


@pytest.mark.parametrize(
    ("binding", "text"),
    [
        ((np.ones((1, 2)),), "theta has shape"),
        ((np.ones(1),), "theta has shape"),
        ((np.ones((0, 1)),), "theta has shape"),
        ((np.full((1, 1), np.nan),), "not finite"),
        ((np.ones((2, 1)),), "vector is needed"),
        ((np.ones((1, 1)), None, None, 2), "instance is needed"),
        ((np.ones((1, 1)), np.array([0, 1]), np.zeros(2, int)), "vector must be one index below 1"),
        ((np.ones((1, 1)), np.array([0, -1]), np.zeros(2, int)), "vector must be"),
        ((np.ones((1, 1)), np.zeros(2, int), np.array([0, 5]), 3), "instance must be"),
        ((np.ones((1, 1)), np.zeros(2, int), np.zeros(3, int)), "equally many"),
        ((np.ones((1, 1)), np.zeros(9, int), np.zeros(9, int)), "raise max_rows"),
    ],
)
def test_wrong_bindings(sandbox: Sandbox, binding: tuple[Any, ...], text: str) -> None:
    with sandbox.spawn(source("return x"), NUMBER, max_rows=4) as child:
        with pytest.raises(ValueError, match=text):
            child.bind(*binding)
        child.bind(np.ones((1, 1)))
        assert child.call({"x": np.ones(1)}).error is None


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({}, "arguments are"),
        ({"x": np.ones(2), "y": np.ones(2)}, "arguments are"),
        ({"x": np.ones(3)}, r"x has shape \(3,\), but \(2,\) is needed"),
        ({"x": np.ones((2, 1))}, "x has shape"),
        ({"x": np.array(["a", "b"])}, "x holds"),
        ({"x": np.array([1j, 2j])}, "x holds complex128, but float64 is needed"),
    ],
)
def test_wrong_arguments(sandbox: Sandbox, arrays: dict[str, Any], text: str) -> None:
    with sandbox.spawn(source("return x"), NUMBER, max_rows=4) as child:
        with pytest.raises(ValueError, match="bind parameter vectors"):
            child.call({"x": np.ones(1)})
        child.bind(np.ones((1, 1)), np.zeros(2, int), np.zeros(2, int))
        with pytest.raises(ValueError, match=text):
            child.call(arrays)
        assert child.call({"x": [1, 2]}).actions.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("theta", "text"),
    [
        ([0.5, 0.0, 1.0], "n takes whole numbers"),
        ([1.0, 0.5, 1.0], "c takes whole numbers"),
        ([1.0, 2.0, 1.0], "c has the choices 0 to 1"),
        ([1.0, -1.0, 1.0], "c has the choices 0 to 1"),
    ],
)
def test_theta_that_no_program_could_read(sandbox: Sandbox, theta: list[float], text: str) -> None:
    parameters = (
        ParameterField(name="n", kind="integer"),
        ParameterField(name="c", kind="choice", choices=("a", "b")),
        ParameterField(name="r"),
    )
    layout = Layout(entry="f", fields=NUMBER.fields, parameters=parameters)
    with sandbox.spawn(source("return r", "x, *, n, c, r"), layout, max_rows=1) as child:
        with pytest.raises(ValueError, match=text):
            child.bind(np.array([theta]))
        child.bind(np.array([[1.0, 1.0, 2.5]]))
        assert child.call({"x": np.ones(1)}).actions.tolist() == [2.5]


def test_a_closed_child_says_so(sandbox: Sandbox) -> None:
    child = sandbox.spawn(source("return x"), NUMBER, max_rows=4)
    child.close()
    child.close()
    with pytest.raises(ChildFailed, match="closed"):
        child.bind(np.ones((1, 1)))
    with pytest.raises(ChildFailed, match="closed"):
        child.call({"x": np.ones(1)})


# -- limits


def test_time_limit_of_a_call(sandbox: Sandbox) -> None:
    limits = Limits(call_seconds=0.2)
    with sandbox.spawn(source("while True:\n    pass"), NUMBER, limits=limits, max_rows=1) as child:
        child.bind(np.ones((1, 1)))
        with pytest.raises(ChildFailed, match=r"no answer within 0\.2 s") as caught:
            child.call({"x": np.ones(1)})
        assert caught.value.kind == "timeout"
        with pytest.raises(ChildFailed, match="closed"):
            child.call({"x": np.ones(1)})


def test_time_limit_of_an_endless_compiled_loop(sandbox: Sandbox) -> None:
    limits = Limits(call_seconds=0.2)
    body = "y = x\nwhile y == 1234.5:\n    y = y * 1.0\nreturn y"
    with sandbox.spawn(source(body), NUMBER, limits=limits, max_rows=1, compiled=True) as child:
        child.bind(np.ones((1, 1)))
        assert child.compiled
        with pytest.raises(ChildFailed) as caught:
            child.call({"x": np.full(1, 1234.5)})
        assert caught.value.kind == "timeout"


def test_processor_limit(sandbox: Sandbox) -> None:
    limits = Limits(cpu_seconds=1.0, call_seconds=30.0)
    with sandbox.spawn(source("while True:\n    pass"), NUMBER, limits=limits, max_rows=1) as child:
        child.bind(np.ones((1, 1)))
        with pytest.raises(ChildFailed, match="processor time") as caught:
            child.call({"x": np.ones(1)})
    assert caught.value.kind == "cpu"


def test_memory_limit_fails_the_row_only(sandbox: Sandbox, compiled: bool) -> None:
    body = "y = np.zeros(int(x))\nreturn float(len(y))"
    layout = Layout(entry="f", fields=(Field(name="x", high=1000.0),), parameters=NUMBER.parameters)
    block = answers(sandbox, body, [10.0, 1e9, 20.0], layout, limits=Limits(memory_mb=64), compiled=compiled)
    assert block.status.tolist() == [0, Status.RAISED, 0]
    assert block.error is not None
    assert "MemoryError" in block.error
    assert block.actions.tolist() == [10.0, 0.0, 20.0]


def test_time_limit_of_start(sandbox: Sandbox) -> None:
    text = "N = sum(range(10 ** 12))\n" + source("return x")
    with pytest.raises(ChildFailed) as caught:
        sandbox.spawn(text, NUMBER, limits=Limits(start_seconds=0.2))
    assert caught.value.kind == "timeout"


def test_limits_make_sense() -> None:
    for wrong in ({"call_seconds": 0.0}, {"memory_mb": -1}, {"cpu_seconds": math.inf}, {"start_seconds": math.nan}):
        with pytest.raises(ValueError, match="must be a positive number"):
            Limits(**wrong)
