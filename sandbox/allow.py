"""The allow lists: every name that a program may use. What is not here does not exist for a program.

Defends against: reaching anything but numbers, containers and pure functions on them. Each name was chosen for what
decision rules need and read for what else it can do; see `docs/security.md` for what was left out and why. Two rules of
thumb: no function that reads or writes a file, memory it was not given, or global settings; none that returns memory it
has not written (a channel between calls).

Does not defend against: a newer numpy or Python in which an allowed name gains a new power. The reachability audit in
`tests/sandbox/test_reachability.py` fails when that happens.
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


EXCEPTIONS = _names(
    """
    ArithmeticError AssertionError AttributeError Exception FloatingPointError IndexError KeyError LookupError
    NotImplementedError OverflowError RuntimeError StopIteration TypeError ValueError ZeroDivisionError
    """
)
"""What may be raised and caught by name. Not BaseException: it would catch what ends a program."""

BUILTINS = _names(
    """
    abs all any bool dict divmod enumerate filter float int isinstance len list map max min next pow
    range reversed round slice sorted sum tuple zip
    """
)
"""No `set` and `frozenset`, `str`, `repr` or `format`: they show addresses, a set by its order. No `iter`, `type`, `id`,
`hash`, `getattr`: state, types, addresses and names made at run time."""

MATH = _names(
    """
    acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2
    expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm
    ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt
    sumprod tan tanh tau trunc ulp
    """
)

NUMPY_CONSTANTS = _names("e euler_gamma inf nan newaxis pi")

NUMPY_TYPES = _names("bool_ float32 float64 floating int32 int64 integer intp number")

UFUNCS = _names(
    """
    abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh
    bitwise_and bitwise_or bitwise_xor cbrt ceil copysign cos cosh deg2rad degrees divide divmod equal exp exp2
    expm1 fabs float_power floor floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot invert
    isfinite isinf isnan lcm left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and
    logical_not logical_or logical_xor matmul maximum minimum mod modf multiply negative not_equal positive pow
    power rad2deg radians reciprocal remainder right_shift rint sign signbit sin sinh sqrt square subtract tan
    tanh true_divide trunc
    """
)

CREATORS = _names(
    """
    arange array asarray eye fromiter full full_like geomspace identity indices linspace logspace ones
    ones_like tri zeros zeros_like
    """
)
"""Functions that make arrays of a type that a program may name; the facade guards the type."""

FUNCTIONS = _names(
    """
    all allclose amax amin any append argmax argmin argpartition argsort argwhere around array_equal array_split
    atleast_1d atleast_2d average bincount broadcast_to clip column_stack concatenate convolve copy corrcoef
    correlate count_nonzero cov cross cumprod cumsum delete diag diagonal diff digitize dot ediff1d einsum
    expand_dims extract fix flatnonzero flip fliplr flipud gradient histogram hsplit hstack imag inner insert
    interp intersect1d isclose isin iscomplexobj isreal isscalar ix_ kron lexsort max mean median meshgrid min
    moveaxis nan_to_num nanargmax nanargmin nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod
    nanquantile nanstd nansum nanvar ndim nonzero outer pad partition percentile polyder polyfit polyval prod ptp
    quantile ravel real repeat reshape roll roots rot90 round searchsorted select setdiff1d shape sinc size sort
    split squeeze stack std sum swapaxes take take_along_axis tensordot tile trace transpose trapezoid trapz
    tril tril_indices triu triu_indices union1d unique unravel_index vander var vdot vsplit vstack where
    """
)

LINALG = _names(
    """
    LinAlgError cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_power matrix_rank multi_dot norm
    pinv qr slogdet solve svd
    """
)

NUMPY = NUMPY_CONSTANTS | NUMPY_TYPES | UFUNCS | CREATORS | FUNCTIONS | {"linalg"}

METHODS = (
    # arrays: no `base`, `data`, `flags`, `flat`, `view`, `setflags`, `tobytes`, `dtype`: raw memory, or the way to it
    _names(
        """T accumulate all any argmax argmin argpartition argsort astype clip compress conj copy cumprod cumsum diagonal
        dot fill flatten imag item max mean min ndim nonzero outer partition prod ptp ravel real reduce repeat reshape
        round searchsorted shape size sort squeeze std sum swapaxes take tolist trace transpose var"""
    )
    # lists, tuples, dictionaries
    | _names(
        "append clear count extend get index insert items keys pop popitem remove reverse setdefault update values"
    )
    # numbers, strings, slices
    | _names(
        """as_integer_ratio bit_count bit_length conjugate endswith is_integer lower start startswith step stop strip
        upper"""
    )
)
"""Attributes of everything but modules."""

KEYWORDS = _names(
    """
    N a_max a_min abs_tol assume_unique atol axes axis axis1 axis2 base bins compute_uv constant_values copy counts ddof
    decimals decreasing default deg density dtype dx endpoint equal_nan fill_value full full_matrices hermitian
    high increasing indexing initial interpolation k keepdims key kind left low max method min minlength mode n
    nan ndmin neginf num offset ord out posinf prepend range rcond rel_tol repeats retstep return_counts
    return_index return_inverse reverse right rowvar rtol shape side sorted sorter sparse start std step stop
    strict tol weights x q xp fp ndigits shift reps indices pad_width v w exp
    """
) | {"append"}
"""Keyword names in calls, besides those of the program's own functions. Not `where`: without `out` it returns memory
that nobody wrote. Not `like`, `subok`, `order`, `casting`, `signature`."""

UNSAFE_KEYWORDS = _names("casting extobj like order overwrite_input signature stat_length subok")
"""Keyword names without any place in a program, for the advice to leave them out."""

REDUCTIONS = _names("all any average max mean min prod std sum var")
"""Where `where=` is harmless: what it leaves out does not enter the result."""

DTYPES = _names("bool bool_ float float32 float64 int int32 int64 intp")
"""Array types that a program may name. Not `object` (addresses), `datetime64` (the clock), strings, records."""

INSTEAD = {
    "print": "delete it: nobody reads output",
    "open": "a program cannot touch files: delete it",
    "exec": "write the code itself",
    "eval": "write the expression itself",
    "getattr": "write the attribute itself, as in `x.size`",
    "hasattr": "arguments always have the type the signature says: use it directly",
    "type": "use isinstance(x, (int, float)), or nothing: arguments always have the type the signature says",
    "str": "work with numbers; in `raise` use an f-string",
    "repr": "in `raise` use an f-string",
    "format": "in `raise` use an f-string",
    "iter": "use a for loop or an index",
    "callable": "arguments are numbers and arrays: delete it",
    "object": "use None as a marker",
    "complex": "work with real numbers",
    "set": "use a tuple, a list, sorted(…) or a dict",
    "frozenset": "use a tuple, a list, sorted(…) or a dict",
    "union": "use a dict, or sorted(…) of both",
    "add": "use a list and append, or a dict",
    "empty": "use np.zeros",
    "empty_like": "use np.zeros_like",
    "finfo": "write the number itself, for example 1e-16",
    "iinfo": "write the number itself",
    "numpy.linalg": "it is already there: write np.linalg.norm(x), or `from numpy import linalg`",
    "random": "a program must be deterministic: write the rule without random numbers",
    "time": "a program must be deterministic: it sees only its arguments",
    "globals": "pass values as arguments",
    "locals": "pass values as arguments",
    "BaseException": "catch `Exception` or a named error",
    "MemoryError": "catch `Exception` or a named error",
    "RecursionError": "use a loop instead of recursion",
    "append": "use concatenate",
    "dtype": "name the type itself, for example np.zeros(n, dtype=float)",
    "flat": "use ravel()",
    "vectorize": "use array operations or a loop",
    "ndarray": "use it only as isinstance(x, np.ndarray)",
    "flags": "copy the array: x.copy()",
    "setflags": "copy the array: x.copy()",
    "view": "copy the array: x.copy()",
    "at": "use a loop with x[i] += v",
    "put": "assign: x[i] = v",
    "copyto": "assign: x[:] = v",
    "place": "assign: x[mask] = v",
    "putmask": "assign: x[mask] = v",
    "fill_diagonal": "assign in a loop: x[i, i] = v",
    "apply_along_axis": "use a loop over rows",
    "join": "work with numbers; in `raise` use an f-string",
    "split": "work with numbers",
    "islice": "use a slice: x[:n]",
    "deque": "use a list",
}
"""What to write instead of a name that models often reach for."""
