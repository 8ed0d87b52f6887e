"""Published baskets beside their original: is each of them one of its baskets, under the labels of its items?

Every item has one label, so that a basket of the original can be published in one way only. What should be there is
compared with what is there, row by row: with all else that is published of the row.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Longs
from ringfence.audit.counts import classes, total_by
from ringfence.audit.labels.item_labels import ItemLabels, item_labels
from ringfence.audit.trace.linkage import together
from ringfence.audit.verdict import Finding, some
from ringfence.errors import listed
from ringfence.rows.basket_rows import CountedBaskets, as_baskets
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec

SHOWN = 5
BASKET = "ringfence basket"
"""Baskets in the form in which those of both tables are compared."""


def labels_beside(published: CountedBaskets, original: CountedBaskets, spec: Spec, *, complete: bool) -> ItemLabels:
    """Return under which label each item of an original is published; `complete` if all of its rows are."""
    shown = {*published.lists.values.unique().to_pylist()}
    return item_labels(shown, _support(original), spec, complete=complete)


def _support(original: CountedBaskets) -> dict[str, int]:
    """Return how many rows have each item."""
    encoded = original.lists.values.dictionary_encode()
    owners = pc.list_parent_indices(original.lists).to_numpy()
    counts = total_by(encoded.indices.to_numpy(), original.rows[owners], len(encoded.dictionary))
    return dict(zip(encoded.dictionary.to_pylist(), counts.tolist(), strict=True))


def with_baskets(release: pa.Table, original: pa.Table, labels: ItemLabels, spec: Spec) -> tuple[pa.Table, pa.Table]:
    """Return combinations of both tables with their baskets as they are compared, in the column `BASKET`."""
    return _spelled(release, labels.shown, spec), _spelled(original, labels.expected, spec)


def _spelled(counted: pa.Table, spell: Callable[[Sequence[str]], str | None], spec: Spec) -> pa.Table:
    known: dict[tuple[str, ...], str | None] = {}
    baskets = map(tuple, as_baskets(counted[spec.item_column], spec).to_pylist())
    spelled = [known[each] if each in known else known.setdefault(each, spell(each)) for each in baskets]
    return counted.drop_columns([spec.item_column]).append_column(BASKET, pa.array(spelled, pa.string()))


def trace_baskets(
    release: pa.Table, original: pa.Table, labels: ItemLabels, spec: Spec
) -> tuple[list[Finding], dict[str, int]]:
    """Return what is wrong with published rows without quasi-identifiers beside their original, and how many of its
    rows are not there. Both are given as combinations of baskets and all columns that they share."""
    ours, theirs = with_baskets(release, original, labels, spec)
    columns = [together(ours[name], theirs[name], name, spec) for name in ours.column_names if name != ROWS]
    row_of = classes(columns, ours.num_rows + theirs.num_rows)[1]
    there, wanted = (_totals(each, part, len(row_of)) for each, part in
                     zip((ours, theirs), np.split(row_of, [ours.num_rows]), strict=True))  # fmt: skip
    measured = {"original": int(wanted.sum()), "suppressed": max(int(wanted.sum() - there.sum()), 0)}
    made_up = np.maximum(there - wanted, 0)
    findings = []
    if there.sum() > wanted.sum():
        more = int(there.sum() - wanted.sum())
        findings.append(Finding("rows", f"the release has {some(more, 'basket')} more than the original", more, {}))
    if made_up.any():
        worst = int(np.argmax(made_up[row_of[: ours.num_rows]]))
        findings.append(_made_up(ours[BASKET][worst].as_py(), int(made_up.sum()), labels.label_of, spec.item_column))
    return findings, measured


def _totals(counted: pa.Table, row_of: Longs, count: int) -> Longs:
    return total_by(row_of, counted[ROWS].to_numpy(), count)


def trace_pairs(published: CountedBaskets, original: CountedBaskets, spec: Spec) -> Iterator[Finding]:
    """Find published baskets that are not made of the labels of the items of the basket beside them."""
    labels = labels_beside(published, original, spec, complete=True)
    wrong = Counter[str]()
    for (shown, rows), (bought, _) in zip(published.counted(), original.counted(), strict=True):
        found = labels.shown(shown)
        if found != labels.expected(bought):
            wrong[found] += rows
    if wrong:
        yield _made_up(wrong.most_common(1)[0][0], wrong.total(), labels.label_of, spec.item_column)


def _made_up(example: str, rows: int, label_of: Mapping[str, str | None], name: str) -> Finding:
    """Report baskets that are none of the original."""
    unlabelled = sorted(item for item, label in label_of.items() if label is None)
    nowhere = f"; no label holds {listed(map(repr, unlabelled[:SHOWN]))}" if unlabelled else ""
    message = f"{some(rows, 'basket')} of {name!r} cannot be traced back to one of the original{nowhere}"
    return Finding("original", message, rows, {name: example})
