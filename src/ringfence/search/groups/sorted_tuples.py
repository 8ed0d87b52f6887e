"""Tuples in an order in which those near one are found fast (`kernels.groups.nearby`)."""

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.kernels.groups.nearby import Sorted
from ringfence.kernels.groups.rounded import Rounded

PAIRS = 1_000
"""So many tuples are compared with those half a table away to see in which attributes they are far apart."""


def sort_tuples(space: Rounded, blocks: Ints) -> tuple[Longs, Sorted, Rounded]:
    """Return the tuples in lexicographic order, block by block, what is known of it, and where they lie so numbered.

    Attributes in which tuples are furthest apart come first: most tuples are too far by these alone.
    """
    columns, kinds, steps = [], [], []
    for s in range(len(space.begins) - 1):
        fields = slice(int(space.begins[s]), int(space.begins[s + 1]))
        held = space.words[:, space.holders[fields]] & space.masks[fields]
        columns.append(np.unique(held, axis=0, return_inverse=True)[1].reshape(-1))
        kinds.append((0, s))
        steps.append(float(space.costs[s, 2] - space.costs[s, 1]))
    for i in range(space.lines.shape[1]):
        columns.append(np.unique(space.lines[:, i], return_inverse=True)[1])
        kinds.append((1, i))
        known = space.lines[space.lines[:, i] != np.iinfo(np.int64).min, i]
        width = int(known.max() - known.min()) if len(known) else 0
        steps.append(float(space.tables[i, width] if space.tabled[i] else width) / 3)
    for i in range(space.leaves.shape[1]):
        columns.append(np.unique(space.leaves[:, i], return_inverse=True)[1])
        kinds.append((2, i))
        parents = space.parent[space.bases[i] + space.leaves[:, i]]
        steps.append(float(space.nodes[space.bases[i] + parents].mean()))
    tuples = len(blocks)
    probe = np.linspace(0, tuples - 1, min(tuples, PAIRS)).astype(np.int64)
    differs = [float((part[probe] != part[(probe + tuples // 2) % tuples]).mean()) for part in columns]
    first = np.argsort([-step * share for step, share in zip(steps, differs, strict=True)], kind="stable")
    codes = np.array([columns[a] for a in first], np.int32).reshape(len(first), tuples).T
    order = np.lexsort([*codes.T[::-1], blocks])
    codes, blocks = np.ascontiguousarray(codes[order]), blocks[order]
    there = space._replace(lines=space.lines[order], leaves=space.leaves[order], words=space.words[order])
    return order, _known(codes, blocks, np.array(kinds, np.int64).reshape(-1, 2)[first]), there


def _known(codes: Ints, blocks: Ints, kinds: Longs) -> Sorted:
    """Say of sorted tuples which are alike, and who has which value."""
    tuples, attributes = codes.shape
    differs = np.ones(tuples, np.bool_)
    differs[1:] = blocks[1:] != blocks[:-1]
    bounds = np.append(np.flatnonzero(differs), tuples)
    home = np.searchsorted(bounds, np.arange(tuples), side="right")
    skips, alike = np.full(codes.shape, tuples, np.int32), np.zeros(tuples, np.int32)
    for a in range(attributes):
        differs[1:] |= codes[1:, a] != codes[:-1, a]
        alike += ~differs
        begins = np.append(np.flatnonzero(differs), tuples)
        skips[:, a] = begins[np.searchsorted(begins, np.arange(tuples), side="right")]
    examples = [np.unique(codes[:, a], return_index=True)[1] for a in range(attributes)]
    return Sorted(
        codes=codes,
        begins=bounds[home - 1],
        ends=bounds[home],
        skips=skips,
        alike=alike,
        bases=np.cumsum([0, *map(len, examples)]).astype(np.int64),
        examples=np.concatenate([np.empty(0, np.int64), *examples]).astype(np.int32),
        kinds=kinds,
    )
