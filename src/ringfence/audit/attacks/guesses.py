"""Attacks on sensitive values: homogeneity, background knowledge, minimality, and the intersection of two releases.

How often a guess is right is counted against the true values where the class alone does not say it.
"""

import math
from collections.abc import Iterator

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.audit.attacks.at_hand import AtHand, Hints, hints, numbered, true_values
from ringfence.audit.counts import Cells, total_by
from ringfence.audit.models.guarantees import diversity_keys
from ringfence.audit.trace.ring_matches import has_rings
from ringfence.audit.verdict import Attack, some
from ringfence.spec import Spec
from ringfence.spec.privacy import Likeness

MOST_RULED_OUT = 2
SHUFFLES = 400
MOST_CLASSES = 200
FEWEST_KEPT = 30


def homogeneity(at_hand: AtHand) -> Iterator[Attack]:
    """Guess the commonest sensitive value of the target's class; of one without classes, of the rows that fit him."""
    if has_rings(at_hand.spec):
        yield from _without_classes(at_hand)
        return
    for name, cells in at_hand.released.cells_of.items():
        most = np.maximum.reduceat(cells.rows, cells.starts)
        whole = cells.whole(len(at_hand.released.sensitive[name].labels))
        yield Attack(
            name="homogeneity",
            how=f"the commonest {name!r} of the class",
            success=float(most.sum() / at_hand.total),
            worst=float((most / cells.sizes).max()),
            promised=likeliest(at_hand.spec, name, whole),
            baseline=float(whole.max()),
        )


def _without_classes(at_hand: AtHand) -> Iterator[Attack]:
    """Guess the commonest value of the rows that fit. What a draw can keep is what the worst is held to.

    One who knows how rings are made gives each of a target's rows the same weight, and matches beyond them none; which
    these are, the release does not tell. So the worst is what the audit has found that some draw keeps to.
    """
    keys = {wanted.of: key for key, wanted in diversity_keys(at_hand.spec)}
    for name, column in at_hand.released.sensitive.items() if at_hand.truth is not None else ():
        assert at_hand.truth is not None
        (ours, theirs), count = numbered(column.labels, at_hand.truth.sensitive[name].labels)
        told = hints(at_hand.released.cells_of[name], at_hand.effective, ours, count)
        promised = [1 / part.value for part in at_hand.spec.diversities() if part.of == name]
        yield Attack(
            name="homogeneity",
            how=f"the commonest {name!r} of the rows that fit",
            success=told.right(true_values(at_hand.truth, name, theirs, count), at_hand.people),
            worst=1 / at_hand.measured[keys[name]] if name in keys else float(told.sure.max(initial=0)),
            promised=min(promised, default=None),
            baseline=float(at_hand.released.cells_of[name].whole(len(column.labels)).max()),
        )


def likeliest(spec: Spec, name: str, whole: Floats) -> float | None:
    """Return the largest share that any value of an attribute may have in a class, by what was promised of it.

    `whole` are the shares in the release. Recursive (c, l): the commonest has r1 < c (n - r1) rows, since l > 1. Equal
    t: no share is more than t above the whole's. Entropy l: the entropy of a share x, and of what is left evenly spread
    over the other values, must reach log l; beyond 1 / values it falls as x grows. Distinct l and p promise only that
    no value is certain.
    """
    limits = [1.0]
    for part in spec.diversities():
        if part.of == name and part.kind == "recursive" and part.value > 1:
            limits.append(float(part.c or 0) / (1 + float(part.c or 0)))
        elif part.of == name and part.kind == "entropy":
            limits.append(_most_with_entropy(math.log(part.value), len(whole)))
    limits += [near.value + whole.max() for near in spec.closenesses() if (near.of, near.distance) == (name, "equal")]
    for key, bound in spec.bounds().items():
        if bound.of != name:
            continue
        if key == "alpha":
            limits.append(bound.value)
        elif key == "delta":
            limits.append(whole.max() * math.exp(min(bound.value, 700)))
        else:
            enhanced = isinstance(bound, Likeness) and bound.kind == "enhanced"
            gains = np.minimum(bound.value, -np.log(whole)) if enhanced else np.full(len(whole), bound.value)
            limits.append(float((whole * (1 + gains)).max()))
    least = float(min(limits))
    return least if least < 1 else None


def _most_with_entropy(least: float, values: int) -> float:
    """Return the largest share that one of so many values may have if their entropy is to reach `least`."""
    low, high = 1 / values, 1.0
    for _ in range(60):
        share = (low + high) / 2
        rest = (1 - share) * math.log((1 - share) / (values - 1)) if share < 1 else 0.0
        low, high = (share, high) if -share * math.log(share) - rest >= least else (low, share)
    return high


def background(at_hand: AtHand) -> Iterator[Attack]:
    """Know values of the class that the target does not have, drawn from all of them, and guess the commonest of the
    rest.

    Every value but the target's is as likely to be known, so that what is known tells nothing more. Values by falling
    rows being n0, n1, ... of m, a guess is nj if the j before it are known and it is not: C(m - 1 - j, s - j) of the
    sets of s. Each set may be known of C(m - 1, s). The worst knows the commonest others.
    """
    for name, cells in at_hand.released.cells_of.items() if not has_rings(at_hand.spec) else ():
        count = len(at_hand.released.sensitive[name].labels)
        whole = Cells(np.zeros(count, np.int64), np.arange(count), total_by(cells.values, cells.rows, count),
                      np.array([at_hand.total]))  # fmt: skip
        recursive = [part for part in at_hand.spec.diversities() if part.of == name and part.kind == "recursive"]
        for known in range(1, MOST_RULED_OUT + 1):
            limits = [float(part.c or 0) / (1 + float(part.c or 0)) for part in recursive if known <= part.value - 2]
            yield Attack(
                name="background",
                how=f"{name!r}, {some(known, 'other value')} ruled out",
                success=_after_ruling_out(cells, known),
                worst=float(_ruled_out(cells, known).max()),
                promised=min(limits, default=None),
                baseline=_after_ruling_out(whole, known),
            )


def _falling(cells: Cells) -> tuple[Longs, Longs]:
    """Return the order that puts the commonest values of each class first, and the places of values within classes."""
    order = np.lexsort((-cells.rows, cells.classes))
    return order, np.arange(len(order)) - cells.starts[cells.classes[order]]


def _after_ruling_out(cells: Cells, known: int) -> float:
    """Return how often the commonest value is right among those that are left when so many others are known."""
    order, rank = _falling(cells)
    others = np.bincount(cells.classes, minlength=len(cells.sizes))[cells.classes[order]] - 1
    sets, ways = np.minimum(known, others), np.ones(len(order))
    for before in range(known + 1):  # C(m - 1 - j, s - j) / C(m - 1, s) is the product of (s - i) / (m - 1 - i), i < j
        ways *= np.where(rank > before, (sets - before) / np.maximum(others - before, 1), 1)
    return float((ways * cells.rows[order]).sum() / cells.sizes.sum())


def _ruled_out(cells: Cells, count: int) -> Floats:
    """Return the share of each value in its class when the `count` commonest of the others are known not to be it."""
    order, places = _falling(cells)
    rank = np.empty(len(order), np.int64)
    rank[order] = places
    rows = cells.rows[order]
    running = np.concatenate(([0], np.cumsum(rows)))
    ends = np.append(cells.starts[1:], len(rows))
    first, stop = cells.starts[cells.classes], ends[cells.classes]
    among = rank < count  # then one more of the commonest is ruled out in its place
    taken = running[np.minimum(first + count + among, stop)] - running[first] - np.where(among, cells.rows, 0)
    shares: Floats = cells.rows / (cells.sizes[cells.classes] - taken)
    return shares


def minimality(at_hand: AtHand) -> Iterator[Attack]:
    """Take each class to be generalized only because a part of it would not have been diverse by itself.

    Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing. VLDB 2007. A class whose parts (rows
    with the same original quasi-identifiers) have k rows each was not merged for k; then some part has fewer than l
    values. Values are dealt to the parts at random, seeded, and deals without such a part are thrown away: how often a
    part then has each value is what the adversary believes, and the likeliest is his guess. He is wrong where the whole
    table was recoded for the sake of other classes; so guesses are checked, and the worst is the most that he believes.
    """
    if has_rings(at_hand.spec) or at_hand.truth is None:
        return
    for name, cells in at_hand.released.cells_of.items():
        least = least_values(at_hand.spec, name)
        merged = _merged_for(at_hand) if least > 1 else []
        rng = np.random.default_rng(at_hand.seed)
        if len(merged) > MOST_CLASSES:
            merged = [merged[place] for place in sorted(rng.choice(len(merged), MOST_CLASSES, replace=False).tolist())]
        (ours, theirs), count = numbered(at_hand.released.sensitive[name].labels, at_hand.truth.sensitive[name].labels)
        truth = true_values(at_hand.truth, name, theirs, count)
        believed, right, plainly, rows = [0.0], 0, 0, 0
        for number, members in merged:
            here = slice(cells.starts[number], int(np.searchsorted(cells.classes, number, side="right")))
            parts = at_hand.linked.graph.original[members]
            shares = _dealt(cells.rows[here], parts, least, rng)
            if shares is not None:
                believed.append(float(shares.max()))
                guesses = ours[cells.values[here][shares.argmax(axis=1)]]
                right += int(truth.rows[np.isin(truth.keys, members * count + guesses)].sum())
                plainly += int(cells.rows[here].max())
                rows += int(parts.sum())
        if rows:
            classes = some(len(believed) - 1, "class")
            yield Attack(
                name="minimality",
                how=f"{name!r} in {classes} merged for its sake (seeded)",
                success=right / rows,
                worst=max(believed),
                promised=None,
                baseline=plainly / rows,
            )


def least_values(spec: Spec, name: str) -> int:
    """Return how many different values of an attribute every class must have."""
    asked = [int(part.value) for part in spec.diversities() if part.of == name and part.kind == "distinct"]
    return max([1, spec.privacy.p or 1, *asked])


def _merged_for(at_hand: AtHand) -> list[tuple[int, Longs]]:
    """Return classes of several parts that are large enough for k, each with its parts, which are in no other class."""
    graph, k = at_hand.linked.graph, at_hand.spec.k
    owners = np.bincount(graph.right, minlength=len(graph.original))
    small = (owners[graph.right] != 1) | (graph.original[graph.right] < k)
    classes = len(at_hand.released.sizes)
    parts = np.bincount(graph.left, minlength=classes)
    unfit = np.bincount(graph.left, small, minlength=classes) > 0
    whole = total_by(graph.left, graph.original[graph.right], classes) == at_hand.released.sizes
    starts = np.searchsorted(graph.left, np.arange(classes + 1))
    return [
        (number, graph.right[starts[number] : starts[number + 1]])
        for number in np.flatnonzero((parts > 1) & ~unfit & whole).tolist()
    ]


def _dealt(rows: Longs, parts: Longs, least: int, rng: np.random.Generator) -> Floats | None:
    """Return how likely each value is in each part, over deals in which some part has fewer than `least` values."""
    owner, codes = np.repeat(np.arange(len(parts)), parts), np.repeat(np.arange(len(rows)), rows)
    tallies, kept = np.zeros((len(parts), len(rows))), 0
    for _ in range(SHUFFLES):
        counts = np.zeros_like(tallies)
        np.add.at(counts, (owner, rng.permutation(codes)), 1)
        if ((counts > 0).sum(axis=1) < least).any():
            tallies += counts
            kept += 1
    return tallies / kept / parts[:, None] if kept >= FEWEST_KEPT else None


def intersection(at_hand: AtHand, other: AtHand) -> Iterator[Attack]:
    """Guess the sensitive value that is the likeliest where the classes of two releases of one table meet.

    Ganta, Kasiviswanathan, Smith: Composition Attacks and Auxiliary Information in Data Privacy. KDD 2008.
    """
    for name, column in at_hand.released.sensitive.items() if at_hand.truth is not None else ():
        assert at_hand.truth is not None
        sides = (column, other.released.sensitive[name], at_hand.truth.sensitive[name])
        (first, second, third), count = numbered(*(side.labels for side in sides))
        truth = true_values(at_hand.truth, name, third, count)
        alone: list[Hints] = [
            hints(each.released.cells_of[name], each.linked.graph, codes, count)
            for each, codes in ((at_hand, first), (other, second))
        ]
        meet = alone[0].meet(alone[1])
        yield Attack(
            name="intersection",
            how=f"{name!r} by two releases (without: by one)",
            success=meet.right(truth, at_hand.people),
            worst=float(meet.sure.max(initial=0)),
            promised=None,
            baseline=max(each.right(truth, at_hand.people) for each in alone),
        )
