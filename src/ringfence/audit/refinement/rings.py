"""The attack that rebuilds people from rings, from the release alone.

In a ring of n > k rows a value stands in just those slots whose windows hold its row. So which slots are one ring, in
which order, and which values belong together can be worked out from the labels. Here that is done for all of a release,
and what is told is certain: it is so in every table that gives this release by rings of k to `longest` rows.

Why it is certain. Each slot lies in one ring. The search strings together *every* ring of k to `longest` of the slots
that are there which could hold it, in every order: so the true one is among them, and what they all share is true. Two
conclusions are drawn from that.

- Where all of them have the same slots, a ring of these slots is there. It is one part of the partition of all slots
  into rings, so the others partition the rest: its slots are struck out, and nobody else can have them. That one slot
  has no other ring is enough; the others in it need not be asked.
- Where they differ, the tuples that all of them have are there. Two such slots may speak of the same ring if one lies
  in a ring of the other; so of slots that hang together in this way, a tuple is counted as often as one of them has it.

What a search that was stopped would have found is not known, so nothing is said of its slot. Constraints that are left
out (that the rest must be partitioned as well, that some values cannot be between two others) only add rings and
solutions, and what is common to more of them is less.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TypeAlias

import numpy as np

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import Column, classes, total_by
from ringfence.audit.refinement.ring_search import NOTHING, ONE, STOPPED, FoundRings, Kinds, search
from ringfence.audit.refinement.ring_values import OTHER, Labels, compare
from ringfence.audit.refinement.said import Said

Tuple: TypeAlias = tuple[int, ...]
"""The number of a value in every attribute."""

STEPS = 400_000
"""How many slots are tried from one before its search is stopped."""
BUDGET = 680_000_000
"""How many are tried in all."""
MOST_RINGS = 60
"""How many rings may hold a slot before its search is stopped."""
MOST_LABELS = 3000
"""How many labels an attribute may have for all pairs of them to be compared in advance."""


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """What was rebuilt: exact tuples with how many rows certainly have each, besides those that are published plainly.

    `rings` rings were found whole, with `slots` slots. Of the rows whose slots could be asked, `looked_at` were, and of
    `stopped` of those nothing is known since it would have taken too long. `plain` rows show one value in every
    attribute. Where the release is not `possible`, it is not made of such rings at all.
    """

    tuples: Counter[Tuple]
    slots: int
    rings: int
    looked_at: int
    stopped: int
    plain: int
    possible: bool = True


def rebuild(
    columns: Sequence[Column],
    meanings: Sequence[Sequence[Said]],
    rows: Longs,
    k: int,
    *,
    longest: int | None = None,
    seed: int = 0,
    most: int = 200_000,
) -> Rebuilt:
    """Return the tuples that are certain in a release of rings.

    Parameters
    ----------
    columns
        The labels of the combinations that are published, for every quasi-identifier.
    meanings
        What each of the labels says.
    rows
        How many rows each of the combinations has.
    k
        How many rows each slot covers.
    longest
        The most rows that a ring may have; 2 k - 1 if nothing is said.
    seed, most
        Of more than `most` rows, slots are drawn by this seed until they are about so many.

    Examples
    --------
    >>> from ringfence.audit.refinement.said import read_sayings
    >>> ages, towns = ["[20, 30]", "[30, 40]", "{20, 40}"], ["{Oslo, Rome}", "{Paris, Rome}", "{Oslo, Paris}"]
    >>> columns = [Column("age", tuple(ages), np.arange(3)), Column("town", tuple(towns), np.arange(3))]
    >>> age, town = read_sayings(ages, place=int), read_sayings(towns)
    >>> found = rebuild(columns, [age.said, town.said], np.ones(3, np.int64), 2)
    >>> sorted((age.value(x), town.value(y)) for x, y in found.tuples)
    [('20', 'Oslo'), ('30', 'Rome'), ('40', 'Paris')]
    """
    longest = longest or 2 * k - 1
    firsts, kind_of = classes(columns, len(rows))
    codes = np.stack([column.codes[firsts] for column in columns], axis=1)
    slots = total_by(kind_of, rows, len(firsts))
    plain = np.all([_single(said)[codes[:, a]] for a, said in enumerate(meanings)], axis=0)
    told = int(slots[plain].sum())
    asked = np.flatnonzero(~plain | (slots < k))
    if k < 2 or not len(asked):
        return Rebuilt(Counter(), 0, 0, 0, 0, told)
    if slots[asked].sum() > most:
        drawn = np.random.default_rng(seed).permutation(asked)
        asked = np.sort(drawn[np.cumsum(slots[drawn]) <= most])
    asked = asked[np.argsort(slots[asked], kind="stable")]  # what is rare is in few rings
    looked_at = int(slots[asked].sum())
    if any(len(said.values) > k for column in meanings for said in column):
        return Rebuilt(Counter(), 0, 0, looked_at, 0, told, possible=False)
    labels = _labels(meanings)
    kinds = _kinds(labels, codes, [len(said) for said in meanings], slots)
    if kinds is None:
        return Rebuilt(Counter(), 0, 0, looked_at, looked_at, told)
    whole, several, left = _found(labels, kinds, asked, k, longest)
    if left is None:
        return Rebuilt(Counter(), 0, 0, looked_at, 0, told, possible=False)
    exact = _shared(several)
    for orders in whole:
        exact.update(_common(orders))
    for kind in codes[plain].tolist():
        exact.pop(tuple(said[code].values[0] for said, code in zip(meanings, kind, strict=True)), None)
    sizes = [len(orders[0].windows) for orders in whole]
    return Rebuilt(exact, sum(sizes), len(sizes), looked_at, left, told)


@dataclass(frozen=True, eq=False)
class Closed:
    """A ring that could be: the kinds of its windows, and the tuples that its rows have in this order."""

    windows: tuple[int, ...]
    tuples: Counter[Tuple]


def _found(
    labels: Labels, kinds: Kinds, asked: Longs, k: int, longest: int
) -> tuple[list[list[Closed]], dict[int, list[Closed]], int | None]:
    """Return the rings that are there whole, each in all its orders; the rings that may hold other kinds; and how many
    slots nothing is known of, or None where some slot is in no ring at all.

    What is struck out of the slots leaves fewer rings for others, so they are asked again until nothing changes.
    """
    whole: list[list[Closed]] = []
    several: dict[int, list[Closed]] = {}
    stopped, budget = asked, BUDGET
    for steps in (STEPS // 100, STEPS // 10, STEPS):  # what is easy is struck out before the rest is looked at for long
        asked, stopped = np.array([*stopped, *several], np.int64), asked[:0]
        while len(asked):
            came, rings, budget = search(labels, kinds, asked, k, longest, steps, MOST_RINGS, budget)
            if (came == NOTHING).any():
                return [], {}, None
            found = _by_seed(rings)
            news = [found.pop(place) for place in np.flatnonzero(came == ONE).tolist() if place in found]
            whole += news
            several |= {int(asked[place]): each for place, each in found.items()}
            several = {kind: each for kind, each in several.items() if kinds.rows[kind]}
            stopped = np.concatenate([stopped, asked[(came == STOPPED) & ~np.isin(asked, [*several])]])
            asked = asked[(kinds.rows[asked] > 0) & (came != STOPPED)] if news else asked[:0]
    return whole, several, int(kinds.rows[stopped].sum())


def _by_seed(rings: FoundRings) -> dict[int, list[Closed]]:
    """Return the rings that were found from each place."""
    found: dict[int, list[Closed]] = {}
    for place, size, windows, tuples in zip(*(part.tolist() for part in rings), strict=True):
        exact = Counter(tuple(row) for row in tuples if row[0] != OTHER)
        found.setdefault(place, []).append(Closed(tuple(windows[:size]), exact))
    return found


def _shared(several: dict[int, list[Closed]]) -> Counter[Tuple]:
    """Return the tuples that all rings have which may hold a kind, those of kinds that hang together not added up."""
    component = {kind: kind for kind in several}

    def name(kind: int) -> int:
        while component[kind] != kind:
            component[kind] = kind = component[component[kind]]
        return kind

    for kind, rings in several.items():
        for other in {window for ring in rings for window in ring.windows} & several.keys():
            component[name(kind)] = name(other)
    told: dict[int, Counter[Tuple]] = {}
    for kind, rings in several.items():
        told[name(kind)] = told.get(name(kind), Counter()) | _common(rings)
    exact: Counter[Tuple] = Counter()
    for tuples in told.values():
        exact.update(tuples)
    return exact


def _common(rings: Sequence[Closed]) -> Counter[Tuple]:
    return reduce(and_, (ring.tuples for ring in rings))


def _single(meanings: Sequence[Said]) -> Bools:
    """Return which labels are single values."""
    return np.array([len(said.values) == 1 and said.low > said.high for said in meanings], bool)


def _labels(meanings: Sequence[Sequence[Said]]) -> Labels:
    said = [each for column in meanings for each in column]
    return Labels(
        starts=np.cumsum([0, *(len(each.values) for each in said)]),
        must=np.array([value for each in said for value in each.values], np.int32),
        low=np.array([each.low for each in said], np.int32),
        high=np.array([each.high for each in said], np.int32),
    )


def _kinds(labels: Labels, codes: Longs, sizes: Sequence[int], slots: Longs) -> Kinds | None:
    """Return the kinds of slots, with their labels compared; None where no attribute has few enough labels for that.

    Neighbours are looked for along the attribute in which the fewest kinds are near each other.
    """
    base = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    tables, at, used, near = [np.empty(0, np.uint8)], np.full(len(sizes), -1), 0, np.full(len(sizes), np.inf)
    for a, size in enumerate(sizes):
        if size <= MOST_LABELS:
            table, held = np.empty(size**2, np.uint8), np.bincount(codes[:, a], minlength=size)
            near[a] = compare(labels, int(base[a]), held, table)
            tables.append(table)
            at[a], used = used, used + len(table)
    if not used:
        return None
    order = np.argsort(near, kind="stable")
    driver = int(order[0])
    return Kinds(
        labels=(codes + base).astype(np.int32),
        rows=slots.copy(),
        driver=driver,
        first=np.searchsorted(np.sort(codes[:, driver]), np.arange(sizes[driver] + 1)),
        listed=np.argsort(codes[:, driver], kind="stable"),
        base=base,
        sizes=np.array(sizes, np.int64),
        at=at,
        apart=np.concatenate(tables),
        order=order,
    )
