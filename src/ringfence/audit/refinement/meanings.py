"""What a label says of the rows that have it, where it is tight: made from the values of its class and no others.

A set lists values each of which some row has. Of a range, some row has its first and some its last value. A node of a
hierarchy is the lowest above its rows, so that they are under two of its children at least. Loose labels are made
otherwise (`loose`). What is proven here holds for every table that gives the same release; where a reader cannot know,
nothing is proven.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ringfence.audit.counts import Column
from ringfence.audit.labels.grammar import grammar
from ringfence.audit.labels.growing import stated_tree
from ringfence.audit.labels.moments import as_moment
from ringfence.audit.labels.spelling import ROOT, as_number, as_set, ends_in, spans_of
from ringfence.audit.labels.trees import Tree
from ringfence.audit.refinement.loose import grid_test, loosened
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute
from ringfence.spec.hierarchies import FanoutHierarchy


@dataclass(frozen=True)
class Meaning:
    """What a label says: the values that some row must have, and of how many that may be there, if that is known.

    A value that is published as it is has itself alone. `parts` are the sizes of a node's children, where the values
    must be under two of them at least.
    """

    present: tuple[str | None, ...] = ()
    width: int | None = None
    parts: tuple[int, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether it is a value as it is."""
        return self.width == 1


def meanings(column: Column, spec: Spec) -> list[Meaning]:
    """Return what each label of a column says, by the way in which the method shows the attribute.

    Of a table that was recoded value by value, or by another tool, labels are taken for what they look like.
    """
    attribute, labels = spec.attributes[column.name], [label for label in column.spelled if label is not None]
    shown = spec.shown_as(column.name) if spec.groups_rows else None
    if shown is None and isinstance(attribute.hierarchy, FanoutHierarchy):
        shown = "hierarchy"
    place, tree, loose = _place(attribute), stated_tree(column.name, spec), spec.is_loose(column.name)
    reader = _Reader(
        shown=shown,
        is_value=grammar(column.name, spec, labels).is_value,
        place=place,
        step=_step(labels, place),
        trees=[] if tree is None else [loosened(tree), tree] if loose else [tree],
        on_grid=grid_test(attribute) if loose else None,
        gaps=spec.data.missing == "value",
        masked=spec.method.keep_suppressed,
    )
    return [reader.read(label) for label in column.spelled]


def root_of(name: str, spec: Spec) -> str:
    """Return the label of the root of an attribute's hierarchy."""
    tree = stated_tree(name, spec)
    return ROOT if tree is None or tree.root is None else tree.root


def _place(attribute: Attribute) -> Callable[[str], Any]:
    """Return where a value lies in the attribute's order."""
    if attribute.measured_dates:
        return as_moment
    if isinstance(attribute.order, list):
        return attribute.order.index
    return _number if attribute.numeric else str


def _number(text: str) -> Fraction | None:
    number = as_number(text)
    return None if number is None else Fraction(number)


def _step(labels: Sequence[str], place: Callable[[str], Any]) -> Fraction | None:
    """Return how finely the numbers of a column are told, days as well; None where they are not on a line.

    It is only by this that a reader can count what may lie in a range.
    """
    if place not in (as_moment, _number):
        return None
    told = [place(value) for label in labels for value in ends_in(label) or as_set(label) or (label,) if value]
    finest = max((each.denominator for each in told if each is not None), default=1)
    return Fraction(1, finest)


@dataclass(frozen=True, eq=False)
class _Reader:
    """What labels of one attribute say. `shown` is None where they are taken for what they look like."""

    shown: str | None
    is_value: Callable[[str], bool]
    place: Callable[[str], Any]
    step: Fraction | None
    trees: Sequence[Tree]
    """Of loose labels, the tree of those that tell nothing, then the whole one."""
    on_grid: Callable[[str], bool] | None
    """Of loose labels, which ends of ranges are points of the grid, whatever lies between them."""
    gaps: bool
    """Whether a value may be missing, which lies under the root."""
    masked: bool

    def read(self, label: str | None) -> Meaning:
        """Return what a label says. Where rows may be `masked`, `*` says nothing; of other tools' tables neither."""
        if label is None:
            return Meaning((None,), 1)
        unsaid = label == ROOT and (self.masked or self.shown != "hierarchy")
        for tree in self.trees:
            if tree.held(label) is not None and not unsaid:
                return self._node(label, tree)
        if label == ROOT:
            return Meaning()
        spans = None if self.shown == "hierarchy" else spans_of(label)
        if spans is not None and all(self.is_value(end) for span in spans if span is not None for end in span):
            return self._range([span for span in spans if span is not None], (None,) * (None in spans))
        values = as_set(label)
        if values is not None and all(value is None or self.is_value(value) for value in values):
            return self._set(values)
        return Meaning((label,), 1) if self.is_value(label) and not _is_bracketed(label) else Meaning()

    def _set(self, values: tuple[str | None, ...]) -> Meaning:
        if self.shown != "range":
            return Meaning(values, len(values))
        # A range of values that are no numbers is told by all that lie in it: only the first and the last are there.
        inside = sorted((value for value in values if value is not None), key=self.place)
        ends = [*dict.fromkeys([inside[0], inside[-1]])] if inside else []
        return Meaning((*ends, *([None] if None in values else [])), len(values))

    def _range(self, spans: Sequence[tuple[str, str]], gap: tuple[None, ...]) -> Meaning:
        """Return what a range says, or several between which nothing can lie: the first end and the last are there."""
        ends = (spans[0][0], spans[-1][1])
        places = [self.place(end) for span in spans for end in span]
        held = None
        if self.step is not None and None not in places:
            between = zip(places[::2], places[1::2], strict=True)
            held = sum(int((high - low) / self.step) + 1 for low, high in between)
        if self.on_grid is not None and all(map(self.on_grid, ends)):
            return Meaning((), held)
        return Meaning((*ends, *gap), None if held is None else held + len(gap))

    def _node(self, label: str, tree: Tree) -> Meaning:
        held = tree.held(label)
        assert held is not None
        leaves, steps = (each.tolist() for each in held)
        if len(leaves) == 1:
            return Meaning((tree.paths[leaves[0]][0],), 1)
        values = tuple(tree.paths[leaf][0] for leaf in leaves)
        if self.shown == "set":  # a set of all that is under a node has its name
            return Meaning(values, len(values))
        if self.shown == "range":
            return Meaning((), len(values))
        children = [tree.paths[leaf][step - 1] for leaf, step in zip(leaves, steps, strict=True)]
        sizes = Counter(children)
        if label == tree.root and self.gaps:  # a missing value may be under it, beside any of its children
            return Meaning()
        if len(sizes) == 1:  # a node above another that holds the same: no tight label has its name
            return Meaning((), len(values))
        alone = [value for value, child in zip(values, children, strict=True) if sizes[child] == 1]
        return Meaning(tuple(alone) if len(sizes) == 2 else (), len(values), tuple(sorted(sizes.values())))


def _is_bracketed(label: str) -> bool:
    return label.startswith(("{", "[")) and label.endswith(("}", "]", ")"))
