"""The attack `refinement`: what readers of a release alone find out of quasi-identifiers, knowing how it is made.

No promise here forbids it: k-anonymity hides which row is whose, not what the rows are. Cohen: Attacks on
Deidentification's Defenses (USENIX Security 2022) calls undoing generalization *downcoding*. What recoding in rounds
tells besides, *combinatorial refinement* (Chhillar, Righi, Sutter, Kornaropoulos, 2025), is not asked here: no method
of ours goes in rounds (`benchmarks/rounds.py` measures it).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import ibis

from ringfence.audit.counts import Released, read_released
from ringfence.audit.refinement.classes import Row, refine_classes
from ringfence.audit.refinement.found import Refinement
from ringfence.audit.refinement.rings import rebuild
from ringfence.audit.refinement.said import say
from ringfence.audit.trace.against import complete
from ringfence.audit.trace.ring_matches import has_rings
from ringfence.rows.engine import Engine
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec


def refine(engine: Engine, released: Released, spec: Spec, original: ibis.Table | None) -> Refinement:
    """Return what comes out of a release, and how much of it is true where the original is at hand."""
    found, rows = refine_rings(released, spec) if has_rings(spec) else refine_classes(released, spec)
    return found if original is None else _checked(found, rows, _counted(engine, original, spec))


def refine_rings(released: Released, spec: Spec) -> tuple[Refinement, list[Row]]:
    """Return what comes out of a release of rings, and the rows that do: each as often as it is certain."""
    read = [say(column, spec) for column in released.quasi]
    built = rebuild(released.quasi, [each.said for each in read], released.rows, spec.k, longest=spec.method.max_ring)
    rows = [
        tuple(each.value(number) for each, number in zip(read, numbers, strict=True))
        for numbers in built.tuples.elements()
    ]
    total = int(released.rows.sum())
    return Refinement(rows=total, plain=built.plain, rebuilt=len(rows), looked_at=built.looked_at + built.plain), rows


def _checked(found: Refinement, rows: Sequence[Row], truth: Counter[Row]) -> Refinement:
    """Say how many rows that came out the original has, and how many people whom it has once.

    A row comes out as often as it is certain: it is right that often at most.
    """
    claimed = Counter(rows)
    return replace(
        found,
        right=sum(min(times, truth[row]) for row, times in claimed.items()),
        unique=sum(truth[row] == 1 for row in claimed),
        alone=sum(times == 1 for times in truth.values()),
    )


def _counted(engine: Engine, original: ibis.Table, spec: Spec) -> Counter[Row]:
    """Return how often the original has each combination of quasi-identifiers, spelled as labels are."""
    quasi = spec.of_role("quasi")
    counted = engine.count(complete(original, spec), quasi)
    read = read_released(counted, ROWS, quasi, [], spec, original=True)
    columns = [[column.labels[code] for code in column.codes.tolist()] for column in read.quasi]
    truth: Counter[Row] = Counter()
    for row, times in zip(zip(*columns, strict=True), read.rows.tolist(), strict=True):
        truth[row] += times
    return truth
