"""A program as a plain Python function with tuned defaults, and a small test beside it. Both need numpy alone."""

import ast
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from archive import Archive, ProgramRecord, RunRecord
from evolve.annotations import literal
from evolve.errors import ExportError, ProgramError
from evolve.export.cases import Case, make_cases
from evolve.export.recheck import fresh_score, refuse_marked
from evolve.problem import Problem, Signature
from evolve.program import Program, read_program
from evolve.registry import load_problem
from evolve.search.population import typical
from evolve.settings import RunSettings
from evolve.space import Categorical, Integer, Parameter

_WIDTH = 110


def export_function(
    archive: Archive, run: RunRecord, record: ProgramRecord, out: Path, *, force: bool, weak_sandbox: bool = False
) -> list[Path]:
    """Write `NAME.py` and `test_NAME.py` into a folder.

    Args:
        archive: where the program's lineage is read.
        run: its run.
        record: the program; it must have been scored.
        out: the folder; it is made if it is missing.
        force: overwrite files that are there, and write a program that is not to be trusted.
        weak_sandbox: run it even where the machine cannot isolate it.

    Returns:
        The two paths.

    Raises:
        ExportError: if the program was not scored, fails now, or was found out, or a file is in the way.
    """
    if record.status != "ok":
        raise ExportError(
            f"{run.id}:{record.name} was not scored ({record.status}: {record.reason}); there is nothing to export"
        )
    problem = load_problem(run.settings["problem"], run.settings["set"])
    try:
        program = read_program(record.source, problem.signature.entry, problem.signature.positional)
    except ProgramError as error:
        raise ExportError(f"{run.id}:{record.name} does not fit problem {problem.name} as it is now: {error}") from None
    if not force:
        refuse_marked(archive, run, record)
    seed, again = fresh_score(run, record, weak_sandbox=weak_sandbox)
    notes = [
        f"Scored again before export, in a fresh process, on validation with seed {seed}: {again:.6g}.",
        f"Lineage: {_ancestry(archive, run, record)}.",
    ]
    name = re.sub(r"\W", "_", f"{run.id}_{record.label or record.name}")
    text = function_source(problem, program, record, run, notes)
    values = typical(record.values)
    cases = make_cases(problem, program, values, weak_sandbox=weak_sandbox)
    files = {f"{name}.py": text, f"test_{name}.py": _test_source(name, problem.signature, cases)}
    return _write(files, out, force=force)


def _write(files: Mapping[str, str], out: Path, *, force: bool) -> list[Path]:
    paths = [out / name for name in files]
    present = [path for path in paths if path.exists()]
    if present and not force:
        raise ExportError(f"{present[0]} is there already; --force overwrites it, --out DIR writes elsewhere")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, files.values(), strict=True):
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ExportError(f"cannot write to {out}: {error.strerror}") from None
    return paths


def _ancestry(archive: Archive, run: RunRecord, record: ProgramRecord) -> str:
    """The line of first parents, oldest first."""
    line, current = [record], record
    while current.parents:
        current = archive.program(run.id, current.parents[0].name)
        line.append(current)
    return " → ".join(f"{step.name} ({step.label or step.operator})" for step in reversed(line))


def function_source(
    problem: Problem[Any, Any], program: Program, record: ProgramRecord, run: RunRecord, notes: Sequence[str]
) -> str:
    """The module's text: imports, the function with tuned defaults and plain annotations, parameters by group."""
    tree = ast.parse(program.with_values(typical(record.values)))
    entry = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == program.entry][-1]
    domains = {parameter.name: parameter for parameter in program.space.parameters}
    for argument in entry.args.kwonlyargs:
        argument.annotation = ast.Name(_plain_type(domains[argument.arg]), ast.Load())
    said = ast.get_docstring(entry)
    if said is not None:
        entry.body = entry.body[1:] or [ast.Pass()]
    entry.body.insert(0, ast.Expr(ast.Constant(_docstring(problem, program, said))))
    header = _module_docstring(problem, record, run, notes)
    imports = [f"import {module}" for module, name in (("math", "math"), ("numpy as np", "np")) if _uses(tree, name)]
    parts = [f'"""{header}"""', "\n".join(imports), ast.unparse(ast.fix_missing_locations(tree)), _groups(record)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _plain_type(parameter: Parameter) -> str:
    domain = parameter.domain
    if isinstance(domain, Categorical):
        return type(domain.choices[0]).__name__
    if domain.size is not None:
        return "tuple"
    return "int" if isinstance(domain, Integer) else "float"


def _uses(tree: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def _module_docstring(problem: Problem[Any, Any], record: ProgramRecord, run: RunRecord, notes: Sequence[str]) -> str:
    settings = " ".join(f"--set {shlex.quote(f'{key}={value}')}" for key, value in run.settings["set"].items())
    asked = f"evolve run {shlex.quote(run.settings['problem'])} {settings}".rstrip()
    command = f"{asked} --seed {run.seed} --tickets {run.settings['tickets']}"
    others = ", ".join(_other_settings(run.settings))
    scores = (
        f"train {record.train_score:.6g}, validation {record.validation_score:.6g} ({problem.direction} is the aim)"
    )
    lines = [
        f"A decision rule for problem {problem.name}, evolved as {run.id}:{record.name}.",
        "",
        f"Scores: {scores}.",
        *(line for note in notes for line in textwrap.wrap(note, _WIDTH, subsequent_indent="    ")),
        f"To reproduce: {command}",
        *textwrap.wrap(f"with these in a settings file: {others}" if others else "", _WIDTH, initial_indent="    "),
        "",
    ]
    return "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")


def _other_settings(settings: Mapping[str, Any]) -> Iterator[str]:
    """What differs from the defaults, beside what the command says."""
    defaults = RunSettings(problem=settings["problem"]).model_dump(mode="json")
    for key, value in settings.items():
        if key in {"problem", "set", "seed", "tickets"} or value == defaults.get(key):
            continue
        if isinstance(value, Mapping):
            yield from (f"{key}.{name} = {v!r}" for name, v in value.items() if v != defaults[key].get(name))
        else:
            yield f"{key} = {value!r}"


def _docstring(problem: Problem[Any, Any], program: Program, said: str | None) -> str:
    """What the function does and takes, at the indentation of its body."""
    signature = problem.signature
    lines = [*(said or f"Decide for problem {problem.name}.").splitlines(), "", "Args:"]
    lines += [f"    {a.name}: {a.meaning}{f' [{a.unit}]' if a.unit else ''}." for a in signature.arguments]
    lines += [
        f"    {parameter.name}: tuned; searched in {_domain(parameter)}." for parameter in program.space.parameters
    ]
    action = signature.action
    bounds = f" Values outside [{action.low:g}, {action.high:g}] count as the nearest end." if action.clip else ""
    lines += ["", "Returns:", f"    {action.meaning}{f' [{action.unit}]' if action.unit else ''}.{bounds}", ""]
    return "\n".join(f"    {line}" if line and index else line for index, line in enumerate(lines)) + "    "


def _domain(parameter: Parameter) -> str:
    domain = parameter.domain
    if isinstance(domain, Categorical):
        return " | ".join(literal(choice) for choice in domain.choices)
    return f"[{domain.low:g}, {domain.high:g}]"


def _groups(record: ProgramRecord) -> str:
    """Parameters by group, where each group was tuned on its own."""
    if len(record.values) < 2:
        return ""
    rows = [
        f"    {group!r}: {{{', '.join(f'{name!r}: {literal(value)}' for name, value in values.items())}}},"
        for group, values in record.values.items()
    ]
    comment = "# Tuned for each group on its own: call the function with **PARAMETERS[group]."
    return "\n".join([comment, "PARAMETERS = {", *rows, "}"])


def _test_source(name: str, signature: Signature, cases: Sequence[Case]) -> str:
    lines = [
        '"""The exported function answers as it did in the sandbox."""\n',
        f"import numpy as np\nfrom {name} import {signature.entry}\n",
        f"\ndef test_{signature.entry}_answers_as_in_the_sandbox():",
    ]
    for case in cases:
        arguments = ", ".join(f"{key}={_value_source(value)}" for key, value in case.arguments.items())
        answer = case.answer if signature.memory else [case.answer]
        call = f"{signature.entry}({arguments})"
        for place, expected in enumerate(answer):
            found = f"{call}[{place}]" if signature.memory else call
            lines.append(f"    np.testing.assert_allclose({found}, {_value_source(expected)}, rtol=1e-9, atol=1e-9)")
    return "\n".join(lines) + "\n"


def _value_source(value: Any) -> str:
    if isinstance(value, list):
        return f"np.array({value!r})"
    return repr(value)
