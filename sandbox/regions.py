"""Shared memory between a parent and a child: one region for inputs, one for outputs.

Defends against: a child that resizes a region under its parent (seals forbid it) or writes its inputs (on Linux the
kernel refuses every writable mapping of that region but the parent's own, which was made before the seal). So a trusted
simulator may keep its state in the inputs.

Does not defend against: a child that reads inputs early or late, or writes outputs at any time. The parent copies
outputs before it looks at them.

Where the kernel has no sealed memory, regions are temporary files: the same reach, without the seals.
"""

import mmap
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_ADD_SEALS = 1033
_SEAL_SEAL, _SEAL_SHRINK, _SEAL_GROW, _SEAL_FUTURE_WRITE = 1, 2, 4, 16


def can_seal() -> bool:
    """Whether this kernel has memory files with the seals needed."""
    if sys.platform != "linux":
        return False
    try:
        Region(mmap.PAGESIZE, child_writes=False, sealed=True).close()
    except OSError:
        return False
    return True


class Region:
    """A piece of shared memory, zero at first, mapped for the parent. Pages cost nothing until they are used.

    Args:
        size: bytes.
        child_writes: whether a child may map it writable.
        sealed: use sealed memory (Linux); otherwise a file.
        path: the file, where the child must open it by name; nameless otherwise.

    Raises:
        OSError: if the system cannot make it.
    """

    def __init__(self, size: int, *, child_writes: bool, sealed: bool, path: Path | None = None) -> None:
        self.size = size
        if sealed and sys.platform == "linux":
            self.descriptor = os.memfd_create("sandbox", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        elif path is not None:
            self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        else:
            self.descriptor, name = tempfile.mkstemp(prefix="sandbox-")
            Path(name).unlink()
        try:
            os.ftruncate(self.descriptor, size)
            self.memory = mmap.mmap(self.descriptor, size)
            if sealed and sys.platform == "linux":
                seals = _SEAL_SHRINK | _SEAL_GROW | _SEAL_SEAL | (0 if child_writes else _SEAL_FUTURE_WRITE)
                fcntl.fcntl(self.descriptor, _ADD_SEALS, seals)
        except BaseException:
            self.forget_descriptor()
            raise

    def forget_descriptor(self) -> None:
        """Close the descriptor once a child has been given it; the mapping stays."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def close(self) -> None:
        """Unmap. Where arrays over the memory are still alive, the last of them unmaps."""
        self.forget_descriptor()
        with suppress(BufferError):
            self.memory.close()
        del self.memory  # so that the last array over it, if there is one, takes it along
