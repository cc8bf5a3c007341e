"""The memory that the programs of all workers share: who keeps the account, and how large it is by default."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARE = 0.75
"""Of the machine's memory (or of this container's), unless the user says otherwise."""

_CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@contextmanager
def memory_account() -> Iterator[Path | None]:
    """A file in memory that workers lock parts of, by a path that they can open; None where there is no such thing.

    It lasts as long as this process, and leaves nothing behind however that ends.
    """
    try:
        descriptor = os.memfd_create("evolve-memory-account", os.MFD_CLOEXEC)
    except (AttributeError, OSError):  # not Linux, or a kernel or container without it
        yield None
        return
    try:
        yield Path(f"/proc/{os.getpid()}/fd/{descriptor}")
    finally:
        os.close(descriptor)


def default_megabytes() -> int:
    """Three quarters of what this machine or container has, in MB."""
    return max(1, int(SHARE * min(_limits(), default=0) / 2**20))


def _limits() -> Iterator[int]:
    yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _CONTAINER_LIMITS:
        try:
            yield int(path.read_text(encoding="ascii"))
        except (OSError, ValueError):  # not there, or the word "max"
            continue
