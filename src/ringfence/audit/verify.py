"""The audit: does a released table keep the promise of its specification? Judged by what it says, and nothing else.

One scan counts the combinations of published values; all judgements are made on those counts, each from its definition,
with no code in common with the searches, their models or their metrics.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import ibis
import numpy as np
import pyarrow as pa

from ringfence.audit.attacks.at_hand import AtHand
from ringfence.audit.attacks.carry_out import (
    REFINEMENT,
    carry_out,
    choose,
    read_other,
    read_truth,
    unsuccessful,
)
from ringfence.audit.attacks.carry_out import items as attack_items
from ringfence.audit.basket_form import row_findings
from ringfence.audit.baskets_judged import baskets_beside, judge_labels_of_baskets, rows_beside
from ringfence.audit.column_findings import (
    column_findings,
    label_findings,
    missing_findings,
    require_columns,
    without_blanks,
    zero_findings,
)
from ringfence.audit.counts import Column, Released, read_released
from ringfence.audit.counts_judged import judge_counts
from ringfence.audit.evidence import Evidence, judge_labels, judge_original
from ringfence.audit.models.population import Fits, fit
from ringfence.audit.not_judged import refuse_unjudged, second_table
from ringfence.audit.people_judged import judge_people, with_people
from ringfence.audit.refinement.refine import refine
from ringfence.audit.risk import Risk, measure_risk
from ringfence.audit.trace.against import has_boundaries, needed, read_linked
from ringfence.audit.trace.anatomy import verify_anatomy
from ringfence.audit.trace.people import Crowd
from ringfence.audit.trace.person_records import Records
from ringfence.audit.trace.ring_matches import Matches, has_rings
from ringfence.audit.trace.rows import Origin, prove_rows
from ringfence.audit.verdict import Attack, Example, Finding, Verdict
from ringfence.rows.basket_rows import count_baskets, gather
from ringfence.rows.columns import weights_total
from ringfence.rows.engine import Engine
from ringfence.rows.sources import ROWS, WHICH
from ringfence.spec import Spec

SHOWN_CLASSES = 5


def verify(
    engine: Engine,
    rows: ibis.Table,
    spec: Spec,
    original: ibis.Table | None = None,
    *,
    population: ibis.Table | None = None,
    other: ibis.Table | None = None,
    corrupted: int = 0,
    attacks: Sequence[str] = (),
    values: ibis.Table | None = None,
    counts: ibis.Table | None = None,
    traced: ibis.Table | None = None,
    origin: Origin | None = None,
) -> Verdict:
    """Return whether a released table keeps the promise of the specification, with what was measured and what is wrong.

    Rows with the same labels in all quasi-identifiers, as a reader sees them, are a class: numbers are compared by
    value, text to the letter. A missing value is a label like any other, and rows with `*` in every quasi-identifier
    are a class like any other. Baskets are judged by their labels, whatever else is in their rows. A table that lacks a
    column it is to be judged by is a DataError: it could not be judged.

    With the original, the release is also traced back to it, row by row, and basket by basket. A release of the method
    `ring` has no classes; it is judged by who could be who, and cannot be judged without the original. With a
    `population` that the rows come from, it is judged how many of its people each class fits. `corrupted` asks what is
    left to guess for an adversary who knows whose that many rows are. `attacks` are carried out on the release, by name
    or "all"; of those, intersection needs the `other` release. A release of the method `anatomy` is two tables, judged
    by themselves or by the original: `values` is the second, with the sensitive values of each bucket. `counts` are
    those of values, where any are published beside the release: true ones, and none of fewer than k.

    Where k counts people (`data.entity`), rows are counted from the release, people beside the original: of releases in
    which more rows fit a class than it has, there may be no telling, unless `traced` says whose each row is. It has the
    rows of the release with the column `data.entity`, and is believed only as far as it can be traced back. What could
    not be judged is said in `Verdict.unjudged`. A run knows its `origin`, and has it proven row by row.
    """
    wrong_rows = [] if origin is None else [*prove_rows(engine, rows, spec, origin, values)]
    if origin is not None and origin.marked is not None and spec.data.entity is not None:
        traced = origin.marked.drop(WHICH)
    if spec.has_buckets:
        beside = second_table(values, population, other)
        attacks = choose(attacks, spec, has_original=original is not None, has_other=False)
        verdict = verify_anatomy(engine, rows, beside, spec, original, corrupted=corrupted, attacks=attacks)
        return verdict.with_findings(wrong_rows)
    attacks = choose(attacks, spec, has_original=original is not None, has_other=other is not None)
    attacked = any(name != REFINEMENT for name in attacks)
    refuse_unjudged(spec, original is not None, population is not None, corrupted, REFINEMENT in attacks)
    given, (rows, released) = rows, _read(engine, rows, spec, attacked)
    quasi, total = spec.of_role("quasi"), int(released.rows.sum())
    evidence = Evidence([*column_findings(rows.columns, total, spec), *wrong_rows], {"k": 0})
    if total == 0:
        evidence.add([Finding("rows", "the release has no rows; a release must have some", 0, {})], {"rows": 0})
        return _verdict(evidence, released, spec, risk=None)
    evidence.add([*missing_findings(released, spec, needed(spec)), *label_findings(released, spec, engine, rows)])
    evidence.add([*zero_findings(engine, rows, total), *row_findings(engine, given, spec)])
    judge_labels(evidence, released, spec, has_original=original is not None)
    shown = rows.drop(*(name for name in (spec.items, spec.pseudonym) if name is not None))
    linked, matches, items = None, None, None
    if original is not None and quasi:
        known, whose = rows_beside(engine, original, spec), with_people(shown, traced, spec)
        if origin is not None and origin.marked is not None and not has_boundaries(spec):
            # All else of each row has been compared with that of its mark: rows need not be told apart by it.
            whose = whose.select(*quasi, *(name for name in whose.columns if name == spec.data.entity))
        elif spec.items is not None and traced is None:
            known, whose, items = baskets_beside(engine, rows, original, spec)
        linked, matches = judge_original(evidence, engine, whose, known, released, spec, corrupted, attacked, items)
    evidence.crowd = judge_people(evidence, engine, rows, traced, original, released, spec)
    fits = (
        None
        if population is None
        else fit(read_linked(engine, shown, population, spec, blind=True, called="population"))
    )
    if fits is not None:
        evidence.add(fits.findings(spec), fits.measured)
    if spec.privacy.m is not None:
        judge_labels_of_baskets(evidence, engine, rows, spec, spec.privacy.m, original, items)
    judge_counts(evidence, engine, counts, released, spec, original, origin, told=traced is not None)
    evidence.measured["rows"] = total
    size = _population_size(engine, spec, [each for each in (population, rows, original) if each is not None], fits)
    risk = _risk(released, spec, matches, fits, size, evidence.crowd) if quasi else None
    verdict = _verdict(evidence, released, spec, risk=risk)
    carried_out: list[Attack] = []
    if attacks and linked is not None and original is not None:
        known, sensitive = rows_beside(engine, original, spec), [*released.sensitive]
        truth = read_truth(engine, known, sensitive, spec)
        at_hand = AtHand(released, linked, matches, spec, truth, evidence.measured, corrupted)
        joined = other is not None and "intersection" in attacks
        carried_out += carry_out(
            attacks, at_hand, read_other(engine, other, known, sensitive, spec) if joined else None
        )
    if "items" in attacks:
        fewest = int(evidence.measured[f"k:{spec.items}" if quasi else "k"])
        every = [basket for basket, times in count_baskets(engine, rows, spec).counted() for _ in range(times)]
        carried_out.append(attack_items(every, spec, fewest))
    return replace(
        verdict,
        attacks=tuple(carried_out),
        refinement=refine(engine, released, spec, original) if REFINEMENT in attacks else None,
        notes=(*verdict.notes, *unsuccessful(attacks, carried_out)),
    )


def _read(engine: Engine, rows: ibis.Table, spec: Spec, attacked: bool) -> tuple[ibis.Table, Released]:
    """Return the rows of a release, of a long table one a basket, without columns that say nothing; and their counts.

    Without quasi-identifiers, all rows are one class. Attacks guess at every sensitive attribute.
    """
    quasi, sensitive = spec.of_role("quasi"), needed(spec)
    sensitive += [name for name in spec.of_role("sensitive") if attacked and name in rows.columns]
    sensitive = [*dict.fromkeys(sensitive)]
    extra = [name for name in (spec.data.basket_id, spec.pseudonym) if name is not None]
    require_columns(rows.columns, [*quasi, *sensitive, *spec.of_role("items"), *extra])
    rows = without_blanks(engine, rows, spec)
    columns: list[str] = [name for name in rows.columns if name != spec.data.basket_id]
    rows = gather(engine, rows, spec, columns)
    told = [*quasi, *sensitive]
    counted = engine.count(rows, told) if told else pa.table({ROWS: [engine.size(rows)]})
    return rows, read_released(counted, ROWS, quasi, sensitive, spec)


def _verdict(evidence: Evidence, released: Released, spec: Spec, *, risk: Risk | None) -> Verdict:
    """Put the verdict together; of baskets alone, and of rings, there are no classes to speak of."""
    findings, rings = tuple(evidence.findings), has_rings(spec)
    if not spec.of_role("quasi") and spec.items is not None:
        return Verdict(not findings, evidence.measured, findings, (), tuple(evidence.notes))
    if not rings:
        evidence.measured["classes"] = len(released.sizes)
    evidence.measured["masked"] = int(released.rows[released.masked].sum())
    evidence.measured["missing"] = int(released.rows[released.incomplete].sum())
    return Verdict(
        not findings and not evidence.unjudged,
        evidence.measured,
        findings,
        () if rings else _smallest(released, evidence.crowd),
        tuple(evidence.notes),
        risk,
        unjudged=tuple(evidence.unjudged),
    )


def _risk(
    released: Released,
    spec: Spec,
    matches: Matches | None,
    fits: Fits | None,
    size: float | None,
    crowd: Crowd | Records | None,
) -> Risk | None:
    """Measure risk by classes; where there are none, by the largest k that holds for each row.

    Where k counts people, the people of classes take the place of their rows; where they are not known, nobody can say.
    """
    rows, people = released.sizes, None if fits is None else fits.people
    if isinstance(crowd, Records):
        alone = np.arange(len(crowd.sharing))  # nobody, where no row is known to be anybody's
        known = len(alone) > 0
        return measure_risk(np.ones_like(alone), crowd.sharing, [], spec.k, members=(alone, alone)) if known else None
    if spec.data.entity is not None:
        if crowd is None or crowd.pairs is None:
            return None
        firsts = [Column(each.name, each.labels, each.codes[released.firsts]) for each in released.quasi]
        return measure_risk(crowd.least, crowd.least, firsts, spec.k, members=crowd.pairs[:2])
    if not has_rings(spec):
        firsts = [Column(each.name, each.labels, each.codes[released.firsts]) for each in released.quasi]
        return measure_risk(rows, rows, firsts, spec.k, population=people, population_size=size)
    if matches is None:
        return None
    widths = matches.widths[: len(rows)]
    return measure_risk(rows, widths, [], spec.k, population=people, population_size=size)


def _population_size(engine: Engine, spec: Spec, tables: Iterable[ibis.Table], fits: Fits | None) -> float | None:
    """Return how many people the population has: as counted, or as the weights of the first table with any add up."""
    if fits is not None:
        return float(fits.linked.original.total)
    name = spec.data.weights
    for table in tables:
        if name is not None and name in table.columns:
            return weights_total(engine, table, name)
    return None


def _smallest(released: Released, crowd: Crowd | Records | None) -> tuple[Example, ...]:
    """Return the smallest classes, by people where these are known; equal ones in the order of their labels."""
    known = crowd.least if isinstance(crowd, Crowd) and crowd.pairs is not None else None
    order = np.argsort(released.sizes if known is None else known, kind="stable")[:SHOWN_CLASSES].tolist()
    return tuple(
        Example(released.labels_of(number), int(released.sizes[number]), None if known is None else int(known[number]))
        for number in order
    )
