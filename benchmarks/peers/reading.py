"""What a published table tells, read from its labels alone: one reader for the tables of all tools.

A label is one of the hierarchy, a single value, a range of numbers (`17-22`, `[17, 22]`) or a set (`a,b`, `{a, b}`). A
cell loses the share of the attribute's other values that it leaves open, of numbers the width: *GLM* (Iyengar 2002)
over the values that the data has. A row that is gone loses everything. *DM* is the sum over rows of the size of their
class, a row that is gone counting all rows (Bayardo and Agrawal 2005).
"""

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import ringfence as rf
from benchmarks.peers.tables import Contest
from ringfence.values.keys import quoted

NUMBER = r"(-?\d+)(?:\.0)?"
RANGE = re.compile(rf"\[?{NUMBER}(?:-|, ){NUMBER}\]?|{NUMBER}")
COUNT = "count"
"""Tools that publish groups say so how many rows each has."""


class Unreadable(ValueError):
    """A label that is none of those a table of this kind can have."""


class Labels:
    """What the labels of one attribute stand for."""

    def __init__(self, name: str, paths: Sequence[Sequence[str]], values: Sequence[str], *, numeric: bool) -> None:
        self.name, self.numeric = name, numeric
        self.values = frozenset(values)
        if odd := sorted(value for value in self.values if re.search(r"[,{}]", value)):
            raise ValueError(f"{name}: {odd[0]!r} could not be told from a set")
        self._under: dict[str, set[str]] = {}
        for path in paths:
            if path[0] in self.values:
                for label in path:
                    self._under.setdefault(label, set()).add(path[0])

    def held(self, label: str) -> frozenset[str]:
        """Return the values of the data that a label stands for."""
        if label in self._under:
            return frozenset(self._under[label])
        if ends := self._ends(label):
            return frozenset(value for value in self.values if ends[0] <= int(value) <= ends[1])
        found = frozenset(part.strip(' "') for part in label.removeprefix("{").removesuffix("}").split(","))
        if not found <= self.values:
            raise Unreadable(f"{self.name}: {label!r} is no label, no range and no set of values of the data")
        return found

    def _ends(self, label: str) -> tuple[int, int] | None:
        """Return the two ends of a range of numbers, or of a single one."""
        found = RANGE.fullmatch(label) if self.numeric else None
        if found is None:
            return None
        low, high, alone = found.groups()
        return (int(alone), int(alone)) if alone else (int(low), int(high))

    def loss(self, label: str) -> float:
        """Return what a cell with this label loses."""
        held = self.held(label)
        if self.numeric:
            numbers, every = [int(value) for value in held], [int(value) for value in self.values]
            return (max(numbers) - min(numbers)) / ((max(every) - min(every)) or 1)
        return (len(held) - 1) / max(1, len(self.values) - 1)

    def written(self, label: str) -> str:
        """Return a label as the audit reads it: sets in braces, ranges in brackets; those of the hierarchy stay."""
        if label in self._under:
            return label
        if ends := self._ends(label):
            return f"[{ends[0]}, {ends[1]}]" if ends[0] < ends[1] else str(ends[0])
        held = sorted(self.held(label))
        return held[0] if len(held) == 1 else "{" + ", ".join(map(quoted, held)) + "}"


@dataclass(frozen=True)
class Reading:
    """What was read: rows by their labels, and what they lose."""

    rows: Mapping[tuple[str, ...], int]
    glm: float
    dm: int
    gone: int

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.rows)

    @property
    def smallest(self) -> int:
        """How many rows the smallest class has."""
        return min(self.rows.values(), default=0)


def labels_of(contest: Contest) -> list[Labels]:
    """Return what labels stand for, attribute by attribute."""
    table, trees = contest.table(), contest.hierarchies()
    return [
        Labels(name, trees[name], table[name].to_pylist(), numeric=name in contest.numeric) for name in contest.quasi
    ]


def read(path: Path, contest: Contest) -> Reading:
    """Read a release."""
    labels, rows = labels_of(contest), Counter[tuple[str, ...]]()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows[tuple(row[name] for name in contest.quasi)] += int(row.get(COUNT) or 1)
    spelled = Counter[tuple[str, ...]]()
    for key, count in rows.items():
        spelled[tuple(each.written(label) for each, label in zip(labels, key, strict=True))] += count
    losses = [{label: each.loss(label) for label in {key[a] for key in spelled}} for a, each in enumerate(labels)]
    gone = contest.rows - spelled.total()
    lost = sum(count * sum(of[label] for of, label in zip(losses, key, strict=True)) for key, count in spelled.items())
    return Reading(
        rows=spelled,
        glm=(lost + max(0, gone) * len(labels)) / (contest.rows * len(labels)),
        dm=sum(count * count for count in spelled.values()) + max(0, gone) * contest.rows,
        gone=gone,
    )


def judge(reading: Reading, contest: Contest, spec: Mapping[str, Any]) -> str:
    """Return what the audit says of a release beside its original: that the promise holds, or what is wrong first."""
    keys = [key for key, count in reading.rows.items() for _ in range(count)]
    published = pa.table({name: [key[a] for key in keys] for a, name in enumerate(contest.quasi)})
    verdict = rf.audit(published, rf.Spec(**spec).at(contest.folder), contest.table())
    return "holds" if verdict.ok else " ".join(str(verdict.findings[0]).split())
