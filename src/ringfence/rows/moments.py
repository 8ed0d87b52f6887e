"""Days, moments and times of day: what a text means by its format, and their one spelling.

A day is 2024-03-31, and so is its midnight; any other moment is 2024-03-31 08:15:00, with as much of a fraction as it
has. Of a moment with a zone, what clocks in that zone show counts. A time of day is 08:15:00.
"""

import datetime as dt
from collections.abc import Sequence

from ringfence.spec.written import CLOCK, ISO, tells_clock

Moment = dt.date | dt.time


def read_moment(text: str, formats: Sequence[str] = (ISO,)) -> dt.datetime | dt.time | None:
    """Return the moment that a text means by any of these formats, as clocks show it; None where it means none.

    >>> read_moment("1.2.2020", ["%d.%m.%Y"]), read_moment("1.2.20", ["%d.%m.%Y"])
    (datetime.datetime(2020, 2, 1, 0, 0), None)
    >>> read_moment("8.15", ["%H.%M"])
    datetime.time(8, 15)

    A text that means one moment by one format, and another by the next, is a ValueError.
    """
    found = {moment: each for each in formats if (moment := _read(text.strip(), each)) is not None}
    if len(found) > 1:
        meant = [f"{spelled_moment(moment)} by {each!r}" for moment, each in found.items()]
        raise ValueError(" and ".join(meant))
    return next(iter(found), None)


def _read(text: str, form: str) -> dt.datetime | dt.time | None:
    try:
        if form == CLOCK:
            return dt.time.fromisoformat(text).replace(tzinfo=None) if ":" in text else None
        moment = dt.datetime.fromisoformat(text) if form == ISO else dt.datetime.strptime(text, form)
    except ValueError:
        return None
    return moment.time() if tells_clock(form) else moment.replace(tzinfo=None)


def spelled_moment(moment: Moment) -> str:
    """Return a day, a moment or a time of day in its one spelling.

    >>> spelled_moment(dt.datetime(2024, 3, 31)), spelled_moment(dt.datetime(2024, 3, 31, 8, 15, 0, 500_000))
    ('2024-03-31', '2024-03-31 08:15:00.5')
    >>> spelled_moment(dt.time(8, 15))
    '08:15:00'
    """
    if isinstance(moment, dt.time):
        clock, dot, fraction = str(moment).partition(".")
        return clock + (dot + fraction).rstrip("0").rstrip(".")
    day, _, clock = str(moment).partition(" ")
    clock, dot, fraction = clock.partition(".")
    clock += (dot + fraction).rstrip("0").rstrip(".")
    return f"{day} {clock}" if clock not in ("", "00:00:00") else day
