"""Yardsticks: how far off the users of a release are, in counts, in tables and in models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import ibis
import numpy as np
import pyarrow as pa

from ringfence.arrays import Floats
from ringfence.audit.trace.against import complete
from ringfence.audit.trace.rows import Origin
from ringfence.rows.engine import Engine
from ringfence.rows.sources import BUCKET
from ringfence.spec import Spec
from ringfence.spec.method import Purpose
from ringfence.yardsticks.linking import LinkedRows, link_rows
from ringfence.yardsticks.models import Lessons, Score, is_installed
from ringfence.yardsticks.queries import SIZES, Answered, CountQuery, answers, make_queries, naive_answers
from ringfence.yardsticks.reading import ReadRows, Truth, read_release, read_truth
from ringfence.yardsticks.tables import Table
from ringfence.yardsticks.weighing import by_counts

MOST_VALUES = 2_000
"""Sensitive attributes of more values are asked about only if the purpose names them: nearly every row has its own."""

Names = tuple[str, ...]

STANDS_OUT, WORTH_TELLING = 3, 0.05
"""An attribute is to blame if tables with it are off by so many times what others are, and by such a share of rows."""


@dataclass(frozen=True)
class Blamed:
    """An attribute that most of the error is about: the share of rows that are not in their cell, on average, in tables
    `with_it` and in those `without`."""

    name: str
    with_it: float
    without: float


@dataclass(frozen=True)
class Yardsticks:
    """How far off somebody is who has a release, or less; 0 is the original, all of them shares.

    `answers` are those to the queries. `models` has for every attribute that the purpose wants to be told how well it
    is.

    `queries` is the mean relative error of COUNT queries, `by_size` that of queries about many, some and few rows (none
    where there are no such queries). `tables` has for every attribute and every pair of them, and for every table that
    the purpose names, the share of rows that is not in its cell: `singles`, `pairs` and `counts` are their means.
    """

    queries: float
    by_size: tuple[float | None, ...]
    tables: Mapping[Names, float] = field(repr=False)
    singles: float
    pairs: float
    counts: float
    answers: Answered = field(repr=False)
    models: Mapping[str, Score] = field(default_factory=dict)

    def off(self, purpose: Purpose) -> float:
        """Return how far off users are on average: in the tables and models of a purpose, else in queries and tables.

        A model is off by the share of what the original tells that is lost.
        """
        lost = [score.lost for score in self.models.values()]
        if purpose.counts is not None:
            lost.append(self.counts)
        return _mean(lost or [self.queries, self.counts])

    @property
    def blamed(self) -> Blamed | None:
        """The one attribute that most of the error is about, if there is one: who leaves it out has better counts.

        >>> from numpy import zeros
        >>> off = {("age",): 0.02, ("town",): 0.5, ("sex",): 0.0, ("age", "town"): 0.52, ("age", "sex"): 0.04}
        >>> Yardsticks(0.2, (), off, 0.1, 0.2, 0.2, Answered(None, [], zeros(0))).blamed
        Blamed(name='town', with_it=0.51, without=0.02)
        """
        found = []
        for name in (names[0] for names in self.tables if len(names) == 1):
            with_it, without = (
                [off for names, off in self.tables.items() if (name in names) is so] for so in (True, False)
            )
            if without:
                found.append(Blamed(name, _mean(with_it), _mean(without)))
        worst = max(found, key=lambda each: each.with_it, default=None)
        if worst is None or worst.with_it < max(WORTH_TELLING, STANDS_OUT * worst.without):
            return None
        return worst

    def as_dict(self) -> dict[str, float | None]:
        """Return the figures by name."""
        sizes = zip(("many", "some", "few"), self.by_size, strict=True)
        return {
            "queries": self.queries,
            **{f"queries about {size} rows": value for size, value in sizes},
            "counts": self.counts,
            "singles": self.singles,
            "pairs": self.pairs,
            **{f"{score.measure} of {name}": score.mean for name, score in self.models.items()},
            **{f"lost of {name}": score.lost for name, score in self.models.items()},
        }


@dataclass(frozen=True, eq=False)
class Ruler:
    """An original, and what is asked about it: releases of it are measured side by side.

    `naive` is what comes out for somebody who knows nothing but the distribution of each attribute by itself.
    """

    truth: Truth
    wanted: tuple[Names, ...] | None = None
    """The tables that the purpose names; None for all attributes and pairs alike."""
    predicted: tuple[str, ...] = ()
    """What the purpose wants to be told from the quasi-identifiers."""

    @cached_property
    def queries(self) -> list[CountQuery]:
        """The COUNT queries, the same for every release."""
        return make_queries(self.truth)

    @cached_property
    def lessons(self) -> dict[str, Lessons]:
        """What models are to tell, with what they are trained and tested on."""
        return {name: Lessons(self.truth, name) for name in self.predicted}

    def measure(self, release: ReadRows, linked: LinkedRows | None = None) -> Yardsticks:
        """Return how far off the users of a release are; of models only where it is known which row was which."""
        found = {names: table.misplaced(release) for names, table in self.tables.items()}
        use = self._judged(answers(release, self.truth.quasi, self.queries), found)
        if linked is None:
            return use
        return replace(use, models={name: lesson.score(linked) for name, lesson in self.lessons.items()})

    @cached_property
    def naive(self) -> Yardsticks:
        """The baseline: independent marginals."""
        found = {names: table.naively_misplaced for names, table in self.tables.items()}
        models = {
            name: Score(score.measure, score.naive, 0.0, score.original, score.original_spread)
            for name, score in ((name, lesson.original) for name, lesson in self.lessons.items())
        }
        return replace(self._judged(naive_answers(self.truth, self.queries), found), models=models)

    @cached_property
    def tables(self) -> dict[Names, Table]:
        """Every attribute, every pair, and what the purpose names."""
        quasi = self.truth.quasi
        asked = [*((name,) for name in quasi), *combinations(quasi, 2), *(self.wanted or ())]
        return {names: Table(self.truth, names) for names in dict.fromkeys(asked)}

    def _judged(self, estimates: Floats, tables: Mapping[Names, float]) -> Yardsticks:
        answered = Answered(self.truth, self.queries, estimates)
        off = answered.errors
        sizes = np.array([query.size for query in self.queries])
        by_size = [off[sizes == size] for size in range(len(SIZES))]
        singles, pairs = (
            [tables[names] for names in tables if len(names) == n and self._of_quasi(names)] for n in (1, 2)
        )
        return Yardsticks(
            queries=_mean(off),
            by_size=tuple(_mean(some) if len(some) else None for some in by_size),
            tables=tables,
            singles=_mean(singles),
            pairs=_mean(pairs),
            counts=_mean([tables[names] for names in self.wanted] if self.wanted else [*singles, *pairs]),
            answers=answered,
        )

    def _of_quasi(self, names: Names) -> bool:
        return {*names} <= {*self.truth.quasi}


def _mean(numbers: Sequence[float] | Floats) -> float:
    return float(np.mean(numbers)) if len(numbers) else 0.0


def ruler(engine: Engine, original: ibis.Table, spec: Spec) -> Ruler:
    """Return what releases of an original are measured by, as far as they publish quasi-identifiers."""
    rows = complete(original, spec)
    quasi, others = spec.of_role("quasi"), _others(engine, rows, spec)
    truth = read_truth(engine.count(rows, [*quasi, *others]), quasi, others, spec)
    wanted = spec.purpose.counts
    return Ruler(truth, None if wanted is None else tuple(map(tuple, wanted)), tuple(spec.purpose.predict or ()))


def _others(engine: Engine, rows: ibis.Table, spec: Spec) -> list[str]:
    """Return the attributes beside the quasi-identifiers that are asked about: those that the purpose names, and the
    sensitive ones that have few values."""
    tables = [*(spec.purpose.counts or []), spec.purpose.predict or []]
    named = [name for names in tables for name in names if name not in spec.of_role("quasi")]
    sensitive = [name for name in spec.of_role("sensitive") if name not in named and _is_plain(rows[name])]
    if sensitive:
        values = engine.variety(rows, sensitive)
        sensitive = [name for name in sensitive if values[name] <= MOST_VALUES]
    return [*dict.fromkeys([*sensitive, *named])]


def is_measured(spec: Spec) -> bool:
    """Whether users of releases can be off: where rows have quasi-identifiers, each in one row."""
    return bool(spec.of_role("quasi")) and spec.data.basket_id is None


def _is_plain(column: ibis.Value) -> bool:
    """Whether the cells of a column are values that can be asked for: not lists, structures or bytes."""
    kind = column.type()
    return bool(kind.is_string() or kind.is_numeric() or kind.is_temporal() or kind.is_boolean())


@dataclass(frozen=True)
class Measured:
    """How far off the users of a release are, and beside that whoever knows nothing but each attribute by itself.

    Where counts of values are published beside it, users read by these; `without` is what they would be off by else.
    """

    release: Yardsticks
    naive: Yardsticks
    without: Yardsticks | None = None


def measured(
    engine: Engine,
    released: ibis.Table,
    original: ibis.Table,
    spec: Spec,
    origin: Origin | None = None,
    values: ibis.Table | None = None,
    counts: ibis.Table | None = None,
) -> Measured | None:
    """Return how far off the users of a release are, by itself; None where nothing is measured of it.

    `values` is the second table of those that are two, `counts` are those of values that are published beside it.
    Models are left out where they cannot be made: without the library for it, or without knowing which row was which.
    """
    if not is_measured(spec):
        return None
    if origin is None or not is_installed():
        spec = spec.model_copy(update={"purpose": spec.purpose.model_copy(update={"predict": None})})
    found = ruler(engine, original, spec)
    use = measure_rows(engine, released, found, spec, origin, values, counts)
    without = None if counts is None else measure_rows(engine, released, found, spec, origin, values)
    return Measured(use, found.naive, without)


def read_rows(
    engine: Engine,
    released: ibis.Table,
    found: Ruler,
    spec: Spec,
    values: ibis.Table | None = None,
    counts: ibis.Table | None = None,
) -> ReadRows:
    """Read the rows of a release, as published; `values` is the second table of those that are two, `counts` are those
    of values."""
    truth = found.truth
    here = [name for name in (*truth.quasi, *truth.others) if name in released.columns]
    counted = engine.count(released, [*here, *([BUCKET] if spec.has_buckets else [])])
    beside: pa.Table | None = None if values is None else engine.fetch(values)
    side = read_release(counted, truth, spec, beside)
    return side if counts is None else by_counts(side, truth, engine.fetch(counts), spec)


def measure_rows(
    engine: Engine,
    released: ibis.Table,
    found: Ruler,
    spec: Spec,
    origin: Origin | None = None,
    values: ibis.Table | None = None,
    counts: ibis.Table | None = None,
) -> Yardsticks:
    """Return how far off the users of a release are. `origin` is what a run knows of its rows: models need it."""
    side = read_rows(engine, released, found, spec, values, counts)
    if origin is None or not found.predicted:
        return found.measure(side)
    return found.measure(side, link_rows(engine, side, found.truth, origin, spec, values))
