"""From a changed draft to the text of a child: simplified, readable, within the contract and of bounded size."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from evolve.annotations import domain_text, literal_in
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.facts import Kind
from evolve.proposers.genetic.nodes import assign, name, names_in, weight_of
from evolve.proposers.genetic.simplify import simplify_draft
from evolve.proposers.genetic.sites import Site, places, statement_sites
from evolve.proposers.genetic.unbound import unbound_names
from evolve.proposers.genetic.workshop import NoWay
from evolve.trees import walk

MAX_WEIGHT = 90
"""Most names, numbers, operations and statements of a child: what a person still reads in a minute."""

MAX_WIDTH = 14
"""Most numbers to tune in a child: beyond, a few hundred evaluations find little."""

LINE = 100
"""Longest line of a child; longer expressions are taken apart."""


class TooLarge(NoWay):
    """The child would be larger than a person reads, or than an optimizer tunes."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a child must keep to: a large parent may have children that are no larger than itself.

    Args:
        weight: most to read.
        width: most numbers to tune.
        looks: whether the parent reads any argument; what always answers the same is no improvement on that.
        unbound: names that the parent already may read unbound, as far as can be seen.
    """

    weight: int
    width: int
    looks: bool
    unbound: frozenset[str]

    @classmethod
    def of(cls, parent: Draft) -> "Bounds":
        """The bounds for children of a program."""
        unbound = frozenset(unbound_names(parent.tree, parent.function))
        return cls(max(MAX_WEIGHT, parent.weight), max(MAX_WIDTH, _width(parent)), _looks(parent), unbound)


def finish(draft: Draft, bounds: Bounds) -> str:
    """The child's text.

    Raises:
        NoWay: if the child is too large, or reads a name that may be unbound.
    """
    simplify_draft(draft)
    _shorten_lines(draft)
    _declare(draft)
    if draft.weight > bounds.weight:
        raise TooLarge("the child is too large")
    if _width(draft) > bounds.width:
        raise TooLarge("the child has too many numbers to tune")
    if bounds.looks and not _looks(draft):
        raise NoWay("the child looks at nothing")
    if not unbound_names(draft.tree, draft.function) <= bounds.unbound:
        raise NoWay("the child reads a name before it is bound")
    return render(draft)


def _looks(draft: Draft) -> bool:
    """Whether it reads an argument."""
    observed = {argument.name for argument in draft.signature.arguments}
    return not observed.isdisjoint(names_in(draft.function))


def _width(draft: Draft) -> int:
    return sum(parameter.width for parameter in draft.parameters.values())


def _declare(draft: Draft) -> None:
    """Keep the parameters that are read, and write them into the signature."""
    read = set(names_in(draft.function))
    draft.parameters = {known: parameter for known, parameter in draft.parameters.items() if known in read}
    arguments = draft.function.args
    arguments.kwonlyargs = [
        ast.arg(p.name, ast.parse(domain_text(p.domain), mode="eval").body) for p in draft.parameters.values()
    ]
    arguments.kw_defaults = [
        ast.parse(literal_in(p.domain, p.default), mode="eval").body for p in draft.parameters.values()
    ]


def render(draft: Draft) -> str:
    """The text of a draft, laid out for people."""
    parts = [_definition(draft) if node is draft.function else ast.unparse(node) for node in draft.tree.body]
    kinds = [isinstance(node, ast.FunctionDef) for node in draft.tree.body]
    text = parts[0]
    for i in range(1, len(parts)):
        text += ("\n\n\n" if kinds[i] or kinds[i - 1] else "\n") + parts[i]
    return text + "\n"


def _definition(draft: Draft) -> str:
    positional = list(draft.signature.positional)
    tunable = [
        f"{p.name}: {domain_text(p.domain)} = {literal_in(p.domain, p.default)}" for p in draft.parameters.values()
    ]
    arguments = [*positional, *(["*", *tunable] if tunable else [])]
    head = f"def {draft.function.name}({', '.join(arguments)}):"
    if len(head) > LINE:
        head = f"def {draft.function.name}(\n    {', '.join(positional)}, *,\n"
        head += "".join(f"    {item},\n" for item in tunable) + "):"
    body = "\n".join(ast.unparse(statement) for statement in draft.function.body)
    return head + "\n" + "\n".join(f"    {line}" if line else "" for line in body.split("\n"))


def _shorten_lines(draft: Draft) -> None:
    """Give a name to what is said twice, and to a part of what does not fit in a line."""
    for _ in range(8):
        if not any(_split_choice(group[0]) or _take_apart(draft, group) for group in _by_statement(draft)):
            return


def _split_choice(whole: Site) -> bool:
    """`return a if c else b`, where long or nested, becomes two returns."""
    statement, node = whole.where.statement, whole.node
    if not (isinstance(statement, ast.Return) and isinstance(node, ast.IfExp)) or whole.holder is not statement:
        return False
    nested = any(isinstance(child, ast.IfExp) for child in walk(node) if child is not node)
    if not nested and len(ast.unparse(statement)) <= LINE:
        return False
    statement.value = node.orelse
    whole.where.insert([ast.If(node.test, [ast.Return(node.body)], [])])
    return True


def _by_statement(draft: Draft) -> Iterator[list[Site]]:
    """The sites of each statement that is long enough to be too long, or to say something twice."""
    for where in places(draft):
        if len(walk(where.statement)) >= 10:
            group = list(statement_sites(where, draft))
            if group:
                yield group


def _take_apart(draft: Draft, group: list[Site]) -> bool:
    whole = group[0]
    texts = [ast.unparse(site.node) for site in group]
    options = [i for i in _unconditional(group) if group[i].wanted is Kind.NUMBER and weight_of(group[i].node) >= 4]
    twice = [i for i in options if texts.count(texts[i]) > 1]
    if twice:
        chosen = max(twice, key=lambda i: (len(texts[i]), -i))
    elif len(texts[0]) + 4 * whole.where.depth + 11 > LINE:
        options = [i for i in options if 18 <= len(texts[i]) <= 0.9 * len(texts[0])]
        if not options:
            return False
        chosen = min(options, key=lambda i: (abs(len(texts[i]) - 0.5 * len(texts[0])), i))
    else:
        return False
    made = draft.fresh_name(_stem(group[chosen], draft))
    group[chosen].where.insert([assign(made, group[chosen].node)])
    for site, text in zip(group, texts, strict=True):
        if text == texts[chosen]:
            site.put(name(made))
    return True


def _unconditional(group: list[Site]) -> list[int]:
    """Sites that are evaluated whenever the statement is: not behind a condition that may guard them."""
    guarded: set[int] = set()
    for site in group:
        node = site.node
        behind = [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
        behind += node.values[1:] if isinstance(node, ast.BoolOp) else []
        for part in behind:
            guarded |= {id(child) for child in walk(part)}
    return [i for i, site in enumerate(group) if site.level > 0 and id(site.node) not in guarded]


def _stem(site: Site, draft: Draft) -> str:
    """`demand_term` for what reads one argument, else a word for what it is."""
    read = [known for known in dict.fromkeys(names_in(site.node)) if known in draft.signature.positional]
    if len(read) == 1:
        return f"{read[0]}_term"
    return "bounded" if isinstance(site.node, ast.Call) else "part"
