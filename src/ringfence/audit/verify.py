"""The audit: does a released table keep the promise of its specification? Judged by what it says, and nothing else.

One scan counts the combinations of published values; all judgements are made on those counts, each from its definition,
with no code in common with the searches, their models or their metrics.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import ibis
import numpy as np

from ringfence.audit.attacks.at_hand import AtHand
from ringfence.audit.attacks.carry_out import (
    REFINEMENT,
    carry_out,
    choose,
    read_other,
    read_truth,
    row_by_row,
    unsuccessful,
)
from ringfence.audit.attacks.carry_out import items as attack_items
from ringfence.audit.attacks.corruption import corrupt
from ringfence.audit.column_findings import (
    column_findings,
    label_findings,
    missing_findings,
    require_columns,
    without_blanks,
    zero_findings,
)
from ringfence.audit.counts import Column, Released, read_released
from ringfence.audit.labels.gaps import gap_notes
from ringfence.audit.labels.growing import stated_tree
from ringfence.audit.models.guarantees import judge
from ringfence.audit.models.km_anonymity import judge_baskets
from ringfence.audit.models.population import Fits, fit
from ringfence.audit.models.posterior import judge_posteriors
from ringfence.audit.refinement.classes import loose_findings
from ringfence.audit.refinement.notes import told_by_labels
from ringfence.audit.refinement.refine import refine
from ringfence.audit.risk import Risk, measure_risk
from ringfence.audit.trace.against import Linked, has_boundaries, judge_against, needed, read_linked
from ringfence.audit.trace.anatomy import verify_anatomy
from ringfence.audit.trace.basket_tracing import item_tree, trace_baskets
from ringfence.audit.trace.people import NOT_SEEN, Crowd, changing_values, possible_crowd, require_people, told_crowd
from ringfence.audit.trace.person_records import PSEUDONYMS, Records, read_records, trace_findings
from ringfence.audit.trace.ring_matches import DRAW, Matches, find_matches, has_rings, judge_rings
from ringfence.audit.trace.rows import Origin, prove_rows
from ringfence.audit.verdict import Attack, Example, Finding, Verdict
from ringfence.errors import DataError, SpecError
from ringfence.rows.basket_rows import count_baskets, gather
from ringfence.rows.columns import weights_total
from ringfence.rows.engine import Engine
from ringfence.rows.sources import ROWS, WHICH, WHOSE
from ringfence.spec import Spec

SHOWN_CLASSES = 5
ASKS_NOTHING = "privacy.k = 1 asks for nothing: every row may be the only one of its kind"


@dataclass(eq=False)
class _Evidence:
    """What an audit has found so far."""

    findings: list[Finding] = field(default_factory=list)
    measured: dict[str, int | float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    crowd: Crowd | Records | None = None
    """The people behind it, where k counts them and they are known."""

    def add(self, findings: Iterable[Finding | None], measured: Mapping[str, int | float] | None = None) -> None:
        """Add what is wrong and what was measured."""
        self.findings += [finding for finding in findings if finding is not None]
        self.measured |= measured or {}


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
    by themselves or by the original: `values` is the second, with the sensitive values of each bucket.

    Where k counts people (`data.entity`), rows are counted from the release, people beside the original: of releases in
    which more rows fit a class than it has, there may be no telling, unless `traced` says whose each row is. It has the
    rows of the release with the column `data.entity`, and is believed only as far as it can be traced back. What could
    not be judged is said in `Verdict.unjudged`. A run knows its `origin`, and has it proven row by row.
    """
    wrong_rows = [] if origin is None else [*prove_rows(engine, rows, spec, origin, values)]
    if origin is not None and origin.marked is not None and spec.data.entity is not None:
        traced = origin.marked.drop(WHICH)
    if spec.has_buckets:
        beside = _second_table(values, population, other)
        attacks = choose(attacks, spec, has_original=original is not None, has_other=False)
        verdict = verify_anatomy(engine, rows, beside, spec, original, corrupted=corrupted, attacks=attacks)
        return verdict.with_findings(wrong_rows)
    attacks = choose(attacks, spec, has_original=original is not None, has_other=other is not None)
    attacked = any(name != REFINEMENT for name in attacks)
    _refuse_unjudged(spec, original is not None, population is not None, corrupted, REFINEMENT in attacks)
    rows, released = _read(engine, rows, spec, attacked)
    quasi, total = spec.of_role("quasi"), int(released.rows.sum())
    evidence = _Evidence([*column_findings(rows.columns, total, spec), *wrong_rows], {"k": 0})
    if total == 0:
        evidence.add([Finding("rows", "the release has no rows; a release must have some", 0, {})], {"rows": 0})
        return _verdict(evidence, released, spec, risk=None)
    evidence.add([*missing_findings(released, spec), *label_findings(released, spec, engine, rows)])
    evidence.add(zero_findings(engine, rows, total))
    _judge_labels(evidence, released, spec, has_original=original is not None)
    shown = rows.drop(*(name for name in (spec.items, spec.pseudonym) if name is not None))
    linked, matches = None, None
    if original is not None and quasi:
        known, whose = _beside(engine, original, spec), _with_people(shown, traced, spec)
        if origin is not None and origin.marked is not None and not has_boundaries(spec):
            # All else of each row has been compared with that of its mark: rows need not be told apart by it.
            whose = whose.select(*quasi, *(name for name in whose.columns if name == spec.data.entity))
        linked, matches = _judge_original(evidence, engine, whose, known, released, spec, corrupted, attacked)
    evidence.crowd = _judge_people(evidence, engine, rows, traced, original, released, spec)
    fits = (
        None
        if population is None
        else fit(read_linked(engine, shown, population, spec, blind=True, called="population"))
    )
    if fits is not None:
        evidence.add(fits.findings(spec), fits.measured)
    if spec.privacy.m is not None:
        evidence.add(*_judge_baskets(engine, rows, spec, spec.privacy.m, original))
    evidence.measured["rows"] = total
    size = _population_size(engine, spec, [each for each in (population, rows, original) if each is not None], fits)
    risk = _risk(released, spec, matches, fits, size, evidence.crowd) if quasi else None
    verdict = _verdict(evidence, released, spec, risk=risk)
    carried_out: list[Attack] = []
    if attacks and linked is not None and original is not None:
        known, sensitive = _beside(engine, original, spec), [*released.sensitive]
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
    counted = engine.count(rows, told) if told else engine.fetch(rows.aggregate(rows.count().name(ROWS)))
    return rows, read_released(counted, ROWS, quasi, sensitive, spec)


def _second_table(values: ibis.Table | None, population: ibis.Table | None, other: ibis.Table | None) -> ibis.Table:
    """Return the second of the two tables of Anatomy, which are not judged by other tables than their original."""
    if population is not None or other is not None:
        raise DataError("the two tables of the method 'anatomy' are judged by themselves and by their original only")
    if values is None:
        raise DataError("a release of the method 'anatomy' is two tables; the one of sensitive values is missing")
    return values


def _verdict(evidence: _Evidence, released: Released, spec: Spec, *, risk: Risk | None) -> Verdict:
    """Put the verdict together; of baskets alone, and of rings, there are no classes to speak of."""
    findings, rings = tuple(evidence.findings), has_rings(spec)
    if not spec.of_role("quasi") and spec.items is not None:
        return Verdict(not findings, evidence.measured, findings, ())
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


def _judge_labels(evidence: _Evidence, released: Released, spec: Spec, *, has_original: bool) -> None:
    """Judge classes, where there are any, and what labels tell."""
    if not has_rings(spec):
        for judgement in judge(released, spec):
            evidence.add([judgement.finding(released)], {judgement.key: judgement.measured})
        evidence.notes += gap_notes(released, spec.k) if spec.of_role("quasi") else []
        evidence.notes += [ASKS_NOTHING] if spec.privacy.k == 1 and spec.of_role("quasi") else []
    elif not has_original:
        evidence.unjudged.append("k of a ring, which needs the original: who could be who is seen only beside it")
    evidence.notes += told_by_labels(spec)
    evidence.add(loose_findings(released, spec))


def _judge_original(
    evidence: _Evidence,
    engine: Engine,
    rows: ibis.Table,
    original: ibis.Table,
    released: Released,
    spec: Spec,
    corrupted: int,
    attacked: bool,
) -> tuple[Linked | None, Matches | None]:
    """Trace the release back, and judge rings and known rows by who could be who; return that, where it is needed."""
    traced = read_linked(engine, rows, original, spec)
    found, measured = judge_against(traced, spec)
    if "past_boundary" in measured:  # cell by cell, which tells more than the labels alone
        evidence.findings = [finding for finding in evidence.findings if finding.rule != "boundary"]
    linked, matches = None, None
    if has_rings(spec) or corrupted or attacked:
        alone = {*rows.columns} == {*spec.of_role("quasi")}
        linked = traced if alone else read_linked(engine, rows, original, spec, blind=True)
        matches = find_matches(linked.graph)  # where there are none, the release cannot be traced back either
    if linked is not None and matches is not None and has_rings(spec):
        evidence.add(*judge_rings(matches, linked, released, spec))
        for wanted in spec.diversities() if spec.method.paper_diversity else ():
            evidence.add(judge_posteriors(matches, linked, released, wanted.attribute, int(wanted.value)))
        evidence.notes.append(DRAW)
    evidence.add(found, measured)
    if matches is not None and corrupted:
        after = corrupt(matches, corrupted)
        evidence.add([], {"after_corruption": after.fewest, "after_corruption_bound": after.bound})
        evidence.notes.append(str(after))
    return linked, matches


def _with_people(rows: ibis.Table, traced: ibis.Table | None, spec: Spec) -> ibis.Table:
    """Return the rows of a release with whose they truly are, as the original has it, where that is known."""
    if traced is None or spec.pseudonym is None:
        return rows if traced is None else traced
    return traced.drop(spec.pseudonym).rename({spec.pseudonym: WHOSE})


def _judge_people(
    evidence: _Evidence,
    engine: Engine,
    rows: ibis.Table,
    traced: ibis.Table | None,
    original: ibis.Table | None,
    released: Released,
    spec: Spec,
) -> Crowd | Records | None:
    """Judge k by people, where it counts them; return what is known of them.

    Until it is known, k stands for nothing, and rows for rows.
    """
    if spec.data.entity is None:
        return None
    k, entity = spec.k, spec.data.entity
    evidence.measured["k_rows"] = evidence.measured.pop("k")
    if spec.pseudonym is not None:
        return _judge_records(evidence, engine, rows, traced, released, spec)
    if original is None:
        evidence.unjudged.append(NOT_SEEN.format(entity=entity))
        return None
    original = require_people(original, engine, spec)
    if traced is not None:
        findings, crowd = told_crowd(engine, traced, released, spec)
        evidence.add(findings)
    else:
        found = possible_crowd(engine, rows, original, read_linked(engine, rows, original, spec), released, spec)
        if found is None:  # and it has been found out that it cannot be traced back
            return None
        crowd = found
    evidence.findings = [finding for finding in evidence.findings if finding.rule != "k"]  # fewer rows, fewer people
    evidence.add(crowd.findings(released, k), crowd.measured)
    evidence.unjudged += [*crowd.unjudged(k), *changing_values(engine, original, spec)]
    return crowd


def _judge_records(
    evidence: _Evidence,
    engine: Engine,
    rows: ibis.Table,
    traced: ibis.Table | None,
    released: Released,
    spec: Spec,
) -> Records:
    """Judge k by people all of whose rows stay together under a pseudonym."""
    records, entity = read_records(engine, rows, spec), spec.entity
    evidence.findings = [finding for finding in evidence.findings if finding.rule != "k"]  # fewer rows, fewer people
    fewest = int(records.sharing.min()) if len(records.sharing) else 0
    evidence.add(
        records.findings(released, spec.k, entity),
        {"k": fewest, "people": len(records.sharing)},
    )
    if traced is None:
        evidence.notes.append(PSEUDONYMS.format(entity=entity))
    else:
        evidence.add(trace_findings(engine, traced, rows, spec))
    return records


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
        alone = np.arange(len(crowd.sharing))
        return measure_risk(np.ones_like(alone), crowd.sharing, [], spec.k, members=(alone, alone))
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


def _beside(engine: Engine, original: ibis.Table, spec: Spec) -> ibis.Table:
    """Return the rows of an original that a release can be traced back to: of a long table, one a basket."""
    if spec.items is None:
        return original
    basket = [spec.data.basket_id, spec.items]
    hidden = [*spec.of_role("identifier"), *(name for name in original.columns if name not in spec.attributes)]
    columns = [name for name in original.columns if name in basket or name not in hidden]
    return gather(engine, original, spec, columns).drop(spec.items)


def _judge_baskets(
    engine: Engine, rows: ibis.Table, spec: Spec, m: int, original: ibis.Table | None
) -> tuple[list[Finding], dict[str, int]]:
    """Judge baskets by their labels, and these by the item tree where the specification alone determines it.

    A tree that was made from the items of the original can be made again from the original, if all of its rows took
    part: where there are quasi-identifiers as well, only those did that were not suppressed. Then it is left out.
    """
    name, alone, baskets = spec.item_column, not spec.of_role("quasi"), count_baskets(engine, rows, spec)
    tree = stated_tree(name, spec)
    found: list[Finding] = []
    measured: dict[str, int] = {}
    if original is not None and (tree is not None or alone):
        known = [spec.data.basket_id, name]
        shown = [
            each for each in original.columns if each in known or (each in rows.columns and each in spec.attributes)
        ]
        bought = count_baskets(engine, gather(engine, original, spec, shown), spec)
        tree = item_tree(bought, spec)
        found, measured = trace_baskets(baskets, bought, tree, spec)
    judged = judge_baskets(baskets.lists, tree, spec.k, m, name, baskets.rows)
    measured = {**(measured if alone else {}), "k" if alone else f"k:{name}": judged.measured["k"]}
    return [*judged.findings, *found], {**measured, "m": judged.measured["m"]}


def _refuse_unjudged(spec: Spec, has_original: bool, has_population: bool, corrupted: int, refined: bool) -> None:
    """Refuse promises that are not judged yet, or not without the original: to pass over them would be to vouch."""
    if spec.data.entity is not None and (has_population or corrupted):
        raise SpecError(row_by_row(spec))
    for key in ("k_map", "presence"):
        if getattr(spec.privacy, key) is not None and not has_population:
            raise DataError(f"privacy.{key} could not be judged: it needs a table of the population")
    if corrupted < 0:
        raise SpecError(f"corrupted = {corrupted}: allowed: how many rows the adversary knows, from 0 on")
    if corrupted and not has_original:
        raise DataError("what known rows give away could not be judged: it needs the original")
    if has_rings(spec):
        if not has_original and not refined:
            raise DataError(
                "a release of the method 'ring' could not be judged: its rows have no classes, and who could be who is"
                " seen only beside the original; give the original, or set method.homogeneous = true if it has classes"
            )
        kinds = {part.kind for part in spec.diversities()} - {"distinct"}
        others = {"privacy.t": bool(spec.closenesses()), "privacy.p": spec.privacy.p is not None}
        others |= {f"privacy.{key}": True for key in spec.bounds()}
        others |= {"privacy.presence": spec.privacy.presence is not None}
        for key in [key for key, asked in others.items() if asked] + [f"privacy.l of kind {kind!r}" for kind in kinds]:
            raise SpecError(f"{key} cannot be judged for the method 'ring', which promises k and distinct l")


def _smallest(released: Released, crowd: Crowd | Records | None) -> tuple[Example, ...]:
    """Return the smallest classes, by people where these are known; equal ones in the order of their labels."""
    known = crowd.least if isinstance(crowd, Crowd) and crowd.pairs is not None else None
    order = np.argsort(released.sizes if known is None else known, kind="stable")[:SHOWN_CLASSES].tolist()
    return tuple(
        Example(released.labels_of(number), int(released.sizes[number]), None if known is None else int(known[number]))
        for number in order
    )
