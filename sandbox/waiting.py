"""Waiting for the other side: look a short while at shared memory before sleeping in the kernel.

Waking a sleeping processor core can take longer than a whole block call. So a waiter first watches the word that the
other side writes when it is done, giving up the processor at every look so that nobody else starves, and only then
blocks. It does so only while recent waits were short: next to a slow simulator, or on a busy machine, it sleeps at once.
"""

import os
from collections.abc import Callable
from time import perf_counter

_SHORT = 80e-6
"""Seconds; a longer wait is better slept through."""
_LOOKS = 200
_RETRY = 64
"""After so many waits that were slept through, try watching again."""

_give_way = getattr(os, "sched_yield", None)


class Spinner:
    """Waits for one word of shared memory to take a value.

    Args:
        words: shared memory, as 8-byte words.
        place: which word.
    """

    def __init__(self, words: memoryview, place: int) -> None:
        self.words, self.place = words, place
        self.slept = 0

    def wait(self, value: int, receive: Callable[[], bytes]) -> bytes:
        """Wait until the word has `value`, then receive the frame that follows it.

        Args:
            value: to wait for.
            receive: blocks until the frame is there.

        Returns:
            What `receive` returned.
        """
        start = perf_counter()
        if _give_way is not None and (self.slept == 0 or self.slept >= _RETRY):
            words, place, give_way = self.words, self.place, _give_way
            for _ in range(_LOOKS):
                if words[place] == value:
                    break
                give_way()
            self.slept = 0
        frame = receive()
        if self.slept or perf_counter() - start > _SHORT:
            self.slept += 1
        return frame
