"""Anatomy plans: which sensitive values share a bucket. Quasi-identifiers are published as they are.

Which rows of a value go to which of its buckets is left to chance: an engine numbers them in random order, and the
plan says which number goes where. So a plan tells of nobody more than the two tables do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ringfence.arrays import Longs
from ringfence.census.census import Census, Quasi, Sensitive
from ringfence.census.groups import Groups
from ringfence.kernels.secret import secret_key
from ringfence.markup import paragraph
from ringfence.plans.base import Occasion, Plan
from ringfence.plans.published import Label, PlanColumn
from ringfence.rows.lookups import FIRST, NUMBER, STOP, Draw, LookUp, NumberRows
from ringfence.rows.sources import BUCKET, CODE, COUNT, RAW, SHARE
from ringfence.rows.steps import CarryOut, Complete, Copy, Step


@dataclass(frozen=True)
class AnatomyPlan(Plan):
    """Publish rows without their sensitive value, but with the number of a bucket; and the values of each bucket.

    `sensitive` is the attribute and `values` are its leaves. Bucket b, numbered from 1 on in what is published, has
    one row of each of the values `buckets[b]`. `complete` are the columns in which a row must not miss a value. `spec`
    is the specification that the plan keeps, self-contained.
    """

    kind: ClassVar[str] = "anatomy"
    sensitive: str
    values: tuple[Label, ...]
    buckets: tuple[tuple[int, ...], ...]
    complete: tuple[str, ...] = ()
    spec: str = ""
    suppressed_rows: int = 0
    masked: bool = False

    def __post_init__(self) -> None:
        for bucket in self.buckets:
            if not bucket or len({*bucket}) < len(bucket) or not all(0 <= v < len(self.values) for v in bucket):
                raise ValueError(f"the bucket {bucket} must have values of the attribute, each once")
        if self.masked or self.suppressed_rows:
            raise ValueError("an anatomy plan suppresses nothing")

    def carry_out(self, occasion: Occasion) -> CarryOut:
        """Return what must be done to the rows: each gets a turn among those of its value, and by it a bucket."""
        part = _attribute(self, occasion.census)
        buckets, values = _pairs(self)
        order = np.argsort(values, kind="stable")
        counts = np.bincount(values, minlength=len(self.values))
        turns = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
        shares = {NUMBER: values[order], FIRST: turns, STOP: turns + 1, SHARE: buckets[order]}
        codes = pa.table({RAW: part.raw, CODE: part.raw_leaves.astype(np.int64)})
        steps: list[Step] = [Complete(self.complete), NumberRows(), LookUp(codes, {part.name: RAW})]
        drawn = Draw(CODE, pa.table(shares), secret_key("rows").hex())
        return CarryOut([*steps, drawn, Copy(SHARE, BUCKET)], [part.name, *self.complete], [], [BUCKET])

    def beside(self, census: Census) -> pa.Table:
        """Return the second table: how often each value is in each bucket, in an order that follows from itself."""
        return _sensitive_table(self, census)

    def untouched(self, census: Census) -> Sequence[Quasi]:
        """Return the quasi-identifiers: they are published as they are, and the sensitive values apart from them."""
        return census.quasi

    @property
    def columns(self) -> Mapping[str, PlanColumn]:
        """No column is recoded."""
        return {}

    @property
    def sizes(self) -> list[int]:
        """How many rows each bucket has."""
        return [*map(len, self.buckets)]

    def _headline(self) -> str:
        return (
            f"{len(self.buckets):,} buckets of {min(self.sizes):,} to {max(self.sizes):,} rows, in each of which every"
            f" row has another value of {self.sensitive}; quasi-identifiers as they are"
        )

    def __str__(self) -> str:
        return f"Anatomy plan: {self._headline()}"

    def _repr_html_(self) -> str:
        return paragraph(self._headline())


def anatomy_plan(census: Census, groups: Groups, complete: Sequence[str], spec: str) -> AnatomyPlan:
    """Return the plan of buckets in which the rows differ in the one sensitive attribute that was looked at."""
    attribute = census.sensitive[groups.combinations.attributes[0]]
    values = groups.combinations.values[groups.combination, 0]
    buckets = np.split(values, np.flatnonzero(np.diff(groups.group)) + 1)
    return AnatomyPlan(
        sensitive=attribute.name,
        values=attribute.hierarchy.labels[: attribute.hierarchy.leaves],
        buckets=tuple(tuple(sorted(bucket.tolist())) for bucket in buckets),
        complete=tuple(complete),
        spec=spec,
    )


def _sensitive_table(plan: AnatomyPlan, census: Census) -> pa.Table:
    part = _attribute(plan, census)
    place = np.full(len(plan.values), -1)
    place[part.raw_leaves] = np.arange(len(part.raw))  # of several spellings of a number, one
    named = np.argsort([label or "" for label in plan.values], kind="stable").argsort()
    buckets, values = _pairs(plan)
    order = np.lexsort((named[values], buckets))
    return pa.table(
        {
            BUCKET: buckets[order],
            part.name: part.raw.take(pa.array(place[values[order]])),
            COUNT: np.ones(len(values), np.int64),
        }
    )


def _attribute(plan: AnatomyPlan, census: Census) -> Sensitive:
    return next(part for part in census.sensitive if part.name == plan.sensitive)


def _pairs(plan: AnatomyPlan) -> tuple[Longs, Longs]:
    """Return the published number of a bucket, and a value in it, for every row."""
    buckets = np.repeat(np.arange(1, len(plan.buckets) + 1), plan.sizes)
    return buckets, np.array([value for bucket in plan.buckets for value in bucket], np.int64)
