"""What crosses between processes, byte for byte.

Defends against: a child that sends too much, too little or something else. Every frame has a fixed size; every number in
it is checked against what the receiver knows; text lies in a fixed place in shared memory and is cut, decoded leniently
and quoted. Nothing is ever unpickled.

Does not defend against: frames that are well formed and untrue. A child may say "done" without having done anything; it
then answers with whatever lies in its outputs.

Three channels:

- parent ↔ zygote, a stream of `CONTROL` frames (descriptors ride along): spawn, reap;
- parent ↔ child, a stream: one `HELLO` frame and the program as JSON, then `TOKEN` frames in both directions;
- shared memory: inputs (the child cannot write them) and outputs (the parent copies before it looks).
"""

import json
import re
import struct
from enum import IntEnum

CONTROL = struct.Struct("<8q")
"""command, then its arguments."""

TOKEN = struct.Struct("<qq")
"""sequence number, code."""

LENGTH = struct.Struct("<q")
"""length of the JSON text that follows."""


class Command(IntEnum):
    """What a parent asks of a zygote."""

    SPAWN = 1
    REAP = 2
    """make sure that a child is gone, and say how it ended"""
    RELEASE = 3
    """the same without an answer"""


class Code(IntEnum):
    """What a child says at the end of a step."""

    DONE = 0
    CHECKED = 1
    """the program passed the static layer and its module code has run"""
    READY = 2
    READY_PLAIN = 3
    """ready, but not compiled although asked; the text says why"""
    REFUSED = 4
    BROKEN = 5
    """the child itself failed; the text says how"""


class Status(IntEnum):
    """What became of one row."""

    OK = 0
    RAISED = 1
    BAD_TYPE = 2
    NOT_FINITE = 3
    OUT_OF_RANGE = 4
    WRONG_SHAPE = 5


class Operation(IntEnum):
    """What a parent asks of a child, in the header of the inputs."""

    BIND = 1
    CALL = 2


HEADER_BYTES = 4096
TEXT_OFFSET = 1024
TEXT_BYTES = 2048

# words of the inputs' header, 8 bytes each
OPERATION, EPOCH, ROWS, INSTANCES, VECTORS, SHARED, SLOTS = 0, 1, 2, 3, 4, 5, 8
SAME_VECTOR, SAME_INSTANCE = 1, 2
"""Bits of SHARED: all rows use the only vector; all belong to the only instance."""
SLOT_WORDS = 6
"""Per argument: where it lies, then its lengths."""

# words of the outputs' header
FAILED_ROWS, TEXT_LENGTH = 0, 1

MAX_DIMENSIONS = SLOT_WORDS - 1
MAX_SLOTS = (HEADER_BYTES // 8 - SLOTS) // SLOT_WORDS

_CUT = 400


_ADDRESS = re.compile("0x[0-9A-Fa-f]{5,}")


def printable(text: str) -> str:
    """Candidate text for people and prompts: one line, cut, only visible ASCII, without addresses, in double quotes."""
    cut = text if len(text) <= _CUT else text[:_CUT] + "…"
    visible = "".join(character if character.isprintable() else " " for character in cut)
    return json.dumps(_ADDRESS.sub("0x…", visible))
