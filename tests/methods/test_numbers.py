"""Numbers and times of day that nothing is said of: on a line in every method, the same from every kind of table."""

import datetime as dt
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import ringfence as rf
from ringfence.errors import DataError
from ringfence.spec import Spec

RNG = random.Random(5)
ROWS = 80
TIMES = [dt.time(RNG.randrange(24), RNG.choice([0, 15, 30])) for _ in range(ROWS - 1)]
TABLE = pa.table(
    {
        "age": RNG.choices(range(20, 80), k=ROWS),
        "cost": [*(round(RNG.lognormvariate(5, 1), 2) for _ in range(ROWS - 1)), None],
        "ward": [f"{RNG.randrange(40):02}" for _ in range(ROWS)],
        "at": pa.array([*TIMES, None], pa.time64("us")),
        "row": range(ROWS),
    }
)
METHODS: dict[str, dict[str, Any]] = {
    "local": {"name": "local", "effort": "fast"},
    "hilbert": {"name": "hilbert"},
    "mondrian": {"name": "mondrian"},
    "ring": {"name": "ring"},
    "ordered": {"scheme": "ordered", "time_limit": 0.3},
}
RANGE = re.compile(r"\{\[[^,]+, [^,]+\], null\}|\{[^,]+, null\}|\[[^,]+, [^,]+\]")


def spec_of(method: str, **attributes: dict[str, Any]) -> Spec:
    """A specification that says nothing of what columns hold, but for what it is given."""
    told = {"age": {}, "cost": {}, "ward": {}, "at": {}, **attributes}
    return Spec(
        attributes={name: {"role": "quasi", **keys} for name, keys in told.items()} | {"row": {"role": "insensitive"}},
        privacy={"k": 3},
        method=METHODS[method],
    )


def holds(label: Any, value: Any) -> bool:
    """Whether a published cell holds a value, by what labels are documented to say."""
    text = str(label)
    if value is None or label is None:
        return label is value or text == "*" or text.endswith("null}")
    if text == "*":
        return True
    read: Any = dt.time.fromisoformat if isinstance(value, dt.time) else float
    if ends := re.fullmatch(r"\{?\[([^,]+), ([^,]+)\](, null\})?", text):
        return bool(read(ends[1]) <= value <= read(ends[2]))
    return bool(read(text.strip("{}").removesuffix(", null")) == value)


@pytest.mark.parametrize("method", METHODS)
def test_numbers_and_times_are_ranges_without_a_word(method: str) -> None:
    spec = spec_of(method)
    release = rf.anonymize(TABLE, spec)
    assert release.audit.ok
    assert rf.audit(release.table, spec, original=TABLE).ok
    if method != "ring":
        assert rf.audit(release.table, spec).ok, "by the labels alone"
    original = {row["row"]: row for row in TABLE.to_pylist()}
    kinds: dict[str, set[str]] = {"age": set(), "cost": set(), "at": set(), "ward": set()}
    for row in release.table.to_pylist():
        for name, seen in kinds.items():
            seen.add(str(row[name])[0])
            if name != "ward" and method != "ring":
                assert holds(row[name], original[row["row"]][name])
            if name != "ward":
                assert "," not in str(row[name]) or RANGE.fullmatch(row[name])
    assert method == "ordered" or all("[" in kinds[name] for name in ("age", "cost", "at"))
    assert method == "ordered" or "[" not in kinds["ward"], "01 is a code, and codes have no order"


def test_a_number_is_a_number_in_every_table(tmp_path: Path) -> None:
    spec = spec_of("mondrian", at={"format": "clock"})
    pa.csv.write_csv(TABLE, tmp_path / "t.csv")
    pa.parquet.write_table(TABLE, tmp_path / "t.parquet")
    text = TABLE.set_column(
        3, "at", pa.array([None if at is None else f"{at.hour}.{at.minute:02}" for at in TABLE["at"].to_pylist()])
    )
    releases = [
        rf.anonymize(tmp_path / "t.csv", spec),
        rf.anonymize(tmp_path / "t.parquet", spec),
        rf.anonymize(TABLE, spec),
        rf.anonymize(TABLE.to_pandas(), spec),
        rf.anonymize(text, spec_of("mondrian", at={"format": ["%H.%M"]})),
    ]
    assert len({release.metrics["glm"] for release in releases}) == 1
    labels = [{name: release.plan.columns[name].labels for name in ("age", "cost", "at")} for release in releases]
    assert all(each == labels[0] for each in labels)


@pytest.mark.parametrize(
    "keys", [{"representation": "set"}, {"order": "lexical"}, {"hierarchy": {"mask": "right"}}], ids=str
)
def test_what_is_said_to_be_no_number_is_none(keys: dict[str, Any]) -> None:
    release = rf.anonymize(TABLE, spec_of("mondrian", age=keys))
    assert not any(label and label.startswith("[") for label in release.plan.columns["age"].labels)


def test_text_by_data_types_is_no_number() -> None:
    spec = spec_of("mondrian")
    spec = spec.model_copy(update={"data": spec.data.model_copy(update={"types": {"age": "text"}})})
    release = rf.anonymize(TABLE, spec)
    assert not any(label and label.startswith("[") for label in release.plan.columns["age"].labels)


def test_numbers_that_no_measure_has_stay_values() -> None:
    table = pa.table({"x": [1e300, 1.0, 2.0, 3.0] * 2, "y": ["12345678901234567890", "1"] * 4})
    release = rf.anonymize(
        table,
        Spec(attributes={"x": {"role": "quasi"}, "y": {"role": "quasi"}}, privacy={"k": 4}, method={"name": "local"}),
    )
    assert release.audit.ok
    assert not any(label and label.startswith("[") for label in release.plan.columns["y"].labels)


def test_the_typed_file_has_times(tmp_path: Path) -> None:
    rf.anonymize(TABLE, spec_of("mondrian")).save(tmp_path, "parquet", report=False)
    typed = pa.parquet.read_table(tmp_path / "public" / "typed.parquet")
    assert typed["at low"].type == pa.time64("us")
    assert typed["cost low"].type == pa.float64()


def test_a_text_that_is_no_time_of_day_is_refused() -> None:
    table = pa.table({"at": ["08:15", "25:00", "09:00"], "row": [1, 2, 3]})
    spec = Spec(
        attributes={"at": {"role": "quasi", "format": "clock"}, "row": {"role": "insensitive"}},
        privacy={"k": 2},
        method={"name": "local"},
    )
    with pytest.raises(DataError, match="should hold dates as 'clock', but has '25:00', first in row 2"):
        rf.anonymize(table, spec)


TENS = {f"{low}-{low + 9}": [str(age) for age in range(low, low + 10)] for low in range(20, 80, 10)}
TREE = {"20-49": {name: TENS[name] for name in [*TENS][:3]}, "50+": {name: TENS[name] for name in [*TENS][3:]}}
NAMED = {"young": TREE["20-49"], "old": TREE["50+"]}
TORN = {**TENS, "20-29": TENS["30-39"], "30-39": TENS["20-29"]}


@pytest.mark.parametrize("method", ["local", "mondrian", "ring"])
@pytest.mark.parametrize(
    ("tree", "numbers"), [(TREE, True), (NAMED, False), (TORN, False)], ids=["tens", "named", "torn"]
)
def test_a_tree_of_intervals_says_that_its_leaves_are_numbers(
    method: str, tree: dict[str, Any], numbers: bool, tmp_path: Path
) -> None:
    """Groups with other names may be over codes."""
    spec = spec_of(method, age={"hierarchy": {"tree": tree}})
    release = rf.anonymize(TABLE, spec)
    pa.csv.write_csv(TABLE, tmp_path / "t.csv")
    from_file = rf.anonymize(
        tmp_path / "t.csv", spec_of(method, age={"hierarchy": {"tree": tree}}, at={"format": "clock"})
    )
    for each in (release, from_file):
        assert each.audit.ok
        assert rf.audit(each.table, each.spec, original=TABLE).ok
        labels = [str(label) for label in each.plan.columns["age"].labels]
        assert any(label.startswith("[") for label in labels) == numbers
        assert any(label.startswith("{") for label in labels) == (not numbers)
    assert rf.audit(release.table, spec, original=TABLE).ok, "also by the specification as it was written"
    if method != "ring":
        assert rf.audit(release.table, spec).ok
        listed = [label.replace("[", "{").replace("]", "}") for label in release.table["age"].to_pylist()]
        assert rf.audit(release.table.set_column(0, "age", pa.array(listed)), spec).ok, "a set is as good"
        broken = [label.replace("[", "(") for label in release.table["age"].to_pylist()]
        assert rf.audit(release.table.set_column(0, "age", pa.array(broken)), spec).ok == (not numbers)


def test_a_tree_of_intervals_is_nodes_where_values_are_decided_on() -> None:
    spec = spec_of("mondrian", age={"hierarchy": {"tree": TREE}})
    spec = spec.model_copy(update={"method": spec.method.model_copy(update={"name": "optimal", "scheme": "cut"})})
    assert not spec.perhaps_in_intervals
