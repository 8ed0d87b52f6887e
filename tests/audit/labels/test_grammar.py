"""Which labels the audit reads, and which of them it finds past a boundary."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.audit.labels.grammar import grammar
from ringfence.errors import DataError, SpecError
from ringfence.spec import Spec
from ringfence.values.builders import read_domain
from tests.audit_tables import KINDS, REGIONS, audited, rules

# Grammars of labels


@pytest.mark.parametrize(
    ("attribute", "good", "bad"),
    [
        (
            {"hierarchy": {"intervals": [5, 10], "from": 0, "bottom": 18, "top": 65}},
            ["7", "-3.5", "[18, 20)", "[20, 25)", "[20, 30)", "[60, 65)", "<18", ">=65", "*"],
            [
                "",
                "x",
                "[15, 20)",
                "[20, 25]",
                "[20,25)",
                "[20, 40)",
                "[25, 35)",
                "[65, 70)",
                "[60, 70)",
                "<20",
                ">65",
                "**",
            ],
        ),
        (
            {"hierarchy": {"intervals": [0.5, 1], "from": 0.25}},
            ["[-0.25, 0.25)", "[-0.75, 0.25)", "[0.25, 1.25)", "1e2"],
            ["[0, 0.5)", "[0.25, 1)", "[0.250, 0.75)", "<0", ">=0", "<-inf", "nan", "inf", "1_0", "[x, y)"],
        ),
        ({"hierarchy": {"mask": "right"}}, ["47906", "4790*", "4****", "*", ""], ["*7906", "4*9", "**", "*****"]),
        ({"hierarchy": {"mask": "left"}}, ["47906", "*7906", "****6", "*"], ["4790*", "4*9", "**"]),
        (
            {"hierarchy": {"dates": ["month", "year"]}},
            ["2024-02-29", "2024-12", "2024", "0001", "*"],
            [
                "2023-02-29",
                "2024-13",
                "2024-00",
                "2024-Q1",
                "2020s",
                "0000",
                "24",
                "20240229",
                "2024-W01",
                "2024-2",
                "x",
            ],
        ),
        (
            {"hierarchy": {"dates": ["quarter", "decade"]}},
            ["2024-Q4", "2020s", "0000s", "9990s", "9999-Q4", "9999-12-31"],
            ["2024-Q0", "2024-Q5", "2024s", "2024", "2024-01", "٢٠٢٠s"],
        ),
        (
            {"hierarchy": {"fanout": 3}},
            ["a", "[a, b]", '["a, b", c]', '["", "x\\"y"]', "[9, 10]", "[10, 9]", "*", "a, b", "[20, 30)"],
            ["[b, a]", "[a]", "[a, b, c]", "[a,b]", '["a, b]', "[ a, b]", '["\\q", z]', "[a, a]"],
        ),
        (
            {"hierarchy": {"fanout": 3}, "order": "numeric"},
            ["7", "[9, 10]", "[-2, -1.5]"],
            ["x", "[10, 9]", "[a, b]", "[7, 7.0]"],
        ),
        ({"hierarchy": {"fanout": 3}, "order": "lexical"}, ["7", "[10, 9]"], ["[9, 10]"]),
        (
            {"hierarchy": {"fanout": 3}, "order": ["low", "mid", "[high]"]},
            ["low", "[low, mid]", "[high]", '[mid, "[high]"]', "*"],
            ["lo", "[mid, low]", "[low, other]"],
        ),
        ({"hierarchy": "flat"}, ["anything", "*", ""], []),
        ({}, ["anything", "{a, b}"], []),
        (
            {"order": "numeric"},
            ["7", "[3, 4]", "(3, 4]", ">=60", "<5", "{1, 2}", "*"],
            ["anything", "", "{1, x}", "[4, 3]"],
        ),
        (
            {"hierarchy": {"tree": REGIONS}},
            ["Italy", "South", "Europe", "*"],
            ["italy", "Asia", "", "[Italy, Spain]", "**"],
        ),
        ({"hierarchy": {"tree": {"few": ["1.0", "02"]}}, "order": "numeric"}, ["1", "2", "few", "*"], ["3", "1x"]),
    ],
)
def test_labels_of_each_kind_of_hierarchy(attribute: dict[str, Any], good: list[str], bad: list[str]) -> None:
    reads = grammar("q", Spec(attributes={"q": {"role": "quasi", **attribute}}), [*good, *bad]).reads
    assert [label for label in good if not reads(label)] == []
    assert [label for label in bad if reads(label)] == []


def test_labels_of_a_file_with_a_root_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("Oslo;North;Anywhere\nRome;South;Anywhere\nAtlantis;Anywhere\n")
    spec = Spec(attributes={"q": {"role": "quasi", "hierarchy": {"file": "places.csv"}, "boundary": {"level": 1}}})
    table = pa.table({"q": ["Oslo", "South", "Atlantis"]})
    assert audited(table, spec.at(tmp_path)).ok
    for root in ("Anywhere", "*"):
        assert rules(audited(pa.table({"q": ["Oslo", root]}), spec.at(tmp_path))) == ["boundary"]
    with pytest.raises(SpecError, match="there is no file"):
        audited(table, spec)


@pytest.mark.parametrize(
    ("attribute", "below", "above"),
    [
        (
            {"hierarchy": {"tree": REGIONS}, "boundary": ["South", "Norway"]},
            ["Norway", "South", "America", "*"],
            ["North", "Europe"],
        ),
        ({"hierarchy": {"tree": REGIONS}, "boundary": ["South"]}, ["South", "North", "Europe"], []),
        (
            {"hierarchy": {"tree": REGIONS}, "boundary": {"level": 1}},
            ["South", "North", "Peru"],
            ["Europe", "America", "*"],
        ),
        ({"hierarchy": {"tree": REGIONS}, "boundary": {"level": 3}}, ["Europe", "*"], []),
        ({"hierarchy": {"tree": {"A": ["A"], "B": ["b", "c"]}}, "boundary": {"level": 0}}, ["A", "b"], ["B", "*"]),
        ({"hierarchy": {"intervals": [5, 10]}, "boundary": {"level": 1}}, ["7", "[5, 10)"], ["[0, 10)", "*"]),
        ({"hierarchy": {"intervals": [5, 10], "top": 15}, "boundary": {"level": 1}}, ["[10, 15)", ">=15"], ["[0, 10)"]),
        (
            {"hierarchy": {"intervals": [5, 10]}, "boundary": ["[0, 5)", "[5, 10)", "[15, 20)"]},
            ["[10, 20)", "*"],
            ["[0, 10)"],
        ),
        (
            {"hierarchy": {"dates": ["month", "quarter"]}, "boundary": ["2024-01", "2024-02", "2024-03", "2024-05"]},
            ["2024-01", "2024-Q2"],
            ["2024-Q1"],
        ),
        ({"hierarchy": {"dates": ["decade"]}, "boundary": {"level": 0}}, ["2024-01-01"], ["2020s", "*"]),
        ({"hierarchy": {"mask": "left"}, "boundary": {"level": 2}}, ["12345", "**345"], ["***45", "*"]),
        ({"hierarchy": {"mask": "left"}, "boundary": {"level": 2}}, ["*2", "*"], []),
        ({"hierarchy": {"fanout": 2}, "boundary": {"level": 0}}, ["a"], ["[a, b]", "*"]),
        ({"hierarchy": {"fanout": 2}, "boundary": {"level": 1}}, ["a", "[a, b]"], []),
        ({"hierarchy": "flat", "boundary": {"level": 0}}, ["a"], ["*"]),
        ({"hierarchy": "flat", "boundary": ["a"]}, ["a", "*"], []),
    ],
)
def test_boundaries_of_each_kind_of_hierarchy(attribute: dict[str, Any], below: list[str], above: list[str]) -> None:
    form = grammar("q", Spec(attributes={"q": {"role": "quasi", **attribute}}), [*below, *above])
    assert [label for label in [*below, *above] if not form.reads(label)] == []
    assert [label for label in [*below, *above] if form.passes(label)] == above


def test_everything_is_past_a_list_that_covers_the_line_unless_it_may_be_missing() -> None:
    ages = {"intervals": [5], "bottom": 5, "top": 10}
    marks = ["<5", "[5, 10)", ">=10"]
    for missing, passes in (("value", False), ("error", True)):
        attributes = {"q": {"role": "quasi", "hierarchy": ages, "boundary": marks}}
        assert grammar("q", Spec(attributes=attributes, data={"missing": missing}), []).passes("*") == passes


@given(st.data())
def test_what_may_be_published_is_never_complained_about(data: st.DataObject) -> None:
    """Every label that a hierarchy over some data has is read, and those within its boundary do not pass it.

    Where labels tell their level (intervals, dates, trees), all others do, but for `*` of values that may be missing.
    """
    attribute, strategy = data.draw(st.sampled_from(KINDS))
    values = data.draw(st.lists(strategy, min_size=1, max_size=8, unique_by=str))
    values = [*map(str, values), *data.draw(st.sampled_from([[], [None]]))]
    spec = Spec(attributes={"q": {"role": "quasi", **attribute}})
    try:
        free = read_domain("q", spec, values, [1] * len(values)).hierarchy
    except DataError:  # values that look like labels of others
        return
    labels = [label for label in free.labels if label is not None]
    boundary = data.draw(
        st.one_of(
            st.integers(0, free.height).map(lambda level: {"level": level}),
            st.lists(st.sampled_from(labels), min_size=1, max_size=4, unique=True),
        )
    )
    spec = Spec(attributes={"q": {"role": "quasi", **attribute, "boundary": boundary}})
    hierarchy = read_domain("q", spec, values, [1] * len(values)).hierarchy
    allowed = {hierarchy.labels[node] for level in hierarchy.levels for node in level} - {None}
    for seen in ([*labels], [label for label in labels if label in allowed], []):
        form = grammar("q", spec, seen)
        assert [label for label in labels if not form.reads(label)] == []
        assert [label for label in allowed if form.passes(label or "")] == []
    if isinstance(boundary, dict) and {"intervals", "dates", "tree"} & {*attribute["hierarchy"]}:
        nodes = {hierarchy.labels[node]: node for node in range(hierarchy.root, -1, -1)}
        for label in labels:
            ceilings = hierarchy.ceilings[hierarchy.first[nodes[label]] : hierarchy.stop[nodes[label]]]
            past = bool((hierarchy.depth[ceilings] > hierarchy.depth[nodes[label]]).all())
            assert form.passes(label) == past, label
