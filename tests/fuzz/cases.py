"""Random cases: a table of any sort, a specification that fits it more often than not, and where it comes from."""

import csv
import random
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from .columns import (
    BOOL,
    BYTES,
    KINDS,
    MOMENT,
    NUMBER,
    TEXT,
    Column,
    Kind,
    draw_column,
    missing,
    pandas_series,
    spelled,
)

IDENTIFIER, ENTITY, TRACE = "name", "who", "trace"
SCHEMES = ("level", "cut", "ordered", "set", "guided-ordered", "guided-set")
GROUPING = ("cluster", "local", "hilbert", "mondrian")
METHODS = (*(f"optimal {scheme}" for scheme in SCHEMES), "levels", *GROUPING, "ring", "homogeneous", "anatomy")
FRAMES = ("pandas", "polars", "arrow", "duckdb")
FILES = ("csv", "parquet", "feather")
DIVERSE = ("ring", "anatomy")  # methods that need values to be about equally common
WITHOUT_HIERARCHY = ("optimal ordered", "optimal set", "local", "hilbert", "mondrian", "ring", "homogeneous", "anatomy")
STATED = ("tree", "mask", "intervals", "dates")  # hierarchies that are the same whatever type the column has


@dataclass(frozen=True)
class Case:
    """A case: its columns, its specification, and the sort of table that it comes as."""

    seed: int
    method: str
    columns: dict[str, Column]
    data: dict[str, Any]
    attributes: dict[str, dict[str, Any]]
    privacy: dict[str, Any]
    settings: dict[str, Any]
    source: str
    written: str
    people: tuple[str, ...] = ()
    """Whose each row is, where k counts people."""

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return len(self.columns[IDENTIFIER].values)

    def of_role(self, *roles: str) -> list[str]:
        """The attributes of some roles, in the specification's order."""
        return [name for name, attribute in self.attributes.items() if attribute["role"] in roles]

    @property
    def parts(self) -> dict[str, Any]:
        """The specification, as keyword arguments."""
        return {
            "data": self.data,
            "attributes": self.attributes,
            "privacy": self.privacy,
            "method": self.settings,
            **({"output": {"counts": True}} if self.counted else {}),
        }

    @property
    def counted(self) -> bool:
        """Whether counts of values are published beside it: half of the cases in which they may be."""
        loose = "loose" in (self.settings.get("labels"), *(each.get("labels") for each in self.attributes.values()))
        may = self.method != "anatomy" and self.privacy.get("k", 1) > 1 and not loose
        return may and random.Random(f"counts of {self.seed}").random() < 0.5

    def arrow(self) -> pa.Table:
        """The table, held by Arrow."""
        return pa.table({name: column.array() for name, column in self.columns.items()})

    def frame(self, sort: str) -> Any:
        """The table as pandas, Polars, Arrow or DuckDB hold it."""
        rng = random.Random(self.seed)
        if sort == "pandas":
            import pandas as pd

            return pd.DataFrame({name: pandas_series(column, rng) for name, column in self.columns.items()})
        table = self.arrow()
        if sort == "polars":
            return _polars(table, rng)
        if sort == "duckdb":
            import duckdb

            return duckdb.connect().from_arrow(table)
        return table

    def write(self, folder: Path, sort: str) -> Path:
        """Write the table into a file: text, where one value that is not said to be a number has one spelling."""
        path = folder / f"people.{sort}"
        if sort == "parquet":
            pyarrow.parquet.write_table(self.arrow(), path)
        elif sort == "feather":
            pyarrow.feather.write_feather(self.arrow(), str(path), compression="uncompressed")
        else:
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(self.columns)
                writer.writerows(zip(*(_texts(column) for column in self.columns.values()), strict=True))
        return path

    def __str__(self) -> str:
        cells = {name: list(column.values) for name, column in self.columns.items()}
        kinds = {name: column.kind.name for name, column in self.columns.items()}
        lines = [f"seed {self.seed}: {self.method} from {self.source}, written as {self.written}"]
        return "\n".join(
            [*lines, *(f"  {key}: {value}" for key, value in [*self.parts.items(), ("kinds", kinds)]), f"  {cells}"]
        )


def _format(column: Column) -> dict[str, Any]:
    """What a specification says of text that is dates."""
    formats = [*column.kind.formats]
    return {"format": formats if len(formats) > 1 else formats[0]} if formats else {}


def _texts(column: Column) -> list[str]:
    if column.numeric or column.kind.formats:
        return ["" if value is None else str(value) for value in column.values]
    return [spelled(column.canonical(value)) for value in column.values]


def _polars(table: pa.Table, rng: random.Random) -> Any:
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
            texts = frame[name].cast(pl.String)
            if rng.random() < 0.5:
                known = [*texts.drop_nulls().unique().sort(), "never seen"]
                frame = frame.with_columns(texts.cast(pl.Enum(known)).alias(name))
    return frame


def draw_case(seed: int) -> Case:
    """Draw the case of a seed: always the same one."""
    rng = random.Random(seed)
    method = rng.choice(METHODS)
    source = rng.choice([*FRAMES, *FRAMES, *FILES])
    rows = rng.choice([rng.randint(2, 6), rng.randint(5, 16), rng.randint(12, 40)])
    kinds = [kind for kind in KINDS.values() if kind.duckdb or source != "duckdb"]
    columns = {IDENTIFIER: Column(KINDS["text"], tuple(f"id{i}" for i in range(rows)))}
    attributes: dict[str, dict[str, Any]] = {IDENTIFIER: {"role": "identifier"}}
    for a in range(rng.choice([1, 1, 2, 2, 3, 4])):
        name = _name(rng, "q", a)
        columns[name] = draw_column(rng, rows, rng.choice(kinds))
        attributes[name], columns[name] = _quasi(rng, columns[name], method, source)
    for a in range(1 if method == "anatomy" else rng.choice([0, 1, 1, 2])):
        name = _name(rng, "s", a)
        columns[name] = draw_column(rng, rows, rng.choice(kinds), diverse=method in DIVERSE or rng.random() < 0.3)
        attributes[name] = {"role": "sensitive", **_format(columns[name])}
    for a in range(rng.choice([0, 0, 1, 2])):
        name = _name(rng, "c", a)
        columns[name] = draw_column(rng, rows, rng.choice([kind for kind in kinds if not kind.formats]))
        attributes[name] = {"role": "insensitive"}
    data: dict[str, Any] = {}
    if rng.random() < 0.25:
        data["missing"] = rng.choice(["suppress", "suppress", "suppress", "value", "error"])
    people: tuple[str, ...] = ()
    if rng.random() < 0.2 and method.split()[0] in ("optimal", "levels", *GROUPING):
        people, columns = _with_people(rng, rows, columns, attributes)
        data["entity"] = ENTITY
        if method in ("optimal level", "levels") and rng.random() < 0.4:
            data["composite"] = True
    if people or rng.random() < 0.5:
        tags = [f"t{i:02d}" for i in range(rows)]
        rng.shuffle(tags)
        columns[TRACE] = Column(KINDS["text"], tuple(tags))
        attributes[TRACE] = {"role": "insensitive"}
    order = list(columns)
    rng.shuffle(order)
    case = Case(
        seed,
        method,
        {name: columns[name] for name in order},
        data,
        attributes,
        {},
        {},
        source,
        rng.choice(["csv", "parquet"]),
        people,
    )
    case = replace(case, privacy=_privacy(rng, case))
    return replace(case, settings=_settings(rng, case))


def _name(rng: random.Random, role: str, number: int) -> str:
    """A name for a column: now and then one that has to be quoted."""
    return f"{role}{number}" if rng.random() < 0.9 else f'{role} "{number}", é'


def _with_people(
    rng: random.Random, rows: int, columns: dict[str, Column], attributes: dict[str, dict[str, Any]]
) -> tuple[tuple[str, ...], dict[str, Column]]:
    """Say whose each row is; mostly, everybody has one value of each sensitive attribute, as diversity needs it."""
    people = tuple(f"w{rng.randrange(max(2, rows * 2 // 3))}" for _ in range(rows))
    columns = {**columns, ENTITY: Column(KINDS["text"], people)}
    if rng.random() < 0.5:
        attributes[ENTITY] = {"role": "identifier"}
    for name, attribute in attributes.items():
        if attribute["role"] == "sensitive" and rng.random() < 0.8:
            first: dict[str, Any] = {}
            values = tuple(
                first.setdefault(who, value) for who, value in zip(people, columns[name].values, strict=True)
            )
            columns[name] = replace(columns[name], values=values)
    return people, columns


def _quasi(rng: random.Random, column: Column, method: str, source: str) -> tuple[dict[str, Any], Column]:
    """Draw how a quasi-identifier is generalized, and say whether its text is numbers."""
    kind = column.kind
    attribute: dict[str, Any] = {"role": "quasi", **_format(column)}
    hierarchy = _hierarchy(rng, column, source)
    if method not in WITHOUT_HIERARCHY or rng.random() < 0.5:
        attribute["hierarchy"] = hierarchy
    family, texts = kind.family, source == "csv"
    intervals = isinstance(hierarchy, dict) and "intervals" in hierarchy and "hierarchy" in attribute
    values = sorted({spelled(meaning) for meaning in column.meanings()} - {""})
    of_numbers = family == NUMBER or (kind.name == "numbers as text" and "hierarchy" not in attribute)
    of_dates = family == MOMENT and (source != "csv" or kind.formats)
    if (of_numbers and rng.random() < 0.5) or (of_dates and rng.random() < 0.2):
        attribute["order"] = "numeric"
    elif family == TEXT and rng.random() < 0.3 and not intervals:
        rng.shuffle(values)
        attribute["order"] = rng.choice(["lexical", values])
    if rng.random() < 0.3:
        shown = ["set", "range"] if "order" in attribute or intervals or of_dates else ["set"]
        attribute["representation"] = rng.choice([*shown, *(["hierarchy"] if "hierarchy" in attribute else [])])
    if rng.random() < 0.1:
        attribute["weight"] = rng.choice([0.5, 2, 3])
    if isinstance(hierarchy, dict) and "tree" in hierarchy and "hierarchy" in attribute and rng.random() < 0.2:
        attribute["boundary"] = [rng.choice(list(hierarchy["tree"]))]
    if method.startswith("optimal") and "hierarchy" in attribute and rng.random() < 0.1:
        attribute["scheme"] = rng.choice(SCHEMES)
    numeric = family == TEXT and (intervals or attribute.get("order") == "numeric")
    numeric = numeric or (family == NUMBER and texts and (intervals or attribute.get("order") == "numeric"))
    return attribute, replace(column, numeric=numeric or (family == TEXT and _is_bare_number(attribute, column)))


def _is_bare_number(attribute: dict[str, Any], column: Column) -> bool:
    """Whether nothing says what a column is, and all its texts are numbers as these are written: then it is numbers."""
    given = attribute.get("hierarchy", "flat")
    to_be_listed = "set" in (attribute.get("representation"), attribute.get("scheme", "")[-3:])
    bare = (
        not to_be_listed
        and "order" not in attribute
        and (given == "flat" or (isinstance(given, dict) and "fanout" in given))
    )
    texts = [value for value in column.values if not missing(value)]
    return bare and bool(texts) and all(re.fullmatch(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?", text) for text in texts)


def _hierarchy(rng: random.Random, column: Column, source: str) -> Any:
    """Draw a hierarchy that fits a column."""
    kind = column.kind
    choices: list[Any] = ["flat", {"fanout": rng.choice([2, 3])}]
    if kind.family == NUMBER or kind.name == "numbers as text":
        widths: list[float] = rng.choice([[5.0], [2.0, 10.0], [10.0, 20.0], [2.5, 5.0]])
        intervals: dict[str, Any] = {"intervals": widths}
        if rng.random() < 0.3:
            intervals["from"] = rng.choice([0, 1, -0.5])
        if rng.random() < 0.2:
            intervals["bottom"] = intervals.get("from", 0)
        if rng.random() < 0.2:
            intervals["top"] = intervals.get("from", 0) + 2 * max(widths)
        small = all(abs(meaning) < 10**6 for meaning in column.meanings() if isinstance(meaning, Decimal))
        if small or rng.random() < 0.2:
            choices += [intervals] * 3
    if kind.family == TEXT and kind.name != "numbers as text":
        choices += [{"tree": _tree(rng, column)}] * 3
        choices += [{"mask": rng.choice(["right", "left"])}] * (4 if kind.name == "codes" else 1)
    if kind.name in ("int", "small int") and source in FRAMES:
        choices.append({"mask": "right"})
    if kind.exact_days and (source != "csv" or kind.formats):
        parts = [part for part in ("month", "quarter", "year", "decade") if rng.random() < 0.6] or ["year"]
        choices += [{"dates": parts}] * 4
    if kind.family in (BOOL, BYTES):
        return rng.choice(choices[:2])
    return rng.choice(choices)


def _tree(rng: random.Random, column: Column) -> dict[str, Any]:
    """A stated tree over a column's values, with some that nobody has; not always balanced."""
    leaves = sorted({spelled(meaning) for meaning in column.meanings()} - {""} | {"unseen 1", "unseen 2"})
    rng.shuffle(leaves)
    tree: dict[str, Any] = {}
    while leaves:
        size = rng.randint(1, 3)
        group, leaves = leaves[:size], leaves[size:]
        label = f"Node {len(tree)}"
        deeper = rng.random() < 0.3 and len(group) > 1
        tree[label] = {f"{label}-{i}": [leaf] for i, leaf in enumerate(group)} if deeper else group
    return tree


def _privacy(rng: random.Random, case: Case) -> dict[str, Any]:
    """Draw a promise that a table of this size has a chance to keep."""
    sensitive = case.of_role("sensitive")
    if case.method == "anatomy":
        return {"l": rng.choice([2, 2, 3])}
    privacy: dict[str, Any] = {"k": rng.choice([1, 2, 2, 2, 3, 3, 5])}
    counts_only = case.method == "homogeneous" or case.data.get("composite")  # nothing but k goes with these
    if not sensitive or counts_only or rng.random() < 0.4:
        return privacy
    of = rng.choice(sensitive)
    if case.method == "ring":
        models = ["distinct"]
    elif case.people or (case.method in GROUPING and rng.random() < 0.9):
        models = ["distinct", "p"]
    else:
        models = ["distinct", "entropy", "recursive", "p", "t", "t", "alone"]
    model = rng.choice(models)
    if model == "p":
        privacy["p"] = 2
    elif model == "t":
        privacy["t"] = {"value": rng.choice([0.2, 0.35, 0.5, 0.8]), "of": of, "distance": "equal"}
        if case.columns[of].kind.family == NUMBER and rng.random() < 0.5:
            case.attributes[of]["order"] = "numeric"
            privacy["t"]["distance"] = "ordered"
    elif model == "alone":
        return {"l": {"value": 2, "kind": "distinct", "of": of}}
    else:
        privacy["l"] = {"value": rng.choice([2, 2, 3]), "kind": model, "of": of}
        if model == "entropy":
            privacy["l"]["value"] = rng.choice([1.5, 2])
        if model == "recursive":
            privacy["l"]["c"] = rng.choice([1, 2, 3.5])
    return privacy


def _settings(rng: random.Random, case: Case) -> dict[str, Any]:
    """Draw the table of the method."""
    name, *scheme = case.method.split()
    settings: dict[str, Any] = {"name": "ring" if name == "homogeneous" else name}
    if scheme:
        settings["scheme"] = scheme[0]
    if name == "homogeneous":
        settings["homogeneous"] = True
    if name == "levels":
        settings["levels"] = {quasi: rng.choice([0, 1, 1, 1, 2]) for quasi in case.of_role("quasi")}
    if name in ("optimal", "levels"):
        settings["suppression"] = rng.choice([0, 0.2, 1, 1])
        settings["keep_suppressed"] = rng.random() < 0.3
    elif name != "anatomy" and rng.random() < 0.3:
        settings["suppression"] = rng.choice([0, 0.2, 1])
    if name in (*GROUPING, "ring", "homogeneous") and rng.random() < 0.6:
        hierarchies = all("hierarchy" in case.attributes[quasi] for quasi in case.of_role("quasi"))
        settings["representation"] = rng.choice(["set", "range", *(["hierarchy"] if hierarchies else [])])
    if name == "ring" and "l" not in case.privacy and rng.random() < 0.3:
        settings["partition"] = rng.choice(["whole", "lexicographic", "hilbert", "mondrian", "cluster", "local"])
    if name == "optimal" and rng.random() < 0.2:
        settings["metric"] = rng.choice(["glm", "ncp", "hdm", "aecs"])
    if name == "optimal" and scheme != ["level"] and rng.random() < 0.15:
        settings["search"] = rng.choice(["bottom-up", "top-down"])
    if name == "mondrian" and rng.random() < 0.2:
        settings["relaxed"] = True
    if name in ("local", "anatomy", "ring") and rng.random() < 0.3:
        settings["seed"] = rng.randrange(100)
    if name == "local":
        settings["effort"] = "fast"
    return settings


def can_be_copied(case: Case) -> bool:
    """Whether a text file of the table must give the same release: one recoding for all, of hierarchies as stated."""
    kinds: list[Kind] = [case.columns[name].kind for name in case.of_role("quasi", "sensitive")]
    return (
        case.method in ("optimal level", "optimal cut", "levels")
        and all(kind.family == TEXT or kind.name in ("int", "int and null", "bool", "date") for kind in kinds)
        and all(_is_stated(case.attributes[name], case.columns[name]) for name in case.of_role("quasi"))
        and not any(column.numeric for column in case.columns.values())
        and "t" not in case.privacy
    )


def _is_stated(attribute: dict[str, Any], column: Column) -> bool:
    hierarchy = attribute.get("hierarchy")
    return (
        "scheme" not in attribute
        and (hierarchy == "flat" or (isinstance(hierarchy, dict) and any(key in hierarchy for key in STATED)))
        and (column.kind.family != MOMENT or hierarchy != "flat")
    )
