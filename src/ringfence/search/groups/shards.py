"""Shards: a census in parts that are searched each by itself, at the same time or one after the other.

*Each is feasible alone.* Rows that may be published alike are cut as Mondrian cuts them, between two values, and only
where both halves satisfy the models. So a shard, which is some such parts, can publish all of its rows; rows that no
method could publish, within the boundaries, are suppressed before, and no others are: just as without shards.

*So is the whole.* A group lies in one shard. Groups of two shards that show the same labels are one class, and merging
keeps k, l and p: a union has no fewer rows, people or values than its parts, and is no less varied than the least
varied of them. Only t is measured against the whole table, which no shard knows; it is refused, and so are rings of
different values, which are dealt out over all rows. A person may have rows in several shards, as in several groups: the
promise is that each class has rows of k people, and each group has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from ringfence.arrays import Longs
from ringfence.census.census import Census
from ringfence.census.groups import Combinations, combinations
from ringfence.judging.models import promise
from ringfence.search.groups.grouped import shown_as, with_least_rows
from ringfence.search.progress import SearchResult, Watch
from ringfence.spec import Spec

MOST_ROWS = 10_000_000
"""With more rows than this, a census is cut into shards, unless it is said into how many."""


class Piece(Protocol):
    """What a search finds for a census, or a part of one: groups, or rings."""

    @property
    def combinations(self) -> Combinations:
        """What its rows are told apart by."""

    @classmethod
    def joined(cls, whole: Combinations, places: Sequence[Longs], parts: Sequence[Self]) -> Self:
        """Return what was found for all parts of a census: combination c of part i is `places[i][c]` of the whole."""


Found = TypeVar("Found", bound=Piece)
Search = Callable[[Census, Spec, Watch], tuple[Found, SearchResult | None]]


@dataclass(frozen=True, eq=False)
class Task(Generic[Found]):
    """The search of one shard: all that is needed for it, wherever it is done."""

    search: Search[Found]
    census: Census
    spec: Spec
    watch: Watch

    def __call__(self) -> tuple[Found, SearchResult | None]:
        return self.search(self.census, self.spec, self.watch)


def shard_count(census: Census, spec: Spec) -> int:
    """Return into how many shards a census is to be cut: as asked for, else one for every `MOST_ROWS` rows."""
    if spec.method.shards is not None:
        return spec.method.shards
    return 1 if spec.needs_whole_table else ceil(census.rows / MOST_ROWS)


def in_shards(census: Census, spec: Spec, watch: Watch, search: Search[Found]) -> tuple[Found, SearchResult | None]:
    """Return what a search finds shard by shard; it is a function of a module, so that others can be sent to do it.

    The result adds up what each shard costs. It bounds nothing: groups across shards were not looked at.
    """
    count = shard_count(census, spec)
    if count == 1:
        return search(census, spec, watch)
    shard = shards(census, spec, count)
    tasks = [Task(search, census.part(part), spec, watch.part()) for part in _places(shard)]
    found: list[tuple[Found, SearchResult | None]] = []
    cost, left = float(census.weights[shard < 0].sum()), float(census.weights[shard >= 0].sum())
    for task, (piece, result) in zip(tasks, watch.each(tasks), strict=True):
        found.append((piece, result))
        cost += 0.0 if result is None else result.cost * task.census.rows
        left -= task.census.rows
        watch.advance(1, len(tasks), "shards searched", (cost + left) / census.rows)  # no row can lose more than all
    pieces = [piece for piece, _ in found]
    whole = combinations(census, pieces[0].combinations.attributes)
    joined = type(pieces[0]).joined(whole, _places(shard[whole.tuples]), pieces)
    results = [result for _, result in found if result is not None]
    if not results:
        return joined, None
    nodes = sum(result.nodes for result in results)
    return joined, SearchResult(cost / census.rows, cost == 0, 0.0, nodes, 0, watch.seconds)


def _places(shard: Longs) -> list[Longs]:
    """Return the places of each shard's number, in rising order; those of -1 are left out."""
    return np.split(np.argsort(shard, kind="stable"), np.cumsum(np.bincount(shard + 1))[:-1])[1:]


def shards(census: Census, spec: Spec, count: int) -> Longs:
    """Return which of at most `count` shards each tuple is in; -1 for what is suppressed.

    Parts of more rows than a shard's share are cut, as long as they can be. Then parts fill one shard after the other,
    in the order of the census, so that neighbours come together, none with more than twice its share.

    Raises
    ------
    Unsatisfiable
        If more rows would have to be suppressed than may be.
    """
    from ringfence.search.groups.mondrian import mondrian

    parts = mondrian(
        census,
        promise(with_least_rows(spec), census, room=census.rows),
        representation=shown_as(census, spec),
        limit=spec.row_limit(census.rows),
        enough=ceil(census.rows / count),
    )
    part_of = np.full(len(census.weights), -1)  # the last number below is that of no part
    part_of[parts.tuples] = parts.group
    _, first = np.unique(parts.group, return_index=True)
    order = np.argsort(parts.tuples[first], kind="stable")
    sizes = parts.sizes[order]
    number = np.empty(len(order) + 1, np.int64)
    number[order] = np.unique((np.cumsum(sizes) - sizes / 2) * count // sizes.sum(), return_inverse=True)[1]
    number[-1] = -1
    found: Longs = number[part_of]
    return found
