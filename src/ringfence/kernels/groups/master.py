"""The best prices against some groups: a linear program, solved step by step.

max w'π where no group of `groups` costs more than its `limits`: each group has a weight x >= 0, a price rises while its
rows are in too few groups by weight, and a group's weight rises while its rows are too dear (primal-dual hybrid
gradient: Chambolle and Pock 2011, with steps by the number of entries: Pock and Chambolle 2011; averages and restarts:
Applegate and others 2021). What comes out need not be exact: any prices can be made to hold (`pricing`).
"""

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.compiling import njit


@njit(cache=True, nogil=True)
def step_prices(
    groups: Ints, limits: Floats, weights: Longs, low: Floats, high: Floats, prices: Floats, shares: Floats,
    balance: float, steps: int, mean_prices: Floats, mean_shares: Floats,
) -> None:  # fmt: skip
    """Take some steps from `prices`, between `low` and `high`, and `shares`; set the means over these steps."""
    tuples, count, k = len(prices), len(groups), groups.shape[1]
    entries = np.zeros(tuples)
    for g in range(count):
        for i in range(k):
            entries[groups[g, i]] += 1.0
    pace = balance / np.maximum(1.0, entries)
    used, ahead = np.zeros(tuples), np.empty(tuples)
    for g in range(count):
        for i in range(k):
            used[groups[g, i]] += shares[g]
    mean_prices[:] = 0.0
    mean_shares[:] = 0.0
    for _ in range(steps):
        for t in range(tuples):
            price = min(high[t], max(low[t], prices[t] + pace[t] * (weights[t] - used[t])))
            ahead[t] = 2.0 * price - prices[t]
            prices[t] = price
            mean_prices[t] += price
            used[t] = 0.0
        for g in range(count):
            over = -limits[g]
            for i in range(k):
                over += ahead[groups[g, i]]
            share = max(0.0, shares[g] + over / (k * balance))
            shares[g] = share
            mean_shares[g] += share
            if share > 0.0:
                for i in range(k):
                    used[groups[g, i]] += share
    mean_prices /= steps
    mean_shares /= steps
