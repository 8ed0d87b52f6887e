"""Local recoding in rounds, as ARX does it, and what comes out of its table: refinement, and what the rounds tell.

Made by hand from the description, since ARX is not at hand: find the best levels for all rows of which half may be left
over, publish the rest at these levels, and go on with what was left over. *Told* are values that labels would tell if
they were tight, which levels are not. Rounds tell something else (Chhillar, Righi, Sutter, Kornaropoulos: combinatorial
refinement, 2025): who was left over is in no class that the first round published. *Bits* are what a row of a later
round may be at the levels of the first: by its label, and without those classes.
"""

import csv
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from math import log2, prod
from pathlib import Path
from typing import Any

import pyarrow as pa

import ringfence as rf
from benchmarks.data import QUASI, adult_attributes, write_adult
from ringfence.plans.recode import GlobalPlan
from ringfence.values.builders import self_contained

LEFT_OVER = 0.5
"""The share of the rows that a round may leave to the next."""

Ways = Mapping[str, Mapping[str, Sequence[str]]]
"""Of each attribute and value, its labels from level 0 up."""


def in_rounds(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what is found in Adult, recoded in rounds."""
    with tempfile.TemporaryDirectory() as place:
        path = write_adult(folder, Path(place))
        spec = self_contained(rf.Spec(attributes=adult_attributes(), data={"unlisted": "drop"}).at(place))
        ways = {name: _ways(Path(place) / f"{name}.csv") for name in QUASI}
        with path.open(encoding="utf-8") as file:
            rows = [{name: row[name] for name in QUASI} for row in csv.DictReader(file)]
    for k in (2, 5):
        yield {"data": "Adult", "k": k, "cut": "rounds", **_attacked(rows, spec, ways, k)}


def _ways(path: Path) -> dict[str, Sequence[str]]:
    with path.open(encoding="utf-8") as file:
        return {labels[0]: labels for labels in csv.reader(file, delimiter=";")}


def _attacked(rows: Sequence[Mapping[str, str]], spec: rf.Spec, ways: Ways, k: int) -> dict[str, Any]:
    original = pa.Table.from_pylist([*rows])
    levels, parts = [], []
    left = original.append_column("row", pa.array(range(len(rows))))
    while len(left) >= k:
        release = rf.anonymize(left, _with(spec, k))
        assert isinstance(release.plan, GlobalPlan)
        levels.append(release.plan.levels)
        gone = {*release.table["row"].to_pylist()}
        parts.append([{name: ways[name][rows[row][name]][levels[-1][name]] for name in QUASI} for row in gone])
        left = left.filter(pa.array([row not in gone for row in left["row"].to_pylist()]))
    published = pa.Table.from_pylist([row for part in parts for row in part])
    judged = rf.Spec(**{**spec.model_dump(by_alias=True, exclude_unset=True), "privacy": {"k": k}})
    judged = judged.model_copy(update={"attributes": {name: judged.attributes[name] for name in QUASI}})
    found = rf.audit(published, judged, original, attacks="refinement").refinement
    assert found is not None
    before, after = _bits(parts, levels[0], ways)
    return {
        "rows": len(published),
        "rounds": len(parts),
        "first round": len(parts[0]),
        "plain": found.plain,
        "rebuilt": found.rebuilt,
        "determined": found.determined,
        "told": found.present,
        "bits by labels": round(before, 2),
        "bits by rounds": round(after, 2),
    }


def _with(spec: rf.Spec, k: int) -> rf.Spec:
    asked = spec.model_dump(by_alias=True, exclude_unset=True)
    attributes = {name: asked["attributes"][name] for name in QUASI} | {"row": {"role": "insensitive"}}
    method = {"name": "optimal", "scheme": "level", "metric": "glm", "suppression": LEFT_OVER}
    return rf.Spec(attributes=attributes, privacy={"k": k}, method=method)


def _bits(parts: Sequence[Sequence[Mapping[str, str]]], first: Mapping[str, int], ways: Ways) -> tuple[float, float]:
    """Return how many bits tell what a row of a later round is at the first one's levels: by labels, and by rounds."""
    classes = {tuple(row.values()) for row in parts[0]}
    under: dict[tuple[str, str], frozenset[str]] = {}
    for name, labels in ways.items():
        for way in labels.values():
            for label in way:
                under[name, label] = under.get((name, label), frozenset()) | {way[first[name]]}
    before = after = 0.0
    later = [row for part in parts[1:] for row in part]
    seen: dict[tuple[str, ...], tuple[float, float]] = {}
    for row in later:
        key = tuple(row.values())
        if key not in seen:
            allowed = [under[name, label] for name, label in row.items()]
            whole = prod(map(len, allowed))
            ruled_out = sum(all(label in each for label, each in zip(one, allowed, strict=True)) for one in classes)
            seen[key] = log2(whole), log2(whole - ruled_out)
        before, after = before + seen[key][0], after + seen[key][1]
    return before / len(later), after / len(later)
