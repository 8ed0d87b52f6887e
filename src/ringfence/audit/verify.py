"""The audit: does a released table keep the promise of its specification? Judged by what it says, and nothing else.

One scan counts the combinations of published values; all judgements are made on those counts, each from its definition,
with no code in common with the searches, their models or their metrics.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import ibis
import numpy as np

from ringfence.audit.against import judge_against, read_linked
from ringfence.audit.corruption import corrupt
from ringfence.audit.counts import Column, Longs, Released, read_released, total_by
from ringfence.audit.guarantees import judge
from ringfence.audit.itemsets import BasketJudgement, judge_baskets
from ringfence.audit.labels import grammar
from ringfence.audit.rings import DRAW, find_matches, judge_rings
from ringfence.audit.verdict import Example, Finding, Verdict, some
from ringfence.basket_rows import fetch_baskets, gather
from ringfence.builders import stated_hierarchy
from ringfence.engine import ROWS, Engine
from ringfence.errors import DataError, SpecError, listed, suggestion
from ringfence.spec import BoundaryLevel, Spec

SHOWN_VALUES = 10
PLACE, LABEL = "ringfence place", "ringfence label"
SHOWN_CLASSES = 5

__all__ = ["Example", "Finding", "Verdict", "verify"]


def verify(
    engine: Engine, rows: ibis.Table, spec: Spec, original: ibis.Table | None = None, *, corrupted: int = 0
) -> Verdict:
    """Return whether a released table keeps the promise of the specification, with what was measured and what is wrong.

    Rows with the same labels in all quasi-identifiers are a class; numbers are compared by value, all else as text. A
    missing value is a label like any other, and rows with `*` in every quasi-identifier are a class like any other.
    Baskets are judged by their labels, whatever else is in their rows. A table that lacks a column it is to be judged
    by is a DataError: it could not be judged.

    With the original, the release is also traced back to it, row by row, but for baskets. A release of the method
    `ring` has no classes; it is judged by who could be who, and cannot be judged without the original. `corrupted`
    asks what is left to guess for an adversary who knows whose that many rows are.
    """
    quasi, sensitive, items = spec.of_role("quasi"), _needed(spec), spec.of_role("items")
    _refuse_unjudged(spec, original is not None, corrupted)
    basket = [] if spec.data.basket_id is None else [spec.data.basket_id]
    _require(rows.columns, [*quasi, *sensitive, *items, *basket])
    columns: list[str] = [name for name in rows.columns if name not in basket]
    rows = gather(engine, rows, spec, columns)
    counted = engine.count(rows, [*quasi, *sensitive] or columns[:1])  # without quasi-identifiers, all are one class
    released = read_released(counted, ROWS, quasi, sensitive, spec)
    total = int(released.rows.sum())
    findings = [*_column_findings(columns, total, spec)]
    measured: dict[str, int | float] = {"k": 0}
    notes: list[str] = []
    if total == 0:
        findings.append(Finding("rows", "the release has no rows; a release must have some", 0, {}))
    else:
        findings += [*_missing_findings(released, spec), *_label_findings(released, spec, engine, rows)]
    if total > 0 and not _has_rings(spec):
        for judgement in judge(released, spec):
            measured[judgement.key] = judgement.measured
            finding = judgement.finding(released)
            findings += [] if finding is None else [finding]
    if total > 0 and original is not None:
        beside, known = rows.drop(*items), _beside(engine, original, spec)
        found, counted_against = judge_against(read_linked(engine, beside, known, spec), spec)
        if "past_boundary" in counted_against:  # cell by cell, which tells more than the labels alone
            findings = [finding for finding in findings if finding.rule != "boundary"]
        if _has_rings(spec) or corrupted:
            linked = read_linked(engine, beside, known, spec, blind=True)
            matches = find_matches(linked.graph)  # where there are none, the release cannot be traced back either
            if matches is not None and _has_rings(spec):
                faults, by_matches = judge_rings(matches, linked, released, spec)
                found, counted_against = [*faults, *found], {**by_matches, **counted_against}
                notes.append(DRAW)
            if matches is not None and corrupted:
                after = corrupt(matches, corrupted)
                counted_against |= {"after_corruption": after.fewest, "after_corruption_bound": after.bound}
                notes.append(str(after))
        findings += found
        measured |= counted_against
    if total > 0 and spec.privacy.m is not None:
        baskets = _judge_baskets(engine, rows, spec, spec.privacy.m)
        findings += baskets.findings
        measured |= {f"k:{spec.items}" if quasi else "k": baskets.measured["k"], "m": baskets.measured["m"]}
    measured["rows"] = total
    if items and not quasi:  # there are no classes to speak of
        return Verdict(not findings, measured, tuple(findings), ())
    measured["classes"] = len(released.sizes)
    measured["masked"] = int(released.rows[released.masked].sum())
    measured["missing"] = int(released.rows[released.incomplete].sum())
    return Verdict(not findings, measured, tuple(findings), _smallest(released), tuple(notes))


def _has_rings(spec: Spec) -> bool:
    """Whether the rows of one class may stand for different people than those of the next: then classes say nothing."""
    return spec.method.name == "ring" and not spec.method.homogeneous


def _beside(engine: Engine, original: ibis.Table, spec: Spec) -> ibis.Table:
    """Return the rows of an original that a release can be traced back to: of a long table, one a basket."""
    if spec.items is None:
        return original
    if not spec.of_role("quasi"):
        raise SpecError(f"the baskets in {spec.items!r} are judged by themselves: leave the original out")
    basket = [spec.data.basket_id, spec.items]
    hidden = [*spec.of_role("identifier"), *(name for name in original.columns if name not in spec.attributes)]
    columns = [name for name in original.columns if name in basket or name not in hidden]
    return gather(engine, original, spec, columns).drop(spec.items)


def _judge_baskets(engine: Engine, rows: ibis.Table, spec: Spec, m: int) -> BasketJudgement:
    """Judge baskets by their labels, and these by the item tree where the specification alone determines it.

    A tree that was made from the items of the original cannot be made again from what is published.
    """
    name = spec.items or ""
    tree = stated_hierarchy(name, spec)
    return judge_baskets(fetch_baskets(engine, rows, spec), tree, spec.privacy.k or 1, m, name)


def _needed(spec: Spec) -> list[str]:
    """Return the sensitive attributes that the models look at."""
    names = spec.of_role("sensitive") if spec.privacy.p is not None else []
    names += [part.of or "" for part in spec.diversities()] + [part.of or "" for part in spec.closenesses()]
    return list(dict.fromkeys(names))


def _refuse_unjudged(spec: Spec, has_original: bool, corrupted: int) -> None:
    """Refuse promises that are not judged yet, or not without the original: to pass over them would be to vouch."""
    if spec.data.entity is not None:
        raise SpecError(f"data.entity = {spec.data.entity!r} cannot be judged yet; leave it out to judge what can be")
    if corrupted < 0:
        raise SpecError(f"corrupted = {corrupted}: allowed: how many rows the adversary knows, from 0 on")
    if corrupted and not has_original:
        raise DataError("what known rows give away could not be judged: it needs the original")
    if _has_rings(spec):
        if not has_original:
            raise DataError(
                "a release of the method 'ring' could not be judged: its rows have no classes, and who could be who is"
                " seen only beside the original; give the original, or set method.homogeneous = true if it has classes"
            )
        kinds = {part.kind for part in spec.diversities()} - {"distinct"}
        others = {"privacy.t": bool(spec.closenesses()), "privacy.p": spec.privacy.p is not None}
        for key in [key for key, asked in others.items() if asked] + [f"privacy.l of kind {kind!r}" for kind in kinds]:
            raise SpecError(f"{key} cannot be judged for the method 'ring', which promises k and distinct l")


def _require(columns: Sequence[str], needed: Sequence[str]) -> None:
    for name in needed:
        if name not in columns:
            raise DataError(
                f"the release has no column {name!r}{suggestion(name, columns)}, without which it cannot be judged;"
                f" its columns are: {listed(map(repr, columns))}"
            )


def _column_findings(columns: Sequence[str], total: int, spec: Spec) -> Iterator[Finding]:
    """Find columns that must not be published: identifiers, and those that were given no role."""
    identifiers = [name for name in columns if name in spec.of_role("identifier")]
    if identifiers:
        message = f"the release still has identifiers: {listed(map(repr, identifiers))}; remove them"
        yield Finding("identifier", message, total, {})
    unlisted = [name for name in columns if name not in spec.attributes]
    if unlisted and spec.data.unlisted != "publish":
        message = (
            f"the release has columns without a role: {listed(map(repr, unlisted))};"
            " remove them, give each a role under [attributes], or set data.unlisted = 'publish'"
        )
        yield Finding("unlisted", message, total, {})


def _missing_findings(released: Released, spec: Spec) -> Iterator[Finding]:
    """Find values that are missing where the specification says that such rows are not published."""
    if spec.data.missing == "value":
        return
    for column in (*released.quasi, *released.sensitive.values()):
        if column.labels[-1] is None:
            missing = int(total_by(column.codes, released.rows, len(column.labels))[-1])
            message = (
                f"{column.name!r} has no value in {some(missing, 'row')}, but data.missing = {spec.data.missing!r};"
                " remove them, or set data.missing = 'value'"
            )
            yield Finding("missing", message, missing, _where(released, column, len(column.labels) - 1, released.rows))


def _label_findings(released: Released, spec: Spec, engine: Engine, rows: ibis.Table) -> Iterator[Finding]:
    """Find labels that an attribute cannot have, labels above its boundary, and labels that share values."""
    for column in released.quasi:
        labels = {code: label for code, label in enumerate(column.labels) if label is not None}
        form = grammar(column.name, spec, labels.values())
        strange = {code for code, label in labels.items() if not form.reads(label)}
        scheme = spec.scheme_of(column.name)
        whose = f"scheme {scheme!r}" if form.disjoint else "hierarchy"
        wrong = f"which is no label of its {whose}; allowed: {form.allowed}"
        for finding in _about(released, column, strange, "labels", wrong, released.rows):
            row = _first_row(engine, rows, column.name, [labels[code] for code in strange])
            yield replace(finding, message=f"{finding.message}; first in row {row:,}") if row else finding
        # Rows that are kept with everything masked were suppressed, not generalized.
        judged = np.where(released.masked, 0, released.rows) if spec.method.keep_suppressed else released.rows
        passing = [code for code in labels.keys() - strange if form.passes(labels[code])]
        boundary = spec.attributes[column.name].boundary
        limit = f"level {boundary.level}" if isinstance(boundary, BoundaryLevel) else listed(map(repr, boundary or []))
        wrong = f"which is past its boundary; allowed: nothing above {limit}"
        yield from _about(released, column, passing, "boundary", wrong, judged)
        shared = form.sharing(column.labels)
        sharing = [code for code, label in enumerate(column.labels) if label in shared]
        wrong = f"which share values; by the scheme {scheme!r} each value has one label"
        yield from _about(released, column, sharing, "recoding", wrong, released.rows)


def _first_row(engine: Engine, rows: ibis.Table, name: str, labels: Sequence[str]) -> int | None:
    """Return the first row, counted from 1, that has one of these labels as it stands."""
    place = ibis.row_number().name(PLACE)
    numbered = rows.select(rows[name].cast("string").name(LABEL), place)
    first = engine.fetch(numbered.filter(numbered[LABEL].isin(labels)).aggregate(numbered[PLACE].min().name(PLACE)))
    found = first[PLACE].to_pylist()[0]
    return None if found is None else int(found) + 1


def _about(
    released: Released, column: Column, codes: Collection[int], rule: str, wrong: str, rows: Longs
) -> Iterator[Finding]:
    """Report labels of a column that break a rule, the commonest first, if any of these rows have them."""
    counts = total_by(column.codes, rows, len(column.labels))
    bad = sorted((code for code in codes if counts[code] > 0), key=lambda code: (-counts[code], code))
    if bad:
        values = [f"{column.labels[code]!r} ({some(int(counts[code]), 'row')})" for code in bad[:SHOWN_VALUES]]
        rest = f" and {len(bad) - SHOWN_VALUES} more" if len(bad) > SHOWN_VALUES else ""
        message = f"{column.name!r} is published as {listed(values)}{rest}, {wrong}"
        yield Finding(rule, message, int(counts[bad].sum()), _where(released, column, bad[0], rows))


def _where(released: Released, column: Column, code: int, rows: Longs) -> dict[str, str | None]:
    """Return the first class that has a label in any of these rows."""
    return released.labels_of(int(released.class_of[(column.codes == code) & (rows > 0)].min()))


def _smallest(released: Released) -> tuple[Example, ...]:
    """Return the smallest classes, those of equal size in the order of their labels."""
    order = np.argsort(released.sizes, kind="stable")[:SHOWN_CLASSES].tolist()
    return tuple(Example(released.labels_of(number), int(released.sizes[number])) for number in order)
