"""The cheapest partition of a small tree of branches, against all of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import numpy as np
import pytest

from ringfence.arrays import Longs
from ringfence.kernels.recode.priced_paths import NOBODY, block_costs, cheapest_cut, cheapest_runs, cheapest_within

CHILDREN: list[list[int | None]] = [[None, None, None], [None, None], [0, None, 1], [None], [2, 3]]
"""The children of each branch: a branch, or None for a place of its own."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The branches above, some of which merge nothing, with costs of every run and node and what these suppress."""

    merges: list[bool]
    costs: list[float]
    gone: list[float]

    @property
    def spans(self) -> list[list[tuple[int, int]]]:
        """The first and the last place of each child of each branch."""
        found: list[list[tuple[int, int]]] = [[] for _ in CHILDREN]

        def visit(b: int, place: int) -> int:
            for child in CHILDREN[b]:
                after = place + 1 if child is None else visit(child, place)
                found[b].append((place, after - 1))
                place = after
            return place

        visit(len(CHILDREN) - 1, 0)
        return found

    @property
    def offsets(self) -> list[int]:
        return [0, *accumulate((len(children) + 1) ** 2 for children in CHILDREN)]

    def run(self, b: int, i: int, j: int) -> int:
        return self.offsets[b] + i * (len(CHILDREN[b]) + 1) + j

    def in_runs(self, b: int) -> Iterator[dict[int, int]]:
        """Every partition into runs of the children of a branch: by place, the run that it is in."""
        yield from self._from(b, 0)

    def _from(self, b: int, begin: int) -> Iterator[dict[int, int]]:
        many = len(CHILDREN[b])
        if begin == many:
            yield {}
            return
        for end in range(begin, many if self.merges[b] else begin + 1):
            first, last, child = self.spans[b][begin][0], self.spans[b][end][1], CHILDREN[b][begin]
            if begin == end and child is not None:
                here = list(self.in_runs(child))
            else:
                here = [dict.fromkeys(range(first, last + 1), self.run(b, begin, end))]
            for rest in self._from(b, end + 1):
                yield from ({**each, **rest} for each in here)

    def cuts(self, b: int, places: int) -> Iterator[dict[int, int]]:
        """Every cut below a branch: by place, the block that it is in."""
        found: list[dict[int, int]] = [{}]
        for (first, _), child in zip(self.spans[b], CHILDREN[b], strict=True):
            here = [{first: first}] if child is None else list(self.cuts(child, places))
            found = [{**one, **other} for one in found for other in here]
        yield from found
        if self.merges[b]:
            yield dict.fromkeys(range(self.spans[b][0][0], self.spans[b][-1][1] + 1), places + b)

    def amounts(self, chosen: dict[int, int]) -> tuple[float, float]:
        blocks = {*chosen.values()}
        return sum(self.costs[block] for block in blocks), sum(self.gone[block] for block in blocks)


def a_tree(seed: int, blocks: int) -> Tree:
    draw = Random(seed)
    merges = [True, draw.random() < 0.8, draw.random() < 0.8, True, draw.random() < 0.5]
    if not all(merges[b] or all(c is not None for c in CHILDREN[b]) for b in range(len(merges))):
        merges[1] = merges[2] = True  # a branch that merges nothing has branches only
    return Tree(merges, [draw.random() for _ in range(blocks)], [float(draw.randint(0, 3)) for _ in range(blocks)])


RUNS, NODES, PLACES = sum((len(children) + 1) ** 2 for children in CHILDREN), 7 + len(CHILDREN), 7
STARTS = np.cumsum([0, *map(len, CHILDREN)])
SIZES = np.array([len(children) for children in CHILDREN])
KINDS = np.array([NOBODY if child is None else child for children in CHILDREN for child in children])


def ends(tree: Tree) -> tuple[Longs, Longs]:
    every = [span for spans in tree.spans for span in spans]
    return np.array([first for first, _ in every]), np.array([last for _, last in every])


@pytest.mark.parametrize("price", [0.0, 0.1, 1.0, 40.0])
def test_the_cheapest_runs_and_cuts_at_a_price(price: float) -> None:
    for seed in range(25):
        tree, chosen = a_tree(seed, RUNS), np.zeros(PLACES, np.int64)
        costs, gone, merges = np.array(tree.costs), np.array(tree.gone), np.array(tree.merges)
        first, last = ends(tree)
        found = cheapest_runs(
            STARTS, SIZES, KINDS, first, last, np.array(tree.offsets), merges, costs, gone, price, chosen
        )
        assert found == pytest.approx(tree.amounts(dict(enumerate(chosen.tolist()))))
        least = min(cost + price * lost for cost, lost in map(tree.amounts, tree.in_runs(4)))
        assert found[0] + price * found[1] == pytest.approx(least)
        found = cheapest_cut(STARTS, KINDS, first, last, merges, PLACES, costs, gone, price, chosen)
        assert found == pytest.approx(tree.amounts(dict(enumerate(chosen.tolist()))))
        least = min(cost + price * lost for cost, lost in map(tree.amounts, tree.cuts(4, PLACES)))
        assert found[0] + price * found[1] == pytest.approx(least)


@pytest.mark.parametrize("limit", [0, 1, 3, 6, 50])
def test_the_cheapest_within_a_limit(limit: int) -> None:
    for seed in range(25):
        tree = a_tree(seed, RUNS)
        first, last = ends(tree)
        costs, gone, merges = np.array(tree.costs), np.array(tree.gone), np.array(tree.merges)
        for runs, every in ((True, tree.in_runs(4)), (False, tree.cuts(4, PLACES))):
            chosen = np.zeros(PLACES, np.int64)
            offsets = np.array(tree.offsets) if runs else STARTS
            found = cheapest_within(
                STARTS, KINDS, first, last, offsets, merges, runs, PLACES, costs, gone, limit, chosen
            )
            least = min((cost for cost, lost in map(tree.amounts, every) if lost <= limit), default=np.inf)
            assert found == pytest.approx(least)
            if found < np.inf:
                cost, lost = tree.amounts(dict(enumerate(chosen.tolist())))
                assert cost == pytest.approx(found)
                assert lost <= limit


def test_blocks_cost_what_their_rows_do() -> None:
    sums = np.array([[0.5, 2.0, 0.25], [0.0, 0.0, 0.0]])
    costs, gone = np.zeros(2), np.zeros(2)
    rows, tallies, flat, by_tally = (
        np.array([6.0, 5.0]),
        np.array([3.0, 1.0]),
        np.array([0.25, 1.0]),
        np.array([0.5, 2]),
    )
    block_costs(sums, rows, tallies, flat, by_tally, costs, gone)
    assert gone.tolist() == [2, 0]
    assert costs == pytest.approx([0.5 + 4 * 0.25 - 0.5 * (3 - 0.25), 5 - 2])
