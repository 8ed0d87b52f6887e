"""How many people are behind each class of a release in which somebody may have several rows.

A release does not say whose its rows are, so from the release alone nobody can tell. Beside the original it is known
whose rows may be in which class; where more rows fit a class than it has, only the fewest and the most people that it
can have are certain. A run knows more: it can hand over the release with whose each row is, which is then compared with
the release, and traced back to the original person by person.

Wang, Fung: Anonymizing Sequential Releases. KDD 2006 ((X, Y)-anonymity). Gong et al.: Anonymizing 1:M Microdata with
High Utility. Knowledge-Based Systems 115, 2017, on tables of this kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import ibis
import numpy as np
import pyarrow as pa

from ringfence.arrays import Bools, Floats, Longs
from ringfence.audit.counts import Column, Released, read_released, total_by
from ringfence.audit.trace.against import Linked, complete
from ringfence.audit.trace.fewest import Owned, fewest
from ringfence.audit.trace.flows import Graph, effective, match
from ringfence.audit.trace.linkage import read_sides, runs
from ringfence.audit.verdict import Finding, some
from ringfence.errors import DataError, first_in, listed, suggestion
from ringfence.rows.coded import told_apart
from ringfence.rows.engine import Engine
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec

NOT_SEEN = (
    "how many people are behind each class cannot be seen from a release, which does not say whose its rows are; give"
    " the original, with its column {entity!r}"
)


@dataclass(frozen=True, eq=False)
class Crowd:
    """How many people each class has: no fewer than `least`, no more than `most`.

    Where both are the same, `pairs` are the classes and people, each pair once, that belong together, with their rows.
    `either` are classes of which a way was found to have fewer than k, although the most are k or more.
    """

    least: Longs
    most: Longs
    pairs: tuple[Longs, Longs, Longs] | None = None
    either: tuple[int, ...] = ()

    @property
    def largest_share(self) -> float | None:
        """The largest share of a class's rows that are one person's, where it is known."""
        if self.pairs is None:
            return None
        classes, _, rows = self.pairs
        shares: Floats = rows / total_by(classes, rows, len(self.least))[classes]
        return float(shares.max())

    def findings(self, released: Released, k: int) -> Iterator[Finding]:
        """Report classes that certainly have too few people."""
        few = self.most < k
        if few.any():
            rows, worst = int(released.sizes[few].sum()), int(self.most.argmin())
            message = (
                f"{some(rows, 'row')} in {some(int(few.sum()), 'class')} of fewer than k = {k} people, the fewest"
                f" {'' if self.least[worst] == self.most[worst] else 'at most '}{self.most[worst]}; generalize further"
                " or suppress them"
            )
            yield Finding("k", message, rows, released.labels_of(worst))

    def unjudged(self, k: int) -> Iterator[str]:
        """Say of how many classes it is not known whether they have enough people, and why."""
        open_ = (self.least < k) & (self.most >= k)
        found = np.isin(np.arange(len(open_)), self.either)
        told = "whose rows were taken is known only where the release was made, and the run judged it there"
        for which, why in (
            (
                open_ & found,
                "other rows could stand in them, and not a cell of the release would differ",
            ),
            (open_ & ~found, "more rows of the original fit than there are, in too many ways to try them all"),
        ):
            if which.any():
                yield (
                    f"{some(int(which.sum()), 'class')} may have fewer than k = {k} people, from"
                    f" {self.least[which].min()} to {self.most[which].max()}: {why}; {told} (private/audit.json)"
                )

    @property
    def measured(self) -> dict[str, int | float]:
        """The people of the class that has the fewest; where that is not certain, between what and what."""
        least, most = int(self.least.min()), int(self.most.min())
        share = self.largest_share
        return {
            "k": least,
            **({} if least == most else {"k_most": most}),
            **({} if share is None else {"largest_share": share}),
        }


def require_people(original: ibis.Table, engine: Engine, spec: Spec) -> ibis.Table:
    """Return the rows of an original that were to be published; refuse one that does not say whose they are."""
    entity = spec.entity
    if entity not in original.columns:
        raise DataError(
            f"the original has no column {entity!r}{suggestion(entity, original.columns)}, the data.entity, without"
            f" which people cannot be counted; its columns are: {listed(map(repr, original.columns))}"
        )
    original = complete(original, spec)
    nobodys, first = engine.missing(original, entity)
    if nobodys:
        raise DataError(
            f"the original does not say whose {some(nobodys, 'row')} of it {'is' if nobodys == 1 else 'are'}:"
            f" data.entity = {entity!r} has no value{first_in(first)}"
        )
    return original


def changing_values(engine: Engine, original: ibis.Table, spec: Spec) -> Iterator[str]:
    """Say of which attributes people have several values, so that l and p may hold by the rows of one person alone."""
    names = spec.of_role("sensitive") if spec.privacy.p is not None else []
    entity = spec.entity
    for name in dict.fromkeys([*names, *(part.attribute for part in spec.diversities())]):
        if name not in original.columns:
            yield f"whether people have several values of {name!r} cannot be seen: the original does not have it"
            continue
        pairs = engine.count(original, [entity, name])
        several = int((np.bincount(numbered(pairs, entity)) > 1).sum())
        if several:
            yield (
                f"{several:,} people have several values of {name!r}: what the release has of l and p may be of one"
                " person alone"
            )


def told_crowd(engine: Engine, traced: ibis.Table, released: Released, spec: Spec) -> tuple[list[Finding], Crowd]:
    """Count the people of a release with whose each row is, once it is seen to be the release that is judged.

    That each of its rows is the person's whose it says is judged elsewhere, against the original.
    """
    entity, sensitive = spec.entity, [*released.sensitive]
    quasi = [column.name for column in released.quasi]
    counted = engine.count(traced, list(dict.fromkeys([*quasi, *sensitive, entity])))
    told = read_released(counted, ROWS, quasi, sensitive, spec)
    people = numbered(counted, entity)
    findings = []
    if contents(told) != contents(released):
        message = "the rows that people were counted in are not those of the release"
        findings.append(Finding("original", message, int(released.rows.sum()), {}))
    pairs = summed(told.class_of, people, told.rows)
    found = np.bincount(pairs[0], minlength=len(told.sizes))
    return findings, Crowd(found, found, pairs)


def contents(released: Released) -> list[tuple[str, bytes]]:
    """Return what a release says, in a form that is the same for all that say the same, as text or in other types."""
    columns = [*released.quasi, *released.sensitive.values()]
    read = [_as_read(column) for column in columns]
    codes = np.stack([np.zeros_like(released.rows), *(codes for _, codes in read)], axis=1)
    distinct, which = np.unique(codes, axis=0, return_inverse=True)
    rows = total_by(which.reshape(-1), released.rows, len(distinct))
    texts = [(column.name, repr(labels).encode()) for column, (labels, _) in zip(columns, read, strict=True)]
    return [*texts, ("", np.c_[distinct, rows].tobytes())]


def _as_read(column: Column) -> tuple[list[str | None], Longs]:
    """Return the labels of a column as they are read, sorted, and which of them each combination has."""
    texts = sorted({*column.spelled}, key=lambda text: (text is None, text or ""))
    number = {text: place for place, text in enumerate(texts)}
    return texts, np.array([number[text] for text in column.spelled], np.int64)[column.codes]


def numbered(counted: pa.Table, name: str) -> Longs:
    """Return a number for each value of a column; values are told apart exactly as they stand."""
    return told_apart(counted[name])[0]


def summed(first: Longs, second: Longs, rows: Longs) -> tuple[Longs, Longs, Longs]:
    """Add up the rows of equal pairs; return the distinct pairs, sorted, and their rows."""
    span = int(second.max(initial=0)) + 1
    packed, which = np.unique(first * span + second, return_inverse=True)
    return packed // span, packed % span, total_by(which, rows, len(packed))


def possible_crowd(
    engine: Engine, rows: ibis.Table, original: ibis.Table, linked: Linked, released: Released, spec: Spec
) -> Crowd | None:
    """Return how few and how many people each class can have, over all ways to trace every row back.

    `linked` is the release beside its original, by all columns that they share. None if it cannot be traced back.

    A combination of the original is *certain* if all its rows are published, in one class: its people are in the class.
    What a class has besides comes from rows that may be in it or elsewhere. It has the fewest people if those who are
    in it anyway fill it with all their rows, and then those with the most; it cannot have more than all of them. Where
    that leaves open whether they are k, all ways for fewer are tried, unless there are too many.
    """
    graph = linked.graph
    flow = match(graph)
    if (total_by(graph.left, flow, len(graph.published)) < graph.published).any():
        return None
    classes = _classes(linked)
    graph = _possible(graph, flow, classes)
    nodes, people, owned = _owners(engine, rows, original, linked, spec)
    certain = _certain(graph, classes)
    count = len(released.sizes)
    homes, combinations, _ = summed(classes[graph.left], graph.right, np.ones(len(graph.left), np.int64))
    # The people of each pair of a class and a combination that may be in it.
    starts, stops = np.searchsorted(nodes, combinations), np.searchsorted(nodes, combinations, side="right")
    places = runs(starts, stops - starts)
    sure = np.repeat(certain[combinations], stops - starts)
    home, person, amount = np.repeat(homes, stops - starts), people[places], owned[places]
    span = int(people.max(initial=0)) + 1
    pairs, which = np.unique(home * span + person, return_inverse=True)
    home = pairs // span
    there = np.bincount(which, sure, minlength=len(pairs)) > 0
    may = total_by(which, amount, len(pairs))
    filled = total_by(home, np.where(there, may, 0), count)
    needed = np.maximum(released.sizes - filled, 0)
    extra = np.where(there, 0, may)
    order = np.lexsort((-extra, home))
    running = np.cumsum(extra[order]) - extra[order]
    begins = np.searchsorted(home[order], np.arange(count))
    before = running - running[np.minimum(begins, len(running) - 1)][home[order]]
    taken = (extra[order] > 0) & (before < needed[home[order]])
    least = np.bincount(home[there], minlength=count) + np.bincount(home[order][taken], minlength=count)
    most = np.minimum(np.bincount(home, minlength=count), released.sizes)
    either = []
    for open_ in np.flatnonzero((least < spec.k) & (most >= spec.k)).tolist():
        certain_there = {*(pairs[there & (home == open_)] % span).tolist()}
        found = fewest(graph, classes, open_, Owned(nodes, people, owned), certain_there, spec.k)
        if found == "enough":
            least[open_] = spec.k
        elif found == "fewer":
            either.append(open_)
    exact = (total_by(home, may, count) == released.sizes).all()
    return Crowd(least, most, (home, pairs % span, may) if exact else None, tuple(either))


def _classes(linked: Linked) -> Longs:
    """Return the class of each published combination, numbered in the order of labels as the release's classes are."""
    codes = np.stack([column.codes for column in linked.published.quasi], axis=1)
    return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)


def _possible(graph: Graph, flow: Longs, classes: Longs) -> Graph:
    """Return the graph without edges that no complete tracing back uses, where that could matter.

    Where all that hangs together is of one class, every row of it that is published is in that class.
    """
    names, _ = graph.components()
    _, firsts = np.unique(names, return_index=True)
    several = np.unique(names * (int(classes.max(initial=0)) + 1) + classes)
    return graph if len(several) == len(firsts) else graph.part(effective(graph, flow))


def _certain(graph: Graph, classes: Longs) -> Bools:
    """Return which combinations of the original are published in full, in one class.

    In a component with as many published rows as original ones, all are; then one is certain whose edges lead to one
    class.
    """
    names, others = graph.components()
    span = len(names) + len(others)
    full = total_by(names, graph.published, span) == total_by(others, graph.original, span)
    home = classes[graph.left]
    low, high = np.full(len(others), len(classes)), np.full(len(others), -1)
    np.minimum.at(low, graph.right, home)
    np.maximum.at(high, graph.right, home)
    certain: Bools = full[others] & (low == high)
    return certain


def _owners(
    engine: Engine, rows: ibis.Table, original: ibis.Table, linked: Linked, spec: Spec
) -> tuple[Longs, Longs, Longs]:
    """Return whose the rows of each combination of the original are: combinations, rising, people, numbers of rows.

    Combinations that differ in spelling alone are one here; the first of them stands for all.
    """
    quasi = spec.of_role("quasi")
    kept = [name for name in rows.columns if name in original.columns and name not in quasi]
    ours = engine.count(rows, [*quasi, *kept])
    theirs = engine.count(original, list(dict.fromkeys([*quasi, *kept, spec.entity])))
    _, side = read_sides(ours, theirs, quasi, kept, spec, ROWS, whose=spec.data.entity)
    assert side.whose is not None
    keys = [np.stack([*(column.codes for column in each.quasi), each.kept], axis=1) for each in (linked.original, side)]
    _, number = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    known, asked = np.split(number.reshape(-1), [len(keys[0])])
    first = np.full(len(number), -1)
    first[known[::-1]] = np.arange(len(known))[::-1]
    return summed(first[asked], side.whose, side.rows)
