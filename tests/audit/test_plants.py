"""Faults planted in the builders and in the census's coding: the audit must notice each, whatever the method.

A builder that puts a value under a wrong label, or a census that takes a value for another, makes releases that are
wrong in a way that looks right. The audit reads what labels hold by code of its own; the faults stay planted while it
judges, so that what it shared with the builders would be wrong there, too.

Each table has two marked groups of four values, and k = 3. A fault that moves one value over leaves three and five, so
that every method has to publish the group that is wrong under its label. A column that is published as it is tells
whose row is whose.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.census import baskets, census
from ringfence.release.job import AuditFailed, Job
from ringfence.spec import Spec
from ringfence.values import builders, keys, paths
from ringfence.values.builders import Domain
from ringfence.values.hierarchy import Hierarchy

Patch = pytest.MonkeyPatch
Labels = tuple[str, ...]
FOLDER = Path(__file__).parents[1] / "foreign"

METHODS: dict[str, dict[str, Any]] = {
    "levels": {"name": "levels", "levels": {"q": 1}},
    "level": {"name": "optimal", "scheme": "level"},
    "cut": {"name": "optimal", "scheme": "cut"},
    "ordered": {"name": "optimal", "scheme": "ordered"},
    "set": {"name": "optimal", "scheme": "set"},
    "cluster": {"name": "cluster"},
    "local, sets": {"name": "local", "representation": "set"},
    "local, ranges": {"name": "local", "representation": "range"},
    "local, nodes": {"name": "local", "representation": "hierarchy"},
    "mondrian": {"name": "mondrian"},
    "hilbert": {"name": "hilbert"},
    "ring": {"name": "ring"},
    "ring, nodes": {"name": "ring", "representation": "hierarchy"},
    "ring, alike": {"name": "ring", "homogeneous": True},
}
NODES = ["levels", "level", "cut", "cluster", "local, nodes", "ring, nodes"]
"""Methods that publish the labels of hierarchies, also where no group of rows is forced to be one."""
GROUPS = ["cluster", "local, sets", "local, ranges", "local, nodes", "mondrian", "hilbert"]
"""Methods that decide how many rows of each combination go where."""


@dataclass(frozen=True)
class Kind:
    """A hierarchy with two groups of four values, which are marked, and the function that builds its paths."""

    attribute: dict[str, Any]
    values: list[Any]
    marks: list[str]
    builder: str

    def spec(self, method: str, **attribute: Any) -> Spec:
        """Return the specification of a release by one of the methods."""
        given = {**self.attribute, "boundary": self.marks, **attribute}
        return Spec(
            attributes={"q": {"role": "quasi", **given}, "who": {"role": "insensitive"}},
            privacy={"k": 3},
            method={"suppression": 0, **METHODS[method]},
        ).at(FOLDER)

    @property
    def table(self) -> pa.Table:
        """Return one row a value."""
        return pa.table({"q": self.values, "who": [f"person {n}" for n in range(len(self.values))]})


CODES = ["47901", "47902", "47903", "47904", "47911", "47912", "47913", "47914"]
LEFT, RIGHT = [*"abcd"], [*"efgh"]
KINDS = {
    "intervals": Kind(
        {"hierarchy": {"intervals": [5, 10]}},
        [21, 22, 23, 24, 25, 26, 27, 28],
        ["[20, 25)", "[25, 30)"],
        "interval_path",
    ),
    "masks": Kind({"hierarchy": {"mask": "right"}}, CODES, ["4790*", "4791*"], "mask_path"),
    "masks from the left": Kind(
        {"hierarchy": {"mask": "left"}}, [code[::-1] for code in CODES], ["*0974", "*1974"], "mask_path"
    ),
    "months": Kind(
        {"hierarchy": {"dates": ["month", "year"]}},
        [f"2024-0{month}-1{day}" for month in (3, 4) for day in range(4)],
        ["2024-03", "2024-04"],
        "date_path",
    ),
    "quarters": Kind(
        {"hierarchy": {"dates": ["quarter", "year"]}},
        [f"2024-0{month}-1{day}" for month in (3, 4) for day in range(4)],
        ["2024-Q1", "2024-Q2"],
        "date_path",
    ),
    "years": Kind(
        {"hierarchy": {"dates": ["year", "decade"]}},
        [f"202{year}-03-1{day}" for year in (3, 4) for day in range(4)],
        ["2023", "2024"],
        "date_path",
    ),
    "decades": Kind(
        {"hierarchy": {"dates": ["decade"]}},
        [f"20{decade}9-03-1{day}" for decade in (1, 2) for day in range(4)],
        ["2010s", "2020s"],
        "date_path",
    ),
    "paths": Kind(
        {
            "hierarchy": {
                "paths": [[each, side, "*"] for side, all_of in (("l", LEFT), ("r", RIGHT)) for each in all_of]
            }
        },
        LEFT + RIGHT,
        ["l", "r"],
        "sorted_paths",
    ),
    "file": Kind({"hierarchy": {"file": "sides.csv"}}, LEFT + RIGHT, ["l", "r"], "file_paths"),
    "tree": Kind({"hierarchy": {"tree": {"l": LEFT, "r": RIGHT}}}, LEFT + RIGHT, ["l", "r"], "tree_paths"),
    "fan-out": Kind({"hierarchy": {"fanout": 4}}, LEFT + RIGHT, ["[a, d]", "[e, h]"], "fanout_paths"),
}


SHOWING = {
    "nodes": ["levels", "level", "cut", "cluster", "local, nodes"],
    "sets": ["set", "local, sets"],
    "ranges": ["ordered", "local, ranges", "mondrian", "hilbert"],
    "rings": ["ring", "ring, nodes", "ring, alike"],
}
"""Methods by what they show: what the audit reads depends on that, and on the kind of hierarchy."""
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


def meeting(kind: str) -> list[str]:
    """Return the methods that a kind meets: all in the long profile, and for two kinds; else in turn some of each way
    to show values."""
    if LONG or kind in ("intervals", "tree"):
        return [*METHODS]
    place = [*KINDS].index(kind)
    return [methods[(place + more) % len(methods)] for methods in SHOWING.values() for more in range(len(methods) // 2)]


# What is planted


def elsewhere(patch: Patch, kind: Kind) -> None:
    """Put the last value of the first group under the labels of the second."""
    honest = getattr(builders, kind.builder)
    wrong, right = (str(kind.values[place]) for place in (3, 4))
    if kind.builder in ("interval_path", "mask_path", "date_path"):

        def path_of(value: Any, given: Any) -> Labels:
            path: Labels = honest(value, given)
            found[path[0]] = value
            return (path[0], *honest(found[right], given)[1:]) if path[0] == wrong and right in found else path

        ordered = builders._ordered
        found: dict[str, Any] = {}

        def noted(name: str, attribute: Any, support: Any) -> list[Any]:
            inside = ordered(name, attribute, support)
            found.update({keys.label(key): key for key in inside})
            return inside

        patch.setattr(builders, "_ordered", noted)
        patch.setattr(builders, kind.builder, path_of)
        return

    def paths_of(*given: Any) -> list[Labels]:
        paths: list[Labels] = honest(*given)
        above = {path[0]: path[1:] for path in paths}
        return [(path[0], *above[right]) if path[0] == wrong and right in above else path for path in paths]

    patch.setattr(builders, kind.builder, paths_of)


def swapped(domain: Domain, first: int, second: int) -> Domain:
    """Take two values for each other."""
    leaves = domain.leaves.copy()
    leaves[[first, second]] = leaves[[second, first]]
    return replace(domain, leaves=leaves)


def neighbour(domain: Domain, first: int, second: int) -> Domain:
    """Take one value for another."""
    leaves = domain.leaves.copy()
    leaves[first] = leaves[second]
    return replace(domain, leaves=leaves)


def in_coding(fault: Callable[[Domain, int, int], Domain]) -> Callable[[Patch, Kind], None]:
    """Return how a fault of two values in different groups is planted in the census."""

    def plant(patch: Patch, kind: Kind) -> None:
        honest = builders.read_domain

        def read(name: str, spec: Spec, values: Sequence[Any], *rest: Any) -> Domain:
            domain = honest(name, spec, values, *rest)
            places = [[*values].index(kind.values[place]) for place in (3, 4)] if name == "q" else []
            return fault(domain, *places) if places else domain

        patch.setattr(census, "read_domain", read)

    return plant


PLANTS: dict[str, Callable[[Patch, Kind], None]] = {
    "a value under another label": elsewhere,
    "two values swapped": in_coding(swapped),
    "a value coded as another": in_coding(neighbour),
}


PLANTS_IN: dict[str, Sequence[str]] = {
    "a value under another label": [*KINDS],
    "two values swapped": ["intervals", "tree"] if LONG else ["intervals"],
    "a value coded as another": ["intervals", "tree"] if LONG else ["tree"],
}
"""In which kinds: to the census, one hierarchy is like another."""


def noticed(table: pa.Table, spec: Spec) -> list[str]:
    """Return the rules that the audit finds broken in a release beside its original, which the run has noticed, too.

    The run is forced to hand out what its own audit refuses. Without force it raises, as a test below checks.
    """
    release = rf.anonymize(table, spec, force=True)
    found = [finding.rule for finding in rf.audit(release.table, spec, table).findings]
    assert release.audit.ok == (not found)
    return found


FAULTS = [
    pytest.param(kind, plant, method, id=f"{plant}: {kind}, {method}")
    for kind in KINDS
    for plant, kinds in PLANTS_IN.items()
    for method in (meeting(kind) if kind in kinds else ())
]


@pytest.mark.parametrize(("kind", "method"), [(kind, method) for kind in KINDS for method in meeting(kind)])
def test_nothing_is_found_where_nothing_is_planted(kind: str, method: str) -> None:
    assert noticed(KINDS[kind].table, KINDS[kind].spec(method)) == []


@pytest.mark.parametrize(("kind", "plant", "method"), FAULTS)
def test_the_audit_notices(monkeypatch: Patch, kind: str, plant: str, method: str) -> None:
    """Sets of a ring name what they hold, and are past the boundary if they hold values of both groups."""
    PLANTS[plant](monkeypatch, KINDS[kind])
    found = noticed(KINDS[kind].table, KINDS[kind].spec(method))
    assert "original" in found or (method == "ring" and "boundary" in found)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_notices_hands_nothing_out(monkeypatch: Patch, method: str) -> None:
    PLANTS["a value under another label"](monkeypatch, KINDS["tree"])
    with pytest.raises(AuditFailed, match="did not pass its audit"):
        rf.anonymize(KINDS["tree"].table, KINDS["tree"].spec(method))


# Labels that are not what they should be


GARBLED: dict[str, tuple[str, str]] = {
    "intervals": ("[25, 30)", "[25, 31)"),
    "masks": ("4791*", "4791"),
    "masks from the left": ("*1974", "1974"),
    "months": ("2024-04", "2024-05"),
    "quarters": ("2024-Q2", "2024-Q3"),
    "years": ("2024", "2025"),
    "decades": ("2020s", "2030s"),
    "tree": ("r", "s"),
    "fan-out": ("[e, h]", "[e, g]"),
}
"""For each kind, a label, and what is written in its place."""


def garble(patch: Patch, kind: str) -> None:
    """Write another label in the place of one, wherever a path has it."""
    honest = Hierarchy.from_paths

    def from_paths(paths: Any, **rest: Any) -> Hierarchy:
        right, wrong = GARBLED[kind]
        return honest([[wrong if label == right else label for label in path] for path in paths], **rest)

    patch.setattr(Hierarchy, "from_paths", from_paths)
    patch.setattr(builders, "_written_out", vars(builders._written_out)["__wrapped__"])  # none is kept, before or after


@pytest.mark.parametrize("method", NODES)
@pytest.mark.parametrize("kind", GARBLED)
def test_the_audit_notices_labels_that_say_something_else(monkeypatch: Patch, kind: str, method: str) -> None:
    """By what they hold; an interval that is too long holds its values, and is none of the hierarchy."""
    garble(monkeypatch, kind)
    found = noticed(KINDS[kind].table, KINDS[kind].spec(method, boundary=None))
    assert ("labels" if kind == "intervals" else "original") in found


def misspell(patch: Patch) -> None:
    """Write other numbers in the place of the last of the first group, and the first of the second."""
    honest = keys.label
    for module in (builders, paths):
        patch.setattr(module, "label", lambda key: {"24": "22.4", "25": "25.5"}.get(honest(key), honest(key)))


def numbers(method: str) -> Spec:
    """Return a specification under which the first four numbers go together, and the last four."""
    spec = KINDS["intervals"].spec(method, hierarchy="flat", boundary=None, order="numeric")
    return spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"k": 4})})


NAMING = ["ordered", "set", "local, sets", "local, ranges", "mondrian", "hilbert", "ring"]
"""Methods that name values."""


@pytest.mark.parametrize("method", NAMING)
def test_the_audit_notices_numbers_that_are_spelled_wrong(monkeypatch: Patch, method: str) -> None:
    misspell(monkeypatch)
    assert "original" in noticed(KINDS["intervals"].table, numbers(method))


# Ceilings


def raise_ceilings(patch: Patch) -> None:
    """Let every value climb a step more."""
    honest = Hierarchy.with_boundary

    def with_boundary(hierarchy: Hierarchy, boundary: Any, where: str = "boundary") -> Hierarchy:
        bounded = honest(hierarchy, boundary, where)
        return replace(bounded, ceilings=hierarchy.parent[bounded.ceilings])

    patch.setattr(Hierarchy, "with_boundary", with_boundary)


def bounded(kind: str, method: str, boundary: Any) -> Spec:
    """Return a specification under which all rows must be of one class, which the boundary does not allow."""
    spec = KINDS[kind].spec(method, boundary=boundary)
    steps = {"levels": {"q": 2}} if method == "levels" else {}
    told = spec.method.model_copy(update=steps)
    return spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"k": 8}), "method": told})


CEILINGS = [
    pytest.param(kind, method, boundary, id=f"{kind}, {method}, {'level' if isinstance(boundary, dict) else 'marks'}")
    for kind in ("intervals", "months", "masks", "tree", "fan-out")
    for method in meeting(kind)
    for boundary in ({"level": 1}, KINDS[kind].marks)
]


@pytest.mark.parametrize(("kind", "method", "boundary"), CEILINGS)
def test_the_audit_notices_ceilings_that_are_too_high(
    monkeypatch: Patch, kind: str, method: str, boundary: Any
) -> None:
    raise_ceilings(monkeypatch)
    assert "boundary" in noticed(KINDS[kind].table, bounded(kind, method, boundary))


# The census: missing values and numbers of rows


def with_gaps(kind: Kind) -> pa.Table:
    """Return the table with three rows more that miss the value."""
    return pa.table({"q": [*kind.values, None, None, None], "who": [f"person {n}" for n in range(11)]})


def take_missing_for_a_value(patch: Patch, kind: Kind) -> None:
    """Take a missing value for one of the first group."""
    honest = builders.read_domain

    def read(name: str, spec: Spec, values: Sequence[Any], *rest: Any) -> Domain:
        domain = honest(name, spec, values, *rest)
        return neighbour(domain, [*values].index(None), [*values].index(kind.values[0])) if name == "q" else domain

    patch.setattr(census, "read_domain", read)


@pytest.mark.parametrize(
    ("kind", "method"), [(kind, method) for kind in ("months", "masks", "tree") for method in meeting(kind)]
)
def test_the_audit_notices_missing_values_that_are_taken_for_others(monkeypatch: Patch, kind: str, method: str) -> None:
    assert noticed(with_gaps(KINDS[kind]), KINDS[kind].spec(method)) == []
    take_missing_for_a_value(monkeypatch, KINDS[kind])
    assert "original" in noticed(with_gaps(KINDS[kind]), KINDS[kind].spec(method))


def miscount(patch: Patch, more: int) -> None:
    """Count one row more, or less, of the value a."""
    honest = census.take_census

    def take(counted: pa.Table, spec: Spec, weight: str, *rest: Any) -> census.Census:
        pairs = zip(counted["q"].to_pylist(), counted[weight].to_pylist(), strict=True)
        weights = pa.array([rows + more * (value == "a") for value, rows in pairs])
        place = counted.column_names.index(weight)
        return honest(counted.set_column(place, weight, weights), spec, weight, *rest)

    patch.setattr(census, "take_census", take)


def counted(first: int) -> pa.Table:
    """Return so many rows of one value, and three of each of two others."""
    values = ["a"] * first + ["b"] * 3 + ["c"] * 3
    return pa.table({"q": values, "who": [f"person {n}" for n in range(len(values))]})


MISCOUNTED = [*((method, 1) for method in METHODS), *((method, -1) for method in (*GROUPS, "ring", "ring, alike"))]
"""One row too few is nothing to a global recoding, which all rows of a value go through."""


def alone(method: str) -> Spec:
    """Return a specification under which each value stands alone."""
    spec = KINDS["tree"].spec(method, hierarchy="flat", boundary={"level": 0})
    steps = {"levels": {"q": 0}} if method == "levels" else {}
    return spec.model_copy(update={"method": spec.method.model_copy(update=steps)})


@pytest.mark.parametrize(("method", "more"), MISCOUNTED)
def test_the_audit_notices_rows_that_are_counted_wrong(monkeypatch: Patch, method: str, more: int) -> None:
    """One row too many makes a class too small; one too few loses a row that nobody decided to suppress."""
    miscount(monkeypatch, more)
    monkeypatch.setattr(Job, "passed", lambda _, verdict: verdict)  # the run has counted, too, and would stop here
    found = noticed(counted(2 if more == 1 else 4), alone(method))
    assert ("k" if more == 1 else "rows") in found


@pytest.mark.parametrize(("method", "more"), MISCOUNTED)
def test_the_run_notices_rows_that_are_counted_wrong(monkeypatch: Patch, method: str, more: int) -> None:
    miscount(monkeypatch, more)
    with pytest.raises(AuditFailed):
        rf.anonymize(counted(2 if more == 1 else 4), alone(method))


# Baskets


ITEMS = {
    "tree": ({"tree": {"l": LEFT, "r": RIGHT}}, "tree_paths"),
    "file": ({"file": "sides.csv"}, "file_paths"),
    "fan-out": ({"fanout": 4}, "fanout_paths"),
    "fan-out by support": ({"fanout": 4, "by": "support"}, "fanout_paths"),
}


def items_spec(kind: str) -> Spec:
    """Return a specification of baskets."""
    attribute = {"role": "items", "hierarchy": ITEMS[kind][0]}
    return Spec(
        attributes={"q": attribute}, privacy={"k": 3, "m": 1}, method={"name": "itemsets", "suppression": 0}
    ).at(FOLDER)


BASKETS = pa.table({"q": [[item] for item in LEFT + RIGHT]})


def items_elsewhere(patch: Patch, kind: str) -> None:
    """Put an item under the labels of the other group."""
    elsewhere(patch, Kind({}, LEFT + RIGHT, [], ITEMS[kind][1]))


def items_swapped(patch: Patch, kind: str) -> None:  # noqa: ARG001
    """Take an item for one of the other group."""
    honest = builders.read_domain

    def read(name: str, spec: Spec, values: Sequence[Any], *rest: Any) -> Domain:
        return neighbour(honest(name, spec, values, *rest), [*values].index("d"), [*values].index("e"))

    patch.setattr(baskets, "read_domain", read)


ITEM_FAULTS = [(kind, plant) for kind in ITEMS for plant in (items_elsewhere, items_swapped)]


@pytest.mark.parametrize(("kind", "plant"), ITEM_FAULTS)
def test_the_audit_notices_items(monkeypatch: Patch, kind: str, plant: Callable[[Patch, str], None]) -> None:
    assert noticed(BASKETS, items_spec(kind)) == []
    plant(monkeypatch, kind)
    assert "original" in noticed(BASKETS, items_spec(kind))
