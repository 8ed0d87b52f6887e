"""Models: trained on what a release shows of some rows, tested on others as they were."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.api.making import make
from ringfence.release.diary import Diary
from ringfence.release.jobs import searcher
from ringfence.rows.duckdb import DuckDB
from ringfence.yardsticks.linking import LinkedRows, link_rows
from ringfence.yardsticks.measure import Ruler, measure_rows, read_rows, ruler
from ringfence.yardsticks.models import Lessons, Score

pytest.importorskip("sklearn")

TOWNS = {"tree": {"east": ["Oslo", "Hamar"], "west": ["Bergen", "Voss", "Odda"]}}
ATTRIBUTES = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    "town": {"role": "quasi", "hierarchy": TOWNS},
    "ill": {"role": "sensitive"},
    "cost": {"role": "insensitive"},
}
METHODS: list[dict[str, Any]] = [
    {"name": "optimal", "suppression": 0.1},
    {"name": "local", "effort": "fast"},
    {"name": "ring"},
]


def people(rows: int = 400, seed: int = 1) -> pa.Table:
    """People whose illness depends on where they live, and whose costs on how old they are."""
    rng = np.random.default_rng(seed)
    town, age = rng.integers(0, 5, rows), rng.integers(20, 60, rows)
    ill = np.where(rng.random(rows) < 0.8, town % 3, rng.integers(0, 3, rows))
    return pa.table(
        {
            "age": age,
            "town": np.array(["Oslo", "Hamar", "Bergen", "Voss", "Odda"])[town],
            "ill": np.array(["flu", "cold", "gout"])[ill],
            "cost": 10 * age + rng.integers(0, 50, rows),
        }
    )


def spec(**parts: Any) -> rf.Spec:
    """A specification that has something to be told."""
    purpose = {"predict": ["ill", "cost"]}
    return rf.Spec(**{"attributes": ATTRIBUTES, "privacy": {"k": 4}, "purpose": purpose, **parts})


def linked(table: pa.Table, given: rf.Spec) -> tuple[Ruler, LinkedRows, int, dict[str, Score]]:
    """Return what a release shows of which rows, how many rows it has, and how well it tells."""
    with DuckDB(given.data) as engine:
        rows = engine.keep(engine.open(table, given.data))
        found = ruler(engine, rows, given)
        made, origin, published = make(engine, rows, given, searcher(given, Diary()))
        released = engine.open(engine.fetch(published), given.data, as_it_stands=True)
        values = None if made.sensitive is None else engine.hold(made.sensitive)
        side = read_rows(engine, released, found, given, values)
        scores = measure_rows(engine, released, found, given, origin, values).models
        return found, link_rows(engine, side, found.truth, origin, given, values), side.total, dict(scores)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method["name"]))
def test_every_published_row_is_linked_to_a_row_that_its_labels_hold(method: dict[str, Any]) -> None:
    found, links, published, _ = linked(people(), spec(method=method))
    truth = found.truth
    assert links.rows.sum() == published
    assert (np.bincount(links.before, links.rows, minlength=len(truth.rows)) <= truth.rows).all()
    for name in truth.domains:
        value, likely = truth.codes[name][links.before], links.likely[name]
        for was, label in zip(value.tolist(), links.codes[name].tolist(), strict=True):
            assert was in likely.members[likely.starts[label] : likely.starts[label + 1]]


def test_rows_that_are_the_same_are_linked_once_each() -> None:
    table = pa.table({"age": [30] * 6 + [31] * 4, "town": ["Oslo"] * 10, "ill": ["flu"] * 10, "cost": [1] * 10})
    _, links, published, _ = linked(table, spec(method={"name": "local"}))
    assert links.rows.sum() == published == 10


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method["name"]))
def test_what_depends_on_quasi_identifiers_is_told_by_the_original_best(method: dict[str, Any]) -> None:
    _, _, _, scores = linked(people(), spec(method=method))
    assert (scores["ill"].measure, scores["cost"].measure) == ("AUC", "R2")
    assert scores["ill"].original > 0.8
    assert scores["cost"].original > 0.95
    for score in scores.values():
        assert score.naive < score.mean <= score.original + score.spread + score.original_spread
        assert 0 <= score.lost < 1


def test_values_in_buckets_are_told_by_what_stands_there() -> None:
    table = people()
    attributes = {name: part for name, part in ATTRIBUTES.items() if name != "cost"}
    purpose = {"predict": ["ill"]}
    given = spec(attributes=attributes, privacy={"l": 2}, method={"name": "anatomy"}, purpose=purpose)
    _, _, _, scores = linked(table.drop(["cost"]), given)
    assert 0.6 < scores["ill"].mean < scores["ill"].original + 0.05  # values are dealt into buckets by chance


def test_rows_that_are_held_out_are_no_part_of_the_training() -> None:
    """What is drawn by chance cannot be told of rows that were not seen; of those that were, it can."""
    rng = np.random.default_rng(5)
    rows = 120
    code = np.array([f"c{n}" for n in range(30)])
    table = pa.table({"a": code[rng.integers(0, 30, rows)], "b": code[rng.integers(0, 30, rows)]})
    table = table.append_column("ill", pa.array(np.array(["x", "y"])[rng.integers(0, 2, rows)]))
    attributes = {"a": {"role": "quasi"}, "b": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    purpose = {"predict": ["ill"]}
    given = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": "local"}, purpose=purpose)
    found, _, _, scores = linked(table, given)
    assert scores["ill"].original < 0.65
    assert scores["ill"].mean < 0.65
    truth = found.truth
    original = LinkedRows(truth.rows, np.arange(len(truth.rows)), truth.codes, truth.likely)
    seen = Lessons(truth, "ill")._tested(original, truth.rows / 2, seed=1)  # half of each row to train, half to test
    assert seen > 0.7, "trained on what it is tested on, a model of this table would tell more"


def test_a_purpose_with_models_ranks_by_what_they_lose() -> None:
    found = rf.compare(people(), spec(method={"time_limit": 0.3}), methods=["local", "optimal"])
    row = next(row for row in found.table.to_pylist() if row["advised"])
    use = found.best.made and found.best.made.use
    assert use
    assert row["off"] == pytest.approx(np.mean([score.lost for score in use.models.values()]))
    assert row["AUC of ill"] == use.models["ill"].mean
    assert found.naive is not None
    assert {score.lost for score in found.naive.models.values()} == {1.0}
    assert "AUC of ill" in str(found)


def test_nothing_is_told_where_there_is_one_value() -> None:
    table = people().set_column(2, "ill", pa.array(["flu"] * 400))
    _, _, _, scores = linked(table, spec(method=METHODS[1]))
    assert (scores["ill"].mean, scores["ill"].lost) == (0.5, 0.0)
