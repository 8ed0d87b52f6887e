"""Which columns hold dates, where the specification does not say: by their types, or by what labels look like.

A table whose columns are days and moments needs no word about it. Of its release there are labels left, which are text:
where all of them are dates in their one spelling, ranges and sets of these, that is what they are if there is a range
among them; and in any spelling, if they are to be on a line, which words are not.
"""

from collections.abc import Iterable, Sequence

import ibis

from ringfence.audit.labels.moments import as_moment, is_moment
from ringfence.audit.labels.spelling import ROOT, as_set, ends_of
from ringfence.rows.engine import Engine
from ringfence.spec import Spec


def told_dates(engine: Engine, rows: ibis.Table, spec: Spec, beside: Sequence[ibis.Table | None]) -> Spec:
    """Return a specification that says of columns that they hold dates where a release, or a table beside it, does."""
    kinds = [each for table in (rows, *beside) if table is not None for each in table.schema().items()]
    spec = spec.with_dates([name for name, kind in kinds if kind.is_date() or kind.is_timestamp()])
    open_questions = [
        name
        for name in spec.of_role("quasi")
        if name in rows.columns and rows[name].type().is_string() and not spec.attributes[name].dates
    ]
    labels = {name: engine.fetch(rows.select(name).distinct())[name].to_pylist() for name in open_questions}
    numeric = {name: spec.attributes[name].numeric for name in labels}
    return spec.with_dates([name for name, texts in labels.items() if _are_dates(texts, on_a_line=numeric[name])])


def _are_dates(labels: Iterable[str | None], *, on_a_line: bool) -> bool:
    """Whether labels are dates, ranges and sets of dates; and one is a range at least, unless they are on a line."""
    dates, ranges = 0, 0
    for label in labels:
        if label is None or label == ROOT:
            continue
        ends = ends_of(label)
        ranges += ends is not None
        values = ends or as_set(label) or (label,)
        told = [value for value in values if value is not None]
        if any(as_moment(value) is None if on_a_line else not is_moment(value) for value in told):
            return False
        dates += 1
    return ranges > 0 or (on_a_line and dates > 0)
