"""The audit of two tables that belong together: people with their bucket, and how often each value is in a bucket.

What is promised is l-diversity alone: of no person can a sensitive value be told with more than one chance in l. Who is
in the table is published as it is, and so nothing is promised about that.
"""

from collections import defaultdict
from fractions import Fraction

import ibis

from ringfence.audit.verdict import Finding, Verdict
from ringfence.engine import ROWS, Engine
from ringfence.errors import DataError, listed
from ringfence.spec import Spec

BUCKET, COUNT = "bucket", "count"

NOTE = (
    "Quasi-identifiers are published as they are: anyone can be found, and it shows who is in the table and who is not."
    " Only the sensitive value is hidden."
)


def verify_anatomy(engine: Engine, people: ibis.Table, values: ibis.Table, spec: Spec) -> Verdict:
    """Return whether two tables keep the promise of l-diversity.

    `people` has the quasi-identifiers and a column "bucket", `values` the columns "bucket", the sensitive attribute and
    "count". Buckets must agree in their numbers of rows; no value may have more than one in l of a bucket's rows; and
    nothing else may tell the values: no sensitive attribute and no identifier among the people.

    Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006, Definitions 2 and 3.
    """
    asked = [part for part in spec.diversities() if part.kind == "distinct"]
    if len(asked) != 1:
        raise DataError(
            f"two tables can be judged by one distinct l-diversity; the specification asks for {len(asked)}"
        )
    least, sensitive = int(asked[0].value), asked[0].of or ""
    _require(people, [*spec.of_role("quasi"), BUCKET], "the table of people")
    _require(values, [BUCKET, sensitive, COUNT], "the table of values")
    sizes = {row[BUCKET]: row[ROWS] for row in engine.count(people, [BUCKET]).to_pylist()}
    held: dict[object, list[tuple[object, int]]] = defaultdict(list)
    for row in engine.fetch(values).to_pylist():
        held[row[BUCKET]].append((row[sensitive], int(row[COUNT])))
    total = sum(sizes.values())
    findings = [
        Finding("identifier" if name in spec.of_role("identifier") else "anatomy", _tells(name), total, {})
        for name in people.columns
        if name in spec.of_role("identifier", "sensitive")
    ]
    if total == 0:
        findings.append(Finding("rows", "the release has no rows; a release must have some", 0, {}))
    smallest = Fraction(total or 1)
    for bucket in sorted({*sizes, *held}, key=str):
        size, counts = sizes.get(bucket, 0), held.get(bucket, [])
        label = {BUCKET: str(bucket)}
        if sum(count for _, count in counts) != size or any(count < 1 for _, count in counts):
            message = f"bucket {bucket} has {size} people and {sum(count for _, count in counts)} values"
            findings.append(Finding("anatomy", message, size, label))
        if len({value for value, _ in counts}) < len(counts):
            findings.append(Finding("anatomy", f"bucket {bucket} has a value twice", size, label))
        tallied: dict[object, int] = defaultdict(int)
        for value, count in counts:
            tallied[value] += count
        most = max(tallied.values(), default=0)
        if most > 0:
            smallest = min(smallest, Fraction(size, most))
        if most * least > size:
            message = f"of the {size} people of bucket {bucket}, {most} have the same value: more than one in {least}"
            findings.append(Finding("l", message, size, label))
    measured = {"l": int(smallest), "rows": total, "buckets": len(sizes)}
    return Verdict(not findings, measured, tuple(findings), (), (NOTE,))


def _tells(name: str) -> str:
    return f"the table of people has the column {name!r}, which tells what the buckets are to hide"


def _require(table: ibis.Table, needed: list[str], where: str) -> None:
    """Refuse a table that lacks a column it is to be judged by."""
    lacking = [name for name in needed if name not in table.columns]
    if lacking:
        raise DataError(f"{where} has no column {listed(map(repr, lacking))}; it has: {listed(table.columns)}")
