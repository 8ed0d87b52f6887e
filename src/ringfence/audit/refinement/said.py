"""What labels say of the rows behind them: values that are certainly there, and others that may be.

Values are numbered along their line, and so are the gaps between neighbours, in which values may lie that no label of
the release names. So whatever may lie between two numbers has a number itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ringfence.audit.counts import Column
from ringfence.audit.labels.blocks import position
from ringfence.audit.labels.grammar import grammar
from ringfence.audit.labels.growing import stated_tree
from ringfence.audit.labels.spelling import ROOT, as_set, ends_in, spans_of
from ringfence.spec import Spec


@dataclass(frozen=True)
class Said:
    """What one label says: each of `values` is behind it, in rising order, and anything else from `low` to `high` may
    be; nothing else is where `low` is above `high`."""

    values: tuple[int, ...]
    low: int = 0
    high: int = -1


@dataclass(frozen=True)
class Sayings:
    """What the labels of a column say, label by label; value number 2 i is the i-th of `values`, odd ones are gaps."""

    said: tuple[Said, ...]
    values: tuple[str | None, ...]

    def value(self, number: int) -> str | None:
        """Return the value that has a number."""
        return self.values[number // 2]


def say(column: Column, spec: Spec) -> Sayings:
    """Return what the labels of a column say that was published in groups or rings by a specification."""
    attribute, shown = spec.attributes[column.name], spec.shown_as(column.name)
    labels = column.spelled or column.labels
    tree = stated_tree(column.name, spec)
    form = grammar(column.name, spec, [label for label in labels if label is not None])

    def leaves(label: str) -> Sequence[str | None] | None:
        if tree is not None and label not in tree.leaf_of and (held := tree.held(label)) is not None:
            return [tree.paths[leaf][0] for leaf in held[0].tolist()]
        named = as_set(label) or ends_in(label) or (label,)
        return None if all(value is None or form.is_value(value) for value in named) else ()

    return read_sayings(
        labels,
        place=position(attribute) if attribute.measured else None,
        shown=shown,
        leaves=leaves,
        root=None if tree is None else tree.root,
    )


def read_sayings(
    labels: Sequence[str | None],
    *,
    place: Callable[[str], Any] | None = None,
    shown: Literal["set", "range", "hierarchy"] = "set",
    leaves: Callable[[str], Sequence[str | None] | None] = {ROOT: ()}.get,
    root: str | None = None,
) -> Sayings:
    """Return what labels say that are values, sets of values, and ranges along a line on which values have a `place`.

    Where a "set" is shown, all that a label names is behind it, and a range is short for all values of the data between
    its ends. Where a "range" is, both its ends are behind it and anything between may be, however it is written; of
    several ranges in a set, the first end and the last. Of a node of a "hierarchy", and of ranges that have no line,
    nothing is known. `leaves` tells what a node names, nothing if that is not known, and None of labels that are no
    nodes. A missing value is under the `root`, if there is one in the data: where no label names it, it may be behind
    the root all the same.

    >>> said = read_sayings(["[20, 30]", "{20, 40}"], place=int, shown="set")
    >>> said.values
    ('20', '30', '40', None)
    >>> said.said
    (Said(values=(0, 2), low=0, high=2), Said(values=(0, 4), low=0, high=-1))
    >>> read_sayings(["{[20, 30], [40, 50], null}"], place=int, shown="range").said
    (Said(values=(0, 6, 8), low=0, high=6),)
    """
    named = [_named(label, leaves) for label in labels]
    known: list[str | None] = [*sorted({value for part in named for value in part if value is not None}, key=place)]
    number: dict[str | None, int] = {value: 2 * rank for rank, value in enumerate(known)}
    number[None] = 2 * len(known)  # last, and in no range
    anything = Said((), -1, number[None])
    gaps = any(None in part for part in named)
    said = []
    for label, part in zip(labels, named, strict=True):
        with_gap = None in part or (gaps and label == root)
        gap = [number[None]] if with_gap else []
        values = sorted({number[value] for value in part if value is not None})
        spans = () if label is None or leaves(label) is not None else spans_of(label) or ()
        several = len([span for span in spans if span is not None]) > 1
        if not part or (len(part) > 1 and (shown == "hierarchy" or (shown == "range" and place is None))):
            said.append(anything)
        elif len(values) > 1 and (shown == "range" or several):
            high = number[None] if label == root else values[-1]
            said.append(Said((values[0], values[-1], *gap), values[0], high))
        elif spans:
            said.append(Said((*range(values[0], values[-1] + 1, 2), *gap), values[0], values[-1]))
        elif label == root and not gaps:
            said.append(Said(tuple(values), number[None], number[None]))
        else:
            said.append(Said((*values, *gap)))
    return Sayings(tuple(said), (*known, None))


def _named(label: str | None, leaves: Callable[[str], Sequence[str | None] | None]) -> Sequence[str | None]:
    """Return the values that a label names; none if it is not known which."""
    if label is None:
        return (None,)
    held = leaves(label)
    if held is not None:
        return held
    return ends_in(label) or as_set(label) or (label,)
