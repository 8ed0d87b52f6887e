"""Ring plans: every row gets a published value of its own, drawn from several when the plan is carried out.

The plan holds the order of the rows, the rings it is cut into and what each slot is published as. The draw is the
secret: it is made anew each time from the operating system's entropy, kept nowhere, and told to nobody.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Longs
from ringfence.census.census import Census
from ringfence.kernels.groups.matchings import draw_rings
from ringfence.kernels.secret import Stream, new_stream, secret_key
from ringfence.plans.base import Occasion
from ringfence.plans.group import (
    GroupPlan,
    LabelledPlan,
    Numbers,
    columns_of_numbers,
    entry_table,
    number_table,
    outside,
)
from ringfence.plans.published import Published, Together
from ringfence.rows.steps import CarryOut

WHAT, COUNT = "what", "count"
Draw: TypeAlias = Literal["walks", "paper"]
Runs: TypeAlias = Annotated[pa.Table, number_table(WHAT, COUNT), columns_of_numbers(WHAT, COUNT)]
"""Numbers as runs of equal ones: what it is, and how many there are."""


@dataclass(frozen=True)
class RingPlan(LabelledPlan):
    """Publish rows in rings of the given sizes, each slot under its own labels.

    `columns`, `watched`, `combinations`, `complete` and `spec` are as in a group plan; what a slot shows is one of the
    kinds that `columns` call groups. `order` are the rows along the order as runs of (combination, rows), `slots` what
    they stand beside as runs of (kind, slots). The slot at place p of a ring covers as many rows from place p on as
    the ring's width says, counted around, and one of them carries it. `widths` are those of the rings, as runs. None is
    less than `width`: to whoever does not know the draw, a match is true with a probability of 1 / `width` or less.
    """

    kind: ClassVar[str] = "ring"
    order: Runs
    slots: Runs
    rings: Numbers
    width: int
    widths: Runs
    suppressed_rows: int
    complete: tuple[str, ...] = ()
    spec: str = ""
    masked: bool = False
    draw: Draw = "walks"

    def __post_init__(self) -> None:
        if self.width < 1 or not len(self.rings) or outside(self.rings, self.width):
            raise ValueError(f"every ring needs at least {self.width} rows, and there must be one")
        what, count = (self.widths[column].combine_chunks() for column in (WHAT, COUNT))
        if outside(what, self.width) or outside(count, 1) or pc.sum(count).as_py() != len(self.rings):
            raise ValueError(f"every ring needs a width of {self.width} or more")
        if (self.rings.to_numpy() < _spread(self.widths)).any():
            raise ValueError("every ring needs at least as many rows as its slots cover")
        most = {"order": (self.order, self.combinations.num_rows), "slots": (self.slots, self.groups)}
        for name, (runs, stop) in most.items():
            what, count = (runs[column].combine_chunks() for column in (WHAT, COUNT))
            if outside(what, 0, stop) or outside(count, 1) or pc.sum(count).as_py() != pc.sum(self.rings).as_py():
                raise ValueError(f"{name} does not fit the rings, or speaks of what there is not")
        nothing = np.empty(0, np.int64)
        self._as_groups(entry_table(nothing, nothing, nothing))  # its checks are those of columns and combinations

    def _as_groups(self, entries: pa.Table) -> GroupPlan:
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
        return np.concatenate([[0], np.cumsum(self.rings.to_numpy())]).astype(np.int64)

    def carry_out(self, occasion: Occasion) -> CarryOut:
        """Return what must be done to the rows. What is drawn for it is known to the engine alone, unless by a seed."""
        drawn = self.drawn(new_stream(secret_key("draw", occasion.seed)))
        return drawn.steps(occasion.census, secret_key("rows", occasion.seed))

    def drawn(self, stream: Stream) -> GroupPlan:
        """Draw who carries which slot; return how many rows of each combination are published as which kind.

        Rows of one combination have the same quasi-identifiers; which of them it is, is left to the engine, by chance.
        The result is for the engine alone: it is not to be saved. Matchings are found by random walks, or by the
        backtracking of the paper's Fig. 7 where `draw` says so.
        """
        carrier = np.empty(self.starts[-1], np.int64)
        draw_rings(self.starts, _spread(self.widths), stream, self.draw == "walks", carrier)
        pairs = _spread(self.order)[carrier] * self.groups + _spread(self.slots)
        pairs, counts = np.unique(pairs, return_counts=True)
        return self._as_groups(entry_table(pairs // self.groups, pairs % self.groups, counts))

    @property
    def together(self) -> Together:
        """The rings, with their rows."""
        return Together.of(self.rings.to_numpy(), self.width, pc.max(self.widths[WHAT]).as_py())

    def published(self, census: Census) -> Published:
        """Return what the plan makes of a census.

        Who carries which slot is drawn anew here, and the same each time: what is told of a release does not depend on
        its own draw, which nobody may know.
        """
        return self.drawn(new_stream(secret_key("report", 0))).published(census)

    def _headline(self) -> str:
        rings = f"{len(self.rings):,} ring{'s' * (len(self.rings) != 1)} of {_between(self.rings)} rows"
        return f"{rings}, each slot covers {_between(self.widths[WHAT])}; {self.suppressed_rows:,} rows dropped"


def runs_of(numbers: npt.NDArray[np.integer]) -> pa.Table:
    """Return numbers as runs of equal ones: what it is, and how many there are.

    >>> runs_of(np.array([4, 4, 1, 4])).to_pydict()
    {'what': [4, 1, 4], 'count': [2, 1, 1]}
    """
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    lengths = np.diff([*begins, len(numbers)]).astype(np.int64)
    return pa.table({WHAT: numbers[begins].astype(np.int64), COUNT: lengths})


def _spread(runs: pa.Table) -> Longs:
    spread: Longs = np.repeat(runs[WHAT].to_numpy(), runs[COUNT].to_numpy())
    return spread


def _between(numbers: pa.Array | pa.ChunkedArray) -> str:
    """Return the least and the most of some numbers in words."""
    least, most = pc.min_max(numbers).as_py().values()
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
