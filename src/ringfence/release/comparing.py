"""Comparisons: every way to keep a promise, tried on the same rows, measured side by side, and one of them advised.

Heavy libraries are imported inside the functions, so that importing `ringfence` is quick.
"""

import csv
import io
import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

from ringfence.errors import RingfenceError, SpecError, listed, suggestion
from ringfence.events import Event
from ringfence.methods.candidates import Candidate
from ringfence.release.diary import Diary
from ringfence.release.release import Release
from ringfence.rows.staging import write_files
from ringfence.spec import Spec

if TYPE_CHECKING:
    import pyarrow as pa

    from ringfence.audit.verdict import Verdict
    from ringfence.report.comparison import ComparisonPage
    from ringfence.search.decision import Decision
    from ringfence.yardsticks.measure import Yardsticks

AHEAD = 3
"""How many candidates are under way at most: searches go on while what was found before is carried out."""
LEAST_SECONDS = 0.2
"""No search gets less than this, as long as there is any time left."""
LAST_SHARE = 0.1
"""The share of the time that is left to write down what was found, and for what takes longer than it should."""


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


Search: TypeAlias = "Callable[[Spec], Decision | None]"
"""Decides, of nothing but a census, as a specification says; None where that depends on rows as they are made."""


def try_all(
    candidates: Sequence[Candidate],
    prepare: Callable[[Candidate], Search],
    finish: "Callable[[Candidate, Spec, Decision | None], MeasuredRelease]",
    *,
    rows: int,
    budget: float,
    spent: float,
    diary: Diary,
) -> list[Tried]:
    """Try candidates one after the other, each search within its share of the time that is left.

    The next ones are searched for in a thread while what was found before is carried out, audited and measured here,
    where the rows are. Each gets its share when its search begins: what others left is for all that follow. One that
    there is no time left for says so. The first is always tried. Compiling is no part of the time.
    A listener that returns True when it hears of a candidate ends the time.
    """
    from ringfence.compiling import timed

    tried: list[Tried] = []
    with timed() as compiled, ThreadPoolExecutor(1, "search") as ahead:
        trials = _Trials(prepare, finish, rows, budget, time.monotonic() - spent, compiled, ahead)
        trials.waiting.update({each.name: each.worth for each in candidates if each.refusal() is None})
        begun: deque[_Begun] = deque()
        for place in range(len(candidates)):
            for following in candidates[place + len(begun) : place + AHEAD]:
                begun.append(trials.begin(following))
            found = trials.conclude(begun.popleft())
            tried.append(found)
            words = found.reason or _in_short(found)
            event = Event("compare", 0, f"{found.name}: {words}", len(tried), len(candidates), "candidates")
            if diary.told(event, found.row()) is True:
                trials.budget = 0.0  # enough has been seen: the others are not begun any more
    return tried


@dataclass
class _Trials:
    """Candidates on their way: how long each may search, and how long those before took beside their search."""

    prepare: Callable[[Candidate], Search]
    finish: "Callable[[Candidate, Spec, Decision | None], MeasuredRelease]"
    rows: int
    budget: float
    started: float
    compiled: Any
    ahead: ThreadPoolExecutor
    waiting: dict[str, int] = field(default_factory=dict)
    """How many shares of the time those are to have whose search has yet to begin."""
    under_way: int = 0
    took: list[float] = field(default_factory=list)

    def _now(self) -> float:
        return time.monotonic() - float(self.compiled.seconds)

    def begin(self, candidate: Candidate) -> "_Begun":
        """Begin to search for a candidate, if it can be made and there is time for it."""
        if (refusal := candidate.refusal()) is not None:
            return _Begun(candidate, refusal)
        is_first = not self.took and not self.under_way
        if not is_first and self._left() < self._beside() * (1 + self.under_way) + LEAST_SECONDS:
            self.waiting.pop(candidate.name, None)
            more = f"; give it more than {self.budget:g} seconds" if self.budget else ", as you wanted"
            return _Begun(candidate, f"the time was up{more}", late=True)
        try:
            search = self.prepare(candidate)
        except (RingfenceError, MemoryError) as error:
            self.waiting.pop(candidate.name, None)
            return _Begun(candidate, _why(error))
        self.under_way += 1
        return _Begun(candidate, None, searching=self.ahead.submit(self._searched, candidate, search))

    def _left(self) -> float:
        return (1 - LAST_SHARE) * self.budget - (self._now() - self.started)

    def _beside(self) -> float:
        """Return how long a candidate takes beside its search; the first also loads what all need."""
        took = [*self.took]
        return fmean(took[1:] or took or [0.0])

    def _searched(self, candidate: Candidate, search: Search) -> "_SearchDone":
        """Search in the share of the time that is left for it."""
        share = (self._left() - self._beside()) * candidate.worth / max(sum([*self.waiting.values()]), candidate.worth)
        self.waiting.pop(candidate.name, None)
        hurried, begun = candidate.within(max(share, LEAST_SECONDS), self.rows), self._now()
        return _SearchDone(hurried, search(hurried), self._now() - begun)

    def conclude(self, begun: "_Begun") -> Tried:
        """Return what came of a candidate: carry out what was found for it, audit and measure it."""
        if begun.searching is None:
            return Tried(begun.candidate, None, begun.reason, 0.0, begun.late)
        searched, since = 0.0, self._now()
        try:
            found = begun.searching.result()
            searched, since = found.seconds, self._now()
            made = self.finish(begun.candidate, found.hurried, found.decision)
        except (RingfenceError, MemoryError) as error:
            return Tried(begun.candidate, None, _why(error), searched + self._now() - since)
        finally:
            self.under_way -= 1
        seconds = self._now() - since
        self.took.append(seconds)
        return Tried(begun.candidate, made, None, searched + seconds)


@dataclass(frozen=True, eq=False)
class _SearchDone:
    """What a search within its limits decided, and how long it took."""

    hurried: Spec
    decision: "Decision | None"
    seconds: float


@dataclass(frozen=True, eq=False)
class _Begun:
    """A candidate that is being searched for, or in `reason` why it is not."""

    candidate: Candidate
    reason: str | None
    late: bool = False
    searching: "Future[_SearchDone] | None" = None


def _why(error: Exception) -> str:
    return str(error) or "there is not enough memory"


def _in_short(tried: Tried) -> str:
    use = None if tried.made is None else tried.made.use
    return "made" if use is None else f"queries are off by {use.queries:.1%}"


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

        rows = [{**row, "examples": () if each.made is None else each.made.examples} for row, each in self._pairs()]
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
