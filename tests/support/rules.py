"""Signatures of several domains, programs for them, and a trusted way to run a program; for the proposers' tests."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolve.problem import Action, Argument, Signature
from evolve.program import Program, read_program
from evolve.proposers.base import Relative, Request, Skill


@dataclass(frozen=True)
class Domain:
    """A signature and programs for it, as a person or a model would write them."""

    signature: Signature
    sources: tuple[str, ...]

    def program(self, source: str) -> Program:
        return read_program(source, self.signature.entry, self.signature.positional)

    def relative(self, source: str, name: str = "p0", score: float = 1.0) -> Relative:
        program = self.program(source)
        return Relative(name=name, program=program, values=program.space.defaults, score=score)

    def request(self, operator: str, source: str, seed: int, *others: str, **changes: Any) -> Request:
        mates = [self.relative(other, f"p{i + 1}") for i, other in enumerate(others)]
        parts: dict[str, Any] = {
            "ticket": seed, "island": 0, "operator": operator, "signature": self.signature,
            "parent": self.relative(source), "others": mates, "seed": np.random.SeedSequence([7, seed]),
        }  # fmt: skip
        return Request(**(parts | changes))


def number(name: str, **rest: Any) -> Argument:
    return Argument(name=name, meaning=name.replace("_", " "), **rest)


INVENTORY = Domain(
    Signature(
        entry="order",
        arguments=(
            number("on_hand", unit="units", low=0.0, high=60.0),
            number("pipeline", unit="units", shape=(4,), low=0.0, high=20.0),
            number("weekday", unit="days", dtype="int", low=0, high=6),
            number("promotion", dtype="bool"),
        ),
        action=Action(meaning="units to order", unit="units", low=0.0),
    ),
    (
        '''def order(on_hand, pipeline, weekday, promotion, *, level: Real(0, 60) = 20.0):
    """Order up to a level."""
    position = on_hand + pipeline.sum()
    return max(0.0, level - position)
''',
        '''SAFETY = 2.5
LAMBDA = 0.5


def clip(x, low, high):
    return low if x < low else high if x > high else x


def order(
    on_hand, pipeline, weekday, promotion, *,
    level: Real(0, 60) = 20.0, cap: Integer(0, 20) = 8, rate: Real(0.01, 1, log=True) = 0.3,
    mode: Categorical("steady", "careful") = "steady", factors: Real(0, 2, size=7) = (1.0,) * 3 + (1.0,) * 4,
):
    """Order up to a level that depends on the day."""
    expected = [q * LAMBDA for q in pipeline]
    position = on_hand + sum(expected)
    smooth = pipeline[0]
    for i, q in enumerate(pipeline):
        smooth += rate * (q - smooth)
        if i > 2:
            break
    count = 0
    while count < 3:
        count += 1
    if promotion and mode == "steady":
        target = level * 1.25
    elif weekday in (5, 6):
        target = level + SAFETY
    else:
        target = level
    try:
        ratio = target / smooth
    except ZeroDivisionError:
        ratio = 1.0
    if position > 100.0:
        return 0.0
    return clip(target - position + 0.0 * ratio, 0.0, float(cap)) * factors[weekday]
'''.replace("(1.0,) * 3 + (1.0,) * 4", "(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)"),
        """def order(on_hand, pipeline, weekday, promotion, *, level: Real(0, 60) = 31.0, cap: Real(0, 30) = 9.0):
    recent = pipeline[-2:].mean()
    gap = level - on_hand - pipeline.sum()
    if gap < 2.0 and not promotion:
        return 0.0
    return min(cap, max(0.0, gap - 0.5 * recent))
""",
    ),
)

SCORES = ("frac", "cost", "up", "down", "density", "locks", "age", "size", "depth", "gap", "slack", "fill")

SCORING = Domain(
    Signature(
        entry="score",
        arguments=tuple(number(name, low=0.0, high=1.0) for name in SCORES),
        action=Action(meaning="score of a candidate"),
    ),
    tuple(
        f"def score(frac, cost, up, down, density, locks, age, size, depth, gap, slack, fill, *, {rest}"
        for rest in (
            "weight: Real(-1, 1) = 0.5):\n    return weight * frac + up * down\n",
            (
                "w: Real(0, 1) = 0.5, eps: Real(1e-6, 1, log=True) = 1e-3):\n"
                "    return max(up, eps) * max(down, eps) * (1.0 - w) + w * min(frac, 1.0 - frac)\n"
            ),
        )
    ),
)

CONTROL = Domain(
    Signature(
        entry="act",
        arguments=(
            number("angle", unit="rad", low=-1.0, high=1.0),
            number("speed", unit="m/s", low=-2.0, high=2.0),
            number("touching", dtype="bool"),
        ),
        action=Action(meaning="thrust", low=-1.0, high=1.0, clip=True),
        memory=2,
    ),
    (
        """def act(angle, speed, touching, memory, *, gain: Real(-2, 2) = 0.5):
    return gain * angle, memory
""",
        """def act(angle, speed, touching, memory, *, gain: Real(-2, 2) = 0.5, damping: Real(-2, 2) = -0.2):
    if touching:
        return 0.0, memory
    push = gain * angle + damping * speed + 0.1 * memory[0]
    memory = np.array([0.9 * memory[0] + angle, memory[1]])
    return max(-1.0, min(1.0, push)), memory
""",
    ),
)

SWITCH = Domain(
    Signature(
        entry="choose",
        arguments=(
            number("height", low=0.0, high=1.5),
            number("drift", low=-1.0, high=1.0),
            number("leg", dtype="bool"),
        ),
        action=Action(meaning="engine", dtype="int", low=0, high=3),
    ),
    (
        """def choose(height, drift, leg, *, high: Real(0, 1.5) = 0.7):
    if leg:
        return 0
    if drift > 0.2:
        return 1
    return 2 if height < high else 3
""",
        """def choose(height, drift, leg, *, gain: Real(0, 4) = 2.0, base: Integer(0, 3) = 1):
    return max(0, min(3, base + round(gain * drift)))
""",
    ),
)

GATE = Domain(
    Signature(
        entry="accept",
        arguments=(
            number("gain", low=-1.0, high=1.0),
            number("risk", low=0.0, high=1.0),
            number("known", dtype="bool"),
        ),
        action=Action(meaning="accept the candidate", dtype="bool"),
    ),
    (
        "def accept(gain, risk, known, *, margin: Real(0, 1) = 0.1):\n    return gain - risk > margin and not known\n",
        (
            "def accept(gain, risk, known, *, margin: Real(0, 1) = 0.1):\n"
            "    if known:\n        return False\n    return gain > margin or risk < 0.1\n"
        ),
    ),
)

MARKET = Domain(
    Signature(
        entry="position",
        arguments=(
            number("prices", unit="price", shape=(None,), low=50.0, high=150.0),
            number("returns", shape=(None,), low=-0.1, high=0.1),
            number("holding", low=-1.0, high=1.0),
        ),
        action=Action(meaning="share of wealth", low=-1.0, high=1.0, clip=True),
    ),
    (
        """def position(prices, returns, holding, *, gain: Real(0, 50) = 5.0, window: Integer(2, 60) = 10):
    trend = prices[-window:].mean() / prices.mean() - 1.0
    return max(-1.0, min(1.0, gain * trend))
""",
        """def position(prices, returns, holding, *, rate: Real(0, 1) = 0.1):
    fast = prices[0]
    for price in prices:
        fast = fast + rate * (price - fast)
    if returns[-5:].std() > 0.05:
        return 0.5 * holding
    return math.tanh(10.0 * (prices[-1] / fast - 1.0))
""",
    ),
)

WEIGHTS = Domain(
    Signature(
        entry="weigh",
        arguments=(number("signal", shape=(3,), low=-1.0, high=1.0), number("month", dtype="int", low=1, high=12)),
        action=Action(meaning="weights", shape=(3,), low=0.0, high=1.0, clip=True),
    ),
    (
        (
            "def weigh(signal, month, *, tilt: Real(0, 1) = 0.2):\n"
            "    return np.array([tilt * signal[0], tilt + signal.mean(), 0.5])\n"
        ),
        "def weigh(signal, month, *, tilt: Real(0, 1) = 0.2):\n    return np.clip(signal * tilt + 0.1, 0.0, 1.0)\n",
    ),
)

DOMAINS: dict[str, Domain] = {
    "inventory": INVENTORY, "scoring": SCORING, "control": CONTROL, "switch": SWITCH, "gate": GATE, "market": MARKET,
    "weights": WEIGHTS,
}  # fmt: skip

SKILLS = (
    Skill(name="t1.0", code="max(0.0, threshold - on_hand)", parameters={"threshold": "Real(0, 10) = 3.0"}, gain=0.5),
    Skill(name="t2.0", code="gain_2 * math.tanh(speed)", parameters={"gain_2": "Real(-1, 1) = 0.25"}),
    Skill(name="t3.0", code="weight * up + 0.5 * density", parameters={"weight": "Real(-1, 1) = 0.5"}, gain=2.0),
    Skill(name="t4.0", code="drift > limit", parameters={"limit": "Real(-1, 1) = 0.0"}),
    Skill(name="t5.0", code="prices[-span:].std()", parameters={"span": "Integer(2, 20) = 5"}),
    Skill(name="t6.0", code="gain - 0.5 * risk"),
    Skill(name="t7.0", code="unheard_of + 1.0"),
    Skill(name="t8.0", code="def f(:"),
    Skill(name="t9.0", code="# nothing"),
    Skill(name="t10.0", code="pipeline * 2.0"),
    Skill(name="t11.0", code="on_hand + p", parameters={"p": "Real(9, 0) = 3.0"}),
)


def rows(signature: Signature, count: int, seed: int) -> list[dict[str, Any]]:
    """Random observations within the ranges that the signature names, ends included."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        row: dict[str, Any] = {}
        for argument in signature.arguments:
            shape = tuple(int(rng.integers(1, 90)) if length is None else length for length in argument.shape)
            values = rng.uniform(argument.low, argument.high, shape)
            ends = rng.choice([argument.low, argument.high], shape)
            values = np.where(rng.random(shape) < 0.2, ends, values)
            row[argument.name] = _typed(values, argument.dtype)
        if signature.memory:
            row["memory"] = rng.normal(size=signature.memory)
        made.append(row)
    return made


def _typed(values: Any, dtype: str) -> Any:
    if dtype == "bool":
        return bool(values > 50.0)
    if dtype == "int":
        return int(np.floor(values))
    return float(values) if values.ndim == 0 else values


def function_of(program: Program) -> Callable[..., Any]:
    """The program as a plain function: for trusted text only."""
    scope: dict[str, Any] = {"math": math, "np": np} | dict.fromkeys(
        ("Real", "Integer", "Categorical"), lambda *_, **__: None
    )
    exec(compile(program.source, "<program>", "exec"), scope)
    function: Callable[..., Any] = scope[program.entry]
    return function


def check_answer(answer: Any, signature: Signature) -> None:
    """Fail unless an answer has the kind that the signature says."""
    if signature.memory:
        answer, memory = answer
        assert np.shape(memory) == (signature.memory,)
    action = signature.action
    assert np.shape(answer) == action.shape
    if action.shape:
        assert np.asarray(answer).dtype.kind in "fiu"
    elif action.dtype == "bool":
        assert isinstance(answer, bool | np.bool_)
    elif action.dtype == "int":
        assert isinstance(answer, int | np.integer)
        assert not isinstance(answer, bool)
    else:
        assert isinstance(answer, float | int | np.floating | np.integer)
        assert not isinstance(answer, bool)
