"""Runs untrusted program source: a static allow list, a locked child process per program, blocks of decisions.

It knows nothing of what programs are for and is usable on its own. `docs/security.md` has the threat model.
"""

from sandbox.errors import ChildFailed, Refused, SandboxError, SandboxUnavailable
from sandbox.text import check_text
from sandbox.values import Field, Layout, Limits, Output, ParameterField

__all__ = [
    "ChildFailed",
    "Field",
    "Layout",
    "Limits",
    "Output",
    "ParameterField",
    "Refused",
    "SandboxError",
    "SandboxUnavailable",
    "check_text",
]
