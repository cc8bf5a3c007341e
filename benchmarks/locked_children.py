"""What the sandbox costs: start, call, kill, throughput; and whether anything grows over thousands of children.

    python benchmarks/locked_children.py [--quick] [--soak N]

Every figure is a minimum or a median over several runs, as said beside it: the machine may be busy with other things.
"""

import argparse
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox import Field, Layout, Limits, Output, ParameterField, Sandbox, SandboxError
from sandbox.compilation import compile_rows
from sandbox.load import load
from sandbox.rows import Block, PlainRows
from sandbox.warm import warm_up

LEAD = 4
LAYOUT = Layout(
    entry="order",
    fields=(Field(name="on_hand", high=40.0), Field(name="pipeline", shape=(LEAD,), high=10.0)),
    parameters=(ParameterField(name="level"), ParameterField(name="cap", kind="integer")),
    output=Output(low=0.0, high=1e6),
)
SOURCE = '''
def order(on_hand, pipeline, *, level: Real(0, 60) = 20.0, cap: Integer(0, 20) = 8):
    """Order up to a level, but never more than a cap."""
    position = on_hand + pipeline.sum()
    return min(cap, max(0.0, level - position))
'''
TYPICAL = '''
SAFETY = 1.65
WEIGHTS = (1.0, 0.9, 0.8, 0.7)


def clip(value, low, high):
    """Keep a value between two bounds."""
    if value < low:
        return low
    return high if value > high else value


def order(on_hand, pipeline, *, level: Real(0, 60) = 20.0, cap: Integer(0, 20) = 8):
    """Project the stock over the lead time, then order towards a level that grows with the spread of arrivals."""
    projected = on_hand
    lost = 0.0
    for i in range(len(pipeline)):
        projected += WEIGHTS[i] * pipeline[i] - 0.2 * level
        if projected < 0.0:
            lost -= projected
            projected = 0.0
    spread = math.sqrt(max(0.0, float(np.mean(pipeline ** 2) - np.mean(pipeline) ** 2)))
    target = level + SAFETY * spread
    gap = target - on_hand - pipeline.sum()
    if gap <= 0.0 and lost == 0.0:
        return 0.0
    quantity = gap + 0.1 * lost
    if quantity > cap:
        quantity = cap
    return clip(quantity, 0.0, 1.0e6)
'''


def timed(action: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of each of some runs."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return seconds


def show(what: str, seconds: list[float], scale: float = 1e3, unit: str = "ms") -> None:
    """One line of a table."""
    print(f"  {what:<52} min {min(seconds) * scale:9.2f} {unit}   median {median(seconds) * scale:9.2f} {unit}")


# -- start


def start(sandbox: Sandbox, repeats: int) -> None:
    """Spawn → locked → ready, and closed again."""
    print("start: spawn → locked → ready")
    for name, source in (("4 lines", SOURCE), ("30 lines", TYPICAL)):
        show(f"plain, {name}", timed(lambda: sandbox.spawn(source, LAYOUT, max_rows=4096).close(), repeats))  # noqa: B023
    for name, source in (("4 lines", SOURCE), ("30 lines", TYPICAL)):
        runs = timed(lambda: sandbox.spawn(source, LAYOUT, max_rows=4096, compiled=True).close(), max(3, repeats // 10))  # noqa: B023
        show(f"compiled, {name}", runs)
    command = [sys.executable, "-c", "import numpy"]
    show("for comparison: a cold process with numpy", timed(lambda: subprocess.run(command, check=True), 3))


# -- calls


def calls(sandbox: Sandbox, repeats: int) -> None:
    """Round trips of the smallest blocks."""
    print("call: round trip of a block of one row")
    arrays = {"on_hand": np.ones(1), "pipeline": np.ones((1, LEAD))}
    for compiled in (True, False):
        with sandbox.spawn(SOURCE, LAYOUT, max_rows=4096, compiled=compiled) as child:
            child.bind(np.array([[20.0, 8.0]]))
            show("compiled" if compiled else "plain", timed(lambda: child.call(arrays), repeats), 1e6, "µs")
            thinking = timed(lambda: (think(200e-6), child.call(arrays)), repeats // 10)
            show("  with 200 µs of thinking before each", [s - 200e-6 for s in thinking], 1e6, "µs")
    null = Layout(entry="f", output=Output(low=0.0, high=2.0))
    with sandbox.spawn("def f():\n    return 1.0\n", null, max_rows=1, compiled=True) as child:
        child.bind(np.zeros((1, 0)))
        show("null: no argument, compiled", timed(lambda: child.call({}), repeats), 1e6, "µs")


def think(seconds: float) -> None:
    """Keep the processor busy."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def kill(sandbox: Sandbox, repeats: int) -> None:
    """From the signal to the error that the waiting parent raises, exit status included."""
    print("kill: from the signal to the end seen by the parent")
    seconds = []
    for _ in range(repeats):
        with sandbox.spawn(ENDLESS, LAYOUT, max_rows=1) as child:
            child.bind(np.array([[20.0, 8.0]]))
            handle = child._connection.handle  # noqa: SLF001 - the figure needs the bare signal
            killed: list[float] = []

            def strike(handle: int = handle, killed: list[float] = killed) -> None:
                time.sleep(0.01)
                killed.append(time.perf_counter())
                signal.pidfd_send_signal(handle, signal.SIGKILL)

            striker = threading.Thread(target=strike)
            striker.start()
            with suppress(SandboxError):
                child.call({"on_hand": np.ones(1), "pipeline": np.ones((1, LEAD))})
            seconds.append(time.perf_counter() - killed[0])
            striker.join()
    show("endless loop", seconds)


# -- throughput of the inventory problem


class Simulator:
    """A lost-sales inventory over many rows, state in numpy; the reference of what a trusted evaluator does per step."""

    def __init__(self, rows: int, on_hand: np.ndarray, pipeline: np.ndarray) -> None:
        self.on_hand, self.pipeline = on_hand, pipeline
        on_hand[:] = 10.0
        pipeline[:] = 2.0
        self.demand = np.random.default_rng(0).poisson(5.0, size=(64, rows)).astype(float)
        self.cost = np.zeros(rows)
        self.sales = np.zeros(rows)
        self.step = 0

    def advance(self, order: np.ndarray) -> None:
        """One period: receive, sell, pay, order."""
        demand = self.demand[self.step % 64]
        self.step += 1
        self.on_hand += self.pipeline[:, 0]
        np.minimum(self.on_hand, demand, out=self.sales)
        self.on_hand -= self.sales
        self.cost += self.on_hand
        self.cost += 4.0 * (demand - self.sales)
        self.pipeline[:, :-1] = self.pipeline[:, 1:]
        self.pipeline[:, -1] = order


def binding(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Up to 64 parameter vectors spread over the rows."""
    vectors = min(64, rows)
    theta = np.random.default_rng(1).uniform([10.0, 4.0], [40.0, 20.0], size=(vectors, 2)).round()
    return theta, np.repeat(np.arange(vectors), rows // vectors), np.zeros(rows, dtype=np.intp), 1


def best_rate(step: Callable[[], object], rows: int, budget: float) -> float:
    """Row-steps per second, the best of several stretches."""
    best, deadline = 0.0, time.perf_counter() + budget
    while time.perf_counter() < deadline:
        begin = time.perf_counter()
        for _ in range(20):
            step()
        best = max(best, 20 * rows / (time.perf_counter() - begin))
    return best


def throughput(sandbox: Sandbox, budget: float) -> None:
    """The inventory problem through a locked child, and without one."""
    print("throughput: inventory, million row-steps per second (simulator included; best of several stretches)")
    print(f"  {'rows':>8} {'locked, compiled':>18} {'in one process':>16} {'locked, plain':>15}")
    loaded = load(SOURCE, LAYOUT)
    plain = PlainRows(loaded.entry, LAYOUT)
    inside = compile_rows(loaded, LAYOUT, plain)
    for rows in (64, 256, 1024, 4096, 16384):
        rates = []
        for compiled in (True, False):
            with sandbox.spawn(SOURCE, LAYOUT, max_rows=rows, compiled=compiled) as child:
                child.bind(*binding(rows))
                simulator = Simulator(rows, child.buffer("on_hand"), child.buffer("pipeline"))
                arrays = {"on_hand": simulator.on_hand, "pipeline": simulator.pipeline}
                rates.append(best_rate(lambda: simulator.advance(child.call(arrays).actions), rows, budget))  # noqa: B023
        simulator = Simulator(rows, np.zeros(rows), np.zeros((rows, LEAD)))
        block = Block(
            rows=rows,
            arguments=[simulator.on_hand, simulator.pipeline],
            per=["row", "row"],
            memory=None,
            actions=np.zeros(rows),
            status=np.zeros(rows, dtype=np.uint8),
            memory_out=None,
        )
        theta, vector, instance, _ = binding(rows)
        inside.bind(theta, vector, instance)

        def step(simulator: Simulator = simulator, block: Block = block) -> None:
            inside.run(block, plain)
            simulator.advance(block.actions)

        alone = best_rate(step, rows, budget)
        print(f"  {rows:>8} {rates[0] / 1e6:>18.2f} {alone / 1e6:>16.2f} {rates[1] / 1e6:>15.3f}")


# -- two workers


def candidates(seconds: float, results: "multiprocessing.Queue[int]") -> None:
    """Spawn, bind, call and close as many candidates as fit."""
    with Sandbox() as sandbox:
        sandbox.warm_up()
        arrays = {"on_hand": np.ones(16), "pipeline": np.ones((16, LEAD))}
        done, deadline = 0, time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            with sandbox.spawn(TYPICAL, LAYOUT, max_rows=16) as child:
                child.bind(np.array([[20.0, 8.0]]))
                child.call(arrays)
            done += 1
        results.put(done)


def round_trips(seconds: float, results: "multiprocessing.Queue[int]") -> None:
    """As many small blocks as fit, with a little work of the parent's in between."""
    with Sandbox() as sandbox, sandbox.spawn(SOURCE, LAYOUT, max_rows=64) as child:
        child.bind(np.array([[20.0, 8.0]]))
        arrays = {"on_hand": np.ones(64), "pipeline": np.ones((64, LEAD))}
        done, deadline = 0, time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            child.call(arrays)
            done += 1
        results.put(done)


def workers(seconds: float) -> None:
    """Two workers on this machine against one."""
    print("workers: rates of one and of two worker processes with a sandbox each, per second")
    context = multiprocessing.get_context("spawn")
    for name, work in (("isolated candidates", candidates), ("blocks of 64 plain rows", round_trips)):
        rates = []
        for count in (1, 2):
            results: multiprocessing.Queue[int] = context.Queue()
            processes = [context.Process(target=work, args=(seconds, results)) for _ in range(count)]
            for process in processes:
                process.start()
            rates.append(sum(results.get() for _ in processes) / seconds)
            for process in processes:
                process.join()
        print(f"  {name:<52} one {rates[0]:9.0f}      two {rates[1]:9.0f}")


# -- soak

HOSTILE = [
    SOURCE,
    "import os\n" + SOURCE,
    "def order(on_hand, pipeline, *, level, cap):\n    return [0.0] * 10 ** 11\n",
    "def order(on_hand, pipeline, *, level, cap):\n    return 1 / 0\n",
    SOURCE,
    "X = [1.0] * 10 ** 12\n" + SOURCE,
    "def order(on_hand, pipeline, *, level, cap):\n    return order(on_hand, pipeline, level=level, cap=cap)\n",
    "def order(on_hand, pipeline, *, level, cap):\n    raise ValueError('x' * 10 ** 7)\n",
]
ENDLESS = "def order(on_hand, pipeline, *, level, cap):\n    while True:\n        pass\n"


def state_of(sandbox: Sandbox) -> tuple[int, int, int]:
    """Open descriptors, children of the zygote (zombies included), resident kilobytes of this process."""
    zygote = next(iter(sandbox._zygotes.values())).process.pid  # noqa: SLF001
    children = len(Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split())
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return len(list(Path("/proc/self/fd").iterdir())), children, pages * os.sysconf("SC_PAGE_SIZE") // 1024


def soak(count: int) -> None:
    """Thousands of children: nothing may grow."""
    print(f"soak: {count} candidates, three quarters hostile")
    arrays = {"on_hand": np.ones(8), "pipeline": np.ones((8, LEAD))}
    limits = Limits(call_seconds=0.05, memory_mb=128)
    states = []
    begin = time.perf_counter()
    with Sandbox() as sandbox:
        for number in range(count):
            source = ENDLESS if number % 50 == 49 else HOSTILE[number % len(HOSTILE)]
            with suppress(SandboxError), sandbox.spawn(source, LAYOUT, limits=limits, max_rows=8) as child:
                child.bind(np.array([[20.0, 8.0]]))
                child.call(arrays)
            if number in {count // 10, count - 1}:
                time.sleep(0.1)
                states.append(state_of(sandbox))
        restarts = len(sandbox._zygotes) - 1  # noqa: SLF001
    seconds = time.perf_counter() - begin
    for name, early, late in zip(("descriptors", "children of the zygote", "resident kilobytes"), *states, strict=True):
        print(f"  {name:<52} after a tenth {early:9d}   at the end {late:9d}")
    print(f"  {'candidates per second':<52} {count / seconds:9.0f}   further zygotes {restarts}")


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of compilers about themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke run: few repeats")
    parser.add_argument(
        "--soak", type=int, metavar="N", help="only the soak, with N candidates (5000 is the figure to show)"
    )
    options = parser.parse_args()
    if options.soak:
        soak(options.soak)
        return
    repeats, budget = (5, 0.1) if options.quick else (60, 1.5)
    with quiet():
        warm_up(compiling=True)
        with Sandbox() as sandbox:
            print(f"level {sandbox.level}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
            sandbox.warm_up(compiled=True)
            if not options.quick:
                time.sleep(20)  # let the zygote finish what it compiles ahead
            start(sandbox, repeats)
            calls(sandbox, 50 if options.quick else 5000)
            kill(sandbox, repeats)
            throughput(sandbox, budget)
    workers(0.5 if options.quick else 4.0)
    if options.quick:
        soak(100)


if __name__ == "__main__":
    main()
