"""Processes come and go: nothing is left behind, whoever dies first and however."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sandbox import ChildFailed, Field, Layout, Sandbox, SandboxError

LAYOUT = Layout(entry="f", fields=(Field(name="x"),))
SOURCE = "def f(x):\n    return x\n"
LOOP = "def f(x):\n    while True:\n        pass\n"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether a condition comes true; a limit for broken code, not a measurement."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def pids(sandbox: Sandbox) -> list[int]:
    return [zygote.process.pid for zygote in sandbox._zygotes.values()]


def children_of(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


OWNER = """
import sys, time
import numpy as np
from sandbox import Field, Layout, Sandbox
layout = Layout(entry="f", fields=(Field(name="x"),))
sandbox = Sandbox()
child = sandbox.spawn({source!r}, layout)
child.bind(np.zeros((1, 0)))
print(sandbox._zygotes[False].process.pid, child._connection.pid, flush=True)
{then}
"""


def start_owner(source: str, then: str) -> tuple[subprocess.Popen[str], int, int]:
    """A process of its own that owns a sandbox and a child; returns it, the zygote and the child."""
    text = OWNER.format(source=source, then=textwrap.dedent(then))
    owner = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    zygote, child = (int(word) for word in owner.stdout.readline().split())
    return owner, zygote, child


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_nothing_outlives_its_owner(number: signal.Signals) -> None:
    then = "child.call({'x': np.zeros(1)})"
    owner, zygote, child = start_owner(LOOP, then)
    assert eventually(lambda: alive(child))
    owner.send_signal(number)
    owner.wait()
    assert eventually(lambda: not alive(zygote))
    assert eventually(lambda: not alive(child))
    assert owner.stdout is not None
    owner.stdout.close()


def test_nothing_outlives_its_owner_where_another_process_holds_the_line() -> None:
    """A fork of the owner inherits descriptors; the zygote watches the owner itself."""
    then = """
    import os
    if os.fork() == 0:
        os.close(1)
        time.sleep(60)
        os._exit(0)
    time.sleep(60)
    """
    owner, zygote, child = start_owner(SOURCE, then)
    assert eventually(lambda: len(children_of(owner.pid)) == 2)
    fork = next(pid for pid in children_of(owner.pid) if pid != zygote)
    owner.kill()
    owner.wait()
    assert eventually(lambda: not alive(zygote))
    assert eventually(lambda: not alive(child))
    os.kill(fork, signal.SIGKILL)
    assert owner.stdout is not None
    owner.stdout.close()


def test_nothing_outlives_an_owner_that_just_ends() -> None:
    owner, zygote, child = start_owner(LOOP, "raise SystemExit")
    owner.wait()
    assert eventually(lambda: not alive(zygote))
    assert eventually(lambda: not alive(child))
    assert owner.stdout is not None
    owner.stdout.close()


def test_children_die_with_their_zygote() -> None:
    with Sandbox() as sandbox:
        child = sandbox.spawn(LOOP, LAYOUT)
        child.bind(np.zeros((1, 0)))
        pid = child._connection.pid
        os.kill(pids(sandbox)[0], signal.SIGKILL)
        with pytest.raises(ChildFailed):
            child.call({"x": np.zeros(1)})
        assert eventually(lambda: not alive(pid))


def test_a_killed_zygote_is_replaced() -> None:
    with Sandbox() as sandbox:
        sandbox.warm_up()
        (first,) = pids(sandbox)
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: not alive(first))
        with sandbox.spawn(SOURCE, LAYOUT) as child:
            child.bind(np.zeros((1, 0)))
            assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]
        assert pids(sandbox) != [first]


def test_a_zygote_killed_between_two_spawns_is_replaced() -> None:
    """The spawn itself finds out that its zygote is gone."""
    with Sandbox() as sandbox:
        sandbox.warm_up()
        zygote = sandbox._zygotes[False]
        alive_before = type(zygote).alive
        try:
            type(zygote).alive = property(lambda self: True)  # as if it died after the look
            os.kill(zygote.process.pid, signal.SIGKILL)
            zygote.process.wait()
            with sandbox.spawn(SOURCE, LAYOUT) as child:
                child.bind(np.zeros((1, 0)))
                assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]
        finally:
            type(zygote).alive = alive_before


def test_an_interrupt_while_forking_leaves_nothing_out_of_step(monkeypatch: pytest.MonkeyPatch) -> None:
    from sandbox.launch import Zygote

    with Sandbox() as sandbox:
        sandbox.warm_up()

        def interrupted(self: Zygote) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Zygote, "spawned", interrupted)
            with pytest.raises(KeyboardInterrupt):
                sandbox.spawn(SOURCE, LAYOUT)
        with sandbox.spawn(SOURCE, LAYOUT) as child:
            child.bind(np.zeros((1, 0)))
            assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]


def test_a_killed_child_is_told_apart() -> None:
    with Sandbox() as sandbox:
        child = sandbox.spawn(SOURCE, LAYOUT)
        child.bind(np.zeros((1, 0)))
        os.kill(child._connection.pid, signal.SIGKILL)
        with pytest.raises(ChildFailed, match="killed from outside"):
            child.call({"x": np.zeros(1)})


def test_closing_ends_and_reaps() -> None:
    with Sandbox() as sandbox:
        children = [sandbox.spawn(SOURCE, LAYOUT) for _ in range(3)]
        (zygote,) = pids(sandbox)
        inmates = [child._connection.pid for child in children]
        assert sorted(children_of(zygote)) == sorted(inmates)
        for child in children:
            child.close()
        assert eventually(lambda: children_of(zygote) == [])
    assert eventually(lambda: not alive(zygote))


def test_a_sandbox_that_is_closed_starts_anew() -> None:
    sandbox = Sandbox()
    for _ in range(2):
        with sandbox, sandbox.spawn(SOURCE, LAYOUT) as child:
            child.bind(np.zeros((1, 0)))
            assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]


def test_no_descriptors_are_left(descriptors: None) -> None:
    with Sandbox() as sandbox:
        for source in (SOURCE, LOOP, "def f(x):\n    return 1 / 0\n", "import os\n", "X = 1 / 0\n" + SOURCE) * 3:
            try:
                with sandbox.spawn(source, LAYOUT) as child:
                    child.bind(np.zeros((1, 0)))
                    if source is not LOOP:
                        child.call({"x": np.zeros(1)})
            except SandboxError:
                pass


def test_a_fork_of_the_owner_cannot_use_its_sandbox() -> None:
    with Sandbox() as sandbox:
        sandbox.warm_up()
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                sandbox.spawn(SOURCE, LAYOUT)
            except SandboxError as error:
                os.write(writer, str(error).encode())
            os._exit(0)
        os.close(writer)
        os.waitpid(pid, 0)
        text = os.read(reader, 1000).decode()
        os.close(reader)
        assert "across a fork" in text
        with sandbox.spawn(SOURCE, LAYOUT) as child:
            child.bind(np.zeros((1, 0)))
            assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]


def test_a_sandbox_outlives_the_thread_that_made_it() -> None:
    """What the kernel ties to the thread that forked must not end the zygote with it."""
    with Sandbox() as sandbox:
        thread = threading.Thread(target=sandbox.warm_up)
        thread.start()
        thread.join()
        for _ in range(3):
            with sandbox.spawn(SOURCE, LAYOUT) as child:
                child.bind(np.zeros((1, 0)))
                assert child.call({"x": np.ones(1)}).actions.tolist() == [1.0]
        assert len(pids(sandbox)) == 1


def test_an_interrupt_of_the_terminal_spares_the_zygote() -> None:
    with Sandbox() as sandbox:
        sandbox.warm_up()
        (zygote,) = pids(sandbox)
        os.kill(zygote, signal.SIGINT)
        assert os.getsid(zygote) != os.getsid(0)
        with sandbox.spawn(SOURCE, LAYOUT) as child:
            child.bind(np.zeros((1, 0)))
        assert alive(zygote)


def test_secrets_do_not_reach_the_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "top-secret")
    with Sandbox() as sandbox:
        sandbox.warm_up()
        (zygote,) = pids(sandbox)
        if os.geteuid() != 0:
            with pytest.raises(PermissionError):  # not even its own user may look into it
                Path(f"/proc/{zygote}/environ").read_bytes()
            return
        assert b"top-secret" not in Path(f"/proc/{zygote}/environ").read_bytes()
        assert len(list(Path(f"/proc/{zygote}/fd").iterdir())) <= 6
        assert Path(f"/proc/{zygote}/cwd").readlink() == Path("/")


def test_soak() -> None:
    """Some hundred children, most of them hostile: nothing grows. The long run is in the benchmarks."""
    programs = [SOURCE, "import os\n" + SOURCE, "def f(x):\n    return 1 / 0\n", "X = [1] * 10 ** 11\n" + SOURCE]
    with Sandbox() as sandbox:
        sandbox.warm_up()
        (zygote,) = pids(sandbox)
        counts = []
        for number in range(240):
            try:
                with sandbox.spawn(programs[number % 4], LAYOUT, max_rows=8) as child:
                    child.bind(np.zeros((1, 0)))
                    child.call({"x": np.zeros(8)})
            except SandboxError:
                pass
            if number in {39, 239}:
                assert eventually(lambda: children_of(zygote) == [])
                gc.collect()  # what earlier tests left to the collector is not this one's
                counts.append(len(list(Path("/proc/self/fd").iterdir())))
        assert counts[1] <= counts[0]
        assert pids(sandbox) == [zygote]
