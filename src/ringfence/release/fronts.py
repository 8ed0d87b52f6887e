"""Fronts: what every k costs, as a table, a picture and plans.

Heavy libraries are imported inside the functions, so that importing `ringfence` is quick.
"""

import csv
import io
import json
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringfence.rows.staging import write_files
from ringfence.spec import Spec

if TYPE_CHECKING:
    import pyarrow as pa

    from ringfence.census.census import Census
    from ringfence.plans.base import Plan
    from ringfence.plans.recode import GlobalPlan
    from ringfence.report.front import About, FrontPicture
    from ringfence.search.front.frontier import Front, Point
    from ringfence.search.front.scheme_front import SchemeFront

MOST_KNEES = 3


class Saved(ABC):
    """What all fronts share: a table, files, and a table for the terminal."""

    @abstractmethod
    def _rows(self) -> list[dict[str, Any]]:
        """Return the front, a row for each of its k."""

    @abstractmethod
    def plot(self) -> "FrontPicture":
        """Return the picture."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Return the front as JSON would have it."""

    @property
    @abstractmethod
    def marked(self) -> Mapping[int, str]:
        """Words that stand beside some k."""

    @property
    def table(self) -> "pa.Table":
        """The front as a table, a row for each of its k."""
        import pyarrow as pa

        return pa.Table.from_pylist(self._rows())

    def save(self, folder: str | Path) -> Path:
        """Write frontier.csv, frontier.json, frontier.html and frontier.png into a folder; return the page's path."""
        folder, picture = Path(folder), self.plot()
        files = {
            "frontier.csv": self._csv().encode(),
            "frontier.json": (json.dumps(self.as_dict(), ensure_ascii=False, indent=2) + "\n").encode(),
            "frontier.png": picture.png(),
            "frontier.html": picture.html().encode(),
        }
        write_files(folder, files)
        return folder / "frontier.html"

    def _csv(self) -> str:
        text = io.StringIO(newline="")
        rows = self._rows()
        writer = csv.DictWriter(text, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def __str__(self) -> str:
        """Return the front as a table for the terminal: of a long one a selection, with what is marked."""
        rows, marked = self._rows(), self.marked
        step = max(1, len(rows) // 25)
        kept = [row for i, row in enumerate(rows) if i % step == 0 or row["k"] in marked or i == len(rows) - 1]
        header = [*kept[0], ""]
        lines = [[*map(_cell, row.values()), marked.get(row["k"], "")] for row in kept]
        widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
        table = [header, *lines]
        shown = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in table]
        more = "" if len(kept) == len(rows) else f"\n{len(kept)} of {len(rows)} points; the files have all of them"
        return "\n".join(line.rstrip() for line in shown) + more


@dataclass(frozen=True, eq=False)
class Frontier(Saved):
    """The front of k and loss: the releases that promise no less and lose no more than any other.

    `front.points` are its steps, by rising k; `plan(k)` is the cheapest plan for any k. Its `table` has k, loss,
    suppressed rows, classes, and the level of each attribute.
    """

    front: "Front"
    census: "Census" = field(repr=False)
    spec: Spec = field(repr=False)

    def _rows(self) -> list[dict[str, Any]]:
        third = self.front.objective
        return [
            {
                "k": point.k,
                **({third: point.measured} if third is not None else {}),
                "loss": point.loss,
                "suppressed": point.suppressed,
                "classes": point.classes,
                **dict(zip(self.census.names, point.levels, strict=True)),
            }
            for point in self.front.points
        ]

    @property
    def knees(self) -> "tuple[Point, ...]":
        """The points from which more k becomes dear, at most three."""
        return knees(self.front.points)

    @property
    def marked(self) -> Mapping[int, str]:
        """The knees."""
        return {point.k: "knee" for point in self.knees}

    @property
    def found(self) -> str:
        """How it was found, in words."""
        front = self.front
        proof = "" if front.complete else "; the time was up, so there may be better ones"
        partly = "; POkA may miss points" if self._may_miss else ""
        return f"{front.nodes:,} of {front.lattice:,} nodes evaluated in {front.seconds:.2f} s{proof}{partly}"

    def plan(self, k: int) -> "GlobalPlan":
        """Return the cheapest plan for k: what the method `optimal` with the scheme `level` finds for it."""
        from ringfence.judging.models import promise
        from ringfence.search.recode.recoded import plan_for
        from ringfence.values.recoding import at_level

        levels = self.front.best(k).levels
        privacy = self.spec.privacy.model_copy(update={"k": k})
        method = self.spec.method
        if self.front.objective is not None:  # of three objectives, nothing is suppressed
            method = method.model_copy(update={"suppression": 0.0})
        spec = self.spec.model_copy(update={"privacy": privacy, "method": method})
        recodings = [at_level(quasi.hierarchy, level) for quasi, level in zip(self.census.quasi, levels, strict=True)]
        return plan_for(self.census, spec, promise(spec, self.census), levels, recodings)

    def plot(self) -> "FrontPicture":
        """Return the picture: loss against k, the front as steps over the cloud of all nodes, knees marked."""
        from ringfence.report.front import draw_front

        about = about_front(self._rows(), self.census, self.spec, least=self.front.least)
        return draw_front(self.front, self.knees, self.census.names, about, may_miss=self._may_miss)

    @property
    def _may_miss(self) -> bool:
        """Whether it was found by a search that does not look everywhere."""
        return self.spec.frontier.algorithm == "poka"

    def as_dict(self) -> dict[str, Any]:
        """Return the front as JSON would have it."""
        return {
            "metric": self.spec.method.metric,
            "suppression": self.spec.method.suppression_limit,
            "rows": self.census.rows,
            "complete": self.front.complete,
            "nodes": self.front.nodes,
            "lattice": self.front.lattice,
            "knees": [point.k for point in self.knees],
            "points": self._rows(),
        }


@dataclass(frozen=True, eq=False)
class SchemeFrontier(Saved):
    """What some chosen k cost, searched one by one, each point proven or with what bounds it.

    Its `table` has k, loss, what no recoding can go below, whether the point is proven, suppressed rows, classes, what
    the best recoding by levels loses, where that is looked at, and the number of labels of each attribute.
    """

    front: "SchemeFront"
    census: "Census" = field(repr=False)
    spec: Spec = field(repr=False)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "k": point.k,
                "loss": point.loss,
                "at_least": point.search.bound,
                "proven": point.search.optimal,
                "suppressed": int(point.decision.metrics["suppressed"]),
                "classes": int(point.decision.metrics["classes"]),
                **({"by_levels": self.front.level_loss(point.k)} if self.front.levels is not None else {}),
                **{name: len({*column.labels}) for name, column in point.decision.plan.columns.items()},
            }
            for point in self.front.points
        ]

    @property
    def marked(self) -> Mapping[int, str]:
        """The points that are not proven: with a gap, if anything is known of what none can go below."""
        searches = [(point.k, point.search) for point in self.front.points if not point.search.optimal]
        return {k: f"gap {search.gap:.1%}" if search.bound > 0 else "gap not known" for k, search in searches}

    @property
    def found(self) -> str:
        """How it was found, in words."""
        points, impossible = self.front.points, self.front.impossible
        proven = sum(point.search.optimal for point in points)
        none = f"; no recoding is possible for k = {', '.join(map(str, impossible))}" if impossible else ""
        return f"{proven} of {len(points)} points proven in {self.front.seconds:.2f} s{none}"

    def plan(self, k: int) -> "Plan":
        """Return the plan of the smallest chosen k from `k` on: what holds there holds for k."""
        return self.front.best(k).decision.plan

    def plot(self) -> "FrontPicture":
        """Return the picture: loss against k, over the front of levels where there is one."""
        from ringfence.report.front import draw_scheme_front

        schemes = list(dict.fromkeys(map(self.spec.scheme_of, self.census.names)))
        called = f"the scheme{'s' * (len(schemes) > 1)} {' and '.join(schemes)}"
        if not self.spec.method.traits.by_scheme:
            called = f"the method {self.spec.method.name}"
        return draw_scheme_front(self.front, called, about_front(self._rows(), self.census, self.spec))

    def as_dict(self) -> dict[str, Any]:
        """Return the front as JSON would have it."""
        return {
            "metric": self.spec.method.minimized,
            "suppression": self.spec.method.suppression_limit,
            "rows": self.census.rows,
            "schemes": {name: self.spec.scheme_of(name) for name in self.census.names},
            "complete": all(point.search.optimal for point in self.front.points),
            "impossible": list(self.front.impossible),
            "points": self._rows(),
        }


def about_front(rows: Sequence[Mapping[str, Any]], census: "Census", spec: Spec, least: int = 2) -> "About":
    """Return what the page of a front says beside its picture."""
    from ringfence.declared import METRICS
    from ringfence.report.front import About

    loss = spec.method.minimized
    notes = [f"The loss, {loss}: {METRICS[loss].meaning}"]
    if spec.data.entity is not None:
        notes.append(f"k counts people, by the column {spec.data.entity}, not rows.")
    if further := [key for key in ("l", "p", "t") if getattr(spec.privacy, key) is not None]:
        notes.append(f"Whatever k is, every release keeps the {' and the '.join(further)} that was asked for, too.")
    if least == spec.privacy.k and least > 2:
        notes.append(
            f"It starts at k = {least:,}, which privacy.k asks for. Leave that out to see what smaller k cost."
        )
    return About(loss, census.rows, rows, notes)


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def knees(points: "Sequence[Point]") -> "tuple[Point, ...]":
    """Return the points from which more k becomes dear: at most three, by rising k.

    A point is compared with its surroundings, from a quarter of its k to four times its k. A knee lies below the
    straight line between their losses, k taken by its logarithm: up to there k came cheaply, and from there it does
    not. The ones that lie furthest below are kept, if that is a fiftieth of the front's range of losses or more, none
    within a factor of two of another. (After Satopää et al.: Finding a "Kneedle" in a Haystack, 2011, which looks at
    the whole curve.)
    """
    ks, losses = [point.k for point in points], [point.loss for point in points]

    def loss_at(k: float) -> float:
        return losses[bisect_left(ks, k)]

    def depth(place: int) -> float:
        k = ks[place]
        low, high = max(ks[0], k / 4), min(ks[-1], 4 * k)
        if low == high or k in (ks[0], ks[-1]):
            return 0.0
        line = loss_at(low) + (loss_at(high) - loss_at(low)) * log(k / low) / log(high / low)
        return (line - losses[place]) / (losses[-1] - losses[0])

    chosen: list[int] = []
    for place in sorted(range(len(points)), key=lambda place: (-depth(place), place)):
        apart = all(max(ks[place], ks[other]) >= 4 * min(ks[place], ks[other]) for other in chosen)
        if depth(place) >= 0.02 and apart and len(chosen) < MOST_KNEES:
            chosen.append(place)
    return tuple(points[place] for place in sorted(chosen))
