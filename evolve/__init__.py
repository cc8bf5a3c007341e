"""Evolve readable, tuned and tested decision rules: an island search over sandboxed Python programs.

This is the public face: what a plug-in author or a notebook needs. Names are loaded when they are first used, so that the
command line starts quickly.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evolve.errors import EvolveError, ExportError, ProblemError, ProgramError, RunError, SettingsError
    from evolve.problem import (
        Action,
        Argument,
        Evidence,
        Figure,
        Instance,
        Limits,
        Observation,
        Outcome,
        Outcomes,
        Per,
        Policy,
        Problem,
        ProblemSettings,
        Signature,
        Split,
        Trace,
        observe,
    )
    from evolve.session import Observer, Result, Session
    from evolve.settings import RunSettings
    from evolve.space import Categorical, Integer, Real

_HOMES = {
    "errors": ("EvolveError", "ExportError", "ProblemError", "ProgramError", "RunError", "SettingsError"),
    "problem": (
        "Action",
        "Argument",
        "Evidence",
        "Figure",
        "Instance",
        "Limits",
        "Observation",
        "Outcome",
        "Outcomes",
        "Per",
        "Policy",
        "Problem",
        "ProblemSettings",
        "Signature",
        "Split",
        "Trace",
        "observe",
    ),
    "session": ("Observer", "Result", "Session"),
    "settings": ("RunSettings",),
    "space": ("Categorical", "Integer", "Real"),
}

__all__ = [
    "Action",
    "Argument",
    "Categorical",
    "Evidence",
    "EvolveError",
    "ExportError",
    "Figure",
    "Instance",
    "Integer",
    "Limits",
    "Observation",
    "Observer",
    "Outcome",
    "Outcomes",
    "Per",
    "Policy",
    "Problem",
    "ProblemError",
    "ProblemSettings",
    "ProgramError",
    "Real",
    "Result",
    "RunError",
    "RunSettings",
    "Session",
    "SettingsError",
    "Signature",
    "Split",
    "Trace",
    "observe",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"evolve.{module}"), name)
    raise AttributeError(f"module 'evolve' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
