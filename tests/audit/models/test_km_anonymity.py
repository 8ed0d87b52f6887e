"""The audit of published baskets: against the definition, against planted violations, and on odd baskets."""

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.labels.spelling import as_set
from ringfence.audit.labels.trees import Tree
from ringfence.audit.models import km_anonymity
from ringfence.audit.models.km_anonymity import BasketJudgement, judge_baskets
from ringfence.errors import DataError
from ringfence.spec import Spec

Basket = Sequence[str | None]
FOOD = Tree.of(
    [("milk", "dairy", "food", "*"), ("cheese", "dairy", "food", "*"), ("bread", "food", "*"), ("soap", "*")]
)


def judged(baskets: Sequence[Basket | None], k: int, m: int, hierarchy: Tree | None = None) -> BasketJudgement:
    """Judge baskets given as lists."""
    return judge_baskets(pa.array(baskets, pa.list_(pa.string())), hierarchy, k, m)


def supports(baskets: Sequence[Basket], m: int) -> Counter[frozenset[str | None]]:
    """Return how many baskets hold each combination of up to m labels that occurs, none among them."""
    found: Counter[frozenset[str | None]] = Counter()
    for basket in baskets:
        for size in range(m + 1):
            found.update(map(frozenset, itertools.combinations({*basket}, size)))
    return found


@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=5, unique=True), min_size=1, max_size=12),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([0, 4, 1 << 21]),
)
def test_the_definition(baskets: list[list[str]], k: int, m: int, most_pairs: int) -> None:
    """Whatever the labels are, and whether pairs are counted in one go or label by label."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(km_anonymity, "MOST_PAIRS", most_pairs)
        judgement = judged(baskets, k, m)
    found = supports(baskets, m)
    assert judgement.measured["k"] == min(found.values())
    failing = [size for size in range(m + 1) if any(n < k for each, n in found.items() if len(each) == size)]
    assert judgement.measured["m"] == (max(min(failing) - 1, 0) if failing else m)
    rare = [finding for finding in judgement.findings if finding.example]
    assert bool(judgement.findings) == bool(failing)
    assert bool(rare) == any(failing) or len(baskets) < k
    for finding in rare:
        size = judgement.measured["m"] + 1
        hit = {each for each, n in found.items() if n < k and len(each) == size}
        assert finding.message.startswith(f"{len(hit)} combination")
        assert finding.rows == sum(any(each <= {*basket} for each in hit) for basket in baskets)
        worst = frozenset(as_set(finding.example["items"] or "") or ())
        assert worst in hit
        assert found[worst] == min(found[each] for each in hit)


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(["milk", "dairy", "food", "soap", "tea"]), max_size=4), st.integers(1, 4)),
        max_size=8,
    ),
    st.integers(1, 5),
    st.sampled_from([0, 4, 1 << 21]),
)
def test_baskets_that_were_counted_are_as_many_baskets(
    counted: list[tuple[list[str], int]], k: int, most_pairs: int
) -> None:
    every = [basket for basket, times in counted for _ in range(times)]
    lists, times = pa.array([basket for basket, _ in counted], pa.list_(pa.string())), [each for _, each in counted]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(km_anonymity, "MOST_PAIRS", most_pairs)
        assert judge_baskets(lists, FOOD, k, 3, counts=np.array(times, np.int64)) == judged(every, k, 3, FOOD)


def test_a_short_basket_that_a_check_of_size_m_alone_would_pass() -> None:
    """An item bought once, alone, is in no pair."""
    judgement = judged([["bread", "dairy"]] * 5 + [["soap"]], k=2, m=2, hierarchy=FOOD)
    assert [finding.rule for finding in judgement.findings] == ["m"]
    assert "{soap} in 1" in judgement.findings[0].message
    assert judgement.measured == {"k": 1, "m": 0, "baskets": 6, "labels": 3}


def test_one_planted_combination_is_found_among_many_baskets() -> None:
    rng = random.Random(5)
    labels = [f"item {number}" for number in range(30)]
    whole = [rng.sample(labels[:-3], 4) for _ in range(40)]
    baskets = [basket for basket in whole for _ in range(6)]
    baskets += [list(pair) for pair in itertools.combinations(labels[-3:], 2) for _ in range(6)]
    assert not judged(baskets, k=6, m=3).findings
    (finding,) = judged([*baskets, labels[-3:]], k=6, m=3).findings
    assert finding.rule == "m"
    assert finding.rows == 1
    assert finding.example == {"items": "{item 27, item 28, item 29}"}
    assert judged([*baskets, labels[-3:]], k=6, m=2).findings == ()


def test_labels_must_be_an_antichain_of_the_hierarchy() -> None:
    strange = judged([["dairy", "butter"], ["dairy", "butter"]], k=2, m=2, hierarchy=FOOD)
    assert [finding.rule for finding in strange.findings] == ["labels"]
    assert "'butter' (2 baskets)" in strange.findings[0].message
    mixed = judged([["dairy"], ["dairy"], ["milk", "soap"], ["milk", "soap"]], k=2, m=2, hierarchy=FOOD)
    assert [(finding.rule, finding.rows) for finding in mixed.findings] == [("recoding", 4)]
    assert "'milk'" in mixed.findings[0].message
    assert "'soap'" not in mixed.findings[0].message


@given(
    st.lists(
        st.sampled_from(sorted({label for path in FOOD.paths for label in path if label})), min_size=1, unique=True
    )
)
def test_sharing_is_what_two_labels_have_in_common(labels: list[str]) -> None:
    def leaves(label: str) -> set[int]:
        return {leaf for leaf, path in enumerate(FOOD.paths) if label in path}

    sharing = {label for label in labels if any(leaves(label) & leaves(other) for other in labels if other != label)}
    found = judged([[label] for label in labels], 1, 1, FOOD).findings
    assert [finding.rule for finding in found] == ["recoding"] * bool(sharing)
    assert sum(finding.rows for finding in found) == len(sharing)
    assert all(label in sharing or repr(label) not in found[0].message for label in labels if found)


def test_labels_past_a_boundary() -> None:
    bounded = Tree.of(FOOD.paths, ["dairy"])
    assert not judged([["dairy"]], 1, 1, bounded).findings
    assert [finding.rule for finding in judged([["food"]], 1, 1, Tree.of(FOOD.paths, 1)).findings] == ["boundary"]
    assert not judged([["food"]], 1, 1, bounded).findings  # bread may have become food


def test_a_repeated_label_is_a_finding_and_counts_once() -> None:
    judgement = judged([["dairy", "dairy"], ["dairy"]], k=2, m=2, hierarchy=FOOD)
    assert [(finding.rule, finding.rows) for finding in judgement.findings] == [("repeated", 1)]
    assert judgement.measured["k"] == 2


def test_empty_missing_and_no_baskets() -> None:
    assert judged([[], None, []], k=3, m=2).measured == {"k": 3, "m": 2, "baskets": 3, "labels": 0}
    too_few = judged([[], None], k=3, m=2)
    assert [finding.rule for finding in too_few.findings] == ["m"]
    assert too_few.measured["m"] == 0
    assert judged([], k=1, m=1).measured["k"] == 0
    assert [finding.rule for finding in judged([], k=1, m=1).findings] == ["m"]
    assert judged([[None], [None], ["a"]], k=1, m=1).measured["labels"] == 2
    assert [finding.rule for finding in judged([[None]], 1, 1, FOOD).findings] == ["labels"]


def test_other_forms_of_the_column() -> None:
    column = pa.chunked_array([pa.array([["a"], ["a", "b"]]), pa.array([["b"]])])
    assert judge_baskets(column, None, 2, 1).measured["k"] == 2
    assert judge_baskets(column.slice(1), None, 2, 1).measured == {"k": 1, "m": 0, "baskets": 2, "labels": 2}
    large = pa.array([["a"], ["a"]], pa.large_list(pa.large_string()))
    assert judge_baskets(large, None, 2, 1).measured["k"] == 2
    with pytest.raises(DataError, match="allowed: lists of text"):
        judge_baskets(pa.array(["a b"]), None, 2, 1)


# A release of ours, damaged


ITEMS = Spec(
    attributes={
        "basket": {"role": "items", "hierarchy": {"tree": {"A": ["a", "b"], "C": ["c", "d"], "E": ["e", "f"]}}}
    },
    privacy={"k": 3, "m": 2},
    method={"name": "itemsets"},
)


def bought() -> pa.Table:
    """Return seeded baskets."""
    rng = random.Random(4)
    baskets = [rng.sample("aabbbccdef", rng.randint(1, 3)) for _ in range(60)]
    return pa.table({"basket": [sorted({*basket}) for basket in baskets]})


def release(spec: Spec = ITEMS) -> list[list[str]]:
    """Return a release of them."""
    published: list[list[str]] = rf.anonymize(bought(), spec).table["basket"].to_pylist()
    return published


def rules(baskets: list[list[str]]) -> list[str]:
    """Return the rules that published baskets break."""
    return [finding.rule for finding in rf.audit(pa.table({"basket": baskets}), ITEMS).findings]


def test_damaged_baskets_of_ours() -> None:
    good = release()
    assert rules(good) == []
    labels = sorted({label for basket in good for label in basket})
    assert rules([*good, [labels[0], "zebra"]]) == ["labels", "m"]
    inner = next((label for label in labels if label in "ACE*"), None)
    assert inner is not None
    leaf = {"A": "a", "C": "c", "E": "e", "*": "a"}[inner]
    assert rules([*good, *[[leaf]] * 3]) == ["recoding"]
    assert rules([[*good[0], good[0][0]], *good[1:]]) == ["repeated"]
    rarest = min(labels, key=lambda label: sum(label in basket for basket in good))
    holders = [number for number, basket in enumerate(good) if rarest in basket]
    fewer = [basket for number, basket in enumerate(good) if number not in holders[2:]]
    assert "m" in rules(fewer)


FANOUT = Spec(**{**ITEMS.model_dump(exclude_unset=True),
                 "attributes": {"basket": {"role": "items", "hierarchy": {"fanout": 2}}}})  # fmt: skip


@pytest.mark.parametrize("spec", [ITEMS, FANOUT], ids=["stated tree", "tree of the items"])
def test_damaged_baskets_beside_their_original(spec: Spec) -> None:
    good = release(spec)

    def judged(baskets: list[list[str]]) -> Any:
        return rf.audit(pa.table({"basket": baskets}), spec, bought())

    def broken(baskets: list[list[str]]) -> list[str]:
        return [finding.rule for finding in judged(baskets).findings]

    sound = judged(good)
    assert sound.ok
    assert (sound.measured["original"], sound.measured["suppressed"]) == (60, 0)
    assert judged(good[1:]).measured["suppressed"] == 1
    assert {"rows", "original"} <= {*broken(good + good)}
    i, j = next(
        (i, j) for i, one in enumerate(good) for j, two in enumerate(good) if {*one} - {*two} and {*two} - {*one}
    )
    out, back = min({*good[i]} - {*good[j]}), min({*good[j]} - {*good[i]})
    swapped = [*good]
    swapped[i] = sorted([label for label in good[i] if label != out] + [back])
    swapped[j] = sorted([label for label in good[j] if label != back] + [out])
    same = sorted(map(sorted, swapped)) == sorted(map(sorted, good))
    assert same or "original" in broken(swapped)
    outlier = [*good[1:], sorted({label for basket in good for label in basket})]
    assert "original" in broken(outlier)
    assert "labels" in broken([*good[1:], ["zebra"]])


def test_mixed_cuts_beside_the_original() -> None:
    """Two releases of the same baskets, mixed: an item then has two labels."""
    coarse = release(Spec(**{**ITEMS.model_dump(exclude_unset=True), "privacy": {"k": 40, "m": 2}}))
    fine = release()
    assert sorted(map(sorted, coarse)) != sorted(map(sorted, fine))
    verdict = rf.audit(pa.table({"basket": fine[:30] + coarse[30:]}), ITEMS, bought())
    assert not verdict.ok
