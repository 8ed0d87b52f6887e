"""Attacks on a release, carried out by someone who has the original but for its sensitive values.

Each says how often its guess would be right, over all targets and for the one who fares worst, beside what the promise
allows and beside what could be guessed without the release. Where all cases can be counted, they are; the rest is drawn
with a seed, so that it can be repeated.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ringfence.audit.against import Linked
from ringfence.audit.corruption import corrupt
from ringfence.audit.counts import Cells, Column, Floats, Longs, Released, classes, total_by
from ringfence.audit.linkage import Cover, Side, link
from ringfence.audit.rings import Matches, has_rings
from ringfence.audit.verdict import Attack, some
from ringfence.spec import Spec

MOST_KNOWN = 3
MOST_RULED_OUT = 2
SHUFFLES = 400
MOST_CLASSES = 200
FEWEST_KEPT = 30
TARGETS = 500


@dataclass(frozen=True, eq=False)
class Scene:
    """What attacks have at hand: the release, the original linked to it by quasi-identifiers, and the matches."""

    released: Released
    linked: Linked
    matches: Matches | None
    spec: Spec
    corrupted: int
    seed: int = 0

    @property
    def total(self) -> int:
        """How many rows are published."""
        return int(self.released.rows.sum())

    @property
    def share(self) -> float | None:
        """What k-anonymity allows."""
        return None if self.spec.privacy.k is None else 1 / self.spec.privacy.k


def linkage(scene: Scene) -> Iterator[Attack]:
    """Look up rows by some known quasi-identifiers, and guess among those that fit: of each number, the worst choice.

    With all of them known, matches that are in no complete assignment are struck out first.
    """
    quasi = scene.linked.published.quasi
    for known in range(1, min(MOST_KNOWN, len(quasi) - 1) + 1):
        tried = {chosen: _looked_up(scene.linked, chosen) for chosen in combinations(range(len(quasi)), known)}
        chosen, (success, worst) = max(tried.items(), key=lambda each: each[1])
        names = ", ".join(repr(quasi[place].name) for place in chosen)
        yield Attack("linkage", f"knowing {names}", success, worst, scene.share, 1 / scene.total)
    success, worst = _looked_up(scene.linked, range(len(quasi)))
    if scene.matches is not None:
        graph, shown = scene.matches.graph, ~scene.matches.hidden
        fits = total_by(graph.right[shown], graph.published[graph.left[shown]], len(graph.original))
        success, worst = _guessed(fits, graph.original)
    yield Attack("linkage", "knowing all quasi-identifiers", success, worst, scene.share, 1 / scene.total)


def _looked_up(linked: Linked, chosen: Sequence[int]) -> tuple[float, float]:
    """Return how often a guess among the rows that fit some quasi-identifiers is right: on average, and at most."""
    labels = [linked.published.quasi[place] for place in chosen]
    covers = [linked.covers[place] for place in chosen]
    values = [Column("", (None,) * each.holds.shape[1], each.leaves) for each in covers]
    sides = []
    for columns, rows in ((labels, linked.published.rows), (values, linked.original.rows)):
        firsts, group = classes(columns, len(rows))
        narrow = tuple(Column(each.name, each.labels, each.codes[firsts]) for each in columns)
        sides.append(Side(narrow, np.zeros(len(firsts), np.int64), total_by(group, rows, len(firsts))))
    narrowed = [Cover(v.codes, each.holds, each.past) for v, each in zip(sides[1].quasi, covers, strict=True)]
    graph = link(sides[0], sides[1], narrowed)
    return _guessed(total_by(graph.right, graph.published[graph.left], len(graph.original)), graph.original)


def _guessed(fits: Longs, people: Longs) -> tuple[float, float]:
    """Return how often a guess is right if so many rows fit so many people; who fits none is not found."""
    right = np.where(fits > 0, 1 / np.maximum(fits, 1), 0)
    return float((right * people).sum() / people.sum()), float(right.max())


def homogeneity(scene: Scene) -> Iterator[Attack]:
    """Guess the commonest sensitive value of the target's class; of one without classes, of the rows that fit him."""
    if has_rings(scene.spec):
        for name, column in scene.released.sensitive.items():
            told = _told(scene, name, np.arange(len(column.labels)), len(column.labels))
            fits, people = np.maximum(told.sum(axis=1), 1), scene.linked.original.rows
            sure = told.max(axis=1) / fits
            whole = scene.released.cells_of[name].whole(len(column.labels)).max()
            how = f"guessing the commonest {name!r} of the rows that fit"
            mean = float((sure * people).sum() / people.sum())
            yield Attack("homogeneity", how, mean, float(sure.max()), None, float(whole))
        return
    for name, cells in scene.released.cells_of.items():
        most = np.maximum.reduceat(cells.rows, cells.starts)
        bound = scene.spec.bounds().get("alpha")
        promised = bound.value if bound is not None and bound.of == name else None
        yield Attack(
            name="homogeneity",
            how=f"guessing the commonest {name!r} of the class",
            success=float(most.sum() / scene.total),
            worst=float((most / cells.sizes).max()),
            promised=promised,
            baseline=float(cells.whole(int(cells.values.max()) + 1).max()),
        )


def background(scene: Scene) -> Iterator[Attack]:
    """Rule out the commonest values that the target does not have, and guess the value by its share of the rest."""
    for name, cells in scene.released.cells_of.items() if not has_rings(scene.spec) else ():
        whole = Cells(
            np.zeros(int(cells.values.max()) + 1, np.int64),
            np.arange(cells.values.max() + 1),
            total_by(cells.values, cells.rows, int(cells.values.max()) + 1),
            np.array([scene.total]),
        )
        recursive = [part for part in scene.spec.diversities() if part.of == name and part.kind == "recursive"]
        for ruled_out in range(1, MOST_RULED_OUT + 1):
            shares, without = _ruled_out(cells, ruled_out), _ruled_out(whole, ruled_out)
            limits = [
                float(part.c or 0) / (1 + float(part.c or 0)) for part in recursive if ruled_out <= part.value - 2
            ]
            yield Attack(
                name="background",
                how=f"ruling out {ruled_out} of the other values of {name!r}",
                success=float((shares * cells.rows).sum() / scene.total),
                worst=float(shares.max()),
                promised=min(limits, default=None),
                baseline=float((without * whole.rows).sum() / scene.total),
            )


def _ruled_out(cells: Cells, count: int) -> Floats:
    """Return the share of each value in its class when the `count` commonest of the others are known not to be it."""
    order = np.lexsort((-cells.rows, cells.classes))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - cells.starts[cells.classes[order]]
    rows = cells.rows[order]
    running = np.concatenate(([0], np.cumsum(rows)))
    ends = np.append(cells.starts[1:], len(rows))
    first, stop = cells.starts[cells.classes], ends[cells.classes]
    among = rank < count  # then one more of the commonest is ruled out in its place
    taken = running[np.minimum(first + count + among, stop)] - running[first] - np.where(among, cells.rows, 0)
    shares: Floats = cells.rows / (cells.sizes[cells.classes] - taken)
    return shares


def minimality(scene: Scene) -> Iterator[Attack]:
    """Take each class to be generalized only because a part of it would not have been diverse by itself.

    Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing. VLDB 2007. A class whose parts (rows
    with the same original quasi-identifiers) have k rows each was not merged for k; then some part has fewer than l
    values. Values are dealt to the parts at random, seeded, and deals without such a part are thrown away: how often a
    part then has its commonest value is what the adversary believes. He is wrong where the whole table was recoded for
    the sake of other classes, so this is the most that he might believe.
    """
    if has_rings(scene.spec):
        return
    rng = np.random.default_rng(scene.seed)
    graph, k = scene.linked.graph, scene.spec.privacy.k or 1
    least = {part.of or "": int(part.value) for part in scene.spec.diversities() if part.kind == "distinct"}
    least |= {name: max(least.get(name, 1), scene.spec.privacy.p or 1) for name in scene.spec.of_role("sensitive")}
    owners = np.bincount(graph.right, minlength=len(graph.original))
    starts = np.searchsorted(graph.left, np.arange(len(scene.released.sizes) + 1))
    for name, cells in scene.released.cells_of.items():
        believed: list[float] = []
        told: list[float] = []
        rows: list[int] = []
        for number in range(len(scene.released.sizes)) if least.get(name, 1) > 1 else ():
            members = graph.right[starts[number] : starts[number + 1]]
            parts = graph.original[members]
            alone = (owners[members] == 1).all() and parts.sum() == cells.sizes[number]
            if len(parts) < 2 or not alone or parts.min() < k or len(rows) == MOST_CLASSES:
                continue
            here = cells.classes == number
            found = _dealt(np.repeat(cells.values[here], cells.rows[here]), parts, least[name], rng)
            if found is not None:
                believed.append(found)
                told.append(float(cells.shares[here].max()))
                rows.append(int(cells.sizes[number]))
        if rows:
            yield Attack(
                name="minimality",
                how=f"knowing that classes were merged only for the sake of {name!r} ({len(rows)} classes, seeded)",
                success=float(np.average(believed, weights=rows)),
                worst=max(believed),
                promised=None,
                baseline=float(np.average(told, weights=rows)),
            )


def _dealt(values: Longs, parts: Longs, least: int, rng: np.random.Generator) -> float | None:
    """Return how sure one may be of a value of a part, over deals in which some part has fewer than `least` values."""
    owner = np.repeat(np.arange(len(parts)), parts)
    codes = np.unique(values, return_inverse=True)[1]
    tallies, kept = np.zeros((len(parts), codes.max() + 1)), 0
    for _ in range(SHUFFLES):
        counts = np.zeros_like(tallies)
        np.add.at(counts, (owner, rng.permutation(codes)), 1)
        if ((counts > 0).sum(axis=1) < least).any():
            tallies += counts
            kept += 1
    return float((tallies / kept / parts[:, None]).max()) if kept >= FEWEST_KEPT else None


def corruption(scene: Scene) -> Iterator[Attack]:
    """Know whose some rows are, and guess among what that leaves for the others."""
    if scene.matches is not None:
        known = max(scene.corrupted, 1)
        after = corrupt(scene.matches, known, scene.seed)
        rows, found = some(known, "row"), "exact" if after.exact else "seeded"
        how = f"knowing whose {rows} {'is' if known == 1 else 'are'} ({found}, the worst case)"
        yield Attack("corruption", how, 1 / after.fewest, 1 / after.fewest, None, 1 / scene.total)


NAMES = ("linkage", "homogeneity", "background", "minimality", "corruption", "items", "intersection")
ATTACKS: dict[str, Callable[[Scene], Iterator[Attack]]] = {
    "linkage": linkage,
    "homogeneity": homogeneity,
    "background": background,
    "minimality": minimality,
    "corruption": corruption,
}


def intersection(scene: Scene, other: Scene, truth: Released) -> Iterator[Attack]:
    """Guess the sensitive value that is the likeliest where the classes of two releases of one table meet.

    `truth` is the original with its sensitive values, its classes being its combinations of quasi-identifiers. Ganta,
    Kasiviswanathan, Smith: Composition Attacks and Auxiliary Information in Data Privacy. KDD 2008.
    """
    for name, column in scene.released.sensitive.items():
        sides = [column, other.released.sensitive[name], truth.sensitive[name]]
        numbers = {
            label: number for number, label in enumerate(dict.fromkeys(lab for side in sides for lab in side.labels))
        }
        codes = [np.array([numbers[label] for label in side.labels]) for side in sides]
        first, second = (_told(each, name, code, len(numbers)) for each, code in ((scene, codes[0]), (other, codes[1])))
        cells = truth.cells_of[name]
        true = np.zeros_like(first)
        np.add.at(true, (cells.classes, codes[2][cells.values]), cells.rows)
        meet = first * second
        total = meet.sum(axis=1, keepdims=True)
        sure = np.divide(meet, total, out=np.zeros_like(meet), where=total > 0)
        yield Attack(
            name="intersection",
            how=f"joining two releases to guess {name!r} (the guess without: the better release alone)",
            success=_right(meet, true),
            worst=float(sure.max()),
            promised=None,
            baseline=max(_right(first, true), _right(second, true)),
        )


def _told(scene: Scene, name: str, codes: Longs, values: int) -> Floats:
    """Return how many rows that fit each combination of the original have each value."""
    cells, graph = scene.released.cells_of[name], scene.linked.graph
    by_class = np.zeros((len(cells.sizes), values))
    np.add.at(by_class, (cells.classes, codes[cells.values]), cells.rows)
    people = len(graph.original)
    columns = [np.bincount(graph.right, by_class[graph.left, value], minlength=people) for value in range(values)]
    return np.stack(columns, axis=1)


def _right(told: Floats, true: Floats) -> float:
    """Return how often the likeliest value is the true one."""
    guesses = told.argmax(axis=1)
    return float(true[np.arange(len(true)), guesses].sum() / true.sum())


def items(baskets: Sequence[Sequence[str | None]], k: int, m: int, seed: int = 0) -> Attack:
    """Know up to m labels of a basket, drawn with a seed, and guess among the baskets that have them."""
    rng = np.random.default_rng(seed)
    holders: dict[str | None, set[int]] = {}
    for number, basket in enumerate(baskets):
        for label in basket:
            holders.setdefault(label, set()).add(number)
    full = [number for number, basket in enumerate(baskets) if basket]
    right = []
    for target in rng.choice(full, min(len(full), TARGETS), replace=False).tolist() if full else []:
        labels = sorted({*baskets[target]}, key=lambda label: (label is None, label or ""))
        known = rng.choice(len(labels), min(m, len(labels)), replace=False).tolist()
        right.append(1 / len(set.intersection(*(holders[labels[place]] for place in known))))
    how = f"knowing {m} labels of a basket ({len(right)} baskets, seeded)"
    mean = float(np.mean(right)) if right else 0.0
    return Attack("items", how, mean, max(right, default=0.0), 1 / k, 1 / max(len(baskets), 1))
