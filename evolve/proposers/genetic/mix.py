"""Operators that mix: parts of a mate, whole mates, archived skills."""

import ast

from evolve.annotations import read_parameter
from evolve.errors import ProgramError
from evolve.program import parse
from evolve.proposers.base import Skill
from evolve.proposers.genetic import features
from evolve.proposers.genetic.domains import Start
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.facts import Kind, infer, parameter_fact
from evolve.proposers.genetic.fresh import write_fresh
from evolve.proposers.genetic.graft import graft
from evolve.proposers.genetic.grow import grow, put_number
from evolve.proposers.genetic.nodes import clone, form, names_in, weight_of
from evolve.proposers.genetic.sites import Site, sites
from evolve.proposers.genetic.workshop import Bench, NoWay, Workshop, weighed
from evolve.space import Parameter, Real, SpaceError


def crossover(shop: Workshop) -> str:
    """Put an expression of a mate, with all it needs, in the place of one of the parent's."""
    donor, mate = _mate(shop)
    given = [
        site for site in sites(donor) if site.wanted in _MIXED and weight_of(site.node) > 1 and not site.where.loops
    ]
    if not given:
        raise NoWay("the mate has nothing to give")
    source = shop.dice.weigh(weighed(given))
    options = [(weight * _alike(site, source), site) for weight, site in weighed(shop.sites(source.wanted))]
    if not options:
        raise NoWay("the parent has no place for it")
    site = shop.dice.weigh(options)
    before = ast.unparse(site.node)
    bench = shop.at(site.where)
    made = graft(donor, source, bench)
    if site.wanted.is_numeric:
        put_number(site, bench, made)
    else:
        site.put(made)
    return f"`{before}` became `{ast.unparse(site.node)}` from {_credit(shop, mate)}"


_MIXED = (Kind.NUMBER, Kind.WHOLE, Kind.TRUTH)


def _mate(shop: Workshop) -> tuple[Draft, str]:
    """A program to take from, good ones rather than others, and its name; a random one where there is no other."""
    own = shop.request.parent.program.source
    mates = [other for other in shop.request.others if other.program.source != own]
    if not mates:
        stranger = shop.draft.copy()
        write_fresh(Workshop(stranger, shop.dice, shop.request))
        return stranger, ""
    mate = shop.dice.weigh([(1.0 / (1.0 + rank), mate) for rank, mate in enumerate(mates)])
    return Draft.of(mate.program, shop.draft.signature), mate.name


def _credit(shop: Workshop, mate: str) -> str:
    """Note who gave something; returns how to call them."""
    if mate:
        shop.used.append(mate)
    return mate or "a random program"


def _alike(site: Site, source: Site) -> float:
    """Places of one meaning are exchanged rather than others: both returned, or bound to the same name."""
    if site.role == source.role == "return":
        return 2.0
    target, other = _target(site), _target(source)
    if target and target == other:
        return 6.0
    return 1.0 if {site.fact.unit, source.fact.unit} - {None} == {site.fact.unit} else 0.5


def _target(site: Site) -> str:
    statement = site.where.statement
    if site.role == "value" and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return ""


def branch(shop: Workshop) -> str:
    """Two whole rules in one: by a condition, as a weighted mean, or the smaller or larger of both."""
    donor, mate = _mate(shop)
    given = [site for site in sites(donor) if _is_answer(site) and not site.where.loops]
    own = [site for site in shop.sites(*_MIXED, Kind.ARRAY) if _is_answer(site)]
    if not given or not own:
        raise NoWay("one of the two returns nothing that could be joined")
    source, site = shop.dice.pick(given), shop.dice.pick(own)
    bench = shop.at(site.where)
    other = graft(donor, source, bench)
    made = _joined(bench, site, other)
    if site.wanted.is_numeric:
        put_number(site, bench, made)
    else:
        site.put(made)
    return f"joined with {_credit(shop, mate)}: `{ast.unparse(made)}`"


def _is_answer(site: Site) -> bool:
    """Whether a rule's whole answer stands here, in a form that can be calculated with."""
    is_array = site.wanted is Kind.ARRAY and infer(site.node, site.where.env).kind is Kind.ARRAY
    return site.role == "return" and (site.wanted in _MIXED or is_array)


def _joined(bench: Bench, site: Site, other: ast.expr) -> ast.expr:
    base = site.node
    if site.wanted is Kind.TRUTH:
        return form(bench.dice.pick(["A and B", "A or B"]), A=base, B=other)
    extreme = 0.0 if site.wanted is Kind.ARRAY else 1.0
    way = bench.dice.weigh([(2.0, "condition"), (2.0, "mean"), (extreme, "extreme")])
    if way == "condition":
        return form("B if C else A", A=base, B=other, C=features.condition(bench))
    if way == "mean":
        share = bench.parameter("share", Start(Real(0.0, 1.0), 0.3), "")
        return form("(1.0 - P) * A + P * B", A=base, B=other, P=share)
    return form(bench.dice.pick(["min(A, B)", "max(A, B)"]), A=base, B=other)


def splice(shop: Workshop) -> str:
    """Take in an archived skill: in place of an expression, or beside one."""
    options = [(0.2 + max(0.0, skill.gain), skill) for skill in shop.request.skills]
    for skill in shop.dice.order(options):
        try:
            note = _take_in(shop, skill)
        except (NoWay, ProgramError, SpaceError):
            continue  # a skill that another proposer worded in its own way may not fit here
        shop.skills.append(skill.name)
        return note
    return grow(shop)  # no skill has been archived that fits here: add something of our own


def _take_in(shop: Workshop, skill: Skill) -> str:
    body = parse(skill.code).body
    statement = body[0] if len(body) == 1 else None
    if not isinstance(statement, ast.Expr):
        raise NoWay("the skill is no expression")
    parameters = [_skill_parameter(name, text) for name, text in skill.parameters.items()]
    allowed = {*shop.draft.signature.positional, *skill.parameters, *CALLABLE}
    if not set(names_in(statement.value)) <= allowed:
        raise NoWay("the skill reads names that are not there")
    env = shop.draft.facts()
    kind = infer(statement.value, env | {p.name: parameter_fact(p) for p in parameters}).kind
    if not kind.is_numeric and kind is not Kind.TRUTH:
        raise NoWay("the skill is no number, as far as can be seen")
    site = shop.choose(*((Kind.TRUTH,) if kind is Kind.TRUTH else (Kind.NUMBER, Kind.WHOLE)))
    bench = shop.at(site.where)
    parts = {p.name: bench.draft.parameter(p.name, p.domain, p.default) for p in parameters}
    made = clone(statement.value, dict(parts))
    if kind is Kind.TRUTH:
        site.put(made if shop.dice.chance(0.5) else form("A and S", A=site.node, S=made))
    else:
        put_number(site, bench, _beside(bench, site, made))
    return f"took in {skill.name}: `{ast.unparse(made)}`"


CALLABLE = frozenset({"math", "np", "min", "max", "abs", "float", "int", "round", "len", "sum", "bool"})
"""What a skill may read beside arguments and its own parameters."""


def _skill_parameter(name: str, text: str) -> Parameter:
    function = parse(f"def skill(*, {name}: {text}):\n    return 0.0\n").body[0]
    assert isinstance(function, ast.FunctionDef)
    if len(function.args.kwonlyargs) != 1:
        raise NoWay("the skill's parameter is malformed")
    return read_parameter(function.args.kwonlyargs[0], function.args.kw_defaults[0])


def _beside(bench: Bench, site: Site, made: ast.expr) -> ast.expr:
    base, fact = site.node, site.fact
    way = bench.dice.weigh([(2.0, "replace"), (3.0, "term"), (1.0, "extreme"), (1.0, "mean")])
    if way == "replace":
        return made
    if way == "term":
        return form("A + W * F", A=base, W=bench.weight(fact, bench.fact(made)), F=made)
    if way == "extreme":
        return form(bench.dice.pick(["min(A, F)", "max(A, F)"]), A=base, F=made)
    share = bench.parameter("share", Start(Real(0.0, 1.0), 0.1), "")
    return form("(1.0 - P) * A + P * F", A=base, P=share, F=made)
