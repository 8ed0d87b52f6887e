"""Classes: the rows of a census grouped under some recoding, and the means to roll them up to a coarser one.

Everything a search does with data happens here: it asks for classes, and judges them by models and metrics.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Ints, Longs
from ringfence.census.census import Census
from ringfence.kernels.roll_up import roll_up, roll_up_pairs, roll_up_tallies
from ringfence.values.recoding import Recoding, Recodings

WORD_BITS = 63  # a word is a signed 64-bit integer


@dataclass(eq=False)
class Pairs:
    """How often each class holds each value of one sensitive attribute: pairs (home, value) and weights, `size` of
    them."""

    size: int
    homes: Ints
    values: Ints
    weights: Longs


@dataclass(eq=False)
class Classes:
    """A table of classes: the first `size` entries of its arrays. `member[c]` is where class c of the source table
    went.

    `fails` and `gone` are scratch for whoever judges the classes: which fail, and how many rows of each go.
    `tallies` are sums over rows that a metric asked for.
    """

    size: int
    keys: Longs
    weights: Longs
    member: Ints
    fails: npt.NDArray[np.uint8]
    gone: Longs
    pairs: tuple[Pairs, ...]
    tallies: Floats


class Roller:
    """Rolls class tables of one census up, from any recoding to any coarser one, without allocating.

    `spaces[a]` are the recodings of attribute a that may be asked for, each named by its position; a space may grow.
    `tallied[a][leaf]`, if given, is a number per row that is to be added up in each class. With `marked`, the keys have
    one more word, the last, which is no attribute's: tuples whose marks differ are never put together.
    """

    def __init__(
        self, census: Census, spaces: Sequence[Recodings], tallied: Sequence[Floats] = (), *, marked: bool = False
    ) -> None:
        self.census = census
        self.spaces = spaces
        self._fields, words = _layout([quasi.hierarchy.leaves for quasi in census.quasi])
        words += marked
        self.offsets: list[list[int]] = [[] for _ in spaces]
        self.end = 0
        """Where what is laid out per leaf ends: it grows with every recoding that is asked for."""
        self._tables = self.per_leaf(lambda _, recoding: recoding.blocks.astype(np.int64), np.int64)
        tuples = len(census.weights)
        largest = max([tuples, *(len(part.weights) for part in census.sensitive)])
        self._slots = np.empty(max(16, 1 << (2 * largest - 1).bit_length()), np.int32)
        self._scratch = np.empty((words, tuples), np.int64)
        self._domains = [part.hierarchy.leaves for part in census.sensitive]
        keys = np.zeros((words, tuples), np.int64)
        for attribute, (word, shift, _, _) in enumerate(self._fields):
            keys[word] |= census.codes[:, attribute].astype(np.int64) << shift
        self.finest = Classes(
            size=tuples,
            keys=keys,
            weights=census.weights,
            member=np.arange(tuples, dtype=np.int32),
            fails=np.zeros(tuples, np.uint8),
            gone=np.empty(tuples, np.int64),
            pairs=tuple(Pairs(len(s.weights), s.tuples, s.values, s.weights) for s in census.sensitive),
            tallies=self._tallies(tallied),
        )

    def _tallies(self, tallied: Sequence[Floats]) -> Floats:
        """Return what the rows of each distinct tuple are tallied as, together."""
        parts = [self.census.weights * part[self.census.codes[:, a]] for a, part in enumerate(tallied)]
        return np.array(parts).reshape(len(tallied), len(self.census.weights))

    def tally(self, classes: Classes, tallied: Sequence[Floats]) -> None:
        """Add up in classes, which were rolled up from the finest ones, what was not added up then."""
        finest = self._tallies(tallied)
        classes.tallies = np.empty((len(tallied), classes.size))
        roll_up_tallies(finest, finest.shape[1], classes.member, classes.tallies, classes.size)

    def room(self) -> Classes:
        """Return an empty table with room for the classes of any recoding."""
        return Classes(
            size=0,
            keys=np.empty_like(self.finest.keys),
            weights=np.empty_like(self.finest.weights),
            member=np.empty_like(self.finest.member),
            fails=np.zeros_like(self.finest.fails),
            gone=np.empty_like(self.finest.gone),
            pairs=tuple(
                Pairs(0, np.empty_like(p.homes), np.empty_like(p.values), np.empty_like(p.weights))
                for p in self.finest.pairs
            ),
            tallies=np.empty_like(self.finest.tallies),
        )

    def fields(self, changes: Sequence[tuple[int, int]]) -> Longs:
        """Return the key fields and look-up tables for (attribute, recoding) pairs, as the kernels take them."""
        fields = self._fields[[attribute for attribute, _ in changes]]
        fields[:, 3] = [self.offset(attribute, recoding) for attribute, recoding in changes]
        return fields

    def offset(self, attribute: int, recoding: int) -> int:
        """Return where the numbers of a recoding begin in whatever is laid out per leaf."""
        offsets = self.offsets[attribute]
        while len(offsets) <= recoding:
            offsets.append(self.end)
            self.end += self.census.quasi[attribute].hierarchy.leaves
        return offsets[recoding]

    def roll(self, source: Classes, fields: Longs, into: Classes) -> Classes:
        """Fill `into` with the classes of `source` after the recodings in `fields`, sensitive values included."""
        return self.roll_values(source, self.roll_sizes(source, fields, into))

    def roll_sizes(self, source: Classes, fields: Longs, into: Classes) -> Classes:
        """Fill `into` as `roll` does, but for its pairs: enough for whoever looks at the sizes of classes only."""
        into.size = roll_up(
            source.keys, source.weights, source.size, fields, self._tables.numbers(),
            self._scratch, into.keys, into.weights, into.member, self._slots,
        )  # fmt: skip
        roll_up_tallies(source.tallies, source.size, into.member, into.tallies, into.size)
        return into

    def roll_values(self, source: Classes, into: Classes) -> Classes:
        """Fill the pairs of `into`, whose sizes were rolled up from `source`."""
        for old, new, domain in zip(source.pairs, into.pairs, self._domains, strict=True):
            new.size = roll_up_pairs(
                old.homes, old.values, old.weights, old.size, into.member, into.size, domain,
                new.homes, new.values, new.weights, self._slots,
            )  # fmt: skip
        return into

    def per_leaf(self, of: Callable[[int, Recoding], npt.NDArray[Any]], kind: type[np.generic]) -> "PerLeaf":
        """Lay out one number per leaf for every recoding of every attribute, addressed as `fields` says."""
        return PerLeaf(self, of, kind)


class PerLeaf:
    """One number per leaf for every recoding that a roller was asked for, computed when it is met first.

    `of(a, recoding)` are the numbers of a recoding of attribute a.
    """

    def __init__(self, roller: Roller, of: Callable[[int, Recoding], npt.NDArray[Any]], kind: type[np.generic]) -> None:
        self._roller, self._of = roller, of
        self._numbers = np.empty(0, kind)
        self._filled, self._end = [0] * len(roller.spaces), 0

    def numbers(self) -> npt.NDArray[Any]:
        """Return the numbers of all recodings so far."""
        end = self._roller.end
        if self._end == end:
            return self._numbers
        for attribute, offsets in enumerate(self._roller.offsets):
            while self._filled[attribute] < len(offsets):
                position = self._filled[attribute]
                numbers, start = self._of(attribute, self._roller.spaces[attribute][position]), offsets[position]
                if start + len(numbers) > len(self._numbers):
                    room = max(2 * len(self._numbers), start + len(numbers)) - len(self._numbers)
                    self._numbers = np.concatenate([self._numbers, np.empty(room, self._numbers.dtype)])
                self._numbers[start : start + len(numbers)] = numbers
                self._filled[attribute] += 1
        self._end = end
        return self._numbers


def merged(classes: Classes, chosen: npt.NDArray[np.intp]) -> Classes:
    """Return the table in which the chosen classes are one, the last; keys and tallies are not carried over."""
    others = np.setdiff1d(np.arange(classes.size), chosen)
    member = np.full(classes.size, len(others), np.int32)
    member[others] = np.arange(len(others), dtype=np.int32)
    weights = np.append(classes.weights[others], classes.weights[chosen].sum())
    pairs = []
    for part in classes.pairs:
        slots = np.empty(max(16, 1 << (2 * part.size - 1).bit_length()), np.int32)
        new = Pairs(0, np.empty_like(part.homes), np.empty_like(part.values), np.empty_like(part.weights))
        new.size = roll_up_pairs(
            part.homes, part.values, part.weights, part.size, member, len(weights), int(part.values.max()) + 1,
            new.homes, new.values, new.weights, slots,
        )  # fmt: skip
        pairs.append(new)
    return Classes(
        size=len(weights),
        keys=np.zeros((classes.keys.shape[0], len(weights)), np.int64),
        weights=weights,
        member=member,
        fails=np.zeros(len(weights), np.uint8),
        gone=np.empty(len(weights), np.int64),
        pairs=tuple(pairs),
        tallies=np.empty((0, len(weights))),
    )


def _layout(leaves: Sequence[int]) -> tuple[Longs, int]:
    """Give each attribute a field of bits in some word: rows (word, shift, mask, 0), and the number of words."""
    rows, word, used = [], 0, 0
    for count in leaves:
        bits = max(1, (count - 1).bit_length())
        if used + bits > WORD_BITS:
            word, used = word + 1, 0
        rows.append((word, used, (1 << bits) - 1, 0))
        used += bits
    return np.array(rows, np.int64), word + 1
