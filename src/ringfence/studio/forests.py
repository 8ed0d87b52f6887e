"""The hierarchy of an attribute as a page shows it: a tree with numbers of rows, its levels, what it does not cover."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from ringfence.arrays import Longs, sum_by
from ringfence.spec import Spec
from ringfence.values.builders import read_domain, read_keys, stated_hierarchy, uncovered
from ringfence.values.hierarchy import MISSING, Hierarchy

Forest: TypeAlias = dict[str, Any]

SHOWN_CHILDREN = 60
"""Of a node with more children than this, the first ones are shown."""
SHOWN_NODES = 1500
SHOWN_UNCOVERED = 30


def forest(name: str, spec: Spec, values: Sequence[Any], counts: Sequence[int]) -> Forest:
    """Return the tree of an attribute over the values of the data.

    What the hierarchy does not cover is listed with numbers of rows, instead of being an error: somebody is at work on
    it. Any other mistake is told as it is.
    """
    keys = read_keys(name, spec, values, counts)
    stated, missing = stated_hierarchy(name, spec), {}
    if stated is not None:
        missing = {value: rows for value, rows in uncovered(keys, counts, stated).items() if value != MISSING}
    if stated is not None and missing:
        hierarchy = stated
        rows = np.zeros(hierarchy.leaves, np.int64)
    else:
        domain = read_domain(name, spec, values, counts)
        hierarchy = domain.hierarchy
        rows = np.bincount(domain.leaves, counts, minlength=hierarchy.leaves).astype(np.int64)
    ranked = sorted(missing.items(), key=lambda each: (-each[1], each[0]))
    return {
        "name": name,
        "height": hierarchy.height,
        "leaves": hierarchy.leaves,
        "tree": _Drawn(hierarchy, rows).node(hierarchy.root),
        "levels": [_level(hierarchy, level) for level in range(hierarchy.height + 1)],
        "uncovered": [{"value": value, "rows": count} for value, count in ranked[:SHOWN_UNCOVERED]],
        "uncovered_values": len(ranked),
        "uncovered_rows": sum(missing.values()),
    }


def occurring_items(lists: pa.ListArray, rows: Longs) -> tuple[pa.Array, Longs]:
    """Return the different items of some baskets, and how many baskets hold each; `rows[i]` are like basket i.

    >>> occurring_items(pa.array([["b", "a", "a"], ["a"]]), np.array([2, 1]))[1].tolist()
    [2, 3]
    """
    encoded = lists.flatten().dictionary_encode()
    width = len(encoded.dictionary)
    basket_of = np.repeat(np.arange(len(lists)), lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    pairs = np.unique(basket_of * width + encoded.indices.to_numpy())
    return encoded.dictionary, sum_by(pairs % width, rows[pairs // width], width)


class _Drawn:
    """Draws a tree node by node, up to a number of them."""

    def __init__(self, hierarchy: Hierarchy, rows: "np.typing.NDArray[np.int64]") -> None:
        self._hierarchy, self._left = hierarchy, SHOWN_NODES
        self._upto = np.concatenate([[0], np.cumsum(rows)])
        self._children: dict[int, list[int]] = {}
        for node in range(hierarchy.root):
            self._children.setdefault(int(hierarchy.parent[node]), []).append(node)
        self._ceilings = {*hierarchy.ceilings.tolist()} - {hierarchy.root}

    def node(self, node: int) -> dict[str, Any]:
        """Return a node with all below it that there is room for; of several that say the same, the lowest."""
        hierarchy = self._hierarchy
        while len(below := self._children.get(node, [])) == 1 and hierarchy.labels[below[0]] == hierarchy.labels[node]:
            node = below[0]
        first, stop = int(hierarchy.first[node]), int(hierarchy.stop[node])
        children = sorted(self._children.get(node, []), key=lambda child: int(hierarchy.first[child]))
        room = min(len(children), SHOWN_CHILDREN, max(0, self._left))
        self._left -= room
        label = hierarchy.labels[node]
        return {
            "label": label,
            "leaf": node < hierarchy.leaves,
            "values": stop - first,
            "rows": int(self._upto[stop] - self._upto[first]),
            "ceiling": node in self._ceilings,
            "children": [self.node(child) for child in children[:room]],
            "more": len(children) - room,
        }


def _level(hierarchy: Hierarchy, level: int) -> dict[str, Any]:
    nodes = list(dict.fromkeys(hierarchy.levels[level].tolist()))
    labels = [hierarchy.labels[node] for node in nodes]
    return {"labels": len(nodes), "examples": [label for label in labels if label is not None][:4]}
