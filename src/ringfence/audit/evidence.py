"""What an audit has found so far, and its judgements by labels and by who could be who."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import ibis

from ringfence.audit.attacks.corruption import corrupt
from ringfence.audit.counts import Released
from ringfence.audit.labels.gaps import gap_notes
from ringfence.audit.labels.item_labels import UNKNOWN, ItemLabels
from ringfence.audit.models.guarantees import judge
from ringfence.audit.models.posterior import judge_posteriors
from ringfence.audit.refinement.classes import loose_findings
from ringfence.audit.refinement.notes import told_by_labels
from ringfence.audit.trace.against import Linked, judge_against, read_linked
from ringfence.audit.trace.people import Crowd
from ringfence.audit.trace.person_records import Records
from ringfence.audit.trace.ring_matches import DRAW, Matches, find_matches, has_rings, judge_rings
from ringfence.audit.verdict import Finding
from ringfence.rows.engine import Engine
from ringfence.spec import Spec

ASKS_NOTHING = "privacy.k = 1 asks for nothing: every row may be the only one of its kind"


@dataclass(eq=False)
class Evidence:
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


def judge_labels(evidence: Evidence, released: Released, spec: Spec, *, has_original: bool) -> None:
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


def judge_original(
    evidence: Evidence,
    engine: Engine,
    rows: ibis.Table,
    original: ibis.Table,
    released: Released,
    spec: Spec,
    corrupted: int,
    attacked: bool,
    items: ItemLabels | None = None,
) -> tuple[Linked | None, Matches | None]:
    """Trace the release back, and judge rings and known rows by who could be who; return that, where it is needed."""
    traced = read_linked(engine, rows, original, spec, items=items)
    found, measured = judge_against(traced, spec)
    evidence.notes += [UNKNOWN.format(name=spec.items)] if items is not None and len(items.groups) > 1 else []
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
