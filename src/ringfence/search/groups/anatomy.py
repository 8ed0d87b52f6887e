"""Anatomy: quasi-identifiers stay as they are, and only which sensitive value is whose is hidden among l rows."""

import numpy as np

from ringfence.census.census import Census
from ringfence.census.groups import Groups, combinations
from ringfence.errors import Unsatisfiable
from ringfence.kernels.groups.fill_buckets import fill_buckets


def anatomize(census: Census, attribute: int, l: int, seed: int | None = None) -> Groups:  # noqa: E741
    """Return buckets of l rows or more in which no two rows have the same value of a sensitive attribute.

    As long as l values have rows left, the l commonest give one each to a new bucket, whichever row chance says; what
    is left in the end, one row a value at most, joins buckets without that value. Which rows share a bucket depends on
    nothing but their sensitive values and chance: quasi-identifiers are not looked at, since they are not changed.

    Parameters
    ----------
    census
        What was counted.
    attribute
        The position of the sensitive attribute in the census.
    l
        How many different values a bucket has at least.
    seed
        For a repeatable run; by default from the operating system's entropy, and whoever knows it could tell more.

    Raises
    ------
    Unsatisfiable
        If a value has more than one in l of all rows: then no buckets exist.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> roles = {"age": {"role": "quasi", "order": "numeric"}, "ill": {"role": "sensitive"}}
    >>> ill = ["flu", "cold", "flu", "cold", "gout"]
    >>> counted = pa.table({"age": [20, 21, 29, 30, 31], "ill": ill, "rows": [1] * 5})
    >>> buckets = anatomize(take_census(counted, Spec(attributes=roles), "rows"), 0, 2)
    >>> sorted(buckets.sizes.tolist())
    [2, 3]

    Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006, section 5.1.
    """
    combined = combinations(census, [attribute])
    leaves = census.sensitive[attribute].hierarchy.leaves
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(len(combined.weights)), combined.weights)
    rows = rows[rng.permutation(len(rows))]
    values = combined.values[rows, 0]
    by = np.argsort(values, kind="stable")
    rows, counts = rows[by], np.bincount(values, minlength=leaves)
    commonest = int(counts.argmax())
    if counts[commonest] * l > len(rows):
        label = census.sensitive[attribute].hierarchy.labels[commonest]
        raise Unsatisfiable(
            f"l = {l}: {counts[commonest]} of {len(rows)} rows have {label!r} in {census.sensitive[attribute].name!r},"
            f" and at most one in {l} may have the same value"
        )
    homes = np.empty(len(rows), np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)])
    count = fill_buckets(starts, l, rng.integers(0, 2**40, leaves), homes)
    numbers = rng.permutation(count)  # else the first buckets would have the commonest values
    return Groups.gathered(combined, rows, numbers[homes], np.ones(len(rows), np.int64))
