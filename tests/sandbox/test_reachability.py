"""The audit of the allow lists: what can a program get hold of, and what can it change?

A breadth-first search over every allowed attribute of every object that a program can have must meet nothing but numbers,
containers and functions of these. It fails when a new Python or numpy lets an allowed name lead somewhere else.
"""

import builtins
import inspect
import math
import types
from collections import deque
from typing import Any

import numpy as np
import pytest

from sandbox import Field, Layout, Refused, allow, check_program, facade
from sandbox.warm import warm_up

HARMLESS = (
    int, float, bool, str, complex, tuple, list, dict, range, slice, type(None), type(Ellipsis),
    np.ndarray, np.generic, np.ufunc,
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType, types.WrapperDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.MappingProxyType, types.GeneratorType,
    type(np.sum), type({}.keys()), type({}.values()), type({}.items()),
    enumerate, zip, map, filter, reversed, type(iter([])), type(iter(())), type(iter({})),
    type(reversed([])), type(reversed({})),
    BaseException,
)  # fmt: skip
"""Kinds of objects without a way out, as long as no attribute but allowed ones is read from them."""

CLASSES = {
    *(value for value in vars(facade.NUMPY).values() if isinstance(value, type)),
    *(value for value in vars(facade.LINALG).values() if isinstance(value, type)),
    *(value for value in facade.BUILTINS.values() if isinstance(value, type)),
}
"""Classes that a program may know."""

FACADES = {id(facade.NUMPY), id(facade.MATH), id(facade.LINALG)}


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    warm_up(compiling=False)


def samples() -> list[Any]:
    """One object of each kind that a program can make."""

    def function(x: float, *rest: float, k: float = 1.0) -> float:
        return x + k + sum(rest)

    array = np.arange(6.0).reshape(2, 3)
    return [
        1, 1.5, True, "text", (1, 2), [1, 2], {"a": 1}, range(3), slice(1, 2), None, ...,
        array, np.arange(3), np.zeros(2, bool), np.float64(1.5), np.int64(2), np.bool_(True), np.float32(1.0), 1 + 2j,
        np.array(3.0), function, lambda x: x, (x for x in [1]), enumerate([1]), zip([1], [2], strict=True), map(abs, [1]),
        filter(None, [1]), reversed([1]), {}.keys(), {}.values(), {}.items(), types.MappingProxyType({"a": 1}),
        ValueError("x"), KeyError("k"), StopIteration(1), np.linalg.LinAlgError("x"), np.add, np.matmul,
        np.linalg.eigh(np.eye(2)), np.linalg.svd(np.eye(2)), np.linalg.slogdet(np.eye(2)), np.linalg.qr(np.eye(2)),
        np.unique(np.arange(3), return_counts=True), np.histogram(np.arange(3)),
        *facade.BUILTINS.values(), facade.MATH, facade.NUMPY, facade.LINALG,
    ]  # fmt: skip


def attributes_of(value: Any) -> frozenset[str]:
    if id(value) in FACADES:
        return frozenset(vars(value))
    return allow.METHODS


def test_every_allowed_attribute_leads_to_something_harmless() -> None:
    queue = deque((repr(type(sample))[:60], sample) for sample in samples())
    seen: set[tuple[Any, ...]] = set()
    strange = []
    while queue:
        path, value = queue.popleft()
        if isinstance(value, type):
            if value not in CLASSES:
                strange.append(path)
        elif not isinstance(value, HARMLESS) and id(value) not in FACADES:
            strange.append(f"{path} is a {type(value)}")
        for name in sorted(attributes_of(value)):
            try:
                found = getattr(value, name)
            except Exception:  # noqa: BLE001 - an attribute that cannot be read leads nowhere
                continue
            step = (type(value), name, type(found), getattr(found, "__name__", None))
            if step not in seen:  # the same attribute of the same kind of object leads the same way again
                seen.add(step)
                queue.append((f"{path}.{name}", found))
    assert not strange


def test_results_of_every_allowed_function_are_harmless() -> None:
    """The same for what functions and methods return, called with plain arguments."""
    array, matrix = np.arange(1.0, 5.0), np.eye(3) + 0.5
    arguments = [(array,), (matrix,), (array, array), (matrix, matrix), (array, 2), (3,), (2.5,), ([1.0, 2.0],), ()]
    functions = [
        *(value for home in (facade.NUMPY, facade.MATH, facade.LINALG) for value in vars(home).values()),
        *facade.BUILTINS.values(),
        *(getattr(value, name) for value in samples() for name in allow.METHODS if hasattr(value, name)),
    ]
    strange = []
    for function in functions:
        if not callable(function) or function is np.ndarray:
            continue
        for given in arguments:
            try:
                result = function(*given)
            except Exception:  # noqa: BLE001
                continue
            for part in result if type(result) in (tuple, list) else [result]:
                if not isinstance(part, HARMLESS) or isinstance(part, type):
                    strange.append((function, given, type(part)))
                if isinstance(part, np.ndarray) and part.dtype.kind not in "biufcO":
                    strange.append((function, given, part.dtype))
    assert not strange


def test_no_module_frame_or_code_is_among_the_members() -> None:
    for home in (facade.NUMPY, facade.MATH, facade.LINALG):
        for name, value in vars(home).items():
            assert not isinstance(value, (types.FrameType, types.CodeType)), name
            assert not isinstance(value, types.ModuleType) or id(value) in FACADES, name


def test_facades_hold_what_the_lists_say_and_nothing_else() -> None:
    assert set(vars(facade.MATH)) <= allow.MATH
    assert set(vars(facade.LINALG)) <= allow.LINALG
    assert set(vars(facade.NUMPY)) <= allow.NUMPY | {"ndarray"}
    assert set(facade.BUILTINS) == allow.BUILTINS | allow.EXCEPTIONS


@pytest.mark.parametrize(
    "name",
    """
    load loads loadtxt save savez savetxt fromfile memmap frombuffer genfromtxt fromregex fromstring
    DataSource f2py testing ctypeslib lib core _core ma rec char random vectorize frompyfunc nditer
    nested_iters seterr seterrcall errstate setbufsize set_printoptions dtype ndarray record recarray matrix
    flatiter broadcast copyto put place putmask fill_diagonal put_along_axis as_strided busday_count
    datetime64 timedelta64 object_ str_ bytes_ void array2string array_repr info show_config test ctypes os
    sys from_dlpack apply_along_axis piecewise fromfunction
    """.split(),  # noqa: SIM905
)  # fmt: skip
def test_left_out_of_numpy(name: str) -> None:
    with pytest.raises(Refused, match="is not available"):
        check_program(f"def f(x):\n    return np.{name}\n", Layout(entry="f", fields=(Field(name="x"),)))


@pytest.mark.parametrize(
    "name",
    """
    view setflags base data ctypes resize getfield setfield tofile dump dumps tobytes tostring byteswap
    newbyteorder flags flat strides itemset put dtype at __array_interface__ __array__ __reduce__ __class__
    __dict__ __getattribute__ format format_map join encode mro gi_frame gi_code f_globals tb_frame
    func_globals cr_frame ag_frame co_code __self__ args with_traceback add_note obj name __traceback__
    fromhex from_bytes maketrans fromkeys throw send close
    """.split(),  # noqa: SIM905
)  # fmt: skip
def test_left_out_of_methods(name: str) -> None:
    with pytest.raises(Refused):
        check_program(f"def f(x):\n    return x.{name}\n", Layout(entry="f", fields=(Field(name="x", shape=(3,)),)))


@pytest.mark.parametrize(
    "name", sorted(set(dir(builtins)) - allow.BUILTINS - allow.EXCEPTIONS - {"True", "False", "None"})
)
def test_left_out_of_builtins(name: str) -> None:
    if name in {"Ellipsis", "NotImplemented", "__debug__"} or not name.isidentifier():
        return
    with pytest.raises(Refused):
        check_program(f"def f(x):\n    return {name}\n", Layout(entry="f", fields=(Field(name="x"),)))


def keyword_names() -> set[str]:
    """Keyword names of everything that a program may call and whose signature can be read."""
    names: set[str] = set()
    values = [*vars(facade.NUMPY).values(), *vars(facade.LINALG).values(), *vars(facade.MATH).values()]
    for value in [*values, *facade.BUILTINS.values()]:
        try:
            parameters = inspect.signature(value).parameters.values()
        except (TypeError, ValueError):
            continue
        names |= {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    return names


def test_dangerous_keywords_stay_refused_even_as_parameters_of_a_program() -> None:
    """`where` and the like must not come in through a parameter of that name; a new numpy may add others."""
    known_harmless = """A UPLO a a1 a2 ar ar1 ar2 arr array arrays ary aweights axisa axisb axisc b bias choicelist condition
    condlist correction cov destination edge_order element exp f fp fweights indices indices_or_sections invert iterable kth
    m mean mod ndigits newshape number obj optimize order overwrite_input p pad_width period q reps return_indices returned
    shift source stable steps test_elements to_begin to_end tup upper v val values w xp y""".split()  # noqa: SIM905
    unknown = keyword_names() - allow.KEYWORDS - allow.UNSAFE_KEYWORDS - set(known_harmless)
    assert unknown == set()


def test_inputs_cannot_be_written_through_any_allowed_function() -> None:
    """Every function and method is let loose on a read-only array, in every place of its arguments."""
    pristine = np.arange(1.0, 5.0)
    target = pristine.copy()
    target.setflags(write=False)
    other = np.ones(4)
    functions = [value for home in (facade.NUMPY, facade.LINALG) for value in vars(home).values() if callable(value)]
    functions += [getattr(target, name) for name in allow.METHODS if callable(getattr(target, name, None))]
    functions += [getattr(np.add, name) for name in ("accumulate", "reduce", "outer")]
    arguments = [(), (target,), (target, other), (other, target), (other, other, target), (target, 0, None, target)]
    arguments += [
        (0.0, 1.0, target),
        (target, 0.0, 1.0, target),
        (1,),
        (0,),
        (0, 0),
        (None, None, target),
        (0, None, target),
    ]
    for function in functions:
        for given in arguments:
            for keywords in ({}, {"out": target}):
                try:
                    result = function(*given, **keywords)
                except Exception:  # noqa: BLE001 - refusing is fine
                    continue
                assert np.array_equal(target, pristine), (function, given, keywords)
                for part in result if isinstance(result, (tuple, list)) else [result]:
                    if isinstance(part, np.ndarray) and np.shares_memory(part, target):
                        assert not part.flags.writeable, (function, given, keywords)


def test_math_holds_no_surprise() -> None:
    """Whatever Python adds to `math` is looked at before it is allowed."""
    public = {name for name in dir(math) if not name.startswith("_")}
    assert public - allow.MATH <= {"fmax", "fmin", "isnormal", "issubnormal", "signbit"}
