"""Releases in which rows of a person stay together: are all rows of a person, together, those of k people?

Whose rows they are is published under a pseudonym, so this can be seen from the release: a *record* is how many rows of
each class a pseudonym has, and every record must be that of at least k pseudonyms. That a pseudonym is one person, and
a person one pseudonym, is taken for granted, unless a run says whose each row truly is.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import Released, gaps, read_released, total_by
from ringfence.audit.labels.spelling import ROOT
from ringfence.audit.trace.people import contents, numbered, summed
from ringfence.audit.verdict import Finding, some
from ringfence.rows.engine import Engine
from ringfence.rows.sources import ROWS, WHOSE
from ringfence.spec import Spec

PSEUDONYMS = "a value of {entity!r} in the release is taken to be one person, and no person to have two"


@dataclass(frozen=True, eq=False)
class Records:
    """How many people have the record of each person, how many rows each has, and a class that each has rows of.

    `nobodys` rows have no pseudonym.
    """

    sharing: Longs
    rows: Longs
    classes: Longs
    nobodys: int

    def findings(self, released: Released, k: int, entity: str) -> Iterator[Finding]:
        """Report people whose record too few others share, and rows that are nobody's."""
        few = self.sharing < k
        if few.any():
            rows, worst = int(self.rows[few].sum()), int(self.sharing.argmin())
            message = (
                f"{some(rows, 'row')} of {int(few.sum()):,} people whose rows, all together, are those of fewer than"
                f" k = {k} people, the fewest of {self.sharing[worst]}; generalize further or suppress these people"
            )
            yield Finding("k", message, rows, released.labels_of(int(self.classes[worst])))
        if self.nobodys:
            message = f"{entity!r} has no value in {some(self.nobodys, 'row')}, so that it is not known whose they are"
            yield Finding("missing", message, self.nobodys, {})


def read_records(engine: Engine, rows: ibis.Table, spec: Spec) -> Records:
    """Put together what is published of each person."""
    quasi, entity = spec.of_role("quasi"), spec.entity
    counted = engine.count(rows, [*quasi, entity])
    released = read_released(counted, ROWS, quasi, [], spec)
    known = ~_is_nobody(counted[entity], spec)
    numbers = numbered(counted.filter(pa.array(known)), entity)
    people, classes, amounts = summed(numbers, released.class_of[known], released.rows[known])
    count = int(people.max(initial=-1)) + 1
    bounds = np.searchsorted(people, np.arange(count + 1)).tolist()
    told = np.stack([classes, amounts], axis=1)
    records = [told[start:stop].tobytes() for start, stop in pairwise(bounds)]
    times = Counter(records)
    return Records(
        sharing=np.array([times[record] for record in records], np.int64),
        rows=total_by(people, amounts, count),
        classes=classes[bounds[:-1]],
        nobodys=int(released.rows[~known].sum()),
    )


def _is_nobody(pseudonyms: pa.ChunkedArray, spec: Spec) -> Bools:
    """Return which pseudonyms are none: missing, or what stands for a missing value."""
    none = pc.is_null(pseudonyms, nan_is_null=True).to_numpy()
    words = pa.array(sorted({*gaps(spec), ROOT}))
    return np.asarray(none | pc.is_in(pseudonyms.cast(pa.string()), words).to_numpy(), bool)


def trace_findings(engine: Engine, traced: ibis.Table, rows: ibis.Table, spec: Spec) -> Iterator[Finding]:
    """Find pseudonyms that are not one person each, in a release with whose each row truly is.

    That each row is the person's whose it says is judged elsewhere, against the original.
    """
    quasi, entity = spec.of_role("quasi"), spec.entity
    told, shown = (
        read_released(engine.count(table, [*quasi, entity]), ROWS, quasi, [entity], spec) for table in (traced, rows)
    )
    total = int(shown.rows.sum())
    if contents(told) != contents(shown):
        message = "the rows that people were told apart in are not those of the release"
        yield Finding("original", message, total, {})
    pairs = engine.count(traced, [entity, WHOSE])
    if not pairs.num_rows == len(pairs[entity].unique()) == len(pairs[WHOSE].unique()):
        message = f"{entity!r} does not stand for one person each: some people share a value, or have several"
        yield Finding("original", message, total, {})
