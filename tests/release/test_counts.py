"""Counts of values beside a release: true whatever the method, written, listed, put in place and taken away with it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import ringfence as rf
from ringfence.errors import SpecError
from ringfence.plans.recode import GlobalPlan
from ringfence.samples import people

ROWS = 60
TABLE = pa.table(
    {
        "who": [f"p{i // 2}" for i in range(ROWS)],
        "age": [20 + (i * i) % 23 if i % 9 else None for i in range(ROWS)],
        "town": [("Oslo", "Rome", "Bern", "Lima", "Bari")[(i * 3 // 2) % (4 + i % 2)] for i in range(ROWS)],
        "ill": [("flu", "cold", "gout", "ache")[(i * 7 // 3) % 4] for i in range(ROWS)],
        "cart": [("tea milk", "milk", "tea", "salt milk")[i % 4] for i in range(ROWS)],
    }
)
AGE = {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}}
TOWN = {"role": "quasi", "hierarchy": {"tree": {"north": ["Oslo", "Bern"], "south": ["Rome", "Lima", "Bari"]}}}
OTHERS = {"who": {"role": "identifier"}, "ill": {"role": "sensitive"}, "cart": {"role": "insensitive"}}


def specified(method: dict[str, Any], k: int = 3, **more: Any) -> rf.Spec:
    attributes = {"age": AGE, "town": TOWN, **OTHERS} | more.pop("attributes", {})
    return rf.Spec(**{"privacy": {"k": k}, "output": {"counts": True}, **more}, attributes=attributes, method=method)


WAYS: dict[str, dict[str, Any]] = {
    **{f"optimal {each}": {"name": "optimal", "scheme": each} for each in ("level", "cut", "ordered", "set")},
    "suppressed": {"name": "levels", "levels": {"age": 1, "town": 0}, "suppression": 0.9},
    "masked": {"name": "levels", "levels": {"age": 1, "town": 0}, "suppression": 0.9, "keep_suppressed": True},
    **{each: {"name": each} for each in ("local", "cluster", "mondrian", "hilbert", "ring")},
    "plain": {"name": "local", "representation": "plain"},
}


def counted(release: Any) -> dict[str, int]:
    """Return how many rows the lines of each attribute have in all."""
    found: Counter[str] = Counter()
    for line in release.counts.to_pylist():
        found[line["attribute"]] += line["rows"]
    return found


@pytest.mark.parametrize("way", WAYS)
def test_counts_are_of_published_rows_and_pass_their_audit(way: str, tmp_path: Path) -> None:
    release = rf.anonymize(TABLE, specified(WAYS[way]))  # its audit has compared them with the rows by their marks
    rows = release.table.num_rows
    assert counted(release) == {"age": rows, "town": rows}
    assert release.audit.measured["least_count"] == min(release.counts["rows"].to_pylist()) >= 3
    path = release.save(tmp_path)
    assert rf.audit(path, release.spec, TABLE).findings == ()
    manifest = json.loads((tmp_path / "public" / "manifest.json").read_text())
    assert manifest["value counts"]["file"] == "counts.csv"
    assert manifest["counts"]["rows published"] == rows
    written = pyarrow.csv.read_csv(path.with_name("counts.csv"))
    assert written.column_names == ["attribute", "value", "rows"]
    assert written["rows"].to_pylist() == release.counts["rows"].to_pylist()


@pytest.mark.parametrize("way", ["optimal level", "suppressed", "local", "mondrian", "plain"])
def test_where_people_count_so_do_they_behind_counts(way: str) -> None:
    release = rf.anonymize(TABLE, specified(WAYS[way], data={"entity": "who"}))
    assert release.audit.ok
    assert {*counted(release)} == {"age", "town"}


def test_people_are_behind_lines_and_not_rows() -> None:
    # Three rows of a and of b are one person's each: as many rows as k, and not as many people.
    owners = ["x"] * 3 + ["y"] * 3 + [f"p{i}" for i in range(6)]
    table = pa.table({"who": owners, "v": ["a"] * 3 + ["b"] * 3 + ["c"] * 6})
    attributes = {"v": {"role": "quasi", "hierarchy": "flat"}}
    spec = rf.Spec(
        attributes=attributes,
        data={"entity": "who"},
        privacy={"k": 3},
        method={"name": "local"},
        output={"counts": True},
    )
    release = rf.anonymize(table, spec)
    told = {line["value"]: line["rows"] for line in release.counts.to_pylist()}
    assert told == {"*": 12}  # of a and b there are two people, so that c has joined them


def test_composite_people_have_counts_of_those_who_stay() -> None:
    method = {"name": "levels", "levels": {"age": 3, "town": 1}, "suppression": 1.0}
    release = rf.anonymize(TABLE, specified(method, k=2, data={"entity": "who", "composite": True}))
    assert release.table.num_rows < ROWS
    assert counted(release) == dict.fromkeys(("age", "town"), release.table.num_rows)


def test_rows_that_miss_a_value_and_baskets_are_no_matter() -> None:
    release = rf.anonymize(TABLE, specified({"name": "local"}, data={"missing": "suppress"}))
    assert None not in release.counts["value"].to_pylist()
    assert release.audit.ok
    items = {"cart": {"role": "items", "separator": " ", "hierarchy": {"fanout": 2}}}
    release = rf.anonymize(TABLE, specified({"name": "local"}, attributes=items, privacy={"k": 3, "m": 2}))
    assert {*release.counts["attribute"].to_pylist()} == {"age", "town"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"privacy": {"l": 2}, "method": {"name": "anatomy"}, "data": {"unlisted": "drop"}}, "as they are"),
        ({"privacy": {"l": 2}}, "needs privacy.k of 2 or more"),
        ({"k": 1}, "needs privacy.k of 2 or more"),
        ({"method": {"name": "local", "labels": "loose"}}, "does not go with labels = 'loose'"),
    ],
)
def test_what_cannot_be_promised_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        rf.anonymize(TABLE, specified(**{"method": {"name": "local"}, **changes}))


def test_counts_of_baskets_alone_are_refused() -> None:
    items = {"cart": {"role": "items", "separator": " ", "hierarchy": {"fanout": 2}}}
    spec = rf.Spec(
        attributes=items,
        data={"unlisted": "drop"},
        privacy={"k": 3, "m": 2},
        method={"name": "itemsets"},
        output={"counts": True},
    )
    with pytest.raises(SpecError, match="quasi-identifiers, and there are none"):
        rf.anonymize(TABLE, spec)


def test_a_run_writes_counts_and_the_next_takes_them_away(tmp_path: Path) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(TABLE, source)
    spec = specified({"name": "local"}, data={"source": str(source)})
    release = rf.run(spec, tmp_path / "out")
    assert release.counts == tmp_path / "out" / "public" / "counts.parquet"
    assert pq.read_table(release.counts).num_rows > 2
    assert rf.audit(release.table, spec, TABLE).measured["least_count"] >= 3
    assert release.use is not None
    assert release.use.without is not None
    rf.run(spec.model_copy(update={"output": rf.Spec.model_fields["output"].default}), tmp_path / "out")
    assert not release.counts.exists()


def test_a_column_called_value_has_no_say_in_counts(tmp_path: Path) -> None:
    table = pa.table({"value": [1, 1, 2, 2, 2, 9], "rows": ["a", "b"] * 3})
    attributes = {"value": {"role": "quasi", "order": "numeric"}, "rows": {"role": "sensitive"}}
    spec = rf.Spec(
        attributes=attributes,
        data={"types": {"value": "int"}, "delimiter": ";"},
        privacy={"k": 2},
        method={"name": "local"},
        output={"counts": True},
    )
    path = rf.anonymize(table, spec).save(tmp_path)
    assert rf.audit(path, spec, table).ok
    assert path.with_name("counts.csv").read_text() == "attribute;value;rows\nvalue;1;2\nvalue;>=2;4\n"


def test_new_rows_by_an_earlier_plan_have_none() -> None:
    release = rf.anonymize(TABLE, specified({"name": "optimal", "scheme": "level"}))
    assert isinstance(release.plan, GlobalPlan)
    assert rf.apply(release.plan, TABLE).counts is None


def test_counts_are_of_the_kind_of_the_table() -> None:
    pandas = pytest.importorskip("pandas")
    release = rf.anonymize(people(500).to_pandas(), specified_people())
    assert isinstance(release.counts, pandas.DataFrame)


def specified_people() -> rf.Spec:
    draft = rf.draft(people(500))
    return draft.model_copy(update={"output": draft.output.model_copy(update={"counts": True})})


def test_users_are_off_by_less_than_without() -> None:
    use = rf.anonymize(people(500), specified_people()).use
    assert use is not None
    assert use.without is not None
    assert use.release.singles < use.without.singles / 2
    assert use.release.queries < use.without.queries
