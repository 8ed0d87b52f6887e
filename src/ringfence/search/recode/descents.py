"""Improving several attributes in turn, where that is one kernel (`kernels.recode.in_turn`): runs and sets, classes
costing their squares, and k."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ringfence.census.census import Census
from ringfence.kernels.recode.in_turn import improve_in_turn
from ringfence.search.recode.boxes import Boxes
from ringfence.search.recode.contexts import Terms, layout
from ringfence.search.recode.eliminate_two import rule_of, state_of, values_of
from ringfence.search.recode.lattice import SLACK
from ringfence.search.recode.partitions import RUNS, SETS
from ringfence.search.recode.spaces import Space

WIDTH = 100
"""How many partitions into sets are gone on with (`kernels.recode.beams`). Of education, 16 values, three times in four
that finds the best one."""

SLICE = 20_000_000
"""After so many steps of work, some hundredths of a second, it is asked whether the time is up."""


class Descent:
    """Improves attributes in turn; `attributes` are those it can improve, none under other losses and promises."""

    def __init__(self, census: Census, spaces: Sequence[Space], boxes: Sequence[Boxes], terms: Terms) -> None:
        self._spaces, self._boxes, self._terms = spaces, boxes, terms
        self.attributes = [a for a, space in enumerate(spaces) if terms.allows_two and rule_of(space) in (RUNS, SETS)]
        leaves = [space.quasi.hierarchy.leaves for space in spaces]
        self._values = {a: values_of(spaces[a]) for a in self.attributes}
        self._places = np.full((len(spaces), max(leaves)), -1, np.int64)
        self._sizes = np.zeros(len(spaces), np.int64)
        for a, values in self._values.items():
            self._places[a, values] = np.arange(len(values))
            self._sizes[a] = len(values)
        self._in_runs = np.array([rule_of(space) is RUNS for space in spaces])
        self._codes, self._weights = np.ascontiguousarray(census.codes, np.int32), census.weights.astype(np.float64)
        self._columns, self._fields = np.ascontiguousarray(self._codes.T), layout(leaves)

    def improve(
        self, states: list[Any], order: Sequence[int], reached: float, tried: int, go_on: Callable[[int], bool]
    ) -> float:
        """Improve attributes in their order, again and again, until none can be; return what it costs then.

        So many of them, the last ones, were tried since what it costs was reached. `go_on` is told how many recodings
        were judged, and says whether there is time left.
        """
        tables = np.zeros(self._places.shape, np.int64)
        for a, state in enumerate(states):
            merged = self._boxes[a].exactly(state).merged
            tables[a, : len(merged)] = merged
        before, turn, done = tables.copy(), np.array(order, np.int64), 0
        while tried < len(order) and go_on(done):
            reached, tried, done = improve_in_turn(
                self._codes, self._columns, self._weights, self._fields, self._places, self._sizes, self._in_runs,
                float(self._terms.promise.least), self._terms.penalty, WIDTH, SLACK, max(1, SLICE),
                turn, tables, reached, tried,
            )  # fmt: skip
            turn = np.roll(turn, -done)
        go_on(done)
        for a in order:
            if (tables[a] != before[a]).any():
                values = self._values[a]
                states[a] = state_of(self._spaces[a], values, tables[a, values].tolist())
        return reached
