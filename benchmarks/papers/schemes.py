"""Figs. 10 to 13 of Li and Li on Adult: two directions, six schemes, two losses, and what each technique saves.

Li and Li: Towards optimal k-anonymization. Data and Knowledge Engineering 65, 2008, section 5. The page is
docs/papers/schemes, the hierarchies are in schemes.toml beside this file.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.data import adult, count
from benchmarks.papers.pages import Page, Row
from benchmarks.papers.schemes_charts import draw_lines
from ringfence.census.census import Census
from ringfence.census.classes import Roller
from ringfence.judging.metrics import hdm_tallies, metric
from ringfence.judging.models import promise
from ringfence.methods import decide
from ringfence.search.progress import SearchResult, Watch
from ringfence.search.recode.branch_and_bound import Techniques, search_partitions
from ringfence.search.recode.spaces import Space
from ringfence.spec import Spec

SPEC = Path(__file__).with_suffix(".toml")
ATTRIBUTES = ["age", "marital-status", "race", "sex", "workclass", "education", "native-country"]
FOUR = ATTRIBUTES[:4]
SCHEMES = ["level", "cut", "guided-ordered", "guided-set", "ordered", "set"]
NUMBERS = {"set": "ordered", "guided-set": "guided-ordered"}
"""The scheme of age: the paper takes sets for categories, and runs for numbers."""

KS = [2, 3, 5, 10, 15, 20]
FEW_KS = [2, 5]
"""The k of Fig. 13; with large ones, searches without techniques end nowhere."""

MOST = 250_000
"""After so many recodings a search in either direction ends: counted, so that every run gives the same figures."""

MOST_AUTO = 10_000
"""After so many evaluations `auto` ends; each takes much longer than a recoding does there."""

BOUNDS = Techniques(**{part.name: part.name == "pruning" for part in fields(Techniques)})
PLAIN = replace(BOUNDS, useless=True)
"""What the paper takes for granted before its own techniques: bounds, and useless applicators dropped."""

TECHNIQUES = {
    "bounds alone": BOUNDS,
    "seeding": replace(BOUNDS, seeding=True),
    "re-queueing": replace(BOUNDS, requeueing=True),
    "rearranging": replace(BOUNDS, rearranging=True),
    "useless": PLAIN,
    "best first": replace(BOUNDS, best_first=True),
    "useless, seeding, re-queueing": replace(PLAIN, seeding=True, requeueing=True),
    "useless, best first, rearranging": replace(PLAIN, best_first=True, rearranging=True),
    "all": Techniques(),
    "all but seeding": replace(Techniques(), seeding=False),
    "all but rearranging": replace(Techniques(), rearranging=False),
    "all but useless": replace(Techniques(), useless=False),
    "all but best first": replace(Techniques(), best_first=False),
}
DRAWN = ["bounds alone", "re-queueing", "rearranging", "useless", "best first", "all"]


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of every experiment, and write them to the page with their pictures."""
    page, rows = Page("schemes"), _rows(folder)
    made: dict[str, list[dict[str, Any]]] = {}
    for name, experiment in EXPERIMENTS.items():
        made[name] = []
        for row in page.table(name, experiment(rows)):
            made[name].append(row)
            yield row
    draw(page, made)


def draw(page: Page, made: Mapping[str, Sequence[Row]]) -> None:
    """Draw the figures from the tables."""
    judged = "recodings judged"
    page.picture(
        "figure-10",
        draw_lines(made["directions"], ["k", "attributes"], judged, "search"),
        "Fig. 10: bottom-up and top-down",
        f"Left over k with four attributes, right over attributes at k = 5. Hollow: not proven in {MOST:,}.",
    )
    page.picture(
        "figure-11",
        draw_lines(made["schemes"], ["attributes", "k"], judged, "scheme"),
        "Fig. 11: six schemes, bottom-up",
        f"Left over attributes at k = 5, right over k with four attributes. Hollow: not proven in {MOST:,}.",
    )
    page.picture(
        "figure-12",
        draw_lines(made["quality"], ["dm", "hdm"], "cost", "scheme"),
        "Fig. 12: what each scheme loses at least",
        "Left discernibility, right hierarchical discernibility, over k with four attributes.",
    )
    page.picture(
        "figure-13",
        draw_lines(list(_lines(made["techniques"])), ["techniques"], judged, "techniques"),
        "Fig. 13: what the techniques save",
        f"Ordered, bottom-up, four attributes, over k. Hollow: not proven in {MOST:,}.",
    )


def _lines(table: Sequence[Row]) -> Iterator[Row]:
    """Yield the points of Fig. 13 from its table."""
    for row in table:
        for k in FEW_KS if row["techniques"] in DRAWN else []:
            judged = str(row[f"k = {k}"])
            yield {
                "over": "techniques",
                "k": k,
                "techniques": row["techniques"],
                "recodings judged": int(judged.removeprefix("> ").replace(",", "")),
                "proven": "no" if judged.startswith(">") else "yes",
            }


def _rows(folder: Path) -> pa.Table:
    """Return the 30,162 complete rows, age in 15 bins of five years from 17."""
    table = adult(folder)
    bins = [(int(age) - 17) // 5 for age in table["age"].to_pylist()]
    return table.set_column(table.column_names.index("age"), "age", pa.array(bins))


def _spec(names: list[str], scheme: str, k: int, loss: str) -> Spec:
    parts = Spec.load(SPEC).model_dump(by_alias=True, exclude_unset=True)
    parts["attributes"] = {name: parts["attributes"][name] | {"scheme": scheme} for name in names}
    parts["attributes"]["age"]["scheme"] = NUMBERS.get(scheme, scheme)
    parts |= {"privacy": {"k": k}, "method": {"metric": loss}}
    return Spec(**parts)


def _census(rows: pa.Table, spec: Spec) -> Census:
    return count(rows.select(list(spec.attributes)), spec)


def _search(
    rows: pa.Table, spec: Spec, *, up: bool, techniques: Techniques | None = None, suppressed: float = 1.0
) -> Callable[[], SearchResult]:
    """Count, and return a search one way that goes as far as is counted."""
    census = _census(rows, spec)
    models, loss = promise(spec, census), spec.method.metric
    spaces = [Space(quasi, spec.scheme_of(quasi.name)) for quasi in census.quasi]
    roller = Roller(census, spaces, hdm_tallies(census) if loss == "hdm" else [])
    judge = metric(loss, spec, census, roller, models.least)
    limit, used = int(suppressed * census.rows), techniques or Techniques()
    return lambda: search_partitions(
        census, spaces, roller, models, judge, limit=limit, watch=Watch(most=MOST), up=up, techniques=used
    )[1]


def _auto_search(rows: pa.Table, spec: Spec, watch: Callable[[], Watch]) -> Callable[[], SearchResult]:
    """Count, and return the search that a specification asks for."""
    census = _census(rows, spec)

    def search() -> SearchResult:
        found = decide(census, spec, watch()).search
        assert found is not None, "optimal searches"
        return found

    return search


def _figures(search: Callable[[], SearchResult]) -> Row:
    """Search, and return what it took: the processor's seconds in all threads, and the recodings."""
    start = time.process_time()
    result = search()
    return {
        "cost": round(result.cost),
        "seconds": round(time.process_time() - start, 3),
        "recodings judged": result.nodes,
        "proven": "yes" if result.optimal else f"gap {result.gap:.1%}",
    }


def _directions(rows: pa.Table) -> Iterator[Row]:
    """Fig. 10: both directions over k, and over the number of attributes at k = 5."""
    for scheme in ("ordered", "set"):
        for over, names, k in [
            *(("k", FOUR, k) for k in KS),
            *(("attributes", ATTRIBUTES[:n], 5) for n in (2, 3, 4, 5)),
        ]:
            for up in (True, False):
                found = _figures(_search(rows, _spec(names, scheme, k, "dm"), up=up))
                search = f"{scheme}, {'bottom-up' if up else 'top-down'}"
                yield {"over": over, "search": search, "k": k, "attributes": len(names), **found}


def _schemes(rows: pa.Table) -> Iterator[Row]:
    """Fig. 11: the six schemes bottom-up, over the number of attributes and over k."""
    for scheme in SCHEMES:
        for over, names, k in [
            *(("attributes", ATTRIBUTES[:n], 5) for n in (2, 3, 4, 5)),
            *(("k", FOUR, k) for k in KS),
        ]:
            found = _figures(_search(rows, _spec(names, scheme, k, "dm"), up=True))
            yield {"over": over, "scheme": scheme, "k": k, "attributes": len(names), **found}


def _quality(rows: pa.Table) -> Iterator[Row]:
    """Fig. 12: the optimum of each scheme over k, for both losses, by `auto`."""
    for loss in ("dm", "hdm"):
        for scheme in SCHEMES:
            for k in KS:
                spec = _spec(FOUR, scheme, k, loss)
                result = _auto_search(rows, spec, Watch)()
                yield {
                    "over": loss,
                    "scheme": scheme,
                    "k": k,
                    "cost": round(result.cost, 1),
                    "proven": "yes" if result.optimal else "no",
                }


def _techniques(rows: pa.Table) -> Iterator[Row]:
    """Fig. 13: ordered, bottom-up, with each technique alone, together, and all but one."""
    for name, techniques in TECHNIQUES.items():
        found = {k: _search(rows, _spec(FOUR, "ordered", k, "dm"), up=True, techniques=techniques)() for k in FEW_KS}
        yield {"techniques": name} | {f"k = {k}": _counted(result) for k, result in found.items()}


def _useful(rows: pa.Table) -> Iterator[Row]:
    """The useful applicators of the paper, which need that nothing is suppressed; with two attributes."""
    for name, techniques in {
        "bounds alone": BOUNDS,
        "useful": replace(BOUNDS, useful=True),
        "all": Techniques(),
        "all but useful": replace(Techniques(), useful=False),
    }.items():
        row: dict[str, Any] = {"techniques": name}
        for k in FEW_KS:
            asked = _spec(FOUR[:2], "ordered", k, "dm")
            row[f"k = {k}"] = _counted(_search(rows, asked, up=True, techniques=techniques, suppressed=0.0)())
        yield row


def _counted(result: SearchResult) -> int | str:
    return result.nodes if result.optimal else f"> {MOST:,}"


def _auto(rows: pa.Table) -> Iterator[Row]:
    """What `auto` needs for the same questions, and for larger ones."""
    asked = [(ATTRIBUTES[:n], scheme) for n in (4, 5, 6) for scheme in ("ordered", "set")]
    for (names, scheme), k in product([*asked, (ATTRIBUTES, "ordered")], (2, 5, 10, 20)):
        search = _auto_search(rows, _spec(names, scheme, k, "dm"), lambda: Watch(most=MOST_AUTO))
        yield {"scheme": scheme, "attributes": len(names), "k": k, **_figures(search)}


EXPERIMENTS: dict[str, Callable[[pa.Table], Iterator[Row]]] = {
    "directions": _directions,
    "schemes": _schemes,
    "quality": _quality,
    "techniques": _techniques,
    "useful": _useful,
    "auto": _auto,
}
