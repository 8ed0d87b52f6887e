"""The audit of non-homogeneous releases: the paper's tables, brute force over assignments, corruption."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.attacks.corruption import corrupt
from ringfence.audit.counts import Cells
from ringfence.audit.trace.flows import Graph
from ringfence.audit.trace.ring_matches import Matches, diverse, find_matches
from ringfence.audit.verdict import Verdict
from ringfence.errors import DataError, SpecError
from ringfence.spec import Spec


def text(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Return rows as a table of text."""
    return pa.table({name: pa.array([str(row[i]) for row in rows], pa.string()) for i, name in enumerate(names)})


def spec_of(k: int, **others: Any) -> Spec:
    """Return a specification of a ring over numbers."""
    return Spec(
        attributes={"x": {"role": "quasi", "order": "numeric"}, **others.pop("attributes", {})},
        privacy={"k": k, **others.pop("privacy", {})},
        method={"name": "ring", **others},
    )


def rules(verdict: Verdict) -> list[str]:
    """Return the rules that a verdict finds broken."""
    return [finding.rule for finding in verdict.findings]


# Wong, Mamoulis, Cheung 2010


def test_table_3_is_2_anonymous() -> None:
    names = ["zip", "gender", "age", "disease"]
    original = [
        ("901152", "M", 30, "Flu"),
        ("901157", "F", 28, "Cancer"),
        ("901578", "M", 15, "Cancer"),
        ("902398", "M", 48, "AIDS"),
        ("902301", "M", 20, "None"),
    ]
    release = [
        ("90115*", "*", "[28, 30]", "Flu"),
        ("901***", "*", "[15, 28]", "Cancer"),
        ("901***", "M", "[15, 30]", "Cancer"),
        ("9023**", "M", "[20, 48]", "AIDS"),
        ("9023**", "M", "[20, 48]", "None"),
    ]
    attributes = {
        "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
        "gender": {"role": "quasi", "hierarchy": "flat"},
        "age": {"role": "quasi", "order": "numeric"},
        "disease": {"role": "sensitive"},
    }
    for k, broken in ((2, []), (3, ["k"])):
        spec = Spec(attributes=attributes, privacy={"k": k}, method={"name": "ring"})
        verdict = rf.audit(text(names, release), spec, text(names, original))
        assert rules(verdict) == broken
        assert (verdict.measured["k"], verdict.measured["matches"], verdict.measured["ineffective"]) == (2, 10, 0)
        assert "cannot be read from a release" in str(verdict)
    with pytest.raises(DataError, match="could not be judged"):
        rf.audit(text(names, release), spec)


def test_table_4b_is_not_2_anonymous() -> None:
    """Each tuple has two matches, but the second can only be itself."""
    original = text("x", [(1,), (2,), (3,), (4,), (5,)])
    release = text("x", [("[1, 5]",), ("[2, 3]",), ("[3, 4]",), ("[3, 4]",), ("[1, 5]",)])
    verdict = rf.audit(release, spec_of(2), original)
    assert rules(verdict) == ["k"]
    assert verdict.measured["k"] == 1
    assert verdict.findings[0].example == {"x": "[2, 3]"}
    # Effective: 1 and 5 for the two wide ones, 2 for 2-3, 3 and 4 for the two others; struck out: 3 times 2, 3 for 2-3.
    assert (verdict.measured["matches"], verdict.measured["ineffective"]) == (9, 7)


FIGURE_4 = {  # who may be published as whom, besides as themselves: the way round leads over 5 -> 6
    1: {2, 3, 4}, 2: {3, 4, 5}, 3: {2, 4, 5}, 4: {2, 3, 5}, 5: {2, 3, 6},
    6: {7, 8, 9}, 7: {1, 6, 8, 9}, 8: {1, 6, 7, 9}, 9: {1, 6, 7, 8},
}  # fmt: skip


def test_figure_4_is_not_3_anonymous() -> None:
    """Three effective matches each way, yet every assignment has 1 as itself or 5 as 6."""
    original = text("x", [(each,) for each in FIGURE_4])
    covers = {each: {each, *(other for other, may_be in FIGURE_4.items() if each in may_be)} for each in FIGURE_4}
    assert min(map(len, covers.values())) >= 3
    release = text("x", [("{" + ", ".join(map(str, sorted(covers[each]))) + "}",) for each in FIGURE_4])
    verdict = rf.audit(release, spec_of(3), original)
    assert verdict.measured["ineffective"] == 0
    assert rules(verdict) == ["k"]
    assert verdict.measured["k"] == 2
    assert rf.audit(release, spec_of(2), original).ok


def test_rings_hold_and_their_damaged_copies_do_not() -> None:
    k, size = 3, 7
    original = text("x", [(each,) for each in range(2 * size)])
    rings = [[[start + (i + j) % size for j in range(k)] for i in range(size)] for start in (0, size)]
    labels = ["{" + ", ".join(map(str, sorted(held))) + "}" for ring in rings for held in ring]
    assert rf.audit(text("x", [(label,) for label in labels]), spec_of(k), original).ok
    narrow = [*labels[:-1], "{12, 13}"]
    assert rules(rf.audit(text("x", [(label,) for label in narrow]), spec_of(k), original)) == ["k"]
    fewer = rf.audit(text("x", [(label,) for label in labels[:-1]]), spec_of(k), original)
    assert fewer.measured["suppressed"] == 1
    doubled = [*labels[:-1], labels[0]]
    assert rules(rf.audit(text("x", [(label,) for label in doubled]), spec_of(k), original)) == ["original"]


def test_what_rings_do_not_promise() -> None:
    attributes = {"s": {"role": "sensitive"}}
    table = text("xs", [(1, "a")])
    refused: list[tuple[dict[str, Any], str]] = [
        ({"p": 1}, "privacy.p"),
        ({"t": 0.5}, "privacy.t"),
        ({"alpha": 0.5}, "privacy.alpha"),
        ({"l": {"value": 2, "kind": "entropy"}}, "privacy.l of kind 'entropy'"),
    ]
    for privacy, key in refused:
        with pytest.raises(SpecError, match=key):
            rf.audit(table, spec_of(1, attributes=attributes, privacy=privacy), table)
    assert rf.audit(table, spec_of(1, homogeneous=True, attributes=attributes)).ok


# By brute force over assignments


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw a small graph that has a complete assignment, now and then with rows that are not published."""
    original = draw(st.lists(st.integers(1, 2), min_size=1, max_size=4).filter(lambda rows: sum(rows) <= 5))
    rights = len(original)
    people = [node for node, rows in enumerate(original) for _ in range(rows)]
    published = draw(st.permutations(people))[: draw(st.integers(1, len(people)))]
    extra = draw(st.sets(st.tuples(st.integers(0, len(published) - 1), st.integers(0, rights - 1))))
    edges = np.array(sorted({*enumerate(published), *extra}), np.int64)
    return Graph(edges[:, 0], edges[:, 1], np.ones(len(published), np.int64), np.array(original))


def assignments(graph: Graph) -> list[tuple[int, ...]]:
    """Return all assignments of published rows to single rows of the original."""
    edges = {*zip(graph.left.tolist(), graph.right.tolist(), strict=True)}
    people = np.repeat(np.arange(len(graph.original)), graph.original).tolist()
    ways = itertools.permutations(range(len(people)), len(graph.published))
    return [way for way in ways if all((row, people[one]) in edges for row, one in enumerate(way))]


def holds(graph: Graph, k: int) -> bool:
    """Return whether k assignments share no match; rows that are suppressed in several of them are no match."""

    def search(left: int, used: frozenset[tuple[int, int]]) -> bool:
        if left == 0:
            return True
        ways = (frozenset(enumerate(way)) for way in every if not frozenset(enumerate(way)) & used)
        return any(search(left - 1, used | way) for way in ways)

    every = assignments(graph)
    return search(k, frozenset())


@given(graphs())
def test_the_largest_k_by_brute_force(graph: Graph) -> None:
    assume(len(assignments(graph)) <= 60)
    matches = find_matches(graph)
    assert matches is not None
    k = int(matches.widths[: len(graph.published)].min())
    assert holds(graph, k)
    assert not holds(graph, k + 1)


@given(graphs(), st.lists(st.integers(0, 2), min_size=10, max_size=10), st.integers(1, 3))
def test_diversity_by_a_linear_program_in_small(graph: Graph, values: list[int], l: int) -> None:  # noqa: E741
    """A draw that keeps values at 1/l exists if assignments can be mixed so; by duality no weights forbid it."""
    matches = find_matches(graph)
    assert matches is not None
    every = assignments(graph)
    assume(len(every) <= 40)
    count = len(graph.published)
    cells = Cells(np.arange(count), np.array(values[:count]), np.ones(count, np.int64), np.ones(count, np.int64))
    found = bool(diverse(matches, cells, 1, l)[matches.components[0][:count]].all())
    people = int(graph.original.sum())
    seen = np.zeros((len(every), people, 3))
    for number, way in enumerate(every):
        for row, one in enumerate(way):
            seen[number, one, values[row]] = 1
    assert found == _mixable(seen.reshape(len(every), -1), 1 / l)


def _mixable(seen: Any, limit: float) -> bool:
    """Return whether some mixture of the rows has no entry above a limit, by fictitious play of both sides."""
    mixed, against = np.zeros(seen.shape[1]), np.zeros(len(seen))
    low, high = 0.0, 1.0
    for turn in range(1, 4000):
        against += seen[:, int(np.argmax(mixed))]
        mixed += seen[int(np.argmin(against))]
        low, high = max(low, against.min() / turn), min(high, mixed.max() / turn)
        if low > limit + 1e-9 or high < limit + 1e-9:
            break
    return high < limit + 0.02 if low <= limit + 1e-9 else False


@given(graphs(), st.integers(1, 2))
def test_corruption_by_brute_force(graph: Graph, known: int) -> None:
    matches = find_matches(graph)
    assert matches is not None
    every = assignments(graph)
    assume(len(every) <= 200 and len(graph.published) > known)
    fewest = len(every[0]) + 100
    for true in every:
        for which in itertools.combinations(range(len(true)), known):
            rest = [way for way in every if all(way[row] == true[row] for row in which)]
            for row in set(range(len(true))) - set(which):
                fewest = min(fewest, len({way[row] for way in rest}))
    found = corrupt(matches, known)
    assert found.exact
    assert found.fewest == fewest


def ring(size: int, k: int) -> Matches:
    """Return the matches of a ring."""
    edges = np.array(sorted((i, (i + j) % size) for i in range(size) for j in range(k)), np.int64)
    matches = find_matches(Graph(edges[:, 0], edges[:, 1], np.ones(size, np.int64), np.ones(size, np.int64)))
    assert matches is not None
    return matches


def test_one_known_row_of_a_ring() -> None:
    assert corrupt(ring(6, 2), 1).fewest == 1  # one known row tells all
    assert corrupt(ring(7, 4), 1).fewest == 3
    sampled = corrupt(ring(40, 4), 3)
    assert not sampled.exact
    assert sampled.bound == 1
    assert sampled == corrupt(ring(40, 4), 3)
    table = text("x", [(each,) for each in range(4)])
    verdict = rf.audit(text("x", [("[0, 3]",)] * 4), spec_of(4), table, corrupted=2)
    assert (verdict.measured["after_corruption"], verdict.measured["after_corruption_bound"]) == (2, 2)
    with pytest.raises(DataError, match="needs the original"):
        rf.audit(table, spec_of(1, homogeneous=True), corrupted=1)
    with pytest.raises(SpecError, match="corrupted = -1"):
        rf.audit(table, spec_of(1), table, corrupted=-1)


# Rings of the paper for l-diversity


def test_rings_of_the_paper_tell_more_than_they_promise() -> None:
    """Six in a ring of three, two of each value in an order where neighbours differ, under every assignment.

    Who knows the order strikes out assignments by which neighbours would be alike. Some releases then tell a value for
    certain, and the audit fails those that tell any with more than 1/3.
    """
    held = [{i, (i + 1) % 6, (i + 2) % 6} for i in range(6)]
    labels = ["{" + ", ".join(map(str, sorted(each))) + "}" for each in held]
    truth = "abcabc"
    ways = [way for way in itertools.permutations(range(6)) if all(t in held[row] for row, t in enumerate(way))]
    spec = spec_of(
        1, attributes={"s": {"role": "sensitive"}}, privacy={"l": {"value": 3, "of": "s"}}, paper_diversity=True
    )
    worst = 0.0
    for true in ways:
        published = [truth[t] for t in true]
        worlds = []
        for way in ways:
            world = {t: published[row] for row, t in enumerate(way)}
            if all(len({world[t] for t in each}) == 3 for each in held):
                worlds.append(world)
        told = max(sum(world[t] == value for world in worlds) / len(worlds) for t in range(6) for value in "abc")
        release = text("xs", [*zip(labels, published, strict=True)])
        found = [
            each
            for each in rf.audit(release, spec, text("xs", [*enumerate(truth)])).findings
            if "of the paper" in each.message
        ]
        assert bool(found) == (told > 1 / 3 + 1e-9)
        assert all(f"with up to {told:.4g}" in each.message for each in found)
        worst = max(worst, told)
    assert worst == 1


def test_a_ring_of_different_values_keeps_its_promise() -> None:
    """Where every value occurs once, all orders are valid, and nothing can be struck out: five in a ring of three."""
    labels = ["{" + ", ".join(map(str, sorted({i, (i + 1) % 5, (i + 2) % 5}))) + "}" for i in range(5)]
    original = text("xs", [(i, "abcde"[i]) for i in range(5)])
    attributes = {"s": {"role": "sensitive"}}
    spec = spec_of(3, attributes=attributes, privacy={"l": {"value": 3, "of": "s"}})
    verdict = rf.audit(text("xs", [(label, "abcde"[i]) for i, label in enumerate(labels)]), spec, original)
    assert (verdict.ok, verdict.measured["l"], verdict.measured["k"]) == (True, 3, 3)
