"""The form of published baskets: those that hold the same must look the same, or their form marks the rows they are in.

So a basket has nothing in it but its labels, without blanks around them. Sets have no order: where labels stand in one
here and in another there, as in the order of purchase, that is told in a note. Ours have that of the tree.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Bools, Longs
from ringfence.audit.labels.spelling import written
from ringfence.audit.verdict import Finding, some
from ringfence.rows.basket_rows import as_baskets
from ringfence.rows.coded import texts_of
from ringfence.rows.engine import Engine
from ringfence.rows.item_columns import ITEMS, basket_lines, is_spmf
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec
from ringfence.spec.data import Data

NOTHING = "ringfence nothing"


def form_findings(column: pa.ChunkedArray, rows: Longs, spec: Spec) -> Iterator[Finding]:
    """Find baskets that are written in another way than the rest, given the different ones and how many have each."""
    name = spec.item_column
    cells, lists = texts_of(column).combine_chunks(), as_baskets(column, spec)
    odd = _is_odd(cells, lists, spec.attributes[name].separator)
    if odd.any():
        shown = cells[int(np.argmax(odd))].as_py()
        message = (
            f"{some(int(rows[odd].sum()), 'basket')} of {name!r} {'has' if odd.sum() == 1 else 'have'} more in it than"
            f" labels, such as blanks around them or what is no label, which marks rows: {shown!r}"
        )
        yield Finding("form", message, int(rows[odd].sum()), {name: str(shown)})


def line_findings(path: Path, data: Data) -> Iterator[Finding]:
    """Find lines of a basket file that are written in another way than the rest: a reader sees blanks that reading it
    leaves out. All lines may end alike, as other tools' do."""
    lines = basket_lines(path, data.encoding, repr(str(path)))
    spmf = is_spmf(lines)
    if spmf:
        lines = [line for line in lines if line[:1] not in ("@", "#", "%")]
    odd = [line for line in lines if line.rstrip() != _as_line(line, spmf=spmf)]
    ends = Counter(line[len(line.rstrip()) :] for line in lines if line.strip())
    usual = max(ends, key=ends.__getitem__, default="")
    odd = odd or [line for line in lines if line.strip() and line != line.rstrip() + usual]
    if odd:
        message = f"{some(len(odd), 'basket')} of {ITEMS!r} stand otherwise in the file than the rest, which marks rows"
        yield Finding("form", f"{message}: {odd[0]!r}", len(odd), {ITEMS: odd[0]})


def row_findings(engine: Engine, rows: ibis.Table, spec: Spec) -> Iterator[Finding]:
    """Find baskets of a long table with a row for no item beside other rows: only one that is empty has such a row."""
    basket, name = spec.data.basket_id, spec.items
    if basket is None or name is None:
        return
    nothing = rows[name].isnull()
    if rows[name].type().is_string():
        nothing |= rows[name].replace(" ", "") == ""  # Spark would strip v and f, too
    counted = rows.group_by(basket).aggregate(rows.count().name(ROWS), nothing.fill_null(True).sum().name(NOTHING))
    odd = engine.size(counted.filter((counted[NOTHING] > 0) & (counted[ROWS] > 1)))
    if odd:
        message = f"{some(odd, 'basket')} of {name!r} {'has' if odd == 1 else 'have'} rows for no item beside others"
        yield Finding("form", f"{message}, which marks them", odd, {})


def _as_line(line: str, *, spmf: bool) -> str:
    """Return a line of a basket file as we would write it.

    >>> _as_line(" a  b", spmf=False), _as_line("a -1  b -1 -2", spmf=True)
    ('a b', 'a -1 b -1 -2')
    """
    words = line.split()
    if not spmf:
        return " ".join(words)
    return "".join(f"{word} -1 " for word in words if word not in ("-1", "-2")) + "-2"


def _is_odd(cells: pa.Array, lists: pa.ListArray, separator: str | None) -> Bools:
    """Return which cells are not what their labels make, by the way of writing that fits most of them."""
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        return _is_odd_list(cells, lists)
    texts = pc.fill_null(cells.cast(pa.string()), "")
    tried = (pc.not_equal(texts, pc.binary_join(lists, between)) for between in _ways(separator or ""))
    return min((each.to_numpy(zero_copy_only=False) for each in tried), key=np.count_nonzero)


def _ways(separator: str) -> Sequence[str]:
    """Return what may stand between labels: the separator, as it is or with blanks. All baskets must have the same."""
    return separator, f"{separator} ", f" {separator} "


def _is_odd_list(cells: pa.Array, lists: pa.ListArray) -> Bools:
    """Return which lists have something in them that is no label, or blanks around one."""
    lengths = pc.fill_null(pc.list_value_length(cells), 0).to_numpy()
    odd: Bools = lengths != pc.list_value_length(lists).to_numpy()
    items, owners = pc.list_flatten(cells), pc.list_parent_indices(cells).to_numpy()
    if pa.types.is_dictionary(items.type):
        items = items.cast(items.type.value_type)
    if pa.types.is_string(items.type) or pa.types.is_large_string(items.type):
        blanks = pc.not_equal(items, pc.utf8_trim_whitespace(items))
        odd[owners[pc.fill_null(blanks, True).to_numpy(zero_copy_only=False)]] = True
    return odd


def order_notes(lists: pa.ListArray, rows: Longs, name: str) -> Iterator[str]:
    """Tell of baskets whose labels stand in an order that no order of all labels explains: it may mark their rows.

    Those that have a label twice are found elsewhere.
    """
    encoded = lists.values.dictionary_encode()
    codes, owners = encoded.indices.to_numpy().astype(np.int64), pc.list_parent_indices(lists).to_numpy()
    count = max(len(encoded.dictionary), 1)
    held, times = np.unique(owners * count + codes, return_counts=True)
    beside = np.flatnonzero((owners[1:] == owners[:-1]) & ~np.isin(owners[1:], held[times > 1] // count))
    pairs = codes[beside] * count + codes[beside + 1]
    order: TopologicalSorter[int] = TopologicalSorter()
    for pair in np.unique(pairs).tolist():
        before, after = divmod(pair, count)
        order.add(after, before)
    try:
        order.prepare()
    except CycleError as error:
        around: list[int] = error.args[1]
        steps = [*pairwise(around), *pairwise(reversed(around))]
        wrong = [before * count + after for before, after in steps]
        those = np.unique(owners[beside[np.isin(pairs, wrong)]])
        labels = [written(encoded.dictionary[code].as_py()) for code in around[:-1]]
        yield (
            f"the labels of {name!r} do not stand in one order in all baskets, which may mark rows: no order of"
            f" {', '.join(labels)} is that of all the {some(int(rows[those].sum()), 'basket')} with these"
        )
