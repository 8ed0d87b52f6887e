"""Published baskets beside their original: traced back with the rows that they are of, whatever tree is over items."""

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringfence as rf
from ringfence.errors import DataError, Unsatisfiable

TREE = {"tree": {"drinks": ["beer", "wine", "7"], "food": {"fruit": ["apple", "pear"], "grain": ["bread", "12", "9"]}}}
HIERARCHIES: dict[str, Any] = {
    "flat": "flat",
    "fanout": {"fanout": 2},
    "support": {"fanout": 2, "by": "support"},
    "mask": {"mask": "right"},
    "tree": TREE,
}
AGE = {"role": "quasi", "hierarchy": {"intervals": [10]}}
LEVELS = {"name": "levels", "levels": {"age": 1}, "suppression": 1}


def spec_of(hierarchy: Any, **method: Any) -> rf.Spec:
    """Baskets beside ages where a method is given, else beside illnesses alone."""
    other = {"age": AGE} if method else {"ill": {"role": "insensitive"}}
    attributes = {**other, "items": {"role": "items", "hierarchy": hierarchy}}
    return rf.Spec(attributes=attributes, privacy={"k": 2, "m": 2}, method=method or {"name": "itemsets"})


def rules(release: Any, spec: rf.Spec, original: Any) -> set[str]:
    return {finding.rule for finding in rf.audit(release, spec, original).findings}


def table_of(baskets: list[list[str]], **others: list[Any]) -> pa.Table:
    return pa.table({**others, "items": pa.array(baskets, pa.list_(pa.string()))})


@pytest.mark.parametrize("kind", HIERARCHIES)
@pytest.mark.parametrize("gone", [[], [["apple"]]])
def test_invented_baskets_are_found_beside_quasi_identifiers(kind: str, gone: list[list[str]]) -> None:
    spec = spec_of(HIERARCHIES[kind], **LEVELS)
    people = table_of([["beer"], ["beer"], ["wine"], ["wine"], *gone], age=[21, 22, 23, 24, *(90 for _ in gone)])
    assert rules(rf.anonymize(people, spec).table, spec, people) == set()
    invented = table_of([["absinthe", "heroin"]] * 4, age=["[20, 30)"] * 4)
    assert "original" in rules(invented, spec, people)
    assert "original" in rules(table_of([["beer"]] * 4, age=["[20, 30)"] * 4), spec, people)
    assert "original" in rules(table_of([[]] * 4, age=["[20, 30)"] * 4), spec, people)


@pytest.mark.parametrize("kind", HIERARCHIES)
def test_baskets_are_traced_back_with_their_rows(kind: str) -> None:
    baskets, ill = [["beer"], ["beer"], ["wine"], ["wine"]], [*"aabb"]
    spec, people = spec_of(HIERARCHIES[kind]), table_of(baskets, ill=ill)
    assert rules(table_of(baskets[::-1], ill=ill[::-1]), spec, people) == set()
    assert rules(table_of(baskets[::-1], ill=ill), spec, people) == {"original"}
    spec, ages = spec_of(HIERARCHIES[kind], **LEVELS), ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)"]
    people = table_of(baskets, age=[21, 22, 31, 32])
    assert rules(table_of(baskets, age=ages), spec, people) == set()
    assert rules(table_of(baskets[::-1], age=ages), spec, people) == {"original"}


@pytest.mark.parametrize("hierarchy", ["flat", {"fanout": 2}])
def test_an_item_that_is_left_out_of_all_baskets_is_missed(hierarchy: Any) -> None:
    people = table_of([["beer", "wine"]] * 4, ill=["a"] * 4)
    assert rules(table_of([["beer"]] * 4, ill=["a"] * 4), spec_of(hierarchy), people) == {"original"}


def test_a_range_holds_what_is_between_its_ends_though_rows_are_suppressed() -> None:
    spec = spec_of({"fanout": 2}, **LEVELS)
    baskets = [["apple"], ["beer"], ["wine"], ["wine"], ["bread"]]
    people = table_of(baskets, age=[21, 22, 31, 32, 90])
    ages = ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)"]
    held = [["[apple..beer]"], ["[apple..beer]"], ["wine"], ["wine"]]
    assert rules(table_of(held, age=ages), spec, people) == set()
    assert "original" in rules(table_of([*held[:2], *held[:2]], age=ages), spec, people)


def test_what_is_behind_labels_by_support_is_said_not_to_be_known() -> None:
    spec = spec_of({"fanout": 2, "by": "support"}, **LEVELS)
    baskets = [["a"], ["b"], ["c"], ["d"], ["a"]]
    people = table_of(baskets, age=[21, 22, 31, 32, 90])
    release = rf.anonymize(people, spec)
    assert release.metrics["suppressed"] == 1
    verdict = rf.audit(release.table, spec, people)
    assert verdict.ok
    assert any("only the rows that were published say" in note for note in verdict.notes)


@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from([*HIERARCHIES]),
    method=st.sampled_from(
        [
            LEVELS,
            {**LEVELS, "keep_suppressed": True},
            {"name": "cluster"},
            {"name": "mondrian"},
            {"suppression": 0.5},
            {},
        ]
    ),
    words=st.sampled_from([["7", "12", "9", "beer", "apple"], ["7", "12", "9"], ["beer", "wine", "pear", "bread"]]),
)
@settings(max_examples=settings().max_examples // 2)
def test_releases_of_ours_are_traced_back(seed: int, kind: str, method: dict[str, Any], words: list[str]) -> None:
    rng = random.Random(seed)
    rows = rng.randint(4, 16)
    baskets = [rng.sample(words, rng.randint(0, min(3, len(words)))) for _ in range(rows)]
    beside = {"age": [rng.choice([21, 22, 31, 45, 90]) for _ in range(rows)]}
    people = table_of(baskets, **(beside if method else {"ill": [rng.choice("ab") for _ in range(rows)]}))
    spec = spec_of(HIERARCHIES[kind], **method)
    try:
        release = rf.anonymize(people, spec)
    except (Unsatisfiable, DataError):  # or no basket that is published has an item
        return
    verdict = rf.audit(release.table, spec, people)
    assert verdict.ok, verdict.findings
    assert not verdict.unjudged
