"""Published baskets: is every combination of up to m labels that occurs in one found in at least k? (k^m-anonymity)

Terrovitis, Mamoulis, Kalnis: Privacy-preserving Anonymization of Set-valued Data. VLDB 2008, Definition 1, read as "at
least k", and for every size from 1 to m: a label that stands alone in its basket has no larger combination to speak for
it.

Baskets are lists of labels in a fixed order. To count the combinations that begin with a label, take what stands behind
it in each list that has it: those are lists again, and the combinations one label shorter. The last two labels are
counted in one go, as pairs of places in the same list.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import total_by
from ringfence.audit.labels.spelling import written
from ringfence.audit.labels.trees import Tree
from ringfence.audit.verdict import Finding, some
from ringfence.errors import DataError, listed

SHOWN = 5
MOST_PAIRS = 1 << 21
"""How many pairs are counted in one go, for the sake of memory."""


@dataclass(frozen=True)
class BasketJudgement:
    """What is wrong with published baskets, and what was measured.

    `measured` has k, the fewest baskets that hold a combination of up to m labels that occurs (no label at all is one
    that every basket holds); m, the largest size, up to the one asked for, at which k holds; and the numbers of baskets
    and of different labels.
    """

    findings: tuple[Finding, ...]
    measured: Mapping[str, int]


def judge_baskets(
    baskets: pa.Array | pa.ChunkedArray,
    tree: Tree | None,
    k: int,
    m: int,
    name: str = "items",
    counts: Longs | None = None,
) -> BasketJudgement:
    """Judge the published labels of each basket, a column of lists of text called `name`.

    Findings are: `m`, combinations of labels in fewer than k baskets, of the smallest size that has any; `labels`,
    those that are no node of the hierarchy; `boundary`, those past it; `recoding`, labels that share items, since every
    item has one label; `repeated`, a label twice in one basket, since that tells how many items stand behind it, which
    no combination of labels covers. Where no tree is given, what needs one is not judged. A missing basket counts
    as an empty one. `counts` says how many baskets there are of each, where equal ones were counted before.

    >>> food = Tree.of([("milk", "dairy", "*"), ("cheese", "dairy", "*"), ("bread", "*")])
    >>> baskets = pa.array([["dairy", "bread"], ["dairy", "bread"], ["dairy"], []])
    >>> judge_baskets(baskets, food, k=2, m=2).measured
    {'k': 2, 'm': 2, 'baskets': 4, 'labels': 2}
    >>> print(judge_baskets(baskets, food, k=3, m=2).findings[0].message)
    1 combination of 1 label is found in fewer than k = 3 baskets: {bread} in 2
    """
    lists, labels, findings = _read(baskets, name, counts)
    if tree is not None:
        findings += _label_findings(lists, labels, tree, name)
    least, holds = lists.total, m
    if least < k:
        message = f"there are {some(least, 'basket')}, fewer than k = {k}; whoever is in one of them is found"
        findings, holds = [*findings, Finding("m", message, least, {})], 0
    for size in range(1, m + 1):
        found = _survey(lists, size, k)
        least = min(least, found.least)
        if found.rare and holds >= size:
            findings, holds = [*findings, _too_rare(found, labels, size, k, name)], size - 1
        if holds < size and least <= 1:
            break  # larger combinations cannot be rarer
    measured = {"k": least, "m": holds, "baskets": lists.total, "labels": len(labels)}
    return BasketJudgement(tuple(findings), measured)


@dataclass(frozen=True, eq=False)
class _LabelLists:
    """Lists of label numbers, rising in each list: one after the other in `items`, each from its start on.

    `baskets` says from which basket each list comes, and `counts` how many there are of each basket; `labels` is how
    many labels there are in all.
    """

    items: Longs
    starts: Longs
    baskets: Longs
    counts: Longs
    labels: int

    @property
    def total(self) -> int:
        """How many baskets there are."""
        return int(self.counts.sum())

    @cached_property
    def weights(self) -> Longs:
        """For each place, how many baskets have its list."""
        weights: Longs = self.counts[self.baskets][self.owners]
        return weights

    def supports(self) -> Longs:
        """Return how many baskets each label is found in."""
        return total_by(self.items, self.weights, self.labels)

    @cached_property
    def ends(self) -> Longs:
        """Where each list ends."""
        return np.append(self.starts[1:], len(self.items))

    @cached_property
    def owners(self) -> Longs:
        """The list that each place belongs to."""
        return np.repeat(np.arange(len(self.starts)), self.ends - self.starts)

    @cached_property
    def behind(self) -> Longs:
        """How many places stand behind each place in its list."""
        return self.ends[self.owners] - np.arange(len(self.items)) - 1

    def tails(self) -> Iterator[tuple[int, "_LabelLists"]]:
        """Yield for each label that occurs with others behind it what stands behind it; empty tails are left out."""
        places = np.flatnonzero(self.behind > 0)
        places = places[np.argsort(self.items[places], kind="stable")]
        counts = np.bincount(self.items[places], minlength=self.labels)
        stops = np.cumsum(counts)
        for label in np.flatnonzero(counts).tolist():
            heads = places[stops[label] - counts[label] : stops[label]]
            sizes = self.behind[heads]
            starts = np.cumsum(sizes) - sizes
            taken = np.repeat(heads + 1 - starts, sizes) + np.arange(sizes.sum())
            yield (
                label,
                _LabelLists(self.items[taken], starts, self.baskets[self.owners[heads]], self.counts, self.labels),
            )


@dataclass(frozen=True, eq=False)
class _Counted:
    """Combinations that begin alike. Each is known by a number, its key, whose digits are its one or two last labels.

    `digits` says for each digit which label its values stand for. `met` are the keys again, as often as they were met,
    and `places` is where in the lists that was.
    """

    prefix: tuple[int, ...]
    digits: tuple[Longs, ...]
    keys: Longs
    supports: Longs
    lists: _LabelLists
    met: Longs
    places: Longs

    def combinations(self, which: Longs) -> list[tuple[int, ...]]:
        """Return some of the combinations, as label numbers."""
        values = np.unravel_index(self.keys[which], [len(labels) for labels in self.digits])
        last = [labels[value].tolist() for labels, value in zip(self.digits, values, strict=True)]
        return [(*self.prefix, *each) for each in zip(*last, strict=True)]

    def holders(self, which: Bools) -> Longs:
        """Return the baskets that have some of the combinations."""
        places = self.places[np.isin(self.met, self.keys[which])]
        return self.lists.baskets[self.lists.owners[places]]


def _combinations(lists: _LabelLists, size: int, prefix: tuple[int, ...] = ()) -> Iterator[_Counted]:
    """Count all combinations of so many labels that occur, each in one piece."""
    if size == 1:
        supports = lists.supports()
        keys, places = np.flatnonzero(supports), np.arange(len(lists.items))
        yield _Counted(prefix, (np.arange(lists.labels),), keys, supports[keys], lists, lists.items, places)
    elif size == 2 and lists.behind.sum() <= MOST_PAIRS:
        yield _pairs(lists, prefix)
    else:
        for label, tails in lists.tails():
            yield from _combinations(tails, size - 1, (*prefix, label))


def _pairs(lists: _LabelLists, prefix: tuple[int, ...]) -> _Counted:
    """Count the pairs of labels, in digits over the labels that occur here."""
    used = np.flatnonzero(np.bincount(lists.items, minlength=lists.labels))
    values = np.zeros(lists.labels, np.int64)
    values[used] = np.arange(len(used))
    items = values[lists.items]
    left = np.repeat(np.arange(len(items)), lists.behind)
    firsts = np.cumsum(lists.behind) - lists.behind
    right = np.arange(len(left)) + np.repeat(np.arange(1, len(items) + 1) - firsts, lists.behind)
    met = items[left] * len(used) + items[right]
    if len(used) ** 2 <= 4 * len(met):
        counts = total_by(met, lists.weights[left], len(used) ** 2)
        keys = np.flatnonzero(counts)
        supports = counts[keys]
    else:
        keys, which = np.unique(met, return_inverse=True)
        supports = total_by(which, lists.weights[left], len(keys))
    return _Counted(prefix, (used, used), keys, supports, lists, met, left)


@dataclass(frozen=True, eq=False)
class _Survey:
    """Combinations of one size: the least support of any; how many are rare, how many baskets have some, the rarest."""

    least: int
    rare: int
    baskets: int
    examples: list[tuple[int, tuple[int, ...]]]


def _survey(lists: _LabelLists, size: int, k: int) -> _Survey:
    """Look at all combinations of so many labels that occur, for those in fewer than k baskets."""
    least, count = lists.total, 0
    hit = np.zeros(len(lists.counts), bool)
    examples: list[tuple[int, tuple[int, ...]]] = []
    for counted in _combinations(lists, size):
        least = min(least, int(counted.supports.min(initial=least)))
        rare = counted.supports < k
        if rare.any():
            count += int(rare.sum())
            hit[counted.holders(rare)] = True
            rarest = np.argsort(counted.supports, kind="stable")[: min(SHOWN, rare.sum())]
            found = zip(counted.supports[rarest].tolist(), counted.combinations(rarest), strict=True)
            examples = sorted([*examples, *found])[:SHOWN]
    return _Survey(least, count, int(lists.counts[hit].sum()), examples)


def _too_rare(found: _Survey, labels: Sequence[str | None], size: int, k: int, name: str) -> Finding:
    """Report rare combinations of one size, the rarest by their labels."""
    shown = [(support, _as_set([labels[each] for each in which])) for support, which in found.examples]
    examples = ", ".join(f"{which} in {support:,}" for support, which in shown)
    message = (
        f"{some(found.rare, 'combination')} of {some(size, 'label')} {'is' if found.rare == 1 else 'are'} found in"
        f" fewer than k = {k} baskets: {examples}{', ...' * (found.rare > len(shown))}"
    )
    return Finding("m", message, found.baskets, {name: shown[0][1]})


def _as_set(labels: Sequence[str | None]) -> str:
    """Return labels as a set is written.

    >>> _as_set(["b", "a, b", None])
    '{"a, b", b, null}'
    """
    ordered = sorted(labels, key=lambda label: (label is None, label or ""))
    return "{" + ", ".join("null" if label is None else written(label) for label in ordered) + "}"


def _read(
    baskets: pa.Array | pa.ChunkedArray, name: str, counts: Longs | None
) -> tuple[_LabelLists, list[str | None], list[Finding]]:
    """Read baskets as lists of label numbers, each label once; a label that is repeated in a basket is a finding.

    Labels are numbered from the rarest on: so a label that many lists have has little behind it.
    """
    column = baskets.combine_chunks() if isinstance(baskets, pa.ChunkedArray) else baskets
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise DataError(f"column {name!r} of the release holds {column.type}; allowed: lists of text")
    counts = np.ones(len(column), np.int64) if counts is None else counts
    owners = pc.list_parent_indices(column).to_numpy(zero_copy_only=False).astype(np.int64)
    encoded = pc.list_flatten(column).cast(pa.string()).dictionary_encode(null_encoding="encode")
    texts = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    order = sorted(range(len(texts)), key=lambda code: (texts[code] is None, texts[code] or ""))
    order = [order[place] for place in np.argsort(total_by(codes, counts[owners], len(texts))[order], kind="stable")]
    ranks = np.empty(len(texts), np.int64)
    ranks[order] = np.arange(len(texts))
    held, times = np.unique(owners * len(texts) + ranks[codes], return_counts=True)
    holders, items = np.divmod(held, len(texts) or 1)
    every = np.arange(len(column))
    lists = _LabelLists(items, np.searchsorted(holders, every), every, counts, len(texts))
    labels = [texts[code] for code in order]
    return lists, labels, [*_repetitions(holders[times > 1], items[times > 1], labels, counts, name)]


def _repetitions(
    baskets: Longs, items: Longs, labels: Sequence[str | None], counts: Longs, name: str
) -> Iterator[Finding]:
    if len(items):
        repeated = total_by(items, counts[baskets], len(labels))
        commonest = np.argsort(-repeated, kind="stable")[: min(SHOWN, np.count_nonzero(repeated))]
        shown = [repr(labels[each]) for each in commonest]
        rows = int(counts[np.unique(baskets)].sum())
        message = (
            f"{some(rows, 'basket')} of {name!r} {'has' if rows == 1 else 'have'} a label more than once, such as"
            f" {listed(shown)}, which tells how many items stand behind it; publish each label once"
        )
        yield Finding("repeated", message, rows, {name: _as_set([labels[commonest[0]]])})


def _label_findings(lists: _LabelLists, labels: Sequence[str | None], tree: Tree, name: str) -> Iterator[Finding]:
    """Find labels that are not of the tree, that lie past its boundary, or that share items with others."""
    held = {label: found for label in labels if (found := tree.held(label)) is not None}
    strange = {label for label in labels if label not in held}
    yield from _about(lists, labels, strange, "labels", "which is no label of its hierarchy", name)
    past = {label for label, (items, steps) in held.items() if (steps > tree.limits[items]).all()}
    yield from _about(lists, labels, past, "boundary", "which is past its boundary", name)
    holders: dict[int, set[str | None]] = {}
    for label, (items, _) in held.items():
        for item in items.tolist():
            holders.setdefault(item, set()).add(label)
    sharing = {label for several in holders.values() if len(several) > 1 for label in several}
    yield from _about(lists, labels, sharing, "recoding", "which share items; each item has one label", name)


def _about(
    lists: _LabelLists, labels: Sequence[str | None], bad: Collection[str | None], rule: str, wrong: str, name: str
) -> Iterator[Finding]:
    """Report labels that break a rule, the commonest first."""
    if bad:
        broken = np.array([label in bad for label in labels])[lists.items]
        counts = lists.supports()
        worst = sorted(
            (-count, label or "", label) for count, label in zip(counts.tolist(), labels, strict=True) if label in bad
        )
        shown = [f"{label!r} ({some(-count, 'basket')})" for count, _, label in worst[:SHOWN]]
        rest = f" and {len(worst) - SHOWN} more" if len(worst) > SHOWN else ""
        message = f"{name!r} is published as {listed(shown)}{rest}, {wrong}"
        affected = int(lists.counts[np.unique(lists.owners[broken])].sum())
        yield Finding(rule, message, affected, {name: _as_set([worst[0][2]])})
