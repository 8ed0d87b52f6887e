"""The numbers of a report on baskets: what each published label stands for, how often, and what that loses.

Everything is computed from the baskets that were counted and the plan, never from rows.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ringfence.arrays import Ints, Longs, sum_by
from ringfence.census.baskets import Baskets
from ringfence.plans.items import ItemPlan, Reason
from ringfence.values.hierarchy import Hierarchy

WIDTHS = (1, 2, 6, 26, 126, 626)
"""Where bins of group sizes begin: the sizes of groups of groups of five end just before."""


@dataclass(frozen=True)
class LabelGroup:
    """A published label of several items: its node and items, the rows that show it, and its share of the loss."""

    node: int
    label: str
    items: tuple[str, ...]
    rows: int
    share: float
    reason: Reason | None


@dataclass(frozen=True)
class ItemFate:
    """An item: how many rows have it, and what it is published as."""

    item: str
    rows: int
    label: str


@dataclass(frozen=True, eq=False)
class ItemEvidence:
    """A plan beside the baskets that it was made for."""

    baskets: Baskets
    plan: ItemPlan

    @property
    def tree(self) -> Hierarchy:
        """The item tree."""
        return self.baskets.hierarchy

    @cached_property
    def nodes(self) -> Ints:
        """The node that each leaf is published as."""
        index = self.tree.node_index
        return np.array([index[label] for label in self.plan.items.labels], np.int32)

    @cached_property
    def losses(self) -> Longs:
        """What each leaf adds to the loss, in units of one leaf in one row."""
        covered = (self.tree.stop - self.tree.first)[self.nodes].astype(np.int64)
        losses: Longs = self.baskets.occurrences * np.where(covered > 1, covered, 0)
        return losses

    @cached_property
    def rows_with(self) -> Longs:
        """How many rows show each node."""
        baskets = self.baskets
        owners = np.repeat(np.arange(len(baskets.weights)), np.diff(baskets.starts))
        pairs = np.sort(owners * len(self.tree.labels) + self.nodes[baskets.items])
        owners, nodes = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], len(self.tree.labels))
        return sum_by(nodes, baskets.weights[owners], len(self.tree.labels))

    @cached_property
    def groups(self) -> list[LabelGroup]:
        """The labels of several items, those that lose most first."""
        total, reasons = max(1, int(self.losses.sum())), {reason.label: reason for reason in self.plan.reasons}
        found = []
        for node in np.unique(self.nodes).tolist():
            leaves = slice(int(self.tree.first[node]), int(self.tree.stop[node]))
            if leaves.stop - leaves.start > 1:
                label = str(self.tree.labels[node])
                items = tuple(str(item) for item in self.tree.labels[leaves])
                share = int(self.losses[leaves].sum()) / total
                found.append(LabelGroup(node, label, items, int(self.rows_with[node]), share, reasons.get(label)))
        return sorted(found, key=lambda group: (-group.share, -len(group.items), group.node))

    @property
    def kept(self) -> int:
        """How many items are published as they are."""
        return self.tree.leaves - sum(len(group.items) for group in self.groups)

    def commonest(self, count: int) -> list[ItemFate]:
        """Return the items that most rows have."""
        order = np.argsort(-self.baskets.occurrences, kind="stable")[:count].tolist()
        rows = self.baskets.occurrences
        labels = self.plan.items.labels
        return [ItemFate(str(self.tree.labels[leaf]), int(rows[leaf]), str(labels[leaf])) for leaf in order]

    def widths(self) -> list[tuple[str, float]]:
        """Return the shares of all items of all rows by how many items their label stands for."""
        covered = (self.tree.stop - self.tree.first)[self.nodes]
        lows = [low for low in WIDTHS if low <= max(1, int(covered.max()))]
        counts, _ = np.histogram(covered, [*lows, self.tree.leaves + 1], weights=self.baskets.occurrences)
        highs = [*(low - 1 for low in lows[1:]), int(covered.max())]
        total = max(1, int(self.baskets.occurrences.sum()))
        named = [_range(low, high) for low, high in zip(lows, highs, strict=True)]
        return list(zip(named, (counts / total).tolist(), strict=True))


def _range(low: int, high: int) -> str:
    """Name a bin of group sizes.

    >>> _range(1, 1), _range(2, 5), _range(6, 6)
    ('the item itself', 'one of 2 to 5 items', 'one of 6 items')
    """
    if high <= 1:
        return "the item itself"
    return f"one of {low:,} items" if low == high else f"one of {low:,} to {high:,} items"
