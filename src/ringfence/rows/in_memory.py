"""Tables in memory, counted and rewritten where they lie.

Most tables that are handed over in memory are small, and to tell an engine what to do with one takes longer than to do
it. So what every run does to them is done by Arrow, cell by cell as an engine would do it by statements: counting
combinations, comparing rows by sums of digests, drawing the order of rows, and the steps by which values are recoded
(`steps.recoded`). All else is left to the engine, and so are types of which the two might not take the same cells for
one (`compares_alike`).
"""

import os
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Longs, Words
from ringfence.rows.sources import HIGH, LOW, ROWS

BITS_32 = 0xFFFFFFFF


def compares_alike(kind: pa.DataType) -> bool:
    """Whether Arrow and engines take the same cells of a type for the same."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_date32(kind))


def stays_as_it_is(kind: pa.DataType) -> bool:
    """Whether cells of a type come out of an engine, where nothing is done to them, as they went in."""
    return compares_alike(kind) or kind in (pa.float32(), pa.float64())


def counted(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the distinct combinations of `columns`, and in the column `ROWS` how many rows have each."""
    found = table.group_by(list(columns), use_threads=False).aggregate([([], "count_all")])
    return found.rename_columns([*columns, ROWS])


def tallied(tables: Sequence[pa.Table], columns: Sequence[Sequence[str]], digested: Sequence[str]) -> list[pa.Table]:
    """Count combinations of some columns of each table, and add up for each the digests of what its rows have in the
    columns that are `digested`, as an engine's `tally` does.

    A digest here is a number of 64 bits drawn from the operating system's entropy for each different lot of cells. Two
    different multisets of rows then have the same sum with a chance of 2^-64, whatever they hold. Cells are compared
    as text files have them, where a missing one is empty.
    """
    ends = np.cumsum([table.num_rows for table in tables])
    lot, lots = _lots(tables, digested, int(ends[-1]))
    digests = drawn(lots)[lot] if digested else np.zeros(len(lot), np.uint64)
    halves = {HIGH: digests >> np.uint64(32), LOW: digests & np.uint64(BITS_32)}
    found = []
    for table, names, end in zip(tables, columns, ends.tolist(), strict=True):
        own = slice(end - table.num_rows, end)
        summed = table.select(list(names))
        for name, half in halves.items():
            summed = summed.append_column(name, pa.array(half[own].astype(np.int64)))
        sums = summed.group_by(list(names), use_threads=False).aggregate(
            [([], "count_all"), (HIGH, "sum"), (LOW, "sum")]
        )
        found.append(sums.rename_columns([*names, ROWS, HIGH, LOW]))
    return found


def _lots(tables: Sequence[pa.Table], columns: Sequence[str], rows: int) -> tuple[Longs, int]:
    """Return a number for what each row of some tables has in some columns, the same for the same; and how many."""
    lot, lots = np.zeros(rows, np.int64), 1
    for name in columns:
        texts = [pc.fill_null(table[name].cast(pa.string()), "") for table in tables]
        cells = pa.chunked_array([chunk for text in texts for chunk in text.chunks], pa.string())
        encoded = cells.combine_chunks().dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        if lots == 1:
            lot, lots = codes, len(encoded.dictionary)
            continue
        # Both factors are at most the number of rows, and so the product is below 2^63.
        different, lot = np.unique(lot * len(encoded.dictionary) + codes, return_inverse=True)
        lots = len(different)
    return lot, lots


def shuffled(table: pa.Table) -> pa.Table:
    """Return rows sorted by numbers of 64 bits, drawn for each from the operating system's entropy."""
    return table.take(pa.array(np.argsort(drawn(table.num_rows))))


def drawn(count: int) -> Words:
    """Return so many numbers of 64 bits from the operating system's entropy."""
    return np.frombuffer(os.urandom(8 * count), np.uint64)
