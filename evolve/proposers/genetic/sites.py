"""Where an operator may work: the expressions of a program, each with what is wanted and what is known there.

Left out is whatever might end badly: `while` loops, what a `for` runs over, indices, comprehensions, nested functions.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.facts import UNKNOWN, Env, Fact, Kind, infer, join
from evolve.proposers.genetic.nodes import called
from evolve.trees import Place


@dataclass(frozen=True, slots=True)
class Where:
    """A statement and what holds before it.

    Args:
        block: the list of statements it stands in.
        statement: the statement.
        env: facts of the names bound on every path to it.
        loops: how many loops enclose it.
        depth: how many blocks enclose it.
        memo: kinds of its expressions, as far as asked for.
    """

    block: list[ast.stmt]
    statement: ast.stmt
    env: Env
    loops: int = 0
    depth: int = 0
    memo: dict[int, Kind] = field(default_factory=dict, compare=False)

    def kind(self, node: ast.expr) -> Kind:
        """Kind of an expression of the statement, remembered: only for use while nothing changes."""
        known = self.memo.get(id(node))
        if known is None:
            known = self.memo[id(node)] = infer(node, self.env).kind
        return known

    def insert(self, statements: list[ast.stmt]) -> None:
        """Put statements in front of this one."""
        at = next(i for i, statement in enumerate(self.block) if statement is self.statement)
        self.block[at:at] = statements


@dataclass(frozen=True, slots=True)
class Site(Place):
    """An expression that may be replaced.

    Args:
        where: its statement.
        wanted: the kind that must stand here.
        role: "return", "value" (of an assignment), "core" (of either, within its bounds), "test", or "part".
        level: depth within the statement's expression.
    """

    where: Where
    wanted: Kind
    role: str
    level: int

    @property
    def fact(self) -> Fact:
        """What is known of the expression; its kind is what is wanted here if nothing else is known."""
        fact = infer(self.node, self.where.env)
        return replace(fact, kind=self.wanted) if fact.kind is Kind.OTHER else fact


def sites(draft: Draft) -> list[Site]:
    """All sites of a draft in the order of its text. They hold until the draft is changed."""
    return [site for where in places(draft) for site in statement_sites(where, draft)]


def places(draft: Draft) -> list[Where]:
    """All statements that operators may work in or put others in front of."""
    found: list[Where] = []
    _walk(draft.body, draft.facts(), 0, 0, found)
    return found


def _walk(
    block: list[ast.stmt], env: dict[str, Fact], loops: int, depth: int, found: list[Where]
) -> dict[str, Fact] | None:
    """Collect the places of a block; returns the facts at its end, None if it never gets there."""
    for statement in block:
        found.append(Where(block, statement, dict(env), loops, depth))
        if isinstance(statement, ast.Return):
            return None
        if isinstance(statement, ast.If):
            ends = [_walk(branch, dict(env), loops, depth + 1, found) for branch in (statement.body, statement.orelse)]
            alive = [end for end in ends if end is not None]
            if not alive:
                return None
            env = (
                alive[0] if len(alive) == 1 else {k: join(f, alive[1][k]) for k, f in alive[0].items() if k in alive[1]}
            )
        elif isinstance(statement, ast.For):
            inner = env | _targets(statement.target, _element_of(statement.iter, env))
            _walk(statement.body, inner, loops + 1, depth + 1, found)
        else:
            env |= bindings(statement, env)
    return env


def bindings(statement: ast.stmt, env: Env) -> dict[str, Fact]:
    """Facts of the names that a simple statement surely binds."""
    if isinstance(statement, ast.Assign):
        fact = infer(statement.value, env)
        return {k: f for target in statement.targets for k, f in _targets(target, fact).items()}
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return _targets(statement.target, infer(statement.value, env))
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        return {statement.target.id: infer(ast.BinOp(statement.target, statement.op, statement.value), env)}
    return {}


def _targets(target: ast.expr, fact: Fact) -> dict[str, Fact]:
    if isinstance(target, ast.Name):
        return {target.id: fact}
    if isinstance(target, (ast.Tuple, ast.List)):
        return {k: UNKNOWN for element in target.elts for k in _targets(element, UNKNOWN)}
    return {}


def _element_of(iterated: ast.expr, env: Env) -> Fact:
    if called(iterated) == "range":
        return Fact(Kind.WHOLE, "", 0.0, 100.0)
    fact = infer(iterated, env)
    return replace(fact, kind=Kind.NUMBER, length=None) if fact.kind in {Kind.ARRAY, Kind.VECTOR} else UNKNOWN


def statement_sites(where: Where, draft: Draft) -> Iterator[Site]:
    """The sites of one statement, the whole expression first."""
    statement = where.statement
    if isinstance(statement, ast.Return) and statement.value is not None:
        yield from _return_sites(where, statement, draft)
    elif isinstance(statement, ast.If):
        yield from _expand(Site(statement, "test", None, where, Kind.TRUTH, "test", 0))
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        yield from _expand(Site(statement, "value", None, where, infer(statement.value, where.env).kind, "value", 0))
    elif isinstance(statement, ast.AugAssign):
        yield from _expand(Site(statement, "value", None, where, Kind.NUMBER, "part", 0))


def _return_sites(where: Where, statement: ast.Return, draft: Draft) -> Iterator[Site]:
    action = draft.signature.action
    holder: ast.AST = statement
    field, index = "value", None
    if draft.signature.memory:
        if not (isinstance(statement.value, ast.Tuple) and len(statement.value.elts) == 2):
            return
        holder, field, index = statement.value, "elts", 0
    wanted = {"float": Kind.NUMBER, "int": Kind.WHOLE, "bool": Kind.TRUTH}[action.dtype]
    yield from _expand(Site(holder, field, index, where, Kind.ARRAY if action.shape else wanted, "return", 0))


def _expand(site: Site) -> Iterator[Site]:
    """A site and those within it."""
    yield site
    role = "core" if site.role in {"return", "value", "core"} and _only_bounds(site.node) else "part"
    for holder, side, index, wanted in _parts(site):
        if wanted is not Kind.OTHER:
            yield from _expand(Site(holder, side, index, site.where, wanted, role, site.level + 1))


def _only_bounds(node: ast.expr) -> bool:
    """Whether an expression only bounds, rounds or chooses what stands in it."""
    return isinstance(node, ast.IfExp) or called(node) in {"min", "max", "round", "int", "float"}


Slot = tuple[ast.AST, str, int | None, Kind]


def _parts(site: Site) -> list[Slot]:
    node, wanted = site.node, site.wanted
    numeric = wanted if wanted.is_numeric else Kind.NUMBER
    if isinstance(node, ast.BinOp):
        return [(node, side, None, _kind(getattr(node, side), site, numeric)) for side in _open_sides(node.op)]
    if isinstance(node, ast.UnaryOp):
        inner = Kind.TRUTH if isinstance(node.op, ast.Not) else _kind(node.operand, site, numeric)
        return [(node, "operand", None, inner)]
    if isinstance(node, ast.BoolOp):
        return [(node, "values", i, Kind.TRUTH) for i in range(len(node.values))]
    if isinstance(node, ast.Compare):
        sides: list[tuple[str, int | None, ast.expr]] = [("left", None, node.left)]
        sides += [("comparators", i, side) for i, side in enumerate(node.comparators)]
        return [(node, field, i, _known(side, site)) for field, i, side in sides]
    if isinstance(node, ast.IfExp):
        return [(node, "test", None, Kind.TRUTH), (node, "body", None, wanted), (node, "orelse", None, wanted)]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [(node, "elts", i, _known(element, site)) for i, element in enumerate(node.elts)]
    return _call_parts(node, site, numeric) if isinstance(node, ast.Call) else []


def _open_sides(operator: ast.operator) -> tuple[str, ...]:
    """Sides of an operation that may change: not a divisor, which could become 0, and nothing of a power."""
    if isinstance(operator, ast.Pow):
        return ()
    return ("left",) if isinstance(operator, (ast.Div, ast.FloorDiv, ast.Mod)) else ("left", "right")


_TOTAL = frozenset({
    "abs", "array", "atan", "atan2", "clip", "cos", "cosh", "cumsum", "diff", "dot", "erf", "erfc", "exp", "fabs",
    "floor", "max", "maximum", "mean", "median", "min", "minimum", "sign", "sin", "sinh", "std", "sum", "tan", "tanh",
    "var", "where",
})  # fmt: skip
"""Functions of `math`, `np` and arrays that take any number: others may raise when their arguments change."""


def _call_parts(node: ast.Call, site: Site, numeric: Kind) -> list[Slot]:
    name = called(node)
    if name in {"range", "enumerate", "zip", "len"}:
        return []
    if name in {"min", "max", "abs"}:
        return [(node, "args", i, _kind(argument, site, numeric)) for i, argument in enumerate(node.args)]
    if isinstance(node.func, ast.Attribute) and node.func.attr not in _TOTAL:
        return []
    slots: list[Slot] = []
    for i, argument in enumerate(node.args):
        slots.append((node, "args", i, Kind.NUMBER if name in {"int", "float", "round"} else _passed(argument, site)))
    if isinstance(node.func, ast.Attribute):
        slots.append((node.func, "value", None, _known(node.func.value, site)))
    return slots


def _passed(argument: ast.expr, site: Site) -> Kind:
    """What a function is given: numbers and lists of numbers may change, a literal whole number may be an axis."""
    if isinstance(argument, (ast.List, ast.Tuple)):
        return Kind.ARRAY
    kind = _known(argument, site)
    return Kind.OTHER if kind is Kind.WHOLE and isinstance(argument, ast.Constant) else kind


def _known(node: ast.expr, site: Site) -> Kind:
    """What a part is, where its surroundings do not say what they want; whole numbers may serve as an index and stay."""
    return site.where.kind(node)


def _kind(node: ast.expr, site: Site, wanted: Kind) -> Kind:
    """An array where the part is one, else the number that is wanted."""
    kind = site.where.kind(node)
    return kind if kind in {Kind.ARRAY, Kind.VECTOR, Kind.TRUTH} else wanted
