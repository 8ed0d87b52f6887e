"""Dates in every method: an order and a width, ranges or nodes, and no list of them unless it is asked for."""

import datetime as dt
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.errors import SpecError
from ringfence.spec import Spec

RNG = random.Random(3)
BORN = [dt.date(1931, 5, 1) + dt.timedelta(RNG.randrange(25_000)) for _ in range(48)]
ROWS = 96
TABLE = pa.table(
    {
        "born": pa.array([*RNG.choices(BORN, k=ROWS - 2), None, None], pa.date32()),
        "seen": [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=RNG.randrange(200_000)) for _ in range(ROWS)],
        "zip": RNG.choices(["47906", "47907", "47302", "12345", "12399", "99999"], k=ROWS),
        "age": RNG.choices(range(20, 60), k=ROWS),
        "ill": RNG.choices(["flu", "cold", "gout"], k=ROWS),
        "row": range(ROWS),
    }
)
LINES = TABLE.set_column(
    0, "born", pa.array([None if day is None else f"{day:%d.%m.%Y}" for day in TABLE["born"].to_pylist()])
)
NODES = {"born": {"hierarchy": {"dates": ["year", "decade"]}}, "seen": {"hierarchy": {"dates": ["month", "quarter"]}}}
METHODS: dict[str, dict[str, Any]] = {
    "levels": {"name": "levels", "levels": {"born": 2, "seen": 1, "zip": 3}, "suppression": 1},
    "level": {"metric": "glm"},
    "cut": {"scheme": "cut", "metric": "glm", "time_limit": 0.3},
    "ordered": {"scheme": "ordered", "metric": "ncp", "time_limit": 0.3},
    "set": {"scheme": "set", "metric": "glm", "time_limit": 0.3},
    "guided-ordered": {"scheme": "guided-ordered", "metric": "gcp", "time_limit": 0.3},
    "guided-set": {"scheme": "guided-set", "metric": "detail", "time_limit": 0.3},
    "cluster": {"name": "cluster"},
    "ring": {"name": "ring"},
    "ring by gcp": {"name": "ring", "metric": "gcp"},
    "local": {"name": "local", "effort": "fast"},
    "local as sets": {"name": "local", "effort": "fast", "representation": "set"},
    "hilbert": {"name": "hilbert"},
    "mondrian": {"name": "mondrian"},
    "mondrian as nodes": {"name": "mondrian", "representation": "hierarchy"},
}
NODES_ONLY = {"levels", "level", "cut", "mondrian as nodes"}
NEEDS_NODES = {*NODES_ONLY, "guided-ordered", "guided-set", "cluster"}


UNLISTED = re.compile(r"\{\[[^,]+, [^,]+\], null\}|\{[^,]+, null\}|\[[^,]+, [^,]+\]")
"""A range, a missing value with one, or with a single date."""


def spec_of(method: dict[str, Any], **attributes: dict[str, Any]) -> Spec:
    """A specification for the table, with some attributes told more of."""
    quasi: dict[str, dict[str, Any]] = {"born": {}, "seen": {}, "zip": {"hierarchy": {"mask": "right"}}, **attributes}
    return Spec(
        attributes={
            **{name: {"role": "quasi", **keys} for name, keys in quasi.items()},
            **({} if "age" in attributes else {"age": {"role": "insensitive"}}),
            "ill": {"role": "sensitive"},
            "row": {"role": "insensitive"},
        },
        privacy={"k": 3},
        method=method,
    )


def day(text: str) -> dt.datetime:
    """A day or a moment, out of a label."""
    return dt.datetime.fromisoformat(text)


def holds(label: Any, value: dt.date | None) -> bool:
    """Whether a published cell holds a date, by what labels are documented to say."""
    if label is None or value is None:
        return label is value or label == "*" or str(label).endswith(", null}")
    moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    text = str(label)
    if text == "*" or text == str(value):
        return True
    if ends := re.fullmatch(r"\{?\[([^,]+), ([^,]+)\](, null\})?", text):
        days = day(ends[2]) == day(ends[2]).replace(hour=0, minute=0)
        return day(ends[1]) <= moment < day(ends[2]) + dt.timedelta(days=1 if days else 0, seconds=1)
    if text.startswith("{"):
        return str(value) in text[1:-1].split(", ")
    quarter = f"{moment:%Y}-Q{(moment.month + 2) // 3}"
    return text in (f"{moment:%Y-%m-%d}", f"{moment:%Y-%m}", quarter, f"{moment:%Y}", f"{moment.year // 10 * 10}s")


@pytest.mark.parametrize("kind", ["typed", "text"])
@pytest.mark.parametrize("name", METHODS)
def test_dates_are_shown_as_ranges_or_nodes(name: str, kind: str) -> None:
    told: dict[str, dict[str, Any]] = {**NODES} if name in NEEDS_NODES else {}
    if kind == "text":
        told = {**told, "born": {**told.get("born", {}), "format": "%d.%m.%Y"}}
    table = TABLE if kind == "typed" else LINES
    spec = spec_of(METHODS[name], **told)
    release = rf.anonymize(table, spec)
    assert release.audit.ok
    assert rf.audit(release.table, spec, original=table).ok, "also by the specification as it was written"
    if not release.spec.has_rings:
        assert rf.audit(release.table, spec).ok
    original = {row["row"]: row for row in TABLE.to_pylist()}
    labels = set()
    for row in release.table.to_pylist():
        for column in ("born", "seen"):
            label = row[column]
            labels.add(str(label)[:2])
            assert "," not in str(label) or UNLISTED.fullmatch(label), label
            if not release.spec.has_rings:
                assert holds(label, original[row["row"]][column]), (label, original[row["row"]][column])
    assert bool(labels & {"[1", "[2", "{["}) == (name not in NODES_ONLY), labels
    assert type(release.plan).loads(release.plan.dumps()) == release.plan


AROUND = re.compile(r"\{(\[[^,\[]+, [^,\]]+\]|[^,\[]+), (\[[^,\[]+, [^,\]]+\]|[^,\[]+)(, null)?\}")
"""What lies on both sides of a stretch that a boundary keeps out: two ranges, or a date that is alone on its side."""


@pytest.mark.parametrize(
    "method",
    [
        *({"name": name} for name in ("mondrian", "hilbert", "ring")),
        {"name": "cluster", "representation": "range"},
        {"scheme": "ordered", "metric": "glm", "time_limit": 0.3},
        {"scheme": "guided-ordered", "metric": "glm", "time_limit": 0.3},
    ],
    ids=str,
)
def test_around_what_a_boundary_keeps_out_there_are_ranges(method: dict[str, Any]) -> None:
    """Dates of the eighties before and after 1985 may be published together, but not with those of 1985."""
    days = [dt.date(1980, 1, 3) + dt.timedelta(31 * i) for i in range(118)]
    table = pa.table({"born": [*days, None, None, None], "row": range(len(days) + 3)})
    born = {"role": "quasi", "hierarchy": {"dates": ["year", "decade"]}, "boundary": ["1980s", "1985"]}
    spec = Spec(
        attributes={"born": born, "row": {"role": "insensitive"}},
        privacy={"k": 30},
        method={**method, "suppression": 0.2},
    )
    release = rf.anonymize(table, spec)
    assert release.audit.ok
    assert rf.audit(release.table, spec, original=table).ok
    around = 0
    for label, row in zip(*(release.table[name].to_pylist() for name in ("born", "row")), strict=True):
        found = AROUND.fullmatch(label or "")
        assert "," not in str(label) or UNLISTED.fullmatch(label) or found, label
        if found:
            around += 1
            parts = [part for part in found.groups()[:2] if part is not None]
            inside = any(holds(part, days[row]) for part in parts) if row < len(days) else found[3] is not None
            assert inside or release.spec.has_rings, (label, row)
            assert not any(holds(part, day) for part in parts for day in days if day.year == 1985)
    assert around >= 30
    typed = release.typed().to_pylist()
    reach = [row["born high"] - row["born low"] for row in typed if row["born low"] is not None]
    assert max(reach) > dt.timedelta(366), "from the first range of a set to the last"


def test_what_is_lost_of_a_date_is_the_share_of_the_time_covered() -> None:
    table = pa.table({"born": [dt.date(1940, 1, 1), dt.date(1940, 1, 11), dt.date(1940, 4, 10), dt.date(1940, 4, 10)]})
    spec = Spec(attributes={"born": {"role": "quasi"}}, privacy={"k": 2}, method={"name": "local"})
    release = rf.anonymize(table, spec)
    assert sorted(release.table["born"].to_pylist()) == ["1940-04-10"] * 2 + ["[1940-01-01, 1940-01-11]"] * 2
    assert release.metrics["glm"] == pytest.approx((10 / 100) * 2 / 4)
    assert release.metrics["ncp"] == pytest.approx((10 / 100) * 2 / 4)


def test_a_text_file_and_a_typed_table_of_the_same_dates_give_the_same_release(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    rows = [",".join("" if cell is None else str(cell) for cell in row.values()) for row in LINES.to_pylist()]
    path.write_text("\n".join([",".join(LINES.column_names), *rows]) + "\n")
    method = {"name": "mondrian"}
    typed = rf.anonymize(TABLE, spec_of(method)).table
    text = rf.anonymize(path, spec_of(method, born={"format": "%d.%m.%Y"}, seen={"format": "iso"})).table
    both = [
        sorted(zip(*(table[name].to_pylist() for name in ("born", "seen", "zip")), strict=True), key=str)
        for table in (typed, text)
    ]
    assert both[0] == both[1]


def test_representations_by_attribute() -> None:
    mixed: dict[str, dict[str, Any]] = {
        "born": {"representation": "set"},
        "seen": {"hierarchy": {"dates": ["month"]}, "representation": "hierarchy"},
        "zip": {"hierarchy": {"mask": "right"}, "representation": "hierarchy"},
        "age": {"order": "numeric"},
    }
    for name in ("local", "hilbert", "mondrian", "cluster", "ring"):
        told = {**mixed, "age": {"order": "numeric", "hierarchy": {"intervals": [10]}}} if name == "cluster" else mixed
        if name == "cluster":
            told["born"] = {"representation": "set", "hierarchy": {"dates": ["year"]}}
        release = rf.anonymize(TABLE, spec_of({"name": name}, **told))
        assert release.audit.ok
        shown = {column: [str(label) for label in release.table[column].to_pylist()] for column in mixed}
        assert any(label.startswith("{") for label in shown["born"]), name
        assert not any(label.startswith("[") for label in shown["zip"] + shown["seen"])
        assert not any(label.startswith("{") for label in shown["zip"] + shown["seen"])
        assert any(label.startswith("[") for label in shown["age"])
        typed = release.typed()
        assert {"born", "seen", "zip", "age low", "age high"} <= {*typed.column_names}
        assert pa.types.is_date32(typed.schema.field("born").type.value_type) or name == "ring"


def test_ranges_need_an_order() -> None:
    spec = spec_of({"name": "local"}, zip={"representation": "range"})
    with pytest.raises(SpecError, match=r"attributes\.zip\.representation = 'range', but its values have no order"):
        rf.anonymize(TABLE.set_column(2, "zip", pa.array([f"0{code}" for code in TABLE["zip"].to_pylist()])), spec)
    release = rf.anonymize(TABLE, spec_of({"name": "mondrian", "representation": "range"}))
    assert not any(str(label).startswith("[") for label in release.table["zip"].to_pylist())


def test_typed_ranges_of_dates_are_two_columns_of_dates() -> None:
    release = rf.anonymize(TABLE, spec_of({"name": "hilbert"}))
    typed = release.typed()
    assert typed.schema.field("born low").type == pa.date32()
    assert typed.schema.field("seen high").type == pa.timestamp("us")


def test_a_range_that_does_not_hold_a_date_is_found() -> None:
    """The audit reads ranges of dates by code of its own: one that was moved by a day too far is told."""
    spec = spec_of({"name": "local", "effort": "fast"})
    release = rf.anonymize(TABLE, spec)
    wrong = []
    for label in release.table["born"].to_pylist():
        ends = re.fullmatch(r"\[([^,]+), ([^,]+)\]", str(label))
        moved = None if ends is None else f"[{ends[1]}, {dt.date.fromisoformat(ends[2]) - dt.timedelta(1)}]"
        wrong.append(moved or label)
    place = release.table.column_names.index("born")
    planted = release.table.set_column(place, "born", pa.array(wrong))
    assert not rf.audit(planted, spec, original=TABLE).ok
    backwards = [
        re.sub(r"\[([^,]+), ([^,]+)\]", r"[\2, \1]", str(label)) for label in release.table["born"].to_pylist()
    ]
    planted = release.table.set_column(place, "born", pa.array(backwards))
    assert any("'born'" in finding.message for finding in rf.audit(planted, release.spec).findings)


def test_scattered_postcodes_lose_what_their_node_loses() -> None:
    codes = [f"{region}{town:04}" for region in range(1, 9) for town in range(40)]
    table = pa.table({"zip": codes})
    spec = Spec(
        attributes={"zip": {"role": "quasi", "hierarchy": {"mask": "right"}}},
        privacy={"k": 4},
        method={"name": "mondrian"},
    )
    metrics = rf.anonymize(table, spec).metrics
    assert metrics["glm"] < 0.02
    assert metrics["glm_nodes"] > 0.02
    assert metrics["detail"] == metrics["glm_nodes"]


@pytest.mark.parametrize("name", ["optimal", "mondrian", "local", "cluster", "ring", "anatomy"])
def test_a_sensitive_day_is_one_value_at_whatever_time(name: str) -> None:
    """Moments under a hierarchy of dates are days, in whatever spelling: so they are counted, and so published."""
    days = [f"2024-03-{1 + n % 4:02}" for n in range(40)]
    moments = [dt.datetime.fromisoformat(text) + dt.timedelta(hours=7 + n % 9) for n, text in enumerate(days)]
    texts = [text if n % 3 else f"{text}T00:00" for n, text in enumerate(days)]
    hierarchy = {"dates": ["month"]}
    spec = Spec(
        attributes={
            "town": {"role": "quasi", "hierarchy": "flat"},
            "seen": {"role": "sensitive", "hierarchy": hierarchy},
        },
        privacy={"l": 2} if name in ("anatomy", "ring") else {"k": 2, "l": 2},
        method={"name": name},
    )
    for seen in (moments, texts):
        table = pa.table({"town": ["Oslo", "Rome"] * 20, "seen": seen})
        release = rf.anonymize(table, spec)
        assert release.audit.ok
        published = release.sensitive if name == "anatomy" else release.table
        assert len({*published["seen"].to_pylist()}) == 4
        if name != "anatomy":
            assert rf.audit(release.table, spec, original=table).ok
