"""The report of baskets: numbers by another way of counting, the outline of the tree, and what the page says."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.errors import Unsatisfiable
from ringfence.report.item_evidence import ItemEvidence
from ringfence.report.item_pictures import MOST_GROUPS, outline
from ringfence.samples import baskets, baskets_spec, people, people_spec
from tests.item_tables import Case, cases, leaves_of, ncp, spec_for, table_of


def evidence_of(release: rf.Release) -> ItemEvidence:
    assert release.baskets is not None
    assert release.item_plan is not None
    return ItemEvidence(release.baskets, release.item_plan)


@given(case=cases(), k=st.integers(1, 4), m=st.integers(1, 3))
def test_the_numbers_are_those_of_the_definitions(case: Case, k: int, m: int) -> None:
    if not case.rows:
        return
    try:
        release = rf.anonymize(table_of(case), spec_for(case, k, m))
    except Unsatisfiable:
        return
    evidence = evidence_of(release)
    shown = Counter(label for basket in release.table["basket"].to_pylist() for label in basket)
    cut = tuple(evidence.nodes.tolist())
    for group in evidence.groups:
        leaves = leaves_of(case.tree, group.node)
        assert list(group.items) == [case.tree.labels[leaf] for leaf in leaves]
        assert len(leaves) > 1
        assert group.rows == shown[group.label]
    loss = evidence.losses.sum() / max(1, int(evidence.baskets.occurrences.sum()) * case.tree.leaves)
    assert loss == pytest.approx(float(ncp(case.rows, case.tree, cut)))
    assert release.metrics["ncp"] == pytest.approx(loss)
    lossy = any(group.rows for group in evidence.groups)
    assert sum(group.share for group in evidence.groups) == pytest.approx(1.0 if lossy else 0.0)
    assert evidence.kept + sum(len(group.items) for group in evidence.groups) == case.tree.leaves
    if any(case.rows):
        assert sum(share for _, share in evidence.widths()) == pytest.approx(1)
    drawn = [line.group for line in outline(evidence) if line.group is not None]
    assert {group.node for group in drawn} == {group.node for group in evidence.groups[:MOST_GROUPS]}


def test_the_outline_stays_readable_with_thousands_of_items() -> None:
    rng = np.random.default_rng(2008)
    rows = [sorted(set((3000 * rng.random(6) ** 3).astype(int).tolist())) for _ in range(4000)]
    spec = rf.Spec(
        attributes={"basket": {"role": "items", "hierarchy": {"fanout": 4}}},
        privacy={"k": 5, "m": 2},
        method={"name": "itemsets"},
    )
    release = rf.anonymize(pa.table({"basket": rows}), spec)
    evidence = evidence_of(release)
    assert len(evidence.groups) > MOST_GROUPS
    assert len(outline(evidence)) < 3 * MOST_GROUPS
    told = " ".join(line.beside for line in outline(evidence))
    assert "more group" in told


def test_a_page_of_baskets_says_what_was_done_and_why(tmp_path: Path) -> None:
    release = rf.anonymize(baskets(2000), baskets_spec())
    release.save(tmp_path, plots=True)
    page = (tmp_path / "private/report.html").read_text(encoding="utf-8")
    assert page == release.report().html
    for words in ("The promise holds", "k^m = 5^2", "proven to be the least", "Knowing more of a basket", "Dry goods"):
        assert words in page
    plan = release.item_plan
    assert plan is not None
    assert all(reason.rare in page for reason in plan.reasons)
    assert {path.name for path in (tmp_path / "private/plots").iterdir()} == {
        f"item-{what}.{kind}" for what in ("cut", "widths") for kind in ("png", "svg")
    }
    assert "An artificial tree" not in page
    assert "k-anonymity</dt>" not in page


def test_a_page_of_people_with_baskets_has_both_promises() -> None:
    table = people(1500).append_column("basket", baskets(1500)["basket"])
    spec = people_spec()
    attributes = {**spec.attributes, "basket": baskets_spec().attributes["basket"]}
    both = rf.Spec(
        attributes={name: part.model_dump(exclude_unset=True, by_alias=True) for name, part in attributes.items()},
        privacy={"k": 5, "m": 2},
    )
    page = rf.anonymize(table, both).report()
    for words in ("k-anonymity", "k^m-anonymity", "Quasi-identifiers and items together", 'id="baskets"'):
        assert words in page.html
    assert {"item-cut", "item-widths", "class-sizes"} <= {*page.charts}


def test_a_page_where_nothing_was_generalized() -> None:
    release = rf.anonymize(pa.table({"basket": [["a"], ["a"]]}), _flat())
    assert "Every item is published as it is" in release.report().html
    assert set(release.report().charts) == {"item-widths"}
    release = rf.anonymize(pa.table({"basket": [["<b>"], ["a"]]}), _flat())
    assert "<b>" not in release.report().html


def _flat() -> rf.Spec:
    basket = {"role": "items", "hierarchy": "flat"}
    return rf.Spec(attributes={"basket": basket}, privacy={"k": 2, "m": 1}, method={"name": "itemsets"})
