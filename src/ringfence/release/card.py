"""The card of a release: in a few lines what came out, for a prompt or a notebook."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ringfence.audit.verdict import some
from ringfence.markup import clipped, paragraph, table
from ringfence.plans.published import Published
from ringfence.release.manifest import COUNTED
from ringfence.report.evidence import attribute_losses
from ringfence.report.words import kept, number, percent
from ringfence.values.hierarchy import MISSING

if TYPE_CHECKING:
    from ringfence.release.release import Release

EXAMPLES = 3
COLUMNS = 8
WIDEST = 24  # characters of a cell


@dataclass(frozen=True)
class Card:
    """What came out of a run, in short: sentences, losses, and a few rows before and after."""

    verdict: str
    rows: str
    lost: str | None
    losses: Mapping[str, float]
    names: Sequence[str]
    examples: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]

    def _compared(self) -> list[tuple[str, ...]]:
        """Return the examples as rows of a table."""
        pairs = [(("before", *before), ("after", *after)) for before, after in self.examples]
        return [row for pair in pairs for row in pair]

    @property
    def summary(self) -> str:
        """How many rows there are, and what is lost, in words and in figures."""
        losses = ", ".join(f"{name} {_figure(value)}" for name, value in self.losses.items())
        lost = [] if self.lost is None else [self.lost]
        return "\n".join([self.rows, *lost, f"losses: {losses or 'none are measured, since nothing is generalized'}"])

    def __str__(self) -> str:
        lines = [self.verdict, self.summary]
        if self.examples:
            grid = [("", *self.names), *self._compared()]
            widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
            lines.append("")
            lines += ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in grid]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [paragraph(self.verdict, strong=True), paragraph(self.rows)]
        parts += [] if self.lost is None else [paragraph(self.lost)]
        if self.examples:
            rows = [
                (when, *cells) for pair in self.examples for when, cells in zip(("before", "after"), pair, strict=True)
            ]
            parts.append(table(["", *self.names], rows))
        if self.losses:
            parts.append(table(["loss", "value"], [(name, _figure(value)) for name, value in self.losses.items()]))
        return "".join(parts)


def card_of(release: "Release") -> Card:
    """Return the card of a release. Its examples show values of the original: a card is not to be published."""
    metrics, plan = release.metrics, release.plan
    examples: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    lost = None
    released = plan.published(release.census)
    if released is not None:
        lost, examples = _lost(metrics["detail"], attribute_losses(released)), _examples(released)
    return Card(
        verdict=_verdict(release),
        rows=_rows(release),
        lost=lost,
        losses={name: value for name, value in metrics.items() if name not in COUNTED},
        names=_few(release.census.names, f"and {len(release.census.names) - COLUMNS} more") if examples else (),
        examples=examples,
    )


def _verdict(release: "Release") -> str:
    """Say whether the promise holds, and what was measured of it."""
    found = [f"{line.asked} (measured: {line.measured})" for line in kept(release.spec, release.audit)]
    holds = "The promise holds" if release.audit.ok else "The promise does not hold"
    return f"{holds}: {', '.join(found)}" if found else f"{holds}."


def _rows(release: "Release") -> str:
    """Say how many rows there are, and what became of the others."""
    metrics = release.metrics
    total = release.census.rows + int(metrics.get("unknown", 0))
    kinds = {"classes": "class", "buckets": "bucket"}
    among = "".join(f" in {some(int(metrics[many]), one)}" for many, one in kinds.items() if many in metrics)
    gone = release.decision.suppressed
    share = f" ({percent(gone / total)})" if gone and total else ""
    masked = " and masked" if release.plan.masked else ""
    incomplete = f"; {release.incomplete:,} with missing values left out" if release.incomplete else ""
    return f"{some(int(metrics['rows']), 'row')} published{among}, {gone:,} suppressed{masked}{share}{incomplete}"


def _lost(overall: float, losses: Mapping[str, float]) -> str:
    """Say in words how much detail is lost, and where."""
    if not any(losses.values()):
        return "No detail is lost."
    most, least = max(losses, key=lambda name: losses[name]), min(losses, key=lambda name: losses[name])
    lost, highest, lowest = f"{percent(overall)} of the detail is lost", percent(losses[most]), percent(losses[least])
    if highest == lowest:
        return f"{lost}, as much in each attribute" if len(losses) > 1 else f"{lost}, all of it in “{most}”"
    return f"{lost}: “{most}” loses most ({highest}), “{least}” least ({lowest})"


def _examples(released: Published) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return a few rows before and after: from the first, the middle and the last third of the rows.

    Of rings another draw is shown than the release's, which nobody may know.
    """
    hierarchies = [quasi.hierarchy for quasi in released.census.quasi]
    upto = np.cumsum(released.weights)
    places = np.searchsorted(upto, upto[-1] * (2 * np.arange(EXAMPLES) + 1) // (2 * EXAMPLES), side="right")
    found = []
    for entry in dict.fromkeys(places.tolist()):
        before = [hierarchy.labels[leaf] for hierarchy, leaf in zip(hierarchies, released.before[entry], strict=True)]
        after = [shown.covers.labels[shown.value[entry]] for shown in released.shown]
        found.append((_few([*map(_cell, before)], "…"), _few([*map(_cell, after)], "…")))
    return found


def _few(cells: Sequence[str], rest: str) -> tuple[str, ...]:
    """Return the cells that a line has room for, and a mark where there are more."""
    return tuple(cells) if len(cells) <= COLUMNS else (*cells[:COLUMNS], rest)


def _cell(label: str | None) -> str:
    return clipped(MISSING if label is None else label, WIDEST)


def _figure(value: float) -> str:
    return number(value) if value >= 10 else f"{value:.4f}"
