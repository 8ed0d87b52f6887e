"""Two tables of Anatomy beside their original: are these its people, its values, and could each have a value there?

Whether all people can have a value of their bucket, each as often as the original says, is a question of three sides
at once (people, buckets, values), which has no quick answer in general. It is answered bucket by bucket: the values of
a bucket must go round among its people, each taking one that somebody like him has in the original. Where no two people
are alike, that is the whole answer.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import floor

import ibis
import numpy as np
import pyarrow as pa

from ringfence.audit.counts import read_column, total_by
from ringfence.audit.labels.spelling import spelled_number
from ringfence.audit.trace.against import complete
from ringfence.audit.trace.flows import Graph, match
from ringfence.audit.verdict import Attack, Finding, some
from ringfence.errors import DataError
from ringfence.rows.engine import Engine
from ringfence.rows.sources import BUCKET, ROWS
from ringfence.spec import Spec

Person = tuple[str | None, ...]
Held = Mapping[str | None, Mapping[str | None, int]]
"""How often each bucket has each value."""


def judge_buckets(
    engine: Engine, people: ibis.Table, held: Held, original: ibis.Table, sensitive: str, spec: Spec
) -> tuple[list[Finding], dict[str, int]]:
    """Return what is wrong with two tables beside their original, and how many of its rows there are, and are not."""
    shared = [name for name in people.columns if name != BUCKET and name in original.columns]
    for name in [*spec.of_role("quasi"), sensitive]:
        if name not in original.columns:
            raise DataError(f"the original has no column {name!r}, without which the release cannot be judged by it")
    ours = _counted(engine.count(people, [*shared, BUCKET]), shared, BUCKET, spec)
    theirs = _counted(engine.count(complete(original, spec), [*shared, sensitive]), shared, sensitive, spec)
    published, known = (Counter({one: sum(of.values()) for one, of in side.items()}) for side in (ours, theirs))
    measured = {"original": known.total(), "suppressed": (known - published).total()}
    return [*_about(published, known, held, ours, theirs, spec)], measured


def _about(
    published: Counter[Person],
    known: Counter[Person],
    held: Held,
    ours: Mapping[Person, Mapping[str | None, int]],
    theirs: Mapping[Person, Mapping[str | None, int]],
    spec: Spec,
) -> Iterator[Finding]:
    lost, allowed = (known - published).total(), floor(spec.method.suppression_limit * known.total() + 1e-9)
    if lost > allowed:
        yield Finding(
            "rows", f"{some(lost, 'row')} of the original are not published; allowed are {allowed:,}", lost, {}
        )
    made_up = (published - known).total()
    if made_up:
        yield Finding("original", f"{some(made_up, 'row')} of the table of people are not in the original", made_up, {})
    listed: Counter[str | None] = Counter()
    true: Counter[str | None] = Counter()
    for of in held.values():
        listed.update(of)
    for of in theirs.values():
        true.update(of)
    invented = listed - true
    if invented:
        value, count = invented.most_common(1)[0]
        more = f"{value!r} {some(count, 'time')}"
        message = (
            f"the table of values has {some(invented.total(), 'value')} that the original has not, {more} too often"
        )
        yield Finding("original", message, invented.total(), {})
    if not made_up:
        yield from _mismatched(held, ours, theirs)


def _mismatched(
    held: Held,
    ours: Mapping[Person, Mapping[str | None, int]],
    theirs: Mapping[Person, Mapping[str | None, int]],
) -> Iterator[Finding]:
    """Find buckets whose values cannot go round among their people."""
    slots = {pair: number for number, pair in enumerate((b, value) for b, of in held.items() for value in of)}
    places = [(one, bucket, rows) for one, of in ours.items() for bucket, rows in of.items()]
    edges = sorted(
        (number, slots[bucket, value])
        for number, (one, bucket, _) in enumerate(places)
        for value in theirs[one]
        if (bucket, value) in slots
    )
    left, right = np.array(edges, np.int64).reshape(-1, 2).T
    graph = Graph(
        left=left,
        right=right,
        published=np.array([rows for *_, rows in places], np.int64),
        original=np.array([held[bucket][value] for bucket, value in slots], np.int64),
    )
    rest = graph.published - total_by(graph.left, match(graph), len(places))
    bad = [places[number][1] for number in np.flatnonzero(rest).tolist()]
    if bad:
        message = (
            f"{some(int(rest.sum()), 'person')} in {some(len({*bad}), 'bucket')} can have none of the values that are"
            " left for them: people like them have other values in the original"
        )
        yield Finding("original", message.replace("persons", "people"), int(rest.sum()), {BUCKET: bad[0]})


def _counted(table: pa.Table, shared: Sequence[str], last: str, spec: Spec) -> dict[Person, dict[str | None, int]]:
    """Return how often people of each kind have each value of the last column; numbers are compared by value."""
    columns = []
    for name in [*shared, last]:
        column = read_column(table[name], name, spec)
        labels = [None if label is None else spelled_number(label) for label in column.labels]
        columns.append([(column.labels if name == last else labels)[code] for code in column.codes.tolist()])
    found: dict[Person, dict[str | None, int]] = defaultdict(lambda: defaultdict(int))
    for *one, value, rows in zip(*columns, table[ROWS].to_pylist(), strict=True):
        found[tuple(one)][value] += rows
    return found


def attack_buckets(names: Sequence[str], held: Held, sensitive: str, least: int, corrupted: int) -> Iterator[Attack]:
    """Guess the commonest value of the target's bucket, also knowing the values of others in it.

    With c known others, of most / size there remain most / (size - c): no more than 1 / (l - c), since size is l times
    most or more.
    """
    sizes = np.array([sum(of.values()) for of in held.values()])
    most = np.array([max(of.values()) for of in held.values()])
    totals: Counter[str | None] = Counter()
    for of in held.values():
        totals.update(of)
    baseline, known = max(totals.values()) / totals.total(), max(corrupted, 1)
    for name in names:
        if name == "homogeneity":
            yield Attack(name, f"the commonest {sensitive!r} of the bucket", float(most.sum() / sizes.sum()),
                         float((most / sizes).max()), 1 / least, baseline)  # fmt: skip
        elif name == "corruption":
            shares = most / np.maximum(sizes - known, most)
            how = f"knowing {sensitive!r} of {some(known, 'other')} in the bucket"
            promised = 1 / (least - known) if known < least else None
            yield Attack(
                name, how, float((shares * sizes).sum() / sizes.sum()), float(shares.max()), promised, baseline
            )
