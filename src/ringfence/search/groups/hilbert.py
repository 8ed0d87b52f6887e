"""Hilbert: tuples in the order of a Hilbert curve, cut into groups of neighbours where that loses least."""

from ringfence.census.census import Census
from ringfence.census.groups import Groups
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import space_of
from ringfence.search.groups.line import line_up, request
from ringfence.search.groups.orders import hilbert_order
from ringfence.search.progress import SearchResult, Watch


def hilbert(census: Census, asked: GroupsAsked, *, watch: Watch | None = None) -> tuple[Groups, SearchResult]:
    """Return groups of k to 2k - 1 neighbours on a Hilbert curve, or more where sensitive values are asked for.

    Without sensitive values, the curve is cut where that loses least, which dynamic programming finds. With them,
    groups take the next rows on the curve that they can still get all their values with. HS are groups published as
    sets, HR as ranges.

    Parameters
    ----------
    census
        What was counted.
    asked
        What groups must have, how they are published, and how many rows may be suppressed.
    watch
        Knows how long it takes.

    Raises
    ------
    Unsatisfiable
        If more rows than `asked.limit`, or all, would have to be suppressed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> age = {"role": "quasi", "order": "numeric"}
    >>> counted = pa.table({"age": [20, 21, 29, 30, 31, 60, 61], "rows": [1] * 7})
    >>> groups, search = hilbert(take_census(counted, Spec(attributes={"age": age}), "rows"), GroupsAsked(k=2))
    >>> groups.sizes.tolist(), round(search.cost, 3)
    ([2, 3, 2], 0.035)

    Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007, sections 4 and 5;
    with sensitive values, Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing.
    SIGMOD 2010, section 7.4, whose groups have l rows: ours have at least k.
    """
    watch = watch or Watch()
    wanted, space = request(census, asked), space_of(census, asked.representation, asked.loss)
    line = line_up(wanted, hilbert_order(census))
    homes = line.gather() if wanted.looked_at else line.cut(space, 0.0)
    cost = (line.loss(space, homes) + wanted.suppressed) / census.rows
    return line.groups(homes), SearchResult(cost, cost == 0, 0.0, 1, 0, watch.seconds)
