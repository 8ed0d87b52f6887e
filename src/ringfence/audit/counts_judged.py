"""The judgement of counts of values that are published beside a release.

From the counts alone: each is of k rows or more, the lines of an attribute are about different rows and add up to all
of the release. Beside the release: no line has fewer rows than show one of its values plainly, or more than show a
label that holds one. Beside the original: they are true, and of k people or more where people count. Which rows of the
original were published, a run knows by its marks; elsewhere it follows from the labels where each value has one, or
where no row went. Of all else, what is certain is judged: no line has more rows than the original, nor fewer by more
than all that went, and it is of k people, whoever went and whatever it says.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import ibis
import numpy as np
import pyarrow as pa

from ringfence.arrays import Bools, Longs
from ringfence.audit.baskets_judged import rows_beside
from ringfence.audit.count_lines import Lines, read_lines, span_of, summed
from ringfence.audit.counts import Released, classes, read_column, total_by
from ringfence.audit.evidence import Evidence
from ringfence.audit.labels.grammar import grammar
from ringfence.audit.labels.growing import stated_tree, tree_over
from ringfence.audit.labels.held import held_in
from ringfence.audit.labels.spelling import ROOT, as_set, spans_of
from ringfence.audit.labels.trees import Tree
from ringfence.audit.trace.against import complete
from ringfence.audit.trace.rows import RAW, Origin, recoded
from ringfence.audit.verdict import Finding, some
from ringfence.rows.coded import told_apart
from ringfence.rows.engine import Engine
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute
from ringfence.spec.hierarchies import FanoutHierarchy
from ringfence.spec.method import MethodTable

NONE_BESIDE = "The specification asks for counts of values (output.counts), and none were found beside the release"
TELLING = (
    "Counts of values tell how many rows behind labels have which value: of two releases of the same people, publish"
    " one with counts"
)
NOT_SEEN = "whether counts of values are of k people cannot be seen; give the original, with its column {entity!r}"
NOT_CERTAIN = "whether counts of values are of k people: which rows were published is known only to the run itself"


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of the rows of the original that were published: by attribute, tables of values and their rows,
    with the people of each where these count. `gone` of them are not there, and nobody knows which."""

    counted: Mapping[str, pa.Table]
    gone: int


def judge_counts(
    evidence: Evidence,
    engine: Engine,
    counts: ibis.Table | None,
    released: Released,
    spec: Spec,
    original: ibis.Table | None,
    origin: Origin | None,
    *,
    told: bool,
) -> None:
    """Judge counts of values, where there are any. `told` says that a run has said whose rows are whose: it has judged
    the people behind counts as well, when it still knew which rows these are."""
    if counts is None:
        evidence.notes += [NONE_BESIDE] if spec.output.counts else []
        return
    lines, total, quasi = read_lines(engine.fetch(counts), spec), int(released.rows.sum()), spec.of_role("quasi")
    evidence.add(finding for name in quasi for finding in _by_themselves(name, lines.get(name), total, spec))
    evidence.measured["least_count"] = min((int(each.rows.min()) for each in lines.values()), default=0)
    evidence.notes.append(TELLING)
    before = origin.original if origin is not None else original
    if before is not None:
        before = complete(before if origin is not None else rows_beside(engine, before, spec), spec)
    known = None if before is None else known_rows(engine, released, spec, before, origin)
    whole = {} if before is None else dict(zip(quasi, engine.counts(before, [[name] for name in quasi]), strict=True))
    certain = True
    for name in quasi:
        if name not in lines:
            continue
        tree, values = _tree_of(name, lines[name], released, spec, whole.get(name))
        shown = _shown(name, lines[name], released, tree, values, spec)
        evidence.add(_beside_labels(name, lines[name], shown))
        if known is not None:
            column = read_column(known.counted[name][name], name, spec)
            leaves = tree_over(name, spec, column.labels, [1] * len(column.labels), tree)[1]
            line_of = lines[name].among(tree.paths)[leaves][column.codes]
            evidence.add(_beside_original(name, lines[name], known, line_of))
            if spec.data.entity is not None:
                behind = _people_behind(known.counted[name], line_of, shown.least, known.gone, spec.data.entity)
                evidence.add(_of_too_few(name, lines[name], behind.most, spec.k))
                certain &= bool(((behind.least >= spec.k) | (behind.most < spec.k)).all())
    if spec.data.entity is not None and not told:
        if known is None:
            evidence.unjudged.append(NOT_SEEN.format(entity=spec.data.entity))
        elif not certain:
            evidence.unjudged.append(NOT_CERTAIN)


def _wrong(name: str, label: str | None, what: str, rows: int) -> Finding:
    shown = "a missing value" if label is None else repr(label)
    return Finding("counts", f"the counts of {name!r} have {shown}: {what}", rows, {name: label})


def _by_themselves(name: str, lines: Lines | None, total: int, spec: Spec) -> Iterator[Finding]:
    """Find what is wrong with the lines of an attribute, whatever the release shows."""
    if lines is None:
        yield Finding("counts", f"the counts of values have no line about {name!r}", total, {})
        return
    attribute = spec.attributes[name]
    # Lines are values and nodes of the hierarchy, whatever the release's scheme makes of them.
    bare = attribute.model_copy(update={"scheme": None, "representation": None})
    plain = {"attributes": {**spec.attributes, name: bare}, "method": MethodTable()}
    form = grammar(name, spec.model_copy(update=plain), [label for label in lines.labels if label is not None])
    measurable = attribute.perhaps_numbers or attribute.perhaps_in_intervals
    numbers = attribute.model_copy(update={"order": "numeric"}) if measurable else attribute
    times = Counter(lines.labels)
    for label, rows in zip(lines.labels, lines.rows.tolist(), strict=True):
        if rows < spec.k:
            yield _wrong(name, label, f"{some(rows, 'row')}, fewer than k = {spec.k}", rows)
        if times[label] > 1:
            yield _wrong(name, label, "it is there twice", rows)
        if label not in (None, ROOT) and span_of(label, numbers) is None and not form.reads(label or ""):
            yield _wrong(name, label, f"that cannot be read; allowed: a range, {form.allowed}", rows)
    for one, other in lines.overlapping():
        yield _wrong(name, one, f"it shares values with {other!r}", total)
    if int(lines.rows.sum()) != total:
        message = f"the counts of {name!r} add up to {some(int(lines.rows.sum()), 'row')}; the release has {total:,}"
        yield Finding("counts", message, abs(int(lines.rows.sum()) - total), {})


def _tree_of(name: str, lines: Lines, released: Released, spec: Spec, whole: pa.Table | None) -> tuple[Tree, bool]:
    """Return the tree over the values of an attribute, and whether these are all that there are: beside the original or
    where the specification lists them; else they are those that release and counts show plainly."""
    if whole is not None:
        column = read_column(whole[name], name, spec)
        counts = total_by(column.codes, whole[ROWS].to_numpy().astype(np.int64), len(column.labels))
        return tree_over(name, spec, column.labels, counts.tolist())[0], True
    stated = stated_tree(name, spec, missing=True)
    if stated is not None:
        return stated, True
    column = next(column for column in released.quasi if column.name == name)
    shown = [label for label in dict.fromkeys((*column.spelled, *lines.labels)) if label is not None]
    if isinstance(lines.attribute.hierarchy, FanoutHierarchy):  # its groups depend on all values, and lines name none
        flat = lines.attribute.model_copy(update={"hierarchy": "flat", "boundary": None})
        spec = spec.model_copy(update={"attributes": {**spec.attributes, name: flat}})
    form = grammar(name, spec, shown)
    values = [label for label in shown if label != ROOT and form.is_value(label)]  # `*` is all, whatever is listed
    plainly = [label for label in values if not _names_several(label, lines.attribute)]
    return tree_over(name, spec, [*plainly, None], [1] * (len(plainly) + 1))[0], False


def _names_several(label: str, attribute: Attribute) -> bool:
    """Whether a label is a set or a range, and so no value by itself; values that look like it are taken for it."""
    return as_set(label) is not None or spans_of(label) is not None or span_of(label, attribute) is not None


@dataclass(frozen=True, eq=False)
class RowsShown:
    """How many rows of the release show that they are in each line, and how many may be; labels of no line, with their
    rows."""

    least: Longs
    most: Longs
    nowhere: list[tuple[str | None, int]]


def _shown(name: str, lines: Lines, released: Released, tree: Tree, complete_: bool, spec: Spec) -> RowsShown:
    """Return what the release shows of lines: each row is counted in a line of a value of its label."""
    column = next(column for column in released.quasi if column.name == name)
    rows = total_by(column.codes, released.rows, len(column.labels))
    held, line_of = held_in(tree, spec.attributes[name]), lines.among(tree.paths)
    found = RowsShown(np.zeros(len(lines.labels), np.int64), np.zeros(len(lines.labels), np.int64), [])
    for label, spelled, count in zip(column.labels, column.spelled, rows.tolist(), strict=True):
        if not complete_ and spelled not in tree.leaf_of:
            found.most[:] += count
            continue
        of = np.unique(line_of[held.by(label)])
        there = of[of >= 0]
        if not len(there):
            found.nowhere.append((label, count))
            continue
        found.most[there] += count
        if len(of) == 1:
            found.least[there] += count
    return found


def _beside_labels(name: str, lines: Lines, shown: RowsShown) -> Iterator[Finding]:
    """Find lines that do not fit what the release shows."""
    for label, count in shown.nowhere:
        yield _wrong(name, label, f"in no line, but {some(count, 'row')} of the release show it", count)
    least, most = shown.least.tolist(), shown.most.tolist()
    for label, count, low, high in zip(lines.labels, lines.rows.tolist(), least, most, strict=True):
        if count < low:
            yield _wrong(name, label, f"{some(count, 'row')}, but {low:,} of the release show as much", low - count)
        if count > high:
            yield _wrong(
                name, label, f"{some(count, 'row')}, but only {high:,} of the release can have it", count - high
            )


def _beside_original(name: str, lines: Lines, known: Known, line_of: Longs) -> Iterator[Finding]:
    """Find lines that are not true; `line_of` says in which line each combination of the original is."""
    counted = known.counted[name]
    true = summed(line_of, counted[ROWS].to_numpy().astype(np.int64), len(lines.labels))
    lost = int(counted[ROWS].to_numpy()[line_of < 0].sum())
    if lost > known.gone:
        yield Finding("counts", f"the counts of {name!r} have no line for values of {some(lost, 'row')}", lost, {})
    for label, count, rows in zip(lines.labels, lines.rows.tolist(), true.tolist(), strict=True):
        if not rows - known.gone <= count <= rows:
            all_ = "of the original" if known.gone else "of the published ones"
            yield _wrong(name, label, f"{some(count, 'row')}, but {rows:,} {all_} have it", abs(count - rows))


@dataclass(frozen=True, eq=False)
class Behind:
    """How many people are behind each line, at least and at most."""

    least: Longs
    most: Longs


def _people_behind(counted: pa.Table, line_of: Longs, shown: Longs, gone: int, entity: str) -> Behind:
    """Return how many people are behind lines: at most all with such a row in the original, at least those who are left
    if what is gone are rows of the people with the fewest.

    Of a line, no more than all that went are gone, and no row that is `shown` to be there. What the line itself says of
    its rows is not believed: nobody can see whether it is true.
    """
    lines, people = len(shown), told_apart(counted[entity])[0]
    pairs, place = np.unique(np.stack([line_of, people]), axis=1, return_inverse=True)
    rows = summed(place.reshape(-1), counted[ROWS].to_numpy().astype(np.int64), pairs.shape[1])
    order = np.lexsort((rows, pairs[0]))
    line, rows = pairs[0][order], rows[order]
    line, rows = line[line >= 0], rows[line >= 0]
    taken = np.cumsum(rows)
    taken -= np.append(0, taken)[np.searchsorted(line, line)]  # from here on, of the same line
    stays = taken > np.minimum(summed(line, rows, lines) - shown, gone)[line]
    return Behind(np.bincount(line[stays], minlength=lines), np.bincount(line, minlength=lines))


def _of_too_few(name: str, lines: Lines, people: Longs, k: int) -> Iterator[Finding]:
    """Find lines of rows that fewer than k people have, whichever of their rows were published."""
    for label, count, owners in zip(lines.labels, lines.rows.tolist(), people.tolist(), strict=True):
        if owners < k <= count:
            yield _wrong(name, label, f"{some(count, 'row')} of {owners} people, fewer than k = {k}", count)


def known_rows(
    engine: Engine, released: Released, spec: Spec, original: ibis.Table, origin: Origin | None
) -> Known | None:
    """Return what is known of the rows of the original that were published; nothing, if it has not all columns."""
    quasi, whose = spec.of_role("quasi"), [] if spec.data.entity is None else [spec.data.entity]
    lots = [[name, *whose] for name in quasi]
    if origin is not None and origin.marked is not None:
        raw = {name: f"{RAW}{name}" for name in (*quasi, *whose)}
        rows = engine.beside(origin.marked, [], origin.original, raw)
        found = engine.counts(rows, [[raw[name] for name in lot] for lot in lots])
        named = [table.rename_columns([*lot, ROWS]) for table, lot in zip(found, lots, strict=True)]
        return Known(dict(zip(quasi, named, strict=True)), 0)
    if not {*whose} <= {*original.columns}:
        return None
    gone = engine.size(original) - int(released.rows.sum())
    if gone and spec.recodes_values:
        joint = engine.count(original, [*quasi, *whose])
        kept = joint.filter(pa.array(_published(joint, released, spec)))
        if sum(kept[ROWS].to_pylist()) == int(released.rows.sum()):
            return Known({name: kept.select([*lot, ROWS]) for name, lot in zip(quasi, lots, strict=True)}, 0)
    return Known(dict(zip(quasi, engine.counts(original, lots), strict=True)), max(gone, 0))


def _published(joint: pa.Table, released: Released, spec: Spec) -> Bools:
    """Return which combinations of the original are of classes that are there, where each value has one label."""
    expected = [recoded(column, joint[column.name], joint[ROWS], spec) for column in released.quasi]
    labels = [
        replace(column, codes=np.concatenate([column.codes, np.maximum(codes, 0)]))
        for column, codes in zip(released.quasi, expected, strict=True)
    ]
    count = len(released.rows)
    class_of: Longs = classes(labels, count + joint.num_rows)[1]
    unlabelled = np.logical_or.reduce([codes < 0 for codes in expected])
    there: Bools = np.isin(class_of[count:], class_of[:count]) & ~unlabelled
    return there
