"""Columns that say the same: one of them is enough, and the other may tell its order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ibis

from ringfence.draft.profile import LISTED, Pair, Profile
from ringfence.rows.engine import Engine
from ringfence.values.keys import text

OFTEN = 3
"""Rows that a value has on average, or more: with fewer, columns are one to one by chance."""


@dataclass(frozen=True)
class Twin:
    """A column that says the same as another, value for value, and is left out; `order` is that of the other's values
    by its numbers, where it has such."""

    name: str
    kept: str
    order: tuple[str, ...] = ()


def find_twins(engine: Engine, rows: ibis.Table, columns: Sequence[Profile], pairs: Sequence[Pair]) -> list[Twin]:
    """Return the columns to be left out, each with the one that says the same.

    Words are kept rather than numbers, which may be codes for them, then what stands first. Two columns of two values
    are not twins: that happens too easily.
    """
    by_name = {column.name: column for column in columns}
    place = {column.name: at for at, column in enumerate(columns)}
    left: dict[str, Twin] = {}
    for pair in sorted(pairs, key=lambda pair: tuple(place[name] for name in pair.columns)):
        first, second = (by_name[name] for name in pair.columns)
        if not _are_one(first, second, pair) or {first.name, second.name} & {*left}:
            continue
        kept, other = (second, first) if first.is_number and not second.is_number else (first, second)
        order = _order(engine, rows, kept, other) if other.is_number and not kept.is_number else ()
        left[other.name] = Twin(other.name, kept.name, order)
    return [*left.values()]


def _are_one(first: Profile, second: Profile, pair: Pair) -> bool:
    sizes = {column.distinct + (column.missing > 0) for column in (first, second)}
    return sizes == {pair.distinct} and 2 < pair.distinct <= first.rows // OFTEN and first.missing == second.missing


def _order(engine: Engine, rows: ibis.Table, kept: Profile, other: Profile) -> tuple[str, ...]:
    """Return the values of one column in the order of the numbers of the other."""
    if kept.distinct > LISTED or kept.kind != "text":
        return ()
    counted = engine.count(rows, [kept.name, other.name])
    both: Mapping[str, float] = {
        text(word): float(number)
        for word, number in zip(counted[kept.name].to_pylist(), counted[other.name].to_pylist(), strict=True)
        if word is not None and number is not None
    }
    return tuple(sorted(both, key=lambda word: (both[word], word)))
