"""What a user reads: the original in values, a release in labels, each label with the values that it may stand for.

A user of a release has its table and the hierarchies that go with it. Which value stands behind a label, they can only
guess, and the guess is the plainest: all values that the label holds are equally likely. What a label holds is read by
the audit's own reader, from the label and the specification; neither plans nor searches are asked. (Of buckets, whose
values are published beside them, a value is as likely as it is frequent there. `weighing` reads by counts of values.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from ringfence.arrays import Bools, Floats, Longs
from ringfence.audit.counts import Column, classes, read_column, read_labels, total_by
from ringfence.audit.labels.growing import tree_over
from ringfence.audit.labels.held import Held, held_in
from ringfence.audit.labels.reading import one_spelling
from ringfence.audit.labels.trees import Tree
from ringfence.rows.sources import BUCKET, COUNT, ROWS
from ringfence.spec import Spec


@dataclass(frozen=True, eq=False)
class OriginalValues:
    """The values of an attribute: `values[v]` as text; where they lie on a line, where each does, else NaN.

    `inner` are, for each value, the groups around it that are neither it alone nor everything: as sets of values.
    """

    name: str
    values: tuple[str | None, ...]
    places: Floats
    inner: tuple[tuple[Longs, ...], ...]
    held: Held | None = None

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def line(self) -> Longs:
        """The values that lie on a line, in their order there."""
        placed = np.flatnonzero(~np.isnan(self.places))
        return placed[np.argsort(self.places[placed], kind="stable")]

    @cached_property
    def rank(self) -> Longs:
        """Which place each value has among those that lie on a line; -1 for those that do not."""
        ranks = np.full(len(self.values), -1)
        ranks[self.line] = np.arange(len(self.line))
        return ranks


@dataclass(frozen=True, eq=False)
class Likely:
    """What labels may stand for: label j for the values `members[starts[j] : starts[j + 1]]`, each as likely as
    `shares` says. `line` has values in an order in which many labels hold neighbours; by default as they are
    numbered."""

    starts: Longs
    members: Longs
    shares: Floats
    line: Longs | None = None

    @cached_property
    def sizes(self) -> Longs:
        """How many values each label holds."""
        return np.diff(self.starts)

    @cached_property
    def labels(self) -> Longs:
        """The label that each of the members is of."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def expected(self, numbers: Floats | Bools) -> Floats:
        """Return for each label the mean of some numbers over what it may stand for."""
        labels, first, stop, shares = self._runs
        ordered = numbers if self.line is None else np.concatenate([numbers[self.line], numbers[self._beside]])
        upto = np.concatenate([[0], np.cumsum(ordered)])
        return np.bincount(labels, (upto[stop] - upto[first]) * shares, minlength=len(self.sizes)).astype(np.float64)

    @cached_property
    def _beside(self) -> Longs:
        """The values that are not on the line: they stand behind it."""
        assert self.line is not None, "asked for beside a line only"
        last = max(int(self.members.max(initial=-1)), int(self.line.max(initial=-1)))
        return np.setdiff1d(np.arange(last + 1), self.line)

    @cached_property
    def _runs(self) -> tuple[Longs, Longs, Longs, Floats]:
        """What labels hold as runs of neighbours, equally likely: of which label, from where to before where, and how
        likely each value is. A range of a thousand values is one run."""
        labels, at, shares = self.labels, self.members, self.shares
        if self.line is not None:
            place = np.empty(len(self.line) + len(self._beside), np.int64)
            place[np.concatenate([self.line, self._beside])] = np.arange(len(place))
            at = place[at]
        order = np.lexsort((at, labels))
        at, shares = at[order], shares[order]
        apart = np.diff(labels, prepend=-1).astype(np.bool_) | np.diff(shares, prepend=-1).astype(np.bool_)
        begins = np.flatnonzero(apart | (np.diff(at, prepend=-2) != 1))
        ends = np.append(begins[1:], len(at)) - 1
        return labels[begins], at[begins], at[ends[: len(begins)]] + 1, shares[begins]

    def summed(self, parts: Floats) -> Floats:
        """Return for each label the sum over its members."""
        return np.bincount(self.labels, parts, minlength=len(self.sizes)).astype(np.float64)

    def total(self, rows: Floats, values: int) -> Floats:
        """Return how many rows each of so many values has, where each label has so many."""
        shares = rows[self.labels] * self.shares
        return np.bincount(self.members, shares, minlength=values).astype(np.float64)

    def weighed(self, weights: Floats) -> "Likely":
        """Return the same labels, under which each value is as likely as it weighs."""
        shares = np.maximum(weights[self.members], NEVER)
        return replace(self, shares=shares / self.summed(shares)[self.labels])

    def spread(self, cells: Longs, width: int) -> Floats:
        """Return for each label how likely it stands for a value of each cell, where `cells[v]` is that of value v."""
        flat = self.labels * width + cells[self.members]
        size = len(self.sizes) * width
        return np.bincount(flat, self.shares, minlength=size).astype(np.float64).reshape(-1, width)

    @classmethod
    def certain(cls, values: int) -> "Likely":
        """Return labels that are the values themselves, and after them one that is none of them."""
        return cls(np.append(np.arange(values + 1), values), np.arange(values), np.ones(values))


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Rows that are alike: `rows[e]` of them show `codes[name][e]` in an attribute, which may stand for `likely`.

    `weights` says of attributes how likely their values are under any label, where not all are alike.
    """

    rows: Longs
    codes: Mapping[str, Longs]
    likely: Mapping[str, Likely]
    weights: Mapping[str, Floats] = field(default_factory=dict, kw_only=True)

    @property
    def total(self) -> int:
        """How many rows there are."""
        return int(self.rows.sum())

    @cached_property
    def _merged(self) -> dict[tuple[str, ...], "ReadRows"]:
        return {}

    def merged(self, names: tuple[str, ...]) -> "ReadRows":
        """Return the rows by some attributes alone: of groups by their labels, far fewer entries."""
        if names not in self._merged:
            columns, rows = self.projected(names)
            self._merged[names] = ReadRows(rows.astype(np.int64), dict(zip(names, columns, strict=True)), self.likely)
        return self._merged[names]

    @cached_property
    def _entries(self) -> dict[str, tuple[Longs, Longs, Longs]]:
        return {}

    def entries(self, name: str) -> tuple[Longs, Longs, Longs]:
        """Return the entries in the order of their labels in an attribute; where those of each label begin there, and
        how many it has."""
        if name not in self._entries:
            codes, labels = self.codes[name], len(self.likely[name].sizes)
            sizes = np.bincount(codes, minlength=labels)
            digits = codes.astype(np.uint16) if labels < 1 << 16 else codes  # small numbers are sorted by their digits
            self._entries[name] = np.argsort(digits, kind="stable"), np.cumsum(sizes) - sizes, sizes
        return self._entries[name]

    def projected(self, names: Sequence[str]) -> tuple[list[Longs], Floats]:
        """Return the combinations that rows show in some attributes, and how many rows have each."""
        widths = [len(self.likely[name].sizes) for name in names]
        if np.prod(widths, dtype=np.float64) <= DENSE:
            key = np.zeros(len(self.rows), np.int64)
            for name, width in zip(names, widths, strict=True):
                key = key * width + self.codes[name]
            counts = np.bincount(key, self.rows).astype(np.float64)
            there = np.flatnonzero(counts)
            rows, shown = counts[there], []
            for width in reversed(widths):  # NumPy has arrays of 64 dimensions at most, and attributes may be more
                there, codes = np.divmod(there, width)
                shown.append(codes)
            return shown[::-1], rows
        columns = [Column(name, (None,) * width, self.codes[name]) for name, width in zip(names, widths, strict=True)]
        firsts, group = classes(columns, len(self.rows))
        return [self.codes[name][firsts] for name in names], np.bincount(group, self.rows).astype(np.float64)


NEVER = 1e-300
"""How likely values are that are counted nowhere: labels that hold nothing else stand for them all the same."""
DENSE = 1 << 20
"""Tables of up to so many cells are counted in place, larger ones by sorting what occurs."""


@dataclass(frozen=True, eq=False)
class Truth(ReadRows):
    """The original: its rows by their values. `quasi` and `others` are its attributes, `domains` what they hold.

    `others` are published as they are, but for buckets.
    """

    quasi: tuple[str, ...]
    others: tuple[str, ...]
    domains: Mapping[str, OriginalValues]

    @cached_property
    def _marginals(self) -> dict[str, Floats]:
        return {}

    def marginal(self, name: str) -> Floats:
        """Return the share of rows that have each value of an attribute."""
        if name not in self._marginals:
            counts = np.bincount(self.codes[name], self.rows, minlength=len(self.domains[name]))
            self._marginals[name] = counts / self.total
        return self._marginals[name]


def read_truth(counted: pa.Table, quasi: Sequence[str], others: Sequence[str], spec: Spec) -> Truth:
    """Read the combinations of an original: an engine counted them by its attributes, in the column `ROWS`."""
    rows = counted[ROWS].to_numpy().astype(np.int64)
    domains, codes = {}, {}
    for name in quasi:
        column = read_column(counted[name], name, spec)
        counts = total_by(column.codes, rows, len(column.labels)).tolist()
        tree, numbers = tree_over(name, spec, column.labels, counts)
        domains[name], codes[name] = _of_tree(name, tree, spec), numbers[column.codes]
    for name in others:
        column = plainly(counted[name], name, spec)
        domains[name], codes[name] = _as_it_is(column), column.codes
    # In one order, whatever the engine's was, and each combination once: what is drawn from it must not depend on that.
    columns = [Column(name, domains[name].values, codes[name]) for name in domains]
    firsts, group = classes(columns, len(rows))
    codes = {name: of[firsts] for name, of in codes.items()}
    likely = {name: Likely.certain(len(domain)) for name, domain in domains.items()}
    return Truth(total_by(group, rows, len(firsts)), codes, likely, tuple(quasi), tuple(others), domains)


def plainly(column: pa.ChunkedArray, name: str, spec: Spec) -> Column:
    """Read a column that is published as it is: numbers are equal by value, one table may be a text file."""
    read, spell = read_column(column, name, spec), one_spelling(name, spec)
    spelled = [None if text is None else spell(text) for text in read.labels]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(spelled))}
    return Column(name, tuple(numbers), np.array([numbers[label] for label in spelled], np.int64)[read.codes])


def _of_tree(name: str, tree: Tree, spec: Spec) -> OriginalValues:
    held = held_in(tree, spec.attributes[name])
    places = np.full(len(tree.paths), np.nan)
    if spec.attributes[name].measured:
        places[held.by_number] = [float(number) for number in held.numbers]
    around = {label: found[0] for path in tree.paths for label in path[1:-1] if (found := tree.held(label)) is not None}
    inner = tuple(
        tuple(around[label] for label in dict.fromkeys(path[1:-1]) if len(around[label]) > 1) for path in tree.paths
    )
    return OriginalValues(name, tuple(path[0] for path in tree.paths), places, inner, held)


def _as_it_is(column: Column) -> OriginalValues:
    """Return the domain of an attribute that is published as it is: on a line, if all that is there are numbers."""
    places = np.array([_number(label) for label in column.labels])
    gaps = np.array([label is None for label in column.labels])
    if np.isnan(places[~gaps]).any():
        places[:] = np.nan
    return OriginalValues(column.name, column.labels, places, ((),) * len(column.labels))


def _number(text: str | None) -> float:
    try:
        number = float(text or "nan")
    except ValueError:
        return np.nan
    return number if np.isfinite(number) else np.nan


def read_release(counted: pa.Table, truth: Truth, spec: Spec, values: pa.Table | None = None) -> ReadRows:
    """Read the combinations of a release: an engine counted them by the same attributes, in the column `ROWS`.

    `values` is the second table of the method `anatomy`: the sensitive values of each bucket, whose numbers are in the
    first.
    """
    codes: dict[str, Longs] = {}
    likely: dict[str, Likely] = {}
    for name in truth.quasi:
        column = read_labels(counted[name], name, spec)
        domain = truth.domains[name]
        assert domain.held is not None, "quasi-identifiers have trees"
        codes[name], likely[name] = column.codes, evenly([*map(domain.held.by, column.labels)], domain.line)
    for name in truth.others:
        known = {value: number for number, value in enumerate(truth.domains[name].values)}
        if name in counted.column_names:
            column = plainly(counted[name], name, spec)
            codes[name] = np.array([known.get(label, len(known)) for label in column.labels], np.int64)[column.codes]
            likely[name] = Likely.certain(len(known))
        else:
            assert values is not None, "what is not in the first table of a release is in its second"
            codes[name], likely[name] = _bucketed(counted, values, plainly(values[name], name, spec), known)
    return ReadRows(counted[ROWS].to_numpy().astype(np.int64), codes, likely)


def evenly(held: Sequence[Longs], line: Longs) -> Likely:
    """Return labels that hold these values, each as likely as the next; `line` has those that lie on one, in order."""
    sizes = np.array([len(each) for each in held], np.int64)
    members = np.concatenate([np.zeros(0, np.int64), *held])
    return Likely(np.cumsum([0, *sizes]), members, np.repeat(1 / np.maximum(sizes, 1), sizes), line)


def _bucketed(
    counted: pa.Table, values: pa.Table, column: Column, known: Mapping[str | None, int]
) -> tuple[Longs, Likely]:
    """Return which bucket each row is in, and what stands in each bucket."""
    numbers, places = np.unique(values[BUCKET].to_numpy().astype(np.int64), return_inverse=True)
    counts = values[COUNT].to_numpy().astype(np.float64)
    order = np.argsort(places, kind="stable")
    members = np.array([known[label] for label in column.labels], np.int64)[column.codes]
    totals = np.bincount(places, counts)
    starts = np.concatenate([[0], np.cumsum(np.bincount(places))])
    buckets = np.searchsorted(numbers, counted[BUCKET].to_numpy().astype(np.int64))
    return buckets, Likely(starts, members[order], (counts / totals[places])[order])
