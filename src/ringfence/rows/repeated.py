"""Tables of few different rows: each of them once, with how often it is there.

Many files of millions of rows have but some ten thousand different ones. What such a table is to be counted, recoded
and written for can be done to these.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa

from ringfence.arrays import Longs, Words
from ringfence.rows.coded import coded, plain
from ringfence.rows.in_memory import drawn
from ringfence.rows.sources import ROWS
from ringfence.rows.steps import Step, recoded

LARGE = 1 << 24
"""Files of so many bytes in all are looked into for lines that repeat; smaller ones are read in no time."""
BLOCKS, BLOCK = 64, 1 << 16
"""In how many places, and how many bytes there."""
FEW = 1 / 5
"""Lines repeat if there are at most so many different ones, as a share of all. Of three million rows, a tenth of them
different, it takes 7 processor seconds instead of 12; with a quarter of them different, as much either way."""
AT_ONCE = 1 << 18
"""How many lines are put together at a time."""


@dataclass(frozen=True, eq=False)
class Repeated:
    """The rows of `distinct`, with their texts as texts, each as often as `times` says."""

    distinct: pa.Table
    times: Longs

    @classmethod
    def of(cls, rows: pa.Table, times: Longs) -> "Repeated":
        """Return rows of which each is there so many times; those that are the same are one."""
        names = rows.column_names
        grouped = rows.append_column(ROWS, pa.array(times)).group_by(names, use_threads=False)
        found = grouped.aggregate([(ROWS, "sum")])
        return cls(found.select(names), found[f"{ROWS}_sum"].to_numpy().astype(np.int64))

    @property
    def total(self) -> int:
        """How many rows there are."""
        return int(self.times.sum())

    @property
    def counted(self) -> pa.Table:
        """The different rows, and in the column `ROWS` how often each is there."""
        return self.distinct.append_column(ROWS, pa.array(self.times))

    def recoded(self, steps: Sequence[Step], columns: Sequence[str]) -> "Repeated | None":
        """Return some columns of what becomes of the rows by some steps; None where one of them needs an engine."""
        done = recoded(coded(self.counted), steps)
        if done is None:
            return None
        return Repeated.of(plain(done.select(columns)), done[ROWS].to_numpy())

    def shuffled(self) -> "DrawnOrder":
        """Draw an order of the rows.

        Numbers are drawn for all rows from the operating system's entropy, and sorted together with which row each
        is, which takes their last bits. Two rows with the same number come in the order of `distinct`: one pair in
        every fourth release of three million rows, a million of them different, and far fewer of fewer. So that order
        was drawn before, by numbers of 64 bits. What the order depends on is then the rows that are there and entropy:
        neither the order of the input nor what rows were before can show in it.
        """
        order = np.argsort(drawn(len(self.times)))
        times = self.times[order]
        bits = np.uint64(max(1, len(times) - 1).bit_length())
        keys: Words = drawn(int(times.sum())) >> bits << bits
        keys |= np.repeat(np.arange(len(times), dtype=np.uint64), times)
        keys.sort()
        keys &= (np.uint64(1) << bits) - np.uint64(1)
        return DrawnOrder(self.distinct.take(pa.array(order)), keys.astype(np.int32))

    def spread(self) -> pa.Table:
        """Return all rows, the same ones side by side, with texts coded."""
        which = np.repeat(np.arange(len(self.times), dtype=np.int32), self.times)
        return coded(self.distinct).take(pa.array(which))


@dataclass(frozen=True, eq=False)
class DrawnOrder:
    """Rows in an order that was drawn: each is the row `which` of `distinct`."""

    distinct: pa.Table
    which: np.ndarray[tuple[int], np.dtype[np.int32]]

    @property
    def table(self) -> pa.Table:
        """The rows, with texts coded."""
        return coded(self.distinct).take(pa.array(self.which))

    def lines(self, text: bytes) -> Iterator[pa.Buffer] | None:
        """Return the lines of all rows in pieces, where `text` are those of `distinct`, after one of names; None where
        these are not as many as there are rows: a cell has lines of its own."""
        found = text.splitlines(keepends=True)
        names, each = found[0], found[1:]
        if len(each) != self.distinct.num_rows or b"\r" in text:
            return None
        return self._pieces(names, pa.array(each, pa.binary()))

    def _pieces(self, names: bytes, each: pa.Array) -> Iterator[pa.Buffer]:
        yield pa.py_buffer(names)
        for begin in range(0, len(self.which), AT_ONCE):
            piece = each.take(pa.array(self.which[begin : begin + AT_ONCE]))
            yield piece.buffers()[2]


def lines_repeat(files: Sequence[Path], parts: Callable[[Sequence[bytes]], Iterable[Hashable]] = iter) -> bool:
    """Whether large files seem to have few different lines, by what they have in some places; or few that differ in
    some parts of them.

    How many different ones there are besides those that were seen is told by how many were seen once, and how many
    twice: at least f1^2 / 2 f2 (Chao, "Nonparametric estimation of the number of classes in a population", Scandinavian
    Journal of Statistics 11, 1984). It is often twice as many, so that only half as many may be expected.
    """
    sizes = [file.stat().st_size for file in files]
    if sum(sizes) < LARGE:
        return False
    chance = Random(sum(sizes))  # which places these are is nobody's secret
    seen: Counter[Hashable] = Counter()
    length = 0
    for file in chance.choices(files, sizes, k=BLOCKS):
        with file.open("rb") as content:
            content.seek(chance.randrange(file.stat().st_size))
            lines = content.read(BLOCK).split(b"\n")[1:-1]
        seen.update(parts(lines))
        length += sum(map(len, lines)) + len(lines)
    if not seen:
        return False
    times_seen = Counter(seen.values())
    once, twice = times_seen[1], times_seen[2]
    different = len(seen) + once * (once - 1) / (2 * (twice + 1))
    return different <= FEW / 2 * sum(sizes) / length * seen.total()
