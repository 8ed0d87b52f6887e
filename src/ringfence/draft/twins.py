"""Columns that say the same: one of them is enough, and the other may tell its order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import ibis

from ringfence.draft.profile import LISTED, Profile, numbered_values
from ringfence.rows.engine import Engine
from ringfence.rows.numbered import numbered_words
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


def find_twins(engine: Engine, rows: ibis.Table, columns: Sequence[Profile]) -> list[Twin]:
    """Return the columns to be left out, each with the one that says the same.

    Words are kept rather than numbers, which may be codes for them, then what stands first. Two columns of two values
    are not twins: that happens too easily.
    """
    left = []
    for kept, *others in _alike(engine, rows, columns):
        for column in others:
            first, other = (column, kept) if kept.is_number and not column.is_number else (kept, column)
            order = _order(engine, rows, first, other) if other.is_number and not first.is_number else ()
            left.append(Twin(other.name, first.name, order))
            kept = first  # noqa: PLW2901  what is left out has no twins of its own
    return left


def _alike(engine: Engine, rows: ibis.Table, columns: Sequence[Profile]) -> list[list[Profile]]:
    """Return columns that are the same, value for value, in lots. They are if their values, numbered as they are met,
    are the same numbers in the same rows: so no two columns have to be compared."""
    counted = engine.count(rows, [column.name for column in columns])
    found: dict[tuple[int, bytes], list[Profile]] = {}
    for column in columns:
        values = column.distinct + (column.missing > 0)
        if 2 < values <= column.rows // OFTEN:
            met, firsts = numbered_words(numbered_values(counted[column.name])[0])
            if len(firsts) == values:
                found.setdefault((column.missing, blake2b(met.tobytes()).digest()), []).append(column)
    return [*found.values()]


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
