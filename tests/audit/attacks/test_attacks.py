"""Attacks on releases: each against its plain definition, and on tables where it must succeed."""

import itertools
import json
import operator
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.verdict import Attack
from ringfence.errors import DataError, SpecError
from ringfence.spec import Spec
from tests.audit_tables import Row, by_class, text_table

TREE = {"role": "quasi", "hierarchy": {"tree": {"A": ["a", "b"], "B": ["c"]}}}
FIVES = {"role": "quasi", "hierarchy": {"intervals": [5]}}
UP = {"a": "A", "b": "A", "c": "B"}
RAW = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.sampled_from("mno")), min_size=2, max_size=14)


def spec_of(**privacy: Any) -> Spec:
    """Return a specification of two quasi-identifiers and a sensitive attribute."""
    return Spec(attributes={"x": TREE, "y": FIVES, "s": {"role": "sensitive"}}, privacy=privacy)


def coarse(rows: list[Row]) -> pa.Table:
    """Return rows at level 1."""
    return text_table("xys", [(UP[x], f"[{y // 5 * 5}, {y // 5 * 5 + 5})", s) for x, y, s in rows])


def original(rows: list[Row]) -> pa.Table:
    """Return rows as they are."""
    return text_table("xys", [tuple(map(str, row)) for row in rows])


def attacked(table: pa.Table, spec: Spec, name: str, **others: Any) -> list[Attack]:
    """Carry an attack out."""
    found = rf.audit(table, spec, attacks=name, **others).attacks
    assert {each.name for each in found} <= {name}
    return [*found]


@given(RAW)
def test_linkage_is_a_guess_among_those_who_fit(rows: list[Row]) -> None:
    one, everything = attacked(coarse(rows), spec_of(k=2), "linkage", original=original(rows))

    def success(*keys: Any) -> tuple[float, float]:
        fits = [1 / sum(all(key(other) == key(row) for key in keys) for other in rows) for row in rows]
        return sum(fits) / len(rows), max(fits)

    def place(row: Row) -> str:
        return UP[row[0]]

    def decade(row: Row) -> int:
        return int(row[1]) // 5

    choices = [success(place), success(decade)]
    assert one.success == pytest.approx(max(choices)[0])
    assert any((one.success, one.worst) == pytest.approx(choice) for choice in choices)
    assert (everything.success, everything.worst) == pytest.approx(success(place, decade))
    assert (one.promised, one.baseline) == (0.5, 1 / len(rows))


def test_linkage_strikes_out_what_cannot_be() -> None:
    """Table 4b of Wong, Mamoulis and Cheung: three rows fit the second, two of which must be the first and the last."""
    spec = Spec(attributes={"x": {"role": "quasi", "order": "numeric"}}, privacy={"k": 2}, method={"name": "ring"})
    release = text_table("x", [("[1, 5]",), ("[2, 3]",), ("[3, 4]",), ("[3, 4]",), ("[1, 5]",)])
    (attack,) = attacked(release, spec, "linkage", original=pa.table({"x": [1, 2, 3, 4, 5]}))
    assert attack.worst == 1


@given(RAW)
def test_homogeneity_and_background_are_their_definitions(rows: list[Row]) -> None:
    spec, raw = spec_of(k=1, l={"value": 3, "kind": "recursive", "c": 2}), original(rows)
    (homogeneity,) = attacked(coarse(rows), spec, "homogeneity", original=raw)
    first, second = attacked(coarse(rows), spec, "background", original=raw)
    groups = by_class([(UP[x], y // 5, s) for x, y, s in rows], 2)
    counts = [Counter(value for (value,) in values) for values in groups.values()]
    assert homogeneity.success == pytest.approx(sum(max(each.values()) for each in counts) / len(rows))
    assert homogeneity.worst == pytest.approx(max(max(each.values()) / each.total() for each in counts))
    assert homogeneity.baseline == pytest.approx(max(Counter(row[2] for row in rows).values()) / len(rows))

    def share(count: Counter[str], value: str, out: int) -> float:
        others = sorted((n for other, n in count.items() if other != value), reverse=True)
        return count[value] / (count.total() - sum(others[:out]))

    def right(count: Counter[str], value: str, out: int) -> float:
        """How often the commonest value is the target's, over all that may be known; of equals, any is guessed."""
        known = [*itertools.combinations({*count} - {value}, min(out, len(count) - 1))]
        best = [[v for v in count if v not in out and count[v] == max(count[w] for w in {*count} - {*out})]
                for out in known]  # fmt: skip
        return sum(1 / len(guesses) for guesses in best if value in guesses) / len(known)

    assert homogeneity.success == pytest.approx(
        sum(right(count, value, 0) * n for count in counts for value, n in count.items()) / len(rows)
    )
    for out, attack in ((1, first), (2, second)):
        success = sum(right(count, value, out) * n for count in counts for value, n in count.items())
        assert attack.success == pytest.approx(success / len(rows))
        assert attack.success >= homogeneity.success - 1e-9
        assert attack.worst == pytest.approx(max(share(count, value, out) for count in counts for value in count))
        assert attack.promised == (pytest.approx(2 / 3) if out == 1 else None)


@given(
    st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any), min_size=1, max_size=4),
    st.sampled_from(
        [
            {"l": {"value": 2, "kind": "recursive", "c": 1.5}},
            {"l": {"value": 2.2, "kind": "entropy"}},
            {"l": {"value": 1.3, "kind": "entropy"}},
            {"t": 0.25},
            {"alpha": 0.6},
            {"beta": 0.8},
            {"beta": {"value": 2, "kind": "enhanced"}},
            {"delta": 0.7},
        ]
    ),
)
def test_what_is_promised_of_values_holds_wherever_the_promise_does(counts: list[list[int]], privacy: Any) -> None:
    rows = [(name, value) for name, of in zip("pqrs", counts, strict=False) for v, n in zip("xyz", of, strict=True)
            for value in [v] * n]  # fmt: skip
    spec = Spec(attributes={"q": {"role": "quasi"}, "s": {"role": "sensitive"}}, privacy={"k": 1, **privacy})
    table = text_table("qs", rows)
    verdict = rf.audit(table, spec, table, attacks=["homogeneity"])
    if verdict.ok:
        assert verdict.attacks[0].within is not False


def test_minimality_finds_what_a_merge_gives_away() -> None:
    """Two towns of two, merged for l = 2 though k = 2 would not need it: so one town has the same value twice."""
    rows: list[Row] = [("a", 1, "hiv"), ("a", 1, "hiv"), ("b", 1, "flu"), ("b", 1, "cold")]
    (attack,) = attacked(coarse(rows), spec_of(k=2, l=2), "minimality", original=original(rows))
    # Of the deals of hiv, hiv, flu, cold to two towns, one in three has the two hiv together: then one is sure of hiv
    # in one town, by halves. Everything else is diverse.
    assert attack.baseline == 0.5
    assert attack.worst == pytest.approx(0.5, abs=0.08)
    uneven = [*rows, ("a", 1, "hiv"), ("a", 1, "hiv")]
    (attack,) = attacked(coarse(uneven), spec_of(k=2, l=2), "minimality", original=original(uneven))
    assert attack.worst > 0.75 > attack.baseline == pytest.approx(4 / 6)
    assert attack.success == pytest.approx(4 / 6)  # he takes town b to have hiv twice, and is wrong there
    assert attack == attacked(coarse(uneven), spec_of(k=2, l=2), "minimality", original=original(uneven))[0]
    assert attacked(coarse(rows), spec_of(k=3, l=2), "minimality", original=original(rows)) == []
    # As in docs/promise.md: only the two of town a can have a single value, so both have hiv.
    certain = [*rows, ("b", 1, "cough")]
    (attack,) = attacked(coarse(certain), spec_of(k=2, l=2), "minimality", original=original(certain))
    assert (attack.success, attack.worst, attack.baseline) == (3 / 5, 1, 2 / 5)


@given(RAW)
def test_intersection_by_definition(rows: list[Row]) -> None:
    other = text_table("xys", [(x, "*", s) for x, y, s in rows])
    (attack,) = attacked(coarse(rows), spec_of(k=1), "intersection", original=original(rows), other=other)
    first = by_class([(UP[x], y // 5, s) for x, y, s in rows], 2)
    second = by_class([(x, s) for x, _, s in rows], 1)
    sure, guesses, alone = [], [], []
    for x, y, _ in rows:
        here, there = Counter(first[UP[x], y // 5]), Counter(second[(x,)])
        meet = [here[value] * there[value] for value in here]
        sure.append(max(meet) / sum(meet))
        guesses.append(min(here, key=lambda value: (-here[value] * there[value], value)))
        alone.append([min(each, key=lambda value: (-each[value], value)) for each in (here, there)])
    assert attack.worst == pytest.approx(max(sure))
    true = [(row[2],) for row in rows]
    assert attack.success == pytest.approx(sum(map(operator.eq, guesses, true)) / len(rows))
    right = [sum(guess[side] == value for guess, value in zip(alone, true, strict=True)) for side in (0, 1)]
    assert attack.baseline == pytest.approx(max(right) / len(rows))


def test_intersection_tells_who_was_hidden_in_each() -> None:
    rows: list[Row] = [("a", 1, "hiv"), ("b", 1, "flu"), ("b", 6, "cold"), ("a", 6, "gout")]
    by_age = text_table("xys", [("*", f"[{y // 5 * 5}, {y // 5 * 5 + 5})", s) for _, y, s in rows])
    by_place = text_table("xys", [(x, "*", s) for x, _, s in rows])
    (attack,) = attacked(by_age, spec_of(k=2), "intersection", original=original(rows), other=by_place)
    assert (attack.success, attack.worst, attack.baseline) == (1, 1, 0.5)


def test_numbers_that_are_spelled_in_two_ways_are_the_same_people() -> None:
    rows: list[Row] = [("a", 1, "hiv"), ("b", 1, "flu"), ("b", 6, "cold"), ("a", 6, "gout")] * 2
    spelled = text_table("xys", [(x, f"0{y}" if n % 3 else str(y), s) for n, (x, y, s) in enumerate(rows)])
    spec = spec_of(k=2, l=2)
    one, two = (
        rf.audit(coarse(rows), spec, raw, other=coarse(rows), attacks="all") for raw in (original(rows), spelled)
    )
    assert one.attacks == two.attacks
    assert one.measured == two.measured


@given(RAW, st.integers(1, 3))
def test_corruption_takes_rows_out_of_the_class(rows: list[Row], known: int) -> None:
    (attack,) = attacked(coarse(rows), spec_of(k=1), "corruption", original=original(rows), corrupted=known)
    sizes = [len(values) for values in by_class([(UP[x], y // 5, s) for x, y, s in rows], 2).values()]
    left = [max(size - known, 1) for size in sizes]
    assert attack.success == pytest.approx(sum(n / m for n, m in zip(sizes, left, strict=True)) / len(rows))
    assert attack.worst == 1 / min(left)


def test_corruption_and_items() -> None:
    rows: list[Row] = [("a", 1, "m")] * 3
    (attack,) = attacked(coarse(rows), spec_of(k=3), "corruption", original=original(rows), corrupted=2)
    assert attack.worst == 1
    baskets = pa.table({"basket": [["p", "q"], ["p", "q"], ["p"], []]})
    spec = Spec(
        attributes={"basket": {"role": "items", "hierarchy": {"tree": {"P": ["p", "q"]}}}},
        privacy={"k": 2, "m": 2},
        method={"name": "itemsets"},
    )
    (attack,) = attacked(baskets, spec, "items")
    assert (attack.worst, attack.promised, attack.baseline) == (0.5, 0.5, 0.25)
    assert attack.success == pytest.approx((0.5 + 0.5 + 1 / 3) / 3)
    many = [[*itertools.compress("pqrst", bits)] for bits in itertools.product([0, 1], repeat=5)] * 3
    one, two = (
        attacked(pa.table({"basket": each}), spec, "items") for each in (many, [row[::-1] for row in many[::-1]])
    )
    assert one == two


@pytest.mark.parametrize("missing", ["suppress", "error"])
def test_asking_for_attacks_does_not_change_the_verdict_on_what_is_missing(missing: str) -> None:
    """No model looks at s: rows without it are published, and attacks guess at the values that there are."""
    table = pa.table({"a": [*"aabb"], "b": [1, 1, 2, 2], "s": ["m", None, "n", None]})
    attributes = {"a": {"role": "quasi"}, "b": {"role": "quasi"}, "s": {"role": "sensitive"}}
    spec = rf.Spec(data={"missing": missing}, attributes=attributes, privacy={"k": 2})
    assert rf.audit(table, spec, table).ok
    verdict = rf.audit(table, spec, table, attacks="all")
    assert verdict.ok
    assert {attack.name for attack in verdict.attacks} >= {"linkage", "homogeneity"}
    both = rf.Spec(data={"missing": missing}, attributes=attributes, privacy={"k": 2, "l": {"value": 1, "of": "s"}})
    assert [finding.rule for finding in rf.audit(table, both).findings] == ["missing"]


def test_all_attacks_that_can_be_carried_out() -> None:
    rows: list[Row] = [*itertools.product("ab", [1, 2], "mn")]
    verdict = rf.audit(coarse(rows), spec_of(k=2, l=2), original(rows), attacks="all")
    assert {attack.name for attack in verdict.attacks} >= {"linkage", "homogeneity", "background", "corruption"}
    assert json.loads(json.dumps(verdict.as_dict()))["attacks"][0]["name"] == "linkage"
    assert "Attacks:" in str(verdict)
    hidden = rf.audit(coarse(rows).drop_columns(["s"]), spec_of(k=2), original(rows), attacks="all")
    assert {attack.name for attack in hidden.attacks} == {"linkage", "corruption"}
    assert [note.split("'")[1] for note in hidden.notes] == ["homogeneity", "background", "minimality"]
    with pytest.raises(SpecError, match="there is no attack 'brute'"):
        rf.audit(coarse(rows), spec_of(k=2), original(rows), attacks=["brute"])
    with pytest.raises(DataError, match="'linkage' cannot be carried out: it needs the original"):
        rf.audit(coarse(rows), spec_of(k=2), attacks=["linkage"])
    with pytest.raises(DataError, match="the other release"):
        rf.audit(coarse(rows), spec_of(k=2), original(rows), attacks=["intersection"])
    alone = rf.audit(coarse(rows), spec_of(k=2), attacks="all")
    assert alone.attacks == ()
    assert alone.refinement is not None
