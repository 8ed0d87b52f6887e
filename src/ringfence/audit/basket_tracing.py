"""Published baskets beside their original: is each of them one of its baskets, under the labels of its items?

Every item has one label, so that a basket of the original can be published in one way only. What should be there is
compared with what is there, however often each basket occurs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ringfence.audit.verdict import Finding, some
from ringfence.builders import quoted, read_domain
from ringfence.errors import listed
from ringfence.hierarchy import Hierarchy
from ringfence.spec import Spec

SHOWN = 5
Published = tuple[str, ...]


def item_tree(original: pa.ListArray, spec: Spec) -> Hierarchy:
    """Return the item tree as it is for the items of an original."""
    encoded = original.values.dictionary_encode()
    counts = np.bincount(encoded.indices.to_numpy(), minlength=len(encoded.dictionary))
    return read_domain(spec.items or "", spec, encoded.dictionary.to_pylist(), counts.tolist()).hierarchy


def trace_baskets(
    published: pa.ListArray, original: pa.ListArray, tree: Hierarchy, spec: Spec
) -> tuple[list[Finding], dict[str, int]]:
    """Return what is wrong with published baskets beside their original, and how many of its baskets are not there.

    Labels that are no node of the tree hold nothing: that they are there is found elsewhere.
    """
    name = spec.items or ""
    labels = {label for basket in published.to_pylist() for label in basket if label in tree.node_index}
    label_of: dict[str | None, str] = {}
    for label in sorted(labels, key=lambda each: (tree.depth[tree.node_index[each]], each)):  # the narrowest comes last
        node = tree.node_index[label]
        label_of |= {tree.labels[leaf]: label for leaf in range(tree.first[node], tree.stop[node])}
    domain = read_domain(name, spec, original.values.unique().to_pylist(), [1] * len(original.values.unique()), tree)
    leaves = dict(zip(original.values.unique().to_pylist(), domain.leaves.tolist(), strict=True))
    unlabelled = sorted({item for item in leaves if tree.labels[leaves[item]] not in label_of})
    wanted = Counter(_wanted(original, {item: label_of.get(tree.labels[leaf]) for item, leaf in leaves.items()}))
    there = Counter(tuple(sorted({*basket})) for basket in published.to_pylist())
    measured = {"original": wanted.total(), "suppressed": max(wanted.total() - there.total(), 0)}
    return [*_findings(wanted, there, unlabelled, name)], measured


def _wanted(original: pa.ListArray, label_of: dict[str, str | None]) -> Iterator[Published]:
    """Yield each basket of the original as it is to be published."""
    for basket in original.to_pylist():
        yield tuple(sorted({label for label in map(label_of.__getitem__, basket) if label is not None}))


def _findings(
    wanted: Counter[Published], there: Counter[Published], unlabelled: Sequence[str], name: str
) -> Iterator[Finding]:
    if there.total() > wanted.total():
        more = there.total() - wanted.total()
        yield Finding("rows", f"the release has {some(more, 'basket')} more than the original", more, {})
    made_up = there - wanted
    if made_up:
        example, _ = min(made_up.items(), key=lambda each: (-each[1], each[0]))
        nowhere = f"; no label holds {listed(map(repr, unlabelled[:SHOWN]))}" if unlabelled else ""
        message = f"{some(made_up.total(), 'basket')} of {name!r} cannot be traced back to one of the original{nowhere}"
        shown = "{" + ", ".join(map(quoted, example)) + "}"
        yield Finding("original", message, made_up.total(), {name: shown})
