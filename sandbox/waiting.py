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

_give_way: Callable[[], None] = getattr(os, "sched_yield", lambda: None)


class Spinner:
    """Waits for one word of shared memory to take a value.

    Args:
        words: shared memory, as 8-byte words.
        place: which word.
        receive: blocks until the frame is there that follows the word.
    """

    def __init__(self, words: memoryview, place: int, receive: Callable[[], bytes]) -> None:
        self.words, self.place, self.receive = words, place, receive
        self.slept = 0

    def wait(self, value: int) -> bytes:
        """Wait until the word has `value`; returns the frame that follows it."""
        if self.slept and self.slept < _RETRY:
            self.slept += 1
            return self.receive()
        start = perf_counter()
        words, place = self.words, self.place
        for _ in range(_LOOKS):
            if words[place] == value:
                break
            _give_way()
        frame = self.receive()
        self.slept = 1 if perf_counter() - start > _SHORT else 0
        return frame
