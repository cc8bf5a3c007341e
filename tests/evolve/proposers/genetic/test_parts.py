"""The parts under the operators: dice, facts, sites, domains, unbound names, walking."""

import ast
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules import CONTROL, DOMAINS, INVENTORY, MARKET

from evolve.proposers.genetic import domains
from evolve.proposers.genetic.dice import Dice
from evolve.proposers.genetic.draft import Draft
from evolve.proposers.genetic.facts import Fact, Kind, infer, signature_facts
from evolve.proposers.genetic.nodes import clone, form, statements, weight_of
from evolve.proposers.genetic.sites import sites
from evolve.proposers.genetic.unbound import unbound_names
from evolve.space import Real
from evolve.trees import is_deeper, walk


def dice(seed: int = 0) -> Dice:
    return Dice(np.random.SeedSequence(seed))


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def fact(text: str, name: str = "inventory") -> Fact:
    return infer(expression(text), signature_facts(DOMAINS[name].signature))


class TestDice:
    def test_the_same_seed_draws_the_same(self) -> None:
        one, other = dice(3), dice(3)
        assert [one.real() for _ in range(200)] == [other.real() for _ in range(200)]
        assert dice(3).real() != dice(4).real()

    def test_weights_are_kept(self) -> None:
        drawn = dice()
        counts = Counter(drawn.weigh([(1.0, "a"), (3.0, "b"), (0.0, "c")]) for _ in range(4000))
        assert counts["a"] == pytest.approx(1000, abs=120)
        assert counts["c"] == 0

    def test_an_order_has_all_that_weigh_something_and_heavy_ones_early(self) -> None:
        drawn = dice()
        orders = [drawn.order([(1.0, "a"), (9.0, "b"), (0.0, "c")]) for _ in range(2000)]
        assert all(sorted(order) == ["a", "b"] for order in orders)
        assert sum(order[0] == "b" for order in orders) == pytest.approx(1800, abs=80)

    @given(st.integers(1, 50), st.integers(0, 1000))
    def test_choices_are_in_range(self, count: int, seed: int) -> None:
        assert 0 <= dice(seed).below(count) < count
        assert dice(seed).pick(range(count)) in range(count)
        assert not dice(seed).chance(0.0)
        assert dice(seed).chance(1.0)


class TestFacts:
    @pytest.mark.parametrize(
        ("text", "kind", "unit", "low", "high"),
        [
            ("on_hand", Kind.NUMBER, "units", 0.0, 60.0),
            ("on_hand + pipeline.sum()", Kind.NUMBER, "units", 0.0, 140.0),
            ("on_hand - pipeline.mean()", Kind.NUMBER, "units", -20.0, 60.0),
            ("max(0.0, on_hand - 90.0)", Kind.NUMBER, "units", 0.0, 0.0),
            ("min(on_hand, 9.0)", Kind.NUMBER, "units", 0.0, 9.0),
            ("-on_hand", Kind.NUMBER, "units", -60.0, 0.0),
            ("abs(on_hand - 20.0)", Kind.NUMBER, "units", 0.0, 40.0),
            ("on_hand / (1.0 + on_hand)", Kind.NUMBER, "", 0.0, 60.0),
            ("pipeline[-1]", Kind.NUMBER, "units", 0.0, 20.0),
            ("pipeline[-2:].sum()", Kind.NUMBER, "units", 0.0, 40.0),
            ("np.std(pipeline)", Kind.NUMBER, "units", 0.0, 10.0),
            ("np.quantile(pipeline, 0.5)", Kind.NUMBER, "units", 0.0, 20.0),
            ("math.tanh(on_hand)", Kind.NUMBER, "", -1.0, 1.0),
            ("weekday + 1", Kind.WHOLE, "days", 1.0, 7.0),
            ("weekday * 0.5", Kind.NUMBER, "days", 0.0, 3.0),
            ("round(on_hand)", Kind.WHOLE, "units", 0.0, 60.0),
            ("on_hand if promotion else 1.0", Kind.NUMBER, "units", 0.0, 60.0),
        ],
    )
    def test_numbers(self, text: str, kind: Kind, unit: str | None, low: float, high: float) -> None:
        known = fact(text)
        assert (known.kind, known.unit) == (kind, unit)
        assert (known.low, known.high) == pytest.approx((low, high))

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("promotion", Kind.TRUTH),
            ("on_hand > 3.0", Kind.TRUTH),
            ("not promotion and weekday == 2", Kind.TRUTH),
            ("pipeline", Kind.ARRAY),
            ("pipeline[1:] * 2.0", Kind.ARRAY),
            ("0.5 ** np.arange(4)", Kind.ARRAY),
            ("np.array([1.0, 2.0])", Kind.ARRAY),
            ("np.argmax(pipeline)", Kind.WHOLE),
            ("len(pipeline)", Kind.WHOLE),
            ("unknown(3)", Kind.OTHER),
            ("[q for q in pipeline]", Kind.OTHER),
            ("'text'", Kind.OTHER),
        ],
    )
    def test_kinds(self, text: str, kind: Kind) -> None:
        assert fact(text).kind is kind

    def test_lengths(self) -> None:
        assert fact("pipeline[1:]").length == 3
        assert fact("pipeline[-2:]").length == 2
        assert fact("prices[-2:]", "market").length is None
        assert fact("memory", "control").length == 2

    def test_parameters_take_the_unit_of_what_they_are_added_to(self) -> None:
        source = (
            "def order(on_hand, pipeline, weekday, promotion, *, level: Real(0, 9) = 1.0, cover: Real(0, 9) = 1.0,"
            " spare: Real(0, 9) = 1.0):\n    return max(spare, level - cover * on_hand)\n"
        )
        env = Draft.of(INVENTORY.program(source), INVENTORY.signature).facts()
        assert (env["level"].unit, env["cover"].unit, env["spare"].unit) == ("units", "", "units")


class TestSites:
    def places(self, name: str, body: str) -> list[tuple[str, str, str]]:
        domain = DOMAINS[name]
        positional = ", ".join(domain.signature.positional)
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        program = domain.program(f"def {domain.signature.entry}({positional}):\n{lines}\n")
        return [
            (ast.unparse(site.node), site.wanted.name, site.role) for site in sites(Draft.of(program, domain.signature))
        ]

    def test_expressions_have_a_kind_and_a_role(self) -> None:
        found = self.places(
            "inventory", "gap = 20.0 - on_hand\nif gap > 1.0 and promotion:\n    return 0.0\nreturn max(0.0, gap)"
        )
        assert ("20.0 - on_hand", "NUMBER", "value") in found
        assert ("gap > 1.0 and promotion", "TRUTH", "test") in found
        assert ("gap > 1.0", "TRUTH", "part") in found
        assert ("max(0.0, gap)", "NUMBER", "return") in found
        assert ("gap", "NUMBER", "core") in found

    @pytest.mark.parametrize(
        "body",
        [
            "n = 0\nwhile n < 3:\n    n += 1\nreturn on_hand",
            "x = 0.0\nfor i in range(3):\n    x += pipeline[i]\nreturn x",
            "return pipeline[weekday % 4]",
            "return sum([3.0 * q for q in pipeline])",
            "return on_hand ** 3.0",
            "return on_hand / 3.0",
            "return math.sqrt(3.0)",
            "return np.quantile(pipeline, 0.3)",
            "f = lambda x: x + 3.0\nreturn f(on_hand)",
        ],
    )
    def test_what_might_end_badly_is_left_out(self, body: str) -> None:
        texts = {text for text, _, _ in self.places("inventory", body)}
        assert not texts & {"n < 3", "range(3)", "3", "i", "weekday % 4", "3.0", "0.3", "x + 3.0"}

    def test_only_the_action_of_an_answer_with_memory_is_a_site(self) -> None:
        found = self.places("control", "return 0.5 * angle, memory")
        assert ("0.5 * angle", "NUMBER", "return") in found
        assert not any("memory" in text for text, _, _ in found)

    def test_names_are_known_only_where_every_path_binds_them(self) -> None:
        program = INVENTORY.program(
            "def order(on_hand, pipeline, weekday, promotion):\n    if promotion:\n        a = 1.0\n        b = 2.0\n"
            "    else:\n        b = 3.0\n    for q in pipeline:\n        c = q\n    return b\n"
        )
        last = sites(Draft.of(program, INVENTORY.signature))[-1].where.env
        assert "b" in last
        assert not {"a", "c", "q"} & set(last)


class TestDomains:
    @pytest.mark.parametrize(("value", "nice"), [(3.0, 5.0), (5.0, 5.0), (0.012, 0.02), (-130.0, -200.0), (0.0, 0.0)])
    def test_nice_numbers(self, value: float, nice: float) -> None:
        assert domains.nice(value) == pytest.approx(nice)

    @given(st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda x: x == 0.0 or abs(x) > 1e-6))
    def test_a_literal_lies_in_the_domain_it_gets(self, value: float) -> None:
        start = domains.around(value)
        assert isinstance(start.domain, Real)
        assert start.domain.low <= start.default <= start.domain.high
        assert start.default == value

    @given(st.integers(0, 500))
    def test_bounds_are_found_for_what_is_unbounded(self, seed: int) -> None:
        draft = Draft.of(MARKET.program(MARKET.sources[0]), MARKET.signature)
        for known in (
            Fact(Kind.NUMBER, "price"),
            Fact(Kind.NUMBER, None, 0.0, math.inf),
            Fact(Kind.NUMBER, "", 2.0, 2.0),
        ):
            start = domains.level(known, draft.facts(), draft, dice(seed))
            assert isinstance(start.domain, Real)
            assert math.isfinite(start.domain.low)
            assert start.domain.low <= start.default <= start.domain.high


class TestUnbound:
    @pytest.mark.parametrize(
        ("body", "missing"),
        [
            ("a = on_hand\nreturn a", set()),
            ("return a", {"a"}),
            ("a = a + 1.0\nreturn a", {"a"}),
            ("a += 1.0\nreturn a", {"a"}),
            ("if promotion:\n    a = 1.0\nreturn a", {"a"}),
            ("if promotion:\n    a = 1.0\nelse:\n    a = 2.0\nreturn a", set()),
            ("if promotion:\n    return 0.0\nelse:\n    a = 2.0\nreturn a", set()),
            ("for q in pipeline:\n    a = q\nreturn a", {"a"}),
            ("return sum([q for q in pipeline])", set()),
            ("return sum([q + r for q in pipeline])", {"r"}),
            ("f = lambda x: x + y\nreturn f(1.0)", {"y"}),
            ("return math.pi * len(pipeline)", set()),
            ("return (a := on_hand) + a", set()),
        ],
    )
    def test_names_that_a_path_may_read_unbound(self, body: str, missing: set[str]) -> None:
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        tree = ast.parse(f"def order(on_hand, pipeline, weekday, promotion):\n{lines}\n")
        function = tree.body[0]
        assert isinstance(function, ast.FunctionDef)
        assert unbound_names(tree, function) == missing

    def test_the_programs_of_the_tests_read_nothing_unbound(self) -> None:
        for domain in DOMAINS.values():
            for source in domain.sources:
                draft = Draft.of(domain.program(source), domain.signature)
                assert unbound_names(draft.tree, draft.function) == set()


class TestTrees:
    @pytest.mark.parametrize("source", [source for domain in DOMAINS.values() for source in domain.sources])
    def test_walking_reaches_what_the_library_reaches(self, source: str) -> None:
        tree = ast.parse(source)
        skipped = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
        wanted = [node for node in ast.walk(tree) if not isinstance(node, skipped)]
        assert sorted(map(id, walk(tree))) == sorted(map(id, wanted))

    def test_odd_statements_are_walked(self) -> None:
        case = "    case {'a': 1, **rest}:\n        pass\n    case [1, *_] | None:\n        y = f'{x!r:>3}'\n"
        source = f"match x:\n{case}from . import a\n"
        assert any(isinstance(node, ast.JoinedStr) for node in walk(ast.parse(source)))

    def test_depth(self) -> None:
        assert is_deeper(expression("1"), 1) is None
        assert is_deeper(expression("-(-(-1))"), 3) is not None
        assert is_deeper(expression("-(-(-1))"), 4) is None


class TestNodes:
    def test_templates_put_copies_in_place_of_capitals(self) -> None:
        base = expression("x + y")
        made = form("max(0.0, A) + W * A", A=base, W=expression("w"))
        assert ast.unparse(made) == "max(0.0, x + y) + w * (x + y)"
        assert base not in set(ast.walk(made))

    def test_statements_bind_the_names_they_are_given(self) -> None:
        made = statements("R = S\nfor V in A:\n    R = R + V", **{k: expression(k.lower()) for k in "RSVA"})
        text = "\n".join(ast.unparse(node) for node in made)
        assert text == "r = s\nfor v in a:\n    r = r + v"
        compile(ast.fix_missing_locations(ast.Module(made, [])), "<made>", "exec")

    def test_a_clone_is_equal_and_independent(self) -> None:
        for domain in (INVENTORY, CONTROL):
            for source in domain.sources:
                for node in ast.walk(ast.parse(source)):
                    if isinstance(node, ast.expr):
                        copied = clone(node)
                        assert ast.dump(copied) == ast.dump(node)
                        assert weight_of(copied) == weight_of(node)
