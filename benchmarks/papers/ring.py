"""Figs. 9 to 15 of Wong, Mamoulis and Cheung: rings and the same groups published alike, their rivals, and our own.

Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing. SIGMOD 2010, section 7.
The page is docs/papers/ring.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data import CENSUS, all_adult, count, resampled_census
from benchmarks.papers.pages import Page, Row
from benchmarks.papers.ring_charts import draw_curves
from benchmarks.papers.ring_findings import read_tables, with_findings
from ringfence.arrays import Longs
from ringfence.census.census import Census
from ringfence.census.covers import Representation, cover_groups
from ringfence.census.groups import Groups
from ringfence.judging.metrics import measure_groups
from ringfence.kernels.groups.matchings import draw_rings
from ringfence.kernels.secret import new_stream, secret_key
from ringfence.search.groups.anatomy import anatomize
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.hilbert import hilbert
from ringfence.search.groups.local import local
from ringfence.search.groups.ring import Rings, cover_slots, rings_by_quasi_identifiers
from ringfence.search.groups.ring_diversity import rings_of_different_values
from ringfence.search.groups.ring_printed import rings_as_printed
from ringfence.spec import Spec

ADULT = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex"]
SIZES = [100_000, 200_000, 300_000, 400_000, 500_000]
DIMENSIONS = [2, 3, 4, 5, 6, 7]
KS = [2, 4, 6, 8, 10, 20, 40, 60, 80, 100]
ROWS, DIMENSION, K = 100_000, 3, 10
"""The paper's defaults."""
LS, L = [2, 3, 4, 5, 6, 7, 8, 9], 5
NO_OCCUPATION = "0"
"""Half of all rows: children and others out of the labour force. With them, no table could be 3-diverse."""


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of every experiment, and write them to the page with their pictures."""
    page = Page("ring")
    people, adults = resampled_census(folder, max(SIZES)), all_adult(folder)
    list(_curves([(adults.slice(0, 1000), ADULT[:2], K)]))  # compiled before anything is timed
    made: dict[str, list[dict[str, Any]]] = {}
    for name, questions in (
        ("figure-9", [(people.slice(0, rows), CENSUS[:DIMENSION], K) for rows in SIZES]),
        ("figure-10", [(people.slice(0, ROWS), CENSUS[:d], K) for d in DIMENSIONS]),
        ("figure-11", [(adults, ADULT[:d], K) for d in DIMENSIONS]),
        ("figure-12", [(people.slice(0, ROWS), CENSUS[:DIMENSION], k) for k in KS]),
        ("figure-13", [(adults, ADULT[:4], k) for k in KS]),
    ):
        made[name] = []
        for row in page.table(name, _curves(questions)):
            made[name].append(row)
            yield row
    yield from page.table("posteriors", _posteriors())
    workers = people.filter(pc.not_equal(people["occupation"], NO_OCCUPATION)).slice(0, ROWS)
    for name, diverse in (
        ("figure-14", [(CENSUS[:d], L) for d in DIMENSIONS]),
        ("figure-15", [(CENSUS[:DIMENSION], l) for l in LS]),  # noqa: E741
    ):
        made[name] = []
        for row in page.table(name, _diverse_curves(workers, diverse)):
            made[name].append(row)
            yield row
    draw(page, made)
    text = page.folder / "README.md"
    text.write_text(with_findings(text.read_text(encoding="utf-8"), read_tables(page.folder)), encoding="utf-8")


def draw(page: Page, made: Mapping[str, Sequence[Row]]) -> None:
    """Draw the figures from the tables."""
    titles = {
        "figure-9": ("Fig. 9: Census, more rows", "Three quasi-identifiers, k = 10."),
        "figure-10": ("Fig. 10: Census, more attributes", "100,000 rows, k = 10."),
        "figure-11": ("Fig. 11: Adult, more attributes", "32,561 rows, k = 10."),
        "figure-12": ("Fig. 12: Census, larger k", "100,000 rows, three quasi-identifiers."),
        "figure-13": ("Fig. 13: Adult, larger k", "32,561 rows, four quasi-identifiers."),
        "figure-14": ("Fig. 14: Census, l-diverse, more attributes", "100,000 rows, l = 5."),
        "figure-15": ("Fig. 15: Census, larger l", "100,000 rows, three quasi-identifiers."),
    }
    for name, (title, legend) in titles.items():
        over = next(key for key in ("rows", "attributes", "k", "l") if len({row.get(key) for row in made[name]}) > 1)
        page.picture(name, draw_curves(made[name], over), title, f"{legend} Left the loss, right the time.")


def _curves(questions: Sequence[tuple[pa.Table, list[str], int]]) -> Iterator[Row]:
    """Yield a row for each method and question."""
    for table, names, k in questions:
        census = _census(table, names)
        for method, work in METHODS.items():
            yield {
                "method": method,
                "rows": census.rows,
                "attributes": len(names),
                "k": k,
                **work(census, k),
            }


def _census(table: pa.Table, names: list[str]) -> Census:
    """Count rows; every value is one of its own, ages in their order and all others by name."""
    spec = _spec(names)
    return count(table.select(names), spec)


def _spec(names: Sequence[str], sensitive: str | None = None) -> Spec:
    quasi = {name: {"role": "quasi", "order": "numeric" if name == "age" else "lexical"} for name in names}
    if sensitive is None:
        return Spec(attributes=quasi, privacy={"k": K})
    return Spec(attributes={**quasi, sensitive: {"role": "sensitive"}}, privacy={"l": 2})


def _homogeneous(census: Census, k: int) -> Row:
    """HP: the paper's groups, each published alike."""
    start = time.process_time()
    rings = rings_by_quasi_identifiers(census, k=k, partition="lexicographic", order="lexicographic", cut=False)
    groups = rings.as_groups()
    shown = cover_groups(census, groups, "set")
    seconds = time.process_time() - start
    return _figures(measure_groups(census, _spec(census.names), groups.sizes, shown)["gcp"], seconds, groups.sizes)


def _as_printed(census: Census, k: int) -> Row:
    """NH: a ring in each of the paper's groups, drawn by the paper's backtracking."""
    return _drawn(census, k, by_walks=False, partition="lexicographic", order="lexicographic", cut=False)


def _ours(census: Census, k: int) -> Row:
    """Rings along a Gray-like order, cut where they lose least, drawn by random walks."""
    return _drawn(census, k, by_walks=True)


def _drawn(census: Census, k: int, *, by_walks: bool, **options: Any) -> Row:
    start = time.process_time()
    rings = rings_by_quasi_identifiers(census, k=k, **options)
    slots = cover_slots(census, rings, "set")
    carrier = np.empty(len(rings.order), np.int64)
    draw_rings(rings.starts, rings.widths, new_stream(secret_key("experiment")), by_walks, carrier)
    seconds = time.process_time() - start
    return _figures(
        measure_groups(census, _spec(census.names), slots.sizes, slots.shown)["gcp"], seconds, np.diff(rings.starts)
    )


def _diverse_rings(find: Callable[..., Rings], by_walks: bool) -> Callable[[Census, int], Row]:
    """Rings of different sensitive values, of one kind or the other, drawn."""

    def work(census: Census, l: int) -> Row:  # noqa: E741  the literature's name
        start = time.process_time()
        rings = find(census, l)
        slots = cover_slots(census, rings, "set")
        carrier = np.empty(len(rings.order), np.int64)
        draw_rings(rings.starts, rings.widths, new_stream(secret_key("experiment")), by_walks, carrier)
        seconds = time.process_time() - start
        gcp = measure_groups(census, _spec(census.names), slots.sizes, slots.shown)["gcp"]
        return _figures(gcp, seconds, np.diff(rings.starts))

    return work


def _figures(gcp: float, seconds: float, sizes: Longs) -> Row:
    return {
        "gcp": f"{gcp:.6f}",
        "seconds": round(seconds, 3),
        "groups": len(sizes),
        "mean size": round(float(sizes.mean()), 1),
        "largest": int(sizes.max()),
    }


def _published(census: Census, find: Callable[[], Groups], shown_as: Representation = "set") -> Row:
    """Groups of some method, published as they are."""
    start = time.process_time()
    groups = find()
    shown = cover_groups(census, groups, shown_as)
    seconds = time.process_time() - start
    return _figures(measure_groups(census, _spec(census.names), groups.sizes, shown)["gcp"], seconds, groups.sizes)


METHODS: dict[str, Callable[[Census, int], Row]] = {
    "HR": lambda census, k: _published(
        census, lambda: hilbert(census, GroupsAsked(k, representation="range", loss="gcp"))[0], "range"
    ),
    "HS": lambda census, k: _published(census, lambda: hilbert(census, GroupsAsked(k, loss="gcp"))[0]),
    "HP": _homogeneous,
    "NH": _as_printed,
    "ring": _ours,
    "local": lambda census, k: _published(census, lambda: local(census, GroupsAsked(k, loss="gcp"), effort="fast")[0]),
}


def _alike(find: Callable[[Census, int], Groups]) -> Callable[[Census, int], Row]:
    return lambda census, l: _published(census, lambda: find(census, l))  # noqa: E741


DIVERSE_GROUPS: dict[str, Callable[[Census, int], Groups]] = {
    "HS": lambda census, l: hilbert(census, GroupsAsked(l, [l]))[0],  # noqa: E741
    "AT": lambda census, l: anatomize(census, 0, l, seed=2006),  # noqa: E741
    "local": lambda census, l: local(census, GroupsAsked(l, [l], loss="gcp"))[0],  # noqa: E741
}
"""What makes groups of l rows or more with l different occupations."""

DIVERSE_RINGS: dict[str, Callable[[Census, int], Rings]] = {
    "NH": lambda census, l: rings_as_printed(census, 0, l=l, stream=new_stream(secret_key("split", 2010))),  # noqa: E741
    "ring": lambda census, l: rings_of_different_values(  # noqa: E741
        census, 0, width=l, stream=new_stream(secret_key("split", 2010))
    ),
}
"""The paper's rings for l-diversity, and ours."""

DIVERSE: dict[str, Callable[[Census, int], Row]] = {
    **{name: _alike(find) for name, find in DIVERSE_GROUPS.items()},
    **{name: _diverse_rings(find, by_walks=name == "ring") for name, find in DIVERSE_RINGS.items()},
}


def _diverse_curves(workers: pa.Table, questions: Sequence[tuple[list[str], int]]) -> Iterator[Row]:
    """Yield a row for each method and question; the occupation is sensitive."""
    for names, least in questions:
        census = count(workers.select([*names, "occupation"]), _spec(names, "occupation"))
        for method, work in DIVERSE.items():
            figures = work(census, least)
            yield {"method": method, "rows": census.rows, "attributes": len(names), "l": least, **figures}


def _posteriors() -> Iterator[Row]:
    """What one who knows the method can tell of six people of different ages with the values a, a, b, b, c, d; l = 2.

    Every arrangement of the values is published. Whoever sees a release weighs the arrangements that would have led to
    it. AT and our rings are drawn, and nothing but their proof speaks for all draws; the tests enumerate ours.
    """
    for method, promise in (("HS", "l values"), ("NH", "1/l")):
        seen: dict[Any, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for values in sorted(set(permutations("aabbcd"))):
            people = pa.table({"age": [str(20 + n) for n in range(6)], "occupation": list(values)})
            census = count(people, _spec(["age"], "occupation"))
            for view in _views(census, method, values):
                seen[view][values] += 1
        told = [
            max(sum(n for values, n in ways.items() if values[row] == value) for value in "abcd") / ways.total()
            for ways in seen.values()
            for row in range(6)
        ]
        yield {"method": method, "promise": promise, "worst posterior": f"{max(told):.2f}", "from": "enumeration"}
    for method in ("AT", "ring"):
        yield {"method": method, "promise": "1/l", "worst posterior": f"{1 / 2:.2f}", "from": "proof"}


def _views(census: Census, method: str, values: tuple[str, ...]) -> Iterator[Any]:
    """Yield what can be seen of a release of six people: who is published together, and which values.

    A ring is carried by one of l rotations; slots that cover all of it look alike.
    """
    if method in DIVERSE_GROUPS:
        groups = DIVERSE_GROUPS[method](census, 2)
        parts = [groups.tuples[groups.group == g].tolist() for g in range(groups.count)]
        yield tuple(sorted((tuple(part), tuple(sorted(values[row] for row in part))) for part in parts))
        return
    rings = DIVERSE_RINGS[method](census, 2)
    parts = [part.tolist() for part in np.split(rings.tuples, rings.starts[1:-1])]
    for turns in product(*(range(2) if len(part) > 2 else range(1) for part in parts)):
        shown = [
            tuple(values[part[(n + turn) % len(part)]] for n in range(len(part)))
            for part, turn in zip(parts, turns, strict=True)
        ]
        alike = [told if len(part) > 2 else tuple(sorted(told)) for part, told in zip(parts, shown, strict=True)]
        yield tuple(sorted((tuple(part), told) for part, told in zip(parts, alike, strict=True)))
