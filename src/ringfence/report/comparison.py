"""A comparison in words, as a table and as a picture: use against risk, and what is advised."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringfence.audit.verdict import some
from ringfence.declared import METHODS, RECODES
from ringfence.errors import listed
from ringfence.markup import paragraph, table
from ringfence.report import vega
from ringfence.report.page import inline, template, versions
from ringfence.report.style import ACCENT, FAINT, ORIGINAL, RELEASE, finish
from ringfence.report.vega import Chart, Layer, layered
from ringfence.report.words import PROVEN, percent
from ringfence.spec import Spec
from ringfence.spec.data import shown_name

Row = Mapping[str, Any]

SHOWN = {
    "off": ("off", "what it is ranked by: how far off users are on average, in what they want to do"),
    "queries": ("queries", "mean relative error of 1,000 COUNT queries over one to three attributes"),
    "singles": ("tables of 1", "share of rows that is not in its cell, in tables of one attribute"),
    "pairs": ("of 2", "share of rows that is not in its cell, in tables of two attributes"),
    "counts": ("asked", "share of rows that is not in its cell, in the tables that the purpose names"),
    "glm": ("glm", "general loss: the share of each attribute's values that a cell leaves open"),
    "suppressed": ("suppressed", "rows left out"),
    "risk_mean": ("risk", "mean chance that somebody who is known to be there is found"),
    "seconds": ("seconds", "what it took"),
}
"""What is shown of each candidate, and what it means."""


MOST_NAMED = 6
"""Where there are more candidates, the picture shows their places in the table instead of their names."""


@dataclass(frozen=True, eq=False)
class ComparisonPage:
    """What is shown of a comparison: `rows` of candidates, the most useful first, those that were not made last."""

    rows: Sequence[Row]
    best: str
    plain: str
    naive: Row | None
    spec: Spec
    read: int

    @property
    def made(self) -> list[Row]:
        """The candidates of which there is a release."""
        return [row for row in self.rows if row["made"]]

    @property
    def refused(self) -> list[Row]:
        """Those that cannot be made: each says why."""
        return [row for row in self.rows if not row["made"] and not row["late"]]

    @property
    def late(self) -> list[str]:
        """The names of those that there was no time for."""
        return [row["name"] for row in self.rows if row["late"]]

    @property
    def named(self) -> bool:
        """Whether the picture has room for the names of candidates."""
        return len(self.made) <= MOST_NAMED

    def kind(self, name: str) -> str:
        """Return what a candidate is and looks like, in words."""
        row = self._row(name)
        line = METHODS[row["method"]].line
        return f"{line if row.get('proven') else line.removesuffix(PROVEN)}; {self._looks(row)}"

    def _looks(self, row: Row) -> str:
        if METHODS[row["method"]].way == RECODES:
            return "each value recoded alike everywhere" + ("" if row["plain"] else "; cells list values, as {a, b}")
        return "ranges and labels of hierarchies" if row["plain"] else "cells list values, as {a, b}"

    def _row(self, name: str) -> Row:
        return next(row for row in self.rows if row["name"] == name)

    @property
    def title(self) -> str:
        """The advice in a line."""
        best = self._row(self.best)
        return f"{self.best}: {self._off(best)}, the least of {some(len(self._alike), 'release')} that promise this"

    @property
    def _alike(self) -> list[Row]:
        return [row for row in self.made if row["as_asked"]] or self.made

    def _off(self, row: Row) -> str:
        return f"users are off by {percent(row['off'])}" if self.naive is not None else f"a loss of {row['off']:.4f}"

    @property
    def advice(self) -> list[str]:
        """What is advised, why, and at what price: a sentence each."""
        return [*self._reasons(), *self._price(), *self._others()]

    def _reasons(self) -> Iterator[str]:
        best = self._row(self.best)
        purpose = self.spec.purpose
        what = (
            "in the tables and models of the purpose" if purpose.counts or purpose.predict else "in queries and tables"
        )
        yield (
            f"Advised: {self.best}. Of {some(len(self._alike), 'release')} that promise what was asked, its users are"
            f" off least: by {percent(best['off'])} on average {what}."
            if self.naive is not None
            else f"Advised: {self.best}, of {some(len(self._alike), 'release')} the one that loses least."
        )
        after = [row for row in self._alike if row["name"] != self.best]
        if after and self.naive is not None:
            yield f"With the next best, {after[0]['name']}, they are off by {percent(after[0]['off'])}."
        if self.naive is not None:
            naive = f"who knows nothing but the distribution of each attribute is off by {percent(self.naive['off'])}"
            fewer = "Fewer quasi-identifiers"
            if not self.spec.output.counts:
                fewer = "Counts of values beside it (output.counts = true), fewer quasi-identifiers"
            yield (
                f"For comparison, {naive}."
                if self.naive["off"] > best["off"]
                else f"Mind that {naive}: for what was measured, tables of single attributes would serve as well."
                f" {fewer}, a smaller k or more rows make a release worth its while; purpose.counts says which tables"
                " matter."
            )
        if blamed := best.get("blamed"):
            yield f"In {self.best}, {blamed}"

    def _price(self) -> Iterator[str]:
        best, plain = self._row(self.best), self._row(self.plain)
        if best["suppressed"]:
            share = percent(best["suppressed"] / max(self.read, 1))
            yield f"Its price: {some(best['suppressed'], 'row')} ({share}) are left out."
        if not best["plain"] and plain["plain"]:
            yield (
                "Its price: cells list values, as {a, b}, and ordinary software takes each list for a value of its own;"
                f" where that will not do, {self.plain} has ranges and labels of hierarchies only, and"
                f" {self._off(plain)}{self._dear(plain)}."
            )
            if blamed := plain.get("blamed"):
                yield f"In {self.plain}, {blamed}"
        if best["proven"] is False:
            gap = best.get("gap")
            yield "It is not proven to be the best of its kind" + (
                f": at most {percent(gap)} of its loss could be saved." if gap else "; more time may find a better one."
            )

    def _dear(self, plain: Row) -> str:
        """Say of a release without lists if it tells less than each attribute by itself would."""
        if self.naive is None or self.naive["off"] >= plain["off"] or self.naive["off"] <= self._row(self.best)["off"]:
            return ""
        mended = "" if self.spec.output.counts else " ask for counts of values beside it (output.counts = true), or"
        return (
            f", more than who knows each attribute by itself: where counts matter,{mended} publish the lists, which"
            " typed.parquet has as such"
        )

    def _others(self) -> Iterator[str]:
        best = self._row(self.best)
        for row in self.made:
            if not row["as_asked"] and row["off"] < best["off"]:
                less = f"{row['name']} is off by less ({percent(row['off'])}), but promises something else"
                yield f"{less}: {row['promise']}."
        if self.late:
            yield f"There was no time to try {listed(self.late)}: a larger budget has it."

    # As text

    def in_three_lines(self) -> str:
        """Return the most useful release, the most useful that ordinary software can read, and the least useful."""
        kinds = ["the most useful", "the most useful that ordinary software can read", "the least useful"]
        lines = []
        for name, kind in zip([self.best, self.plain, self._alike[-1]["name"]], kinds, strict=True):
            row = self._row(name)
            lines.append(f"  {_cell('off', row['off']):>6}  {name}: {kind}; {self._looks(row)}")
        head = f"{some(len(self._alike), 'way')} to promise this, tried, audited and measured. How far off users are:"
        return "\n".join([head, *dict.fromkeys(lines)])

    def _columns(self) -> list[str]:
        shown = [key for key in SHOWN if any(row.get(key) is not None for row in self.made)]
        models = [key for key in self.made[0] if key.startswith(("AUC of ", "R2 of "))]
        place = shown.index("suppressed")
        shown[place:place] = models
        return [key for key in shown if key != "counts" or self.spec.purpose.counts]

    def text(self) -> str:
        """Return the table and the advice, for a terminal."""
        columns = self._columns()
        grid = [["", "", "candidate", *(_head(key)[0] for key in columns), "proven"]]
        for place, row in enumerate(self.made, 1):
            mark = "→" if row["name"] == self.best else "≠" if not row["as_asked"] else ""
            grid.append([mark, str(place), row["name"], *(_cell(key, row.get(key)) for key in columns), _proven(row)])
        if self.naive is not None:
            grid.append(["", "", "(naive)", *(_cell(key, self.naive.get(key)) for key in columns), ""])
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(w) if at < 3 else cell.rjust(w)
                for at, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in grid
        ]
        legend = []
        if any(not row["as_asked"] for row in self.made):
            legend = ["≠ promises something else: see the page"]
        refused = [f"not made: {row['name']}: {row['reason']}" for row in self.refused]
        return "\n".join([*(line.rstrip() for line in lines), *legend, *refused, "", *self.advice])

    # As a picture

    @property
    def chart(self) -> Chart:
        """The picture: how far off users are, against the risk of being found."""
        rows = [
            {
                "risk": row["risk_mean"],
                "off": row["off"],
                "name": row["name"] if self.named else str(place),
                "kind": "advised" if row["name"] == self.best else "as asked" if row["as_asked"] else "another promise",
            }
            for place, row in enumerate(self.made, 1)
            if row.get("risk_mean") is not None and row["off"] > 0
        ]
        x = vega.shows(
            "risk:Q",
            axis=vega.options(title="mean chance of being found →", format="~%", tickCount=6),
            scale=vega.options(zero=False, padding=60),
        )
        y = vega.shows(
            "off:Q",
            axis=vega.options(title="how far off users are (log) →", format="~%", tickCount=6),
            scale=vega.options(type="log", padding=20),
        )
        color = vega.shows(
            "kind:N",
            scale=vega.options(domain=["advised", "as asked", "another promise"], range=[ACCENT, RELEASE, ORIGINAL]),
            legend=vega.options(title=None, orient="top"),
        )
        base = Layer(rows).encode(x=x, y=y)
        marks = [
            base.mark("circle", size=90, opacity=1).encode(color=color),
            base.mark("text", align="center", dy=-12).encode(text="name:N"),
        ]
        if self.naive is not None and self.naive["off"] > 0:
            line = Layer([{"off": self.naive["off"], "name": "attributes taken to be independent"}])
            marks.append(line.mark("rule", color=FAINT, strokeDash=[4, 4]).encode(y=y))
            words = line.mark("text", align="left", dy=-6, color=FAINT, fontStyle="italic")
            marks.append(words.encode(x=vega.pixel(4), y=y, text="name:N"))
        return finish(layered(*marks, width=640, height=380), self.title)

    def png(self) -> bytes:
        """Return the picture as PNG."""
        return vega.png(self.chart)

    def html(self) -> str:
        """Return the page, which needs nothing else."""
        columns = self._columns()
        return template("comparison").render(
            source=shown_name(self.spec.data.source) if self.spec.data.source else None,
            page=self,
            purpose=self.spec.purpose,
            columns=[_head(key) for key in columns],
            lines=[(row, [_cell(key, row.get(key)) for key in columns], _proven(row)) for row in self.made],
            naive=None if self.naive is None else [_cell(key, self.naive.get(key)) for key in columns],
            picture=inline(self.chart, self.title),
            versions=versions(),
        )

    def card(self) -> str:
        """Return the table and the advice, for a notebook."""
        columns = self._columns()
        rows = [(row["name"], *(_cell(key, row.get(key)) for key in columns), _proven(row)) for row in self.made]
        return "".join(
            [
                paragraph(self.title, strong=True),
                table(["candidate", *(_head(key)[0] for key in columns), "proven"], rows),
                *map(paragraph, self.advice),
            ]
        )


def _cell(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key == "seconds":
        return f"{value:.1f}"
    if key == "suppressed":
        return f"{value:,}"
    return f"{value:.4f}" if key == "glm" else f"{value:.3f}" if key not in SHOWN else percent(value)


def _head(key: str) -> tuple[str, str]:
    """Return what a column is called, and what it means."""
    told = "how well a linear model that is trained on the release tells it, on rows of the original that were held out"
    return SHOWN.get(key, (key, told))


def _proven(row: Row) -> str:
    if row.get("proven") is None:
        return ""
    if row["proven"]:
        return "yes"
    return "no" if row.get("gap") is None else f"gap {percent(row['gap'])}"
