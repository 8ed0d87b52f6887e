"""Good partitions of large sets, given those of all other attributes (`kernels.beams`)."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from ringfence.census import Census
from ringfence.kernels.beams import good_partition
from ringfence.search.boxes import Box
from ringfence.search.merging import Merger, Terms
from ringfence.search.nests import state_of, values_of
from ringfence.spaces import Space

WIDTH = 30
"""About how many sets are gone on with. Of education, 16 values, that finds the best partition nearly always."""


class Beam(Merger):
    """Finds good partitions of one attribute into sets, for losses and promises that can be nested."""

    def __init__(self, census: Census, spaces: Sequence[Space], attribute: int, terms: Terms) -> None:
        self.attribute, self._values = attribute, values_of(spaces[attribute])
        super().__init__(census, spaces, [attribute], [np.array(self._values)], terms)

    def partition(self, boxes: Sequence[Box]) -> tuple[float, Any]:
        """Return what a good partition costs where all other attributes are decided, and the partition, if any."""
        classes = self.classes(boxes, self.finest)
        if classes is None:
            return inf, None
        blocks = np.empty(len(self._values), np.int64)
        counts, k = np.ascontiguousarray(classes.counts.T), float(self.terms.promise.least)
        cost = good_partition(counts, k, self.terms.penalty, WIDTH, blocks)
        return cost, state_of(self.spaces[self.attribute], self._values, blocks.tolist()) if cost < inf else None
