"""All methods that decide on groups of rows, side by side: what they lose, and what a reader's questions make of it.

No paper has this table. The page is docs/papers/local. Everything goes through the methods as users have them, at their
default effort; as sets, and for one comparison under the labels of hierarchies.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cluster import CENSUS_INCOME, specification
from benchmarks.data import adult_attributes, census_income, count, write_adult
from benchmarks.papers.local_charts import draw_methods
from benchmarks.papers.pages import Page, Row
from benchmarks.questions import run_workload
from ringfence.census.census import Census
from ringfence.methods import decide
from ringfence.search.progress import Watch
from ringfence.spec import Spec

METHODS: dict[str, dict[str, Any]] = {
    "cluster": {"name": "cluster"},
    "mondrian": {"name": "mondrian"},
    "hilbert": {"name": "hilbert"},
    "local, fast": {"name": "local", "effort": "fast"},
    "local": {"name": "local"},
    "ring": {"name": "ring"},
}
KS, K = [2, 5, 10, 20, 50], 5
ELSEWHERE: list[Row] = [
    {"method": "ARX, local recoding", "shown as": "labels", "k": 5, "glm": "0.0600", "dm": 253_100, "seconds": 4},
    {"method": "ARX, local recoding", "shown as": "sets", "k": 5, "glm": "0.0306", "dm": 253_100, "seconds": 4},
    {"method": "anonypy, Mondrian", "shown as": "sets", "k": 5, "glm": "0.0315", "dm": 312_784, "seconds": 34},
    {"method": "anonypy, Mondrian", "shown as": "sets", "k": 10, "glm": "0.0576", "dm": 515_532, "seconds": 34},
]
"""Measured elsewhere, on the same rows of Adult with eight attributes; ARX's groups as sets are its own groups, each
published as the values that its rows have."""
NARROWER = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
DIMENSIONS = [3, 4, 5, 6, 7, 8]


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of every experiment, and write them to the page with their pictures."""
    page = Page("local")
    made: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as place:
        path = write_adult(folder, Path(place))
        adults = {d: _counted(path, _adult(NARROWER[:d], place)) for d in DIMENSIONS}
        income = specification(CENSUS_INCOME, bounded=False).model_dump(by_alias=True, exclude_unset=True)
        people = _counted(census_income(folder), Spec(attributes=_quasi_only(income["attributes"])))
        list(_rows([(adults[DIMENSIONS[0]], K)]))  # compiled before anything is timed
        yield from page.table("elsewhere", _beside(adults[8]))
        for name, questions in (
            ("adult-k", [(adults[8], k) for k in KS]),
            ("adult-attributes", [(adults[d], K) for d in DIMENSIONS]),
            ("census-income", [(people, k) for k in (5, 10)]),
        ):
            made[name] = []
            for row in page.table(name, _rows(questions)):
                made[name].append(row)
                yield row
    titles = {
        "adult-k": ("Adult, larger k", "30,162 rows, eight quasi-identifiers."),
        "adult-attributes": ("Adult, more attributes", "30,162 rows, k = 5."),
    }
    for name, (title, legend) in titles.items():
        over = "k" if name == "adult-k" else "attributes"
        page.picture(name, draw_methods(made[name], over), title, legend)


def _adult(names: Sequence[str], place: str) -> Spec:
    attributes = {name: part for name, part in adult_attributes().items() if name in names}
    attributes["age"] = {**attributes["age"], "order": "numeric"}
    return Spec(attributes=attributes, data={"unlisted": "drop"}).at(place)


def _quasi_only(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in attributes.items() if part["role"] == "quasi"}


def _counted(source: Any, spec: Spec) -> tuple[Census, Spec]:
    return count(source, spec), spec


def _beside(adult: tuple[Census, Spec]) -> Iterator[Row]:
    """Yield the figures of others, and ours as labels and as sets: each is to be compared with its like."""
    yield from ELSEWHERE
    for shown, representation in (("labels", "hierarchy"), ("sets", "set")):
        for row in _rows([(adult, K)], representation):
            if row["method"] in ("mondrian", "local, fast", "local"):
                kept = ("k", "glm", "dm", "seconds")
                yield {"method": row["method"], "shown as": shown, **{key: row[key] for key in kept}}


def _rows(questions: Sequence[tuple[tuple[Census, Spec], int]], representation: str = "set") -> Iterator[Row]:
    """Yield a row for each method and question."""
    for (census, spec), k in questions:
        for name, method in METHODS.items():
            shown = {**method, "representation": representation}
            asked = Spec(attributes=spec.attributes, privacy={"k": k}, method=shown).at(spec.locate(""))
            start = time.process_time()
            decision = decide(census, asked, Watch())
            seconds = time.process_time() - start
            published = decision.plan.published(census)
            assert published is not None
            errors = run_workload(published).errors
            yield {
                "method": name,
                "attributes": len(census.quasi),
                "k": k,
                "glm": f"{decision.metrics['glm']:.5f}",
                "dm": int(decision.metrics.get("dm", 0)) or "",
                "query error": f"{errors.mean():.4f}",
                "seconds": round(seconds, 2),
            }
