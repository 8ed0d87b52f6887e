"""Typed releases: what labels of groups and rings say, in types that can be computed with.

A set becomes a list of its values, a range its lowest and highest value. Nothing is told that the labels do not tell.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ringfence.census import Census, Quasi
from ringfence.errors import SpecError
from ringfence.group_plan import GroupColumn, GroupPlan
from ringfence.plan import typed_leaves
from ringfence.ring_plan import RingPlan
from ringfence.sources import LABEL

LOW, HIGH = "low", "high"


def typed_columns(plan: GroupPlan | RingPlan, census: Census, representation: str) -> Mapping[str, pa.Table]:
    """Return for each generalized column a table of its labels and what they stand for, in columns of their own.

    A list of values under the column's name, in the attribute's order, for sets; for ranges, `age low` and `age high`,
    both missing where a missing value is covered, since nothing between two ends stands for it. Labels of hierarchies
    have no such form.
    """
    if representation == "hierarchy":
        return {}
    generalized = [quasi for quasi in census.quasi if not plan.columns[quasi.name].changes_nothing]
    form = _lists if representation == "set" else _ends
    return {quasi.name: form(quasi, plan.columns[quasi.name]) for quasi in generalized}


def _lists(quasi: Quasi, column: GroupColumn) -> pa.Table:
    ordered = [sorted(leaves, key=quasi.ranks.__getitem__) for leaves in column.covers]
    offsets = np.cumsum([0, *map(len, ordered)])
    flat = pa.array([leaf for leaves in ordered for leaf in leaves], pa.int64())
    values = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), typed_leaves(quasi).take(flat))
    return pa.table({LABEL: pa.array(column.labels, pa.string()), quasi.name: values})


def _ends(quasi: Quasi, column: GroupColumn) -> pa.Table:
    low: list[int | None] = []
    high: list[int | None] = []
    for leaves in column.covers:
        ordered = sorted(leaves, key=quasi.ranks.__getitem__)
        missing = any(quasi.hierarchy.labels[leaf] is None for leaf in leaves)
        low.append(None if missing else ordered[0])
        high.append(None if missing else ordered[-1])
    values = typed_leaves(quasi)
    return pa.table(
        {
            LABEL: pa.array(column.labels, pa.string()),
            f"{quasi.name} {LOW}": values.take(pa.array(low, pa.int64())),
            f"{quasi.name} {HIGH}": values.take(pa.array(high, pa.int64())),
        }
    )


def refuse_taken(columns: list[str], typed: Mapping[str, pa.Table]) -> None:
    """Refuse a release whose columns already have the names that typed ones would get."""
    for name, table in typed.items():
        for new in table.column_names[1:]:
            if new != name and new in columns:
                raise SpecError(f"an end of {name!r} would be published as {new!r}, but there is such a column already")
