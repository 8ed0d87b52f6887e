"""Which published labels belong to which rows of the original: known to a run, and to nobody else.

A model that is trained on a release and tested on rows of the original may not have seen those rows. A release was made
of all of them, so the rows that a test holds out must be left out of what is trained on, and for that one has to know
which they are. Where each value is recoded alike everywhere, labels tell; elsewhere the marks do that a run has until
its audit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import ibis
import numpy as np
import pyarrow as pa

from ringfence.arrays import Longs
from ringfence.audit.counts import Column, classes, read_column, read_labels
from ringfence.audit.labels.growing import tree_over
from ringfence.audit.trace.rows import Origin
from ringfence.rows.engine import Engine
from ringfence.rows.sources import BUCKET, OWN, ROWS
from ringfence.spec import Spec
from ringfence.yardsticks.reading import Likely, ReadRows, Truth, evenly, plainly

BEFORE = f"{OWN} before: "


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """Rows of a release beside those of the original: `rows[e]` rows that were entry `before[e]` of the original show
    `codes[name][e]`, which may stand for `likely`."""

    rows: Longs
    before: Longs
    codes: Mapping[str, Longs]
    likely: Mapping[str, Likely]


def link_rows(
    engine: Engine, release: ReadRows, truth: Truth, origin: Origin, spec: Spec, values: ibis.Table | None = None
) -> LinkedRows:
    """Return which rows of a release were which rows of the original."""
    if origin.marked is None:
        return _by_labels(release, truth)
    kept = [name for name in truth.others if name in origin.original.columns]
    quasi, original = list(truth.quasi), origin.original
    shown = [*quasi, *([BUCKET] if spec.has_buckets else [])]
    joined = engine.beside(origin.marked, shown, original, {name: BEFORE + name for name in (*quasi, *kept)})
    counted = engine.count(joined, list(joined.columns))
    beside = None if values is None else engine.fetch(values)
    return _read(counted, truth, spec, release, beside)


def _by_labels(release: ReadRows, truth: Truth) -> LinkedRows:
    """Recode the original by what labels hold: where two hold a value, as in rows that are masked, the narrower."""
    label_of: dict[str, Longs] = {}
    for name in truth.quasi:
        likely = release.likely[name]
        of = np.full(len(truth.domains[name]), -1)
        for label in np.argsort(-likely.sizes, kind="stable").tolist():
            of[likely.members[likely.starts[label] : likely.starts[label + 1]]] = label
        label_of[name] = of[truth.codes[name]]
    known = np.logical_and.reduce([codes >= 0 for codes in label_of.values()])
    both = [
        Column(
            name,
            (None,) * len(release.likely[name].sizes),
            np.concatenate([release.codes[name], np.maximum(label_of[name], 0)]),
        )
        for name in truth.quasi
    ]
    count = len(release.rows)
    class_of = classes(both, count + len(truth.rows))[1]
    published = np.flatnonzero(known & np.isin(class_of[count:], class_of[:count]))
    codes = {name: of[published] for name, of in label_of.items()}
    codes |= {name: truth.codes[name][published] for name in truth.others}
    return LinkedRows(truth.rows[published], published, codes, release.likely)


def _read(counted: pa.Table, truth: Truth, spec: Spec, release: ReadRows, values: pa.Table | None) -> LinkedRows:
    """Read rows that were counted by what they were and by what they show."""
    was: list[Column] = []
    codes: dict[str, Longs] = {}
    likely = dict(release.likely)
    for name in truth.quasi:
        domain = truth.domains[name]
        assert domain.held is not None, "quasi-identifiers have trees"
        column = read_column(counted[BEFORE + name], name, spec)
        numbers = tree_over(name, spec, column.labels, [1] * len(column.labels), domain.held.tree)[1]
        was.append(Column(name, domain.values, numbers[column.codes]))
        shown = read_labels(counted[name], name, spec)
        codes[name], likely[name] = shown.codes, evenly([domain.held.by(label) for label in shown.labels], domain.line)
        if name in release.weights:
            likely[name] = likely[name].weighed(release.weights[name])
    for name in truth.others:
        column = plainly(counted[BEFORE + name], name, spec)
        known = {value: number for number, value in enumerate(truth.domains[name].values)}
        was.append(
            Column(name, truth.domains[name].values, np.array([known[text] for text in column.labels])[column.codes])
        )
        codes[name] = was[-1].codes
        if values is not None and name in values.column_names:
            buckets = np.unique(values[BUCKET].to_numpy().astype(np.int64))
            codes[name] = np.searchsorted(buckets, counted[BUCKET].to_numpy().astype(np.int64))
    return LinkedRows(counted[ROWS].to_numpy().astype(np.int64), _entries(was, truth), codes, likely)


def _entries(was: list[Column], truth: Truth) -> Longs:
    """Return which entry of the original each combination of values is."""
    both = [replace(each, codes=np.concatenate([truth.codes[each.name], each.codes])) for each in was]
    class_of = classes(both, len(truth.rows) + len(was[0].codes))[1]
    entry = np.zeros(len(class_of), np.int64)
    entry[class_of[: len(truth.rows)]] = np.arange(len(truth.rows))
    return entry[class_of[len(truth.rows) :]]
