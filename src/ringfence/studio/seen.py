"""What a plan makes of a table, as pages show it: rows before and after, classes, distributions, losses, risk.

Everything is computed from the census and the plan; of the rows only the first few are looked at.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from ringfence.arrays import Longs
from ringfence.census.census import Census, Quasi
from ringfence.plans.base import Plan
from ringfence.plans.items import ItemPlan
from ringfence.plans.published import Published
from ringfence.report.evidence import Marginal, attribute_losses, marginals, size_bins
from ringfence.rows.item_columns import item_lists
from ringfence.spec import Spec
from ringfence.values.builders import read_keys
from ringfence.values.keys import label, text

SHOWN_VALUES = 14
"""Values without an order are shown by name, the commonest first, up to so many; the others together."""
SHOWN_STEPS = 60
"""Numbers and dates are shown side by side, in up to so many steps."""
EXAMPLES = 3
LONGEST_CELL = 400
"""Of a longer cell, so many characters are shown."""


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a table: the columns that it has, and the cells of each row as Python has them."""

    columns: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    _leaves: WeakKeyDictionary[Census, Longs] = field(default_factory=WeakKeyDictionary, repr=False)

    @classmethod
    def of(cls, table: pa.Table) -> "FirstRows":
        """Return all rows of a small table."""
        return cls(
            tuple(table.column_names), tuple(zip(*(column.to_pylist() for column in table.columns), strict=True))
        )

    def as_text(self) -> list[list[str | None]]:
        """Return the cells as people read them, long ones cut; None where a value is missing."""
        return [[_cut(as_cell(cell)) for cell in row] for row in self.cells]

    def leaves(self, census: Census, spec: Spec) -> Longs:
        """Return the leaf that each row has in each quasi-identifier, -1 where it has none; read once for a census."""
        if census not in self._leaves:
            columns = []
            for quasi in census.quasi:
                at = self.columns.index(quasi.name)
                values = [None if as_cell(row[at]) is None else row[at] for row in self.cells]
                keys = read_keys(quasi.name, spec, values, [1] * len(values))
                index = quasi.hierarchy.leaf_index
                columns.append([index.get(None if key is None else label(key), -1) for key in keys])
            self._leaves[census] = np.array(columns, np.int64).T
        return self._leaves[census]


def as_cell(value: Any) -> str | None:
    """Return a value as people read it; None for one that is missing.

    >>> as_cell(3.0), as_cell(None), as_cell(["a", "b"])
    ('3', None, 'a, b')
    """
    if isinstance(value, list):
        return ", ".join(text(item) for item in value)
    missing = value is None or value != value or value == ""  # noqa: PLR0124  NaN is missing
    return None if missing else text(value)


def _cut(cell: str | None) -> str | None:
    return cell if cell is None or len(cell) <= LONGEST_CELL else f"{cell[:LONGEST_CELL]}…"


def seen(census: Census, plan: Plan, spec: Spec, first: FirstRows) -> dict[str, Any] | None:
    """Return what a plan makes of the quasi-identifiers of a table; None where it does not touch them."""
    released = plan.published(census)
    if released is None:
        return None
    before = int(census.sizes.max()), int(released.sizes.max())
    k, largest = spec.k, max(*before, spec.k)
    losses = attribute_losses(released)
    return {
        "k": k,
        "rows": released.rows,
        "of": census.rows,
        "suppressed": released.suppressed_rows,
        "masked": plan.masked,
        "classes": len(released.sizes),
        "detail": _detail(losses, census),
        "attributes": [_attribute(released, a, plan, spec, losses) for a in range(len(census.quasi))],
        "sizes": {
            "before": [vars(part) for part in size_bins(census.sizes, k, largest)],
            "after": [vars(part) for part in size_bins(released.sizes, k, largest)],
        },
        "marginals": [
            _marginal(quasi, marginal) for quasi, marginal in zip(census.quasi, marginals(released), strict=True)
        ],
        "risk": {
            "highest": 1 / max(1, int(released.sizes.min())),
            "mean": len(released.sizes) / max(1, released.rows),
            "alone": int((released.sizes == 1).sum()),
            "alone_before": int((census.sizes == 1).sum()),
            "mean_before": len(census.sizes) / census.rows,
        },
        "first": beside(released, spec, first),
    }


def _detail(losses: Mapping[str, float], census: Census) -> float:
    """Return the detail lost over all attributes, by their weights."""
    weights = {quasi.name: quasi.weight for quasi in census.quasi}
    return sum(weights[name] * loss for name, loss in losses.items()) / sum(weights.values())


def _attribute(
    released: Published, attribute: int, plan: Plan, spec: Spec, losses: Mapping[str, float]
) -> dict[str, Any]:
    """Return what became of one attribute."""
    quasi, published = released.census.quasi[attribute], released.labels(attribute)
    column, level = plan.columns[quasi.name], plan.levels.get(quasi.name)
    if column.changes_nothing:
        how = "as it is"
    elif column.tells_nothing:
        how = "hidden"
    elif level is not None:
        how = f"level {level} of {quasi.hierarchy.height}"
    elif column.label_of_leaf is None:
        how = {"hierarchy": "labels of its hierarchy", "set": "sets", "range": "ranges"}[spec.shown_as(quasi.name)]
    else:
        how = spec.scheme_of(quasi.name)
    labels = [label for label in dict.fromkeys(column.labels) if label is not None and label in published]
    return {
        "name": quasi.name,
        "values": quasi.occurring,
        "labels": len(published),
        "how": how,
        "examples": labels[:EXAMPLES],
        "loss": losses[quasi.name],
    }


def _marginal(quasi: Quasi, marginal: Marginal) -> dict[str, Any]:
    """Return the shares of values before and after: numbers and dates in their order, others the commonest first."""
    leaves = quasi.hierarchy.leaves
    measured = [leaf for leaf in range(leaves) if isinstance(quasi.keys[leaf], Decimal | dt.date)]
    found: dict[str, Any] = {"name": quasi.name, "moved": marginal.moved, "ordered": False, "parts": []}
    if len(measured) > SHOWN_VALUES:
        found |= {"ordered": True, "parts": _steps(quasi, marginal, measured)}
        return found
    occurring = np.flatnonzero((marginal.before > 0) | (marginal.after > 0))
    ranked = sorted(occurring.tolist(), key=lambda leaf: (-marginal.before[leaf], leaf))
    if measured:
        ranked = sorted(ranked, key=lambda leaf: int(quasi.ranks[leaf]))
    named, rest = ranked[:SHOWN_VALUES], ranked[SHOWN_VALUES:]
    parts = [_part(quasi.hierarchy.labels[leaf], marginal, [leaf]) for leaf in named]
    parts += [_part(f"{len(rest):,} other values", marginal, rest)] if rest else []
    return found | {"parts": parts}


def _steps(quasi: Quasi, marginal: Marginal, measured: Sequence[int]) -> list[dict[str, Any]]:
    """Return the shares of numbers or dates along their line, many of them in steps of neighbours."""
    along = sorted(measured, key=lambda leaf: int(quasi.ranks[leaf]))
    size = -(-len(along) // SHOWN_STEPS)
    groups = [along[start : start + size] for start in range(0, len(along), size)]
    labels = quasi.hierarchy.labels

    def name(group: Sequence[int]) -> str | None:
        return labels[group[0]] if len(group) == 1 else f"{labels[group[0]]} to {labels[group[-1]]}"

    return [_part(name(group), marginal, group) for group in groups]


def _part(name: str | None, marginal: Marginal, leaves: Sequence[int]) -> dict[str, Any]:
    return {
        "value": name,
        "before": float(marginal.before[leaves].sum()),
        "after": float(marginal.after[leaves].sum()),
    }


def beside(released: Published, spec: Spec, first: FirstRows) -> dict[str, Any]:
    """Return the first rows, each before and after; after is None where a row is suppressed.

    Rows that are alike may be published in several ways, where groups or rings were made: then one of them is shown.
    """
    census = released.census
    entries = _entries(released, spec, first)
    shown = {quasi.name: part for quasi, part in zip(census.quasi, released.shown, strict=True)}
    kept = [name for name in first.columns if _is_published(name, spec)]
    rows = []
    for cells, entry in zip(first.as_text(), entries, strict=True):
        of = dict(zip(first.columns, cells, strict=True))
        after = None
        if entry is not None:
            after = [
                shown[name].covers.labels[shown[name].value[entry]] if name in shown else of[name] for name in kept
            ]
        rows.append({"before": cells, "after": after})
    return {"columns": list(first.columns), "kept": kept, "rows": rows}


def _is_published(name: str, spec: Spec) -> bool:
    attribute = spec.attributes.get(name)
    return spec.data.unlisted == "publish" if attribute is None else attribute.role != "identifier"


def _entries(released: Published, spec: Spec, first: FirstRows) -> list[int | None]:
    """Return the entry that publishes each of the first rows; None where none does."""
    found: list[int | None] = []
    for leaves in first.leaves(released.census, spec):
        places = np.arange(len(released.before))
        for column, leaf in zip(released.before.T, leaves, strict=True):
            places = places[column[places] == leaf]
        found.append(int(places[0]) if len(places) else None)
    return found


def seen_items(plan: ItemPlan, spec: Spec, first: FirstRows) -> dict[str, Any]:
    """Return the first baskets before and after, and the groups that items are published in."""
    at = first.columns.index(plan.column)
    column = pa.chunked_array([pa.array([row[at] for row in first.cells])])
    lists = item_lists(column, spec.attributes[plan.column].separator, plan.column)
    names = dict(zip(plan.items.leaves, plan.items.labels, strict=True))
    rows = []
    for items in lists.to_pylist():
        before = [text(item) for item in items or []]
        after = [name for name in dict.fromkeys(names.get(item, item) for item in before) if name is not None]
        rows.append({"before": before, "after": after})
    why = {reason.label: reason.rare for reason in plan.reasons}
    groups = [
        {"label": name, "items": items, "why": why.get(name)} for name, items in list(plan.generalized.items())[:40]
    ]
    return {"column": plan.column, "rows": rows, "groups": groups, "items": len(plan.items.leaves)}
