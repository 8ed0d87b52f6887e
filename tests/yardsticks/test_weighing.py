"""Reading by counts of values: the weights with which the counts come out."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.arrays import Floats
from ringfence.rows.engines import engine_for
from ringfence.yardsticks.measure import read_rows, ruler
from ringfence.yardsticks.reading import ReadRows, Truth

ATTRIBUTES: dict[str, Any] = {
    "n": {"role": "quasi", "order": "numeric"},
    "t": {"role": "quasi", "hierarchy": {"tree": {"x": ["a", "b"], "y": ["c", "d"]}}},
}


def both(
    original: pa.Table, released: pa.Table, counts: pa.Table, attributes: dict[str, Any] = ATTRIBUTES
) -> tuple[ReadRows, Truth]:
    spec = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": "local"})
    with engine_for(spec.data, original) as engine:
        found = ruler(engine, engine.open(original, spec.data), spec)
        rows = engine.open(released, spec.data, as_it_stands=True)
        return read_rows(engine, rows, found, spec, None, engine.hold(counts)), found.truth


def read(side: ReadRows, truth: Truth, name: str) -> dict[str | None, float]:
    """Return how many rows a reader takes each value to have."""
    rows: Floats = np.bincount(side.codes[name], side.rows, minlength=len(side.likely[name].sizes)).astype(float)
    values = truth.domains[name].values
    return dict(zip(values, side.likely[name].total(rows, len(values)).tolist(), strict=True))


def counted(*lines: tuple[str, str | None, int]) -> pa.Table:
    return pa.table(dict(zip(("attribute", "value", "rows"), map(list, zip(*lines, strict=True)), strict=True)))


def test_what_stands_under_labels_is_spread_as_counts_say() -> None:
    original = pa.table({"n": [1, 1, 1, 2, 3, 4], "t": ["a", "a", "a", "b", "c", "d"]})
    released = pa.table({"n": ["[1, 2]"] * 4 + ["*"] * 2, "t": ["x"] * 4 + ["*"] * 2})
    counts = counted(("n", "1", 3), ("n", ">=2", 3), ("t", "a", 3), ("t", "x", 1), ("t", "y", 2))
    side, truth = both(original, released, counts)
    # Of the line from 2 on, all values weigh alike; of those under `*`, 1 weighs what lets three come out.
    found = read(side, truth, "n")
    assert found["1"] == pytest.approx(3, abs=0.01)
    assert found["3"] == pytest.approx(found["4"])
    assert found["2"] > found["3"]
    words = read(side, truth, "t")
    assert words["a"] == pytest.approx(3, abs=0.01)
    assert words["b"] == pytest.approx(1, abs=0.01)
    assert words["c"] == words["d"] == pytest.approx(1, abs=0.01)


def test_a_label_whose_values_are_counted_nowhere_is_read_evenly() -> None:
    original = pa.table({"n": [1, 2, 3, 4], "t": ["a"] * 4})
    released = pa.table({"n": ["[1, 2]"] * 2 + ["[3, 4]"] * 2, "t": ["a"] * 4})
    side, truth = both(original, released, counted(("n", "<3", 4), ("t", "a", 4)))
    assert read(side, truth, "n") == {"1": 1, "2": 1, "3": 1, "4": 1}


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from("abcd")), min_size=6, max_size=30))
def test_counts_of_a_release_come_out(rows: list[tuple[int, str]]) -> None:
    numbers, words = zip(*rows, strict=True)
    table = pa.table({"n": numbers, "t": words})
    spec = rf.Spec(attributes=ATTRIBUTES, privacy={"k": 2}, method={"name": "local"}, output={"counts": True})
    release = rf.anonymize(table, spec)
    side, truth = both(table, release.table, release.counts)
    use = release.use
    assert use is not None
    assert use.without is not None
    for name in ("n", "t"):
        found = read(side, truth, name)
        for line in release.counts.to_pylist():
            if line["attribute"] == name and line["value"] in found:
                assert found[line["value"]] == pytest.approx(line["rows"], abs=0.02 * len(rows))
