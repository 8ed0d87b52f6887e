"""What the columns of a release may be and show: roles, missing values, labels, boundaries."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import ibis
import numpy as np
import pyarrow as pa

from ringfence.arrays import Longs
from ringfence.audit.counts import Column, Released, gaps, total_by
from ringfence.audit.labels.grammar import grammar
from ringfence.audit.labels.spelling import ROOT
from ringfence.audit.verdict import Finding, some
from ringfence.errors import DataError, listed, suggestion
from ringfence.rows.columns import delimiter_hint
from ringfence.rows.engine import Engine
from ringfence.spec import Spec
from ringfence.spec.attributes import BoundaryLevel

SHOWN_VALUES = 10
GAPS = ("NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?", ".", "-")
"""How others write that a value is missing."""
LABEL = "ringfence label"


def require_columns(columns: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a table that lacks a column it is to be judged by."""
    for name in needed:
        if name not in columns:
            hint = delimiter_hint(columns, needed) or f"; its columns are: {listed(map(repr, columns))}"
            near = suggestion(name, columns)
            raise DataError(f"the release has no column {name!r}{near}, without which it cannot be judged{hint}")


def without_blanks(engine: Engine, rows: ibis.Table, spec: Spec) -> ibis.Table:
    """Return the rows without columns that say nothing: other tools keep identifiers, with `*` in every cell."""
    others = spec.data.basket_id, spec.data.weights, spec.pseudonym
    kept = {*spec.of_role("quasi", "sensitive", "insensitive", "items"), *others}
    return rows.drop(*_blank(engine, rows, [name for name in rows.columns if name not in kept]))


def _blank(engine: Engine, rows: ibis.Table, names: Sequence[str]) -> list[str]:
    """Return those of some columns in which all cells are the same nothing: missing, `*` or an empty text.

    A column with some of this and some of that tells its rows apart. There may be hundreds: one scan is for all.
    """
    kinds = rows.schema()
    flat = [name for name in names if not kinds[name].is_nested()]
    held = engine.in_memory(rows, flat)
    if held is not None:
        found = {name: held[name].unique().to_pylist() for name in flat}
        return [name for name, cells in found.items() if len(cells) <= 1 and {*cells} <= {None, ROOT, ""}]
    if not flat:
        return []
    there = {name: rows[name].notnull() for name in flat}
    ways = {(name, 0): ~cell for name, cell in there.items()}
    texts = [name for name in flat if kinds[name].is_string()]
    ways |= {(name, way): there[name] & (rows[name] == text) for name in texts for way, text in ((1, ROOT), (2, ""))}
    asked = [are.all().name(f"{LABEL} {way} {name}") for (name, way), are in ways.items()]
    found = engine.fetch(rows.aggregate(asked)).to_pylist()[0]
    blank = {name for name, way in ways if found[f"{LABEL} {way} {name}"] is not False}  # None where there are no rows
    return [name for name in flat if name in blank]


def column_findings(columns: Sequence[str], total: int, spec: Spec) -> Iterator[Finding]:
    """Find columns that must not be published: identifiers, and those that were given no role."""
    entity = spec.data.entity
    named = {*spec.of_role("identifier"), entity} - {spec.pseudonym}
    identifiers = [name for name in columns if name in named]
    if identifiers:
        message = f"the release still has identifiers: {listed(map(repr, identifiers))}"
        yield Finding("identifier", message, total, {})
    unlisted = [name for name in columns if name not in spec.attributes and name != entity]
    if unlisted and spec.data.unlisted != "publish":
        message = f"the release has columns without a role: {listed(map(repr, unlisted))}"
        yield Finding("unlisted", message, total, {})


def zero_findings(engine: Engine, rows: ibis.Table, total: int) -> Iterator[Finding]:
    """Find columns of numbers that have both 0 and -0: they are one number, and a reader can tell them apart."""
    floats = [name for name, kind in rows.schema().items() if kind.is_floating()]
    if not floats or not total:
        return
    held = engine.in_memory(rows, floats)
    both = _of_both_signs(engine, rows, floats) if held is None else [n for n in floats if _has_both_zeros(held[n])]
    for name in both:
        yield Finding("recoding", f"{name!r} has both 0 and -0, which are one number and look different", total, {})


def _has_both_zeros(numbers: pa.ChunkedArray) -> bool:
    cells = numbers.to_numpy()
    signs = np.signbit(cells[cells == 0])
    return bool(signs.any() and not signs.all())


def _of_both_signs(engine: Engine, rows: ibis.Table, floats: Sequence[str]) -> list[str]:
    """Return those of some columns of numbers that have both zeros, by one scan."""
    signs = [
        ((rows[name] == 0) & (sign * (1.0 / rows[name].cast("float64")) > 0)).any().name(f"{name} {sign}")
        for name in floats
        for sign in (1, -1)
    ]
    found = engine.fetch(rows.aggregate(signs)).to_pylist()[0]
    return [name for name in floats if found[f"{name} 1"] and found[f"{name} -1"]]


def missing_findings(released: Released, spec: Spec, looked_at: Collection[str]) -> Iterator[Finding]:
    """Find values that are missing where the specification says that such rows are not published: of the sensitive
    attributes those that models have `looked_at`, and not those that only attacks guess at."""
    if spec.data.missing == "value":
        return
    for column in (*released.quasi, *(released.sensitive[name] for name in looked_at)):
        none = [code for code, label in enumerate(column.labels) if label is None or label in gaps(spec) - {ROOT}]
        if none:
            missing = int(total_by(column.codes, released.rows, len(column.labels))[none].sum())
            message = (
                f"{column.name!r} has no value in {some(missing, 'row')}, but data.missing = {spec.data.missing!r}"
            )
            yield Finding("missing", message, missing, _where(released, column, none[-1], released.rows))


def label_findings(released: Released, spec: Spec, engine: Engine, rows: ibis.Table) -> Iterator[Finding]:
    """Find labels that an attribute cannot have, labels above its boundary, and labels that share values."""
    for column in released.quasi:
        labels = {code: label for code, label in enumerate(column.spelled) if label is not None}
        form = grammar(column.name, spec, labels.values())
        strange = {code for code, label in labels.items() if not form.reads(label)}
        scheme = spec.scheme_of(column.name)
        whose = f"is no label of its {f'scheme {scheme!r}' if form.disjoint else 'hierarchy'}"
        stated = form.disjoint or spec.attributes[column.name].hierarchy is not None
        wrong = f"which {whose if stated else 'cannot be read'}; allowed: {form.allowed}"
        as_they_stand = [column.labels[code] or "" for code in strange]
        gaps = sorted({*as_they_stand} & {*GAPS})
        wrong += f" (where {listed(map(repr, gaps))} means that a value is missing: data.missing_values)" * bool(gaps)
        sayable = [label for label in as_they_stand if "\0" not in label]  # a statement ends at a zero byte
        for finding in _about(released, column, strange, "labels", wrong, released.rows):
            row = engine.first(rows, rows[column.name].cast("string").isin(sayable)) if sayable else None
            yield (
                replace(finding, message=f"{finding.message}; first in row {row:,}, not counting the names of columns")
                if row
                else finding
            )
        # Rows that are kept with everything masked were suppressed, not generalized.
        judged = np.where(released.masked, 0, released.rows) if spec.method.keep_suppressed else released.rows
        boundary = spec.attributes[column.name].boundary
        # Without a boundary, every value may be published as the root.
        bounded = labels.keys() - strange if boundary is not None else ()
        passing = [code for code in bounded if form.passes(labels[code])]
        limit = f"level {boundary.level}" if isinstance(boundary, BoundaryLevel) else listed(map(repr, boundary or []))
        wrong = f"which is past its boundary; allowed: nothing above {limit}"
        yield from _about(released, column, passing, "boundary", wrong, judged)
        shared = form.sharing({*column.spelled})
        sharing = [code for code, label in enumerate(column.spelled) if label in shared]
        wrong = f"which share values; by the scheme {scheme!r} each value has one label"
        yield from _about(released, column, sharing, "recoding", wrong, released.rows)


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
