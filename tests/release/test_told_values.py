"""No label names a value that only suppressed rows have, whatever labels are made of values: sets, runs, fan-outs.

Rows have numbers, so that it shows which were published. Values are written so that none stands within another: what a
cell names is found by looking for them.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.errors import DataError, Unsatisfiable
from ringfence.plans.recode import GlobalPlan
from ringfence.values.hierarchy import Hierarchy
from ringfence.values.recoding import by_labels

PAY = [31001, 31002, 45003, 45004, 60005, 60006, 75007, 99008]
TOWNS = ["Aarhus", "Bergen", "Cork", "Derry", "Esbjerg", "Faro"]

ATTRIBUTES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "fan-outs by level": ({"hierarchy": {"fanout": 2}}, {"hierarchy": {"fanout": 3}}),
    "fan-outs by cuts": ({"hierarchy": {"fanout": 3}, "scheme": "cut"}, {"hierarchy": {"fanout": 2}, "scheme": "cut"}),
    "fan-outs within boundaries": (
        {"hierarchy": {"fanout": 2}, "boundary": {"level": 1}},
        {"hierarchy": {"fanout": 2}, "boundary": {"level": 1}},
    ),
    "runs": ({"order": "numeric", "scheme": "ordered"}, {"order": "lexical", "scheme": "ordered"}),
    "sets": ({"order": "numeric", "scheme": "set"}, {"scheme": "set"}),
    "guided": (
        {"hierarchy": {"fanout": 2}, "order": "numeric", "scheme": "guided-ordered"},
        {"hierarchy": {"fanout": 3}, "scheme": "guided-set"},
    ),
}
GROUPS: dict[str, dict[str, Any]] = {
    "mondrian": {"name": "mondrian", "representation": "hierarchy"},
    "local": {"name": "local", "representation": "hierarchy"},
    "local in ranges": {"name": "local", "representation": "range"},
    "cluster in sets": {"name": "cluster", "representation": "set"},
    "ring": {"name": "ring", "representation": "hierarchy"},
}
WHOLE: list[dict[str, Any]] = [
    {"suppression": 0.3},
    {"suppression": 0.3, "keep_suppressed": True},
    {"search": "top-down"},
]


def spec_of(attributes: str, method: dict[str, Any], **data: Any) -> rf.Spec:
    pay, town = ATTRIBUTES[attributes]
    return rf.Spec(
        data=data,
        attributes={
            "pay": {"role": "quasi", **pay},
            "town": {"role": "quasi", **town},
            "row": {"role": "insensitive"},
        },
        privacy={"k": 2},
        method={"suppression": 0.4, **method},
    )


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A table of few rows, in which single values are likely to stand in suppressed rows only."""
    rows = draw(st.integers(2, 12))
    pays = draw(st.lists(st.sampled_from([*PAY, None]), min_size=rows, max_size=rows))
    towns = draw(st.lists(st.sampled_from([*TOWNS, None]), min_size=rows, max_size=rows))
    pay, town = pa.array([*PAY[:3], *pays], pa.int64()), pa.array([*TOWNS[:3], *towns], pa.string())
    return pa.table({"pay": pay, "town": town, "row": range(rows + 3)})


def check(table: pa.Table, release: rf.Release) -> None:
    """No cell of a release names a value that no published row had."""
    published = set(release.table["row"].to_pylist())
    for row in release.table.to_pylist():
        if row["pay"] == row["town"] == "*":
            published -= {row["row"]} if release.plan.masked else set()
    kept = [row for row in table.to_pylist() if row["row"] in published]
    for name, known in (("pay", PAY), ("town", TOWNS)):
        cells = {str(cell) for cell in release.table[name].to_pylist()}
        unsaid = {*map(str, known)} - {str(row[name]) for row in kept}
        assert not [(value, cell) for value in unsaid for cell in cells if value in cell], release.table


@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("method", WHOLE, ids=["dropped", "masked", "top-down"])
@given(table=tables())
def test_recodings_name_published_values_only(attributes: str, method: dict[str, Any], table: pa.Table) -> None:
    spec = spec_of(attributes, method)
    try:
        release = rf.anonymize(table, spec)
    except Unsatisfiable:
        return
    check(table, release)
    assert rf.audit(release.table, spec, table).ok
    again = rf.apply(GlobalPlan.loads(release.plan.dumps()), table)
    assert sorted(map(repr, again.table.to_pylist())) == sorted(map(repr, release.table.to_pylist()))


@pytest.mark.parametrize("attributes", ["fan-outs by level", "fan-outs within boundaries", "runs"])
@pytest.mark.parametrize("method", GROUPS)
@given(table=tables())
def test_groups_name_published_values_only(attributes: str, method: str, table: pa.Table) -> None:
    spec = spec_of(attributes, GROUPS[method])
    try:
        release = rf.anonymize(table, spec)
    except (Unsatisfiable, DataError):  # groups that must be taken apart at boundaries may be too small
        return
    check(table, release)
    assert rf.audit(release.table, spec, table).ok
    assert GROUPS[method]["name"] == "ring" or rf.audit(release.table, spec).ok


CLIFF = pa.table(
    {
        "pay": [31001, 31001, 31002, 45003, 45003, 45003, 99008],
        "town": ["Cork", "Cork", "Cork", "Cork", "Cork", "Cork", "Faro"],
        "row": range(7),
    }
)
"""Who earns most is suppressed, since nobody else lives there."""


def cliff_spec(pay: dict[str, Any], **method: Any) -> rf.Spec:
    town = {"role": "quasi", "hierarchy": "flat", "boundary": {"level": 0}}
    attributes = {"pay": {"role": "quasi", **pay}, "town": town, "row": {"role": "insensitive"}}
    return rf.Spec(attributes=attributes, privacy={"k": 3}, method={"suppression": 0.2, **method})


def test_what_only_a_suppressed_row_has_is_in_no_label() -> None:
    release = rf.anonymize(CLIFF, cliff_spec({"hierarchy": {"fanout": 2}}, metric="dm"))
    assert sorted(release.table["pay"].to_pylist()) == ["45003"] * 3 + ["[31001, 31002]"] * 3


ALONE = pa.table(
    {
        "pay": [31001, 45003, 31001, 99010, 99010, 99010, 99008],
        "town": ["Aarhus", "Derry", "Aarhus", "Esbjerg", "Esbjerg", "Esbjerg", "Bergen"],
        "country": ["DK"] * 6 + ["NO"],
        "row": range(7),
    }
)
"""The last row is alone within its boundary. Its pay and its town lie between those of others."""


@pytest.mark.parametrize("name", ["mondrian", "hilbert", "local", "cluster", "ring"])
@pytest.mark.parametrize("shown", ["hierarchy", "range", "range of words"])
def test_groups_are_not_called_by_what_only_a_suppressed_row_has(name: str, shown: str) -> None:
    if name == "ring" and shown != "hierarchy":
        return  # slots there need other rows to be wide
    over_towns = "flat" if shown == "range of words" else {"fanout": 3}
    as_range = shown.removesuffix(" of words")
    spec = rf.Spec(
        attributes={
            "pay": {"role": "quasi", "hierarchy": {"fanout": 3}, "representation": as_range},
            "town": {"role": "quasi", "hierarchy": over_towns, "order": "lexical", "representation": as_range},
            "country": {"role": "quasi", "hierarchy": "flat", "boundary": {"level": 0}},
            "row": {"role": "insensitive"},
        },
        privacy={"k": 3},
        method={"name": name, "suppression": 0.2},
    )
    release = rf.anonymize(ALONE, spec)
    assert set(release.table["row"].to_pylist()) == {*range(6)}
    pays, towns = (set(release.table[column].to_pylist()) for column in ("pay", "town"))
    assert pays == {"[31001, 45003]", "99010"}
    assert towns == {"{Aarhus, Derry}" if shown == "range of words" else "[Aarhus, Derry]", "Esbjerg"}
    assert rf.audit(release.table, spec, ALONE).ok


def test_rows_of_people_that_are_suppressed_together_are_in_no_label() -> None:
    visits = pa.table(
        {
            "who": ["Ann", "Bob", "Cyd", "Cyd"],
            "pay": [31001, 31001, 31002, 99008],
            "row": range(4),
        }
    )
    spec = rf.Spec(
        data={"entity": "who", "composite": True},
        attributes={"pay": {"role": "quasi", "hierarchy": {"fanout": 2}}, "row": {"role": "insensitive"}},
        privacy={"k": 2},
        method={"name": "levels", "levels": {"pay": 1}, "suppression": 0.6},
    )
    release = rf.anonymize(visits, spec)
    assert release.table["pay"].to_pylist() == ["31001"] * 2
    assert release.decision.recoding.columns["pay"].known == {
        "31001": "31001",
        "99008": "99008",
    }  # under the last is nobody


def test_a_plan_suppresses_again_what_its_labels_leave_out(tmp_path: Path) -> None:
    spec = cliff_spec({"hierarchy": {"fanout": 2}}, name="levels", levels={"pay": 1, "town": 0})
    plan = rf.anonymize(CLIFF, spec).decision.recoding
    column = plan.columns["pay"]
    assert [column.leaves[place] for place in column.unnamed] == ["99008"]
    assert "99008" not in column.known
    plan.save(tmp_path / "plan.json")
    new = pa.table({"pay": [45003] * 4 + [99008], "town": ["Cork"] * 5, "row": range(5)})
    release = rf.apply(tmp_path / "plan.json", new)
    assert release.table["pay"].to_pylist() == ["45003"] * 4
    assert release.metrics["unknown"] == 1
    assert release.audit.ok
    with pytest.raises(DataError, match=r"does not know: 'pay': 77;"):
        rf.apply(tmp_path / "plan.json", pa.table({"pay": [77, 99008], "town": ["Cork"] * 2, "row": [0, 1]}))


def test_a_label_that_is_told_in_part_does_not_lose_more() -> None:
    """Losses are those of the values that are published together: what a label does not say is no gain."""
    whole = rf.anonymize(CLIFF, cliff_spec({"hierarchy": {"fanout": 2}}, metric="glm"))
    assert whole.search is not None
    assert whole.metrics["glm"] == pytest.approx(whole.search.cost)


def test_the_audit_reads_groups_of_words_by_their_order() -> None:
    """A group of a fan-out may be called by the values of it that are published."""
    words = pa.table({"town": ["Aarhus"] * 2 + ["Bergen"] * 2 + ["Cork"], "row": range(5)})
    spec = rf.Spec(
        attributes={"town": {"role": "quasi", "hierarchy": {"fanout": 3}}, "row": {"role": "insensitive"}},
        privacy={"k": 2},
        method={"suppression": 0.2},
    )
    label = "[Aarhus, Bergen]"
    good = pa.table({"town": [label] * 4, "row": range(4)})
    assert rf.audit(good, spec, words).ok
    lie = pa.table({"town": [label] * 4, "row": [0, 1, 2, 4]})
    assert not rf.audit(lie, spec, words).ok


def test_a_block_may_be_called_by_its_one_value_that_is_told() -> None:
    flat = Hierarchy.from_paths([("a", "*"), ("b", "*"), ("c", "*")])
    found = by_labels(flat, ("a", "a", "c"))
    assert found.covered.tolist() == [2, 2, 1]
    assert by_labels(flat, ("a", "b", "c")).whole
