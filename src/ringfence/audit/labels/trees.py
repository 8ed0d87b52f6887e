"""What each label of an attribute holds: a tree, as the path that every value takes up to the root.

The audit has trees of its own, so that a census that codes a value wrongly, or a builder that puts it under a wrong
label, is not asked to confirm it. A label holds the values on whose paths it lies, and how many steps above a value it
lies there says whether that is past the value's ceiling. `growing` makes trees from what a specification says.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ringfence.arrays import Longs
from ringfence.audit.labels.spelling import ROOT
from ringfence.errors import SpecError, listed, suggestion

Path = tuple[str | None, ...]
"""A value, None for a missing one, then the labels above it, up to the root."""

SHOWN_LABELS = 12


@dataclass(frozen=True, eq=False)
class Tree:
    """The paths of all values, and for each how many steps it may climb: its ceiling, the highest label it may have.

    Campan, Truta, Cooper: P-Sensitive K-Anonymity with Generalization Constraints, 2010, Definition 4: the ceiling is
    the first marked label on the way up, the value itself included; without one, the root.

    >>> tree = Tree.of([("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "*")], ["health"])
    >>> tree.paths[2], tree.ceilings, [each.tolist() for each in tree.held("health")]
    (('cook', '*'), (1, 1, 1), [[0, 1], [1, 1]])
    """

    paths: tuple[Path, ...]
    ceilings: tuple[int, ...]

    @classmethod
    def of(
        cls,
        paths: Iterable[Path],
        boundary: Sequence[str] | int | None = None,
        *,
        missing: bool = False,
        where: str = "the hierarchy",
    ) -> "Tree":
        """Take paths, end them in one root, and find ceilings by a `boundary`: labels that are marked, or a level.

        The root is the label that all paths of more than a value end in, else `*`. A missing value is directly under
        it. Level n of a tree of height h takes values to depth h - n, and those that are not as deep stay.
        """
        given = [*paths]
        ends = {path[-1] for path in given if len(path) > 1}
        lone = any(len(path) == 1 for path in given)
        root = ends.pop() if len(ends) == 1 and (not lone or ends == {ROOT}) else ROOT
        ended = [_ended(path, root) for path in given] + [(None, root)] * missing
        if not ended:
            raise SpecError(f"{where} has no leaves")
        tree = cls(tuple(ended), tuple(len(path) - 1 for path in ended))
        tree._refuse_ambiguous(where)
        return tree if boundary is None else cls(tree.paths, tuple(tree._ceilings(boundary, where)))

    def _ceilings(self, boundary: Sequence[str] | int, where: str) -> Iterable[int]:
        if isinstance(boundary, int):
            if boundary > self.height:
                raise SpecError(
                    f"the boundary of {where} is level {boundary}, above its height; allowed: 0 to {self.height}"
                )
            return (max(0, len(path) - 1 - (self.height - boundary)) for path in self.paths)
        for mark in boundary:
            if mark not in self._held:
                known = [label for label in self._held if label is not None]
                raise SpecError(
                    f"the boundary of {where} has {mark!r}, which is not one of its labels{suggestion(mark, known)};"
                    f" some of them are: {listed(sorted({*known} - {*self.leaf_of})[:SHOWN_LABELS])}"
                )
        marks = {*boundary}
        return (
            next((steps for steps, label in enumerate(path) if label in marks), len(path) - 1) for path in self.paths
        )

    @property
    def root(self) -> str | None:
        """The label above all."""
        return self.paths[0][-1]

    @cached_property
    def height(self) -> int:
        """How many steps the deepest value is below the root."""
        return max(map(len, self.paths)) - 1

    @cached_property
    def leaf_of(self) -> dict[str | None, int]:
        """The number of each value."""
        return {path[0]: leaf for leaf, path in enumerate(self.paths)}

    @property
    def is_bounded(self) -> bool:
        """Whether some value may not be published as the root."""
        return any(steps < len(path) - 1 for steps, path in zip(self.ceilings, self.paths, strict=True))

    @cached_property
    def limits(self) -> Longs:
        """The ceilings as an array."""
        return np.array(self.ceilings, np.int64)

    @cached_property
    def ceiling_labels(self) -> list[str | None]:
        """The highest label that each value may have."""
        return [path[steps] for path, steps in zip(self.paths, self.ceilings, strict=True)]

    def held(self, label: str | None) -> tuple[Longs, Longs] | None:
        """Return the values that a label holds, and how many steps above each it is; None if there is no such label.

        A path may have a label twice, where a group has a single member of its own name: the lower one counts. `*`
        is the root, whatever that is called.
        """
        return self._held.get(self.root if label == ROOT and ROOT not in self._held else label)

    @cached_property
    def _held(self) -> dict[str | None, tuple[Longs, Longs]]:
        found: dict[str | None, tuple[list[int], list[int]]] = {}
        for leaf, path in enumerate(self.paths):
            for steps, label in enumerate(path):
                leaves, above = found.setdefault(label, ([], []))
                if not leaves or leaves[-1] != leaf:
                    leaves.append(leaf)
                    above.append(steps)
        return {label: (np.array(each[0], np.int64), np.array(each[1], np.int64)) for label, each in found.items()}

    @cached_property
    def nodes(self) -> Longs:
        """`nodes[depth, leaf]`: a number for the node at that depth on the way to a value, or -1 below the value."""
        numbers: dict[tuple[int, str | None], int] = {}
        nodes = np.full((self.height + 1, len(self.paths)), -1, np.int64)
        for leaf, path in enumerate(self.paths):
            node = -1
            for depth, label in enumerate(reversed(path)):
                node = nodes[depth, leaf] = numbers.setdefault((node, label), len(numbers))
        return nodes

    def _refuse_ambiguous(self, where: str) -> None:
        """Refuse a value that stands twice or is a group of others, and a label of two groups that hold others.

        A node holds as many values as its label does, or there is another node of that label.
        """
        if len(self.leaf_of) < len(self.paths):
            (twice, _), *_ = Counter(path[0] for path in self.paths).most_common(1)
            raise SpecError(f"{where} has the leaf {twice!r} twice; each leaf may stand in one row only")
        for value in self.leaf_of:
            if len(self._held[value][0]) > 1:
                raise SpecError(f"{where} has {value!r} both as a leaf and as a group of other leaves")
        counts = np.bincount(self.nodes[self.nodes >= 0])
        for leaf, path in enumerate(self.paths):
            for depth, label in enumerate(reversed(path)):
                if counts[self.nodes[depth, leaf]] != len(self._held[label][0]):
                    raise SpecError(f"{where} uses the label {label!r} for two different groups of values")


def _ended(path: Path, root: str | None) -> Path:
    """End a path in the root, named once: files are often padded with it."""
    inner = [*path[1:]]
    while inner and inner[-1] == root:
        inner.pop()
    return (path[0], *inner, root)
