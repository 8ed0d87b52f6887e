"""Ring: non-homogeneous generalization. Each row gets a value of its own that covers just k rows of its ring.

The rows are put into an order in which neighbours are alike, the order is cut into rings, and slot j of a ring is
published as what rows j to j + k - 1 of it cover. Who carries which slot is drawn when the plan is carried out
(`ring_plan`), never here. Partition, order and cut look at quasi-identifiers only: were it otherwise, what is published
would tell which draws are possible.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ringfence.arrays import Floats, Ints, Longs, distinct_rows
from ringfence.census.census import Census, Quasi
from ringfence.census.covers import Representation, Shown, by_attribute, cover
from ringfence.census.groups import Combinations, Groups, combinations
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.kernels.groups.ring_cuts import Terrain, cut_rings, part_by_values, slot_tuples
from ringfence.plans.group import combination_table, plan_column, plan_leaves
from ringfence.plans.ring import Draw, RingPlan, runs_of
from ringfence.search.groups.boundaries import explain_suppression, failure, maximum_allowed
from ringfence.search.groups.distances import Kept, node_losses, places_of, space_of
from ringfence.search.groups.orders import few_values_first, gray_order, hilbert_order, improved_order, neighbours

Partition: TypeAlias = Literal["whole", "lexicographic"]
Order: TypeAlias = Literal["nearest", "gray", "lexicographic", "hilbert"]


@dataclass(frozen=True, eq=False)
class Rings:
    """Rings of rows: `order[p]` is the combination of the row at place p, ring r has the places from `starts[r]` up to
    `starts[r + 1]`, and each slot of it covers `widths[r]` of them. No match is true with more than 1 / `width`,
    and no ring is narrower. `suppressed[c]` rows of combination c are in no ring."""

    combinations: Combinations
    order: Ints
    starts: Longs
    width: int
    widths: Longs
    suppressed: Longs

    def __post_init__(self) -> None:
        placed = np.bincount(self.order, minlength=len(self.combinations.weights))
        if (placed + self.suppressed != self.combinations.weights).any() or (self.suppressed < 0).any():
            raise ValueError("every row has one place in a ring or is suppressed")
        if self.starts[0] != 0 or self.starts[-1] != len(self.order) or (np.diff(self.starts) < self.widths).any():
            raise ValueError("rings have at least as many rows as their slots cover, and each row is in one")

    @classmethod
    def joined(cls, whole: Combinations, places: Sequence[Longs], parts: Sequence["Rings"]) -> "Rings":
        """Return the rings of all parts of a census: combination c of part i is `places[i][c]` of the whole."""
        order = np.concatenate([place[part.order] for part, place in zip(parts, places, strict=True)])
        sizes = np.concatenate([np.diff(part.starts) for part in parts])
        return cls(
            combinations=whole,
            order=order.astype(np.int32),
            starts=np.concatenate([[0], np.cumsum(sizes)]),
            width=min(part.width for part in parts),
            widths=np.concatenate([part.widths for part in parts]),
            suppressed=whole.weights - np.bincount(order, minlength=len(whole.weights)),
        )

    @property
    def tuples(self) -> Ints:
        """The tuple at each place."""
        return self.combinations.tuples[self.order]

    def as_groups(self) -> Groups:
        """Return the rings as groups, all rows of which are published alike."""
        group = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        ones = np.ones(len(self.order), np.int64)
        return Groups.gathered(self.combinations, self.order.astype(np.int64), group, ones)


@dataclass(frozen=True, eq=False)
class Slots:
    """What the slots of rings are published as: slot p as `kind[p]`, which attribute a shows as `shown[a].value[kind]`.

    `sizes` says how many slots are of each kind.
    """

    kind: Longs
    sizes: Longs
    shown: tuple[Shown, ...]


def rings_by_quasi_identifiers(
    census: Census,
    *,
    k: int,
    partition: Partition = "whole",
    groups: Groups | None = None,
    order: Order = "nearest",
    max_ring: int | None = None,
    cut: bool = True,
    representation: Representation | Sequence[Representation] = "set",
    metric: Kept = "gcp",
    limit: int = 0,
) -> Rings:
    """Return rings of at least k rows in which neighbours are alike, cut so that the least is lost along their order.

    Rows that too few others may be published with, within the boundaries, are suppressed, and no others.

    Parameters
    ----------
    census
        What was counted.
    k
        How many rows each slot covers.
    partition
        "whole": rings may lie anywhere along the order. "lexicographic": the order is parted by values first.
    groups
        The groups of another method, within which rings are to lie; the partition is then not looked at.
    order
        "lexicographic", attributes with few values first; "gray", the same turning back instead of jumping; "nearest",
        that one made shorter by moving tuples next to near ones; "hilbert".
    max_ring
        The most rows of a ring, at least 2 k - 1, which is the default: long rings protect less against someone who
        knows which slots some rows carry.
    cut
        Without it, each group of the partition is one ring, however long.
    representation
        What a cell may show, in all attributes or in each: the cut depends on what that loses.
    metric
        The loss that is kept small. "gcp" (Definition 8): the values of the data that a cell covers beyond the first,
        over all others; numbers are values like others. "glm": for numbers the width that a cell covers.
    limit
        How many rows may be suppressed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> spec = Spec(attributes={"age": {"role": "quasi", "order": "numeric"}})
    >>> census = take_census(pa.table({"age": [20, 21, 22, 50, 51], "rows": [1] * 5}), spec, "rows")
    >>> found = rings_by_quasi_identifiers(census, k=2, order="gray")
    >>> found.starts.tolist()
    [0, 3, 5]
    >>> slots = cover_slots(census, found, "set")
    >>> [slots.shown[0].labels[kind] for kind in slots.kind.tolist()]
    ['[20, 21]', '[21, 22]', '{20, 22}', '[50, 51]', '[50, 51]']

    Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing. SIGMOD 2010, sections
    5.1 and 5.3: `partition = order = "lexicographic"` without the cut. The cut and the other orders are ours.
    """
    _check(k, max_ring)
    tuples, bounds = lay_out(census, k=k, order=order, metric=metric, limit=limit, representation=representation)
    if groups is not None:
        tuples, bounds = _in_groups(tuples, groups)
    elif partition == "lexicographic":
        tuples, bounds = _part_lexicographically(census, tuples, bounds, k)
    starts = bounds
    if cut:
        room = np.empty(len(tuples) + 1, np.int64)
        most = min(max_ring or 2 * k - 1, len(tuples))
        found = cut_rings(terrain_of(census, representation, metric), tuples, bounds, k, max(most, 2 * k - 1), room)
        starts = room[: found + 1]
    combined = combinations(census, [])
    gone = combined.weights - np.bincount(tuples, minlength=len(combined.weights))
    return Rings(combined, tuples, starts, k, np.full(len(starts) - 1, k), gone)


def _check(k: int, max_ring: int | None) -> None:
    if k < 1:
        raise SpecError(f"k = {k}; allowed: 1 or more")
    if max_ring is not None and max_ring < 2 * k - 1:
        raise SpecError(
            f"method.max_ring = {max_ring} is too small for rings of {k} rows or more; allowed: {2 * k - 1} or more, so"
            " that any number of rows can be cut"
        )


def lay_out(
    census: Census,
    *,
    k: int,
    order: Order,
    limit: int,
    metric: Kept = "gcp",
    representation: Representation | Sequence[Representation] = "set",
) -> tuple[Ints, Longs]:
    """Return the tuple of each row along an order, and where the rows begin that may be published alike.

    Rows that too few others may be published with are left out. What is near depends on how values are shown: dates
    of which ranges are published are near each other if few lie between them.
    """
    allowed = maximum_allowed(census, min(k, census.rows + 1), [0] * len(census.sensitive))
    if allowed.suppressed > limit or allowed.suppressed == census.rows:
        why = explain_suppression(census, k=min(k, census.rows + 1), least_values=[0] * len(census.sensitive))
        raise Unsatisfiable(failure(why, k, limit))
    ordered = _tuple_order(census, order, allowed.member, metric, representation)
    ordered = ordered[~allowed.fails[allowed.member[ordered]]]
    ordered = ordered[np.argsort(allowed.member[ordered], kind="stable")]
    tuples = np.repeat(ordered, census.weights[ordered]).astype(np.int32)
    changes = np.flatnonzero(np.diff(allowed.member[tuples])) + 1
    return tuples, np.concatenate([[0], changes, [len(tuples)]]).astype(np.int64)


def _tuple_order(
    census: Census,
    order: Order,
    blocks: Ints,
    metric: Kept,
    representation: Representation | Sequence[Representation],
) -> Longs:
    """Return the tuples in an order; only those of one block are ever published together."""
    match order:
        case "nearest":
            space = space_of(census if metric == "glm" else _by_values(census), representation)
            return improved_order(space, gray_order(census), neighbours(census, space, blocks))
        case "gray":
            return gray_order(census)
        case "hilbert":
            return hilbert_order(census)
        case "lexicographic":
            return _lexicographic_order(census)


def _lexicographic_order(census: Census) -> Longs:
    ranks = [census.quasi[a].ranks[census.codes[:, a]] for a in few_values_first(census)]
    return np.lexsort(ranks[::-1])


def _by_values(census: Census) -> Census:
    """Return a census in which numbers are values like others, and all attributes count alike: as GCP sees them."""
    return replace(census, quasi=tuple(replace(quasi, numeric=False, weight=1.0) for quasi in census.quasi))


def _part_lexicographically(census: Census, tuples: Ints, bounds: Longs, k: int) -> tuple[Ints, Longs]:
    """Part rows by values, in lexicographic order; inside each part they keep the order they had."""
    place = np.empty(len(census.weights), np.int64)
    place[_lexicographic_order(census)] = np.arange(len(place))
    home = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    sorting = np.lexsort((place[tuples], home))
    parts = lexicographic_parts(census, tuples[sorting], bounds, k)
    part = np.empty(len(tuples), np.int64)
    part[sorting] = np.repeat(np.arange(len(parts) - 1), np.diff(parts))
    return tuples[np.argsort(part, kind="stable")], parts


def _in_groups(tuples: Ints, groups: Groups) -> tuple[Ints, Longs]:
    """Return the rows of groups, inside each in the order that rows have, and where groups begin."""
    place = np.zeros(int(tuples.max(initial=0)) + 1, np.int64)
    place[tuples] = np.arange(len(tuples))
    entries = np.lexsort((place[groups.tuples], groups.group))
    return (
        np.repeat(groups.tuples[entries], groups.rows[entries]).astype(np.int32),
        np.concatenate([[0], np.cumsum(groups.sizes)]),
    )


def lexicographic_parts(census: Census, tuples: Ints, bounds: Longs, k: int) -> Longs:
    """Return where groups of at least k rows begin, of rows that are in lexicographic order between the bounds."""
    codes = np.ascontiguousarray(census.codes[:, few_values_first(census)])
    found = [np.zeros(1, np.int64)]
    for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        room = np.empty(stop - first + 1, np.int64)
        count = part_by_values(codes[tuples[first:stop]], k, room)
        found.append(room[1 : count + 1] + first)
    return np.concatenate(found)


def cover_slots(census: Census, rings: Rings, representation: Representation | Sequence[Representation]) -> Slots:
    """Return what the slots of rings are published as. It is the same whoever will carry them."""
    tuples = rings.tuples
    fresh = np.empty(len(tuples), np.bool_)
    none = np.empty(0, np.int64)
    entries = slot_tuples(tuples, rings.starts, rings.widths, fresh, none, none.astype(np.int32))
    slots, covered = np.empty(entries, np.int64), np.empty(entries, np.int32)
    slot_tuples(tuples, rings.starts, rings.widths, fresh, slots, covered)
    stretch = np.cumsum(fresh) - 1
    count, asked = int(fresh.sum()), by_attribute(census, representation)
    shown = [
        cover(quasi, stretch[slots], census.codes[covered, a], count, asked[a]) for a, quasi in enumerate(census.quasi)
    ]
    values = np.stack([part.value for part in shown], axis=1)
    example, kind = distinct_rows(values, [len(part.covers.labels) for part in shown])
    alike, kinds = values[example], kind[stretch]
    return Slots(
        kind=kinds,
        sizes=np.bincount(kinds, minlength=len(alike)),
        shown=tuple(Shown(part.covers, alike[:, a]) for a, part in enumerate(shown)),
    )


def ring_plan(
    census: Census, rings: Rings, slots: Slots, complete: Sequence[str], spec: str, *, draw: Draw = "walks"
) -> RingPlan:
    """Return the plan that publishes the slots of rings as they are shown. Who carries which is not decided yet."""
    combined = rings.combinations
    watched = [census.sensitive[a] for a in combined.attributes]
    codes = np.concatenate([census.codes[combined.tuples], combined.values], axis=1)
    return RingPlan(
        columns={quasi.name: plan_column(quasi, part) for quasi, part in zip(census.quasi, slots.shown, strict=True)},
        watched={part.name: plan_leaves(part) for part in watched},
        combinations=combination_table(codes, [*census.names, *(part.name for part in watched)]),
        order=runs_of(rings.order),
        slots=runs_of(slots.kind),
        rings=pa.array(np.diff(rings.starts), pa.int64()),
        width=rings.width,
        widths=runs_of(rings.widths),
        suppressed_rows=int(rings.suppressed.sum()),
        complete=tuple(complete),
        spec=spec,
        draw=draw,
    )


def terrain_of(census: Census, representation: Representation | Sequence[Representation], metric: Kept) -> Terrain:
    """Return where the tuples of a census lie, so that what they lose together is GCP or GLM, averaged over cells.

    By GCP, numbers are values like others; by GLM they lie on a line, and attributes have their weights. In ranges, a
    missing value counts as the last of its order, or as far from the others as these are wide.
    """
    shares = np.array([quasi.weight if metric == "glm" else 1.0 for quasi in census.quasi])
    shares /= shares.sum()
    shown = by_attribute(census, representation)
    trees = [a for a in range(len(shown)) if shown[a] == "hierarchy"]
    sets = [a for a, quasi in enumerate(census.quasi) if shown[a] == "set" and not (quasi.numeric and metric == "glm")]
    lines = [a for a in range(len(shown)) if a not in (*sets, *trees)]
    sizes = [census.quasi[a].occurring for a in sets]
    steps = [shares[a] / max(1, _most(census.quasi[a], metric)) for a in sets]
    places = [shares[a] * line_of(census.quasi[a], metric) for a in lines]
    orders = [np.argsort(part, kind="stable") for part in places]
    numbers = [part[order] for part, order in zip(places, orders, strict=True)]
    numbers += [shares[a] * node_losses(census.quasi[a], metric) for a in trees]
    ends: list[npt.NDArray[np.integer]] = []
    ends += [np.argsort(order)[census.codes[:, a]] for a, order in zip(lines, orders, strict=True)]
    ends += [census.codes[:, a] for a in trees]
    values = [occurring_ranks(census.quasi[a])[census.codes[:, a]] for a in sets]
    hierarchies = [census.quasi[a].hierarchy for a in trees]
    before = np.zeros(sum(map(len, places)), np.int32)  # trees stand behind lines in `numbers`, and so here
    tuples = len(census.weights)
    return Terrain(
        values=(_columns(values, tuples) + np.cumsum([0, *sizes])[: len(sizes)]).astype(np.int32),
        prices=np.repeat(steps, sizes) if sets else np.empty(0),
        first=float(sum(steps)),
        ends=_columns(ends, tuples).astype(np.int32),
        bases=np.cumsum([0, *map(len, numbers)])[: len(numbers)].astype(np.int64),
        numbers=np.concatenate([np.empty(0), *numbers]),
        caps=shares[[*lines, *trees]],
        lines=len(lines),
        parent=np.concatenate([before, *(tree.parent for tree in hierarchies)]),
        stop=np.concatenate([before, *(tree.stop for tree in hierarchies)]),
    )


def _columns(parts: Sequence[npt.NDArray[np.integer]], rows: int) -> Longs:
    return np.stack(parts, axis=1).astype(np.int64) if parts else np.empty((rows, 0), np.int64)


def _most(quasi: Quasi, metric: Kept) -> int:
    """Return how many values beyond the first a cell can lose."""
    return quasi.occurring - 1 if metric == "gcp" else quasi.hierarchy.leaves - 1


def line_of(quasi: Quasi, metric: Kept) -> Floats:
    """Return the place of each leaf on a line, so that what lies between two is what a range of them loses."""
    return occurring_ranks(quasi) / max(1, quasi.occurring - 1) if metric == "gcp" else places_of(quasi)


def occurring_ranks(quasi: Quasi) -> Longs:
    """Return the place of each leaf among those that occur, in the attribute's order."""
    by_rank = np.argsort(quasi.ranks, kind="stable")
    places = np.empty(len(by_rank), np.int64)
    places[by_rank] = np.cumsum(quasi.rows[by_rank] > 0) - 1
    return np.maximum(places, 0)
