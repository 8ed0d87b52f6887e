"""Is every published row a row of the original, and none of them twice? A run has the original at hand, and proves it.

*By recoding.* Where a method recodes each value the same way everywhere, the published labels say what becomes of every
row of the original. So the original is recoded here once more, by what its labels hold, and both are compared class by
class: as many rows, and the same ones in all that is published as it is. Classes that are not there went whole.

*By marks.* Elsewhere a label may hold a value of a row that is published under another. There every row of the original
has a mark, its place or a digest of all its cells, which goes with it until the release has been audited and no
further. No mark may stand in the release more often than in the original; each row must agree with the row of its mark
in all that is published as it is, and hold its values in all that is not.

Cells are compared as sums of digests: of 64 bits, under a key that is drawn for the audit, so that two different lots
of rows are taken for the same with a chance of about one in 2^64.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import ibis
import ibis.expr.datatypes as dt
import numpy as np
import pyarrow as pa

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import Column, classes, read_column, read_labels, total_by
from ringfence.audit.labels.growing import stated_tree
from ringfence.audit.labels.spelling import ROOT
from ringfence.audit.trace.against import complete, needed
from ringfence.audit.trace.basket_tracing import trace_pairs
from ringfence.audit.trace.linkage import cover, together
from ringfence.audit.verdict import Finding, some
from ringfence.rows.basket_rows import CountedBaskets, as_baskets
from ringfence.rows.coded import texts_of
from ringfence.rows.engine import Engine
from ringfence.rows.sources import BUCKET, COUNT, HIGH, LOW, ROWS, WHICH, WHOSE
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute
from ringfence.spec.hierarchies import DateHierarchy

RAW = "ringfence original "

LabelOf: TypeAlias = Mapping[str | None, str | None]
"""The label of each value, in its one spelling."""


@dataclass(frozen=True, eq=False)
class Origin:
    """What a run knows of its rows: the original and, where rows are marked, the release with the marks, `marked`.

    `labels` says under which label each value of each quasi-identifier is published, where a plan was made for other
    rows: its labels hold what they held there. `suppressed` is how many rows were decided to go.
    """

    original: ibis.Table
    marked: ibis.Table | None = None
    labels: Mapping[str, LabelOf] | None = None
    suppressed: int | None = None


def is_marked(spec: Spec) -> bool:
    """Whether rows have marks: where a value is not recoded the same way in every row, and where k counts people."""
    return not spec.recodes_values or spec.items is not None or spec.data.entity is not None


def prove_rows(
    engine: Engine, rows: ibis.Table, spec: Spec, origin: Origin, values: ibis.Table | None = None
) -> Iterator[Finding]:
    """Find what is wrong with the rows of a release beside what they were made from.

    `values` is the second table of the method `anatomy`.
    """
    original = complete(origin.original, spec)
    if origin.marked is None:
        findings, gone = _by_recoding(engine, rows, original, spec, origin.labels)
        yield from findings
    else:
        yield from _by_marks(engine, origin.marked, original, spec, origin.labels)
        yield from () if values is None else _bucket_findings(engine, origin.marked, original, values, spec)
        gone = engine.size(original) - engine.size(origin.marked)
    if origin.suppressed is not None and gone != origin.suppressed:
        message = f"{some(gone, 'row')} of the original are not there, but it was decided that {origin.suppressed:,} go"
        yield Finding("rows", message, abs(gone - origin.suppressed), {})


def same_rows(engine: Engine, written: ibis.Table, rows: ibis.Table) -> Iterator[Finding]:
    """Find out whether a file has the rows that were to be written, however often each is there."""
    ours, theirs = map(_sums, engine.tallies([(written, []), (rows, [])], rows.columns))
    if any((one != other).any() for one, other in zip(ours, theirs, strict=True)):
        message = f"the file has {some(int(ours[0].sum()), 'row')} that are not those that were to be written"
        yield Finding("original", message, int(ours[0].sum()), {})


def _sums(counted: pa.Table) -> tuple[Longs, Longs, Longs]:
    """Return numbers of rows, and the sums of the two halves of their digests."""
    rows, high, low = (counted[name].cast(pa.int64()).to_numpy() for name in (ROWS, HIGH, LOW))
    return rows, high, low


# By recoding


def _by_recoding(
    engine: Engine, rows: ibis.Table, original: ibis.Table, spec: Spec, known: Mapping[str, LabelOf] | None
) -> tuple[list[Finding], int]:
    """Return what is wrong, and how many rows of the original are not there."""
    quasi = spec.of_role("quasi")
    spelled, digested = _compared(rows, original, quasi, spec)
    judged = [name for name in needed(spec) if name in digested]  # so that the release is counted by this scan, too
    told = [*quasi, *spelled]
    ours, theirs = engine.tallies([(rows, [*told, *judged]), (original, told)], digested)
    published = [read_labels(ours[name], name, spec) for name in quasi]
    expected = [
        recoded(column, theirs[column.name], theirs[ROWS], spec)
        if known is None
        else _as_known(column, theirs[column.name], spec, known[column.name])
        for column in published
    ]
    others = [together(ours[name], theirs[name], name, spec) for name in spelled]
    unlabelled = np.logical_or.reduce([codes < 0 for codes in expected])
    labels = [
        replace(column, codes=np.concatenate([column.codes, np.maximum(codes, 0)]))
        for column, codes in zip(published, expected, strict=True)
    ]
    count, both = ours.num_rows, ours.num_rows + theirs.num_rows
    class_of = classes(labels, both)[1]
    there = np.zeros(both, bool)
    there[class_of[:count]] = True  # by class: is any of its rows published?
    gone = ~there[class_of]
    gone[count:] |= unlabelled
    amounts = [np.concatenate(pair) for pair in zip(_sums(ours), _sums(theirs), strict=True)]
    suppressed = int(amounts[0][count:].sum() - amounts[0][:count].sum())
    sides = np.repeat([1, -1], [count, both - count])
    # Rows that go are all masked or all dropped: either may explain a release with a class of `*` throughout.
    for owner, left in [*_masked(labels, class_of, gone, count, spec), (class_of, gone)]:
        part_of = classes([Column("", (None,) * both, owner), *others], both)[1] if others else owner
        differences = [_total(part_of[~left], (each * sides)[~left], both) for each in amounts]
        wrong = np.logical_or.reduce([each != 0 for each in differences])
        if not wrong.any():
            return [], suppressed
    where = np.flatnonzero(wrong[part_of[:count]])
    number = int(where[0]) if len(where) else int(np.flatnonzero(wrong[part_of])[0])
    affected = int(amounts[0][:count][wrong[part_of[:count]]].sum())
    example = {column.name: column.labels[column.codes[number]] for column in labels}
    message = (
        f"{some(affected, 'row')} in classes whose rows are not those of the original: a row is there twice, missing,"
        " under a label that does not hold its value or is past its boundary, or changed in what is published as it is"
    )
    return [Finding("original", message, max(affected, 1), example)], suppressed


def _past(name: str, rows: Longs) -> Finding:
    """Report rows whose value is published higher than its boundary allows."""
    affected = int(rows.sum())
    return Finding("boundary", f"{name!r} is generalized past its boundary in {some(affected, 'row')}", affected, {})


def _total(group: Longs, amounts: Longs, groups: int) -> Longs:
    """Return exact sums; they stay below 2^63, the halves of digests being below 2^32."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, group, amounts)
    return sums


def _compared(rows: ibis.Table, original: ibis.Table, quasi: Sequence[str], spec: Spec) -> tuple[list[str], list[str]]:
    """Return the other columns that both tables have: those whose numbers or days may be spelled in several ways, and
    the rest, which must be the same to the letter."""
    hidden = {*quasi, spec.items, spec.pseudonym, WHICH, WHOSE, BUCKET}
    kinds = original.schema()
    shared = [name for name in rows.columns if name in kinds and name not in hidden]
    spelled = [
        name for name in shared if name in spec.attributes and _has_spellings(spec.attributes[name], kinds[name])
    ]
    return spelled, [name for name in shared if name not in spelled]


def _has_spellings(attribute: Attribute, kind: dt.DataType) -> bool:
    """Whether one value may stand in several ways in a column: numbers as text, and days with a time of day."""
    return (attribute.numeric and kind.is_string()) or isinstance(attribute.hierarchy, DateHierarchy)


def recoded(published: Column, raw: pa.ChunkedArray, rows: pa.ChunkedArray, spec: Spec) -> Longs:
    """Return for each combination of the original the label its value is published under: of those that hold it and
    are within its boundary, the narrowest.

    -1 where none does, and where the specification does not know the value: such rows go, if they may be there at all.
    `*` holds everything, and is narrower than nothing: rows that are masked have it beside labels.
    """
    original = read_column(raw, published.name, spec)
    stated = stated_tree(published.name, spec)
    if stated is not None:
        strange = np.array([text is not None and text not in stated.leaf_of for text in original.spelled], bool)
        if strange.any():
            known = ~strange[original.codes]
            some_known, those = np.full(len(known), -1), pa.array(known)
            some_known[known] = recoded(published, raw.filter(those), rows.filter(those), spec)
            return some_known
    values = replace(original, codes=np.arange(len(original.labels)))  # each once: there are few
    known_tree = None if None in original.labels else stated
    # Only a tree that is grown over values asks how many rows each has.
    counts = np.ones_like(values.codes)
    if known_tree is None:
        counts = total_by(original.codes, rows.to_numpy(), len(counts))
    held = cover(published, values, counts, spec, known_tree)
    may = held.holds & ~held.past
    width = np.where(may, held.holds.sum(axis=1)[:, None], np.iinfo(np.int32).max)
    width[[label == ROOT for label in published.labels]] += may.any(axis=0)  # everything, for want of others
    best = width.argmin(axis=0)
    best[~may.any(axis=0)] = -1
    codes: Longs = best[held.leaves][original.codes]
    return codes


def _as_known(published: Column, raw: pa.ChunkedArray, spec: Spec, label_of: LabelOf) -> Longs:
    """Return for each combination of the original the label that its value is known to have; -1 where it has none, or
    none that is published."""
    original = read_column(raw, published.name, spec)
    place = {text: number for number, text in [*enumerate(published.spelled), *enumerate(published.labels)]}
    known = [place.get(label_of[text], -1) if text in label_of else -1 for text in original.spelled]
    codes: Longs = np.array(known, np.int64)[original.codes]
    return codes


def _masked(
    labels: Sequence[Column], class_of: Longs, gone: Bools, count: int, spec: Spec
) -> Iterator[tuple[Longs, Bools]]:
    """Yield, where rows that go may be masked, classes in which they are: in that with `*` throughout."""
    if not spec.method.keep_suppressed:
        return
    masked = np.ones(count, bool)
    for column in labels:
        masked &= np.array([label == ROOT for label in column.labels], bool)[column.codes[:count]]
    if masked.any():
        moved = class_of.copy()
        moved[gone] = class_of[np.flatnonzero(masked)[0]]
        yield moved, np.zeros_like(gone)


# By marks


def _by_marks(
    engine: Engine, marked: ibis.Table, original: ibis.Table, spec: Spec, known: Mapping[str, LabelOf] | None
) -> Iterator[Finding]:
    quasi = spec.of_role("quasi")
    spelled, digested = _compared(marked, original, quasi, spec)
    whose = {WHOSE: spec.data.entity} if WHOSE in marked.columns and spec.data.entity is not None else {}
    ours, theirs = [WHICH, *digested, *whose], [WHICH, *digested, *whose.values()]
    if strange := engine.surplus(marked, ours, original, theirs):
        twice = engine.surplus(marked, [WHICH], original, [WHICH])
        if twice:
            message = f"{some(twice, 'row')} cannot be traced back to a row of the original of their own"
        else:
            message = f"{some(strange, 'row')} differ from the row they come from in what is published as it is"
        yield Finding("original", message, strange, {})
        return
    yield from _labels_hold(engine, marked, original, [*quasi, *spelled], spec, known)
    if spec.items is not None:
        yield from _baskets_hold(engine, marked, original, spec)


def _labels_hold(
    engine: Engine,
    marked: ibis.Table,
    original: ibis.Table,
    names: Sequence[str],
    spec: Spec,
    known: Mapping[str, LabelOf] | None,
) -> Iterator[Finding]:
    """Find published values that do not hold the value of the row they come from."""
    if not names:
        return
    beside = engine.beside(marked, names, original, {name: RAW + name for name in names})
    for name, counted in zip(names, engine.counts(beside, [[name, RAW + name] for name in names]), strict=True):
        rows = counted[ROWS].to_numpy()
        if spec.attributes[name].role == "quasi" and known is not None:
            published = read_labels(counted[name], name, spec)
            wrong = _as_known(published, counted[RAW + name], spec, known[name]) != published.codes
            if spec.method.keep_suppressed:
                wrong &= np.array([label != ROOT for label in published.labels], bool)[published.codes]
        elif spec.attributes[name].role == "quasi":
            published = read_labels(counted[name], name, spec)
            # A tree may be grown over the values: also over those of rows that went.
            whole = engine.count(original, [name])
            raws = [texts_of(cells) for cells in (whole[name], counted[RAW + name])]
            raw = pa.chunked_array([chunk for cells in raws for chunk in cells.chunks], raws[0].type)
            amounts = np.concatenate([whole[ROWS].to_numpy(), np.zeros_like(rows)])
            held = cover(published, read_column(raw, name, spec), amounts, spec)
            leaves = held.leaves[whole.num_rows :]
            wrong = ~held.holds[published.codes, leaves]
            past = held.past[published.codes, leaves] & ~wrong
            if spec.method.keep_suppressed:
                past &= np.array([label != ROOT for label in published.labels], bool)[published.codes]
            if past.any():
                yield _past(name, rows[past])
        else:
            both = together(counted[name], counted[RAW + name], name, spec)
            wrong = np.not_equal(*np.split(both.codes, 2))
        if wrong.any():
            first = int(np.argmax(wrong))
            affected = int(rows[wrong].sum())
            message = f"{name!r} does not hold the value of the row it comes from in {some(affected, 'row')}"
            yield Finding("original", message, affected, {name: _text(counted[name][first])})


def _text(cell: pa.Scalar) -> str | None:
    return None if cell.as_py() is None else str(cell.as_py())


def _baskets_hold(engine: Engine, marked: ibis.Table, original: ibis.Table, spec: Spec) -> Iterator[Finding]:
    """Find baskets whose labels are not those of the items of the row they come from.

    A tree that was made from the items of the data was made from those of the rows that are published.
    """
    name = spec.item_column
    beside = engine.beside(marked, [name], original, {name: RAW + name})
    counted = engine.count(beside, [name, RAW + name])
    rows = counted[ROWS].to_numpy().astype(np.int64)
    published, bought = (CountedBaskets(as_baskets(counted[each], spec), rows) for each in (name, RAW + name))
    yield from trace_pairs(published, bought, spec)


def _bucket_findings(
    engine: Engine, marked: ibis.Table, original: ibis.Table, values: ibis.Table, spec: Spec
) -> Iterator[Finding]:
    """Find buckets whose second table does not have the sensitive values of their rows."""
    (name,) = (name for name in values.columns if name not in (BUCKET, COUNT))
    held = engine.count(engine.beside(marked, [BUCKET], original, {name: name}), [BUCKET, name])
    told = engine.fetch(values.select(BUCKET, name, values[COUNT].cast("int64").name(ROWS)))
    both = [
        Column(BUCKET, (None,), np.concatenate([_numbers(held[BUCKET]), _numbers(told[BUCKET])])),
        together(held[name], told[name], name, spec),
    ]
    buckets = Column(BUCKET, (None,) * (int(both[0].codes.max(initial=0)) + 1), both[0].codes)
    part_of = classes([buckets, both[1]], held.num_rows + told.num_rows)[1]
    amounts = np.concatenate([held[ROWS].to_numpy(), -_numbers(told[ROWS])])
    wrong = _total(part_of, amounts, len(amounts)) != 0
    if wrong.any():
        rows = int(held[ROWS].to_numpy()[wrong[part_of[: held.num_rows]]].sum())
        message = f"the buckets of {some(rows, 'row')} do not have the values of {name!r} that the second table says"
        yield Finding("original", message, max(rows, 1), {})


def _numbers(column: pa.ChunkedArray) -> Longs:
    found: Longs = column.cast(pa.int64()).to_numpy()
    return found
