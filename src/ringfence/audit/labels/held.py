"""Which values of an attribute a published label holds: by the tree that is over them, or by what the label says."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from ringfence.arrays import Longs
from ringfence.audit.labels.moments import as_moment, spelled_moment
from ringfence.audit.labels.reading import AnyOf, Interval, read_label
from ringfence.audit.labels.spelling import as_number, as_set, spans_of, spelled_number
from ringfence.audit.labels.trees import Path, Tree
from ringfence.spec.attributes import Attribute
from ringfence.spec.hierarchies import FanoutHierarchy

MOST_REMEMBERED = 1 << 18
"""How many labels of an attribute are remembered with what they hold."""

Kind: TypeAlias = tuple[tuple[Path, ...], tuple[int, ...], bool, bool, bool]

_in_use: "WeakValueDictionary[Kind, Held]" = WeakValueDictionary()


def held_in(tree: Tree, attribute: Attribute) -> "Held":
    """Return the values of a tree, the same ones as long as anybody uses them: a label is read once.

    What a label holds is told by the tree and by whether values are numbers, dates or grouped by a fan-out, and by
    nothing else.
    """
    kind = tree.paths, tree.ceilings, attribute.numeric, attribute.dates, _is_fanned(attribute)
    held = _in_use.get(kind)
    if held is None:
        held = _in_use[kind] = Held(tree, attribute)
    return held


class Held:
    """The values of a tree, to be found by the labels that hold them."""

    def __init__(self, tree: Tree, attribute: Attribute) -> None:
        self.tree = tree
        self.fanned = _is_fanned(attribute)
        self._said: dict[str, Longs] = {}
        self._items: dict[str | None, list[int]] = {}
        self.spell = spelled_number if attribute.numeric else spelled_moment if attribute.dates else _written_out
        self.place: Callable[[str], Decimal | Fraction | None] = as_moment if attribute.dates else as_number
        self.texts = [path[0] for path in tree.paths]
        line = [(self.place(text or ""), leaf) for leaf, text in enumerate(self.texts)]
        rising = sorted((number, leaf) for number, leaf in line if number is not None)
        self.numbers, self.by_number = [number for number, _ in rising], [leaf for _, leaf in rising]

    @cached_property
    def ceilings(self) -> list[tuple[Longs, list[int]]]:
        """What each ceiling holds, and the values whose ceiling it is."""
        bounded: dict[str | None, list[int]] = {}
        for leaf, label in enumerate(self.tree.ceiling_labels):
            bounded.setdefault(label, []).append(leaf)
        held = ((self.tree.held(label), leaves) for label, leaves in bounded.items())
        return [(found[0], leaves) for found, leaves in held if found is not None]

    def found(self, label: str | None) -> tuple[Longs, Longs] | None:
        """Return what a label of the tree holds, and the steps there; None if it is no label of the tree.

        A missing label is the missing value; where the original has none, it was taken out, and may be anything.
        Numbers and days may be spelled in another way than the tree has them. An interval may not: it holds what it
        says, and `20-29` says less than `[20, 30)`.
        """
        if label is None:
            return self.tree.held(None) or self.tree.held(self.tree.root)
        found = self.tree.held(label)
        return found if found is not None else self.tree.held(self.spell(label))

    def by(self, label: str | None) -> Longs:
        """Return the values that a label holds, each once: as a label of the tree, else by what it says."""
        said = self._said.get(label or "")
        if said is not None:  # it was no label of the tree
            return said
        found = self.found(label)
        return found[0] if found is not None else self.said(label or "")

    def said(self, label: str) -> Longs:
        """Return the values that some other label holds by what it says, each once, in their order."""
        said = self._said.get(label)
        if said is None:
            if len(self._said) >= MOST_REMEMBERED:
                self._said.clear()
            said = self._said[label] = np.array(sorted({*self._under(label)}), np.int64)
            said.setflags(write=False)
        return said

    def _under(self, label: str) -> list[int]:
        """Return the values that some other label holds by what it says: none if it cannot be read."""
        listed = as_set(label) if "[" not in label else None
        if listed is not None:
            return [leaf for value in listed for leaf in self._of_item(value)]
        spans = spans_of(label)
        ends = spans[0] if self.fanned and spans is not None and len(spans) == 1 else None
        if ends is not None and {*ends} <= self.tree.leaf_of.keys():
            # A group of neighbours, called by the first and the last of its values that are published.
            first, last = (self.tree.leaf_of[end] for end in ends)
            return [*range(first, last + 1)]
        if spans is not None and (self.place is as_moment or label.startswith("{")):
            return [leaf for span in spans for leaf in self._between(span)]
        meaning = read_label(label)
        if isinstance(meaning, Interval):
            low, high = 0, len(self.numbers)
            if meaning.low is not None:
                low = (bisect_left if meaning.with_low else bisect_right)(self.numbers, meaning.low)
            if meaning.high is not None:
                high = (bisect_right if meaning.with_high else bisect_left)(self.numbers, meaning.high)
            return self.by_number[low:high]
        if isinstance(meaning, AnyOf):
            return [leaf for value in meaning.values for leaf in self._of_item(value)]
        return [leaf for leaf, text in enumerate(self.texts) if text is not None and meaning.holds(text)]

    def _of_item(self, value: str | None) -> list[int]:
        """Return the values that an item of a list stands for; many lists name the same."""
        known = self._items.get(value)
        if known is None:
            if len(self._items) >= MOST_REMEMBERED:
                self._items.clear()
            found = self.tree.held(None) if value in (None, "") else self.found(value)
            known = self._items[value] = [] if found is None else found[0].tolist()
        return known

    def _between(self, span: tuple[str, str] | None) -> list[int]:
        """Return the values from one to another; the missing value for None."""
        if span is None:
            gap = self.tree.held(None)
            return [] if gap is None else gap[0].tolist()
        first, last = map(self.place, span)
        if first is None or last is None:
            return []
        return self.by_number[bisect_left(self.numbers, first) : bisect_right(self.numbers, last)]


def _is_fanned(attribute: Attribute) -> bool:
    """Whether groups of values are called by the first and the last of them: the tree has them in their order."""
    return isinstance(attribute.hierarchy, FanoutHierarchy)


def _written_out(text: str) -> str:
    """Return a large number as text files have it, in powers of ten or with a fraction of zero, in full.

    All other text is as it stands: a code of `007` is not one of `7`.

    >>> _written_out("1e+20"), _written_out("9007199254740992.0"), _written_out("7.0")
    ('100000000000000000000', '9007199254740992', '7.0')
    """
    return spelled_number(text) if re.search(r"[eE]|\d{16}\.0$", text) else text
