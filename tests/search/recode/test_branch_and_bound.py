"""The search over partitions against brute force: every scheme and mix of schemes, metric and model, both ways."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import inf, prod
from random import Random
from typing import Any, get_args

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.census.census import Census, Quasi
from ringfence.census.classes import Classes, Roller
from ringfence.declared import Scheme
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.judging.metrics import Metric, Node, hdm_tallies, metric
from ringfence.judging.models import promise
from ringfence.methods import decide
from ringfence.plans.recode import GlobalPlan
from ringfence.search.decision import Decision
from ringfence.search.progress import MOST_COUNTED, SearchResult, Watch
from ringfence.search.recode.branch_and_bound import Techniques, search_partitions
from ringfence.search.recode.recoded import decision_for
from ringfence.search.recode.spaces import Space
from ringfence.spec import Spec
from ringfence.spec.method import MethodTable, Technique
from tests.definitions import Class, Histogram, Nodes, Rule, union, use_weight
from tests.search.recode.test_lattice import METRICS, SUPPRESSION, promises, rules_of
from tests.search.recode.test_partitions import (
    SCHEMES,
    WITHIN,
    Choice,
    choices,
    descendants,
    leaves_under,
    partitions_of,
    schemes_for,
    tree_of,
    values_by,
)
from tests.tables import Case, limit_of, place, scheme_cases, with_parts

# The cost of any choice, exactly, from the definitions


def cell_losses(quasi: Quasi, choice: Choice, name: str) -> list[Fraction]:
    """The loss of a cell of each leaf."""
    tree, rows = quasi.hierarchy, [int(count) for count in quasi.rows]
    occurring = [leaf for leaf, count in enumerate(rows) if count]
    numbers = {leaf: place(key) for leaf in occurring if (key := quasi.keys[leaf]) is not None}

    def loss(leaf: int) -> Fraction:
        covered = choice.covered[leaf]
        if name == "hdm":
            return share(sum(rows[other] for other in choice.blocks[leaf]) - rows[leaf], sum(rows) - rows[leaf])
        if name == "ntil":
            node = choice.nodes[leaf]
            deepest = max(int(tree.depth[other]) for other in leaves_under(tree, node))
            return Fraction(deepest - int(tree.depth[node]), tree.height)
        if name == "gcp":
            return share(len(covered & {*occurring}) - 1, len(occurring) - 1)
        if quasi.numeric:
            inside = [numbers[other] for other in covered if other in numbers]
            return share(width(inside), width(numbers.values()))
        if name == "ncp":
            return Fraction(len(covered), tree.leaves) if len(covered) > 1 else Fraction(0)
        return share(len(covered) - 1, len(covered) if name == "use" else tree.leaves - 1)

    return [loss(leaf) for leaf in range(tree.leaves)]


def share(part: int | Fraction, whole: int | Fraction) -> Fraction:
    """A part of a whole; of nothing, none."""
    return Fraction(max(part, 0)) / whole if whole else Fraction(0)


def width(numbers: Any) -> Fraction:
    """How far apart the smallest and the largest number are."""
    return max(numbers, default=Fraction(0)) - min(numbers, default=Fraction(0))


@dataclass(frozen=True)
class Release:
    """What a choice for each attribute costs."""

    cost: Fraction
    suppressed: int
    choices: tuple[Choice, ...]

    @property
    def rank(self) -> tuple[Fraction, int, tuple[tuple[int, ...], ...]]:
        """Least cost, then fewest suppressed, then the smallest shifts."""
        return self.cost, self.suppressed, tuple(choice.shifts for choice in self.choices)


class Judge:
    """Judges choices by rules and a loss, exactly; `limit` rows may go."""

    def __init__(self, census: Census, rules: Sequence[Rule], name: str, limit: int, k: int, target: int) -> None:
        self.census, self.rules, self.metric, self.limit, self.k, self.target = census, rules, name, limit, k, target
        self._losses: dict[tuple[int, Choice], list[Fraction]] = {}
        self._verdicts: dict[tuple[object, ...], bool] = {}

    def release(self, chosen: tuple[Choice, ...]) -> Release | None:
        """What a choice costs; None if it is not feasible."""
        homes = [tuple(c.homes[leaf] for c, leaf in zip(chosen, codes, strict=True)) for codes in self.census.codes]
        sizes: Counter[Nodes] = Counter()
        for home, weight in zip(homes, self.census.weights, strict=True):
            sizes[home] += int(weight)
        histograms: list[dict[Nodes, Histogram]] = []
        for sensitive in self.census.sensitive:
            by_class: dict[Nodes, Histogram] = defaultdict(Counter)
            for row, value, weight in zip(sensitive.tuples, sensitive.values, sensitive.weights, strict=True):
                by_class[homes[row]][int(value)] += int(weight)
            histograms.append(by_class)
        everything = [Class(home, size, tuple(h[home] for h in histograms)) for home, size in sizes.items()]
        kept = self._holding(everything, everything)
        lost = self.census.rows - sum(c.size for c in kept)
        if not kept or lost > self.limit or (lost and len(self._holding(kept, kept)) < len(kept)):
            return None
        return Release(self._cost(chosen, homes, kept, lost), lost, chosen)

    def _holding(self, classes: Sequence[Class], reference: Sequence[Class]) -> list[Class]:
        """The classes that keep all rules; what was asked before is remembered."""
        whole = [frozenset(union(reference, a).items()) for a in range(len(self.census.sensitive))]
        held = []
        for c in classes:
            key = (c.size, *(frozenset(h.items()) for h in c.histograms), *whole)
            if key not in self._verdicts:
                self._verdicts[key] = all(rule(c, reference) for rule in self.rules)
            held += [c] if self._verdicts[key] else []
        return held

    def _cost(self, chosen: tuple[Choice, ...], homes: list[Nodes], kept: list[Class], lost: int) -> Fraction:
        rows = self.census.rows
        if self.metric == "dm":
            return Fraction(sum(c.size**2 for c in kept) + rows * lost)
        if self.metric == "aecs":
            return Fraction(rows, len(kept) * self.k)
        if self.metric == "ce":
            return Fraction(lost + sum(c.size - max(c.histograms[self.target].values()) for c in kept), rows)
        weighted = self.metric in ("glm", "ncp", "hdm")
        weights = [Fraction(quasi.weight) if weighted else Fraction(1) for quasi in self.census.quasi]
        if self.metric == "use":
            weights = [Fraction(use_weight(quasi)) for quasi in self.census.quasi]
        losses = [self._loss(attribute, choice) for attribute, choice in enumerate(chosen)]
        safe = {c.nodes for c in kept}
        total = Fraction(0)
        for codes, home, count in zip(self.census.codes, homes, self.census.weights, strict=True):
            if home in safe:
                total += int(count) * sum(w * losses[a][codes[a]] for a, w in enumerate(weights))
        total = total / sum(weights) + lost
        return total if self.metric == "hdm" else total / rows

    def _loss(self, attribute: int, choice: Choice) -> list[Fraction]:
        if (attribute, choice) not in self._losses:
            self._losses[attribute, choice] = cell_losses(self.census.quasi[attribute], choice, self.metric)
        return self._losses[attribute, choice]


# Questions to a search, and their answers


@dataclass(frozen=True)
class Question:
    """A table, its specification with schemes, promise and method, and all that may be chosen."""

    table: pa.Table
    spec: Spec
    census: Census = field(repr=False)
    judge: Judge = field(repr=False)
    spaces: tuple[tuple[Choice, ...], ...] = field(repr=False)

    @property
    def schemes(self) -> list[Scheme]:
        """The scheme of each attribute."""
        return [self.spec.scheme_of(name) for name in self.census.names]

    def best(self) -> Release | None:
        """The best of all combinations."""
        found = (self.judge.release(chosen) for chosen in product(*self.spaces))
        return min((release for release in found if release is not None), key=lambda r: r.rank, default=None)

    def spec_for(self, search: str) -> Spec:
        """The same question for one way of searching."""
        method = self.spec.model_dump(by_alias=True, exclude_unset=True)["method"]
        return with_parts(self.spec, method={**method, "search": search})


def ask(case: Case, schemes: Sequence[Scheme], privacy: dict[str, Any], metric: str, suppression: float) -> Question:
    """Put a question: the method has the scheme of the first attribute, the others name theirs where it differs."""
    attributes = case.spec.model_dump(by_alias=True, exclude_unset=True)["attributes"]
    for a, scheme in enumerate(schemes):
        if scheme != schemes[0]:
            attributes[f"q{a}"]["scheme"] = scheme
    if "s0" in attributes:
        attributes["s0"]["hierarchy"] = {"tree": {"left": ["a", "b"], "right": {"low": ["c"], "high": ["d"]}}}
    method: dict[str, Any] = {"scheme": schemes[0], "metric": metric, "suppression": suppression}
    if "s1" in attributes:
        method["target"] = "s1"
    spec = with_parts(case.spec, attributes=attributes, privacy=privacy, method=method)
    census = Case(case.table, spec).census
    watched = [part.name for part in census.sensitive]
    judge = Judge(
        census,
        rules_of(privacy, census),
        metric,
        limit_of(suppression, census.rows),
        privacy["k"],
        watched.index("s1") if watched else 0,
    )
    orders = [spec.attributes[name].order for name in census.names]
    spaces = [tuple(choices(*part)) for part in zip(census.quasi, orders, schemes, strict=True)]
    return Question(case.table, spec, census, judge, tuple(spaces))


@st.composite
def questions(draw: st.DrawFn, metrics: Sequence[str] = METRICS, *, most: int = 250) -> Question:
    """Draw a question with any mix of schemes that allows no more than so many combinations."""
    case = draw(scheme_cases(sensitive=2, max_rows=12, most=(6, 5, 4)))
    privacy, _ = draw(promises())
    rng = Random(draw(st.integers(0, 2**32)))
    privacy["k"] = max(privacy["k"], rng.choice([1, 2, 2, 2]))
    quasi, orders = case.census.quasi, [case.spec.attributes[name].order for name in case.census.names]
    possible = [schemes_for(part, order) for part, order in zip(quasi, orders, strict=True)]
    schemes = [rng.choice([*some, "set", "ordered", "guided-set"]) for some in possible]
    while prod(len(partitions_of(*part)) for part in zip(quasi, orders, schemes, strict=True)) > most:
        a = rng.randrange(len(schemes))
        schemes[a] = rng.choice(possible[a])
    return ask(case, schemes, privacy, draw(st.sampled_from(metrics)), draw(SUPPRESSION))


def labels_of(decision: Decision) -> list[tuple[str | None, ...]]:
    """What each leaf of each attribute is published as."""
    return [column.labels for column in decision.recoding.columns.values()]


class Bench:
    """The parts of a search, to be put together by hand."""

    def __init__(self, question: Question) -> None:
        self.census, self.spec = question.census, question.spec
        self.spaces = [Space(q, scheme) for q, scheme in zip(self.census.quasi, question.schemes, strict=True)]
        name = self.spec.method.metric
        self.roller = Roller(self.census, self.spaces, hdm_tallies(self.census) if name == "hdm" else [])
        self.promise = promise(self.spec, self.census)
        self.metric = metric(name, self.spec, self.census, self.roller, self.promise.least)
        self.limit = question.judge.limit

    def search(self, techniques: Techniques, *, up: bool, watch: Watch) -> tuple[Node, SearchResult]:
        """Search with some techniques."""
        return search_partitions(
            self.census, self.spaces, self.roller, self.promise, self.metric,
            limit=self.limit, watch=watch, up=up, techniques=techniques,
        )  # fmt: skip

    def labels(self, node: Node) -> list[tuple[str | None, ...]]:
        """What each leaf of each attribute is published as at a node."""
        return [space[position].labels for space, position in zip(self.spaces, node, strict=True)]

    def measured(self, node: Node) -> Mapping[str, float]:
        """All metrics of what a node publishes."""
        recodings = [space[position] for space, position in zip(self.spaces, node, strict=True)]
        return decision_for(self.census, self.spec, self.promise, [None] * len(node), recodings, None).metrics

    def classes(self, node: Node) -> Classes:
        """The classes at a node."""
        return self.roller.roll(self.roller.finest, self.roller.fields(list(enumerate(node))), self.roller.room())


def check_optimum(question: Question, best: Release | None, search: str) -> None:
    """Check that a search finds what brute force has found."""
    spec = question.spec_for(search)
    if best is None:
        with pytest.raises(Unsatisfiable):
            decide(question.census, spec, Watch())
        return
    decision = decide(question.census, spec, Watch())
    assert decision.search is not None
    assert decision.search.optimal
    assert decision.search.cost == pytest.approx(float(best.cost), rel=1e-9, abs=1e-12)
    assert decision.search.bound == decision.search.cost
    assert decision.metrics[spec.method.metric] == pytest.approx(float(best.cost), rel=1e-9, abs=1e-12)
    if search != "auto":  # which takes any of several that cost the same
        assert decision.recoding.suppressed_rows == decision.metrics["suppressed"] == best.suppressed
        assert labels_of(decision) == [choice.labels for choice in best.choices]


@pytest.mark.parametrize("name", METRICS)
@given(data=st.data())
def test_both_ways_find_what_brute_force_finds(name: str, data: st.DataObject) -> None:
    question = data.draw(questions([name]))
    best = question.best()
    for search in ("bottom-up", "top-down"):
        check_optimum(question, best, search)


@given(question=questions())
def test_auto_finds_what_brute_force_finds(question: Question) -> None:
    check_optimum(question, question.best(), "auto")


@given(question=questions())
def test_both_ways_return_the_very_same_plan(question: Question) -> None:
    plans: list[GlobalPlan | None] = []
    for search in ("bottom-up", "top-down"):
        try:
            plans.append(replace(decide(question.census, question.spec_for(search), Watch()).recoding, spec=""))
        except Unsatisfiable:
            plans.append(None)
    assert plans[0] == plans[1]


@given(case=scheme_cases(), k=st.integers(1, 4), data=st.data())
def test_the_order_of_rows_changes_nothing(case: Case, k: int, data: st.DataObject) -> None:
    schemes = [
        data.draw(st.sampled_from(schemes_for(part, case.spec.attributes[part.name].order)))
        for part in case.census.quasi
    ]
    backwards = Case(case.table.take(list(range(case.table.num_rows))[::-1]), case.spec)
    outcomes: list[object] = []
    for some in (case, backwards):
        question = ask(some, schemes, {"k": k}, "dm", 0.3)
        for search in ("bottom-up", "top-down"):
            try:
                decision = decide(question.census, question.spec_for(search), Watch())
                outcomes.append((decision.recoding, decision.metrics))
            except Unsatisfiable as error:
                outcomes.append(str(error))
    assert outcomes[:2] == outcomes[2:]


@given(case=scheme_cases(), name=st.sampled_from(["dm", "hdm", "glm", "aecs"]))
def test_k_1_changes_nothing_in_any_scheme(case: Case, name: str) -> None:
    for scheme in SCHEMES:
        if all(scheme in schemes_for(q, case.spec.attributes[q.name].order) for q in case.census.quasi):
            question = ask(case, [scheme] * len(case.census.quasi), {"k": 1}, name, 1.0)
            decision = decide(question.census, question.spec_for("bottom-up"), Watch())
            assert all(column.changes_nothing for column in decision.recoding.columns.values())
            assert decision.recoding.suppressed_rows == 0


# Techniques

SWITCHES = [switch.name for switch in fields(Techniques)]
NONE = Techniques(**dict.fromkeys(SWITCHES, False))


@given(question=questions(most=80))
def test_whatever_is_switched_off_the_answer_is_the_same(question: Question) -> None:
    best = question.best()
    for techniques in [NONE, *(replace(Techniques(), **{switch: False}) for switch in SWITCHES)]:
        for up in (True, False):
            bench = Bench(question)
            if best is None:
                with pytest.raises(Unsatisfiable):
                    bench.search(techniques, up=up, watch=Watch())
                continue
            node, result = bench.search(techniques, up=up, watch=Watch())
            assert result.optimal
            assert result.cost == pytest.approx(float(best.cost), rel=1e-9, abs=1e-12)
            assert bench.labels(node) == [choice.labels for choice in best.choices]


@given(question=questions(most=80))
def test_each_technique_alone_gives_the_same_answer(question: Question) -> None:
    best = question.best()
    if best is None:
        return
    for switch in SWITCHES:
        for up in (True, False):
            bench = Bench(question)
            node, _ = bench.search(replace(NONE, **{switch: True}), up=up, watch=Watch())
            assert bench.labels(node) == [choice.labels for choice in best.choices]


@given(question=questions(most=80))
def test_without_techniques_every_node_is_judged_exactly_once(question: Question) -> None:
    if question.best() is None:
        return
    for up in (True, False):
        watch, bench = Watch(), Bench(question)
        _, result = bench.search(NONE, up=up, watch=watch)
        assert result.nodes == watch.nodes == prod(space.walk.count for space in bench.spaces)
        assert result.pruned == 0


def test_what_cannot_hold_is_judged_too_where_nothing_is_pruned() -> None:
    # Top-down from {a, b, c}: nothing below {a}, {b, c} can hold k = 2, and still the last node is to be met.
    table = pa.table({"q0": list("abc")})
    case = Case(table, Spec(attributes={"q0": {"role": "quasi"}}))
    bench = Bench(ask(case, ["ordered"], {"k": 2}, "dm", 0.0))
    _, result = bench.search(NONE, up=False, watch=Watch())
    assert result.nodes == 4


# What each technique saves, counted: a switch that changes nothing fails.

SKEWED = 4
"""A seed of a table on which every technique has something to save."""


@cache
def judged(techniques: Techniques, suppression: float, *, up: bool = True) -> int:
    """How many recodings are judged on a skewed table of three numbers."""
    rng = Random(SKEWED)
    names = ["q0", "q1", "q2"]
    table = pa.table({name: [min(5, int(rng.expovariate(0.6))) for _ in range(60)] for name in names})
    case = Case(table, Spec(attributes={name: {"role": "quasi", "order": "numeric"} for name in names}))
    bench = Bench(ask(case, ["ordered"] * 3, {"k": 3}, "dm", suppression))
    return bench.search(techniques, up=up, watch=Watch())[1].nodes


BOUNDED = replace(NONE, pruning=True)


def test_bounds_alone_rule_recodings_out() -> None:
    assert judged(NONE, 1.0) == 2 ** (5 + 5 + 5)  # three numbers of six values each
    assert judged(BOUNDED, 1.0) < 2**15 / 2


@pytest.mark.parametrize("switch", [name for name in SWITCHES if name != "pruning"])
def test_each_technique_alone_saves_recodings(switch: str) -> None:
    suppression = 0.0 if switch == "useful" else 1.0
    alone = judged(replace(BOUNDED, **{switch: True}), suppression)
    assert alone < judged(BOUNDED, suppression)


@pytest.mark.parametrize("switch", ["useless", "requeueing", "best_first", "rearranging"])
def test_techniques_save_on_the_way_down_too(switch: str) -> None:
    alone = judged(replace(BOUNDED, **{switch: True}), 1.0, up=False)
    assert alone < judged(BOUNDED, 1.0, up=False)


@pytest.mark.parametrize("switch", ["useless", "seeding", "best_first", "rearranging"])
def test_each_technique_saves_recodings_where_all_others_are_in_use(switch: str) -> None:
    assert judged(Techniques(), 1.0) < judged(replace(Techniques(), **{switch: False}), 1.0)


def test_a_useful_applicator_saves_where_all_others_are_in_use() -> None:
    assert judged(Techniques(), 0.0) < judged(replace(Techniques(), useful=False), 0.0)


@pytest.mark.parametrize("other", ["useless", "best_first", "rearranging"])
def test_what_compares_again_by_itself_makes_requeueing_no_difference(other: str) -> None:
    alone = replace(BOUNDED, **{other: True})
    assert judged(alone, 1.0) == judged(replace(alone, requeueing=True), 1.0)


def test_a_useful_applicator_needs_that_nothing_is_suppressed_and_the_way_up() -> None:
    useful = replace(BOUNDED, useful=True)
    assert judged(useful, 1.0) == judged(BOUNDED, 1.0)
    assert judged(useful, 0.0, up=False) == judged(BOUNDED, 0.0, up=False)


def test_a_specification_names_the_techniques() -> None:
    assert [*get_args(Technique)] == SWITCHES
    spec = Spec(attributes={"q0": {"role": "quasi"}})
    assert Techniques.asked(spec) == Techniques()
    some: list[list[Technique]] = [[], ["pruning"], ["useless", "pruning"]]
    for named in some:
        asked = spec.model_copy(update={"method": MethodTable(search="bottom-up", techniques=named)})
        assert Techniques.asked(asked) == replace(NONE, **dict.fromkeys(named, True))


def test_techniques_from_a_specification_are_used() -> None:
    table = pa.table({"n": [1, 1, 2, 3, 5, 8, 8, 9] * 2, "m": [1, 2, 3, 4, 4, 4, 5, 6] * 2})
    counts = []
    for techniques in ([], ["pruning"], None):
        spec = rf.Spec(
            attributes={name: {"role": "quasi", "order": "numeric"} for name in table.column_names},
            privacy={"k": 3},
            method={"scheme": "ordered", "search": "bottom-up", "techniques": techniques},
        )
        found = rf.anonymize(table, spec).search
        assert found is not None
        counts.append(found.nodes)
    assert counts[0] == 2**5 * 2**5 > counts[1] > counts[2]


def test_techniques_are_for_branch_and_bound() -> None:
    spec = rf.Spec(attributes={"n": {"role": "quasi"}}, privacy={"k": 2}, method={"techniques": ["pruning"]})
    with pytest.raises(SpecError, match=r"method\.techniques .*'auto'.* 'bottom-up' and 'top-down'"):
        rf.anonymize(pa.table({"n": [1, 2]}), spec)


class Recorder:
    """A metric that remembers the nodes whose cost was asked for."""

    def __init__(self, inner: Metric) -> None:
        self.inner, self.needs_values, self.needs_classes = inner, inner.needs_values, inner.needs_classes
        self.asked: list[tuple[int, ...]] = []

    def cost(self, node: Node, classes: Classes) -> float:
        """Remember the node, and pass the question on."""
        self.asked.append(tuple(node))
        return self.inner.cost(node, classes)

    def floor(self, node: Node, classes: Classes) -> float:
        """Pass the question on."""
        return self.inner.floor(node, classes)

    def gain(self, node: Node, classes: Classes) -> float:
        """Pass the question on."""
        return self.inner.gain(node, classes)


@given(case=scheme_cases(), data=st.data())
def test_the_combinations_of_all_attributes_are_met_once_each(case: Case, data: st.DataObject) -> None:
    schemes = [
        data.draw(st.sampled_from(schemes_for(part, case.spec.attributes[part.name].order)))
        for part in case.census.quasi
    ]
    question = ask(case, schemes, {"k": 1}, "dm", 1.0)
    rearranged = data.draw(st.booleans())
    for up in (True, False):
        bench = Bench(question)
        bench.metric = recorder = Recorder(bench.metric)
        bench.search(replace(NONE, requeueing=rearranged, rearranging=rearranged), up=up, watch=Watch())
        assert len(recorder.asked) == len({*recorder.asked})
        met = {
            tuple(values_by(q, s[p]) for q, s, p in zip(bench.census.quasi, bench.spaces, node, strict=True))
            for node in recorder.asked
        }
        assert met == {tuple(choice.partition for choice in chosen) for chosen in product(*question.spaces)}


# Bounds


@given(question=questions(), data=st.data())
def test_no_bound_exceeds_the_cost_of_anything_below(question: Question, data: st.DataObject) -> None:
    bench, rng = Bench(question), Random(data.draw(st.integers(0, 2**32)))
    named = [{choice.partition: choice for choice in space} for space in question.spaces]
    for up in (True, False):
        trees = [tree_of(space, up=up) for space in bench.spaces]
        for _ in range(4):
            node = [rng.choice(list(tree)) for tree in trees]
            below = [descendants(tree, p) if rng.random() < 0.7 else [p] for tree, p in zip(trees, node, strict=True)]
            far = [
                space.end(p, up=up) if len(reached) > 1 else p
                for space, p, reached in zip(bench.spaces, node, below, strict=True)
            ]
            bound = bound_between(bench, *(node, far) if up else (far, node))
            for positions in product(*below):
                parts = [
                    values_by(q, s[p]) for q, s, p in zip(bench.census.quasi, bench.spaces, positions, strict=True)
                ]
                release = question.judge.release(tuple(known[part] for known, part in zip(named, parts, strict=True)))
                if release is not None:
                    assert bound <= float(release.cost) * (1 + 1e-9) + 1e-12


def bound_between(bench: Bench, fine: Node, coarse: Node) -> float:
    """What all between two ends cost at least: the floor of the finest, and what the coarsest cannot save."""
    floor, top = bench.metric.floor(fine, bench.classes(fine)), bench.classes(coarse)
    if bench.limit == 0:
        return inf if bench.promise.judge(top) else floor
    bench.promise.mark_hopeless(top)
    gone = bench.promise.raise_gone(top)
    return inf if gone > bench.limit or gone == bench.census.rows else floor + bench.metric.gain(coarse, top)


class StopsEarly(Watch):
    """A watch whose time is up after so many nodes."""

    def expired(self) -> bool:
        """Whether as many nodes as the time limit says have been judged."""
        return self.time_limit is not None and self.nodes >= self.time_limit


@given(question=questions(), search=st.sampled_from(["bottom-up", "top-down"]), after=st.integers(1, 60))
def test_a_search_cut_short_certifies_a_bound_below_the_optimum(question: Question, search: str, after: int) -> None:
    best, decision = question.best(), None
    try:
        decision = decide(question.census, question.spec_for(search), StopsEarly(time_limit=after))
    except Unsatisfiable as error:
        refused = str(error)
    if decision is None:
        assert best is None or "no release was found within method.time_limit" in refused
        return
    assert best is not None
    assert decision.search is not None
    cost = float(best.cost)
    assert decision.search.bound <= cost * (1 + 1e-9) + 1e-12
    assert cost <= decision.search.cost * (1 + 1e-9) + 1e-12
    assert decision.search.bound <= decision.search.cost
    assert decision.search.cost == pytest.approx(decision.metrics[question.spec.method.metric], rel=1e-9, abs=1e-12)
    if decision.search.optimal:
        assert labels_of(decision) == [choice.labels for choice in best.choices]


# Between schemes, and along chains


@given(
    case=scheme_cases(sensitive=2),
    promise=promises(),
    suppression=SUPPRESSION,
    name=st.sampled_from(METRICS),
    search=st.sampled_from(["bottom-up", "top-down"]),
)
def test_a_wider_scheme_never_costs_more(case: Case, promise: Any, suppression: float, name: str, search: str) -> None:
    quasi, costs = case.census.quasi, {}
    for scheme in SCHEMES:
        if all(scheme in schemes_for(q, case.spec.attributes[q.name].order) for q in quasi):
            question = ask(case, [scheme] * len(quasi), promise[0], name, suppression)
            try:
                decision = decide(question.census, question.spec_for(search), Watch())
            except Unsatisfiable:
                costs[scheme] = inf
                continue
            assert decision.search is not None
            costs[scheme] = decision.search.cost
    for narrow, wide in [*WITHIN, ("cut", "guided-set"), ("cut", "set")]:
        if narrow in costs and wide in costs:
            assert costs[wide] <= costs[narrow] * (1 + 1e-9) + 1e-12, (narrow, wide)


@given(case=scheme_cases(sensitive=2), data=st.data())
def test_hdm_adds_up_along_a_chain_and_no_loss_falls(case: Case, data: st.DataObject) -> None:
    rng = Random(data.draw(st.integers(0, 2**32)))
    schemes = [rng.choice(schemes_for(q, case.spec.attributes[q.name].order)) for q in case.census.quasi]
    question = ask(case, schemes, {"k": 1}, "dm", 1.0)
    bench, census = Bench(question), question.census
    weights = [quasi.weight for quasi in census.quasi]
    node = [space.finest for space in bench.spaces]
    before = bench.measured(node)
    assert before["hdm"] == 0
    while steps := [(a, c) for a, space in enumerate(bench.spaces) for c in space.children(node[a], up=True)]:
        a, child = rng.choice(steps)
        quasi, old, new = census.quasi[a], bench.spaces[a][node[a]].blocks, bench.spaces[a][child].blocks
        step = 0.0  # (N_after - N_before)/(N - N_v) for every row
        for leaf, count in enumerate(quasi.rows.tolist()):
            if count:
                gained = quasi.rows[new == new[leaf]].sum() - quasi.rows[old == old[leaf]].sum()
                step += count * float(gained) / (census.rows - count) if gained else 0.0
        node[a] = child
        after = bench.measured(node)
        assert after["hdm"] == pytest.approx(before["hdm"] + step * weights[a] / sum(weights), rel=1e-9, abs=1e-12)
        for name in METRICS:
            assert after[name] >= before[name] - 1e-12, name
        before = after


# By hand


def answer(columns: dict[str, list[Any]], attributes: dict[str, Any], k: int = 2, **method: Any) -> Decision:
    """Decide over a small table without suppression."""
    spec = Spec(
        attributes={name: {"role": "quasi", **attributes.get(name, {})} for name in columns},
        privacy={"k": k},
        method={"suppression": 0.0, "search": "bottom-up", **method},
    )
    return decide(Case(pa.table(columns), spec).census, spec, Watch())


def test_the_penalties_of_section_4() -> None:
    work = ["inc"] * 50 + ["not inc"] * 200 + ["private"] * 750
    decision = answer({"work": work}, {}, k=100, scheme="set", metric="hdm")
    assert decision.metrics["hdm"] == pytest.approx(50 * 4 / 19 + 200 * 1 / 16)
    assert decision.recoding.columns["work"].labels == ("{inc, not inc}", "{inc, not inc}", "private")


def test_equal_costs_are_decided_by_the_smallest_shifts() -> None:
    for search in ("bottom-up", "top-down"):
        decision = answer({"x": list("abcd")}, {}, scheme="set", search=search)
        # {a, b}, {c, d}: (0, 1, 0, 1); {a, c}, {b, d}: (0, 0, 2, 2); {a, d}, {b, c}: (0, 0, 1, 3)
        assert decision.recoding.columns["x"].labels == ("{a, d}", "{b, c}", "{b, c}", "{a, d}")
        assert decision.metrics["dm"] == 8


JOBS = {"health": ["nurse", "doctor"], "other": ["cook", "judge"]}


@pytest.mark.parametrize("search", ["bottom-up", "top-down"])
def test_plans_carry_ranges_sets_and_the_labels_of_nodes(search: str) -> None:
    rows: dict[str, list[Any]] = {"age": [20, 34, 50, 50], "job": ["nurse", "doctor", "cook", "cook"]}
    attributes = {"age": {"order": "numeric", "scheme": "ordered"}, "job": {"hierarchy": {"tree": JOBS}}}
    plan = answer(rows, attributes, scheme="set", search=search).recoding
    assert plan.columns["age"].labels == ("[20, 34]", "[20, 34]", "50")
    assert plan.columns["job"].labels == ("health", "health", "cook", "judge")
    assert plan.columns["age"].level is None
    assert not plan.levels
    everything = answer(rows, attributes, k=3, scheme="guided-set", search=search).recoding
    assert {*everything.columns["age"].labels} == {*everything.columns["job"].labels} == {"*"}


def test_an_order_that_tears_a_node_apart_is_a_spec_error() -> None:
    attributes = {"x": {"hierarchy": {"tree": JOBS}, "order": ["nurse", "cook", "doctor", "judge"]}}
    rows = {"x": ["nurse", "cook", "doctor"]}
    with pytest.raises(SpecError, match=r"attributes\.x\.order.*'health'"):
        answer(rows, attributes, scheme="guided-ordered")
    assert answer(rows, attributes, k=3, scheme="ordered").metrics["dm"] == 9


@pytest.mark.parametrize("scheme", SCHEMES)
def test_values_that_nobody_has_make_no_scheme_dearer(scheme: Scheme) -> None:
    tree = {"A": ["a", "b"], "B": ["x"]}
    decision = answer({"x": ["a", "b"]}, {"x": {"hierarchy": {"tree": tree}}}, scheme=scheme, metric="glm")
    assert decision.metrics["glm"] == (2 - 1) / (3 - 1)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_more_people_than_rows_is_unsatisfiable(scheme: Scheme) -> None:
    for search in ("bottom-up", "top-down", "auto"):
        with pytest.raises(Unsatisfiable, match=r"3 rows.*k = 4.*largest k that is possible is 3"):
            answer({"x": list("abb")}, {}, k=4, scheme=scheme, search=search)


@pytest.mark.parametrize("up", [True, False])
def test_a_stopped_search_returns_what_it_has(up: bool) -> None:
    case = Case(pa.table({"a": list("wxyzwxyz"), "b": list("uvuvvuvu")}), Spec(attributes={
        name: {"role": "quasi", "scheme": "set"} for name in "ab"}))  # fmt: skip
    bench = Bench(ask(case, ["set", "set"], {"k": 2}, "dm", 1.0))

    class Stopping(Watch):
        """Stops after some nodes."""

        def tick(self, best: float | None, bound: float | None = None, *, nodes: int = 1) -> None:
            super().tick(best, bound, nodes=nodes)
            self.stopped = self.nodes > 20

    _, result = bench.search(Techniques(), up=up, watch=Stopping())
    _, whole = bench.search(Techniques(), up=up, watch=Watch())
    assert not result.optimal
    assert result.bound <= whole.cost <= result.cost


LARGE: dict[str, Any] = {"scheme": "set", "search": "bottom-up", "metric": "glm"}


def large(values: int) -> Case:
    """A row for each of so many values, to be merged to sets of five."""
    return Case(pa.table({"a": [str(i) for i in range(values)]}), Spec(attributes={"a": {"role": "quasi"}},
        privacy={"k": 5}, method=LARGE))  # fmt: skip


@pytest.mark.parametrize("named", [None, ["pruning", "useless"], ["seeding"], []])
def test_a_large_set_keeps_the_time_limit_and_has_an_answer(named: list[Technique] | None) -> None:
    """A clock that goes on by a second whenever it is read: there is no time to meet all 4,950 pairs of a hundred."""
    case, seconds = large(100), iter(range(10**9))
    spec = case.spec.model_copy(update={"method": MethodTable(**LARGE, techniques=named)})
    result = decide(case.census, spec, Watch(300, clock=seconds.__next__)).search
    assert result is not None
    assert next(seconds) < 400
    assert not result.optimal
    assert result.bound <= result.cost


def test_the_ends_of_thousands_of_values_are_found_at_once() -> None:
    """What all merges together reach is no walk over all pairs, and partitions of so many values are not counted."""
    case, seconds = large(3000), iter(range(10**9))
    (quasi,) = case.census.quasi
    space = Space(quasi, "set")
    assert space.end(space.finest, up=True) == space.coarsest
    result = decide(case.census, case.spec, Watch(10, clock=seconds.__next__)).search
    assert result is not None
    assert result.pruned == MOST_COUNTED
