"""Days and moments: what a text means by its format, and their one spelling.

A day is 2024-03-31, and so is its midnight; any other moment is 2024-03-31 08:15:00, with as much of a fraction as it
has. Of a moment with a zone, what clocks in that zone show counts.
"""

import datetime as dt
from collections.abc import Sequence

from ringfence.spec.tables import ISO


def read_moment(text: str, formats: Sequence[str] = (ISO,)) -> dt.datetime | None:
    """Return the moment that a text means by any of these formats, as clocks show it; None where it means none.

    >>> read_moment("1.2.2020", ["%d.%m.%Y"]), read_moment("1.2.20", ["%d.%m.%Y"])
    (datetime.datetime(2020, 2, 1, 0, 0), None)

    A text that means one moment by one format, and another by the next, is a ValueError.
    """
    found = {moment: each for each in formats if (moment := _read(text.strip(), each)) is not None}
    if len(found) > 1:
        meant = [f"{spelled_moment(moment)} by {each!r}" for moment, each in found.items()]
        raise ValueError(" and ".join(meant))
    return next(iter(found), None)


def _read(text: str, form: str) -> dt.datetime | None:
    try:
        moment = dt.datetime.fromisoformat(text) if form == ISO else dt.datetime.strptime(text, form)
    except ValueError:
        return None
    return moment.replace(tzinfo=None)


def spelled_moment(moment: dt.date) -> str:
    """Return a day or a moment in its one spelling.

    >>> spelled_moment(dt.datetime(2024, 3, 31)), spelled_moment(dt.datetime(2024, 3, 31, 8, 15, 0, 500_000))
    ('2024-03-31', '2024-03-31 08:15:00.5')
    """
    day, _, clock = str(moment).partition(" ")
    clock, dot, fraction = clock.partition(".")
    clock += (dot + fraction).rstrip("0").rstrip(".")
    return f"{day} {clock}" if clock not in ("", "00:00:00") else day
