"""Runs untrusted program source: a static allow list, a locked child process per program, blocks of decisions.

It knows nothing of what programs are for and is usable on its own. `docs/sandbox.md` shows how; `docs/security.md` has the
threat model.

Defends against: a program that does anything but answer its rows. What this module exports is all that a caller needs.

Does not defend against: a caller that reaches past it, into modules whose pieces are safe only together.
"""

from sandbox.berth import Layers
from sandbox.budget import MemoryBudget
from sandbox.child import Child, Ready
from sandbox.errors import ChildFailed, Refused, SandboxError, SandboxUnavailable
from sandbox.frames import Status
from sandbox.host import Sandbox, probe
from sandbox.levels import Level, Report, Wall
from sandbox.static import check_program
from sandbox.text import check_text
from sandbox.validation import Block
from sandbox.values import Field, Layout, Limits, Output, ParameterField

__all__ = [
    "Block",
    "Child",
    "ChildFailed",
    "Field",
    "Layers",
    "Layout",
    "Level",
    "Limits",
    "MemoryBudget",
    "Output",
    "ParameterField",
    "Ready",
    "Refused",
    "Report",
    "Sandbox",
    "SandboxError",
    "SandboxUnavailable",
    "Status",
    "Wall",
    "check_program",
    "check_text",
    "probe",
]
