"""The audit of two tables that belong together: people with their bucket, and how often each value is in a bucket.

What is promised is l-diversity alone: of no person can a sensitive value be told with more than one chance in l. Who is
in the table is published as it is, and so nothing is promised about that.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import ibis
import pyarrow as pa

from ringfence.audit.column_findings import column_findings
from ringfence.audit.counts import gaps, read_column
from ringfence.audit.trace.buckets import Held, attack_buckets, judge_buckets
from ringfence.audit.verdict import Finding, Verdict, some
from ringfence.errors import DataError, listed
from ringfence.rows.engine import Engine
from ringfence.rows.sources import BUCKET, COUNT, ROWS
from ringfence.spec import Spec

NOTE = (
    "Quasi-identifiers are published as they are: anyone can be found, and it shows who is in the table and who is not."
    " Only the sensitive value is hidden"
)


def verify_anatomy(
    engine: Engine,
    people: ibis.Table,
    values: ibis.Table,
    spec: Spec,
    original: ibis.Table | None = None,
    *,
    corrupted: int = 0,
    attacks: Sequence[str] = (),
) -> Verdict:
    """Return whether two tables keep the promise of l-diversity.

    `people` has the quasi-identifiers and a column "bucket", `values` the columns "bucket", the sensitive attribute and
    "count". Buckets must agree in their numbers of rows; no value may have more than one in l of a bucket's rows; and
    nothing else may tell the values: no sensitive attribute, no identifier and no column without a role among the
    people, and no other column beside the values. Numbers are compared by value, all else as text. With the original,
    people and values must be its own. `attacks` guess the value of a bucket.

    Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006, Definitions 2 and 3.
    """
    asked = [part for part in spec.diversities() if part.kind == "distinct"]
    if len(asked) != 1:
        raise DataError(
            f"two tables can be judged by one distinct l-diversity; the specification asks for {len(asked)}"
        )
    least, sensitive = int(asked[0].value), asked[0].attribute
    _require(people, [*spec.of_role("quasi"), BUCKET], "the table of people")
    _require(values, [BUCKET, sensitive, COUNT], "the table of values")
    counted = engine.count(people, [BUCKET])
    sizes = dict(zip(_spelled(counted, BUCKET, spec), counted[ROWS].to_pylist(), strict=True))
    held: dict[str | None, Counter[str | None]] = defaultdict(Counter)
    listing = engine.fetch(values.select(BUCKET, sensitive, COUNT))
    lines = [*zip(_spelled(listing, BUCKET, spec), _spelled(listing, sensitive, spec), _counts(listing), strict=True)]
    for bucket, value, count in lines:
        held[bucket][value] += count
    total = sum(sizes.values())
    shown = [name for name in people.columns if name != BUCKET]
    findings = [*column_findings(shown, total, spec), *_telling(shown, values.columns, total, sensitive, spec)]
    findings += _missing(engine, people, held, spec)
    if total == 0:
        findings.append(Finding("rows", "the release has no rows; a release must have some", 0, {}))
    findings += [*_disagreeing(sizes, held, lines), *_too_common(sizes, held, least)]
    measured = {"l": _measured(sizes, held), "rows": total, "buckets": len(sizes)}
    if original is not None and total:
        found, beside = judge_buckets(engine, people, held, original, sensitive, spec)
        findings += found
        measured |= beside
    carried_out = attack_buckets(attacks, held, sensitive, least, corrupted) if total and held else ()
    return Verdict(not findings, measured, tuple(findings), (), (NOTE,), attacks=tuple(carried_out))


def _measured(sizes: Mapping[str | None, int], held: Held) -> int:
    """Return the largest l that holds in every bucket; in a release without rows, 1."""
    shares = [Fraction(sizes.get(bucket, 0), max(of.values())) for bucket, of in held.items() if max(of.values()) > 0]
    return int(min(shares, default=Fraction(sum(sizes.values()) or 1)))


def _disagreeing(
    sizes: Mapping[str | None, int], held: Held, lines: Sequence[tuple[str | None, str | None, int]]
) -> Iterator[Finding]:
    """Find buckets that the two tables do not agree on, and values that stand in one twice, or not at all."""
    buckets = sorted({*sizes, *held}, key=lambda label: (label is None, label or ""))
    apart = [each for each in buckets if sizes.get(each, 0) != sum(held.get(each, {}).values())]
    if apart:
        worst, rows = apart[0], sum(sizes.get(each, 0) for each in apart)
        message = (
            f"{some(len(apart), 'bucket')} with other numbers of people and of values: bucket {worst} has"
            f" {sizes.get(worst, 0):,} people and {sum(held.get(worst, {}).values()):,} values"
        )
        yield Finding("anatomy", message, rows, {BUCKET: worst})
    pairs = Counter((bucket, value) for bucket, value, _ in lines)
    twice = [bucket for (bucket, _), count in pairs.items() if count > 1]
    none = [bucket for bucket, _, count in lines if count < 1]
    for bad, what in ((twice, "in which a value stands twice"), (none, "in which a value counts less than once")):
        if bad:
            message = f"{some(len({*bad}), 'bucket')} {what}"
            yield Finding("anatomy", message, sum(sizes.get(each, 0) for each in {*bad}), {BUCKET: bad[0]})


def _too_common(sizes: Mapping[str | None, int], held: Held, least: int) -> Iterator[Finding]:
    """Find buckets in which a value has more than one in l of the rows."""
    most = {bucket: max(of.values()) for bucket, of in held.items()}
    bad = [bucket for bucket, count in most.items() if count * least > sizes.get(bucket, 0)]
    if bad:
        worst = max(bad, key=lambda bucket: most[bucket] / max(sizes.get(bucket, 0), 1))
        rows = sum(sizes.get(bucket, 0) for bucket in bad)
        message = (
            f"{some(rows, 'row')} in {some(len(bad), 'bucket')} where a value has more than one in l = {least} of the"
            f" rows, the worst {most[worst]:,} of {sizes.get(worst, 0):,}"
        )
        yield Finding("l", message, rows, {BUCKET: worst})


def _telling(people: list[str], values: tuple[str, ...], total: int, sensitive: str, spec: Spec) -> Iterator[Finding]:
    """Find columns that tell what the buckets are to hide."""
    for name in people:
        if name in spec.of_role("sensitive"):
            message = f"the table of people has the column {name!r}, which tells what the buckets are to hide"
            yield Finding("anatomy", message, total, {})
    more = [name for name in values if name not in (BUCKET, sensitive, COUNT)]
    if more:
        message = f"the table of values has more columns than it needs: {listed(map(repr, more))}; remove them"
        yield Finding("anatomy", message, total, {})


def _missing(engine: Engine, people: ibis.Table, held: Held, spec: Spec) -> Iterator[Finding]:
    """Find values that are missing where the specification says that such rows are not published."""
    if spec.data.missing == "value":
        return
    quasi = spec.of_role("quasi")
    none = {name: people[name].isnull() | people[name].cast("string").isin([*gaps(spec)]) for name in quasi}
    nulls = engine.fetch(people.aggregate([gap.sum().name(name) for name, gap in none.items()]))
    lacking = {name: int(nulls[name][0].as_py() or 0) for name in quasi}
    hidden = sum(of.get(None, 0) for of in held.values())
    for name, rows in {**lacking, **dict.fromkeys(spec.of_role("sensitive"), hidden)}.items():
        if rows:
            message = f"{name!r} has no value in {some(rows, 'row')}, but data.missing = {spec.data.missing!r}"
            yield Finding("missing", message, rows, {})


def _spelled(table: pa.Table, name: str, spec: Spec) -> list[str | None]:
    """Return a column with equal values spelled alike."""
    column = read_column(table[name], name, spec)
    return [column.labels[code] for code in column.codes.tolist()]


def _counts(values: pa.Table) -> list[int]:
    """Return the numbers of rows that the table of values states; a missing one is none."""
    try:
        return [count or 0 for count in values[COUNT].cast(pa.int64()).to_pylist()]
    except pa.ArrowException:
        raise DataError(f"column {COUNT!r} of the table of values holds something else than whole numbers") from None


def _require(table: ibis.Table, needed: list[str], where: str) -> None:
    """Refuse a table that lacks a column it is to be judged by."""
    lacking = [name for name in needed if name not in table.columns]
    if lacking:
        raise DataError(f"{where} has no column {listed(map(repr, lacking))}; it has: {listed(table.columns)}")
