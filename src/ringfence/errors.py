"""What can go wrong, by whose doing: each error names the value, where it stands, and what was allowed.

A mistake of ours is never one of these: it surfaces as an ordinary Python exception.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class RingfenceError(Exception):
    """The base of every error that a user can cause and mend."""


class SpecError(RingfenceError):
    """The specification asks for something that has no meaning, or that is not there yet."""


class DataError(RingfenceError):
    """The data does not fit the specification."""


class Unsatisfiable(RingfenceError):
    """No release can satisfy the specification on this data."""


class EngineError(RingfenceError):
    """The engine that holds the rows could not read or write them."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that looks most like `word`, or None when nothing comes near it.

    >>> nearest("hierachy", ["role", "hierarchy", "order"])
    'hierarchy'
    """
    known = list(known)
    same = [each for each in known if each.casefold() == word.casefold()]
    matches = same or get_close_matches(word, known, n=1, cutoff=0.6)
    return matches[0] if matches else None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return a clause " (did you mean ...?)" for the nearest known word, or nothing."""
    near = nearest(word, known)
    return f" (did you mean {near!r}?)" if near is not None else ""


def listed(words: Iterable[str]) -> str:
    """Return words as a readable list.

    >>> listed(["a", "b"])
    'a, b'
    """
    return ", ".join(words) or "none"


def some_rows(count: int) -> str:
    """Return a number of rows in words.

    >>> some_rows(1), some_rows(4)
    ('1 row', '4 rows')
    """
    return f"{count} row" if count == 1 else f"{count} rows"


def first_in(row: int | None) -> str:
    """Return a clause that says where something stands first; nothing where rows have no order.

    >>> first_in(1200), first_in(None)
    (', first in row 1,200', '')
    """
    return "" if row is None else f", first in row {row:,}"


def these(count: int) -> str:
    """Return how rows are spoken of: all that there are, be it one.

    >>> these(1), these(4)
    ('this one row', 'these 4 rows')
    """
    return "this one row" if count == 1 else f"these {count} rows"
