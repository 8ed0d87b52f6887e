"""What can go wrong, by whose doing: each error names the value, where it stands, and what was allowed.

A mistake of ours is never one of these: it surfaces as an ordinary Python exception.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches

LONG, SHOWN = 200, 60
"""What is quoted and longer than this is shortened, to so many characters: cells may hold whole documents."""
MOST = 8_000
"""No message is longer than this: what is left out stands in the middle, since the hint is at the end."""

_CHARACTER = r"[^\\]|\\x..|\\u.{4}|\\U.{8}|\\."
_LITERAL = re.compile(
    r"""(?<!\w)(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")""",  # as repr() writes a text; not the one in "person's"
    re.DOTALL,
)
_BEGINNING = re.compile(rf"(?:{_CHARACTER}){{0,{SHOWN}}}", re.DOTALL)


class RingfenceError(Exception):
    """The base of every error that a user can cause and mend. It may quote cells as they are: it shortens them."""

    def __init__(self, *said: object) -> None:
        super().__init__(*(shortened(each) if isinstance(each, str) else each for each in said))


class SpecError(RingfenceError):
    """The specification asks for something that has no meaning, or that is not there yet."""


class DataError(RingfenceError):
    """The data does not fit the specification."""


class Unsatisfiable(RingfenceError):
    """No release can satisfy the specification on this data."""


class EngineError(RingfenceError):
    """The engine that holds the rows could not read or write them."""


def shortened(message: str) -> str:
    """Return a message whose long quotations are cut short, with how long they were.

    >>> shortened("column 'note' holds " + repr("word " * 200_000) + ", first in row 2")
    "column 'note' holds 'word word word word word word word word word word word word ...' (1,000,000 characters), \
first in row 2"
    """
    if len(message) <= LONG:
        return message
    message = _LITERAL.sub(_cut, message)
    if len(message) <= MOST:
        return message
    return f"{message[: MOST // 2]} ... ({len(message) - MOST:,} characters left out) ... {message[-MOST // 2 :]}"


def _cut(literal: re.Match[str]) -> str:
    """Return a quotation, cut short if it is long: between two characters, however they are written."""
    quoted = literal[0]
    if len(quoted) <= LONG:
        return quoted
    inside = quoted[1:-1]
    begins = _BEGINNING.match(inside)
    assert begins is not None, "the least that it matches is nothing"
    characters = len(re.sub(_CHARACTER, ".", inside, flags=re.DOTALL))
    return f"{quoted[0]}{begins[0]}...{quoted[0]} ({characters:,} characters)"


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
