"""The audit of counts of values against planted faults: in the file, and in what a run computes."""

import datetime as dt
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.counts_judged import _people_behind
from ringfence.audit.verdict import Verdict
from ringfence.errors import DataError
from ringfence.plans import counted
from ringfence.release import job
from ringfence.release.job import AuditFailed
from ringfence.rows.sources import ROWS
from tests.release.test_counts import TABLE, WAYS, specified

Line = tuple[str, str | None, int]
NUMBERS = [20, 20, 21, 22, 23, 24, 24, 24, 30, 31, 32, 33]
TOWNS = ["Oslo"] * 3 + ["Bern", "Turku", "Rome"] + ["Lima"] * 6
SMALL = pa.table({"age": NUMBERS, "town": TOWNS, "who": [f"p{i // 2}" for i in range(12)]})
TREE = {"tree": {"north": ["Oslo", "Bern", "Turku"], "south": ["Rome", "Lima"]}}
SHOWN = pa.table({"age": ["[20, 24]"] * 8 + ["[30, 33]"] * 4, "town": ["*"] * 5 + ["south"] * 3 + ["Lima"] * 4})
LINES: list[Line] = [
    ("age", "<22", 3),
    ("age", "[22, 30)", 5),
    ("age", ">=30", 4),
    ("town", "Oslo", 3),
    ("town", "Lima", 6),
    ("town", "*", 3),
]


def small(k: int = 3, **more: Any) -> rf.Spec:
    attributes = {"age": {"role": "quasi", "order": "numeric"}, "town": {"role": "quasi", "hierarchy": TREE}}
    data = {"data": {"unlisted": "drop", **more}}
    return rf.Spec(attributes=attributes, privacy={"k": k}, method={"name": "local"}, **data)


def judged(lines: list[Line], original: pa.Table | None = None, shown: pa.Table = SHOWN, **more: Any) -> Verdict:
    columns = zip(*lines, strict=True)
    counts = pa.table(dict(zip(("attribute", "value", "rows"), map(list, columns), strict=True)))
    return rf.audit(shown, small(**more), original, counts=counts)


def changed(place: int, **cells: Any) -> list[Line]:
    named = dict(zip(("attribute", "value", "rows"), LINES[place], strict=True)) | cells
    return [*LINES[:place], (named["attribute"], named["value"], named["rows"]), *LINES[place + 1 :]]


def test_the_counts_hold_before_they_are_damaged() -> None:
    verdict = judged(LINES)
    assert verdict.findings == ()
    assert verdict.measured["least_count"] == 3
    assert judged(LINES, SMALL).findings == ()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (changed(0, rows=2), ["'age'", "'<22'", "2 rows, fewer than k = 3"]),
        (changed(0, rows=2), ["'age' add up to 11 rows; the release has 12"]),
        (LINES[1:], ["'age' add up to 9 rows"]),
        (LINES[:3], ["no line about 'town'"]),
        (changed(1, value="[21, 30)"), ["'<22'", "shares values with '[21, 30)'"]),
        ([*LINES, ("town", "Lima", 5)], ["'town'", "'Lima'", "twice"]),
        (changed(3, value="Paris"), ["'Paris'", "cannot be read"]),
        (changed(1, value="20 or so"), ["'20 or so'", "cannot be read"]),
        (changed(1, value="[30, 22)"), ["'[30, 22)'", "cannot be read"]),
        ([*changed(4, rows=3)[:5], ("town", "*", 6)], ["'Lima'", "3 rows, but 4 of the release show as much"]),
        ([*changed(3, value="Bern", rows=6)[:4], ("town", "Lima", 6)], ["'Bern'", "6 rows, but only 5"]),
        ([*LINES[:3], ("town", "north", 12)], ["'town'", "'south'", "in no line, but 3 rows"]),
    ],
)
def test_planted_faults_are_found_without_the_original(lines: list[Line], words: list[str]) -> None:
    verdict = judged(lines)
    assert not verdict.ok
    assert {finding.rule for finding in verdict.findings} == {"counts"}
    assert any(all(word in finding.message for word in words) for finding in verdict.findings), verdict.findings


def test_counts_that_are_not_true_are_found_beside_the_original() -> None:
    moved = [*changed(0, rows=4)[:1], ("age", "[22, 30)", 4), *LINES[2:]]  # a row over the cut, which nobody sees
    assert judged(moved).findings == ()
    found = judged(moved, SMALL).findings
    assert [finding.rule for finding in found] == ["counts", "counts"]
    assert "the counts of 'age' have '<22': 4 rows, but 3 of the published ones have it" in found[0].message


def test_a_value_that_no_line_is_about_is_found() -> None:
    lines = [("age", "20", 7), *LINES[2:]]
    verdict = judged([("age", "20", 8), *LINES[2:]], SMALL)
    assert any("no line for values of 6 rows" in finding.message for finding in verdict.findings)
    assert not judged(lines).ok


def test_with_rows_gone_what_is_certain_is_judged() -> None:
    original = pa.concat_tables([SMALL, SMALL.slice(0, 2)])  # two more of 20, of whom two went
    assert judged(LINES, original).findings == ()
    wrong = [*changed(2, rows=5)[:1], ("age", "[22, 30)", 4), ("age", ">=30", 5), *LINES[3:]]
    assert "'>=30'" in judged(wrong, original).findings[0].message


def test_people_behind_counts_are_counted() -> None:
    """Three rows below 22 are of two people: p0 has two of them."""
    verdict = judged(LINES, SMALL, entity="who")
    messages = [finding.message for finding in verdict.findings if finding.rule == "counts"]
    assert any("'<22': 3 rows of 2 people, fewer than k = 3" in message for message in messages)
    assert any("counts of values are of k people" in what for what in judged(LINES, entity="who").unjudged)


def test_people_behind_counts_are_counted_whoever_went() -> None:
    """One more row of 20 than is published: nobody knows whose it was that went, nor that lines are true."""
    whose = ["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p0", "p1", "p2", "p3"]
    people = SMALL.set_column(2, "who", pa.array(whose))

    def verdict(k: int, owner: str) -> Verdict:
        more = people.slice(0, 1).set_column(2, "who", pa.array([owner]))
        return judged(LINES, pa.concat_tables([people, more]), k=k, entity="who")

    assert verdict(2, "p9").unjudged == ()
    assert verdict(2, "p0").unjudged == ()
    assert verdict(3, "p9").unjudged != ()  # Bern, Turku and Rome have a row each: one of these may have gone
    assert not any(finding.rule == "counts" for finding in verdict(3, "p9").findings)
    alone = judged([*LINES[:3]], people.set_column(2, "who", pa.array(["p0"] * 12)), SHOWN.slice(1), entity="who")
    assert any("3 rows of 1 people, fewer than k = 3" in finding.message for finding in alone.findings)
    assert alone.unjudged == ()  # whoever went, these are too few


def test_rows_that_a_release_shows_did_not_go() -> None:
    """All rows of the lines have labels of their own, but for one that went: it was of Oslo, and Rome has all three."""
    towns = pa.table({"town": ["Oslo"] * 4 + ["Rome"] * 3, "who": [f"p{number}" for number in range(7)]})
    tree = {"tree": {"north": ["Oslo"], "south": ["Rome"]}}
    attributes = {"town": {"role": "quasi", "hierarchy": tree}}
    data = {"entity": "who", "unlisted": "drop"}
    counts = pa.table({"attribute": ["town"] * 2, "value": ["Oslo", "Rome"], "rows": [3, 3]})
    shown = pa.table({"town": ["north"] * 3 + ["south"] * 3})
    spec = rf.Spec(data=data, attributes=attributes, privacy={"k": 3}, method={"name": "local"})
    assert not any("counts" in what for what in rf.audit(shown, spec, towns, counts=counts).unjudged)
    hidden = pa.table({"town": ["north"] * 3 + ["*"] * 3})
    assert any("counts" in what for what in rf.audit(hidden, spec, towns, counts=counts).unjudged)


@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=8),
    gone=st.integers(0, 4),
    shown=st.tuples(st.integers(0, 4), st.integers(0, 4)),
)
def test_people_behind_lines_are_those_of_every_choice_of_rows_that_went(
    rows: list[tuple[int, int]], gone: int, shown: tuple[int, int]
) -> None:
    """Lines 0 and 1, and rows of no line; a combination may come in several parts, as an engine counts it."""
    each = [(line - 1, f"p{who}") for line, who in rows]
    parts = [*Counter(each[:3]).items(), *Counter(each[3:]).items()]
    table = pa.table({"who": [who for (_, who), _ in parts], ROWS: [count for _, count in parts]})
    owners = [[who for at, who in each if at == line] for line in (0, 1)]
    seen = [min(count, len(whose)) for count, whose in zip(shown, owners, strict=True)]
    behind = _people_behind(table, np.array([line for (line, _), _ in parts]), np.array(seen), gone, "who")
    left: list[list[int]] = [[], []]
    for went in range(min(gone, len(each)) + 1):
        for rest in combinations(each, len(each) - went):
            for line in (0, 1):
                people = [who for at, who in rest if at == line]
                if len(people) >= seen[line]:
                    left[line].append(len({*people}))
    assert behind.least.tolist() == [min(found) for found in left]
    assert behind.most.tolist() == [len({*whose}) for whose in owners]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"attribute": ["age"], "rows": [1], "value": ["1"]}, "have the columns"),
        ({"attribute": ["age"], "value": ["1"], "rows": ["many"]}, "no whole number"),
        ({"attribute": ["age"], "value": ["1"], "rows": pa.array([None], pa.int64())}, "without a number"),
        ({"attribute": ["job"], "value": ["1"], "rows": [3]}, "'job', which is no quasi-identifier"),
    ],
)
def test_what_cannot_be_read_is_refused(counts: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        rf.audit(SHOWN, small(), counts=pa.table(counts))


def rarer(table: pa.Table) -> pa.Table:
    """Split the first line into one of a row and one of the others."""
    first = table.slice(0, 1).to_pylist()[0]
    parts = [{**first, "rows": first["rows"] - 1}, {**first, "value": "25", "rows": 1}]
    return pa.concat_tables([pa.Table.from_pylist(parts, table.schema), table.slice(1)])


def moved(table: pa.Table) -> pa.Table:
    """Count a row of the first line in the second."""
    rows = table["rows"].to_pylist()
    rows[0], rows[1] = rows[0] - 1, rows[1] + 1
    return table.set_column(2, "rows", pa.array(rows, pa.int64()))


@pytest.mark.parametrize("fault", [rarer, moved])
@pytest.mark.parametrize("way", WAYS)
def test_no_run_passes_wrong_counts(
    way: str, fault: Callable[[pa.Table], pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = counted.counted_values
    monkeypatch.setattr(job, "counted_values", lambda *given: fault(right(*given)))
    with pytest.raises(AuditFailed, match="the counts of 'age'"):
        rf.anonymize(TABLE, specified(WAYS[way]))


def test_a_file_that_was_changed_is_found_by_its_hash_and_its_numbers(tmp_path: Path) -> None:
    spec = specified({"name": "local"})
    path = rf.anonymize(TABLE, spec).save(tmp_path)
    file = path.with_name("counts.csv")
    lines = file.read_text().splitlines()
    name, value, rows = lines[1].split(",")
    file.write_text("\n".join([lines[0], f"{name},{value},{int(rows) - 1}", *lines[2:]]) + "\n")
    rules = [finding.rule for finding in rf.audit(path, spec).findings]
    assert {*rules} == {"counts", "manifest"}
    file.unlink()
    verdict = rf.audit(path, spec)
    assert [finding.rule for finding in verdict.findings] == ["manifest"]
    assert any("none were found beside the release" in note for note in verdict.notes)


def test_counts_that_nobody_asked_for_are_found(tmp_path: Path) -> None:
    spec = specified({"name": "local"})
    path = rf.anonymize(TABLE, spec).save(tmp_path)
    other = spec.model_copy(update={"output": rf.Spec.model_fields["output"].default})
    found = rf.audit(path, other).findings
    assert any("counts of values, which the specification does not ask for" in finding.message for finding in found)


@pytest.mark.parametrize("hierarchy", ["flat", {"fanout": 2}, {"mask": "right"}])
@pytest.mark.parametrize("method", [{"name": "optimal", "scheme": "set"}, {"name": "local"}])
def test_a_release_alone_shows_which_values_are_plain(hierarchy: Any, method: dict[str, Any], tmp_path: Path) -> None:
    """Sets and groups that are named by values are no values: nothing is known of what they hold but what they say."""
    codes = ["aa", "ab", "ba", "bb", "ca", "[a, b]", "{a, b}"]
    table = pa.table({"code": [codes[i * i % 7] for i in range(30)], "age": [20 + i % 7 for i in range(30)]})
    if hierarchy == {"fanout": 2}:
        table = table.filter(pc.is_in(table["code"], pa.array(codes[:5])))
    attributes = {"code": {"role": "quasi", "hierarchy": hierarchy}, "age": {"role": "quasi", "order": "numeric"}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 4}, method=method, output={"counts": True})
    path = rf.anonymize(table, spec).save(tmp_path)
    assert rf.audit(path, spec).ok
    assert rf.audit(path, spec, table).ok


@pytest.mark.parametrize(
    "hierarchy", ["flat", {"fanout": 2}, {"tree": {"[0, 3)": ["0", "1", "2"], "[3, 6)": ["3", "127"]}}]
)
@pytest.mark.parametrize(
    "method", [{"name": "optimal", "suppression": 0}, {"name": "cluster", "representation": "hierarchy"}]
)
def test_numbers_that_nothing_calls_numbers_are_counted_in_ranges(
    hierarchy: Any, method: dict[str, Any], tmp_path: Path
) -> None:
    """A release alone may show some of them and `*`: which of its counts are ranges, only these say."""
    values = [1, 1, 2, 1, 3, 1, 127, 1, 127, 3, 0, 127, 0, 3, 3, 0, 3, 127, 1, 1]
    table = pa.table({"q": pa.array(values, pa.int8()), "town": [*"ab"] * 10})
    attributes = {"q": {"role": "quasi", "hierarchy": hierarchy}, "town": {"role": "quasi", "hierarchy": "flat"}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 2}, method=method, output={"counts": True})
    path = rf.anonymize(table, spec).save(tmp_path)
    assert rf.audit(path, spec).findings == ()
    assert rf.audit(path, spec, table).findings == ()


def test_ranges_of_counts_are_held_to_what_a_release_shows_whatever_its_values_are_called() -> None:
    attributes = {"q": {"role": "quasi", "hierarchy": "flat"}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 2}, data={"unlisted": "drop"})
    shown = pa.table({"q": ["1", "1", "1", "3", "3", "*", "*"]})
    for low, rows, words in (("2", 4, ""), ("4", 4, "'3': in no line, but 2 rows"), ("2", 5, "add up to 8 rows")):
        counts = pa.table({"attribute": ["q"] * 2, "value": ["1", f"[{low}, 100)"], "rows": [3, rows]})
        found = [finding.message for finding in rf.audit(shown, spec, counts=counts).findings]
        assert bool(found) == bool(words)
        assert words in " ".join(found)


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.decimal128(8, 4)], ids=str)
@pytest.mark.parametrize("written", ["csv", "parquet"])
@pytest.mark.parametrize("gaps", [0, 3], ids=["whole", "gaps"])
def test_what_counts_spell_in_another_way_is_the_same_value(
    kind: pa.DataType, written: str, gaps: int, tmp_path: Path
) -> None:
    """Moments come out of their column with midnight, and decimals with zeros: so a release alone may show them."""
    days = [dt.date(2024, 1, day) for day in (1, 1, 1, 2, 2, 2, 2, 8, 8, 9)]
    values = [Decimal(day.day) for day in days] if pa.types.is_decimal(kind) else days
    attributes = {"q": {"role": "quasi", "hierarchy": "flat"}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"suppression": 0.1}, output={"counts": True})
    table = pa.table({"q": pa.array(values + [None] * gaps).cast(kind)})
    path = rf.anonymize(table, spec).save(tmp_path, written)
    assert rf.audit(path, spec).findings == ()
    assert rf.audit(path, spec, table).findings == ()


@pytest.mark.parametrize(
    "values",
    [pa.array([1, 3]), pa.array([1.5, 3.0]), pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 3)])],
    ids=["whole", "fractions", "days"],
)
def test_counts_may_be_handed_over_as_a_reader_of_files_has_them(values: pa.Array) -> None:
    """All values of the only attribute may look like numbers or days, and then come as these."""
    spec = rf.Spec(attributes={"q": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 2})
    shown = pa.table({"q": values.take(pa.array([0, 0, 1, 1]))})
    for rows, holds in (([2, 2], True), ([3, 2], False)):
        counts = pa.table({"attribute": ["q", "q"], "value": values, "rows": rows})
        assert rf.audit(shown, spec, counts=counts).ok == holds


def test_counts_of_what_has_no_text_are_refused() -> None:
    counts = pa.table({"attribute": ["q"], "value": [["a"]], "rows": [2]})
    spec = rf.Spec(attributes={"q": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 2})
    with pytest.raises(DataError, match=r"a column 'value' of list<.*>; allowed: text, numbers, dates"):
        rf.audit(pa.table({"q": ["a", "a"]}), spec, counts=counts)


@pytest.mark.parametrize(
    ("other", "holds"), [("2024-01-01 00:00:00", True), ("2024-01-09 00:00:00", False), ("ash", False)]
)
def test_ranges_of_days_tell_that_midnights_are_days(other: str, holds: bool) -> None:
    """As a text file has the moments of a column, beside counts that are all of ranges."""
    spec = rf.Spec(attributes={"q": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 2})
    counts = pa.table({"attribute": ["q"] * 2, "value": ["<2024-01-02", ">=2024-01-02"], "rows": [4, 3]})
    shown = pa.table({"q": [*["2024-01-01 00:00:00", other, "2024-01-05 08:00:00"] * 2, "*"]})
    found = rf.audit(shown, spec, counts=counts).findings
    assert [finding for finding in found if finding.rule == "counts"] == [] or not holds
    assert holds or any(finding.rule == "counts" for finding in found)


def test_a_star_in_a_stated_order_is_no_value_of_a_release() -> None:
    order = ["low", "*", "high"]
    spec = rf.Spec(attributes={"q": {"role": "quasi", "hierarchy": {"fanout": 2}, "order": order}}, privacy={"k": 2})
    counts = pa.table({"attribute": ["q"] * 2, "value": ["low", "*"], "rows": [2, 4]})
    shown = pa.table({"q": ["low", "low", "*", "*", "high", "high"]})
    assert rf.audit(shown, spec, counts=counts).ok
    assert not rf.audit(shown, spec, counts=counts.slice(0, 1)).ok


def test_codes_are_no_numbers_in_another_spelling() -> None:
    counts = pa.table({"attribute": ["q"], "value": ["1"], "rows": [4]})
    spec = rf.Spec(attributes={"q": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 2})
    for other, holds in (("1.0", True), ("01", False)):
        assert rf.audit(pa.table({"q": ["1", "1", other, other]}), spec, counts=counts).ok == holds
