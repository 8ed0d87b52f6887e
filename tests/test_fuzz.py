"""Random tables, specifications and formats, judged by plain definitions; and faults that the judge must notice.

The short profile carries out a few cases, the long one 20,000, or as many as RINGFENCE_FUZZ_CASES says, from the seed
RINGFENCE_FUZZ_SEED on. A case that fails is carried out again by `python -m tests.fuzz 1 --seed N`.
"""

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pytest

from ringfence.rows import numbered
from tests.fuzz.cases import ENTITY, IDENTIFIER, TRACE, Case, draw_case
from tests.fuzz.columns import KINDS, Column
from tests.fuzz.judge import Rows, Stated, Wrong, distance, judge, regular_part
from tests.fuzz.labels import Reader, range_ends, set_members
from tests.fuzz.trial import carry_out

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
CASES = int(os.environ.get("RINGFENCE_FUZZ_CASES", "20000" if LONG else "120"))
FIRST = int(os.environ.get("RINGFENCE_FUZZ_SEED", "0"))
SIZE = 250 if LONG else 15  # cases of one test, so that several processes share them
SHOWN = 3


@pytest.mark.parametrize("first", range(FIRST, FIRST + CASES, SIZE))
def test_every_release_is_what_was_promised(first: int) -> None:
    # In half of them, cells are numbered by kernels, as those of large tables are.
    few = numbered.FEW if first % 2 else 1
    with patch.object(numbered, "FEW", few):
        outcomes = [carry_out(seed) for seed in range(first, min(first + SIZE, FIRST + CASES))]
    wrong = [outcome for outcome in outcomes if outcome.result == "wrong"]
    told = "\n\n".join(f"{outcome.why}\n{outcome.case}" for outcome in wrong[:SHOWN])
    seeds = ", ".join(str(outcome.case.seed) for outcome in wrong)
    assert not wrong, f"{len(wrong)} of {len(outcomes)} cases are wrong, seeds {seeds}:\n\n{told}"
    assert sum(outcome.result == "released" for outcome in outcomes) > len(outcomes) / 4


def test_a_seed_is_always_the_same_case() -> None:
    assert str(draw_case(77)) == str(draw_case(77))


def people() -> Case:
    """Six people in two classes, with everything that the judge looks at."""
    columns = {
        IDENTIFIER: Column(KINDS["text"], ("a", "b", "c", "d", "e", "f")),
        "age": Column(KINDS["float"], (-0.0, 0.0, 1.5, 7.0, 7.0, 12.0)),
        "tree": Column(KINDS["text"], ("oak", "oak", "oak", "elm", "elm", "elm")),
        "ill": Column(KINDS["text"], ("flu", "cold", "flu", "flu", "cold", "gout")),
        TRACE: Column(KINDS["text"], ("t0", "t1", "t2", "t3", "t4", "t5")),
    }
    attributes: dict[str, dict[str, Any]] = {
        IDENTIFIER: {"role": "identifier"},
        "age": {"role": "quasi", "hierarchy": {"intervals": [5]}},
        "tree": {"role": "quasi", "hierarchy": {"tree": {"Hard": ["oak"], "Soft": ["elm"]}}, "boundary": ["Soft"]},
        "ill": {"role": "sensitive"},
        TRACE: {"role": "insensitive"},
    }
    privacy = {"k": 3, "l": {"value": 2, "kind": "distinct", "of": "ill"}, "p": 2}
    return Case(0, "optimal level", columns, {}, attributes, privacy, {"suppression": 0.5}, "arrow", "csv")


def good() -> Rows:
    """A release of these people that keeps every promise."""
    ages = ["[0, 5)", "[0, 5)", "[0, 5)", "[5, 15)", "[5, 15)", "[5, 15)"]
    trees = ["oak"] * 3 + ["Soft"] * 3
    ills = people().columns["ill"].values
    return [
        {"age": age, "tree": tree, "ill": ill, TRACE: f"t{i}"}
        for i, (age, tree, ill) in enumerate(zip(ages, trees, ills, strict=True))
    ]


NOTHING = Stated(suppressed=0, incomplete=0, kept=False)


def test_the_judge_lets_a_good_release_pass() -> None:
    judge(people(), good(), NOTHING)
    judge(people(), good()[:3], Stated(suppressed=3, incomplete=0, kept=False))


def changed(row: int, **cells: Any) -> Callable[[], Rows]:
    """A release in which a row has other cells."""
    return lambda: [{**cells_of, **(cells if r == row else {})} for r, cells_of in enumerate(good())]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (lambda: [good()[0], *good()[0:1], *good()[2:]], "rows stand twice"),
        (lambda: good()[:5], "1 rows are missing, 0 are said"),
        (lambda: [*good(), good()[5]], "rows stand twice"),
        (changed(0, age="[5, 15)"), "labels that do not hold"),
        (changed(3, age="[15, 20)"), "labels that do not hold"),
        (changed(3, tree="Hard"), "labels that do not hold"),
        (changed(3, tree="*"), "past a boundary"),
        (changed(3, tree="{elm, oak}"), "past a boundary"),
        (changed(3, tree="elm"), "a class of 1, k = 3"),
        (changed(0, ill="gout"), "of no row of the original"),
        (changed(0, trace="t1"), "of no row of the original"),
        (changed(0, trace="t9"), "of no row of the original"),
        (changed(0, name="a"), "the columns are"),
        (lambda: [{k: v for k, v in row.items() if k != "tree"} for row in good()], "the columns are"),
        (changed(1, ill=""), "of no row of the original"),
    ],
)
def test_the_judge_notices(fault: Callable[[], Rows], says: str) -> None:
    with pytest.raises(Wrong, match=says):
        judge(people(), fault(), NOTHING)


def test_the_judge_notices_two_looks_of_one_value() -> None:
    case = people()
    exact = replace(case, attributes={**case.attributes, "age": {"role": "insensitive"}})
    rows = [{**row, "age": age} for row, age in zip(good(), [0.0, 0.0, 1.5, 7.0, 7.0, 12.0], strict=True)]
    judge(exact, rows, NOTHING)
    with pytest.raises(Wrong, match="one value is published as"):
        judge(exact, [{**rows[0], "age": -0.0}, *rows[1:]], NOTHING)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("float", 0.0, -0.0),
        ("float", None, float("nan")),
        ("text and missing", None, ""),
        ("decimal objects", Decimal("1.1"), Decimal("1.10")),
        ("zoned", *KINDS["zoned"].pool[:2]),
        ("date", dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)),
        ("big int", 2**53, str(2**53)),
    ],
)
def test_what_is_one_value(kind: str, one: Any, other: Any) -> None:
    column = Column(KINDS[kind], (one,))
    assert column.canonical(one) == column.canonical(other)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("big int", 2**53, 2**53 + 1),
        ("look-alike", "7", "07"),
        ("look-alike", "A", "Ａ"),
        ("text", " ", ""),
        ("float", 0.1, 0.30000000000000004),
    ],
)
def test_what_is_not_one_value(kind: str, one: Any, other: Any) -> None:
    column = Column(KINDS[kind], (one,))
    assert column.canonical(one) != column.canonical(other)


@pytest.mark.parametrize(
    ("promise", "ills", "says"),
    [
        ({"l": {"value": 3, "kind": "distinct", "of": "ill"}}, ["flu", "cold", "flu"], "counts"),
        ({"l": {"value": 2, "kind": "entropy", "of": "ill"}}, ["flu", "cold", "flu"], "counts"),
        ({"l": {"value": 2, "kind": "recursive", "c": 2, "of": "ill"}}, ["flu", "cold", "flu"], "counts"),
        ({"p": 3}, ["flu", "cold", "flu"], "fewer than 3"),
        ({"t": {"value": 0.1, "of": "ill", "distance": "equal"}}, ["flu", "cold", "flu"], "distance"),
    ],
)
def test_the_judge_notices_classes_that_are_not_diverse(promise: dict[str, Any], ills: list[str], says: str) -> None:
    case = people()
    assert [row["ill"] for row in good()][:3] == ills
    with pytest.raises(Wrong, match=says):
        judge(replace(case, privacy={"k": 3, **promise}), good(), NOTHING)


def test_the_judge_counts_people() -> None:
    case = people()
    columns = {**case.columns, ENTITY: Column(KINDS["text"], ("p", "p", "q", "r", "s", "u"))}
    with pytest.raises(Wrong, match="a class of 2, k = 3"):
        judge(replace(case, columns=columns, people=columns[ENTITY].values, data={"entity": ENTITY}), good(), NOTHING)


def test_the_judge_notices_too_many_suppressed() -> None:
    case = replace(people(), settings={"suppression": 0.4})
    with pytest.raises(Wrong, match="the limit is 0"):
        judge(case, good()[:3], Stated(suppressed=3, incomplete=0, kept=False))


def test_the_judge_notices_rings_that_are_too_narrow() -> None:
    assert regular_part([[0, 1], [1, 2], [2, 0]], 2) == 6
    assert regular_part([[0, 1], [1, 2], [2]], 2) < 6
    assert regular_part([[0, 1, 2], [0, 1], [0, 1]], 2) < 6


def test_the_judge_notices_buckets_that_are_not_what_their_people_have() -> None:
    case = replace(people(), method="anatomy", privacy={"l": 2}, settings={})
    buckets = [1, 1, 2, 3, 3, 2]
    first = [
        {"age": age, "tree": tree, TRACE: f"t{i}", "bucket": bucket}
        for i, (age, tree, bucket) in enumerate(
            zip([0.0, 0.0, 1.5, 7.0, 7.0, 12.0], case.columns["tree"].values, buckets, strict=True)
        )
    ]
    second: Rows = [
        {"bucket": bucket, "ill": ill, "count": 1}
        for bucket, ill in [(1, "flu"), (1, "cold"), (2, "flu"), (2, "gout"), (3, "flu"), (3, "cold")]
    ]
    judge(case, first, NOTHING, second)
    faults: list[dict[str, Any]] = [{"ill": "gout"}, {"count": 2}, {"ill": "cold"}]
    for cells in faults:
        with pytest.raises(Wrong):
            judge(case, first, NOTHING, [{**second[0], **cells}, *second[1:]])


def test_distances_are_those_of_the_promise() -> None:
    bands = [1, 1, 2, 2, 3, 3, 4, 4]
    assert distance([1, 1, 3, 3], bands, "equal") == pytest.approx(0.5)
    assert distance([1, 1, 3, 3], bands, "ordered") == pytest.approx(1 / 6)
    assert distance([1, 1, 2, 2], bands, "ordered") == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("kind", "attribute", "label", "inside", "outside"),
    [
        ("float", {}, "[20, 25)", 20.0, 25.0),
        ("float", {}, "[20, 25]", 25.0, 25.5),
        ("float", {}, "<18", 17.5, 18.0),
        ("float", {}, ">=85", 85.0, 84.0),
        ("float", {}, "{1.5, null}", None, 2.0),
        ("int", {}, "7.0", 7, 8),
        ("text", {}, '{oak, "a, b"}', "a, b", "a"),
        ("text", {}, '{oak, "null"}', "null", None),
        ("text", {"hierarchy": {"fanout": 2}}, "[ash, oak]", "elm", "yew"),
        ("text", {"order": ["oak", "yew", "ash"]}, "[oak..yew]", "yew", "ash"),
        ("codes", {"hierarchy": {"mask": "right"}}, "479**", "47906", "47806"),
        ("codes", {"hierarchy": {"mask": "left"}}, "***06", "47906", "47907"),
        ("text", {"hierarchy": {"tree": {"A": {"B": ["oak"]}, "C": ["elm"]}}}, "A", "oak", "elm"),
        ("date", {}, "2024-Q1", dt.date(2024, 3, 31), dt.date(2024, 4, 1)),
        ("date", {}, "1990s", dt.date(1999, 12, 31), dt.date(2000, 1, 1)),
        ("date", {}, "[2024-01-01, 2024-02-01]", dt.date(2024, 2, 1), dt.date(2024, 2, 2)),
        ("time", {}, "[07:00:00, 08:00:00]", dt.time(7, 30), dt.time(9)),
        ("bool", {}, "{false, true}", True, None),
    ],
)
def test_labels_hold_what_they_say(kind: str, attribute: dict[str, Any], label: str, inside: Any, outside: Any) -> None:
    column = Column(KINDS[kind], (inside, outside))
    reader = Reader.of(column, attribute)
    assert reader.holds(label, column.canonical(inside))
    assert not reader.holds(label, column.canonical(outside))


def test_labels_are_read_as_they_are_quoted() -> None:
    assert set_members('{a, "b, \\"c\\"", null}') == [("a", False), ('b, "c"', True), ("null", False)]
    assert set_members("{[20, 25), 30}") == [("[20, 25)", False), ("30", False)]
    assert set_members('{"a"b}') is None
    assert range_ends('["a, b", c]') == ("a, b", "c", True)
