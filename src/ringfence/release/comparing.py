"""Comparisons: every way to keep a promise, tried on the same rows, measured side by side, and one of them advised.

Heavy libraries are imported inside the functions, so that importing `ringfence` is quick.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringfence.errors import SpecError, listed, suggestion
from ringfence.methods.candidates import Candidate
from ringfence.release.release import Release
from ringfence.rows.staging import write_files
from ringfence.spec import Spec

if TYPE_CHECKING:
    import pyarrow as pa

    from ringfence.audit.verdict import Verdict
    from ringfence.report.comparison import ComparisonPage
    from ringfence.search.decision import Decision
    from ringfence.yardsticks.measure import Yardsticks


@dataclass(frozen=True, eq=False)
class MeasuredRelease:
    """A release that was made, audited and measured: what is kept of it."""

    decision: "Decision"
    verdict: "Verdict"
    use: "Yardsticks | None"
    examples: tuple[Mapping[str, str | None], ...]


@dataclass(frozen=True, eq=False)
class Tried:
    """A candidate, and what came of it: `made`, or in `reason` why it was not; and how long that took.

    `late` says that there was no time left to try it: more may make it.
    """

    candidate: Candidate
    made: MeasuredRelease | None
    reason: str | None
    seconds: float
    late: bool = False

    @property
    def name(self) -> str:
        """What it is called."""
        return self.candidate.name

    def row(self) -> dict[str, Any]:
        """Return what is known of it, as a row of the comparison's table."""
        spec, made = self.candidate.spec, self.made
        known: dict[str, Any] = {
            "name": self.name,
            "method": spec.method.name,
            "promise": self.candidate.promise,
            "as_asked": self.candidate.as_asked,
            "plain": self.candidate.plain,
            "made": made is not None,
            "reason": self.reason,
            "late": self.late,
            "seconds": round(self.seconds, 3),
        }
        return known | ({} if made is None else _figures(made))


def _figures(made: MeasuredRelease) -> dict[str, Any]:
    metrics, search, risk = made.decision.metrics, made.decision.search, made.verdict.risk
    return {
        "rows": int(metrics["rows"]),
        "suppressed": int(metrics["suppressed"]),
        "classes": None if "classes" not in metrics else int(metrics["classes"]),
        "glm": metrics.get("glm"),
        **({} if made.use is None else made.use.as_dict()),
        "risk_highest": None if risk is None else risk.prosecutor.highest,
        "risk_mean": None if risk is None else risk.prosecutor.mean,
        "proven": None if search is None else search.optimal,
        "gap": None if search is None or search.optimal or search.bound <= 0 else search.gap,
    }


def _blamed(made: MeasuredRelease | None) -> str | None:
    """Say which attribute most of the error of a release is about, if it is one."""
    from ringfence.report.words import blame

    found = None if made is None or made.use is None else made.use.blamed
    return None if found is None else blame(found.name, found.with_it, found.without)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every candidate beside the others, by use, and the one that is advised.

    `tried` are all of them in the order in which they were tried; `table` has those that were made first, the most
    useful at the top. `naive` is what somebody is off by who knows the distribution of each attribute and nothing else.
    """

    spec: Spec
    tried: tuple[Tried, ...] = field(repr=False)
    naive: "Yardsticks | None" = field(repr=False)
    rows: int
    budget: float
    seconds: float
    remake: "Callable[[Tried], Release]" = field(repr=False)

    @cached_property
    def ranked(self) -> tuple[Tried, ...]:
        """All candidates: those that were made by what their users are off by, then the others."""
        return tuple(sorted(self.tried, key=lambda each: (each.made is None, self.off(each))))

    def off(self, tried: Tried) -> float:
        """Return what a candidate is ranked by: what its users are off by, on average over what they want to do.

        With a purpose, in the tables and models that it names; without, in COUNT queries and in all tables of one and
        two attributes. Where nothing is measured of it, by the loss.
        """
        if tried.made is None:
            return float("inf")
        use = tried.made.use
        return tried.made.decision.metrics.get("ncp", 0.0) if use is None else self._off(use)

    def _off(self, use: "Yardsticks") -> float:
        return use.off(self.spec.purpose)

    @property
    def best(self) -> Tried:
        """The candidate that is advised: the most useful of those that promise what was asked for."""
        return self.advised(lambda each: each.candidate.as_asked)

    @property
    def best_plain(self) -> Tried:
        """The most useful of those whose releases ordinary software can read: no lists in cells."""
        return self.advised(lambda each: each.candidate.as_asked and each.candidate.plain)

    def advised(self, which: Callable[[Tried], bool]) -> Tried:
        """Return the most useful of some candidates; of all, where none of these was made."""
        made = [each for each in self.ranked if each.made is not None]
        return next(filter(which, made), made[0])

    def release(self, name: str | None = None) -> Release:
        """Return the release of a candidate, by default of the one that is advised: made anew from what was decided.

        It is audited like any other. Which rows are drawn is left to chance, where a method leaves it to that.
        """
        return self.remake(self._named(name))

    def spec_of(self, name: str | None = None) -> Spec:
        """Return the specification that asks for a candidate, without the limits of the comparison."""
        return self._named(name).candidate.spec

    def _named(self, name: str | None) -> Tried:
        if name is None:
            return self.best
        made = {each.name: each for each in self.tried if each.made is not None}
        if name not in made:
            raise SpecError(f"no release {name!r} was made{suggestion(name, made)}; there are: {listed(made)}")
        return made[name]

    @property
    def table(self) -> "pa.Table":
        """A row for every candidate: what it promises, costs and is good for; or why it could not be made."""
        import pyarrow as pa

        rows = [row for row, _ in self._pairs()]
        names = [*dict.fromkeys(key for row in rows for key in row)]
        return pa.table({name: [row.get(name) for row in rows] for name in names})

    def _pairs(self) -> list[tuple[dict[str, Any], Tried]]:
        best = self.best
        return [
            (
                {**each.row(), "off": None if each.made is None else self.off(each), "advised": each is best},
                each,
            )
            for each in self.ranked
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON would have it."""
        return {
            "rows": self.rows,
            "budget": self.budget,
            "seconds": round(self.seconds, 3),
            "purpose": self.spec.purpose.model_dump(exclude_none=True),
            "advised": self.best.name,
            "advised plain": self.best_plain.name,
            "advice": self.page().advice,
            "naive": None if self.naive is None else self.naive.as_dict(),
            "candidates": [
                {**row, "examples": [dict(each) for each in tried.made.examples] if tried.made else []}
                for row, tried in self._pairs()
            ],
        }

    def page(self) -> "ComparisonPage":
        """Return the page: the table, the picture of use against risk, and the advice."""
        from ringfence.report.comparison import ComparisonPage

        rows = [
            {**row, "examples": () if each.made is None else each.made.examples, "blamed": _blamed(each.made)}
            for row, each in self._pairs()
        ]
        naive = None if self.naive is None else {**self.naive.as_dict(), "off": self._off(self.naive)}
        return ComparisonPage(rows, self.best.name, self.best_plain.name, naive, self.spec, self.rows)

    def save(self, folder: str | Path) -> Path:
        """Write compare.csv, .json, .html and .png into a folder, and best.toml, the specification that is advised.

        The page shows rows of several releases of the same people: it is not to be published. Returns its path.
        """
        from ringfence.release.publish import portable

        folder, page, text = Path(folder), self.page(), io.StringIO(newline="")
        table = self.table
        writer = csv.DictWriter(text, fieldnames=table.column_names)
        writer.writeheader()
        writer.writerows(table.to_pylist())
        files = {
            "compare.csv": text.getvalue().encode(),
            "compare.json": (json.dumps(self.as_dict(), ensure_ascii=False, indent=2) + "\n").encode(),
            "compare.html": page.html().encode(),
            "compare.png": page.png(),
            "best.toml": portable(self.spec_of()).dumps().encode(),
        }
        write_files(folder, files)
        return folder / "compare.html"

    def __str__(self) -> str:
        return self.page().text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.page().card()
