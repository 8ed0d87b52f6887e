"""What a plan makes of a census: which rows are published as what, whatever the kind of plan."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ringfence.arrays import Bools, Floats, Longs
from ringfence.census.census import Census, Sensitive
from ringfence.census.covers import Covers, Shown
from ringfence.judging.losses import detail_loss
from ringfence.kernels.secret import new_stream, secret_key
from ringfence.plans.group import COMBINATION, GROUP, ROWS, GroupPlan
from ringfence.plans.recode import ColumnPlan, GlobalPlan
from ringfence.plans.ring import RingPlan
from ringfence.values.recoding import by_labels

MASK = "*"


@dataclass(frozen=True, eq=False)
class Beside:
    """An attribute that is published as it is: `weights[i]` rows of the entry `entries[i]` have the value
    `values[i]`."""

    part: Sensitive
    entries: Longs
    values: Longs
    weights: Longs


@dataclass(frozen=True, eq=False)
class Published:
    """What a plan makes of a census, in entries of rows that are published alike.

    Entry e has `weights[e]` rows and shows `shown[a].value[e]` in attribute a; where it is
    `masked`, its rows were suppressed and kept, with everything hidden. `losses[a]` is the detail lost of each value
    that attribute a shows. `recoded` says whether every value has one label, masked rows aside. `beside` are the
    attributes that are published as they are, as far as the plan tells which rows have which value.
    """

    census: Census
    weights: Longs
    shown: tuple[Shown, ...]
    losses: tuple[Floats, ...]
    masked: Bools
    recoded: bool
    beside: tuple[Beside, ...]

    @property
    def rows(self) -> int:
        """How many rows are published, masked ones included."""
        return int(self.weights.sum())

    @property
    def suppressed_rows(self) -> int:
        """How many rows are suppressed, masked ones included."""
        return self.census.rows - int(self.weights[~self.masked].sum())

    @cached_property
    def homes(self) -> Longs:
        """The class of each entry: what shows the same labels, masked or not, is one class."""
        home = np.zeros(len(self.weights), np.int64)
        for part in self.shown:
            first: dict[str | None, int] = {}
            alike = np.array([first.setdefault(label, j) for j, label in enumerate(part.covers.labels)], np.int64)
            _, home = np.unique(home * len(alike) + alike[part.value], return_inverse=True)
        return home

    @cached_property
    def sizes(self) -> Longs:
        """How many rows each class has."""
        return np.bincount(self.homes, self.weights).astype(np.int64)

    @property
    def parts(self) -> list[Sensitive]:
        """The attributes that are published as they are."""
        return [each.part for each in self.beside]


def published(census: Census, plan: GlobalPlan | GroupPlan | RingPlan) -> Published:
    """Return what a plan makes of a census.

    Who carries which slot of a ring is drawn anew here, and the same in every report: what is told of a release does
    not depend on its own draw, which nobody may know.
    """
    if isinstance(plan, RingPlan):
        plan = plan.drawn(new_stream(secret_key("report", 0)))
    return _grouped(census, plan) if isinstance(plan, GroupPlan) else _recoded(census, plan)


def others(census: Census) -> list[Sensitive]:
    """Return the attributes that were counted beside the quasi-identifiers: they are published as they are.

    The people are not: whose a row is, is published nowhere.
    """
    return [part for part in census.sensitive if part.name not in (*census.names, census.entity)]


def _grouped(census: Census, plan: GroupPlan) -> Published:
    """Return what a plan of groups makes of a census: its entries, as they are."""
    combination, group, rows = (plan.entries[name].to_numpy() for name in (COMBINATION, GROUP, ROWS))
    columns = [plan.columns[quasi.name].shown(quasi.hierarchy) for quasi in census.quasi]
    watched = {name: plan.combinations[name].to_numpy() for name in plan.watched}
    return Published(
        census=census,
        weights=rows,
        shown=tuple(Shown(column.covers, column.value[group]) for column in columns),
        losses=tuple(detail_loss(quasi, part.covers) for quasi, part in zip(census.quasi, columns, strict=True)),
        masked=np.zeros(len(rows), np.bool_),
        recoded=False,
        beside=tuple(
            Beside(part, np.arange(len(rows)), watched[part.name][combination], rows)
            for part in others(census)
            if part.name in watched
        ),
    )


def _recoded(census: Census, plan: GlobalPlan) -> Published:
    """Return what a global plan makes of a census: an entry for every tuple whose rows are not dropped."""
    columns = [plan.columns[name] for name in census.names]
    blocks = [_blocks(column) for column in columns]
    coarse = np.stack([block[leaves] for block, leaves in zip(blocks, census.codes.T, strict=True)], axis=1)
    home = np.zeros(len(coarse), np.int64)
    for block, leaves in zip(blocks, coarse.T, strict=True):
        _, home = np.unique(home * len(block) + leaves, return_inverse=True)
    _, example = np.unique(home, return_index=True)
    gone = {*plan.suppressed}
    fails = np.array([tuple(leaves) in gone for leaves in coarse[example].tolist()], np.bool_)[home]
    fails |= False if census.lost is None else census.lost
    kept = np.arange(len(coarse)) if plan.masked else np.flatnonzero(~fails)
    masked = fails[kept]
    shown, losses = [], []
    for quasi, column, block, leaves in zip(census.quasi, columns, blocks, census.codes[kept].T, strict=True):
        firsts, of = np.unique(block, return_inverse=True)
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
    entry = np.full(len(coarse), -1)
    entry[kept] = np.arange(len(kept))
    return Published(
        census=census,
        weights=census.weights[kept],
        shown=tuple(shown),
        losses=tuple(losses),
        masked=masked,
        recoded=True,
        beside=tuple(_kept_beside(part, entry) for part in others(census)),
    )


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
