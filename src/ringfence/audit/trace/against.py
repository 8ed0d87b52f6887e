"""A release judged against the original: no row is made up, none is lost unseen, no value is past its boundary.

Campan, Truta, Cooper: P-Sensitive K-Anonymity with Generalization Constraints. Transactions on Data Privacy 3, 2010,
Definition 6: a violation of a boundary is a cell whose value was generalized past the highest label allowed for it.
A release does not say which row became which. So the cells are counted over all ways to trace every published row back
to a row of its own: at least so many violate, at most so many.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import ibis
import numpy as np

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import total_by
from ringfence.audit.labels.item_labels import ItemLabels
from ringfence.audit.labels.spelling import ROOT
from ringfence.audit.trace.basket_tracing import BASKET, with_baskets
from ringfence.audit.trace.flows import Graph, effective, match
from ringfence.audit.trace.linkage import Coverage, Side, cover, link, read_sides
from ringfence.audit.verdict import Finding, some
from ringfence.errors import DataError, listed, suggestion
from ringfence.rows.columns import delimiter_hint
from ringfence.rows.engine import Engine
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec


@dataclass(frozen=True, eq=False)
class Linked:
    """A release beside its original: both sides, and what the labels of each quasi-identifier hold."""

    published: Side
    original: Side
    covers: tuple[Coverage, ...]

    @cached_property
    def graph(self) -> Graph:
        """Which published combinations may come from which of the original."""
        return link(self.published, self.original, self.covers)

    def example(self, number: int) -> dict[str, str | None]:
        """Return the labels of a published combination."""
        return {column.name: column.labels[column.codes[number]] for column in self.published.quasi}


def read_linked(
    engine: Engine,
    rows: ibis.Table,
    original: ibis.Table,
    spec: Spec,
    *,
    blind: bool = False,
    called: str = "original",
    items: ItemLabels | None = None,
) -> Linked:
    """Count both tables by the quasi-identifiers and, unless `blind`, by all other columns that they share.

    Baskets among these are compared by the labels of their `items`. Blind is who tries to link them without knowing the
    rest; combinations are then the classes of the release. Rows of the original that miss a value and therefore were
    not to be published are left out.
    """
    quasi = spec.of_role("quasi")
    for name in quasi:
        if name not in original.columns:
            hint = delimiter_hint(original.columns, quasi) or "; its columns are: " + listed(
                map(repr, original.columns)
            )
            raise DataError(
                f"the {called} has no column {name!r}{suggestion(name, original.columns)}, without which the release"
                f" cannot be judged against it{hint}"
            )
    original = complete(original, spec)
    shared = [name for name in rows.columns if name in original.columns and name not in quasi]
    kept = [] if blind else shared
    ours, theirs = (engine.count(table, [*quasi, *kept]) for table in (rows, original))
    if items is not None and spec.items in kept:
        ours, theirs = with_baskets(ours, theirs, items, spec)
        kept = [BASKET if name == spec.items else name for name in kept]
    published, raw = read_sides(ours, theirs, quasi, kept, spec, ROWS)
    try:
        covers = [cover(ours, theirs, raw.rows, spec) for ours, theirs in zip(published.quasi, raw.quasi, strict=True)]
    except DataError as error:
        raise DataError(f"in the {called}, {error}") from None
    return Linked(published, raw, tuple(covers))


def complete(original: ibis.Table, spec: Spec) -> ibis.Table:
    """Return the rows of an original that were to be published: where it says so, only those that miss nothing."""
    looked_at = [*spec.of_role("quasi"), *needed(spec), *([] if spec.data.entity is None else [spec.data.entity])]
    there = [name for name in looked_at if name in original.columns] if spec.data.missing == "suppress" else []
    return original.filter([original[name].notnull() for name in there]) if there else original


def needed(spec: Spec) -> list[str]:
    """Return the sensitive attributes that the models look at."""
    names = spec.of_role("sensitive") if spec.privacy.p is not None else []
    names += [part.attribute for part in spec.diversities()] + [part.attribute for part in spec.closenesses()]
    names += [bound.attribute for bound in spec.bounds().values()]
    return list(dict.fromkeys(names))


def judge_against(linked: Linked, spec: Spec) -> tuple[list[Finding], dict[str, int]]:
    """Return what is wrong with a release beside its original, and what was measured.

    Measured are the rows of the original and those suppressed; and, where there are boundaries, the cells past them:
    `past_boundary`, the fewest that any tracing back has, and `past_boundary_most` where it may be more.
    """
    published, original = linked.published, linked.original
    suppressed = original.total - published.total
    measured = {"original": original.total, "suppressed": max(suppressed, 0)}
    if suppressed < 0:
        message = f"the release has {some(-suppressed, 'row')} more than the original"
        return [Finding("rows", message, -suppressed, {})], measured
    findings = [*_too_many_suppressed(linked, suppressed, _certainly_masked(linked, spec), spec)]
    graph = linked.graph
    flow = match(graph)
    unmatched = published.rows - total_by(graph.left, flow, len(published.rows))
    if unmatched.any():
        return [*findings, _untraceable(linked, graph, unmatched)], measured
    used = graph.part(effective(graph, flow)) if has_boundaries(spec) else graph
    if has_boundaries(spec) and not findings:
        findings += _too_many_suppressed(linked, suppressed, _masked_past_boundaries(linked, used, spec), spec)
    cells = [*_boundary_cells(linked, used, spec)] if has_boundaries(spec) else []
    if cells:
        measured["past_boundary"] = sum(int(least.sum()) for _, least, _ in cells)
        most = sum(int(most.sum()) for _, _, most in cells)
        measured |= {} if most == measured["past_boundary"] else {"past_boundary_most": most}
        findings += [_past_boundary(linked, *each) for each in cells if each[1].any()]
    return findings, measured


def has_boundaries(spec: Spec) -> bool:
    """Whether some values may not be published under every label."""
    return any(spec.attributes[name].boundary is not None for name in spec.of_role("quasi"))


def _masked(published: Side) -> Bools:
    """Return which published combinations have `*` in every quasi-identifier."""
    masked = np.ones(len(published.rows), bool)
    for column in published.quasi:
        masked &= np.array([label == ROOT for label in column.labels], bool)[column.codes]
    return masked


def _certainly_masked(linked: Linked, spec: Spec) -> int:
    """Return how many rows have certainly lost everything, by their labels alone.

    Rows that show `*` everywhere may also have been generalized: all of them, or within boundaries some. Without a
    boundary, a value is published as `*` only where all values of its attribute are.
    """
    hidden = _masked(linked.published)
    certain = spec.method.keep_suppressed and not hidden.all() and not has_boundaries(spec)
    return int(linked.published.rows[hidden].sum()) if certain else 0


def _masked_past_boundaries(linked: Linked, graph: Graph, spec: Spec) -> int:
    """Return how many rows that show `*` everywhere have certainly lost it, since that is past their boundaries.

    Only so many can have been generalized as there are rows of the original for whom `*` is within all boundaries.
    """
    if not spec.method.keep_suppressed:
        return 0
    published = linked.published
    past = np.zeros(len(graph.left), bool)
    for column, each in zip(published.quasi, linked.covers, strict=True):
        if spec.attributes[column.name].boundary is not None:
            past |= each.past[column.codes[graph.left], each.leaves[graph.right]]
    within = total_by(graph.left[~past], graph.original[graph.right[~past]], len(published.rows))
    return int(np.maximum(np.where(_masked(published), published.rows, 0) - within, 0).sum())


def _too_many_suppressed(linked: Linked, missing: int, masked: int, spec: Spec) -> Iterator[Finding]:
    """Find more rows suppressed than the specification allows: `missing`, or kept with everything `masked`."""
    allowed = math.floor(spec.method.suppression_limit * linked.original.total + 1e-9)
    if missing + masked > allowed:
        message = (
            f"{some(missing + masked, 'row')} of the original {'is' if missing + masked == 1 else 'are'} suppressed,"
            f" but method.suppression allows {allowed:,}"
        )
        yield Finding("rows", message, missing + masked, {})


def _untraceable(linked: Linked, graph: Graph, unmatched: Longs) -> Finding:
    """Report published rows that cannot all come from different rows of the original."""
    alone = np.bincount(graph.left, minlength=len(unmatched)) == 0
    first = int(np.argmax(alone)) if alone.any() else int(np.argmax(unmatched > 0))
    nowhere = int(linked.published.rows[alone].sum())
    what = f", {nowhere:,} of them to no row at all" if nowhere else ""
    message = (
        f"{some(int(unmatched.sum()), 'row')} cannot be traced back to a row of the original of their own{what}: a"
        " published row must hold the values of a row of the original, and be the same in all that was not generalized"
        f"{_empty(linked)}"
    )
    return Finding("original", message, int(unmatched.sum()), linked.example(first))


def _empty(linked: Linked) -> str:
    """Name labels that hold no value of the original, of the first column that has any."""
    for column, each in zip(linked.published.quasi, linked.covers, strict=True):
        empty = [repr(column.labels[code]) for code in np.flatnonzero(~each.holds.any(axis=1)).tolist()]
        if empty:
            return f"; no value of {column.name!r} is under {listed(empty[:5])}: does its hierarchy lack them?"
    return ""


def _boundary_cells(linked: Linked, graph: Graph, spec: Spec) -> Iterator[tuple[str, Longs, Longs]]:
    """Yield for each attribute with a boundary how many rows of each combination are past it: at least, at most.

    Of the edges that some tracing back uses, those that violate and those that do not lead to so many rows of the
    original: no more rows than that can come from either.
    """
    published, count = linked.published, len(linked.published.rows)
    judged = np.where(_masked(published), 0, published.rows) if spec.method.keep_suppressed else published.rows
    for column, each in zip(published.quasi, linked.covers, strict=True):
        if spec.attributes[column.name].boundary is not None:
            past = each.past[column.codes[graph.left], each.leaves[graph.right]]
            bad = total_by(graph.left[past], graph.original[graph.right[past]], count)
            good = total_by(graph.left[~past], graph.original[graph.right[~past]], count)
            yield column.name, np.maximum(judged - good, 0), np.minimum(judged, bad)


def _past_boundary(linked: Linked, name: str, least: Longs, most: Longs) -> Finding:
    """Report an attribute that certainly has values past its boundary."""
    at_least, at_most = int(least.sum()), int(most.sum())
    cells = f"{at_least:,}" if at_least == at_most else f"at least {at_least:,} and at most {at_most:,}"
    message = f"{name!r} is generalized past its boundary in {cells} of {some(linked.published.total, 'row')}"
    return Finding("boundary", message, at_least, linked.example(int(least.argmax())))
