"""A sandbox for the whole session, hostile programs, and the canaries that tell whether one of them did harm."""

import ast
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from sandbox import (
    ChildFailed,
    Field,
    Layers,
    Layout,
    Limits,
    Output,
    ParameterField,
    Refused,
    Sandbox,
    Status,
)

HERE = Path(__file__).parent
SECRET = "EVOLVE_CANARY_SECRET"
GOAL = 1337.0
PORT = 47999

ATTACKED = Layout(entry="policy", fields=(Field(name="state", shape=(4,)), Field(name="theta", shape=(3,))))
"""The signature that hostile programs are written for."""

TIGHT = Limits(start_seconds=0.5, call_seconds=0.25, cpu_seconds=2.0, memory_mb=160)
GENEROUS = Limits(start_seconds=20.0, call_seconds=20.0, cpu_seconds=5.0, memory_mb=160)
"""For programs that must not end by time: a busy machine may let them miss the tight limits."""

OUTSIDE = frozenset({"env_read", "filesystem", "network"})
"""Categories whose goal lies outside the child's own process."""


@dataclass(frozen=True)
class Attack:
    """One hostile program and the ways in which it may end."""

    id: str
    category: str
    code: str
    ends: frozenset[str]


@dataclass
class Result:
    """How a hostile program ended, and what harm it did."""

    outcome: str
    harm: list[str] = field(default_factory=list)
    text: str = ""


def read_corpus(folder: Path) -> list[Attack]:
    """Every program of every `*.jsonl` in a folder."""
    attacks = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip():
                entry = json.loads(line)
                ends = frozenset([entry["expected"], *entry["accept"]])
                attacks.append(Attack(entry["id"], entry["category"], entry["code"], ends))
    return attacks


def read_own_attacks() -> list[Attack]:
    """The project's own set: blocks that begin with `### id | category | end, end`."""
    attacks = []
    for block in (HERE / "attacks.txt").read_text(encoding="utf-8").split("\n### ")[1:]:
        head, _, code = block.partition("\n")
        name, category, ends = (part.strip() for part in head.split("|"))
        attacks.append(Attack(name, category, code, frozenset(end.strip() for end in ends.split(","))))
    return attacks


class Canaries:
    """What must not change, whatever a program does."""

    def __init__(self) -> None:
        self.folders = [Path(name) for name in {tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"}]
        self.listener = (
            socket.socket()
        )  # first of all: a run that does not get the port must not touch another's canaries
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.listener.bind(("127.0.0.1", PORT))
        except OSError:
            self.listener.close()
            raise
        self.listener.listen()
        self.listener.setblocking(False)
        self.victim = Path(tempfile.gettempdir()) / "evolve_victim"
        self.victim.write_text("untouched")
        self.victim.chmod(0o666)
        self.before = self._files()

    def _files(self) -> set[Path]:
        return {path for folder in self.folders if folder.is_dir() for path in folder.glob("evolve_*")}

    def disturbed(self) -> list[str]:
        """What has been disturbed since the last look; puts it right again."""
        harm = []
        now = self._files()
        for path in now ^ self.before:
            harm.append(f"file {path}")
            if path not in self.before:
                with suppress(OSError):
                    path.rmdir() if path.is_dir() else path.unlink()
        if self.victim not in now or self.victim.read_text() != "untouched":
            harm.append("the victim file")
            self.victim.write_text("untouched")
            self.victim.chmod(0o666)
        with suppress(BlockingIOError):
            self.listener.accept()[0].close()
            harm.append("a connection")
        return sorted(harm)

    def close(self) -> None:
        self.listener.close()
        with suppress(OSError):
            self.victim.unlink()


@pytest.fixture(scope="session")
def canaries() -> Iterator[Canaries]:
    try:
        canaries = Canaries()
    except OSError as error:
        pytest.skip(f"another run holds the canary port {PORT}: {error}")
    os.environ[SECRET] = "1337"
    yield canaries
    del os.environ[SECRET]
    canaries.close()


@pytest.fixture(scope="session")
def sandbox(canaries: Canaries) -> Iterator[Sandbox]:  # canaries first: the secret must be there when the zygote starts
    with Sandbox() as sandbox:
        yield sandbox


def zygote_pids(sandbox: Sandbox) -> list[int]:
    return [zygote.process.pid for zygote in sandbox._zygotes.values()]


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    with suppress(OSError):
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _run(sandbox: Sandbox, attack: Attack, layers: Layers, limits: Limits, *, compiled: bool) -> Result:
    state, theta = np.arange(1.0, 5.0)[None], np.arange(3.0)[None]
    static = Layers.STATIC in layers
    try:
        with sandbox.spawn(attack.code, ATTACKED, limits=limits, max_rows=4, compiled=compiled, layers=layers) as child:
            child.bind(np.zeros((1, 0)))
            blocks = [child.call({"state": state, "theta": theta}) for _ in range(3)]
            inputs = child.buffer("state").copy()
    except Refused as refusal:
        if refusal.rule != "raised":
            return Result("rejected_static", text=str(refusal))
        return Result("memory" if "MemoryError" in refusal.message else "runtime_error", text=str(refusal))
    except ChildFailed as failure:
        kinds = {"timeout": "timeout", "cpu": "timeout", "memory": "memory"}
        return Result(kinds.get(failure.kind, "runtime_error"), text=str(failure))
    harm = []
    answers = [float(block.actions[0]) for block in blocks]
    if GOAL in answers and (static or attack.category in OUTSIDE):
        harm.append("reached its goal")
    if static and len(set(answers)) > 1:
        harm.append("kept state between calls")
    if not np.array_equal(inputs, state):
        harm.append("changed its arguments")
    error = blocks[0].error or ""
    if blocks[0].status[0] == Status.RAISED:
        return Result("memory" if "MemoryError" in error else "runtime_error", harm, error)
    return Result("sanitized", harm, error)


@pytest.fixture
def run_attack(sandbox: Sandbox, canaries: Canaries) -> Callable[..., Result]:
    """Run a hostile program like any other, and look what it did."""

    def run(attack: Attack, layers: Layers, *, compiled: bool = False) -> Result:
        sandbox.warm_up(compiled=compiled)
        pids = zygote_pids(sandbox)
        result = _run(sandbox, attack, layers, TIGHT, compiled=compiled)
        if result.outcome == "timeout" and "timeout" not in attack.ends and layers is not Layers.OS:
            result = _run(sandbox, attack, layers, GENEROUS, compiled=compiled)
        result.harm += canaries.disturbed()
        result.harm += [f"zygote {pid}" for pid in pids if not alive(pid)]
        return result

    return run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per program: of the project's own attacks, of the folder EVOLVE_ATTACKS (all, or those that may get to
    run), of the harmless ones."""
    if "own_attack" in metafunc.fixturenames:
        metafunc.parametrize("own_attack", read_own_attacks(), ids=lambda attack: attack.id)
    if "policy" in metafunc.fixturenames:
        metafunc.parametrize("policy", read_policies(), ids=lambda policy: policy.name)
    for name in ("attack", "running_attack"):
        if name in metafunc.fixturenames:
            folder = Path(os.environ.get("EVOLVE_ATTACKS", HERE.parents[1] / ".." / "shared" / "attacks"))
            attacks = read_corpus(folder) if folder.is_dir() else []
            if name == "running_attack":
                attacks = [attack for attack in attacks if attack.ends != {"rejected_static"}]
            missing = pytest.param(None, marks=pytest.mark.skip(reason=f"no attacks in {folder}: set EVOLVE_ATTACKS"))
            metafunc.parametrize(name, attacks or [missing], ids=lambda attack: attack.id if attack else "none")


@pytest.fixture(autouse=True)
def no_children_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test closes its children: the session's sandbox holds none between tests."""
    yield
    if "sandbox" in request.fixturenames:
        left = request.getfixturevalue("sandbox")._children
        for child in list(left):
            child.close()
        assert not left


@pytest.fixture
def descriptors() -> Iterator[None]:
    """A test that leaks no descriptor."""
    folder = Path("/proc/self/fd")
    before = len(list(folder.iterdir()))
    yield
    assert len(list(folder.iterdir())) <= before


@pytest.fixture
def own_attacks() -> list[Attack]:
    """The project's own set."""
    return read_own_attacks()


# -- harmless programs


def _field(name: str, **more: object) -> Field:
    return Field(name=name, **more)  # type: ignore[arg-type]


PROBLEMS = {
    "inventory": Layout(
        entry="order",
        fields=(_field("on_hand", high=40.0), _field("pipeline", shape=(4,), high=10.0)),
        output=Output(low=0.0, high=1e6),
    ),
    "trading": Layout(
        entry="position",
        fields=(_field("prices", shape=(None,), per="instance", low=1.0), _field("holding", low=-1.0, high=1.0)),
        output=Output(low=-1.0, high=1.0, clip=True),
    ),
    "control": Layout(entry="act", fields=(_field("observation", shape=(4,), low=-1.0, high=1.0),), memory=2),
    "branching": Layout(
        entry="score", fields=(_field("features", shape=(8,), high=1.0), _field("depth", dtype="int", per="block"))
    ),
    "packing": Layout(
        entry="choose",
        fields=(_field("item", high=20.0), _field("bins", shape=(None,), high=30.0)),
        output=Output(dtype="int", low=-1, high=1000),
    ),
    "experiment": Layout(
        entry="acquire",
        fields=(
            _field("mean"),
            _field("deviation", high=5.0),
            _field("best", per="instance"),
            _field("round_number", dtype="int", per="block", high=20.0),
        ),
    ),
    "allocation": Layout(
        entry="allocate",
        fields=(_field("demand", shape=(3,)), _field("stock")),
        output=Output(shape=(3,), low=0.0, high=1e6),
    ),
}
"""The signatures that harmless programs are written for; parameters come from each program."""


@dataclass(frozen=True)
class Policy:
    """A harmless program with its full signature and its own parameter values."""

    name: str
    source: str
    layout: Layout
    theta: tuple[float, ...]


def read_policies() -> list[Policy]:
    """The set of plausible programs, in the order of the file."""
    policies = []
    for block in (HERE / "policies.txt").read_text(encoding="utf-8").split("\n### ")[1:]:
        head, _, source = block.partition("\n")
        name, problem = (part.strip() for part in head.split("|"))
        policies.append(make_policy(name, source, PROBLEMS[problem]))
    return policies


def make_policy(name: str, source: str, layout: Layout) -> Policy:
    """Read a program's parameters from its signature, as simply as possible."""
    tree = ast.parse(source)
    entry = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == layout.entry][-1]
    parameters, theta = [], []
    for argument, default in zip(entry.args.kwonlyargs, entry.args.kw_defaults, strict=True):
        call = argument.annotation
        assert isinstance(call, ast.Call)
        kind = {"Real": "real", "Integer": "integer", "Categorical": "choice"}[ast.unparse(call.func)]
        value = ast.literal_eval(default)
        if kind == "choice":
            choices = tuple(ast.literal_eval(choice) for choice in call.args)
            parameters.append(ParameterField(name=argument.arg, kind="choice", choices=choices))
            theta.append(float(choices.index(value)))
        else:
            size = len(value) if isinstance(value, tuple) else None
            parameters.append(ParameterField(name=argument.arg, kind=kind, size=size))
            theta += [float(place) for place in (value if isinstance(value, tuple) else [value])]
    return Policy(name, source, replace(layout, parameters=tuple(parameters)), tuple(theta))


def random_block(layout: Layout, rows: int, instances: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Plausible arguments for a block."""
    random = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}
    for field_ in layout.fields:
        shape = tuple(7 if length is None else length for length in field_.shape)
        leading = {"row": (rows,), "instance": (instances,), "block": ()}[field_.per]
        values = random.uniform(field_.low, field_.high, size=(*leading, *shape))
        arrays[field_.name] = values.astype(np.int64) if field_.dtype == "int" else values
    if layout.memory:
        arrays["memory"] = random.uniform(-1.0, 1.0, size=(rows, layout.memory))
    return arrays


@pytest.fixture
def policies() -> list[Policy]:
    """Harmless programs."""
    return read_policies()


@pytest.fixture
def blocks() -> Callable[..., dict[str, np.ndarray]]:
    """Makes plausible arguments."""
    return random_block
