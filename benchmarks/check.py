"""Counted work against what is recorded: `make bench-check` fails where something got more than 15 % worse.

Nothing here is timed, so that it says the same on every machine and under any load: recodings that a search judges,
what methods lose with fixed budgets and seeds, how far their certified bounds are off, and for whole calls how many
functions of ours are called and how many statements the engine gets. Ratios are of two figures of the same run. Of all
of them, less is better. The tables are made from seeds; no data is needed. `--record` writes check.json anew: its
difference is for whoever reviews the change. Seconds are for `make bench`: what only makes a kernel slower is not seen.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import pyarrow as pa

import ringfence as rf
from benchmarks.data import count
from benchmarks.wide import METHODS, run, stated
from benchmarks.wide import people as people_with
from ringfence.methods import decide
from ringfence.samples import baskets, baskets_spec, people, people_spec
from ringfence.search.front.frontier import Front
from ringfence.search.progress import Watch

RECORDED = Path(__file__).with_name("check.json")
SLACK = 0.15
ROWS = 3_000
SOURCES = str(Path(rf.__file__).parent)

Figures = dict[str, float]


@cache
def _people() -> pa.Table:
    return people(ROWS)


def _searched(names: tuple[str, ...], privacy: Mapping[str, Any], *, hierarchies: bool = True, **method: Any) -> Any:
    """Return what a search over some attributes of made-up people found out; salary is sensitive."""
    given = people_spec().model_dump(by_alias=True, exclude_unset=True)["attributes"]
    attributes = {name: given[name] if hierarchies else {"role": "quasi"} for name in names}
    if "age" in names:
        attributes["age"] = {**attributes["age"], "order": "numeric"}
    attributes["salary"] = given["salary"]
    spec = rf.Spec(attributes=attributes, privacy=privacy, method=method)
    return decide(count(_people().select([*attributes]), spec), spec, Watch()).search


WIDE = ("age", "sex", "origin", "marital_status", "education", "work_class", "postcode")
FEW = ("sex", "marital_status", "education")


def levels() -> Iterator[tuple[str, Figures]]:
    """Yield what the search over levels judges."""
    for metric, suppression in (("dm", 0.0), ("dm", 0.02), ("glm", 0.0), ("glm", 0.02)):
        found = _searched(WIDE, {"k": 5}, name="optimal", scheme="level", metric=metric, suppression=suppression)
        yield f"levels, {metric}, {suppression:.0%}", {"nodes": found.nodes, "cost": found.cost}
    for promise in ({"k": 5, "l": 3}, {"k": 5, "t": 0.3}):
        found = _searched(WIDE, promise, name="optimal", scheme="level", metric="dm", suppression=0.02)
        yield f"levels, {', '.join(promise)}", {"nodes": found.nodes, "cost": found.cost}


def schemes() -> Iterator[tuple[str, Figures]]:
    """Yield what branch and bound judges, in both directions, and what proofs look at."""
    for search, names in (("bottom-up", FEW), ("top-down", FEW[:2]), ("auto", FEW)):
        found = _searched(names, {"k": 5}, name="optimal", scheme="set", metric="dm", search=search)
        yield f"sets, {search}", {"nodes": found.nodes, "cost": found.cost}
    every = _searched(FEW, {"k": 5}, name="optimal", scheme="cut", metric="dm", search="bottom-up", techniques=[])
    found = _searched(FEW, {"k": 5}, name="optimal", scheme="cut", metric="dm", search="bottom-up")
    yield "cuts, bottom-up", {"nodes": found.nodes, "nodes / all": found.nodes / every.nodes}


def groups() -> Iterator[tuple[str, Figures]]:
    """Yield what groups of rows lose by fixed seeds and budgets, and how far the bounds of that are off."""
    names, lost = ("age", "sex", "marital_status", "education", "postcode"), {}
    ways: dict[str, dict[str, Any]] = {
        "mondrian": {"name": "mondrian"},
        "hilbert": {"name": "hilbert"},
        "local, fast": {"name": "local", "effort": "fast"},
        "local": {"name": "local"},
        "ring": {"name": "ring"},
    }
    for name, method in ways.items():
        found = _searched(names, {"k": 5}, hierarchies=False, **method)
        lost[name] = found.cost
        yield name, {"loss": found.cost, "gap": found.gap}
    yield "local / mondrian", {"loss": lost["local"] / lost["mondrian"]}
    yield "local / local, fast", {"loss": lost["local"] / lost["local, fast"]}
    found = _searched(names, {"k": 5}, name="cluster")
    yield "cluster", {"loss": found.cost, "gap": found.gap}


def others() -> Iterator[tuple[str, Figures]]:
    """Yield what fronts and cuts of item trees judge."""
    given = people_spec().model_dump(by_alias=True, exclude_unset=True)
    given["attributes"] = {name: given["attributes"][name] for name in WIDE}
    for algorithm in ("exact", "poka"):
        front = rf.frontier(
            _people().select([*WIDE]), rf.Spec(attributes=given["attributes"], frontier={"algorithm": algorithm})
        )
        assert isinstance(front.front, Front)
        yield f"front, {algorithm}", {"nodes": front.front.nodes}
    found = rf.anonymize(baskets(ROWS), baskets_spec()).search
    assert found is not None
    yield "itemsets", {"nodes": found.nodes, "cost": found.cost}


def calls() -> Iterator[tuple[str, Figures]]:
    """Yield how many functions of ours a whole call needs, and how many statements of the engine, warm."""
    asked = people_spec().model_dump(by_alias=True, exclude_unset=True)
    for method, output in ((asked["method"], {}), ({"name": "mondrian"}, {}), (asked["method"], {"counts": True})):
        spec = rf.Spec(**{**asked, "method": method, "output": output})
        rf.anonymize(_people(), spec)
        case = f"anonymize, {method['name']}{', with counts of values' if output else ''}"
        yield case, counted(lambda: rf.anonymize(_people(), spec))  # noqa: B023


def wide() -> Iterator[tuple[str, Figures]]:
    """Yield in how many columns of expressions each further column of a table comes to stand."""
    with TemporaryDirectory() as folder:
        jobs = {method: partial(run, Path(folder), method) for method in METHODS} | {"draft": rf.draft}
        for name, job in jobs.items():
            few, many = (stated(partial(job, people_with(columns))) for columns in (80, 160))
            yield f"wide, {name}", {"columns": (many - few) / 80}


def counted(work: Callable[[], Any]) -> Figures:
    """Return how many functions of ours are called meanwhile, comprehensions aside, and what statements they run."""
    found = Counter[str]()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(SOURCES):
            return
        if event == "call" and not code.co_name.startswith("<"):
            found["functions"] += 1
        elif event == "c_call" and argument.__name__ == "execute":
            found["statements"] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return dict(found)


PARTS = (levels, schemes, groups, others, calls, wide)


def measured() -> dict[str, Figures]:
    """Return every figure, by case."""
    return {case: figures for part in PARTS for case, figures in part()}


def compared(now: Mapping[str, Figures], recorded: Mapping[str, Figures]) -> tuple[list[str], list[str]]:
    """Return what got worse, or is not recorded or no longer there, and what got better: each as a line.

    >>> compared({"levels": {"nodes": 118, "cost": 80}}, {"levels": {"nodes": 100, "cost": 100}})
    (['levels: nodes 118, recorded 100: 18 % more'], ['levels: cost 80, recorded 100: 20 % less'])
    >>> compared({"levels": {"nodes": 115}}, {"levels": {"nodes": 100}, "local": {"loss": 0.5}})
    (['local: loss is recorded, and no longer measured'], [])
    """
    worse, better = [], []
    before = {(case, name): value for case, figures in recorded.items() for name, value in figures.items()}
    for case, figures in now.items():
        for name, value in figures.items():
            if (case, name) not in before:
                worse.append(f"{case}: {name} {value:g} is not recorded")
                continue
            old = before.pop((case, name))
            line = f"{case}: {name} {value:g}, recorded {old:g}"
            if value > old * (1 + SLACK) + 1e-9:
                worse.append(f"{line}: {100 * (value / old - 1):.0f} % more" if old else line)
            elif value < old * (1 - SLACK):
                better.append(f"{line}: {100 * (1 - value / old):.0f} % less")
    worse += [f"{case}: {name} is recorded, and no longer measured" for case, name in before]
    return worse, better


def main() -> None:
    """Measure, and compare or record."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.check", description=__doc__)
    options.add_argument("--record", action="store_true", help="write what is measured to check.json")
    asked = options.parse_args()
    now = measured()
    if asked.record:
        RECORDED.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
        return
    worse, better = compared(now, json.loads(RECORDED.read_text(encoding="utf-8")))
    for line in better:
        print(f"better  {line}: `python -m benchmarks.check --record` keeps it")
    for line in worse:
        print(f"WORSE   {line}")
    print(f"{sum(map(len, now.values()))} figures, {len(worse)} worse than recorded by more than {SLACK:.0%}")
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
