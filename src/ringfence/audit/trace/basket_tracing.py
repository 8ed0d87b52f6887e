"""Published baskets beside their original: is each of them one of its baskets, under the labels of its items?

Every item has one label, so that a basket of the original can be published in one way only. What should be there is
compared with what is there, however often each basket occurs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow.compute as pc

from ringfence.audit.counts import total_by
from ringfence.audit.labels.growing import tree_over
from ringfence.audit.labels.spelling import written
from ringfence.audit.labels.trees import Tree
from ringfence.audit.verdict import Finding, some
from ringfence.errors import listed
from ringfence.rows.basket_rows import CountedBaskets
from ringfence.spec import Spec

SHOWN = 5
Published = tuple[str, ...]


def item_tree(original: CountedBaskets, spec: Spec) -> Tree:
    """Return the item tree as it is for the items of an original."""
    encoded = original.lists.values.dictionary_encode()
    owners = pc.list_parent_indices(original.lists).to_numpy()
    counts = total_by(encoded.indices.to_numpy(), original.rows[owners], len(encoded.dictionary))
    return tree_over(spec.item_column, spec, encoded.dictionary.to_pylist(), counts.tolist())[0]


def trace_baskets(
    published: CountedBaskets, original: CountedBaskets, tree: Tree, spec: Spec
) -> tuple[list[Finding], dict[str, int]]:
    """Return what is wrong with published baskets beside their original, and how many of its baskets are not there.

    Labels that are no node of the tree hold nothing: that they are there is found elsewhere.
    """
    name, label_of = spec.item_column, _labels(published, original, tree, spec)
    unlabelled = sorted(item for item, label in label_of.items() if label is None)
    wanted, there = Counter[Published](), Counter[Published]()
    for basket, rows in original.counted():
        wanted[_wanted(basket, label_of)] += rows
    for basket, rows in published.counted():
        there[tuple(sorted({*basket}))] += rows
    measured = {"original": wanted.total(), "suppressed": max(wanted.total() - there.total(), 0)}
    return [*_findings(wanted, there, unlabelled, name)], measured


def _labels(published: CountedBaskets, original: CountedBaskets, tree: Tree, spec: Spec) -> dict[str, str | None]:
    """Return the label of each item: of those that are published, the lowest on its way up."""
    shown = {*published.lists.values.unique().to_pylist()}
    items = original.lists.values.unique().to_pylist()
    _, leaves = tree_over(spec.item_column, spec, items, [1] * len(items), tree)
    return {
        item: next((label for label in tree.paths[leaf] if label in shown), None)
        for item, leaf in zip(items, leaves.tolist(), strict=True)
    }


def trace_pairs(published: CountedBaskets, original: CountedBaskets, spec: Spec) -> Iterator[Finding]:
    """Find published baskets that are not made of the labels of the items of the basket beside them."""
    label_of = _labels(published, original, item_tree(original, spec), spec)
    wrong = Counter[Published]()
    for (shown, rows), (bought, _) in zip(published.counted(), original.counted(), strict=True):
        found = tuple(sorted({*shown}))
        if found != _wanted(bought, label_of):
            wrong[found] += rows
    yield from _findings(Counter(), wrong, (), spec.item_column) if wrong else ()


def _wanted(basket: Sequence[str], label_of: dict[str, str | None]) -> Published:
    """Return a basket of the original as it is to be published."""
    return tuple(sorted({label for label in map(label_of.__getitem__, basket) if label is not None}))


def _findings(
    wanted: Counter[Published], there: Counter[Published], unlabelled: Sequence[str], name: str
) -> Iterator[Finding]:
    if wanted and there.total() > wanted.total():
        more = there.total() - wanted.total()
        yield Finding("rows", f"the release has {some(more, 'basket')} more than the original", more, {})
    made_up = there - wanted
    if made_up:
        example, _ = min(made_up.items(), key=lambda each: (-each[1], each[0]))
        nowhere = f"; no label holds {listed(map(repr, unlabelled[:SHOWN]))}" if unlabelled else ""
        message = f"{some(made_up.total(), 'basket')} of {name!r} cannot be traced back to one of the original{nowhere}"
        shown = "{" + ", ".join(map(written, example)) + "}"
        yield Finding("original", message, made_up.total(), {name: shown})
