"""Everything that is allowed works in a locked child, where nothing can be loaded any more."""

import math

import numpy as np
import pytest

from sandbox import Field, Layout, Sandbox, allow, facade
from sandbox.freeze import freeze_globals

LAYOUT = Layout(
    entry="f", fields=(Field(name="k", dtype="int"), Field(name="x", shape=(4,)), Field(name="m", shape=(3, 3)))
)
ARGUMENTS = ("", "x", "m", "x, x", "m, m", "x, 1", "[x, x]", "2.0", "3", "m, x[:3]", "x, [1]", "2, 3", "x > 1, x, x")


def expressions() -> list[str]:
    """A call of every function and method, with several arguments each."""
    functions = [
        f"np.{name}" for name in sorted(vars(facade.NUMPY)) if name not in {"linalg", "ndarray"} | allow.NUMPY_CONSTANTS
    ]
    functions += [f"np.linalg.{name}" for name in sorted(vars(facade.LINALG))]
    functions += [f"math.{name}" for name in sorted(vars(facade.MATH)) if callable(getattr(math, name))]
    functions += [f"x.copy().{name}" for name in sorted(allow.METHODS) if callable(getattr(np.ones(3), name, None))]
    functions += [f"np.add.{name}" for name in ("reduce", "accumulate", "outer")]
    functions += sorted(allow.BUILTINS)
    calls = [f"{function}({arguments})" for function in functions for arguments in ARGUMENTS]
    return [call for call in calls if "astype" not in call and "factorial(x" not in call] + ["x.astype(int)"]


@pytest.mark.parametrize("part", range(10))
def test_nothing_needs_loading(sandbox: Sandbox, part: int) -> None:
    """Whatever a call says of its arguments, it is not that something could not be imported or opened."""
    mine = expressions()[part::10]
    for start in range(0, len(mine), 50):
        chunk = mine[start : start + 50]
        branches = "".join(f"    if k == {k}:\n        {call}\n" for k, call in enumerate(chunk))
        with sandbox.spawn(f"def f(k, x, m):\n{branches}    return 1.0\n", LAYOUT, max_rows=1) as child:
            child.bind(np.zeros((1, 0)))
            for k, call in enumerate(chunk):
                block = child.call({"k": np.array([k]), "x": np.arange(1.0, 5.0)[None], "m": np.eye(3)[None] + 0.5})
                error = (block.error or "").lower()
                assert "import" not in error, (call, error)
                assert "permission" not in error, (call, error)
                assert "open" not in error or "closed" in error, (call, error)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("array", np.array([1.0, 2.0])),
        ("asarray", np.array([1.0, 2.0])),
        ("zeros_like", np.zeros(2)),
        ("ones_like", np.ones(2)),
    ],
)
def test_guarded_functions_do_what_numpy_does(call: str, expected: np.ndarray) -> None:
    made = vars(facade.NUMPY)[call]([1.0, 2.0])
    assert made.dtype == np.float64
    assert made.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "dtype", ["O", object, "M8[s]", "m8", "U5", "S3", "V8", "f8,i4", np.dtype("O"), np.void, str, bytes]
)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("array", ([1.0],)), ("asarray", ([1.0],)), ("zeros", (2,)), ("ones", (2,)), ("full", (2, 1.0)),
        ("zeros_like", ([1.0],)), ("ones_like", ([1.0],)), ("full_like", ([1.0], 2.0)),
        ("arange", (0, 3, 1)), ("eye", (2, 2, 0)), ("identity", (2,)), ("tri", (2, 2, 0)), ("fromiter", ([1.0],)),
        ("linspace", (0, 1, 3, True, False)), ("logspace", (0, 1, 3, True, 10.0)), ("geomspace", (1, 2, 3, True)),
        ("indices", ((2,),)),
    ],
)  # fmt: skip
def test_array_types_are_checked_wherever_they_stand(name: str, arguments: tuple[object, ...], dtype: object) -> None:
    with pytest.raises(TypeError, match=r"the type of an array is float|must hold numbers"):
        vars(facade.NUMPY)[name](*arguments, dtype)


@pytest.mark.parametrize("value", [["a"], "now", [None], [[1], [1, 2]], {"a": 1}, [object()]])
def test_arrays_hold_numbers(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        facade.NUMPY.array(value)


OBJECTS = [
    "np.append([f], [1.0])", "np.concatenate([[f], [1.0]])", "np.where(x > 0, f, f)", "np.stack([[f], [f]])",
    "np.vstack([[f], [f]])", "np.hstack([[f], [f]])", "np.column_stack([[f], [f]])", "np.repeat(f, 3)",
    "np.full(3, f)", "np.cumsum(x, 0, 'O')", "np.tile(f, 3)", "np.ravel([f])", "np.copy([f])", "np.broadcast_to([f], 3)",
    "np.array_split(np.zeros(2) + [10**30, 1], 2)", "np.meshgrid([f], [f])", "np.pad([f], 1)", "np.append(['a'], ['b'])",
    "np.where(x > 0, 'a', 'b')", "np.repeat('a', 3)", "np.add(['a'], ['b'])", "np.add('a', 'b')",
    "np.add.outer(['a'], ['b'])", "np.unique(['a', 'b'])", "np.select([x > 0], ['a'], 'b')", "np.take(['a'], 0)",
    "np.copy('a')", "np.atleast_1d('a')", "np.sort(['a'])", "np.diag([[f, f], [f, f]])",
]  # fmt: skip


@pytest.mark.parametrize("call", OBJECTS)
def test_functions_return_numbers(call: str) -> None:
    with pytest.raises(TypeError):
        eval(call, {"np": facade.NUMPY, "f": len, "x": np.arange(3.0)})


def test_no_function_makes_texts() -> None:
    """A text array shows the address of a function that is written into it, so there is none at all."""
    texts: list[object] = ["a", ["a", "b"], ("a" * 60,), [["a", "b"], ["c", "d"]]]
    members = [value for home in (facade.NUMPY, facade.LINALG) for value in vars(home).values() if callable(value)]
    members += [
        getattr(value, name) for value in members for name in ("accumulate", "outer", "reduce") if hasattr(value, name)
    ]
    members += [getattr(np.ones(2), name) for name in allow.METHODS if callable(getattr(np.ones(2), name, None))]
    members = [member for member in members if member is not np.ndarray and getattr(member, "__name__", "") != "astype"]
    for member in members:
        for arguments in (
            [(t,) for t in texts]
            + [(t, t) for t in texts]
            + [([True, False], t, t) for t in texts]
            + [(t, k) for t in texts for k in (0, 1, 2)]
            + [([1.0, 2.0], 0, "U5"), (0, "U5"), ([1.0], "U5"), ([[1.0, 2.0]] * 2, 0, 0, 1, "U5")]
        ):
            try:
                made = member(*arguments)
            except Exception:  # noqa: BLE001 - whatever it is, it is no text
                continue
            for part in made if type(made) in (tuple, list) else [made]:
                if isinstance(part, (np.ndarray, np.generic)):
                    assert part.dtype.kind in "biufcO", (member, arguments)


def test_add_stays_a_ufunc_where_it_matters() -> None:
    x = np.arange(3.0)
    assert facade.NUMPY.add(x, 1.0).tolist() == [1.0, 2.0, 3.0]
    assert facade.NUMPY.add.reduce(x) == 3.0
    assert facade.NUMPY.add.accumulate(x).tolist() == [0.0, 1.0, 3.0]
    assert facade.NUMPY.add.outer(x, x).shape == (3, 3)


def test_every_creator_is_guarded() -> None:
    assert set(facade._TYPE_PLACE) == allow.CREATORS


@pytest.mark.parametrize("mode", ["empty", "nonsense", abs, None])
def test_padding_modes(mode: object) -> None:
    with pytest.raises(ValueError, match=r"the mode of np\.pad"):
        facade.NUMPY.pad([1.0], 1, mode)
    assert facade.NUMPY.pad([1.0], 1).tolist() == [0.0, 1.0, 0.0]


def test_the_way_to_import_leads_nowhere() -> None:
    assert facade.new_globals()["__builtins__"]["__import__"]("os") is None


def test_frozen_values() -> None:
    namespace = {
        "a": [1, [2, 3]],
        "b": {"k": [1]},
        "c": np.linalg.eigh(np.eye(2)),
        "d": np.zeros(2),
        "e": facade.MATH.sqrt,
        "f": slice(1, 2),
        "g": (lambda x: x),
    }
    freeze_globals(namespace, {})
    assert namespace["a"] == (1, (2, 3))
    assert namespace["b"]["k"] == (1,)
    assert type(namespace["c"]) is tuple
    assert not any(part.flags.writeable for part in namespace["c"])
    assert not namespace["d"].flags.writeable
    assert namespace["d"].base is None
    with pytest.raises(TypeError):
        namespace["b"]["k"] = 2
