"""Item plans: a cut of the item tree, which publishes each item as itself or as a group that it is in.

Every basket that was read becomes one to publish, so an engine carries the plan out as one join.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.census.baskets import BasketColumn
from ringfence.errors import SpecError
from ringfence.markup import clipped, paragraph, shortened, table
from ringfence.plans.base import Occasion, Plan
from ringfence.plans.recode import ColumnPlan
from ringfence.rows.steps import CarryOut, Relabel

SHOWN_LABELS = 12


@dataclass(frozen=True)
class Reason:
    """Why a label stands for several items: published apart, `labels` would be together in `rows` rows, too few."""

    label: str
    labels: tuple[str, ...]
    rows: int

    @property
    def rare(self) -> str:
        """The set that would be rare, in words."""
        return f"{{{', '.join(self.labels)}}} in {self.rows:,} row{'s' * (self.rows != 1)}"


@dataclass(frozen=True)
class ItemExplanation:
    """Why items are generalized: a reason for each label of several items, and each in words."""

    reasons: tuple[Reason, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class ItemPlan(Plan):
    """Publish each item of a basket under a label of the item tree, each label once a basket.

    `column` is the attribute and `items` say how its items are published. `reasons` have for every label of several
    items a set of labels that would be published if that label alone were taken apart, and that too few rows hold.
    `spec` is the specification that the plan keeps, self-contained.
    """

    kind: ClassVar[str] = "item"
    column: str
    items: ColumnPlan
    reasons: tuple[Reason, ...]
    spec: str = ""
    suppressed_rows: int = 0
    masked: bool = False

    def __post_init__(self) -> None:
        labels = {*self.items.labels}
        if not {reason.label for reason in self.reasons} <= labels:
            raise ValueError("a reason speaks of a label that is not published")
        if self.masked or self.suppressed_rows:
            raise ValueError("an item plan suppresses nothing")

    def carry_out(self, occasion: Occasion) -> CarryOut:
        """Return what must be done to the rows: each basket becomes what it is published as."""
        column = occasion.baskets
        assert column is not None, "an item plan is carried out on baskets"
        published = published_baskets(self, column, occasion.separator)
        return CarryOut([Relabel(self.column, column.raw, published)], [self.column], [self.column])

    @property
    def columns(self) -> Mapping[str, ColumnPlan]:
        """The plan of the only column."""
        return {self.column: self.items}

    @property
    def generalized(self) -> dict[str, list[str]]:
        """The labels that stand for several items, with these, the largest groups first."""
        groups = {label: items for label, items in self.items.blocks().items() if items != [label]}
        return dict(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])))

    def explain(self) -> ItemExplanation:
        """Say of each label of several items why these could not be published apart."""
        why, sentences = {reason.label: reason for reason in self.reasons}, []
        for label, items in self.generalized.items():
            because = f"; apart, there would be {why[label].rare}" if label in why else ""
            sentences.append(f"{shortened(items, 8)}: published as {label}{because}.")
        return ItemExplanation(
            self.reasons, tuple(sentences or [f"Every item of {self.column} is published as it is."])
        )

    def _headline(self) -> str:
        labels, gone = len(self.items.blocks()), sum(map(len, self.generalized.values()))
        items = f"{len(self.items.leaves):,} items"
        if not gone:
            return f"{self.column}: {items} as they are"
        return (
            f"{self.column}: {labels:,} label{'s' * (labels != 1)} for {items};"
            f" {gone:,} items in {len(self.generalized):,} groups, the others as they are"
        )

    def __str__(self) -> str:
        why = {reason.label: reason for reason in self.reasons}
        lines = [f"Item plan of {self._headline()}"]
        for label, items in list(self.generalized.items())[:SHOWN_LABELS]:
            lines.append(f"├─ {clipped(label)}: {shortened(list(map(clipped, items)), 8)}")
            lines += [f"│     apart, there would be {clipped(why[label].rare, 100)}"] if label in why else []
        rest = len(self.generalized) - SHOWN_LABELS
        lines += [f"├─ and {rest:,} more group{'s' * (rest != 1)}"] if rest > 0 else []
        return "\n".join([*lines, "└─ each label once a basket; no rows dropped"])

    def _repr_html_(self) -> str:
        why = {reason.label: reason.rare for reason in self.reasons}
        shown = list(self.generalized.items())[:SHOWN_LABELS]
        rows = [(clipped(label), shortened(items), clipped(why.get(label, ""), 100)) for label, items in shown]
        return paragraph(self._headline()) + table(["label", "items", "apart, there would be"], rows)


def published_baskets(plan: ItemPlan, column: BasketColumn, separator: str | None) -> pa.Array:
    """Return what each distinct basket that was read is published as, in the form in which it was read.

    Each label stands once, and labels in the order of the tree, so that the order of a basket tells nothing. Numbers
    stay numbers where no item is generalized.
    """
    labels = plan.items.labels
    if separator is not None:
        refuse_torn(plan, plan.generalized, separator)
    first = {label: place for place, label in reversed(list(enumerate(labels)))}
    blocks = np.array([first[label] for label in labels], np.int64)
    row_of = np.repeat(np.arange(len(column.raw)), np.diff(column.offsets))
    pairs = np.sort(row_of * len(labels) + blocks[column.leaves])
    holders, published = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], len(labels))
    offsets = np.searchsorted(holders, np.arange(len(column.raw) + 1))
    items = pa.array(labels, pa.string()).take(pa.array(published))
    if plan.items.changes_nothing and pa.types.is_integer(column.items):
        items = items.cast(column.items)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)
    found = lists if separator is None else pc.binary_join(lists, separator)
    return pc.if_else(pc.is_valid(column.raw), found, pa.scalar(None, found.type))


def refuse_torn(plan: ItemPlan, labels: Iterable[str | None], separator: str) -> None:
    """Refuse labels that a reader who splits text at the separator would tear apart."""
    for label in labels:
        if label is not None and (separator in label or label != label.strip()):
            raise SpecError(
                f"the label {label!r} of {plan.column!r} could not be read back from text, where {separator!r} stands"
                " between items; rename it, or choose another separator"
            )
