"""Drives the real command line in processes of its own; for the end-to-end tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

FORMS = Path(__file__).parents[1] / "plugins" / "forms.py"
"""Plug-in file with one small problem in each form of the contract."""


def run_command(folder, *arguments, code=0, timeout=240, **options):
    """Run `evolve ARGUMENTS` in a folder; fails the test unless it ends with the exit code expected."""
    done = subprocess.run(
        command(*arguments), cwd=folder, capture_output=True, text=True, timeout=timeout, check=False, **options
    )
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def command(*arguments):
    return [sys.executable, "-P", "-m", "evolve", *map(str, arguments)]


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def processes_of(marker):
    """Process ids whose environment or command line holds a marker (Linux)."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if marker.encode() in text:
            found.append(int(entry.name))
    return found
