"""Boundaries: which rows may be generalized alike, which cannot be published at all, and what would save them.

The *maximum allowed* table publishes every value as the highest node that its boundary allows. Two rows can share a
group exactly if they are equal there. A group of it that fails is lost for every method: what is published of it
together is a part of it, and a part has no more rows and no more different values. No other row has to go: a group that
holds can be published as it is.

Campan, Truta, Cooper: P-Sensitive K-Anonymity with Generalization Constraints. Transactions on Data Privacy 3 (2010),
Properties 1 to 6.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Ints, Longs
from ringfence.census.census import Census
from ringfence.census.classes import Roller
from ringfence.errors import listed, some_rows, these
from ringfence.values.hierarchy import MISSING, Hierarchy
from ringfence.values.recoding import by_nodes


@dataclass(frozen=True, eq=False)
class MaximumAllowed:
    """The groups of the maximum allowed table: `member[t]` is that of tuple t.

    For each group its rows, its number of different values of each sensitive attribute, and whether it fails.
    """

    member: Ints
    rows: Longs
    values: Longs
    fails: npt.NDArray[np.bool_]

    @property
    def suppressed(self) -> int:
        """How many rows cannot be published: those of the set OUT."""
        return int(self.rows[self.fails].sum())


def maximum_allowed(
    census: Census, k: int, least_values: Sequence[int], hierarchies: Sequence[Hierarchy] | None = None
) -> MaximumAllowed:
    """Return the maximum allowed table, judged by k and by the least number of values of each sensitive attribute.

    Boundaries are those of the census, or of other `hierarchies` over the same leaves.
    """
    trees = [quasi.hierarchy for quasi in census.quasi] if hierarchies is None else hierarchies
    roller = Roller(census, [[by_nodes(tree, tree.ceilings)] for tree in trees])
    classes = roller.roll(roller.finest, roller.fields([(a, 0) for a in range(len(trees))]), roller.room())
    rows = classes.weights[: classes.size]
    values = [np.bincount(part.homes[: part.size], minlength=classes.size) for part in classes.pairs]
    counted = np.stack(values, axis=1) if values else np.zeros((classes.size, 0), np.int64)
    fails = (rows < k) | (counted < np.asarray(least_values)).any(axis=1)
    return MaximumAllowed(classes.member[: len(census.weights)], rows, counted, fails)


@dataclass(frozen=True)
class Remedy:
    """How many rows would have to go if one boundary were other: `raised` by a level, `removed` altogether."""

    attribute: str
    raised: int
    removed: int


@dataclass(frozen=True)
class Lost:
    """Rows that cannot be published: the highest labels allowed for them, how many they are, and what they lack.

    `saved_by` are the attributes of which the boundary, raised by one level, would be enough to publish them all.
    """

    labels: dict[str, str]
    rows: int
    lacks: tuple[str, ...]
    saved_by: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """Which rows must be suppressed, and what each boundary has to do with it.

    `lost` are groups of rows, the largest first; `remedies` has an entry for each attribute with a boundary, and
    `unbounded` says how many rows would go without any boundary. `gone` is how many were suppressed in a release.
    """

    rows: int
    suppressed: int
    unbounded: int
    lost: tuple[Lost, ...]
    remedies: tuple[Remedy, ...]
    gone: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """The explanation in words."""
        if self.suppressed == 0:
            return (self._chosen or "No row has to be suppressed.",)
        have = f"{self.suppressed:,} of {_rows(self.rows)} {'has' if self.rows == 1 else 'have'} to be suppressed"
        return (
            f"{have}: within the boundaries, too few others may be published like them.",
            *(
                f"If {remedy.attribute!r} were allowed one level more, {_rows(remedy.raised)} instead of"
                f" {self.suppressed:,} would go; without its boundary, {remedy.removed:,}."
                for remedy in self.remedies
            ),
            *([self._chosen] if self._chosen else []),
        )

    @property
    def _chosen(self) -> str:
        """What is said of rows that were suppressed though no boundary forces it; empty if there are none."""
        chosen = self.gone - self.suppressed
        if chosen <= 0:
            return ""
        were = "was" if chosen == 1 else "were"
        if self.suppressed:
            return f"Beyond these, {_rows(chosen)} {were} suppressed, which no boundary forces."
        return f"{chosen:,} of {_rows(self.rows)} {were} suppressed, which no boundary forces."


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def explain_suppression(census: Census, *, k: int, least_values: Sequence[int] = ()) -> Explanation:
    """Say which rows cannot be published within the boundaries, and how many fewer they would be with other boundaries.

    Every number is counted: for each attribute that has a boundary, the maximum allowed table is made anew with the
    boundary one level higher (`Hierarchy.with_raised_boundary`), and without it, the others as they are.

    Parameters
    ----------
    census
        What was counted.
    k
        The least number of rows of a group.
    least_values
        For each sensitive attribute of the census, the least number of different values in a group.

    Examples
    --------
    Ages may be published in decades; two people are alone in theirs.

    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> age = {"role": "quasi", "hierarchy": {"intervals": [10, 20]}, "boundary": {"level": 1}}
    >>> counted = pa.table({"age": [21, 24, 33, 45], "rows": [2, 2, 1, 1]})
    >>> census = take_census(counted, Spec(attributes={"age": age}), "rows")
    >>> explanation = explain_suppression(census, k=2)
    >>> [(lost.labels, lost.rows, lost.saved_by) for lost in explanation.lost]
    [({'age': '[30, 40)'}, 1, ('age',)), ({'age': '[40, 50)'}, 1, ())]
    >>> print(explanation.sentences[1])
    If 'age' were allowed one level more, 1 row instead of 2 would go; without its boundary, 0.

    Campan, Truta, Cooper 2010, Property 6: the rows are those of the set OUT. What other boundaries would do is ours.
    """
    now = maximum_allowed(census, k, least_values)
    trees = [quasi.hierarchy for quasi in census.quasi]
    raised: dict[int, MaximumAllowed] = {}
    removed: dict[int, MaximumAllowed] = {}
    for a, tree in enumerate(trees):
        if (tree.ceilings != tree.root).any():
            for tables, other in ((raised, tree.with_raised_boundary()), (removed, tree.without_boundary())):
                tables[a] = maximum_allowed(census, k, least_values, [*trees[:a], other, *trees[a + 1 :]])
    everything = maximum_allowed(census, k, least_values, [tree.without_boundary() for tree in trees])
    return Explanation(
        rows=census.rows,
        suppressed=now.suppressed,
        unbounded=everything.suppressed,
        lost=tuple(_lost(census, k, least_values, now, raised)),
        remedies=tuple(
            Remedy(census.quasi[a].name, table.suppressed, removed[a].suppressed) for a, table in raised.items()
        ),
    )


def _lost(
    census: Census,
    k: int,
    least_values: Sequence[int],
    now: MaximumAllowed,
    raised: dict[int, MaximumAllowed],
) -> list[Lost]:
    """Describe the groups that fail, the largest first, then as the census has them."""
    _, example = np.unique(now.member, return_index=True)
    found = []
    for group in sorted(np.flatnonzero(now.fails).tolist(), key=lambda g: (-int(now.rows[g]), int(example[g]))):
        some = example[group]
        nodes = [int(quasi.hierarchy.ceilings[census.codes[some, a]]) for a, quasi in enumerate(census.quasi)]
        lacks = [f"{some_rows(now.rows[group])}, {k} needed"] if now.rows[group] < k else []
        lacks += [
            f"{_counted(int(count), None if part.name == census.entity else part.name)}, {least} needed"
            for part, count, least in zip(census.sensitive, now.values[group].tolist(), least_values, strict=True)
            if count < least
        ]
        found.append(
            Lost(
                labels={
                    quasi.name: quasi.hierarchy.labels[node] or MISSING
                    for quasi, node in zip(census.quasi, nodes, strict=True)
                },
                rows=int(now.rows[group]),
                lacks=tuple(lacks),
                saved_by=tuple(
                    census.quasi[a].name for a, table in raised.items() if not table.fails[table.member[some]]
                ),
            )
        )
    return found


def _counted(count: int, name: str | None) -> str:
    """Return a number of people, or of values of an attribute, in words."""
    one, many = ("person", "people") if name is None else (f"value of {name!r}", f"values of {name!r}")
    return f"{count} {one if count == 1 else many}"


def failure(explanation: Explanation, k: int, limit: int) -> str:
    """Say that more rows would have to be suppressed than may be, and which boundary is worth raising."""
    first = explanation.lost[0]
    lacks = listed(first.lacks)
    if not explanation.remedies:
        return f"{these(explanation.rows)} cannot be published with k = {k}: together they have {lacks}"
    most = min(limit, explanation.rows - 1)
    words = listed(f"{name} {label}" for name, label in first.labels.items())
    best = min(explanation.remedies, key=lambda remedy: remedy.raised)
    hint = ""
    if best.raised < explanation.suppressed:
        hint = f"; if {best.attribute!r} were allowed one level more, {best.raised} would"
    return (
        f"within the boundaries, {explanation.suppressed} of {some_rows(explanation.rows)} would have to be suppressed"
        f" for k = {k}, and at most {most} may be (the largest group of them, {words}: {lacks}){hint}"
    )
