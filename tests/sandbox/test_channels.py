"""Programs that would carry state through what is left of memory, of the stack, or through addresses."""

import numpy as np
import pytest

from sandbox import Field, Layers, Layout, Limits, ParameterField, Refused, Sandbox, Status

LAYOUT = Layout(entry="f", fields=(Field(name="x"),))
LIMITS = Limits(start_seconds=20.0, call_seconds=20.0, cpu_seconds=30.0, memory_mb=160)

ROOM = """
def room():
    low, high = 0, 4000
    while high - low > 1:
        middle = (low + high) // 2
        try:
            np.zeros(middle * 131072)
            low = middle
        except {caught}:
            high = middle
    return low
def f(x):
    before = room()
    junk = [[] for i in range(3000)]
    junk = 0
    value = room() - before - 1
    cell = [np.zeros((int(x) + 1) * 131072)]
    cell.append(cell)
    return float(value)
"""
"""Bisects on how much memory is left; a cycle that leaks is the memory cell, and many lists make the collector erase it."""

SWALLOWING = """
def room():
    low, high = 0, 60000000
    while high - low > 100000:
        middle = (low + high) // 2
        if {test}:
            low = middle
        else:
            high = middle
    return low
def f(x):
    value = room()
    cell = [np.zeros((int(x) + 1) * 131072)]
    cell.append(cell)
    return float(value)
"""

DEPTH = """
def deep(n):
    try:
        return deep(n + 1)
    except {caught}:
        return n
def f(x):
    return float(deep(0))
"""

CAUGHT = [
    "Exception",
    "(ValueError, Exception)",
    "(Exception, ZeroDivisionError) as e",
    "RuntimeError",
    "Exception as e",
]
REFUSED = ["MemoryError", "RecursionError", "BaseException", "(ValueError, MemoryError)", "SystemError", ""]


def answers(sandbox: Sandbox, source: str, xs: list[float], *, compiled: bool = False) -> tuple[list[float], list[int]]:
    with sandbox.spawn(source, LAYOUT, limits=LIMITS, max_rows=1, compiled=compiled, layers=Layers.ALL) as child:
        child.bind(np.zeros((1, 0)))
        blocks = [child.call({"x": np.array([x])}) for x in xs]
    return [float(block.actions[0]) for block in blocks], [int(block.status[0]) for block in blocks]


@pytest.mark.parametrize("caught", CAUGHT)
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_a_program_cannot_catch_that_memory_ran_out(sandbox: Sandbox, caught: str, compiled: bool) -> None:
    _, status = answers(sandbox, ROOM.format(caught=caught), [5.0, 20.0, 9.0], compiled=compiled)
    assert status == [Status.RAISED] * 3


@pytest.mark.parametrize("caught", CAUGHT)
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_a_program_cannot_catch_that_the_stack_ran_out(sandbox: Sandbox, caught: str, compiled: bool) -> None:
    _, status = answers(sandbox, DEPTH.format(caught=caught), [1.0], compiled=compiled)
    assert status == [Status.RAISED]


@pytest.mark.parametrize("source", [ROOM, DEPTH], ids=["memory", "stack"])
@pytest.mark.parametrize("caught", REFUSED)
def test_ends_of_memory_and_stack_cannot_be_named(sandbox: Sandbox, source: str, caught: str) -> None:
    with pytest.raises(Refused) as refused:
        answers(sandbox, source.format(caught=caught), [1.0])
    assert refused.value.rule == "except"


@pytest.mark.parametrize(
    "lines",
    [
        ["try:", "    np.zeros(10**8)", "finally:", "    return -1.0"],
        ["for i in (1, 2):", "    try:", "        np.zeros(10**8)", "    finally:", "        break", "return -1.0"],
        ["try:", "    try:", "        np.zeros(10**8)", "    finally:", "        raise ValueError", "except ValueError:",
         "    return -1.0"],
    ],
)  # fmt: skip
def test_no_finally_turns_the_error_into_another(sandbox: Sandbox, lines: list[str]) -> None:
    with pytest.raises(Refused, match="finally"):
        answers(sandbox, "def f(x):\n" + "".join(f"    {line}\n" for line in lines), [1.0])


@pytest.mark.parametrize(
    "test", ["np.array_equal(range(middle), range(middle))", "np.array_equal(range(1), range(middle), equal_nan=True)"]
)
def test_no_function_swallows_that_memory_ran_out(sandbox: Sandbox, test: str) -> None:
    _, status = answers(sandbox, SWALLOWING.format(test=test), [1.0, 2.0])
    assert status == [Status.RAISED] * 2


def test_array_equal_is_that_of_numpy(sandbox: Sandbox) -> None:
    source = (
        "def f(x):\n    a = [x, math.nan]\n    return np.array_equal([x], [x]) + 2.0 * np.array_equal(a, a, True)\n"
    )
    assert answers(sandbox, source, [1.0]) == ([3.0], [0])


@pytest.mark.parametrize(
    "caught", ["Exception", "ArithmeticError", "(ValueError, ZeroDivisionError)", "Exception as e"]
)
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_other_errors_are_caught_as_ever(sandbox: Sandbox, caught: str, compiled: bool) -> None:
    source = f"def f(x):\n    try:\n        return 1.0 / x\n    except {caught}:\n        return -1.0\n"
    assert answers(sandbox, source, [2.0, 0.0], compiled=compiled) == ([0.5, -1.0], [0, 0])


def test_nested_handlers_pass_it_on_too(sandbox: Sandbox) -> None:
    source = """
def f(x):
    try:
        try:
            return 1 // 0
        except ZeroDivisionError:
            try:
                return np.zeros(10**9)[0]
            except Exception:
                return -1.0
    except Exception:
        return -2.0
"""
    assert answers(sandbox, source, [1.0])[1] == [Status.RAISED]


@pytest.mark.parametrize("error", ["np.zeros(10**9)", "deep(x)", "d[x]"])
def test_the_line_of_an_error_that_passes_is_told(sandbox: Sandbox, error: str) -> None:
    source = f"""
def deep(x):
    return deep(x) + 1
def f(x):
    d = {{}}
    try:
        {error}
    except RuntimeError:
        return 1.0
    return 2.0
"""
    with sandbox.spawn(source, LAYOUT, limits=LIMITS, max_rows=1) as child:
        child.bind(np.zeros((1, 0)))
        told = child.call({"x": np.array([1.0])}).error or ""
    assert f"in line {3 if 'deep' in error else 7}" in told


PLACE = """
def f(x):
    {make}
    g = {object}
    k = 0
    for v in {holder}:
        if v is g or v != v:
            return float(k)
        k += 1
    return -1.0
"""
NUMBERS = ", ".join(map(str, range(40)))
HOLDERS = [
    f"{{g, {NUMBERS}}}",
    "{v for v in (g, 1, 2, 3)}",
    "set((g, 1, 2, 3))",
    "frozenset((g, 1, 2, 3))",
    "{g: 1, 1: 2}.keys() | (2, 3)",
    "{g: 1}.keys() ^ (2, 3)",
    "{g: 1}.items() | (2, 3)",
    "{1: g}.items() - (2, 3)",
    "max({g: 1}.keys(), {}.keys()) | (2, 3)",
    "[{g: 1, 1: 2}.keys()][0] | (2, 3)",
    "dict.keys({g: 1}) | (2, 3)",
    "list(map(dict.keys, [{g: 1}]))[0] | (2, 3)",
]


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("thing", ["(v for v in (1,))", "lambda: 1", "None", "math.nan * x", "[].append"])
def test_no_order_depends_on_addresses(sandbox: Sandbox, holder: str, thing: str) -> None:
    with pytest.raises(Refused):
        answers(sandbox, PLACE.format(make="pass", object=thing, holder=holder), [1.0])


def test_dictionaries_keep_the_order_of_their_making(sandbox: Sandbox) -> None:
    source = """
def f(x):
    g = lambda: 1
    d = {3: 1, g: 2, None: 3, x * math.nan: 4, 1: 5}
    d[2] = 6
    return float(sum(10 ** i * v for i, v in enumerate(d.values())))
"""
    assert answers(sandbox, source, [1.0, 1.0, 2.0])[0] == [654321.0] * 3


ADDRESS = {
    "text array": "t = np.append(['a' * 60], ['b'])\n    t[0] = g\n    return 1.0 if t[0] > 'a' else 2.0",
    "text by add": "t = np.add(['a' * 60], ['b'])\n    t[0] = g\n    return 1.0 if t[0] > 'a' else 2.0",
    "text by power": "t = np.linalg.matrix_power([['a']], 0)\n    t[0, 0] = g\n    return 1.0 if t[0, 0] > 'a' else 2.0",
}


@pytest.mark.parametrize("lines", ADDRESS.values(), ids=ADDRESS)
def test_no_text_shows_an_address(sandbox: Sandbox, lines: str) -> None:
    assert answers(sandbox, f"def f(x):\n    g = lambda: 1\n    {lines}\n", [1.0])[1] == [Status.RAISED]


def test_no_choice_formats(sandbox: Sandbox) -> None:
    layout = Layout(
        entry="f", fields=LAYOUT.fields, parameters=(ParameterField(name="p", kind="choice", choices=("a", "%s")),)
    )
    with pytest.raises(Refused):
        sandbox.spawn("def f(x, *, p='a'):\n    return 1.0 if p % f > '<' else 0.0\n", layout, max_rows=1)


def test_a_name_has_one_module(sandbox: Sandbox) -> None:
    """A name that might mean two modules would be read one way by the rules and another way by the compiler."""
    source = """
import numpy as m
def h():
    m = math
    return 0.0
def f(x):
    a = m.zeros(8)
    v = a[4]
    a[4] = x
    return v
"""
    with pytest.raises(Refused, match="module"):
        answers(sandbox, source, [1.0], compiled=True)
