"""Baskets: how many rows carry each set of items, in integer codes. All that a search of item cuts sees of the data."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ringfence.arrays import Ints, Longs, sum_by
from ringfence.errors import DataError
from ringfence.rows.coded import texts_of
from ringfence.rows.item_columns import item_lists
from ringfence.spec import Spec
from ringfence.values.builders import read_domain
from ringfence.values.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Baskets:
    """The distinct baskets that hold anything, and the number of rows of each.

    Basket i holds the leaves `items[starts[i] : starts[i + 1]]`, ascending and each once; `weights[i]` rows have
    exactly this basket. Long baskets come first, those of a length in falling lexicographic order, so the order of
    rows leaves no trace. `empty` rows hold nothing: nobody can look for them by their items, and they take no part in
    any count.

    >>> tree = Hierarchy.from_tree({"dairy": {"milk": {}, "brie": {}}, "bread": {}})
    >>> rows = Baskets.from_lists("basket", tree, np.array([0, 3, 5, 5]), np.array([2, 0, 2, 0, 2]))
    >>> rows.items.tolist(), rows.weights.tolist(), rows.empty
    ([0, 2], [2], 1)
    """

    name: str
    hierarchy: Hierarchy
    starts: Longs
    items: Ints
    weights: Longs
    empty: int = 0

    @classmethod
    def from_lists(
        cls, name: str, hierarchy: Hierarchy, offsets: npt.NDArray[np.integer], leaves: npt.NDArray[np.integer]
    ) -> "Baskets":
        """Count baskets that lie one behind the other: row i holds `leaves[offsets[i] : offsets[i + 1]]`, in any order.

        An item that a row has twice counts once. These are the offsets and values of an Arrow list column.
        """
        rows = len(offsets) - 1
        row_of = np.repeat(np.arange(rows, dtype=np.int64), np.diff(offsets))
        return cls.from_pairs(name, hierarchy, row_of, leaves[offsets[0] : offsets[-1]], rows)

    @classmethod
    def from_pairs(
        cls,
        name: str,
        hierarchy: Hierarchy,
        row_of: npt.NDArray[np.integer],
        leaves: npt.NDArray[np.integer],
        rows: int,
        weights: Longs | None = None,
    ) -> "Baskets":
        """Count baskets from pairs of a row, 0 to `rows` - 1, and a leaf, in any order: the form of a long table.

        Where rows have been counted before, `weights` say how many there are of each.
        """
        weights = np.ones(rows, np.int64) if weights is None else weights
        pairs = np.sort(row_of.astype(np.int64) * hierarchy.leaves + leaves)
        row_of, items = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], hierarchy.leaves)
        lengths = np.bincount(row_of, minlength=rows)
        filled = lengths[lengths > 0]
        starts = np.cumsum(filled) - filled
        example, sums = _distinct(starts, filled, items, hierarchy.leaves, weights[lengths > 0])
        kept = filled[example]
        new_starts = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        places = np.arange(new_starts[-1]) + np.repeat(starts[example] - new_starts[:-1], kept)
        empty = int(weights[lengths == 0].sum())
        return cls(name, hierarchy, new_starts, items[places].astype(np.int32), sums, empty)

    @property
    def rows(self) -> int:
        """How many rows there are, with or without items."""
        return self.filled + self.empty

    @property
    def filled(self) -> int:
        """How many rows hold at least one item."""
        return int(self.weights.sum())

    @cached_property
    def occurrences(self) -> Longs:
        """How many rows hold each leaf."""
        counts = np.zeros(self.hierarchy.leaves, np.int64)
        np.add.at(counts, self.items, np.repeat(self.weights, np.diff(self.starts)))
        return counts


def _distinct(starts: Longs, lengths: Longs, items: Longs, leaves: int, weights: Longs) -> tuple[Longs, Longs]:
    """Return one position for each distinct basket, in the order of `Baskets`, and the weight of each.

    Baskets go down a trie together, one item at a time: `path` is the rank of what each has shown so far, among those
    that go on. Those that end at the same length on the same path are equal.
    """
    path = np.zeros(len(lengths), np.int64)
    alive = np.arange(len(lengths))
    examples, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for place in range(int(lengths.max(initial=0))):
        _, path = np.unique(path * leaves + items[starts[alive] + place], return_inverse=True)
        ended = lengths[alive] == place + 1
        _, example, which = np.unique(path[ended], return_index=True, return_inverse=True)
        examples.append(alive[ended][example])
        counts.append(sum_by(which, weights[alive[ended]], len(example)))
        alive, path = alive[~ended], path[~ended]
    return np.concatenate(examples)[::-1], np.concatenate(counts)[::-1]


@dataclass(frozen=True, eq=False)
class BasketColumn:
    """A column of baskets as it was read: its distinct values, `raw`, and what they hold.

    The value at place i holds `leaves[offsets[i] : offsets[i + 1]]`, as they stand in it, perhaps repeated. `items` is
    the type of a single item.
    """

    baskets: Baskets
    raw: pa.Array
    offsets: Longs
    leaves: Ints
    items: pa.DataType


def take_baskets(counted: pa.Table, spec: Spec, weight: str) -> BasketColumn:
    """Code the distinct baskets that an engine counted; the column `weight` holds their numbers of rows.

    Items that the hierarchy does not cover are a DataError.

    >>> spec = Spec(attributes={"cart": {"role": "items", "separator": " ", "hierarchy": "flat"}})
    >>> found = take_baskets(pa.table({"cart": ["b a", "a b b", None], "n": [2, 1, 4]}), spec, "n")
    >>> found.baskets.items.tolist(), found.baskets.weights.tolist(), found.baskets.empty
    ([0, 1], [3], 4)
    """
    name = spec.items
    assert name is not None, "there is an attribute of role items"
    weights = counted[weight].to_numpy().astype(np.int64)
    if weights.sum() == 0:
        raise DataError("the data has no rows")
    raw = texts_of(counted[name])
    lists = item_lists(raw, spec.attributes[name].separator, name)
    offsets = lists.offsets.to_numpy().astype(np.int64)
    encoded = lists.values.dictionary_encode()
    indices = encoded.indices.to_numpy()
    row_of = np.repeat(np.arange(len(lists)), np.diff(offsets))
    occurrences = sum_by(indices, weights[row_of], len(encoded.dictionary))
    domain = read_domain(name, spec, encoded.dictionary.to_pylist(), occurrences.tolist())
    leaves = domain.leaves[indices]
    return BasketColumn(
        baskets=Baskets.from_pairs(name, domain.hierarchy, row_of, leaves, len(lists), weights),
        raw=raw.combine_chunks(),
        offsets=offsets,
        leaves=leaves,
        items=lists.values.type,
    )
