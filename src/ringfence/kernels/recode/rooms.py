"""Room for what is worked out each time an attribute is improved, so that it is not asked for anew."""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Floats, Ints, Longs


class Room(NamedTuple):
    """Arrays that are filled anew for every attribute that is improved.

    `context` and `order` are by tuple; what follows is by *entry*, the tuples of one context at one place: those from
    `order[begin[e]]` to before `order[begin[e + 1]]`.
    """

    slots: Ints
    heads: Longs
    context: Ints
    order: Ints
    starts: Ints
    home: Ints
    place: Ints
    begin: Ints
    rows: Longs
    lacks: Floats
    tallies: Floats


def room_for(tuples: int) -> Room:
    """Return room for so many tuples."""
    span = 1 << max(4, (2 * tuples - 1).bit_length())
    more = tuples + 2
    return Room(
        slots=np.empty(span, np.int32), heads=np.empty(tuples, np.int64), context=np.empty(tuples, np.int32),
        order=np.empty(tuples, np.int32), starts=np.empty(more, np.int32), home=np.empty(more, np.int32),
        place=np.empty(more, np.int32), begin=np.empty(more, np.int32), rows=np.empty(tuples, np.int64),
        lacks=np.empty(tuples), tallies=np.empty(tuples),
    )  # fmt: skip
