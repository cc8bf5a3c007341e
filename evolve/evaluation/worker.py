"""A trusted worker process: `python -m evolve.evaluation.worker FD PARENT`, started and ended by the pool.

It reads tasks from the socket FD and writes results back, one at a time, as length-prefixed pickles: both ends are ours. A
candidate never runs here but in a locked child, which has no way to this socket. When the main process goes, however it
goes, the worker goes with it.
"""

import ctypes
import os
import pickle
import signal
import socket
import struct
import sys
from typing import Any

HEADER = struct.Struct("<Q")

_PR_SET_PDEATHSIG = 1

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
"""One core per worker: parallel work is across tickets."""


def send(connection: socket.socket, message: Any) -> None:
    """Write one message."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    connection.sendall(HEADER.pack(len(body)) + body)


def receive(connection: socket.socket) -> Any:
    """Read one message.

    Raises:
        EOFError: when the other side is gone.
    """
    (length,) = HEADER.unpack(_exactly(connection, HEADER.size))
    return pickle.loads(_exactly(connection, length))  # noqa: S301 - both ends of this socket are ours


def _exactly(connection: socket.socket, length: int) -> bytes:
    chunks = bytearray()
    while len(chunks) < length:
        chunk = connection.recv(min(length - len(chunks), 1 << 20))
        if not chunk:
            raise EOFError("the other side closed the connection")
        chunks += chunk
    return bytes(chunks)


def main() -> None:
    """Serve tasks until the socket closes."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process, which ends its workers itself
    os.environ.update(ENVIRONMENT)
    _end_with_parent(int(sys.argv[2]))
    try:
        _serve(connection)
    except (EOFError, ConnectionError):
        pass
    finally:
        connection.close()


def _end_with_parent(parent: int) -> None:
    """Have the kernel end this process when its parent ends, even while it computes and does not read its socket."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            raise SystemExit(1)  # it ended before we could ask


def _serve(connection: socket.socket) -> None:
    from evolve.errors import EvolveError
    from evolve.evaluation.evaluator import Evaluator
    from sandbox import SandboxError

    try:
        evaluator = Evaluator(receive(connection))
    except (EvolveError, SandboxError) as error:
        send(connection, error)
        return
    try:
        send(connection, str(evaluator.level))
        while True:
            send(connection, evaluator.run(receive(connection)))
    finally:
        evaluator.close()


if __name__ == "__main__":
    main()
