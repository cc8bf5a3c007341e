"""One operator at work: its draft, its dice, the request, and what is known at the place it works on."""

import ast
from dataclasses import dataclass, field
from functools import cached_property

from evolve.problem import Per
from evolve.proposers.base import Request
from evolve.proposers.genetic import domains
from evolve.proposers.genetic.dice import Dice
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.facts import Fact, Kind, infer, parameter_fact
from evolve.proposers.genetic.nodes import form, name, names_in
from evolve.proposers.genetic.sites import Site, Where, sites


class NoWay(Exception):  # noqa: N818 - an operator that finds nothing to do is no error
    """An operator finds nothing in this program that it could change."""


@dataclass
class Workshop:
    """Everything an operator uses.

    Args:
        draft: the child in the making.
        dice: the only source of randomness.
        request: parent, mates and skills.
        used: names of relatives that gave something, beside the parent.
        skills: names of the skills that were taken in.
    """

    draft: Draft
    dice: Dice
    request: Request
    used: list[str] = field(default_factory=list)
    skills: list[str] = field(default_factory=list)

    @cached_property
    def looked_at(self) -> frozenset[str]:
        """Names that the program read when the operator began."""
        return frozenset(names_in(self.draft.function))

    def sites(self, *kinds: Kind) -> list[Site]:
        """Sites where one of these kinds is wanted."""
        return [site for site in sites(self.draft) if site.wanted in kinds]

    def choose(self, *kinds: Kind) -> Site:
        """A site where one of these kinds is wanted, whole expressions rather than their parts.

        Raises:
            NoWay: if there is none.
        """
        options = weighed(self.sites(*kinds))
        if not options:
            raise NoWay("the program has no expression of the right kind")
        return self.dice.weigh(options)

    def at(self, where: Where) -> "Bench":
        """A place to make new expressions for."""
        return Bench(self, where, dict(where.env))


_PREFERENCE = {"return": 4.0, "core": 3.0, "value": 2.5, "test": 1.5}


def weighed(sites: list[Site]) -> list[tuple[float, Site]]:
    """Sites with how often each is chosen: in a long program too, half of the time what an answer depends on directly."""
    options = [(_preference(site), site) for site in sites]
    whole = sum(weight for weight, site in options if site.role in _PREFERENCE)
    parts = sum(weight for weight, site in options if site.role not in _PREFERENCE)
    scale = min(1.0, whole / parts) if whole and parts else 1.0
    return [(weight if site.role in _PREFERENCE else weight * scale, site) for weight, site in options]


def _preference(site: Site) -> float:
    """Bare numbers and parameters are little to work on."""
    return 0.3 if isinstance(site.node, ast.Constant) else _PREFERENCE.get(site.role, 1.0)


@dataclass(slots=True)
class Bench:
    """Makes expressions that are valid at one place, and knows what they are.

    Args:
        shop: the operator's workshop.
        where: the place.
        env: facts of the names bound there, new ones included.
    """

    shop: Workshop
    where: Where
    env: dict[str, Fact]

    @property
    def dice(self) -> Dice:
        """The operator's dice."""
        return self.shop.dice

    @property
    def draft(self) -> Draft:
        """The child in the making."""
        return self.shop.draft

    def fact(self, node: ast.expr) -> Fact:
        """What is known of an expression here."""
        return infer(node, self.env)

    def parameter(self, stem: str, start: domains.Start, unit: str | None = None) -> ast.expr:
        """A new parameter, to be read here."""
        made = self.draft.parameter(stem, start.domain, start.default, unit)
        self.env[made.id] = parameter_fact(self.draft.parameters[made.id], unit)
        return made

    def weight(self, base: Fact, feature: Fact, stem: str = "weight") -> ast.expr:
        """A new parameter for `base + weight * feature`."""
        return self.parameter(stem, domains.weight(base, feature, self.dice), "")

    def level(self, stem: str, fact: Fact, beside: ast.expr | None = None, at: domains.Place = "middle") -> ast.expr:
        """Something tunable to compare a number with or to bound it by: so much, or so many times a number of its unit.

        Args:
            stem: name of the parameter.
            fact: what is known of the number.
            beside: the number; what is made must not be a multiple of itself.
            at: where in its domain the parameter starts.
        """
        scale = self.scale(fact)
        if scale is not None and beside is not None and set(names_in(scale)) >= set(names_in(beside)):
            scale = None
        if scale is not None and self.dice.chance(0.15 if self.has_levels(fact) else 0.75):
            return form("P * S", P=self.parameter(stem, domains.multiple(at, self.dice), ""), S=scale)
        start = domains.placed(domains.level(fact, self.env, self.draft, self.dice), fact, at, self.dice)
        return self.parameter(stem, start, fact.unit)

    def has_levels(self, fact: Fact) -> bool:
        """Whether the program measures this unit in parameters already; if not, one level may not suit all instances."""
        return any(self.env[known].unit == fact.unit for known in self.draft.parameters if known in self.env)

    def scale(self, fact: Fact) -> ast.expr | None:
        """A positive number of a unit, such as the mean demand, that tells what is much of it; None if there is none."""
        if not fact.unit:
            return None
        options: list[tuple[float, ast.expr]] = []
        steady = {argument.name for argument in self.draft.signature.arguments if argument.per is not Per.ROW}
        for known, other in self.env.items():
            if other.unit == fact.unit and other.low >= 0.0 and known not in self.draft.parameters:
                liking = 4.0 if known in steady else 1.0
                if other.kind.is_numeric:
                    options.append((liking, name(known)))
                elif other.kind is Kind.ARRAY:
                    options.append((0.5 * liking, form("A.mean()", A=name(known))))
        return self.dice.weigh(options) if options else None

    def in_unit(self, feature: ast.expr, fact: Fact) -> ast.expr:
        """A feature for a sum with something: times a number of its unit, if it is of another and there is one."""
        other = self.fact(feature).unit
        if other is None or fact.unit is None or other == fact.unit:
            return feature
        scale = self.scale(fact)
        return form("S * F", S=scale, F=feature) if scale is not None and self.dice.chance(0.6) else feature

    def insert(self, made: list[ast.stmt], bound: dict[str, Fact]) -> None:
        """Put statements in front of the place."""
        self.where.insert(made)
        self.env.update(bound)
