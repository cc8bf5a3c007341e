"""Landlock: a second wall in the kernel, independent of the system-call filter.

Defends against: opening, making, changing or running any file, binding or connecting TCP sockets, reaching abstract Unix
sockets and signalling other processes, as far as the running kernel knows them. The rule set is empty: nothing is
allowed.

Does not defend against: descriptors that are open already, and what the kernel's version of Landlock does not cover
(the filter covers it).
"""

import ctypes
import functools
import os
import struct

from sandbox.libc import syscall

_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same on every architecture
_VERSION = 1


@functools.cache
def version() -> int:
    """Version of Landlock that the kernel offers.

    Raises:
        OSError: if it offers none.
    """
    return syscall(_CREATE_RULESET, 0, 0, _VERSION)


def _attributes(abi: int) -> bytes:
    files = (1 << 13) - 1  # version 1: execute, read, write, list, make and remove of every kind
    for since, bit in ((2, 13), (3, 14), (5, 15)):  # refer, truncate, device ioctl
        files |= (abi >= since) << bit
    network = 0b11 if abi >= 4 else 0  # bind and connect TCP
    scoped = 0b11 if abi >= 6 else 0  # abstract sockets, signals
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    return struct.pack("<QQQ", files, network, scoped)[:size]


def restrict() -> None:
    """Allow this process and its descendants nothing, for good. Needs no_new_privs.

    Raises:
        OSError: if the kernel has no Landlock or refuses.
    """
    attributes = ctypes.create_string_buffer(raw := _attributes(version()), len(raw))
    ruleset = syscall(_CREATE_RULESET, ctypes.addressof(attributes), len(raw), 0)
    try:
        syscall(_RESTRICT_SELF, ruleset)
    finally:
        os.close(ruleset)
