"""Under which label each item of an original is published, as far as release and original tell.

Every item has one label: of those that are published, the lowest on its way up the tree. Which way that is, a tree that
is written out says, and so do masks, codes and a flat tree for each item by itself. A fan-out is over the items of the
rows that are published, and where rows were suppressed these are not known. But its labels name the first and the last
of their items: in an order that is known, everything between them. By support, the order is not known.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ringfence.audit.labels.growing import leaves_of, orders_of, stated_tree, tree_over
from ringfence.audit.labels.spelling import ROOT, as_range, written
from ringfence.audit.labels.trees import Tree
from ringfence.spec import Spec
from ringfence.spec.attributes import BoundaryLevel
from ringfence.spec.hierarchies import FanoutHierarchy

GROUP = "ringfence group"
"""Stands for any label of several items, where it is not known which items those are."""
BETWEEN = ".."
UNKNOWN = (
    "Which items stand behind the labels of {name!r} for several, only the rows that were published say. So a row was"
    " traced back to one that has the other items, and any behind such labels"
)


@dataclass(frozen=True)
class ItemLabels:
    """The label of each item, None where it has none and its rows cannot be published; and the tree, where that is
    known. `groups` are labels of which it is not known what they hold."""

    label_of: Mapping[str, str | None]
    tree: Tree | None = None
    groups: frozenset[str] = frozenset()

    def expected(self, basket: Sequence[str]) -> str | None:
        """Return what a basket of the original is published as, None if it cannot be."""
        labels = {self.label_of[item] for item in basket}
        return None if None in labels else as_key(label for label in labels if label is not None)

    def shown(self, basket: Sequence[str]) -> str:
        """Return a published basket in the same form."""
        return as_key({GROUP if label in self.groups else label for label in basket})


def as_key(labels: Iterable[str]) -> str:
    """Return labels as a set is written.

    >>> as_key({"b", "a, b"})
    '{"a, b", b}'
    """
    return "{" + ", ".join(map(written, sorted(labels))) + "}"


def item_labels(shown: set[str], items: Mapping[str, int], spec: Spec, *, complete: bool) -> ItemLabels:
    """Return the labels of items, given those that are published and how many rows of the original have each item.

    `complete` says that all rows of the original are published.
    """
    leaves = dict(zip(items, leaves_of(spec.item_column, spec, [*items]), strict=True))
    support = Counter[str]()
    for item, rows in items.items():
        support[leaves[item]] += rows
    found = _of_leaves(shown, support, spec, complete=complete)
    return replace(found, label_of={item: found.label_of[leaf] for item, leaf in leaves.items()})


def _of_leaves(shown: set[str], support: Mapping[str, int], spec: Spec, *, complete: bool) -> ItemLabels:
    """Return the labels of items that are spelled as labels spell them."""
    hierarchy = spec.attributes[spec.item_column].hierarchy
    if complete or not isinstance(hierarchy, FanoutHierarchy):
        return _by_tree(shown, support, spec, complete=complete)
    wide = {label: found for label in shown - support.keys() if (found := [*_ends(label, support)])}
    fitting = [] if hierarchy.by == "support" else [*_in_orders(shown, wide, support, spec)]
    if fitting and all(each == fitting[0] for each in fitting):
        return ItemLabels(fitting[0])
    groups = frozenset([*wide, ROOT]) & shown
    others = GROUP if groups else None
    return ItemLabels({item: item if item in shown else others for item in support}, groups=groups)


def _by_tree(shown: set[str], support: Mapping[str, int], spec: Spec, *, complete: bool) -> ItemLabels:
    """Return labels by a tree; items that one which is written out does not have were in rows that went."""
    name = spec.item_column
    stated = stated_tree(name, spec)
    known = [item for item in support if stated is None or item in stated.leaf_of]
    label_of: dict[str, str | None] = dict.fromkeys(support)
    if not known:
        return ItemLabels(label_of, stated)
    if not complete and stated is None and isinstance(spec.attributes[name].boundary, BoundaryLevel):
        # Levels are counted in the tree over what was published, which may be less high.
        unbounded = spec.attributes[name].model_copy(update={"boundary": None})
        spec = spec.model_copy(update={"attributes": {**spec.attributes, name: unbounded}})
    tree, places = tree_over(name, spec, known, [support[item] for item in known], stated)
    for item, place in zip(known, places.tolist(), strict=True):
        label_of[item] = next((label for label in (*tree.paths[place], ROOT) if label in shown), None)
    return ItemLabels(label_of, tree)


def _ends(label: str, items: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the first and the last item that a label may name."""
    inside = label[1:-1] if label.startswith("[") and label.endswith("]") else ""
    for place in range(1, len(inside) - len(BETWEEN)):
        if inside.startswith(BETWEEN, place):
            ends = _read(inside[:place]), _read(inside[place + len(BETWEEN) :])
            if ends[0] in items and ends[1] in items:
                yield ends


def _read(text: str) -> str:
    """Return the item that stands in a label so, perhaps in quotes."""
    ends = as_range(f"[{text}, {text}]")
    return text if ends is None else ends[0]


def _in_orders(
    shown: set[str], wide: Mapping[str, Sequence[tuple[str, str]]], items: Mapping[str, int], spec: Spec
) -> Iterator[Mapping[str, str | None]]:
    """Yield what the labels of items may be, by each order that fits the labels: without a stated one, numbers have an
    order of their own if there are no other items, which only the rows that were published say."""
    for line in orders_of(spec.item_column, spec, [*items]):
        rank = {item: place for place, item in enumerate(line)}
        spans = []
        for label, ends in wide.items():
            places = [(rank.get(first, 0), rank.get(last, -1), label) for first, last in ends]
            spans += [each for each in places if each[0] < each[1]][:1]
        spans.sort()
        apart = all(one[1] < other[0] for one, other in pairwise(spans))
        if len(spans) == len(wide) and apart and all(item in rank for item in shown if item in items):
            holder = {line[place]: label for first, last, label in spans for place in range(first, last + 1)}
            rest = dict.fromkeys(line, ROOT if ROOT in shown else None)
            yield {item: item if item in shown else holder.get(item, rest.get(item)) for item in items}
