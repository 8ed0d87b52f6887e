"""The judgement of k where it counts people: beside the original, by what a run knows, or by pseudonyms."""

import ibis

from ringfence.audit.counts import Released
from ringfence.audit.evidence import Evidence
from ringfence.audit.trace.against import read_linked
from ringfence.audit.trace.people import NOT_SEEN, Crowd, changing_values, possible_crowd, require_people, told_crowd
from ringfence.audit.trace.person_records import PSEUDONYMS, Records, read_records, trace_findings
from ringfence.rows.engine import Engine
from ringfence.rows.sources import WHOSE
from ringfence.spec import Spec


def with_people(rows: ibis.Table, traced: ibis.Table | None, spec: Spec) -> ibis.Table:
    """Return the rows of a release with whose they truly are, as the original has it, where that is known."""
    if traced is None or spec.pseudonym is None:
        return rows if traced is None else traced
    return traced.drop(spec.pseudonym).rename({spec.pseudonym: WHOSE})


def judge_people(
    evidence: Evidence,
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
    evidence: Evidence,
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
