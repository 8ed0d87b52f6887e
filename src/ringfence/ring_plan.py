"""Ring plans: every row gets a published value of its own, drawn from several when the plan is carried out.

The plan holds the order of the rows, the rings it is cut into and what each slot is published as. The draw is the
secret: it is made anew each time from the operating system's entropy, kept nowhere, and told to nobody.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ringfence.census import Longs
from ringfence.group_plan import GroupPlan, LabelledPlan
from ringfence.kernels.matchings import draw_rings
from ringfence.kernels.secret import Stream

Runs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RingPlan(LabelledPlan):
    """Publish rows in rings of the given sizes, each slot under its own labels.

    `columns`, `watched`, `combinations`, `complete` and `spec` are as in a group plan; what a slot shows is one of the
    kinds that `columns` call groups. `order` are the rows along the order as runs of (combination, rows), `slots` what
    they stand beside as runs of (kind, slots). The slot at place p of a ring covers the `width` rows from place p on,
    counted around, and one of them carries it.
    """

    kind: ClassVar[str] = "ring"
    order: Runs
    slots: Runs
    rings: tuple[int, ...]
    width: int
    suppressed_rows: int
    complete: tuple[str, ...] = ()
    spec: str = ""
    masked: bool = False

    def __post_init__(self) -> None:
        rows = sum(self.rings)
        if self.width < 1 or min(self.rings, default=0) < self.width:
            raise ValueError(f"every ring needs at least {self.width} rows, and there must be one")
        for name, runs, most in (("order", self.order, len(self.combinations)), ("slots", self.slots, self.groups)):
            if sum(count for _, count in runs) != rows or not all(0 <= i < most and count > 0 for i, count in runs):
                raise ValueError(f"{name} does not fit the rings, or speaks of what there is not")
        self._as_groups(())  # its checks are those of columns and combinations

    def _as_groups(self, entries: tuple[tuple[int, int, int], ...]) -> GroupPlan:
        return GroupPlan(
            columns=self.columns,
            watched=self.watched,
            combinations=self.combinations,
            entries=entries,
            suppressed_rows=self.suppressed_rows,
            complete=self.complete,
            spec=self.spec,
            masked=self.masked,
        )

    @property
    def starts(self) -> Longs:
        """The first place of each ring, and the number of places."""
        return np.concatenate([[0], np.cumsum(self.rings)]).astype(np.int64)

    def drawn(self, stream: Stream, *, by_walks: bool = True) -> GroupPlan:
        """Draw who carries which slot; return how many rows of each combination are published as which kind.

        Rows of one combination have the same quasi-identifiers; which of them it is, is left to the engine, by chance.
        The result is for the engine alone: it is not to be saved. `by_walks = False` draws as the paper does.
        """
        carrier = np.empty(sum(self.rings), np.int64)
        draw_rings(self.starts, self.width, stream, by_walks, carrier)
        pairs = _spread(self.order)[carrier] * self.groups + _spread(self.slots)
        pairs, counts = np.unique(pairs, return_counts=True)
        entries = np.stack([pairs // self.groups, pairs % self.groups, counts], axis=1)
        return self._as_groups(tuple(map(tuple, entries.tolist())))

    def _headline(self) -> str:
        least, most = min(self.rings), max(self.rings)
        sizes = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        rings = f"{len(self.rings):,} ring{'s' * (len(self.rings) != 1)} of {sizes} rows"
        return f"{rings}, each slot covers {self.width:,}; {self.suppressed_rows:,} rows dropped"


def runs_of(numbers: npt.NDArray[np.integer]) -> Runs:
    """Return numbers as runs of equal ones: (number, how many).

    >>> runs_of(np.array([4, 4, 1, 4]))
    ((4, 2), (1, 1), (4, 1))
    """
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    lengths = np.diff([*begins, len(numbers)])
    return tuple(zip(numbers[begins].tolist(), lengths.tolist(), strict=True))


def _spread(runs: Runs) -> Longs:
    pairs = np.array(runs, np.int64).reshape(-1, 2)
    return np.repeat(pairs[:, 0], pairs[:, 1])
