"""Shards: parts of a census that are feasible alone; what is found in them is feasible together."""

import pickle
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.census.census import Census, counted_columns, take_census
from ringfence.census.groups import Groups
from ringfence.declared import METHODS
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.methods import decide
from ringfence.rows.sources import ROWS
from ringfence.search.groups import shards as sharding
from ringfence.search.groups.shards import shards
from ringfence.search.progress import Watch

SHARDED = [name for name, method in METHODS.items() if "shards" in method.options]
AGES, TOWNS, ILLS = [20, 21, 25, 30, 31, 42, 50, None], ["Oslo", "Hamar", "Bodø", "Moss"], ["flu", "cold", "gout"]
ATTRIBUTES: dict[str, Any] = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
    "town": {"role": "quasi", "hierarchy": {"tree": {"coast": ["Bodø", "Moss"], "inland": ["Oslo", "Hamar"]}}},
    "ill": {"role": "sensitive"},
}
BOUNDED = {**ATTRIBUTES, "town": {**ATTRIBUTES["town"], "boundary": {"level": 1}}}


def people(rows: int, seed: int = 1) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "who": [f"P{rng.randrange(max(2, rows // 2))}" for _ in range(rows)],
            "age": [rng.choice(AGES) for _ in range(rows)],
            "town": [rng.choice(TOWNS[: rng.choice([2, 4])]) for _ in range(rows)],
            "ill": [rng.choice(ILLS) for _ in range(rows)],
        }
    )


def spec_of(method: str = "local", shards: int | None = None, attributes: Any = None, **asked: Any) -> rf.Spec:
    return rf.Spec(
        data={"unlisted": "drop", **asked.get("data", {})},
        attributes=attributes or ATTRIBUTES,
        privacy=asked.get("privacy", {"k": 3}),
        method={"name": method, "shards": shards, "suppression": asked.get("suppression", 1)},
    )


def census_of(table: pa.Table, spec: rf.Spec) -> Census:
    columns = counted_columns(spec)
    counted = table.group_by(columns).aggregate([([], "count_all")])
    return take_census(counted.rename_columns([*columns, ROWS]), spec, ROWS)


def rows_by_tuple(census: Census) -> list[list[tuple[int, ...]]]:
    """The values of sensitive attributes of each row, tuple by tuple, spelled out."""
    found: list[list[tuple[int, ...]]] = [[] for _ in census.weights]
    for place, (home, rows) in enumerate(zip(census.joint.tuples, census.joint.weights, strict=True)):
        found[home] += [tuple(int(values[place]) for values in census.joint.values)] * int(rows)
    return found


@given(
    st.integers(2, 80),
    st.integers(0, 50),
    st.integers(1, 9),
    st.integers(1, 5),
    st.sampled_from([None, "l", "p", "who"]),
)
def test_every_shard_is_feasible_alone(rows: int, seed: int, count: int, k: int, also: str | None) -> None:
    privacy: dict[str, Any] = {"k": k, **({also: 2} if also in ("l", "p") else {})}
    spec = spec_of(attributes=BOUNDED, privacy=privacy, data={"entity": "who"} if also == "who" else {})
    table = people(rows, seed)
    census = census_of(table, spec)
    values = rows_by_tuple(census)
    # The oracle: rows may be published alike that have the same ceilings; such rows must be enough by themselves.
    ceilings = [
        tuple(quasi.hierarchy.ceilings[leaf] for quasi, leaf in zip(census.quasi, codes, strict=True))
        for codes in census.codes
    ]

    def enough(members: list[int]) -> bool:
        inside = [row for home in members for row in values[home]]
        if also == "who":
            return len({row[-1] for row in inside}) >= k
        return len(inside) >= k and (also is None or len({row[0] for row in inside}) >= 2)

    fine = {block for block in ceilings if enough([t for t, its in enumerate(ceilings) if its == block])}
    if not fine:
        with pytest.raises(Unsatisfiable):
            shards(census, spec, count)
        return
    shard = shards(census, spec, count).tolist()
    assert [number < 0 for number in shard] == [block not in fine for block in ceilings]
    assert {*shard} - {-1} == {*range(max(shard) + 1)}
    assert max(shard) < count
    for number, block in {*zip(shard, ceilings, strict=True)} - {(-1, block) for block in ceilings}:
        members = [t for t, its in enumerate(zip(shard, ceilings, strict=True)) if its == (number, block)]
        assert enough(members)


def test_shards_have_about_as_many_rows_each() -> None:
    spec = spec_of()
    census = census_of(people(3000), spec)
    sizes = np.bincount(shards(census, spec, 4), census.weights)
    assert len(sizes) == 4
    assert 500 < sizes.min() <= sizes.max() < 1100


def test_a_part_of_a_census_is_that_of_its_rows() -> None:
    spec = spec_of(privacy={"k": 2, "l": 2})
    table = people(60)
    census = census_of(table, spec)
    chosen = np.arange(1, len(census.weights), 2)
    part, values = census.part(chosen), rows_by_tuple(census)
    assert part.rows == census.weights[chosen].sum()
    assert rows_by_tuple(part) == [values[home] for home in chosen]
    pairs = zip(part.sensitive[0].tuples, part.sensitive[0].values, part.sensitive[0].weights, strict=True)
    assert {(int(t), int(v)): int(w) for t, v, w in pairs} == {
        (t, v): [row[0] for row in rows].count(v) for t, rows in enumerate(rows_by_tuple(part)) for (v,) in {*rows}
    }


@pytest.mark.parametrize("method", SHARDED)
@pytest.mark.parametrize("attributes", [ATTRIBUTES, BOUNDED])
def test_every_method_keeps_its_promise_in_shards(method: str, attributes: Any) -> None:
    table = people(400)
    whole, cut, again = (rf.anonymize(table, spec_of(method, count, attributes)) for count in (None, 5, 5))
    assert cut.audit.ok
    assert cut.audit.measured["k"] >= 3
    assert cut.metrics["suppressed"] == whole.metrics["suppressed"]
    assert cut.plan.dumps().split('"spec"')[0] == again.plan.dumps().split('"spec"')[0]
    assert cut.search is not None
    assert cut.search.bound <= cut.search.cost == cut.metrics[METHODS[method].losses[0]]


@pytest.mark.parametrize("asked", [{"k": 3, "l": 2}, {"k": 4, "p": 2}, {"k": 2, "l": {"value": 2, "kind": "entropy"}}])
def test_values_and_people_are_counted_in_shards(asked: dict[str, Any]) -> None:
    table = people(400)
    assert rf.anonymize(table, spec_of("mondrian", 4, privacy=asked)).audit.ok
    if "l" not in asked or asked["l"] == 2:
        assert rf.anonymize(table, spec_of("local", 4, privacy=asked)).audit.ok
    release = rf.anonymize(table, spec_of("local", 4, data={"entity": "who"}))
    assert release.audit.ok
    assert release.audit.measured["k"] >= 3


@pytest.mark.parametrize("method", SHARDED)
def test_one_shard_is_the_whole(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of(method)
    census = census_of(people(300), spec)
    whole = decide(census, spec, Watch())
    monkeypatch.setattr(sharding, "shards", lambda census, *_: np.zeros(len(census.weights), np.int64))
    one = decide(census, spec_of(method, 2), Watch())
    assert one.metrics == whole.metrics
    assert one.plan.dumps().split('"spec"')[0] == whole.plan.dumps().split('"spec"')[0]


def test_many_rows_are_cut_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharding, "MOST_ROWS", 100)
    spec = spec_of()
    census = census_of(people(301), spec)
    assert sharding.shard_count(census, spec) == 4
    assert sharding.shard_count(census, spec_of("mondrian", privacy={"k": 2, "t": 0.5})) == 1
    asked: list[int] = []

    def each(tasks: Any) -> Any:
        asked.append(len(tasks))
        return [pickle.loads(pickle.dumps(task))() for task in tasks]  # as if they were sent elsewhere

    elsewhere = decide(census, spec, Watch(time_limit=1000, each=each))
    assert asked == [4]
    assert elsewhere.plan == decide(census, spec, Watch()).plan


def test_a_watch_that_is_sent_has_what_is_left_of_its_time() -> None:
    now = [0.0]
    watch = Watch(10, clock=lambda: now[0])
    now[0] = 4
    assert pickle.loads(pickle.dumps(watch)).time_limit == 6
    assert pickle.loads(pickle.dumps(Watch())).time_limit is None


@pytest.mark.parametrize(
    ("method", "privacy", "told"),
    [
        ("optimal", {"k": 2}, "is for the methods cluster, ring, local, hilbert, mondrian; 'optimal' does not"),
        ("mondrian", {"k": 2, "t": 0.5}, "privacy.t is measured against the whole table"),
        ("ring", {"k": 2, "l": 2}, "rings with privacy.l are dealt out over the whole table"),
    ],
)
def test_what_needs_the_whole_table_is_refused(method: str, privacy: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        rf.anonymize(people(50), spec_of(method, 4, privacy=privacy))


def test_too_many_rows_to_suppress_are_told() -> None:
    inland = [town in ("Oslo", "Hamar") for town in people(50)["town"].to_pylist()]
    lonely = pa.table({"who": ["x"], "age": [20], "town": ["Bodø"], "ill": ["flu"]})
    table = pa.concat_tables([people(50).filter(pa.array(inland)), lonely])
    with pytest.raises(Unsatisfiable, match=rf"1 of {table.num_rows} rows would have to be suppressed"):
        rf.anonymize(table, spec_of("local", 2, BOUNDED, suppression=0))


def test_a_group_across_shards_or_a_lost_row_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults that are planted where shards are put together, or cut: the plan refuses them, or the audit does."""
    table, spec = people(200), spec_of("local", 3)
    joined = Groups.joined

    def swapped(whole: Any, places: Any, parts: Any) -> Groups:
        return joined(whole, places[::-1], parts)

    monkeypatch.setattr(Groups, "joined", swapped)
    with pytest.raises((ValueError, IndexError)):
        rf.anonymize(table, spec)
    monkeypatch.undo()
    monkeypatch.setattr(sharding, "shards", lambda census, *_: np.arange(len(census.weights)))
    with pytest.raises(Unsatisfiable):
        rf.anonymize(table, spec)
