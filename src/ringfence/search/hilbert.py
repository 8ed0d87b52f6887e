"""Hilbert: tuples in the order of a Hilbert curve, cut into groups of neighbours where that loses least."""

from collections.abc import Sequence

from ringfence.census import Census
from ringfence.covers import Representation
from ringfence.groups import Groups
from ringfence.search.lineup import line_up, request
from ringfence.search.orders import hilbert_order
from ringfence.search.progress import SearchResult, Watch
from ringfence.search.spans import Kept, space_of


def hilbert(
    census: Census,
    *,
    k: int,
    least_values: Sequence[int] = (),
    representation: Representation = "set",
    loss: Kept = "glm",
    limit: int = 0,
    watch: Watch | None = None,
) -> tuple[Groups, SearchResult]:
    """Return groups of k to 2k - 1 neighbours on a Hilbert curve, or more where sensitive values are asked for.

    Without sensitive values, the curve is cut where that loses least, which dynamic programming finds. With them,
    groups take the next rows on the curve that they can still get all their values with. HS are groups published as
    sets, HR as ranges.

    Parameters
    ----------
    census
        What was counted.
    k
        The least number of rows of a group.
    least_values
        For each sensitive attribute of the census, the least number of different values in a group.
    representation
        How groups are published, and so what they lose.
    loss
        What is kept small.
    limit
        How many rows may be suppressed: those that no method could publish within the boundaries are, and no others.
    watch
        Knows how long it takes.

    Raises
    ------
    Unsatisfiable
        If more than `limit` rows, or all, would have to be suppressed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ringfence.census import take_census
    >>> from ringfence.spec import Spec
    >>> age = {"role": "quasi", "order": "numeric"}
    >>> counted = pa.table({"age": [20, 21, 29, 30, 31, 60, 61], "rows": [1] * 7})
    >>> groups, search = hilbert(take_census(counted, Spec(attributes={"age": age}), "rows"), k=2)
    >>> groups.sizes.tolist(), round(search.cost, 3)
    ([2, 3, 2], 0.035)

    Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007, sections 4 and 5;
    with sensitive values, Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing.
    SIGMOD 2010, section 7.4, whose groups have l rows: ours have at least k.
    """
    watch = watch or Watch()
    asked, space = request(census, k=k, least_values=least_values, limit=limit), space_of(census, representation, loss)
    line = line_up(asked, hilbert_order(census))
    homes = line.gather() if asked.looked_at else line.cut(space, 0.0)
    cost = (line.loss(space, homes) + asked.suppressed) / census.rows
    return line.groups(homes), SearchResult(cost, cost == 0, 0.0, 1, 0, watch.seconds)
