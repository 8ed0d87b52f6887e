"""Risk, and the models that the audit judges but no method promises: against plain definitions."""

import json
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.risk import population_uniques
from ringfence.errors import DataError, SpecError
from ringfence.spec import Spec
from tests.audit_tables import QUASI, Row, audited, by_class, rules, text_table

ROLES = {"a": QUASI, "b": QUASI, "c": QUASI, "s": {"role": "sensitive"}}
ROWS = st.lists(
    st.tuples(st.sampled_from("xy*"), st.sampled_from(["u", "v", None]), st.sampled_from("pq"), st.sampled_from("mno")),
    min_size=1,
    max_size=25,
)


def spec_of(**privacy: Any) -> Spec:
    """Return a specification of three quasi-identifiers and a sensitive attribute."""
    return Spec(attributes=ROLES, privacy=privacy)


@given(ROWS)
def test_risks_are_their_definitions(rows: list[Row]) -> None:
    risk = audited(text_table("abcs", rows), spec_of(k=3)).risk
    assert risk is not None
    sizes = Counter(row[:3] for row in rows)
    each = [1 / sizes[row[:3]] for row in rows]
    assert risk.prosecutor.highest == max(each)
    assert risk.prosecutor.mean == pytest.approx(sum(each) / len(rows))
    assert risk.marketer == pytest.approx(len(sizes) / len(rows))
    assert risk.prosecutor.at_risk == pytest.approx(sum(one > 0.2 for one in each) / len(rows))
    assert risk.uniques.sample == sum(size == 1 for size in sizes.values())
    assert sum(band.rows for band in risk.distribution) == len(rows)
    for band in risk.distribution:
        inside = [size for size in sizes.values() if band.low <= size <= (band.high or math.inf)]
        assert (band.classes, band.rows) == (len(inside), sum(inside))
    for single in risk.singling:
        places = ["abc".index(name) for name in single.columns]
        groups = Counter(tuple(row[place] for place in places) for row in rows)
        assert single.unique == sum(size == 1 for size in groups.values())
        assert single.below_k == sum(size for size in groups.values() if size < 3)
    assert len(risk.singling) == 7
    assert [single.unique for single in risk.singling] == sorted((each.unique for each in risk.singling), reverse=True)


@given(ROWS)
def test_models_are_their_definitions(rows: list[Row]) -> None:
    measured = audited(text_table("abcs", rows), spec_of(alpha=1.0, beta=1e9, delta=1e9)).measured
    whole = Counter(row[3] for row in rows)
    alpha, beta, delta = 0.0, 0.0, 0.0
    for values in by_class(rows, 3).values():
        for value, count in Counter(value for (value,) in values).items():
            q, p = count / len(values), whole[value] / len(rows)
            alpha, beta, delta = max(alpha, q), max(beta, (q - p) / p), max(delta, abs(math.log(q / p)))
    assert (measured["alpha"], measured["beta"], measured["delta"]) == pytest.approx((alpha, beta, delta))


@given(ROWS, st.floats(0.05, 3))
def test_enhanced_likeness_is_its_definition(rows: list[Row], beta: float) -> None:
    verdict = audited(text_table("abcs", rows), spec_of(beta={"value": beta, "kind": "enhanced"}))
    whole = Counter(row[3] for row in rows)
    broken = 0
    for values in by_class(rows, 3).values():
        counts = Counter(value for (value,) in values).items()
        shares = [(count / len(values), whole[value] / len(rows)) for value, count in counts]
        broken += len(values) * any((q - p) / p > min(beta, -math.log(p)) + 1e-9 for q, p in shares)
    assert sum(finding.rows for finding in verdict.findings if finding.rule == "beta") == broken


@pytest.mark.parametrize(
    ("privacy", "rule"),
    [
        ({"alpha": 0.7}, "alpha"),
        ({"beta": 0.3}, "beta"),
        ({"delta": 0.3}, "delta"),
        ({"delta": math.log(1.5)}, "delta"),
    ],
)
def test_planted_violations(privacy: dict[str, Any], rule: str) -> None:
    """Five in eight rows have m: three of four in x, two of four in y. So n is a third commoner in y than in all."""
    rows = [("x", "u", "p", value) for value in "mmmn"] + [("y", "u", "p", value) for value in "mmnn"]
    verdict = audited(text_table("abcs", rows), spec_of(**privacy))
    assert rules(verdict) == [rule]
    assert verdict.findings[0].example["a"] == ("y" if rule == "beta" else "x")
    even = [("x", "u", "p", value) for value in "mmnn"] + [("y", "u", "p", value) for value in "mmnn"]
    assert rules(audited(text_table("abcs", even), spec_of(**privacy))) == []


# A population


PEOPLE = st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 9)), min_size=1, max_size=12)


@given(PEOPLE, st.data())
def test_k_map_and_presence_are_their_definitions(people: list[tuple[str, int]], data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.sampled_from(range(len(people))), min_size=1, unique=True))
    tens = {f"[{low}, {low + 5})": range(low, low + 5) for low in (0, 5)}
    labels = [(people[one][0], next(label for label, held in tens.items() if people[one][1] in held)) for one in drawn]
    k, high = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([0.25, 0.5, 1.0]))
    spec = Spec(
        attributes={"a": QUASI, "n": {"role": "quasi", "hierarchy": {"intervals": [5]}}},
        privacy={"k_map": k, "presence": {"low": 0.1, "high": high}},
    )
    population = pa.table({"a": [one[0] for one in people], "n": [one[1] for one in people]})
    verdict = rf.audit(text_table(["a", "n"], labels), spec, population=population)
    fits = {label: sum(one[0] == label[0] and one[1] in tens[label[1]] for one in people) for label in labels}
    counts = Counter(labels)
    assert verdict.measured["k_map"] == min(fits.values())
    assert verdict.measured["presence_high"] == pytest.approx(max(counts[each] / fits[each] for each in fits))
    covered = sum(fits.values()) == len(people)
    lowest = min(counts[each] / fits[each] for each in fits) if covered else 0
    assert verdict.measured["presence_low"] == pytest.approx(lowest)
    assert ("k_map" in rules(verdict)) == (min(fits.values()) < k)
    fails = max(counts[each] / fits[each] for each in fits) > high or lowest < 0.1
    assert ("presence" in rules(verdict)) == fails
    risk = verdict.risk
    assert risk is not None
    assert risk.journalist is not None
    assert risk.journalist.highest == pytest.approx(1 / min(fits.values()))
    assert risk.journalist.mean == pytest.approx(sum(1 / fits[each] for each in labels) / len(labels))
    assert (risk.uniques.population, risk.uniques.estimated) == (len(people), False)
    assert risk.uniques.population_uniques == sum(fits[each] == 1 for each in labels)


def test_a_population_that_is_not_given_cannot_be_judged_by() -> None:
    table = text_table("a", [("x",)])
    for privacy in ({"k_map": 2}, {"presence": {"high": 0.5}}):
        with pytest.raises(DataError, match="needs a table of the population"):
            rf.audit(table, Spec(attributes={"a": QUASI}, privacy=privacy))
    with pytest.raises(SpecError, match=r"low = 0.5 is above high = 0.2"):
        Spec(attributes={"a": QUASI}, privacy={"presence": {"low": 0.5, "high": 0.2}})
    with pytest.raises(DataError, match="the population has no column 'a'"):
        rf.audit(table, Spec(attributes={"a": QUASI}, privacy={"k_map": 2}), population=text_table("b", [("x",)]))
    with pytest.raises(SpecError, match=r"privacy.alpha.of"):
        Spec(attributes={"a": QUASI}, privacy={"alpha": {"value": 0.5, "of": "a"}})
    with pytest.raises(SpecError, match=r"privacy.beta is not there yet"):
        rf.anonymize(text_table("abcs", [("x", "u", "p", "m")]), spec_of(beta=1.0))


# Population uniques


def restaurant(alpha: float, theta: float, rows: int, rng: random.Random) -> list[int]:
    """Draw the classes of so many rows from Pitman's process."""
    sizes: list[int] = []
    seats: list[int] = []
    for seated in range(rows):
        if rng.random() * (theta + seated) < theta + alpha * len(sizes):
            sizes.append(1)
            seats.append(len(sizes) - 1)
        else:
            while True:  # a table by its people, less alpha each
                table = rng.choice(seats)
                if rng.random() * sizes[table] >= alpha:
                    break
            sizes[table] += 1
            seats.append(table)
    return seats


@pytest.mark.parametrize(("alpha", "theta"), [(0.3, 50.0), (0.6, 20.0), (0.8, 5.0)])
def test_population_uniques_of_a_known_process(alpha: float, theta: float) -> None:
    rng = random.Random(7)
    people = restaurant(alpha, theta, 30_000, rng)
    true = sum(size == 1 for size in Counter(people).values())
    sample = Counter(rng.sample(people, 6_000))
    estimate = population_uniques(np.array(sorted(sample.values())), len(people))
    assert estimate == pytest.approx(true, rel=0.15)


def test_population_uniques_where_there_is_nothing_to_fit() -> None:
    assert population_uniques(np.array([5]), 100) is None
    assert population_uniques(np.array([5, 5]), 3) is None
    assert (population_uniques(np.array([500, 500]), 10_000) or 0) < 1
    alone = population_uniques(np.ones(50, np.int64), 50)
    assert alone == pytest.approx(50, rel=0.05)


def test_weights_give_the_size_of_the_population() -> None:
    rows = [(str(number % 40), "2.5") for number in range(60)]
    table = text_table(["a", "w"], rows)
    roles = {"a": QUASI, "w": {"role": "insensitive"}}
    spec = Spec(attributes=roles, data={"weights": "w"}, privacy={"k": 1})
    risk = audited(table, spec).risk
    assert risk is not None
    assert (risk.uniques.population, risk.uniques.estimated) == (150, True)
    assert risk.uniques.population_uniques == pytest.approx(population_uniques(np.array([2] * 20 + [1] * 20), 150))
    hidden = audited(table.drop_columns(["w"]), spec).risk
    assert hidden is not None
    assert hidden.uniques.population is None
    assert "unique rows: 20; in the population of 150" in str(audited(table, spec))


def test_weights_do_not_keep_a_release_from_being_made() -> None:
    table = pa.table({"a": ["x", "x", "y", "y"], "w": [2.0, 3.0, 2.5, 2.5]})
    spec = Spec(attributes={"a": QUASI, "w": {"role": "insensitive"}}, data={"weights": "w"}, privacy={"k": 2})
    risk = rf.anonymize(table, spec).audit.risk
    assert risk is not None
    assert risk.uniques.population == 10


def test_risk_of_rings_is_what_a_draw_can_keep() -> None:
    original = pa.table({"x": [1, 2, 3, 4, 5]})
    release = text_table("x", [("[1, 2]",), ("[2, 3]",), ("[3, 4]",), ("[4, 5]",), ("{1, 5}",)])
    spec = Spec(attributes={"x": {"role": "quasi", "order": "numeric"}}, privacy={"k": 2}, method={"name": "ring"})
    verdict = rf.audit(release, spec, original)
    assert verdict.ok
    assert verdict.risk is not None
    assert (verdict.risk.prosecutor.highest, verdict.risk.uniques.sample, verdict.risk.singling) == (0.5, 0, ())


def test_risk_in_json_and_of_tables_without_rows() -> None:
    verdict = audited(text_table("abcs", [("x", None, "p", "m")]), spec_of(k=1))
    parts = json.loads(json.dumps(verdict.as_dict()))["risk"]
    assert parts["prosecutor"] == {"highest": 1.0, "mean": 1.0, "at_risk": 1.0}
    assert parts["journalist"] is None
    empty = audited(text_table("abcs", []), spec_of(k=1))
    assert (empty.risk, empty.as_dict()["risk"]) == (None, None)
