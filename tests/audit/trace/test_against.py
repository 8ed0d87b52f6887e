"""The audit against the original: rows traced back, boundaries counted in cells, by brute force and on the paper."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.counts import Column
from ringfence.audit.labels.growing import tree_over
from ringfence.audit.labels.held import held_in
from ringfence.audit.trace.flows import Graph, effective, match, max_flow
from ringfence.audit.trace.linkage import Coverage, Side, link
from ringfence.audit.verdict import Verdict
from ringfence.errors import DataError
from ringfence.spec import Spec

# Campan, Truta, Cooper 2010, Tables 1 to 4. The tree of ages (Fig. 2c) is lost: decades, none past them.

PEOPLE = [
    ("Married", "Male", 37, "Cancer"),
    ("Married", "Female", 30, "Flu"),
    ("Married", "Male", 36, "HIV"),
    ("Single", "Female", 43, "Cancer"),
    ("Single", "Male", 45, "Flu"),
    ("Single", "Female", 37, "Flu"),
    ("Single", "Female", 32, "Flu"),
    ("Married", "Male", 30, "Diabetes"),
    ("Divorced", "Female", 41, "Diabetes"),
]
NAMES = ["status", "gender", "age", "diagnosis"]
FIRST = ((0, 2, 7), ("Married", "Male", "30-39"))
LAST = ((3, 4, 8), ("*", "*", "40-49"))
GROUPS = {
    "MM1": [FIRST, ((1, 5, 6), ("*", "Female", "30-39")), LAST],
    "MM2": [FIRST, ((3, 4, 5), ("Single", "*", "20-59")), ((1, 6, 8), ("*", "Female", "20-59"))],
    "MM3": [((0, 1, 7), ("Married", "*", "30-39")), ((2, 5, 6), ("*", "*", "30-39")), LAST],
}
AGES = {"20-59": {f"{low}-{low + 9}": [str(age) for age in range(low, low + 10)] for low in (20, 30, 40, 50)}}
SPEC = Spec(
    attributes={
        "status": {"role": "quasi", "hierarchy": "flat"},
        "gender": {"role": "quasi", "hierarchy": "flat"},
        "age": {"role": "quasi", "hierarchy": {"tree": AGES}, "boundary": list(AGES["20-59"])},
        "diagnosis": {"role": "sensitive"},
    },
    privacy={"k": 3, "p": 2},
    method={"name": "cluster"},
)


def people(rows: Sequence[Sequence[Any]], names: Sequence[str] = NAMES) -> pa.Table:
    """Return rows as a table of text."""
    return pa.table({name: pa.array([str(row[i]) for row in rows], pa.string()) for i, name in enumerate(names)})


def masked(which: str) -> list[tuple[str, ...]]:
    """Return the rows of a masked table of the paper."""
    return [(*labels, PEOPLE[row][3]) for rows, labels in GROUPS[which] for row in rows]


def rules(verdict: Verdict) -> list[str]:
    """Return the rules that a verdict finds broken."""
    return [finding.rule for finding in verdict.findings]


@pytest.mark.parametrize(
    ("which", "broken", "p", "cells"), [("MM1", ["p"], 1, 0), ("MM2", ["boundary"], 2, 6), ("MM3", [], 2, 0)]
)
def test_the_masked_tables_of_the_paper(which: str, broken: list[str], p: int, cells: int) -> None:
    verdict = rf.audit(people(masked(which)), SPEC, people(PEOPLE))
    assert rules(verdict) == broken
    measured = dict(verdict.measured)
    assert (measured["k"], measured["p"], measured["past_boundary"]) == (3, p, cells)
    assert (measured["original"], measured["suppressed"]) == (9, 0)
    assert "past_boundary_most" not in measured


def test_rows_that_are_made_up_lost_or_changed() -> None:
    good = masked("MM3")
    assert rf.audit(people(good[:6]), SPEC, people(PEOPLE)).measured["suppressed"] == 3
    within = SPEC.model_copy(update={"method": SPEC.method.model_copy(update={"suppression": 0.3})})
    assert rules(rf.audit(people(good[:6]), within, people(PEOPLE))) == ["rows"]
    more = rf.audit(people([*good, good[0]]), SPEC, people(PEOPLE))
    assert rules(more) == ["rows"]
    assert "1 row more than the original" in more.findings[0].message
    swapped = [*good[:2], (*good[2][:3], "HIV"), *good[3:]]
    (finding,) = rf.audit(people(swapped), SPEC, people(PEOPLE)).findings
    assert (finding.rule, finding.rows) == ("original", 1)
    elsewhere = [*good[:8], ("Single", "Male", "40-49", "Diabetes")]
    assert "original" in rules(rf.audit(people(elsewhere), SPEC, people(PEOPLE)))
    with pytest.raises(DataError, match="the original has no column 'age'"):
        rf.audit(people(good), SPEC, people(PEOPLE).drop_columns(["age"]))


def test_a_label_that_only_some_values_may_have() -> None:
    """With one decade marked, who became 20-59 decides, and it cannot always be told."""
    marked = {**SPEC.attributes, "age": SPEC.attributes["age"].model_copy(update={"boundary": ["30-39"]})}
    spec = SPEC.model_copy(update={"attributes": marked})
    verdict = rf.audit(people(masked("MM2")), spec, people(PEOPLE))
    # Of the six, the rows of 32 and 37 (both flu) and of 30 (flu) are past; 43, 45 and 41 are not, and 45 has the flu.
    assert verdict.measured["past_boundary"] == 3
    assert rules(verdict) == ["boundary"]
    one = spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"k": 1, "p": 1})})
    two = people([("Single", "Male", 45, "Flu"), ("Single", "Male", 35, "Flu")])
    loose = rf.audit(people([("*", "*", "20-59", "Flu")]), one, two)
    assert (loose.measured["past_boundary"], loose.measured["past_boundary_most"]) == (0, 1)
    assert loose.ok


def test_our_own_release_is_traced_back() -> None:
    release = rf.anonymize(people(PEOPLE), SPEC)
    verdict = rf.audit(release.table, SPEC, people(PEOPLE))
    assert verdict.ok
    assert verdict.measured["past_boundary"] == 0


# Flows, by brute force


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw a small graph with a few rows at each node."""
    lefts, rights = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    pairs = draw(st.sets(st.tuples(st.integers(0, lefts - 1), st.integers(0, rights - 1))))
    edges = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    published = draw(st.lists(st.integers(1, 2), min_size=lefts, max_size=lefts))
    original = draw(st.lists(st.integers(1, 2), min_size=rights, max_size=rights))
    return Graph(edges[:, 0], edges[:, 1], np.array(published), np.array(original))


def matchings(graph: Graph) -> list[list[tuple[int, int]]]:
    """Return all ways to give every published row a row of the original of its own, as pairs of nodes."""
    edges = {*zip(graph.left.tolist(), graph.right.tolist(), strict=True)}
    left = np.repeat(np.arange(len(graph.published)), graph.published).tolist()
    right = np.repeat(np.arange(len(graph.original)), graph.original).tolist()
    ways = itertools.permutations(right, len(left))
    return [[*zip(left, way, strict=True)] for way in ways if {*zip(left, way, strict=True)} <= edges]


@given(graphs())
def test_matching_and_effective_edges(graph: Graph) -> None:
    ways = matchings(graph)
    flow = match(graph)
    given_out = np.bincount(graph.left, flow, minlength=len(graph.published))
    assert (given_out <= graph.published).all()
    assert (np.bincount(graph.right, flow, minlength=len(graph.original)) <= graph.original).all()
    assert (given_out == graph.published).all() == bool(ways)
    if ways:
        used = {pair for way in ways for pair in way}
        pairs = zip(graph.left.tolist(), graph.right.tolist(), strict=True)
        assert effective(graph, flow).tolist() == [pair in used for pair in pairs]


@given(graphs(), st.integers(1, 3))
def test_the_largest_flow_is_the_smallest_cut(graph: Graph, capacity: int) -> None:
    limits = np.full(len(graph.left), capacity)
    flow = max_flow(graph, graph.published, graph.original, limits)
    assert (flow <= limits).all()
    cuts = []
    for lefts, rights in itertools.product(
        *(itertools.product([0, 1], repeat=len(side)) for side in (graph.published, graph.original))
    ):
        inside, beyond = np.array(lefts, bool), np.array(rights, bool)
        crossing = inside[graph.left] & ~beyond[graph.right]
        cuts.append(graph.published[~inside].sum() + graph.original[beyond].sum() + capacity * crossing.sum())
    assert flow.sum() == min(cuts)


@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_combinations_are_linked_where_all_labels_hold_and_all_else_is_equal(
    attributes: int, lefts: int, rights: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    covers, labels = [], []
    for _ in range(attributes):
        holds = rng.random((3, 4)) < 0.6
        covers.append(Coverage(rng.integers(0, 4, rights), holds, np.zeros_like(holds)))
        labels.append(Column("", (None,) * 3, rng.integers(0, 3, lefts)))
    ours = Side(tuple(labels), rng.integers(0, 2, lefts), np.ones(lefts, np.int64))
    theirs = Side((), rng.integers(0, 2, rights), np.ones(rights, np.int64))
    graph = link(ours, theirs, covers)
    assert [*zip(graph.left.tolist(), graph.right.tolist(), strict=True)] == [
        (one, other)
        for one in range(lefts)
        for other in range(rights)
        if ours.kept[one] == theirs.kept[other]
        and all(each.holds[label.codes[one], each.leaves[other]] for each, label in zip(covers, labels, strict=True))
    ]


def test_labels_are_read_once_and_apart_for_numbers_and_text() -> None:
    values = ["1", "2", "10"]
    read = {}
    for order in ("numeric", "lexical"):
        spec = Spec(attributes={"x": {"role": "quasi", "order": order}})
        tree, _ = tree_over("x", spec, values, [1, 1, 1])
        held = read[order] = held_in(tree, spec.attributes["x"])
        again, _ = tree_over("x", spec, values, [1, 1, 1])
        assert held_in(again, spec.attributes["x"]) is held
        assert held.by("{2, 10}") is held.by("{2, 10}")
        assert [held.texts[leaf] for leaf in held.by("{2, 10}").tolist()] == ["2", "10"]
        with pytest.raises(ValueError, match="read-only"):
            held.by("{2, 10}")[0] = 0
    assert read["numeric"] is not read["lexical"]


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, pa.Table, Spec]:
    """Draw a small original and a table of labels over it, true or not, with boundaries."""
    tree = {"A": ["a", "b"], "B": {"C": ["c", "d"], "D": ["e"]}}
    spec = Spec(
        attributes={
            "x": {"role": "quasi", "hierarchy": {"tree": tree}, "boundary": draw(st.sampled_from([["C"], ["A", "c"]]))},
            "y": {"role": "quasi", "hierarchy": {"intervals": [2, 4]}, "boundary": {"level": draw(st.integers(0, 3))}},
            "z": {"role": "insensitive"},
        },
        privacy={"k": 1},
    )
    raw = draw(
        st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 7), st.sampled_from("pq")), min_size=1, max_size=5)
    )
    up = {"a": "Aa", "b": "Ab", "c": "BCc", "d": "BCd", "e": "BDe"}
    rows = []
    for x, y, z in raw:
        width = draw(st.sampled_from([2, 4]))
        label = draw(st.sampled_from([str(y), f"[{y // width * width}, {y // width * width + width})", "*"]))
        rows.append((draw(st.sampled_from([*up[x], "*"])), label, draw(st.sampled_from([z, z, z, "p"]))))
    return people(rows[: draw(st.integers(1, 5))], "xyz"), people(raw, "xyz"), spec


@given(tables())
def test_tracing_back_by_brute_force(case: tuple[pa.Table, pa.Table, Spec]) -> None:
    release, original, spec = case
    under = {"A": "ab", "B": "cde", "C": "cd", "D": "e", "*": "abcde", **{leaf: leaf for leaf in "abcde"}}
    boundary, level = spec.attributes["x"].boundary, spec.attributes["y"].boundary.level  # type: ignore[union-attr]

    def low_high(label: str) -> tuple[int, int]:
        ends = label.strip("[)").split(", ")
        return (0, 8) if label == "*" else (int(ends[0]), int(ends[-1]) + (len(ends) == 1))

    def may_be(row: Any, source: Any) -> bool:
        low, high = low_high(row["y"])
        return source["x"] in under[row["x"]] and low <= int(source["y"]) < high and row["z"] == source["z"]

    def past(row: Any, source: Any) -> int:
        path = [name for name in ("A", "B", "C", "D", "*", source["x"]) if source["x"] in under[name]]
        path.sort(key=lambda name: len(under[name]))
        ceiling = next((name for name in path if name in boundary), "*")  # type: ignore[operator]
        low, high = low_high(row["y"])
        return (len(under[row["x"]]) > len(under[ceiling])) + (high - low > [1, 2, 4, 8][level])

    ours, theirs = release.to_pylist(), original.to_pylist()
    ways = [way for way in itertools.permutations(theirs, len(ours)) if all(map(may_be, ours, way))]
    verdict = rf.audit(release, spec, original)
    assert ("original" in rules(verdict)) == (not ways)
    if ways:
        cells = [sum(map(past, ours, way)) for way in ways]
        least = verdict.measured["past_boundary"]
        assert least <= min(cells)
        assert max(cells) <= verdict.measured.get("past_boundary_most", least)
        assert ("boundary" in rules(verdict)) == (least > 0)


def test_a_release_and_an_original_of_different_types() -> None:
    spec = Spec(
        attributes={"x": {"role": "quasi", "hierarchy": "flat"}, "pay": {"role": "insensitive"}}, privacy={"k": 1}
    )
    release = pa.table({"x": ["a", "b"], "pay": [7.0, 2.5]})
    original = pa.table({"x": ["a", "b", "c"], "pay": ["7.0", "2.50", None]})
    assert rf.audit(release, spec, original).ok
    assert rules(rf.audit(release, spec, original.take([1, 2]))) == ["original"]


PLACES = {"Europe": ["Oslo", "Rome"], "America": ["Lima", "Cusco"]}


@pytest.mark.parametrize(
    ("boundary", "labels", "suppression", "masked"),
    [
        (["Europe", "America"], ["*"] * 18 + ["Europe"] * 2, 0.1, 18),
        (["Europe", "America"], ["*"] * 2 + ["Europe"] * 9 + ["America"] * 9, 0.1, 0),
        ({"level": 0}, ["*"] * 20, 0.0, 20),
        (["Europe", "*"], ["*"] * 10 + ["Europe"] * 10, 0.0, 0),  # those of America may be published so
        (["Europe", "*"], ["*"] * 13 + ["Europe"] * 7, 0.1, 3),
    ],
)
def test_rows_that_are_kept_masked_past_their_boundary_are_suppressed(
    boundary: Any, labels: list[str], suppression: float, masked: int
) -> None:
    spec = Spec(
        attributes={"town": {"role": "quasi", "hierarchy": {"tree": PLACES}, "boundary": boundary}},
        privacy={"k": 2},
        method={"name": "optimal", "suppression": suppression, "keep_suppressed": True},
    )
    original = pa.table({"town": ["Oslo", "Rome", "Lima", "Cusco"] * 5})
    verdict = rf.audit(pa.table({"town": labels}), spec, original)
    told = [f"{masked} rows of the original are suppressed, but method.suppression allows {int(20 * suppression)}"]
    assert [finding.message for finding in verdict.findings] == told * bool(masked)
