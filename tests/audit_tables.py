"""A table that keeps its promise, to be damaged by tests of the audit; and how they ask for a verdict."""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from ringfence.audit.verdict import Verdict
from ringfence.audit.verify import verify
from ringfence.rows.duckdb import DuckDB
from ringfence.spec import Spec

Row = tuple[Any, ...]
QUASI = {"role": "quasi", "hierarchy": "flat"}
REGIONS = {"Europe": {"South": ["Italy", "Spain"], "North": ["Norway"]}, "America": ["Canada", "Peru"]}


def audited(table: pa.Table | str | Path, spec: Spec) -> Verdict:
    """Return the verdict on a table or a file."""
    with DuckDB(spec.data) as engine:
        return verify(engine, engine.open(table, spec.data, as_it_stands=True), spec)


def rules(verdict: Verdict) -> list[str]:
    """Return the rules that a verdict finds broken, after checking that it is one with itself."""
    assert verdict.ok == (not verdict.findings)
    assert json.loads(json.dumps(verdict.as_dict())) == verdict.as_dict()
    assert all(finding.message in str(verdict) for finding in verdict.findings)
    return [finding.rule for finding in verdict.findings]


def text_table(names: Sequence[str], rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table of text."""
    return pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)})


def by_class(rows: Sequence[Row], quasi: int) -> dict[Row, list[Row]]:
    """Group rows by their first columns."""
    classes: dict[Row, list[Row]] = defaultdict(list)
    for row in rows:
        classes[row[:quasi]].append(row[quasi:])
    return classes


LEVELS = ["low", "mid", "high", "top"]

KINDS: list[tuple[dict[str, Any], st.SearchStrategy[Any]]] = [
    ({"hierarchy": {"intervals": [5, 10, 40], "from": 3, "bottom": -7, "top": 58}}, st.integers(-60, 120)),
    ({"hierarchy": {"intervals": [0.1, 0.5]}}, st.decimals(-2, 2, places=2)),
    ({"hierarchy": {"mask": "right"}}, st.text("ab1", min_size=1, max_size=4)),
    ({"hierarchy": {"mask": "left"}}, st.text("ab1", min_size=1, max_size=4)),
    ({"hierarchy": {"dates": ["month", "quarter", "year", "decade"]}}, st.dates()),
    (
        {"hierarchy": {"fanout": 2}},
        st.text('ab ,"[]{}\\é\n', max_size=3).filter(lambda s: not (s[:1] == "[" and s[-1:] == "]")),
    ),
    ({"hierarchy": {"fanout": 3}, "order": "numeric"}, st.integers(-20, 20)),
    ({"hierarchy": {"tree": REGIONS}}, st.sampled_from(["Italy", "Spain", "Norway", "Canada", "Peru"])),
    ({"hierarchy": "flat"}, st.text("abc*", max_size=3)),
]

PEOPLE = Spec(
    attributes={
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10], "from": 0, "bottom": 18, "top": 65}},
        "zip": {"role": "quasi", "hierarchy": {"mask": "right"}, "boundary": {"level": 3}},
        "place": {"role": "quasi", "hierarchy": {"tree": REGIONS}, "boundary": ["Europe", "America"]},
        "seen": {"role": "quasi", "hierarchy": {"dates": ["month", "year"]}, "boundary": {"level": 2}},
        "illness": {"role": "sensitive"},
        "ward": {"role": "sensitive", "order": "lexical"},
    },
    data={"missing": "error"},
    privacy={
        "k": 4,
        "l": [
            {"value": 3, "of": "illness"},
            {"value": 2.8, "of": "illness", "kind": "entropy"},
            {"value": 2, "of": "illness", "kind": "recursive", "c": 2},
        ],
        "p": 2,
        "t": [{"value": 0.1, "of": "illness"}, {"value": 0.1, "of": "ward", "distance": "ordered"}],
    },
)
CLASSES: list[Row] = [
    ("[20, 25)", "479**", "South", "2024"),
    ("[60, 65)", "479**", "Norway", "2024-03"),
    (">=65", "13***", "America", "2023"),
    ("31", "13053", "Peru", "2023-12-24"),
]
VALUES: list[Row] = [("flu", "A"), ("flu", "B"), ("cold", "A"), ("ulcer", "B")]
PUBLISHED = [name for name in PEOPLE.attributes if name != "name"]
HOLDS = [(*labels, *values) for labels in CLASSES for values in VALUES]


def relaxed(**privacy: Any) -> Spec:
    """Return the specification with another promise."""
    return Spec(**{**PEOPLE.model_dump(by_alias=True, exclude_unset=True), "privacy": privacy})


def planted(row: int, **cells: str | None) -> pa.Table:
    """Return the table that holds with cells of one row changed."""
    changed = list(HOLDS[row])
    for name, value in cells.items():
        changed[PUBLISHED.index(name)] = value
    return text_table(PUBLISHED, [*HOLDS[:row], tuple(changed), *HOLDS[row + 1 :]])
