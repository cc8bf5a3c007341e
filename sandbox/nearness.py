"""Keeping a child on its parent's processor while they talk often.

The two take turns and never work at the same time, so a second processor only adds the time to wake it: measured on an
idle machine with two cores, a round trip takes 20 µs on one and 40 µs across both. (Watching shared memory instead of
sleeping was slower still, and took the other core from its rightful users.) Next to slow simulators nearness gains
nothing, so children are then left to the scheduler.

Defends against: nothing; it is for speed alone. The parent moves the child, which has no say and cannot move itself.

Does not defend against: side channels between processes that share a processor; nearness makes parent and child share.
"""

import os
from contextlib import suppress
from time import perf_counter

from sandbox.libc import current_processor

_WINDOW = 32
"""Calls between two looks at where the parent runs."""
_OFTEN_SECONDS = 500e-6
"""Time per call, thinking included, up to which nearness pays."""


class Nearness:
    """Moves a child after its parent. Does nothing where the system cannot tell or set processors.

    Args:
        pid: process id of the child.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.calls = 0
        self.since = 0.0
        self.processor: int | None = None
        self.anywhere: set[int] = set()
        if hasattr(os, "sched_getaffinity"):
            with suppress(OSError):
                self.anywhere = os.sched_getaffinity(pid)

    def start(self) -> None:
        """Move the child here; calls are about to come."""
        self.calls, self.since = 0, perf_counter()
        self._move(current_processor())

    def call(self) -> None:
        """Count a call; now and then, follow the parent or let the child go."""
        self.calls += 1
        if self.calls < _WINDOW:
            return
        now = perf_counter()
        often = now - self.since < _WINDOW * _OFTEN_SECONDS
        self.calls, self.since = 0, now
        self._move(current_processor() if often else None)

    def _move(self, processor: int | None) -> None:
        if processor != self.processor and len(self.anywhere) > 1:
            self.processor = processor
            with suppress(OSError):  # it has ended, or may not be moved: it runs all the same
                os.sched_setaffinity(self.pid, self.anywhere if processor is None else {processor})
