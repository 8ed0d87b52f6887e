"""How samples are drawn: uniform numbers from one stream put through tables of shares; and how they are written."""

import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ringfence.arrays import Floats, Longs
from ringfence.spec import Spec
from ringfence.spec.data import Data

Shares: TypeAlias = Mapping[str, Any]
"""Values in the groups of their hierarchy, each with its share, or with one for each of several kinds of people. The
shares of a kind need not add up to anything."""
AGE_BANDS = np.array([20, 30, 45, 65, 80])  # under 20, 20 to 29, ..., 80 and over
# Names hold what readers of text files stumble over: apostrophes, commas, quotation marks, spaces, many scripts.
GIVEN_NAMES = [  # women's first, then as many men's; the commoner first
    "Anne", "Inger", "Kari", "Fatima", "Zoë", "Siân", "Agnieszka", "Ольга", "Ελένη", "娜", "Mary Jane", 'Peg "Meg"',
    "Jan", "Per", "Bjørn", "Ólafur", "José", "Mohammed", "Łukasz", "Дмитрий", "יוסף", "伟", "Jean-Luc", 'Rob "Bob"',
]  # fmt: skip
SURNAMES = [
    "Hansen", "Johansen", "Olsen", "Larsen", "Ødegård", "Kowalski", "Nguyễn", "Khan", "O'Neill", "李", "Müller",
    "García Márquez", "van der Berg", "Þórsdóttir", "Škvorecký", "al-Ḥasan", "Иваненко", "शर्मा", "محمد", "King, Jr.",
]  # fmt: skip


def write_sample(folder: Path, name: str, table: pa.Table, spec: Spec) -> Path:
    """Write a table and its specification under a name; return where the specification lies."""
    folder.mkdir(parents=True, exist_ok=True)
    # Arrow would put every text in quotes; a file that people open should have them only where they are needed.
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    path = folder / f"{name}.toml"
    spec.model_copy(update={"data": Data(source=f"{name}.csv")}).dump(path)
    return path


def uniform_numbers(rows: int, seed: int) -> Iterator[Floats]:
    """Yield one column of uniform numbers after the other; of NumPy's draws, these are the least likely to change."""
    generator = np.random.Generator(np.random.PCG64(seed))
    while True:
        yield generator.random(rows)


def draw(uniforms: Floats, shares: Floats, kind: Longs | None = None) -> Longs:
    """Return the position on which each uniform number falls by these shares, or by those of its kind."""
    edges = shares.cumsum(axis=-1)
    edges = (edges / edges[..., -1:])[..., :-1]  # whatever lies beyond the last edge falls on the last position
    if kind is None:
        return np.searchsorted(edges, uniforms, side="right")
    drawn: Longs = (uniforms[:, None] >= edges[kind]).sum(axis=1)
    return drawn


def leaves(tree: Any, groups: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str], Any]]:
    """Yield each leaf with the groups it is in and what is said of it: its shares, or its rank in a list of leaves."""
    for name, below in tree.items() if isinstance(tree, Mapping) else zip(tree, itertools.count()):
        if isinstance(below, Mapping | list):
            yield from leaves(below, groups | {name})
        else:
            yield name, groups, below


def shares_of(table: Shares) -> Floats:
    """Return the shares of a table's values, in a row for each kind of people if there are several."""
    shares: Floats = np.array([shares for _, _, shares in leaves(table)], np.float64).T
    return shares


def tree_of(table: Shares) -> Any:
    """Return the hierarchy of a table's values as a specification states it: groups, and lists of values."""
    if any(isinstance(below, Mapping) for below in table.values()):
        return {name: tree_of(below) for name, below in table.items()}
    return list(table)


def texts(table: Sequence[str] | Shares, codes: Longs, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    values = pa.array([value for value, _, _ in leaves(table)], pa.string())
    return values.take(pa.array(codes, pa.int64(), mask=missing))


def zipf(count: int, exponent: float) -> Floats:
    shares: Floats = np.arange(1.0, count + 1) ** -exponent
    return shares


def sample_postcodes() -> tuple[list[str], Floats]:
    """Return four-digit postcodes and their shares: in each region some towns, in each some codes; 0 is the capital."""
    places = [("053716", 0.5), ("148062", 2.0), ("527", 1.5), ("1063", 1.0)]  # the commonest digits first
    codes, shares = [""], np.ones(1)
    for digits, exponent in places:
        codes = [code + digit for code in codes for digit in digits]
        shares = np.outer(shares, zipf(len(digits), exponent)).ravel()
    return codes, shares
