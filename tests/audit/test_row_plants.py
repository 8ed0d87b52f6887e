"""Faults planted in what is done to rows: in steps, joins, draws, writing, putting together. No run may pass them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ringfence as rf
from ringfence import api
from ringfence.errors import DataError, EngineError
from ringfence.release.job import AuditFailed
from ringfence.rows import lookups, same_value, sources, steps
from ringfence.rows.duckdb import DuckDB
from ringfence.spec.data import Data

ROWS = 24
TABLE = pa.table(
    {
        "who": [f"p{i // 2}" for i in range(ROWS)],
        "age": [20 + 3 * (i // 4) + i % 3 for i in range(ROWS)],
        "town": [("Oslo", "Rome", "Bern", "Lima")[i % 4] for i in range(ROWS)],
        "ill": [("flu", "cold", "gout", "ache")[(i * 7 // 3) % 4] for i in range(ROWS)],
        "note": [f"note {i}" for i in range(ROWS)],
        "cart": [("tea milk", "milk", "tea", "salt milk")[i % 4] for i in range(ROWS)],
    }
)
AGE = {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}}
TOWN = {"role": "quasi", "hierarchy": {"tree": {"north": ["Oslo", "Bern"], "south": ["Rome", "Lima"]}}}
PEOPLE = {"age": AGE, "town": TOWN, "ill": {"role": "sensitive"}, "note": {"role": "insensitive"}}
GROUPING: dict[str, dict[str, Any]] = {
    name: {"name": name} for name in ("cluster", "local", "hilbert", "mondrian", "ring")
} | {"homogeneous": {"name": "ring", "homogeneous": True}}
RECODING: dict[str, dict[str, Any]] = {
    "levels": {"name": "levels", "levels": {"age": 1, "town": 1}, "suppression": 1},
    "ordered": {"scheme": "ordered", "suppression": 0.4},
    "masked": {"name": "levels", "levels": {"age": 1, "town": 1}, "suppression": 1, "keep_suppressed": True},
}
DROPPING = ["levels", "masked"]
METHODS = {**GROUPING, **RECODING}


def spec_of(method: str, **data: Any) -> rf.Spec:
    """A specification of the people by a method, or of what they bought, or of their buckets."""
    if method == "anatomy":
        asked = {"attributes": PEOPLE, "privacy": {"l": {"value": 2, "of": "ill"}}, "method": {"name": "anatomy"}}
    elif method == "itemsets":
        cart = {
            "role": "items",
            "separator": " ",
            "hierarchy": {"tree": {"drinks": ["tea", "milk"], "other": ["salt"]}},
        }
        attributes = {"cart": cart, "note": {"role": "insensitive"}}
        asked = {"attributes": attributes, "privacy": {"k": 6, "m": 2}, "method": {"name": "itemsets"}}
    else:
        asked = {"attributes": PEOPLE, "privacy": {"k": 3}, "method": METHODS[method]}
    return rf.Spec(data={"unlisted": "drop", **data}, **asked)


Patch = pytest.MonkeyPatch
Fault = Callable[[Patch], None]


def after(step: type[Any], damage: Callable[[ibis.Table], ibis.Table]) -> Fault:
    """Return a fault that damages the rows after a step."""

    def plant(patch: Patch) -> None:
        honest = step.carry_out
        patch.setattr(step, "carry_out", lambda self, engine, rows: damage(honest(self, engine, rows)))
        if issubclass(step, steps.InMemoryStep):
            recode = step.recode
            patch.setattr(step, "recode", lambda self, table: damaged(recode(self, table)))

    def damaged(table: pa.Table | None) -> pa.Table | None:
        with DuckDB(Data()) as engine:
            return None if table is None else engine.fetch(damage(engine.hold(table)))

    return plant


def given(step: type[Any], damage: Callable[[Any], Any]) -> Fault:
    """Return a fault that carries out another step than the one that was given."""

    def plant(patch: Patch) -> None:
        honest = step.carry_out
        patch.setattr(step, "carry_out", lambda self, engine, rows: honest(damage(self), engine, rows))
        if issubclass(step, steps.InMemoryStep):
            recode = step.recode
            patch.setattr(step, "recode", lambda self, table: recode(damage(self), table))

    return plant


def doubled(rows: ibis.Table) -> ibis.Table:
    """One row is there twice in the place of another, so that the number of rows is right."""
    places = rows.mutate(place=ibis.row_number().over())
    first, others = places.filter(places.place == 0), places.filter(places.place != 1)
    return others.union(first).drop("place")


def shifted(column: str) -> Callable[[ibis.Table], ibis.Table]:
    """A column slips down by one row."""

    def damage(rows: ibis.Table) -> ibis.Table:
        if column not in rows.columns:
            return rows
        order = ibis.window(order_by=rows["note"]) if "note" in rows.columns else ibis.window(order_by=rows.columns[0])
        slipped = rows[column].lag().over(order)
        last = rows[column].max()
        return rows.mutate(slipped.fill_null(last).name(column))

    return damage


def swapped(array: pa.Array) -> pa.Array:
    """The first value and the first that differs from it change places."""
    found = array.to_pylist()
    other = next((place for place, value in enumerate(found) if value != found[0]), 0)
    order = [*range(len(found))]
    order[0], order[other] = other, 0
    return array.take(pa.array(order))


def swapped_column(table: pa.Table, name: str) -> pa.Table:
    """A table with two values of a column swapped."""
    return table.set_column(table.column_names.index(name), name, swapped(table[name].combine_chunks()))


def last_column_swapped(step: lookups.LookUp) -> lookups.LookUp:
    """A look-up that gives two rows each other's last column."""
    return replace(step, table=swapped_column(step.table, step.table.column_names[-1]))


def off_by_one(step: lookups.Draw) -> lookups.Draw:
    """Shares of which the first loses a turn and the last gets one that nobody has."""
    first = step.shares[lookups.FIRST].to_numpy().copy()
    first[0] += 1
    place = step.shares.column_names.index(lookups.FIRST)
    return replace(step, shares=step.shares.set_column(place, lookups.FIRST, pa.array(first)))


def doubled_labels(step: steps.Relabel) -> steps.Relabel:
    """A table of labels that has each value twice."""
    return replace(step, raw=pa.concat_arrays([step.raw] * 2), published=pa.concat_arrays([step.published] * 2))


ALONE = ["cluster", "local", "mondrian", "homogeneous"]
"""Methods in which groups have labels that others do not have."""
FAULTS: dict[str, tuple[Fault, list[str]]] = {
    "labels swapped": (
        given(steps.Relabel, lambda s: replace(s, published=swapped(s.published))),
        [*RECODING, "itemsets"],
    ),
    "a label doubled": (given(steps.Relabel, doubled_labels), [*RECODING, "itemsets"]),
    "a row doubled by a join": (after(lookups.LookUp, doubled), [*GROUPING, "anatomy"]),
    "a row doubled by labels": (after(steps.Relabel, doubled), [*RECODING, "itemsets"]),
    "labels of another group": (given(lookups.LookUp, last_column_swapped), ALONE),
    "shares off by one": (given(lookups.Draw, off_by_one), [*GROUPING, "anatomy"]),
    "no class dropped": (given(steps.Drop, lambda s: replace(s, classes=s.classes.slice(0, 0))), DROPPING),
    "another class dropped": (given(steps.Drop, lambda s: replace(s, classes=s.classes.slice(1))), DROPPING),
}
PLANTED = [(fault, method) for fault, (_, methods) in FAULTS.items() for method in methods]


def released(table: pa.Table, spec: rf.Spec, folder: Path, way: str) -> rf.Release:
    """A release of a table in memory, or of a file."""
    if way == "memory":
        return rf.anonymize(table, spec)
    pq.write_table(table, folder / "people.parquet")
    data = {**spec.data.model_dump(exclude_unset=True), "source": str(folder / "people.parquet")}
    return api.run(spec.model_copy(update={"data": type(spec.data)(**data)}), folder / "out", report=False)


@pytest.mark.parametrize("way", ["memory", "file"])
@pytest.mark.parametrize("method", [*METHODS, "anatomy", "itemsets"])
def test_honest_runs_pass(method: str, way: str, tmp_path: Path) -> None:
    release = released(TABLE, spec_of(method), tmp_path, way)
    assert release.audit.ok
    assert release.metrics["rows"] + release.metrics["suppressed"] == ROWS


@pytest.mark.parametrize("way", ["memory", "file"])
@pytest.mark.parametrize(("fault", "method"), PLANTED)
def test_what_goes_wrong_with_rows_is_noticed(
    fault: str, method: str, way: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    if fault in ("no class dropped", "another class dropped"):
        assert rf.anonymize(TABLE, spec_of(method)).metrics["suppressed"] > 0
    FAULTS[fault][0](monkeypatch)
    if fault == "a label doubled" and way == "memory" and method != "masked":
        assert released(TABLE, spec_of(method), tmp_path, way).audit.ok  # the first is found, and no row doubles
        return
    # DuckDB numbers the labels that are to be published, and refuses to write a row that has another.
    refused = (AuditFailed, EngineError) if fault in ("no class dropped", "another class dropped") else AuditFailed
    with pytest.raises(refused) as told:
        released(TABLE, spec_of(method), tmp_path, way)
    assert isinstance(told.value, AuditFailed) or "Could not convert string '[35, 40)'" in str(told.value)
    assert not (tmp_path / "out" / "public").exists()


@pytest.mark.parametrize("method", [*METHODS, "itemsets"])
@pytest.mark.parametrize("column", ["note", "ill"])
def test_cells_that_slip_to_other_rows_are_noticed(
    method: str, column: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    if column == "ill" and method == "itemsets":
        return
    honest = DuckDB.shuffled
    monkeypatch.setattr(DuckDB, "shuffled", lambda engine, rows: shifted(column)(honest(engine, rows)))
    with pytest.raises(AuditFailed):
        released(TABLE, spec_of(method), tmp_path, "file")


@pytest.mark.parametrize("method", [*METHODS, "anatomy"])
def test_a_table_put_together_from_other_rows_is_noticed(method: str, monkeypatch: Patch) -> None:
    honest = sources.assemble

    def slipped(source: Any, table: pa.Table, columns: Any, positions: Any, changed: pa.Table, cast: Any) -> Any:
        return honest(source, table, columns, np.roll(positions, 1), changed, cast)

    monkeypatch.setattr(sources, "assemble", slipped)
    with pytest.raises(AuditFailed):
        rf.anonymize(TABLE, spec_of(method))


@pytest.mark.parametrize("method", [*METHODS, "anatomy", "itemsets"])
@pytest.mark.parametrize("lost", ["a row lost", "a row doubled"])
def test_a_file_with_other_rows_is_noticed(method: str, lost: str, tmp_path: Path, monkeypatch: Patch) -> None:
    honest = DuckDB.write

    def write(self: DuckDB, rows: ibis.Table, path: Path, data: Any) -> None:
        damaged = doubled(rows) if lost == "a row doubled" else rows.limit(ROWS, offset=1)
        honest(self, damaged, path, data)

    monkeypatch.setattr(DuckDB, "write", write)
    with pytest.raises(AuditFailed):
        released(TABLE, spec_of(method), tmp_path, "file")


def test_pseudonyms_that_two_people_share_are_noticed(tmp_path: Path, monkeypatch: Patch) -> None:
    people = {**PEOPLE, "age": {"role": "quasi", "hierarchy": {"intervals": [50]}}}
    asked = rf.Spec(data={"entity": "who", "composite": True, "unlisted": "drop"}, attributes=people, privacy={"k": 2})
    assert rf.anonymize(TABLE, asked).audit.ok
    honest = steps.numbered

    def numbered(engine: Any, rows: ibis.Table, name: str) -> ibis.Table:
        found = honest(engine, rows, name)
        return found.mutate(ibis.ifelse(found[name] == 2, 1, found[name]).name(name))

    monkeypatch.setattr(steps, "numbered", numbered)
    for way in ("memory", "file"):
        with pytest.raises(AuditFailed):
            released(TABLE, asked, tmp_path, way)


@pytest.mark.parametrize("method", ["mondrian", "local", "hilbert", "homogeneous"])
def test_a_door_that_lets_two_zeros_in_is_noticed(method: str, monkeypatch: Patch) -> None:
    """As it was: -0.0 and 0.0 were two for the census and one for joins, so that rows doubled and others vanished. In
    memory, Arrow takes them for two throughout."""
    monkeypatch.setattr(same_value, "_plain_numbers", lambda array, _: array)
    table = pa.table(
        {"age": [-0.0, -0.0, 0.0, 0.0, 5.0, 5.0], "town": list("xxyyzz"), "note": [f"note {i}" for i in range(6)]}
    )
    attributes = {"age": {"role": "quasi"}, "town": {"role": "quasi"}, "note": {"role": "insensitive"}}
    for limit in (None, "1GB"):
        asked = rf.Spec(
            data={"memory_limit": limit},
            attributes=attributes,
            privacy={"k": 2},
            method={**METHODS[method], "representation": "set"},
        )
        if limit is None:
            assert sorted(rf.anonymize(table, asked).table["note"].to_pylist()) == table["note"].to_pylist()
            continue
        with pytest.raises(AuditFailed):
            rf.anonymize(table, asked)


def test_a_tree_is_grown_over_the_values_of_suppressed_rows_too() -> None:
    """Of three values in twos, the third is alone in its group, and suppressed: the others are still a group."""
    table = pa.table({"x": list("cbbbaaa"), "who": [str(number) for number in range(7)]})
    attributes = {"x": {"role": "quasi", "hierarchy": {"fanout": 2}}, "who": {"role": "identifier"}}
    method = {"name": "levels", "levels": {"x": 1}, "suppression": 0.5}
    spec = rf.Spec(data={"entity": "who"}, attributes=attributes, privacy={"k": 2}, method=method)
    assert set(rf.anonymize(table, spec).table["x"].to_pylist()) == {"[a, b]"}


def test_decimals_that_are_all_zero_are_the_same_in_a_narrower_type() -> None:
    """pandas keeps them as objects: on their way back, Arrow finds a type without a digit before the point."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"x": ["a"] * 3, "pay": [Decimal("-0.0"), Decimal("0"), Decimal("0.0")]})
    attributes = {"x": {"role": "quasi", "hierarchy": "flat"}, "pay": {"role": "insensitive"}}
    release = rf.anonymize(table, rf.Spec(attributes=attributes, privacy={"k": 2}))
    assert [*release.table["pay"]] == [Decimal("0.0")] * 3


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_decimals_below_one_are_written_as_they_are(file_format: str, tmp_path: Path) -> None:
    """Where all are, their type has no digit before the point, and the engine would write .10."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"x": ["a", "a", "b", "b"], "share": [Decimal("0.10")] * 4})
    attributes = {"x": {"role": "quasi", "hierarchy": "flat"}, "share": {"role": "quasi", "hierarchy": "flat"}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": "hilbert"})
    written = rf.anonymize(table, spec).save(tmp_path, file_format, report=False)
    assert rf.audit(written, spec, table).ok


def test_rows_that_may_not_be_masked_are_dropped_beside_a_class_of_stars() -> None:
    """Oak may not go beyond its wood, and its rows do not keep the promise together: they go, and elm is all `*`."""
    table = pa.table({"tree": ["oak", "oak", "elm", "ash"], "ill": ["flu", "flu", "flu", "gout"]})
    tree = {"tree": {"wood": ["oak"], "park": ["elm"], "road": ["ash"]}}
    attributes = {
        "tree": {"role": "quasi", "hierarchy": tree, "boundary": ["wood"]},
        "ill": {"role": "sensitive"},
    }
    method = {"name": "levels", "levels": {"tree": 2}, "suppression": 0.5, "keep_suppressed": True}
    promise = {"k": 2, "l": {"value": 2, "kind": "distinct", "of": "ill"}}
    release = rf.anonymize(table, rf.Spec(attributes=attributes, privacy=promise, method=method))
    assert release.table["tree"].to_pylist() == ["*", "*"]
    assert set(release.table["ill"].to_pylist()) == {"flu", "gout"}


def test_text_that_looks_like_moments_in_another_spelling_is_text(tmp_path: Path) -> None:
    """Of a text file, nobody said that these are dates: their groups are those of words."""
    source = tmp_path / "seen.csv"
    source.write_text("seen\n" + "2024-01-01\n2024-01-01 12:00:00.500000\n" * 2)
    attributes = {"seen": {"role": "quasi", "hierarchy": {"fanout": 2}}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 3}, method={"name": "levels", "levels": {"seen": 1}})
    release = rf.anonymize(source, spec)
    written = release.save(tmp_path / "out", "parquet", report=False)
    assert rf.audit(written, spec).ok
    assert rf.audit(written, spec, source).ok


def test_values_that_look_like_groups_are_refused_before_they_are_published() -> None:
    attributes = {"x": {"role": "quasi", "hierarchy": {"fanout": 2}}}
    with pytest.raises(DataError, match=r"values in square brackets.*\[a\.\.b\]"):
        rf.anonymize(pa.table({"x": ["[a..b]", "ash"] * 2}), rf.Spec(attributes=attributes, privacy={"k": 2}))


def test_large_floats_in_buckets_are_told_as_text_files_have_them(tmp_path: Path) -> None:
    table = pa.table({"x": ["a", "a", "b", "b"], "pay": [1e20, 2.0, 1.5, 7.0]})
    attributes = {"x": {"role": "quasi"}, "pay": {"role": "sensitive"}}
    spec = rf.Spec(attributes=attributes, privacy={"l": 2}, method={"name": "anatomy"})
    written = rf.anonymize(table, spec).save(tmp_path, "csv", report=False)
    assert rf.audit(written, spec, table).ok


def test_moments_that_are_published_as_they_are_need_no_other_spelling(tmp_path: Path) -> None:
    """A column of moments, written as it is: midnight has its clock there, and is a moment all the same."""
    seen = [datetime(2024, 1, 1), datetime(2024, 1, 1, 12)] * 2
    attributes = {"seen": {"role": "quasi", "order": "numeric", "hierarchy": "flat"}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": "levels", "levels": {"seen": 0}})
    assert rf.audit(rf.anonymize(pa.table({"seen": seen}), spec).save(tmp_path, "csv", report=False), spec).ok


@pytest.mark.parametrize("attribute", [{"hierarchy": {"fanout": 2}}, {"scheme": "ordered"}, {"scheme": "set"}])
@pytest.mark.parametrize("missing", [[], [None] * 2])
def test_times_on_a_line_are_read_alone_where_none_stands_in_a_range(
    attribute: dict[str, Any], missing: list[None], tmp_path: Path
) -> None:
    """Of a column of times that is to be on a line, a release may have single times, which are no numbers."""
    times = pa.table(
        {"at": pa.array([time(8, 15)] * 2 + [time(12)] * 2 + [time(21, 5)] * 2 + missing, pa.time64("us"))}
    )
    spec = rf.Spec(attributes={"at": {"role": "quasi", "order": "numeric", **attribute}}, privacy={"k": 2})
    assert rf.audit(rf.anonymize(times, spec).save(tmp_path, "csv", report=False), spec).ok
