"""What two attributes cost at least together, each block of the outer one choosing its own partition of the inner one.

For each outer block, the cheapest partition of the inner attribute is a shortest path (`kernels.recode.block_graphs`)
over what the boxes cost (`kernels.recode.two_attribute_boxes`); from what the blocks cost then, the outer attribute is
solved as well.

Blocks may choose differently, though in a recoding they must agree. *Prices* make them. What they choose is known by
its *links*: for runs, which joints are cut; for sets, which pairs of values are merged. Every outer value pays a price
for each link that its block chooses. The prices of a link add up to nothing over all values, so that what all agree on
costs nothing more. Hence with any such prices the cheapest choice costs no more than the best recoding. Prices are
raised where a link is chosen more than on average, and lowered where less, in proportion to the rows there (a
subgradient, with Polyak's step); that drives the bound up. Held, Wolfe and Crowder, "Validation of subgradient
optimization", Mathematical Programming 6, 1974, is the classic on it.
"""

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.compiling import njit
from ringfence.kernels.recode.block_graphs import BlockGraph, Blocks, cheapest_partition, graph_of, partial_sums

PATIENCE, CALMER, LEAST_PACE = 4, 0.7, 0.02
"""After so many rounds without gain, steps become shorter by this factor; below the last, it is not worth the while."""

GAIN = 1e-4
"""A round that raises the bound by less, relatively, has gained nothing."""


def links_among(size: int, in_runs: bool) -> int:
    """Return how many links there are: joints of runs, or pairs of values."""
    return size - 1 if in_runs else size * (size - 1) // 2


@njit(cache=True, nogil=True)
def links_of(blocks: Blocks, block: int, links: Longs) -> int:
    """Find the links that a partition chooses with a block; return how many.

    A run chooses the joint before it. A set chooses its pairs of values: that of i and j > i is link j(j - 1)/2 + i.
    """
    if len(blocks.ends) > 0:
        links[0] = blocks.ends[block, 0] - 1
        return 1 if links[0] >= 0 else 0
    mask, found = blocks.masks[block], 0
    for j in range(blocks.size):
        if mask >> j & 1:
            for i in range(j):
                if mask >> i & 1:
                    links[found] = j * (j - 1) // 2 + i
                    found += 1
    return found


@njit(cache=True, nogil=True)
def priced(costs: Floats, outer: Blocks, inner: Blocks, prices: Floats, with_prices: Floats) -> None:
    """Fill `with_prices` with what the boxes cost, and what their outer values pay for their links."""
    width, blocks = prices.shape[1], costs.shape[1]
    sums, price = partial_sums(prices, len(outer.ends) > 0), np.empty((width, blocks))
    for block in range(blocks):
        one, two = outer.parts[block]
        for link in range(width):
            price[link, block] = sums[one, link] + sums[two, link]
    links = np.empty(max(1, width), np.int64)
    for s in range(len(costs)):
        row = with_prices[s]
        row[:] = costs[s]
        for i in range(links_of(inner, s, links)):
            each = price[links[i]]
            for block in range(blocks):
                row[block] += each[block]


@njit(cache=True, nogil=True)
def paths_to_the_end(graph: BlockGraph, costs: Floats, after: Floats) -> None:
    """Fill `after[state, outer block]` with what the cheapest way from a state to the end costs, all blocks at once."""
    after[:] = np.inf
    after[-1] = 0.0
    for i in range(len(graph.arcs) - 1, -1, -1):
        least, rest, each = after[graph.arcs[i, 0]], after[graph.arcs[i, 1]], costs[graph.arcs[i, 2]]
        for block in range(len(least)):
            least[block] = min(least[block], rest[block] + each[block])


@njit(cache=True, nogil=True)
def costs_through(graph: BlockGraph, costs: Floats, after: Floats, through: Floats) -> None:
    """Fill `through[inner block, outer block]` with what the cheapest partition costs that has an inner block."""
    ahead = np.full(after.shape, np.inf)
    ahead[0] = 0.0
    through[:] = np.inf
    for i in range(len(graph.arcs)):
        here, rest, each = ahead[graph.arcs[i, 0]], after[graph.arcs[i, 1]], costs[graph.arcs[i, 2]]
        there, least = ahead[graph.arcs[i, 1]], through[graph.arcs[i, 2]]
        for block in range(len(here)):
            cost = here[block] + each[block]
            there[block] = min(there[block], cost)
            least[block] = min(least[block], cost + rest[block])


@njit(cache=True, nogil=True)
def _choices(inner: Blocks, graph: BlockGraph, costs: Floats, after: Floats, chosen: Longs, choices: Floats) -> None:
    """Fill `choices[v, link]` with 1 where the block that is chosen for outer value v chooses the link, else with 0."""
    links = np.empty(max(1, choices.shape[1]), np.int64)
    choices[:] = 0.0
    for value in range(len(chosen)):
        block, known = chosen[value], -1
        for other in range(value):
            known = other if chosen[other] == block else known
        if known >= 0:
            choices[value] = choices[known]
            continue
        state = 0
        while state < graph.end:
            for i in range(graph.leaving[state], graph.leaving[state + 1]):
                head, s = graph.arcs[i, 1], graph.arcs[i, 2]
                if after[head, block] + costs[s, block] == after[state, block]:
                    for link in links[: links_of(inner, s, links)]:
                        choices[value, link] = 1.0
                    state = head
                    break


@njit(cache=True, nogil=True)
def _astray(prices: Floats) -> float:
    """Return what prices do not quite add up to nothing by, rounded as they are."""
    total = 0.0
    for link in range(prices.shape[1]):
        total += abs(prices[:, link].sum())
    return total


@njit(cache=True, nogil=True)
def _disagreement(weights: Floats, choices: Floats, difference: Floats) -> float:
    """Fill `difference` with what outer values choose more, or less, than all do on average; return its square."""
    total = 0.0
    for link in range(choices.shape[1]):
        mean = (weights * choices[:, link]).sum() / weights.sum()
        for value in range(len(weights)):
            difference[value, link] = choices[value, link] - mean
            total += weights[value] * difference[value, link] ** 2
    return total


@njit(cache=True, nogil=True)
def ascend(
    costs: Floats,
    outer: Blocks,
    inner: Blocks,
    weights: Floats,
    prices: Floats,
    target: float,
    rounds: int,
    chosen: Longs,
    choices: Floats,
    through: Floats,
) -> tuple[float, bool]:
    """Return a lower bound, and whether all blocks agree, so that it is what a recoding costs.

    `costs[inner block, outer block]` are those of boxes, `weights[v]` the rows of outer value v. At most so many
    `rounds` are made, and no more once the `target` is reached. `prices[v, link]` become the best ones met, and the
    blocks that are `chosen`, their `choices` of links and `through[inner block, outer block]`, what the cheapest choice
    with a box costs, what they lead to; the last is filled if there is room for it, and the target is not reached.
    """
    outer_graph, inner_graph = graph_of(outer), graph_of(inner)
    with_prices, after = np.empty_like(costs), np.empty((inner_graph.end + 1, costs.shape[1]))
    difference, through_blocks = np.empty_like(prices), np.empty(costs.shape[1])
    best, best_prices, pace, idle = -np.inf, prices.copy(), 1.0, 0
    bound, astray, agree = -np.inf, 0.0, False
    for number in range(rounds + 1):
        last = number == rounds or pace < LEAST_PACE
        if last:
            prices[:] = best_prices
        priced(costs, outer, inner, prices, with_prices)
        paths_to_the_end(inner_graph, with_prices, after)
        astray = _astray(prices)
        bound = cheapest_partition(outer, outer_graph, after[0], chosen, through_blocks) - astray
        idle += 1
        if bound > best:
            idle = 0 if bound > best + GAIN * abs(best) else idle
            best = bound
            best_prices[:] = prices
        if bound >= target:
            break
        _choices(inner, inner_graph, with_prices, after, chosen, choices)
        norm = _disagreement(weights, choices, difference)
        agree = norm <= 1e-9 * float(weights.sum())
        if agree or last:
            break
        if idle >= PATIENCE:
            pace, idle = pace * CALMER, 0
        ahead = target - bound if target < np.inf else 0.1 * abs(bound)
        for value in range(len(weights)):
            prices[value] += pace * ahead / norm * weights[value] * difference[value]
    if len(through) > 0 and bound < target:
        costs_through(inner_graph, with_prices, after, through)
        for block in range(costs.shape[1]):
            rest = through_blocks[block] - after[0, block] if after[0, block] < np.inf else np.inf
            through[:, block] += rest - astray
    return bound, agree
