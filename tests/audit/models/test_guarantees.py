"""The audit's measures against plain definitions, and on examples from the literature."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.audit.verdict import Verdict
from ringfence.spec import Spec
from ringfence.values.hierarchy import ROOT

# Definitions in plain Python, over lists of sensitive values by class
from tests.audit_tables import LEVELS, QUASI, REGIONS, Row, audited, by_class, rules, text_table


def effective_number(values: Sequence[Any]) -> float:
    """Return the exponential of the entropy."""
    shares = [count / len(values) for count in Counter(values).values()]
    return math.exp(-sum(share * math.log(share) for share in shares))


def recursive_l(values: Sequence[Any], c: float) -> int:
    """Return the largest l for which the values are (c, l)-diverse."""
    counts = sorted(Counter(values).values(), reverse=True)
    holds = [n for n in range(1, len(counts) + 1) if counts[0] < Fraction(str(c)) * sum(counts[n - 1 :])]
    return max(holds, default=0)


def shares(values: Sequence[Any], domain: Sequence[Any]) -> list[Fraction]:
    """Return the share of each value of a domain."""
    return [Fraction(values.count(value), len(values)) for value in domain]


def equal_distance(some: Sequence[Any], everything: Sequence[Any]) -> float:
    """Return half the sum of the differences in share."""
    domain = list(set(everything))
    return float(sum(abs(p - q) for p, q in zip(shares(some, domain), shares(everything, domain), strict=True)) / 2)


def transport(some: Sequence[Any], everything: Sequence[Any], domain: Sequence[Any]) -> float:
    """Return the cost of moving one distribution into another along a line, from left to right."""
    have, want = shares(some, domain), shares(everything, domain)
    i = j = 0
    cost = Fraction(0)
    while i < len(domain) and j < len(domain):
        moved = min(have[i], want[j])
        cost += moved * abs(i - j)
        have[i] -= moved
        want[j] -= moved
        i, j = (i + 1, j) if have[i] == 0 else (i, j + 1)
    return float(cost / max(len(domain) - 1, 1))


def tree_distance(some: Sequence[Any], everything: Sequence[Any], tree: Any) -> float:
    """Return the sum of cost(N) over the inner nodes of a tree, as Li et al. write it."""

    def height(node: Any) -> int:
        if not isinstance(node, Mapping | list):
            return 0
        return 1 + max(map(height, node.values() if isinstance(node, Mapping) else node))

    def visit(node: Any) -> tuple[Fraction, Fraction]:
        """Return the difference in share below a node, and the cost of its inner nodes."""
        if not isinstance(node, Mapping | list):
            return shares(some, [node])[0] - shares(everything, [node])[0], Fraction(0)
        below = [visit(child) for child in (node.values() if isinstance(node, Mapping) else node)]
        surplus = sum((extra for extra, _ in below if extra > 0), Fraction(0))
        want = -sum((extra for extra, _ in below if extra < 0), Fraction(0))
        cost = Fraction(height(node), height(tree)) * min(surplus, want)
        return surplus - want, cost + sum(cost for _, cost in below)

    return float(visit(tree)[1])


# Every measure against its definition


LABELS = st.sampled_from(["a", "b", ROOT, None])
NUMBERS = st.sampled_from([1, 2, 10, None])
PLACES = st.sampled_from(["Italy", "Spain", "Norway", "Canada", None])
RANDOM_ROWS = st.lists(
    st.tuples(LABELS, NUMBERS, PLACES, st.sampled_from([*LEVELS[:3], None]), NUMBERS), min_size=1, max_size=40
)
RANDOM_SPEC = Spec(
    attributes={
        "a": QUASI,
        "b": {"role": "quasi", "hierarchy": "flat", "order": "numeric"},
        "place": {"role": "sensitive", "hierarchy": {"tree": REGIONS}},
        "rank": {"role": "sensitive", "order": LEVELS},
        "pay": {"role": "sensitive", "order": "numeric"},
    },
    privacy={
        "k": 3,
        "l": [
            {"value": 2, "of": "place"},
            {"value": 1.5, "of": "place", "kind": "entropy"},
            {"value": 2, "of": "rank", "kind": "recursive", "c": 1.5},
            {"value": 2, "of": "rank", "kind": "recursive", "c": 3},
        ],
        "p": 2,
        "t": [
            {"value": 0.3, "of": "place"},
            {"value": 0.3, "of": "place", "distance": "hierarchical"},
            {"value": 0.3, "of": "rank", "distance": "ordered"},
            {"value": 0.3, "of": "pay", "distance": "ordered"},
        ],
    },
)


@given(RANDOM_ROWS)
def test_measures_are_their_definitions(rows: list[Row]) -> None:
    """k, l, p and t of random tables, and the rows that a finding counts, from the rows themselves."""
    names = list(RANDOM_SPEC.attributes)
    numbers = pa.array([row[1] for row in rows], pa.float64())  # not generalized, so it keeps its type
    table = pa.table(
        {
            "pay": pa.array([None if row[4] is None else f"{row[4]}.0" for row in rows], pa.string()),
            **{
                name: pa.array([row[i] for row in rows], pa.string())
                for i, name in enumerate(names)
                if name in "a place rank"
            },
            "b": numbers,
        }
    )
    verdict = audited(table, RANDOM_SPEC)
    classes = [*by_class(rows, 2).values()]
    place, rank, pay = ([[row[i] for row in cls] for cls in classes] for i in range(3))
    whole = {i: [row[2 + i] for row in rows] for i in range(3)}
    rank_domain = [value for value in [*LEVELS, None] if value in whole[1]]
    pay_domain = [value for value in (1, 2, 10, None) if value in whole[2]]
    tree = {**REGIONS, "missing": None}
    scores: dict[str, tuple[str, list[float], bool]] = {
        "k": ("k", [len(cls) for cls in classes], False),
        "l:place:distinct": ("l", [len({*values}) for values in place], False),
        "l:place:entropy": ("l", [*map(effective_number, place)], False),
        "l:rank:recursive:1.5": ("l", [recursive_l(values, 1.5) for values in rank], False),
        "l:rank:recursive:3": ("l", [recursive_l(values, 3) for values in rank], False),
        "p": ("p", [min(len({row[i] for row in cls}) for i in range(3)) for cls in classes], False),
        "t:place:equal": ("t", [equal_distance(values, whole[0]) for values in place], True),
        "t:place:hierarchical": ("t", [tree_distance(values, whole[0], tree) for values in place], True),
        "t:rank": ("t", [transport(values, whole[1], rank_domain) for values in rank], True),
        "t:pay": ("t", [transport(values, whole[2], pay_domain) for values in pay], True),
    }
    limits = dict(zip(scores, [3, 2, 1.5, 2, 2, 2, 0.3, 0.3, 0.3, 0.3], strict=True))
    failing = []
    for key, (rule, values, upper) in scores.items():
        assert verdict.measured[key] == pytest.approx(max(values) if upper else min(values), abs=1e-12), key
        fails = [v > limits[key] + 1e-9 if upper else v < limits[key] - 1e-9 for v in values]
        if any(fails):
            failing.append((rule, sum(len(cls) for cls, fail in zip(classes, fails, strict=True) if fail)))
    assert [(finding.rule, finding.rows) for finding in verdict.findings] == failing
    assert verdict.measured["rows"] == len(rows)
    assert verdict.measured["classes"] == len(classes)
    assert verdict.measured["masked"] == 0  # 'b' is never '*'
    assert verdict.measured["missing"] == sum(None in row[:2] for row in rows)
    assert [example.rows for example in verdict.smallest] == sorted(map(len, classes))[:5]
    assert rules(verdict) == [rule for rule, _ in failing]


@given(RANDOM_ROWS, st.randoms())
def test_the_order_of_rows_and_columns_changes_nothing(rows: list[Row], random: Any) -> None:
    names = list(RANDOM_SPEC.attributes)
    rows = [tuple(None if value is None else str(value) for value in row) for row in rows]
    first = audited(text_table(names, rows), RANDOM_SPEC)
    random.shuffle(rows)
    random.shuffle(names)
    position = [*RANDOM_SPEC.attributes].index
    again = text_table(names, [tuple(row[position(name)] for name in names) for row in rows])
    assert audited(again, RANDOM_SPEC) == first


def test_ordered_distance_over_many_values() -> None:
    """The sums by running totals against those over every value of every class."""
    random = np.random.default_rng(5)
    group, pay = random.integers(0, 40, 3000), np.round(random.gamma(2, 1000, 3000), 1)
    spec = Spec(
        attributes={"group": QUASI, "pay": {"role": "sensitive", "order": "numeric"}},
        privacy={"t": {"value": 1, "distance": "ordered"}},
    )
    values, codes = np.unique(pay, return_inverse=True)
    whole = np.cumsum(np.bincount(codes)) / len(codes)
    farthest = max(
        np.abs(np.cumsum(np.bincount(codes[group == g], minlength=len(values))) / (group == g).sum() - whole).sum()
        for g in range(40)
    )
    measured = audited(pa.table({"group": group, "pay": pay}), spec).measured["t"]
    assert measured == pytest.approx(farthest / (len(values) - 1), abs=1e-12)


def test_classes_over_more_combinations_than_64_bits_can_number() -> None:
    """With 64 labels in each of 13 columns, the first digit of a combination's number would be a multiple of 2^64."""
    names = [f"column {i}" for i in range(13)]
    rows: list[Row] = [(str(i),) * 13 for i in range(64) for _ in range(2)]
    rows.append(("7", *rows[0][1:]))
    verdict = audited(text_table(names, rows), Spec(attributes=dict.fromkeys(names, QUASI), privacy={"k": 2}))
    assert (rules(verdict), verdict.measured["classes"], verdict.measured["k"]) == (["k"], 65, 1)
    assert verdict.findings[0].example == dict(zip(names, rows[-1], strict=True))


# Examples from the literature


def test_salaries_of_li_li_and_venkatasubramanian() -> None:
    """ICDE 2007, section 5.1: {3k, 4k, 5k} is 0.375 from the nine salaries, {6k, 8k, 11k} is 0.167."""
    spec = Spec(
        attributes={"class": QUASI, "salary": {"role": "sensitive", "order": "numeric"}},
        privacy={"t": {"value": 0.3, "distance": "ordered"}},
    )
    table = pa.table({"class": [*"111222333"], "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10]})
    verdict = audited(table, spec)
    assert verdict.measured["t"] == pytest.approx(0.375)
    assert rules(verdict) == ["t"]
    assert verdict.findings[0].example == {"class": "1"}
    assert verdict.findings[0].rows == 3
    others = pa.table({"class": [*"133222331"], "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10]})
    assert audited(others, spec).ok
    # Table 5 of the paper: 0.167-close in salary.
    table5 = pa.table({"class": [*"123123123"], "salary": [3, 6, 4, 5, 11, 7, 9, 8, 10]})
    assert audited(table5, spec).measured["t"] == pytest.approx(0.167, abs=5e-4)


DISEASES = {
    "respiratory": {
        "infection": ["flu", "pneumonia", "bronchitis"],
        "vascular lung": ["pulmonary edema", "pulmonary embolism"],
    },
    "digestive": {"stomach": ["gastric ulcer", "stomach cancer", "gastritis"], "colon": ["colitis", "colon cancer"]},
}
BY_DISEASE = Spec(
    attributes={"class": QUASI, "disease": {"role": "sensitive", "hierarchy": {"tree": DISEASES}}},
    privacy={"t": {"value": 1, "distance": "hierarchical"}},
)


@pytest.mark.parametrize(
    ("other", "distance"), [("flu", 0), ("bronchitis", 1 / 3), ("pulmonary embolism", 2 / 3), ("stomach cancer", 1)]
)
def test_disease_distances_of_li_li_and_venkatasubramanian(other: str, distance: float) -> None:
    """ICDE 2007, section 5.2: how far flu is from others. Of two values in equal parts, half of each must move."""
    table = text_table(["class", "disease"], [("1", "flu"), ("2", other)])
    assert audited(table, BY_DISEASE).measured["t"] == pytest.approx(distance / 2)


def test_hierarchical_distance_by_hand() -> None:
    """In class 2, 2/9 must cross from digestive to respiratory, 1/9 stay in infection, 1/9 in stomach: 2/9 + 2/27."""
    diseases = [
        ("1", "gastric ulcer"), ("1", "stomach cancer"), ("1", "pneumonia"),
        ("2", "gastritis"), ("2", "flu"), ("2", "bronchitis"),
        ("3", "gastritis"), ("3", "bronchitis"), ("3", "stomach cancer"),
    ]  # fmt: skip
    assert audited(text_table(["class", "disease"], diseases), BY_DISEASE).measured["t"] == pytest.approx(8 / 27)


def test_entropy_and_recursion_of_machanavajjhala_et_al() -> None:
    """ICDE 2006, section 4: with counts 3, 2, 1 the class is (c, 2)-diverse only for c > 1, and not (2, 3)-diverse."""
    table = text_table(["q", "s"], [("x", value) for value in "aaabbc"])

    def judged(**diversity: Any) -> Verdict:
        return audited(table, Spec(attributes={"q": QUASI, "s": {"role": "sensitive"}}, privacy={"l": diversity}))

    assert not judged(value=2, kind="recursive", c=1).ok  # 3 < 1 * (2 + 1) is false
    assert judged(value=2, kind="recursive", c=1.1).ok
    assert not judged(value=3, kind="recursive", c=3).ok  # 3 < 3 * 1 is false
    assert judged(value=3, kind="recursive", c=3.1).ok
    assert judged(value=3, kind="recursive", c=0.3).measured["l"] == 0  # 3 < 0.3 * 6 is false
    effective = 2 ** (1 / 2) * 3 ** (1 / 3) * 6 ** (1 / 6)
    assert judged(value=2.7, kind="entropy").measured["l"] == pytest.approx(effective)
    assert judged(value=2.7, kind="entropy").ok
    assert rules(judged(value=2.8, kind="entropy")) == ["l"]


@pytest.mark.parametrize(("c", "tail", "most"), [(1.1, 10, 11), (0.1, 30, 3), (2.2, 5, 11), (0.7, 10, 7)])
def test_recursion_that_only_rounding_would_let_pass(c: float, tail: int, most: int) -> None:
    """1.1 times 10 is a little more than 11 in floats; by the definition 11 is not below it."""
    values = ["common"] * most + [f"rare {i}" for i in range(tail - most * (c < 1))]
    spec = Spec(
        attributes={"q": QUASI, "s": {"role": "sensitive"}},
        privacy={"l": {"value": 2 if c > 1 else 1, "kind": "recursive", "c": c}},
    )
    assert rules(audited(text_table(["q", "s"], [("x", value) for value in values]), spec)) == ["l"]
