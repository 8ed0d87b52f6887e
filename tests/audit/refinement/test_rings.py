"""The attack on rings: the three rows of the page, all tables of small domains, and where it must say nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.audit.counts import Column, read_labels
from ringfence.audit.refinement import rings
from ringfence.audit.refinement.rings import Rebuilt, rebuild
from ringfence.audit.refinement.said import Sayings, read_sayings, say
from ringfence.spec import Spec

Row = tuple[int, ...]
Slot = tuple[str, ...]
Release = tuple[Slot, ...]


def label_of(values: set[int], shown: str, occurring: set[int]) -> str:
    """What values are published as: numbers as a range, or as a set; a set of all that occur between two is a range."""
    low, high = min(values), max(values)
    if low == high:
        return str(low)
    if shown == "range" or values == {value for value in occurring if low <= value <= high}:
        return f"[{low}, {high}]"
    return "{" + ", ".join(map(str, sorted(values))) + "}"


def release_of(parts: Sequence[Sequence[Row]], k: int, shown: Sequence[str]) -> Release:
    """What the slots of rings are published as, in an order that tells nothing."""
    occurring = [{row[a] for ring in parts for row in ring} for a in range(len(shown))]
    windows = [[ring[(at + step) % len(ring)] for step in range(k)] for ring in parts for at in range(len(ring))]
    return tuple(
        sorted(
            tuple(label_of({row[a] for row in rows}, how, occurring[a]) for a, how in enumerate(shown))
            for rows in windows
        )
    )


def layouts(rows: Sequence[Row], k: int, longest: int) -> Iterator[list[tuple[Row, ...]]]:
    """All ways to lay rows out in rings: who is in which, and in which order around."""
    if not rows:
        yield []
    for size in range(k, min(longest, len(rows)) + 1):
        for others in combinations(range(1, len(rows)), size - 1):
            rest = [row for place, row in enumerate(rows) if place and place not in others]
            for order in {*permutations([rows[place] for place in others])}:
                yield from ([(rows[0], *order), *more] for more in layouts(rest, k, longest))


def all_releases(
    domain: Sequence[Row], rows: int, k: int, shown: Sequence[str], longest: int
) -> dict[Release, list[Counter[Row]]]:
    """For each release of so many rows of a domain, all tables that can give it."""
    found: dict[Release, list[Counter[Row]]] = {}
    for table in combinations_with_replacement(domain, rows):
        for release in {release_of(parts, k, shown) for parts in layouts(table, k, longest)}:
            found.setdefault(release, []).append(Counter(table))
    return found


def attack(release: Release, k: int, shown: Sequence[str], **others: int) -> tuple[Rebuilt, Counter[Row]]:
    """Rebuild what is published; return it also with values instead of their numbers."""
    count = Counter(release)
    columns, said = [], []
    for a, how in enumerate(shown):
        labels = sorted({slot[a] for slot in count})
        columns.append(Column(str(a), tuple(labels), np.array([labels.index(slot[a]) for slot in count])))
        said.append(read_sayings(labels, place=int, shown="range" if how == "range" else "set"))
    found = rebuild(columns, [each.said for each in said], np.array([*count.values()]), k, **others)
    return found, Counter({valued(numbers, said): rows for numbers, rows in found.tuples.items()})


def valued(numbers: Row, said: Sequence[Sayings]) -> Row:
    return tuple(int(each.value(number) or 0) for each, number in zip(said, numbers, strict=True))


def common(tables: Sequence[Counter[Row]]) -> Counter[Row]:
    shared = tables[0]
    for table in tables[1:]:
        shared = shared & table
    return shared


def plainly(release: Release) -> set[Row]:
    """The rows that are published as they are."""
    return {tuple(map(int, slot)) for slot in release if all(label.isdigit() for label in slot)}


def test_three_rows() -> None:
    ages, towns = ["[20, 30]", "{20, 40}", "[30, 40]"], ["{Oslo, Rome}", "{Oslo, Paris}", "{Paris, Rome}"]
    age, town = read_sayings(ages, place=int), read_sayings(towns)
    columns = [Column("age", tuple(ages), np.arange(3)), Column("town", tuple(towns), np.arange(3))]
    found = rebuild(columns, [age.said, town.said], np.ones(3, np.int64), 2)
    people = Counter({(age.value(x), town.value(y)): rows for (x, y), rows in found.tuples.items()})
    assert people == Counter([("20", "Oslo"), ("30", "Rome"), ("40", "Paris")])
    assert (found.rings, found.slots, found.looked_at, found.stopped, found.plain) == (1, 3, 3, 0, 0)


NINE, SIX, FOUR = ([*product(range(a), range(b))] for a, b in ((3, 3), (3, 2), (2, 2)))


@pytest.mark.parametrize(
    ("domain", "rows", "k", "shown", "longest", "least"),
    [
        (NINE, 3, 2, ("set", "set"), 3, 0.97),
        (NINE, 3, 2, ("range", "range"), 3, 0.97),
        (NINE, 5, 2, ("set", "set"), 3, 0.9),
        (NINE, 5, 2, ("range", "set"), 3, 0.9),
        (SIX, 6, 2, ("set", "set"), 3, 0.9),
        (SIX, 5, 3, ("set", "set"), 5, 0.9),
        (SIX, 5, 3, ("range", "set"), 5, 0.85),
        (FOUR, 7, 3, ("set", "set"), 5, 0.8),
        (FOUR, 6, 2, ("set", "set"), 6, 0.75),
    ],
)
def test_all_tables(domain: Sequence[Row], rows: int, k: int, shown: Sequence[str], longest: int, least: float) -> None:
    """What is called certain is in every table that gives the release; most of what is certain is called so."""
    releases = sorted(all_releases(domain, rows, k, shown, longest).items())
    told = wanted = 0
    for number in np.random.default_rng(7).permutation(len(releases))[:1500].tolist():
        release, tables = releases[number]
        found, people = attack(release, k, shown, longest=longest)
        certain = common(tables)
        assert found.possible
        assert people <= certain, (release, people, certain)
        assert not people.keys() & plainly(release)
        told += sum(people.values())
        wanted += sum(count for row, count in certain.items() if row not in plainly(release))

    assert told >= least * wanted, (told, wanted)


@pytest.mark.parametrize("representation", ["set", "range", "hierarchy"])
def test_releases(representation: str) -> None:
    """Whole releases, with a hierarchy and missing values: all that is told is in the table."""
    rng, told = np.random.default_rng(5), 0
    regions = {"north": ["Oslo", "Bergen"], "south": ["Rome", "Pisa", "Bari"]}
    for k in (2, 3, 5):
        ages, towns = rng.integers(20, 40, 60).tolist(), [town for part in regions.values() for town in part]
        table = pa.table(
            {
                "age": [None if rng.random() < 0.05 else age for age in ages],
                "town": [towns[place] for place in rng.integers(0, 5, 60)],
                "sex": [["f", "m", None][place] for place in rng.choice(3, 60, p=[0.45, 0.45, 0.1])],
            }
        )
        spec = Spec(
            attributes={
                "age": {"role": "quasi", "order": "numeric"},
                "town": {"role": "quasi", "hierarchy": {"tree": regions}},
                "sex": {"role": "quasi", "hierarchy": {"tree": {"any": ["f", "m"]}}},
            },
            privacy={"k": k},
            method={"name": "ring", "representation": representation},
        )
        released = rf.anonymize(table, spec).table
        columns = [read_labels(released[name], name, spec) for name in table.column_names]
        said = [say(column, spec) for column in columns]
        found = rebuild(columns, [each.said for each in said], np.ones(60, np.int64), k)
        people = Counter(
            {
                tuple(each.value(number) for each, number in zip(said, numbers, strict=True)): rows
                for numbers, rows in found.tuples.items()
            }
        )
        assert found.possible
        original = Counter(zip(*(map(_text, column.to_pylist()) for column in table.columns), strict=True))
        assert people <= original
        told += people.total()
    assert told > 0 or representation == "hierarchy"


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def ring(rows: int, first: int = 0) -> Release:
    """Rows that all differ, in one ring of sets of two."""
    return release_of([[(first + row, first + 10 * row) for row in range(rows)]], 2, ("set", "set"))


def test_nothing_is_told_of_what_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    release = (*ring(3), *ring(3, 1000))
    assert attack(release, 2, ("set", "set"))[0].rings == 2
    monkeypatch.setattr(rings, "STEPS", 0)
    found, people = attack(release, 2, ("set", "set"))
    assert (found.rings, found.stopped, people) == (0, 6, Counter())
    monkeypatch.undo()
    monkeypatch.setattr(rings, "BUDGET", 10)
    found, people = attack(release, 2, ("set", "set"))
    assert found.stopped
    assert people.total() < 6


def test_longer_rings_than_are_looked_for_are_not_possible() -> None:
    assert not attack(ring(4), 2, ("set", "set"))[0].possible
    assert attack(ring(4), 2, ("set", "set"), longest=4)[0].possible


def test_labels_of_more_values_than_a_window_has_are_not_possible() -> None:
    found, people = attack((("{0, 2, 4}",),) * 2 + (("1",),) * 2 + (("3",),) * 2, 2, ("set",))
    assert not found.possible
    assert not people


def test_rings_of_k_rows_hide_what_belongs_together() -> None:
    """All slots are alike: values are known, but not whose. Where one attribute varies, they are."""
    release = (("[0, 1]", "[5, 6]"),) * 2
    assert attack(release, 2, ("set", "set"))[1] == Counter()
    assert attack((("[0, 1]", "5"),) * 2, 2, ("set", "set"))[1] == Counter([(0, 5), (1, 5)])


def test_a_sample_says_so() -> None:
    release = tuple(slot for place in range(20) for slot in ring(3, 1000 * place))
    whole, people = attack(release, 2, ("set", "set"))
    part, some = attack(release, 2, ("set", "set"), most=20, seed=3)
    assert (whole.looked_at, whole.rings, people.total()) == (60, 20, 60)
    assert part.looked_at == 20
    assert 0 < some.total() < 60
    assert some <= people
    assert attack(release, 2, ("set", "set"), most=20, seed=3)[1] == some


def test_what_labels_say() -> None:
    labels = ["[1, 5]", "{[1, 5], null}", "{1, 9}", "3", None, "*"]
    as_sets = read_sayings(labels, place=int, shown="set")
    assert as_sets.values == ("1", "3", "5", "9", None)
    assert [(each.values, each.low, each.high) for each in as_sets.said] == [
        ((0, 2, 4), 0, 4),
        ((0, 2, 4, 8), 0, 4),
        ((0, 6), 0, -1),
        ((2,), 0, -1),
        ((8,), 0, -1),
        ((), -1, 8),
    ]
    as_ranges = read_sayings(labels, place=int, shown="range")
    assert [each.values for each in as_ranges.said] == [(0, 4), (0, 4, 8), (0, 6), (2,), (8,), ()]
    assert (as_ranges.said[2].low, as_ranges.said[2].high) == (0, 6)


def test_a_missing_value_may_be_under_the_root() -> None:
    regions = {"any": ["a", "b"], "a and c": ["a", "c"]}
    (said, part, _) = read_sayings(["any", "a and c", "a"], leaves=regions.get, root="any").said
    assert said.values == (0, 2)
    assert said.low == said.high == 6
    assert part.low > part.high
    assert read_sayings(["any", None], leaves=regions.get, root="any").said[0].values == (0, 2, 4)
    assert read_sayings(["any"], leaves=regions.get, shown="hierarchy").said[0].values == ()
