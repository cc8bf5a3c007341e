"""Carrying an expression from one program into another, with everything it needs: parameters, assignments, helpers."""

import ast

from evolve.proposers.genetic.draft import RESERVED, Draft
from evolve.proposers.genetic.nodes import clone, clone_statement, names_in
from evolve.proposers.genetic.sites import Site
from evolve.proposers.genetic.workshop import Bench, NoWay
from evolve.trees import walk


def graft(donor: Draft, site: Site, bench: Bench) -> ast.expr:
    """The expression at a site of `donor`, made valid at `bench`: what it needs is put in front of there.

    Raises:
        NoWay: if it depends on something that cannot be taken along, such as a value of a loop's last round.
    """
    needed = _needed_statements(donor, site)
    statements = [clone_statement(statement) for statement in needed]
    expression = clone(site.node)
    parts: list[ast.AST] = [*statements, expression]
    renamed = _carry_parameters(donor, bench, parts)
    renamed |= _carry_definitions(donor, bench, parts)
    renamed |= _rename_locals(bench, statements)
    for part in parts:
        _rename(part, renamed)
    bench.insert(statements, {renamed[k]: fact for k, fact in site.where.env.items() if k in renamed})
    return expression


def _needed_statements(donor: Draft, site: Site) -> list[ast.stmt]:
    """Statements before a site that bind what it reads, in order."""
    if site.where.loops:
        raise NoWay("it stands in a loop")
    needed = set(names_in(site.node))
    taken: list[ast.stmt] = []
    for block, statement in reversed(_path(donor.body, site.where.statement)):
        at = next(i for i, other in enumerate(block) if other is statement)
        for before in reversed(block[:at]):
            bound = _bound(before)
            if not bound & needed:
                continue
            if any(isinstance(node, ast.Return) for node in walk(before)):
                raise NoWay("it depends on a statement that returns")
            if isinstance(before, ast.Assign):
                needed -= bound
            needed |= set(names_in(before)) | (bound if isinstance(before, ast.AugAssign) else set())
            taken.append(before)
    return taken[::-1]


def _path(block: list[ast.stmt], wanted: ast.stmt) -> list[tuple[list[ast.stmt], ast.stmt]]:
    """The blocks round a statement from the outside in, each with its member that leads on."""
    for statement in block:
        if statement is wanted:
            return [(block, statement)]
        for inner in (getattr(statement, "body", []), getattr(statement, "orelse", [])):
            found = _path(inner, wanted) if isinstance(inner, list) else []
            if found:
                return [(block, statement), *found]
    return []


def _bound(statement: ast.stmt) -> set[str]:
    return {node.id for node in walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _read(parts: list[ast.AST]) -> list[str]:
    """Names read in order of first appearance."""
    return list(dict.fromkeys(known for part in parts for known in names_in(part)))


def _carry_parameters(donor: Draft, bench: Bench, parts: list[ast.AST]) -> dict[str, str]:
    """Declare the donor's parameters in the child; one of the same name and kind is sometimes shared."""
    own, renamed = bench.draft.parameters, {}
    for known in _read(parts):
        parameter = donor.parameters.get(known)
        if parameter is None:
            continue
        twin = own.get(known)
        alike = twin is not None and type(twin.domain) is type(parameter.domain) and twin.width == parameter.width
        if alike and (twin == parameter or bench.dice.chance(0.5)):
            continue
        renamed[known] = bench.draft.parameter(known, parameter.domain, parameter.default).id
    return renamed


def _carry_definitions(donor: Draft, bench: Bench, parts: list[ast.AST]) -> dict[str, str]:
    """Copy helper functions and constants of the module, and what these need in turn."""
    definitions = _definitions(donor.tree, donor.function)
    own = _definitions(bench.draft.tree, bench.draft.function)
    wanted: list[str] = []
    rest = [known for known in _read(parts) if known in definitions]
    while rest:
        known = rest.pop()
        if known not in wanted:
            wanted.append(known)
            rest += [other for other in _read([definitions[known]]) if other in definitions]
    renamed: dict[str, str] = {}
    copies: list[ast.stmt] = []
    for known, definition in definitions.items():
        if known not in wanted:
            continue
        if known in own and ast.dump(own[known]) == ast.dump(definition):
            continue
        renamed[known] = bench.draft.fresh_name(known)
        copies.append(clone_statement(definition))
    for copy in copies:
        _rename(copy, renamed)
    at = bench.draft.tree.body.index(bench.draft.function)
    bench.draft.tree.body[at:at] = copies
    return renamed


def _definitions(tree: ast.Module, entry: ast.FunctionDef) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement is not entry and statement.name != entry.name:
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = statement
    return found


def _rename_locals(bench: Bench, statements: list[ast.stmt]) -> dict[str, str]:
    """New names for the variables that come along."""
    bound = {known for statement in statements for known in _bound(statement)}
    return {known: bench.draft.fresh_name(known) for known in sorted(bound) if known not in RESERVED}


def _rename(node: ast.AST, renamed: dict[str, str]) -> None:
    for child in walk(node):
        if isinstance(child, ast.Name) and child.id in renamed:
            child.id = renamed[child.id]
        elif isinstance(child, ast.FunctionDef) and child.name in renamed:
            child.name = renamed[child.name]
