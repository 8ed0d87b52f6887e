"""The tables that tools meet on: each a folder with `table.csv` and a hierarchy for each quasi-identifier."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.data import QUASI, adult, write_adult
from ringfence.samples import people
from ringfence.samples.persons import EDUCATION, MARITAL_STATUS

NAMES = ("made-up people", "Adult, 4 attributes", "Adult, 8 attributes", "Adult, drawn")
"""The tables, smallest first."""
Paths = Sequence[Sequence[str]]
"""A line for each value: the value, then its labels up to `*`."""


@dataclass(frozen=True)
class Contest:
    """A table, its quasi-identifiers, which of them are numbers, and a column beside them."""

    name: str
    folder: Path
    quasi: tuple[str, ...]
    numeric: tuple[str, ...]
    beside: str
    rows: int

    def hierarchies(self) -> dict[str, Paths]:
        """Return the hierarchy of each quasi-identifier."""
        found: dict[str, Paths] = {}
        for name in self.quasi:
            with (self.folder / f"{name}.csv").open(encoding="utf-8") as file:
                found[name] = list(csv.reader(file, delimiter=";"))
        return found

    def table(self) -> pa.Table:
        """Return the quasi-identifiers, as text."""
        asked = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(self.quasi, pa.string()), include_columns=list(self.quasi)
        )
        return pyarrow.csv.read_csv(self.folder / "table.csv", convert_options=asked)


def contests(data: Path | None, into: Path) -> list[Contest]:
    """Write the tables into a folder; without the real data, only the one that is made here."""
    made = [made_up(_inside(into, "people"))]
    if data is not None:
        made += [adults(data, _inside(into, f"adult-{wide}"), wide) for wide in (4, 8)]
    return made


def _inside(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def adults(data: Path, folder: Path, wide: int) -> Contest:
    """Write Adult, its first so many quasi-identifiers, with ARX's hierarchies."""
    write_adult(data, folder).unlink()  # it has the hierarchies written, too
    pyarrow.csv.write_csv(adult(data).select([*QUASI[:wide], "class"]), folder / "table.csv")
    return Contest(NAMES[1 if wide == 4 else 2], folder, tuple(QUASI[:wide]), ("age",), "class", 30_162)


def drawn(data: Path, folder: Path, rows: int) -> Contest:
    """Write rows drawn from Adult, four quasi-identifiers: a table that is only to be judged."""
    table = adult(data).select([*QUASI[:4], "class"])
    table = table.take(pa.array(np.random.default_rng(0).integers(0, table.num_rows, rows)))
    pyarrow.csv.write_csv(table, folder / "table.csv")
    return Contest(NAMES[3], folder, tuple(QUASI[:4]), (), "class", rows)


def made_up(folder: Path, rows: int = 5_000) -> Contest:
    """Write people who do not exist: five quasi-identifiers; no value has a comma in it, as some tools join by commas.

    Ages have labels as in ARX's hierarchy (`20-24`), since some tools cannot read others.
    """
    quasi = ("age", "sex", "marital_status", "education", "postcode")
    table = people(2 * rows).select([*quasi, "salary"]).drop_null().slice(0, rows)
    columns = {name: [str(value) for value in table[name].to_pylist()] for name in table.column_names}
    pyarrow.csv.write_csv(pa.table(columns), folder / "table.csv")
    given: dict[str, Paths] = {
        "age": [[str(age), *(_band(age, width) for width in (5, 10, 20)), "*"] for age in range(16, 103)],
        "sex": [[value, "*"] for value in sorted({*columns["sex"]})],
        "marital_status": list(_even(MARITAL_STATUS)),
        "education": list(_even(EDUCATION)),
        "postcode": [
            [code, *(code[:kept] + "*" * (len(code) - kept) for kept in range(len(code) - 1, 0, -1)), "*"]
            for code in sorted({*columns["postcode"]})
        ],
    }
    for name, paths in given.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=";", lineterminator="\n").writerows(paths)
    return Contest(NAMES[0], folder, quasi, ("age",), "salary", rows)


def _band(age: int, width: int) -> str:
    low = age // width * width
    return f"{low}-{low + width - 1}"


def _even(tree: Mapping[str, object]) -> Iterable[list[str]]:
    """Yield the paths of a tree whose leaves are all as deep."""
    for label, below in tree.items():
        if isinstance(below, Mapping):
            yield from ([*path[:-1], label, "*"] for path in _even(below))
        else:
            yield [label, "*"]
