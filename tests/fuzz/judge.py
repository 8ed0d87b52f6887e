"""The judge: takes a published table as a reader has it, follows each row to its person, and counts.

Everything is by the plain definitions: classes are rows that look the same, people are who they were drawn as.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .cases import ENTITY, IDENTIFIER, TRACE, Case
from .columns import MOMENT
from .labels import Reader, set_members

TOLERANCE = 1e-9
Rows = list[dict[str, Any]]


class Wrong(AssertionError):
    """A release that is not what was promised."""


@dataclass(frozen=True)
class Stated:
    """What a run says of its release: rows that are suppressed, rows that were left out as incomplete."""

    suppressed: int
    incomplete: int
    kept: bool
    """Whether suppressed rows stay, with everything masked."""


def look(cell: Any) -> str:
    """What a reader sees of a cell: equal for two cells exactly if nothing tells them apart."""
    if isinstance(cell, str):
        return f"text {cell}"
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return "null"
    return f"{type(cell).__name__} {cell!r}"


def judge(case: Case, published: Rows, stated: Stated, second: Rows | None = None) -> None:
    """Raise `Wrong` unless a published table keeps everything that was promised of it.

    `second` is the table of sensitive values, where a release is two tables.
    """
    _columns(case, published)
    _one_look(case, published)
    _unlisted(case, published)
    origins = trace(case, published, stated)
    _totals(case, published, stated)
    if case.method == "anatomy":
        _buckets(case, published, second or [], origins)
        return
    if case.data.get("composite"):
        _together(case, published, origins)
        return
    if case.method == "ring":
        _rings(case, published, origins)
        return
    whole = [_sensitive(case, row) for row in published]
    for members in classes(case, published).values():
        _size(case, members, origins)
        _diversity(case, [whole[r] for r in members], whole)


def _columns(case: Case, published: Rows) -> None:
    """No identifier, nothing that nobody asked for, nothing lost."""
    hidden = {IDENTIFIER, *([] if case.data.get("composite") else [ENTITY])}
    wanted = {name for name in case.columns if name not in hidden}
    if case.method == "anatomy":
        wanted = wanted - set(case.of_role("sensitive")) | {"bucket"}
    for row in published:
        if set(row) != wanted:
            raise Wrong(f"the columns are {sorted(row)}, and should be {sorted(wanted)}")


def _one_look(case: Case, published: Rows) -> None:
    """What is one value is published as one: nothing tells two cells of one meaning apart."""
    for name in case.of_role("quasi", "sensitive", "insensitive"):
        looks: dict[Any, str] = {}
        for row in published:
            if name in row:
                seen = looks.setdefault(_label_meaning(case, name, row[name]), look(row[name]))
                if seen != look(row[name]):
                    raise Wrong(f"{name}: one value is published as {seen!r} and as {look(row[name])!r}")


def _unlisted(case: Case, published: Rows) -> None:
    """No exact dates are listed, unless it was asked for of their attribute."""
    for name in case.of_role("quasi"):
        kind, attribute = case.columns[name].kind, case.attributes[name]
        told = kind.family == MOMENT and (case.source != "csv" or kind.formats or "dates" in str(attribute))
        if not told or attribute.get("representation") == "set" or "set" in attribute.get("scheme", ""):
            continue
        for row in published:
            members = set_members(row[name]) if isinstance(row[name], str) else None
            if members is not None and sum(text != "null" for text, _ in members) > 1:
                raise Wrong(f"{name}: dates are listed: {row[name]}")


def _label_meaning(case: Case, name: str, cell: Any) -> Any:
    """What a cell says: a set the meanings of its members, in any order, else the value or the text."""
    members = set_members(cell) if isinstance(cell, str) and case.attributes[name]["role"] == "quasi" else None
    column = case.columns[name]
    if members is None or column.canonical(cell) in column.meanings():
        return column.canonical(cell)
    return frozenset(None if text == "null" and not quoted else column.canonical(text) for text, quoted in members)


def trace(case: Case, published: Rows, stated: Stated) -> list[int]:
    """Return the row of the original behind every published row, each for itself; `Wrong` where there is none."""
    original = {name: column.meanings() for name, column in case.columns.items()}
    readers = {name: Reader.of(case.columns[name], case.attributes[name]) for name in case.of_role("quasi")}
    unchanged = [name for name in case.of_role("sensitive", "insensitive") if published and name in published[0]]
    complete = [r for r in range(case.rows) if not is_incomplete(case, original, r)]
    fitting: list[list[int]] = []
    for row in published:
        same = [
            r
            for r in complete
            if all(case.columns[name].canonical(row[name]) == original[name][r] for name in unchanged)
        ]
        held = [r for r in same if all(reader.holds(row[name], original[name][r]) for name, reader in readers.items())]
        bounded = [r for r in held if _within_boundaries(case, row, readers, original, r, stated)]
        if not bounded:
            why = (
                "is of no row of the original"
                if not same
                else "has labels that do not hold"
                if not held
                else "is past a boundary"
            )
            raise Wrong(
                f"a published row {why}: {row}" + (f"; it is from {_person(case, same[0])}" if len(same) == 1 else "")
            )
        fitting.append(bounded)
    return match(fitting, case.rows)


def _person(case: Case, r: int) -> dict[str, Any]:
    return {name: column.values[r] for name, column in case.columns.items()}


def is_incomplete(case: Case, original: dict[str, list[Any]], r: int) -> bool:
    """Whether a row goes because it misses a value that counts."""
    if case.data.get("missing") != "suppress":
        return False
    privacy = case.privacy
    looked_at = [model["of"] for model in (privacy.get("l"), privacy.get("t")) if isinstance(model, dict)]
    if "p" in privacy or case.method == "anatomy":
        looked_at += case.of_role("sensitive")
    return any(original[name][r] is None for name in [*case.of_role("quasi"), *looked_at])


def _within_boundaries(
    case: Case, row: dict[str, Any], readers: dict[str, Reader], original: dict[str, list[Any]], r: int, stated: Stated
) -> bool:
    """Whether no label of a row is above the boundary of the true value; masked rows are exempt."""
    if stated.kept and all(row[name] == "*" for name in readers):
        return True
    for name, reader in readers.items():
        for boundary in case.attributes[name].get("boundary", []):
            inside = reader.nodes[boundary]
            if original[name][r] not in inside:
                continue
            members = set_members(row[name]) if isinstance(row[name], str) else None
            if members is not None and row[name] != original[name][r]:
                fine = all(
                    member in inside or reader.nodes.get(member, frozenset("*")) <= inside for member, _ in members
                )
            else:
                fine = row[name] == original[name][r] or reader.nodes.get(row[name], frozenset(["*"])) <= inside
            if not fine:
                return False
    return True


def match(fitting: Sequence[Sequence[int]], rows: int) -> list[int]:
    """Return a row for each published one, none twice, by augmenting paths; `Wrong` if there is no such choice."""
    taken: dict[int, int] = {}

    def place(i: int, tried: set[int]) -> bool:
        for r in fitting[i]:
            if r not in tried:
                tried.add(r)
                if r not in taken or place(taken[r], tried):
                    taken[r] = i
                    return True
        return False

    for i in range(len(fitting)):
        if not place(i, set()):
            raise Wrong(f"rows stand twice: {len(fitting)} published rows cannot be of as many of the {rows} originals")
    origins = [0] * len(fitting)
    for r, i in taken.items():
        origins[i] = r
    return origins


def _totals(case: Case, published: Rows, stated: Stated) -> None:
    """As many rows are missing as are said to be suppressed, and no more than are allowed."""
    original = {name: column.meanings() for name, column in case.columns.items()}
    incomplete = sum(is_incomplete(case, original, r) for r in range(case.rows))
    if incomplete != stated.incomplete:
        raise Wrong(f"{incomplete} rows miss a value, {stated.incomplete} are said to")
    counted = case.rows - incomplete
    gone = counted - len(published)
    if gone != (0 if stated.kept else stated.suppressed):
        raise Wrong(f"{gone} rows are missing, {stated.suppressed} are said to be suppressed (kept: {stated.kept})")
    limit = case.settings.get("suppression", 0 if case.method == "levels" else 1)
    if stated.suppressed > math.floor(Decimal(str(limit)) * counted):
        raise Wrong(f"{stated.suppressed} of {counted} rows are suppressed, the limit is {limit}")
    if not published:
        raise Wrong("a release without rows")


def classes(case: Case, published: Rows) -> dict[tuple[str, ...], list[int]]:
    """The rows that look the same in every quasi-identifier."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for r, row in enumerate(published):
        found[tuple(look(row[name]) for name in case.of_role("quasi"))].append(r)
    return found


def _size(case: Case, members: list[int], origins: list[int]) -> None:
    behind = {case.people[origins[r]] for r in members} if case.people else members
    if len(behind) < case.privacy.get("k", 1):
        raise Wrong(f"a class of {len(behind)}, k = {case.privacy['k']}")


def _sensitive(case: Case, row: dict[str, Any]) -> dict[str, Any]:
    return {name: case.columns[name].canonical(row[name]) for name in case.of_role("sensitive")}


def _diversity(case: Case, members: list[dict[str, Any]], whole: list[dict[str, Any]]) -> None:
    """Distinct, entropy and recursive l, p and t, of one class."""
    privacy = case.privacy
    if "l" in privacy:
        model = privacy["l"]
        counts = sorted(Counter(row[model["of"]] for row in members).values(), reverse=True)
        if not _is_diverse(counts, model):
            raise Wrong(f"a class with the counts {counts}, asked for {model}")
    for name in case.of_role("sensitive") if "p" in privacy else []:
        if len({row[name] for row in members}) < privacy["p"]:
            raise Wrong(f"a class has fewer than {privacy['p']} values of {name}")
    if "t" in privacy:
        model = privacy["t"]
        found = distance([row[model["of"]] for row in members], [row[model["of"]] for row in whole], model["distance"])
        if found > model["value"] + TOLERANCE:
            raise Wrong(f"a class at a distance of {found}, asked for {model}")


def _is_diverse(counts: list[int], model: dict[str, Any]) -> bool:
    least: float = model["value"]
    if model["kind"] == "distinct":
        return len(counts) >= least
    if model["kind"] == "entropy":
        total = sum(counts)
        return math.exp(-sum(c / total * math.log(c / total) for c in counts)) >= least - TOLERANCE
    return bool(counts[0] < model["c"] * sum(counts[int(least) - 1 :]))


def distance(part: list[Any], whole: list[Any], kind: str) -> float:
    """The earth mover's distance of two lists of values: all equally far apart, or in ranks, missing ones last."""
    values = sorted(set(whole), key=lambda value: (value is None, value if value is not None else 0))
    gaps = [part.count(value) / len(part) - whole.count(value) / len(whole) for value in values]
    if kind == "equal":
        return sum(map(abs, gaps)) / 2
    if len(values) < 2:
        return 0.0
    return sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps))) / (len(values) - 1)


def _together(case: Case, published: Rows, origins: list[int]) -> None:
    """Rows of a person stay together: one number a person, all rows or none, and k people with the same record."""
    numbers: dict[str, set[str]] = defaultdict(set)
    records: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for row, origin in zip(published, origins, strict=True):
        who = case.people[origin]
        numbers[who].add(look(row[ENTITY]))
        records[who].append(tuple(look(row[name]) for name in case.of_role("quasi")))
    if any(len(found) != 1 for found in numbers.values()) or len(set.union(*numbers.values())) != len(numbers):
        raise Wrong("a person has two numbers, or two people have one")
    for who, record in records.items():
        alike = sum(sorted(other) == sorted(record) for other in records.values())
        if alike < case.privacy.get("k", 1):
            raise Wrong(f"the rows of {who!r} are as those of {alike}, k = {case.privacy['k']}")


def _rings(case: Case, published: Rows, origins: list[int]) -> None:
    """Some draw gives each person k rows with 1/k each: there are k assignments of people to rows that share no pair.

    A bipartite graph has them exactly if it has a part in which every row and every person has k pairs, which is a
    flow. Only where the people that were published are known: rows carry a trace, or nobody is missing.
    """
    if TRACE not in case.columns and len(published) < case.rows:
        return
    width = case.privacy.get("k", 1)
    readers = {name: Reader.of(case.columns[name], case.attributes[name]) for name in case.of_role("quasi")}
    original = {name: case.columns[name].meanings() for name in readers}
    fits = [
        [
            i
            for i, r in enumerate(origins)
            if all(reader.holds(row[name], original[name][r]) for name, reader in readers.items())
        ]
        for row in published
    ]
    if regular_part(fits, width) < width * len(published):
        raise Wrong(f"no draw keeps 1/{width}: too few people fit the labels")
    if "l" not in case.privacy:
        return
    of, least = case.privacy["l"]["of"], case.privacy["l"]["value"]
    for i in range(len(origins)):
        values = {case.columns[of].canonical(published[row][of]) for row, people in enumerate(fits) if i in people}
        if len(values) < least:
            raise Wrong(f"a person fits rows with {len(values)} values, l = {least}")


def regular_part(fits: list[list[int]], width: int) -> int:
    """How many pairs can be chosen so that no row and no person has more than `width` of them."""
    chosen: list[set[int]] = [set() for _ in fits]
    load: Counter[int] = Counter()

    def add(row: int, tried: set[int]) -> bool:
        for person in fits[row]:
            if person in tried or person in chosen[row]:
                continue
            tried.add(person)
            if load[person] < width:
                load[person] += 1
                chosen[row].add(person)
                return True
            for other in range(len(fits)):
                if other != row and person in chosen[other] and add(other, tried):
                    chosen[other].discard(person)
                    chosen[row].add(person)
                    return True
        return False

    return sum(add(row, set()) for row in range(len(fits)) for _ in range(width))


def _buckets(case: Case, published: Rows, second: Rows, origins: list[int]) -> None:
    """The second table has the values of each bucket's people, and no value more than one in l of them."""
    (name,) = case.of_role("sensitive")
    column = case.columns[name]
    least = case.privacy["l"]
    said: dict[int, Counter[Any]] = defaultdict(Counter)
    looks: dict[Any, str] = {}
    for row in second:
        meaning = column.canonical(row[name])
        if meaning in said[int(row["bucket"])] or looks.setdefault(meaning, look(row[name])) != look(row[name]):
            raise Wrong(f"{name}: {row[name]!r} stands twice in a bucket, or looks different elsewhere")
        said[int(row["bucket"])][meaning] += int(row["count"])
    true: dict[int, Counter[Any]] = defaultdict(Counter)
    for row, origin in zip(published, origins, strict=True):
        true[int(row["bucket"])][column.canonical(column.values[origin])] += 1
    if {b: sum(counts.values()) for b, counts in said.items()} != {
        b: sum(counts.values()) for b, counts in true.items()
    }:
        raise Wrong("the two tables have different numbers of rows in a bucket")
    if TRACE in case.columns and said != true:
        raise Wrong(f"the second table says {dict(said)}, the people of the buckets have {dict(true)}")
    everything = Counter(column.meanings())
    if case.data.get("missing") != "suppress" and sum(said.values(), Counter()) - everything:
        raise Wrong("the second table has values that the original has not")
    for bucket, counts in said.items():
        if max(counts.values()) * least > sum(counts.values()):
            raise Wrong(f"bucket {bucket} has {counts}, l = {least}")
