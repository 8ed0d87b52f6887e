"""Plans: what a search decided, in terms of leaves and labels; saved and loaded as JSON.

A plan speaks of no row and of no engine. `carry_out` turns it, with the values that a census met, into steps.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ringfence.arrays import Bools, Ints, Longs, distinct_rows
from ringfence.census.census import Census, Quasi, Sensitive
from ringfence.census.covers import Covers, Shown
from ringfence.judging.losses import detail_loss
from ringfence.markup import clipped, paragraph, shortened, table
from ringfence.plans.base import Occasion, Plan
from ringfence.plans.published import Beside, Label, PlanColumn, Published, others
from ringfence.rows.sources import WHOSE
from ringfence.rows.steps import CarryOut, Complete, Copy, Drop, Hide, MaskTold, Pseudonym, Relabel, Step, Tell, Without
from ringfence.values.hierarchy import MISSING, Hierarchy
from ringfence.values.keys import OnLine, label
from ringfence.values.recoding import Recoding, by_labels

MASK = "*"


@dataclass(frozen=True)
class ColumnPlan(PlanColumn):
    """How one attribute is published: each leaf's label. A missing value is the leaf None.

    `level` is the level of its hierarchy, where the scheme has levels. `unnamed` are the places of leaves that only
    suppressed rows had, and that their label therefore leaves out: it is true of no row that has one.
    """

    level: int | None
    leaves: tuple[Label, ...]
    labels: tuple[Label, ...]
    unnamed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.leaves) != len(self.labels) or len({*self.leaves}) != len(self.leaves) or (self.level or 0) < 0:
            raise ValueError("a column needs a level from 0 on, and one label for each of its different leaves")
        if not all(0 <= leaf < len(self.leaves) for leaf in self.unnamed):
            raise ValueError("a column has a leaf without a name that it does not have")

    @property
    def known(self) -> dict[Label, Label]:
        """The leaves that may be published, each with its label."""
        unnamed = {*self.unnamed}
        pairs = zip(self.leaves, self.labels, strict=True)
        return {leaf: label for place, (leaf, label) in enumerate(pairs) if place not in unnamed}

    @property
    def label_of_leaf(self) -> tuple[Label, ...]:
        """The label of each leaf, the same everywhere."""
        return self.labels

    @property
    def changes_nothing(self) -> bool:
        """Whether every leaf is published as itself."""
        return self.leaves == self.labels

    def blocks(self) -> dict[str, list[str]]:
        """Return the leaves that are published under each label."""
        blocks: dict[str, list[str]] = {}
        for leaf, name in self.known.items():
            blocks.setdefault(MISSING if name is None else name, []).append(MISSING if leaf is None else leaf)
        return blocks

    def __str__(self) -> str:
        count = len(self.blocks())
        labels = f"{count:,} label{'s' * (count != 1)} for {len(self.leaves):,} values"
        level = "" if self.level is None else f"level {self.level}, "
        return level + ("as it is" if self.changes_nothing else labels)


@dataclass(frozen=True)
class GlobalPlan(Plan):
    """Recode each value the same way everywhere, and suppress the classes that fail.

    `suppressed` lists those classes by the leaf that stands for each of their blocks. With `masked`, their rows stay in
    the release with every quasi-identifier hidden; else they leave it. `complete` are the columns in which a row must
    not miss a value, if it is to be published at all. `spec` is the specification that the plan keeps, self-contained.
    """

    kind: ClassVar[str] = "global"
    recodes_values: ClassVar[bool] = True
    columns: Mapping[str, ColumnPlan]
    suppressed: tuple[tuple[int, ...], ...]
    suppressed_rows: int
    masked: bool
    complete: tuple[str, ...]
    spec: str = ""

    def __post_init__(self) -> None:
        sizes = [len(column.leaves) for column in self.columns.values()]
        for leaves in self.suppressed:
            fits = len(leaves) == len(sizes) and all(0 <= leaf < size for leaf, size in zip(leaves, sizes, strict=True))
            if not fits:
                raise ValueError(f"the suppressed class {leaves} does not fit the columns")
        if self.suppressed_rows < len(self.suppressed):
            raise ValueError(f"{self.suppressed_rows} rows cannot fill {len(self.suppressed)} suppressed classes")

    def carry_out(self, occasion: Occasion) -> CarryOut:
        """Return what must be done to the rows: labels looked up column by column, and failing classes dropped."""
        census = occasion.census
        published = {quasi.name: _published(quasi, self.columns[quasi.name]) for quasi in census.quasi}
        relabels = [_relabel(quasi, self.columns[quasi.name], published[quasi.name]) for quasi in census.quasi]
        leaves: Ints = np.array(self.suppressed, np.int32).reshape(-1, len(census.quasi))
        failing = {name: values.take(pa.array(leaves[:, a])) for a, (name, values) in enumerate(published.items())}
        steps: list[Step] = [Complete(self.complete)]
        told = bool(occasion.unknown) and self.masked
        steps += [Tell(occasion.unknown)] if told else [Without(*each) for each in occasion.unknown.items()]
        steps += [relabel for relabel in relabels if relabel is not None]
        changed = [*published] if self.masked else [relabel.column for relabel in relabels if relabel is not None]
        if occasion.gone is not None:
            entity = census.entity or ""
            steps = [Without(entity, occasion.gone), Copy(entity, WHOSE), *steps, Pseudonym(entity)]
            changed.append(entity)
        steps += [Drop(pa.table(failing), self.masked), *([MaskTold([*published])] if told else [])]
        looked_at = {*published, *self.complete, *([] if occasion.gone is None else [census.entity or ""])}
        return CarryOut(steps, looked_at, changed, texts=partial(self._texts, census, published, told))

    def _texts(self, census: Census, published: Mapping[str, pa.Array], told: bool) -> dict[str, pa.Array]:
        """Return the texts that the rows of a census are left with in each quasi-identifier of text."""
        fails = self._failing(census)
        codes, texts = census.codes[~fails], {}
        for (name, values), leaves in zip(published.items(), codes.T, strict=True):
            if pa.types.is_string(values.type):
                shown = values.take(pa.array(np.unique(leaves))).to_pylist()
                masked = told or (self.masked and fails.any())
                texts[name] = pa.array({*shown, *([MASK] if masked else [])} - {None}, pa.string())
        return texts

    @property
    def levels(self) -> dict[str, int]:
        """The level of each attribute whose scheme has levels."""
        return {name: column.level for name, column in self.columns.items() if column.level is not None}

    @property
    def failing_classes(self) -> int:
        """How many classes were suppressed."""
        return len(self.suppressed)

    def published(self, census: Census) -> Published:
        """Return what the plan makes of a census: an entry for every tuple whose rows are not dropped."""
        fails = self._failing(census)
        kept = np.arange(len(fails)) if self.masked else np.flatnonzero(~fails)
        masked = fails[kept]
        shown, losses = [], []
        for quasi, leaves in zip(census.quasi, census.codes[kept].T, strict=True):
            column = self.columns[quasi.name]
            firsts, of = np.unique(_blocks(column), return_inverse=True)
            covers = Covers(
                hierarchy=quasi.hierarchy,
                labels=tuple(column.labels[leaf] for leaf in firsts.tolist()),
                members=np.argsort(of, kind="stable").astype(np.int32),
                starts=np.concatenate([[0], np.cumsum(np.bincount(of))]),
            )
            loss = detail_loss(quasi, by_labels(quasi.hierarchy, column.labels))[firsts]
            value = of[leaves]
            if masked.any():
                value = np.where(masked, len(covers), value)
                covers, loss = _with_mask(covers), np.append(loss, 1.0)
            shown.append(Shown(covers, value))
            losses.append(loss)
        entry = np.full(len(fails), -1)
        entry[kept] = np.arange(len(kept))
        return Published(
            census=census,
            weights=census.weights[kept],
            before=census.codes[kept].astype(np.int64),
            shown=tuple(shown),
            losses=tuple(losses),
            masked=masked,
            recoded=True,
            beside=tuple(_kept_beside(part, entry) for part in others(census)),
            whose=None if census.people is None else _kept_beside(census.sensitive[census.people], entry),
        )

    def _failing(self, census: Census) -> Bools:
        """Return which tuples of a census are suppressed."""
        blocks = [_blocks(self.columns[name]) for name in census.names]
        coarse = np.stack([block[leaves] for block, leaves in zip(blocks, census.codes.T, strict=True)], axis=1)
        gone: Longs = np.array(self.suppressed, np.int64).reshape(-1, len(blocks))
        _, home = distinct_rows(np.concatenate([gone, coarse]), [len(block) for block in blocks])
        fails = np.zeros(len(home), np.bool_)
        fails[home[: len(gone)]] = True
        those = fails[home[len(gone) :]]
        return those if census.lost is None else those | census.lost

    def _fate(self) -> str:
        fate = "masked" if self.masked else "dropped"
        rows, classes = self.suppressed_rows, len(self.suppressed)
        return f"{rows:,} row{'s' * (rows != 1)} in {classes:,} class{'es' * (classes != 1)} {fate}"

    def __str__(self) -> str:
        lines = ["Global plan"]
        for name, column in self.columns.items():
            lines.append(f"├─ {name}: {column}")
            if not column.changes_nothing:
                blocks = list(column.blocks().items())
                lines += [f"│  ├─ {clipped(label)}: {shortened(leaves, 8)}" for label, leaves in blocks[:8]]
                lines += [f"│  └─ and {len(blocks) - 8:,} more labels"] if len(blocks) > 8 else []
        return "\n".join([*lines, f"└─ {self._fate()}"])

    def _repr_html_(self) -> str:
        rows = [(name, column, shortened(list(map(clipped, column.blocks())))) for name, column in self.columns.items()]
        return table(["attribute", "recoding", "labels"], rows) + paragraph(self._fate())


def column_plans(
    census: Census, levels: Sequence[int | None], recodings: Sequence[Recoding], suppressed: Bools | None
) -> dict[str, ColumnPlan]:
    """Return the plan of each attribute, where all rows of some tuples are `suppressed`.

    A label that is made of values is read by everybody, so it names none that only suppressed rows have.
    """
    plans = {}
    for place, (quasi, level, recoding) in enumerate(zip(census.quasi, levels, recodings, strict=True)):
        labels, unnamed = recoding.labels, tuple[int, ...]()
        if suppressed is not None and suppressed.any():
            published = np.zeros(quasi.hierarchy.leaves, np.bool_)
            published[census.codes[~suppressed, place]] = True
            labels, unnamed = recoding.telling(quasi.rows > 0, published, fanned=quasi.fanned)
        plans[quasi.name] = ColumnPlan(level, leaf_labels(recoding.hierarchy), labels, unnamed)
    return plans


def leaf_labels(hierarchy: Hierarchy) -> tuple[Label, ...]:
    """Return what the leaves of a hierarchy are called."""
    return hierarchy.labels[: hierarchy.leaves]


def _published(quasi: Quasi, column: ColumnPlan) -> pa.Array:
    """Return what each leaf is published as: text where the column is generalized, else a value of its type."""
    return typed_leaves(quasi) if column.changes_nothing else pa.array(column.labels, pa.string())


def typed_leaves(quasi: Quasi) -> pa.Array:
    """Return each leaf as a value of its column's type."""
    raw = quasi.raw.type
    is_text = pa.types.is_string(raw) or pa.types.is_large_string(raw)
    if any(type(key) is dt.date for key in quasi.keys) and not is_text:
        days = pa.array(quasi.keys, pa.date32())
        return days.cast(raw) if pa.types.is_timestamp(raw) else days
    if is_text:
        return _numbers(quasi.keys) or pa.array(quasi.hierarchy.labels[: quasi.hierarchy.leaves], raw)
    position = np.full(quasi.hierarchy.leaves, -1)
    position[quasi.raw_leaves] = np.arange(len(quasi.raw))
    return quasi.raw.take(pa.array(position, mask=position < 0))


def _numbers(keys: Sequence[OnLine | None]) -> pa.Array | None:
    """Return numbers that came as text in a type of their own, so that their spellings become one; None without any.

    Numbers with more digits than a type holds stay text.
    """
    numbers = [key for key in keys if isinstance(key, Decimal)]
    if not numbers:
        return None
    if all(number == int(number) and abs(number) < 2**63 for number in numbers):
        return pa.array([int(key) if isinstance(key, Decimal) else None for key in keys], pa.int64())
    if all(Decimal(repr(float(number))) == number for number in numbers):
        return pa.array([float(key) if isinstance(key, Decimal) else None for key in keys], pa.float64())
    return pa.array([label(key) if isinstance(key, Decimal) else None for key in keys], pa.string())


def _relabel(quasi: Quasi, column: ColumnPlan, published: pa.Array) -> Relabel | Hide | None:
    """Return what a column's raw values become, or None where they stay what they are."""
    if not column.changes_nothing and len(set(column.labels)) == 1:
        return Hide(quasi.name, column.labels[0])
    values = published.take(pa.array(quasi.raw_leaves))
    if column.changes_nothing and values.type == quasi.raw.type and values.equals(quasi.raw):
        return None
    return Relabel(quasi.name, quasi.raw, values)


def _blocks(column: ColumnPlan) -> Longs:
    """Return for each leaf the first one that is published under the same label."""
    first: dict[str | None, int] = {}
    return np.array([first.setdefault(label, leaf) for leaf, label in enumerate(column.labels)], np.int64)


def _with_mask(covers: Covers) -> Covers:
    """Return covers with one more value at the end, which says nothing."""
    leaves = covers.hierarchy.leaves
    return Covers(
        hierarchy=covers.hierarchy,
        labels=(*covers.labels, MASK),
        members=np.concatenate([covers.members, np.arange(leaves, dtype=np.int32)]),
        starts=np.append(covers.starts, covers.starts[-1] + leaves),
    )


def _kept_beside(part: Sensitive, entry: Longs) -> Beside:
    entries = entry[part.tuples]
    kept = entries >= 0
    return Beside(part, entries[kept], part.values[kept].astype(np.int64), part.weights[kept])
