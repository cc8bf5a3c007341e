"""Skills: what an improved child says that its parent did not, as an expression that other programs can take in."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from evolve.annotations import domain_text, literal_in
from evolve.problem import Signature
from evolve.program import Program
from evolve.proposers.base import Skill
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.facts import Kind, infer
from evolve.proposers.genetic.mix import CALLABLE
from evolve.proposers.genetic.nodes import clone, name, names_in, weight_of
from evolve.proposers.genetic.sites import places, sites
from evolve.trees import walk

MOST = 3
"""Most skills of one child."""

LARGEST = 30
"""Largest skill, in names, numbers and operations."""


def extract_skills(parent: Program, child: Program, signature: Signature, *, prefix: str = "skill") -> list[Skill]:
    """What is new in a child that improved on its parent, with the parameters it needs at their tuned values.

    Args:
        parent: what it was made from.
        child: the better program, its defaults tuned.
        signature: the contract of both.
        prefix: the skills are named `prefix.0`, `prefix.1`, …

    Returns:
        At most `MOST` skills, the largest first; none where the change is trivial or cannot be said in one expression.
    """
    before, after = Draft.of(parent, signature), Draft.of(child, signature)
    known = _Known.of(before)
    found: dict[str, ast.expr] = {}
    for whole in _inlined(after):
        for part in known.new_parts(whole, after):
            if _is_useful(part, after):
                found.setdefault(_shape(part, after), part)
    largest = sorted(found.values(), key=lambda part: -weight_of(part))[:MOST]
    return [_skill(part, after, f"{prefix}.{i}") for i, part in enumerate(largest)]


@dataclass(frozen=True, slots=True)
class _Known:
    """What the parent says.

    Args:
        shapes: of all its expressions.
        frames: of all its expressions with one part left open.
    """

    shapes: frozenset[str]
    frames: frozenset[str]

    @classmethod
    def of(cls, parent: Draft) -> "_Known":
        parts = [part for whole in _inlined(parent) for part in _parts(whole)]
        shapes = frozenset(_shape(part, parent) for part in parts)
        return cls(shapes, frozenset(frame for part in parts for _, frame in _frames(part, parent)))

    def new_parts(self, node: ast.expr, draft: Draft) -> Iterator[ast.expr]:
        """The largest parts made of nothing old, in old surroundings; else old parts put together in a new way."""
        if _shape(node, draft) in self.shapes:
            return
        frames = [(child, frame) for child, frame in _frames(node, draft) if _shape(child, draft) not in self.shapes]
        changed = [child for child, _ in frames if weight_of(child) > 1]
        has_old = any(_shape(part, draft) in self.shapes for part in _parts(node) if weight_of(part) >= 4)
        is_filled = len(changed) == 1 and any(frame in self.frames for _, frame in frames)
        is_whole = not all(_is_scalar(child, draft) for child in changed)  # what stands in it is no use by itself
        if not changed or is_whole or not (has_old or is_filled):
            yield node
            return
        for child in changed:
            yield from self.new_parts(child, draft)


def _skill(part: ast.expr, draft: Draft, called: str) -> Skill:
    read = list(dict.fromkeys(names_in(part)))
    own = [draft.parameters[known] for known in read if known in draft.parameters]
    looked_at = [known for known in read if known in draft.signature.positional]
    return Skill(
        name=called,
        code=ast.unparse(part),
        parameters={p.name: f"{domain_text(p.domain)} = {literal_in(p.domain, p.default)}" for p in own},
        description=f"reads {', '.join(looked_at)}",
    )


def _inlined(draft: Draft) -> list[ast.expr]:
    """Whole expressions of a program in which variables are replaced by what they hold, as far as that is plain."""
    meanings = _meanings(draft)
    wholes = [site for site in sites(draft) if site.level == 0 and not site.where.loops]
    return [clone(site.node, meanings) for site in wholes if site.wanted in {Kind.NUMBER, Kind.WHOLE, Kind.TRUTH}]


def _meanings(draft: Draft) -> dict[str, ast.expr]:
    """Variables that are assigned once, outside loops, and never change what they mean."""
    stores = Counter(n.id for n in walk(draft.function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    meanings: dict[str, ast.expr] = {}
    for where in places(draft):
        statement = where.statement
        if isinstance(statement, ast.Assign) and not where.loops and isinstance(statement.targets[0], ast.Name):
            target = statement.targets[0].id
            is_settled = all(stores[read] <= 1 for read in names_in(statement.value))
            if stores[target] == 1 and target not in draft.signature.positional and is_settled:
                meanings[target] = clone(statement.value, meanings)
    return meanings


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """An expression and those within it."""
    return (child for child in walk(node) if isinstance(child, ast.expr))


def _shape(node: ast.expr, draft: Draft) -> str:
    """The text of an expression in which all parameters look alike and numbers do not count."""
    blank: dict[str, ast.expr] = {known: name("·") for known in draft.parameters}
    copied = clone(node, blank)
    for child in walk(copied):
        if isinstance(child, ast.Constant):
            child.value = 0
    return ast.dump(copied)


def _frames(node: ast.expr, draft: Draft) -> Iterator[tuple[ast.expr, str]]:
    """The parts right below an expression, each with the shape of the rest."""
    gap = name("□")
    for field in node._fields:
        value = getattr(node, field)
        if isinstance(value, ast.expr):
            setattr(node, field, gap)
            frame = _shape(node, draft)
            setattr(node, field, value)
            yield value, frame
        elif isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, ast.expr):
                    value[i] = gap
                    frame = _shape(node, draft)
                    value[i] = item
                    yield item, frame


def _is_scalar(node: ast.expr, draft: Draft) -> bool:
    kind = infer(node, draft.facts()).kind
    return kind.is_numeric or kind is Kind.TRUTH


def _is_useful(node: ast.expr, draft: Draft) -> bool:
    """Whether an expression looks at an argument, stands on its own and says more than a name or a weight."""
    read = set(names_in(node))
    allowed = {*draft.signature.positional, *draft.parameters, *CALLABLE}
    if not _is_scalar(node, draft):
        return False
    looks = bool(read & {argument.name for argument in draft.signature.arguments})
    return looks and read <= allowed and 4 <= weight_of(node) <= LARGEST
