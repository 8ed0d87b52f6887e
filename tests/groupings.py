"""Groups of rows in plain Python, from their definitions: what the kernels of local methods must agree with.

Nothing here uses the package's kernels or searches. A group is a list of tuples of leaves.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from ringfence.census.census import Census, Quasi
from tests.clusterings import lowest_common
from tests.tables import place

Leaves = tuple[int, ...]


def cell_loss(quasi: Quasi, leaves: Sequence[int], representation: str) -> Fraction:
    """GLM of a cell that is published for some leaves."""
    tree, occurs = quasi.hierarchy, [rows > 0 for rows in quasi.rows.tolist()]
    if representation == "hierarchy":
        node = lowest_common(tree, leaves)
        covered = list(range(tree.first[node], tree.stop[node]))
    elif representation == "range":
        ranks = quasi.ranks.tolist()
        low, high = min(ranks[leaf] for leaf in leaves), max(ranks[leaf] for leaf in leaves)
        alike = [leaf for leaf in range(tree.leaves) if tree.ceilings[leaf] == tree.ceilings[leaves[0]]]
        covered = [leaf for leaf in alike if low <= ranks[leaf] <= high and occurs[leaf]]
    else:
        covered = sorted(set(leaves))
    if not quasi.numeric:
        return Fraction(len(covered) - 1, max(1, tree.leaves - 1))
    numbers = [None if key is None else place(key) for key in quasi.keys]
    all_numbers = [n for n, there in zip(numbers, occurs, strict=True) if n is not None and there]
    inside = [n for leaf in covered if occurs[leaf] and (n := numbers[leaf]) is not None]
    width = max(all_numbers, default=Fraction(0)) - min(all_numbers, default=Fraction(0))
    return (max(inside, default=Fraction(0)) - min(inside, default=Fraction(0))) / (width or 1)


def group_loss(census: Census, tuples: Sequence[Leaves], representation: str | Sequence[str]) -> Fraction:
    """What a row loses that is published with others, all attributes in one representation or each in its own."""
    shown = [representation] * len(census.quasi) if isinstance(representation, str) else representation
    weights = [Fraction(quasi.weight) for quasi in census.quasi]
    losses = [
        weight * cell_loss(quasi, [leaves[a] for leaves in tuples], shown[a])
        for a, (quasi, weight) in enumerate(zip(census.quasi, weights, strict=True))
    ]
    return sum(losses, Fraction(0)) / sum(weights)


def ways_to_cut(rows: int) -> Iterator[list[int]]:
    """All ways to cut a line of rows: where groups begin, and the end."""
    for cuts in range(1 << max(0, rows - 1)):
        yield [0, *(i + 1 for i in range(rows - 1) if cuts >> i & 1), rows]


def cheapest_cut(
    census: Census,
    line: Sequence[Leaves],
    values: Sequence[tuple[int, ...]],
    k: int,
    least: Sequence[int],
    representation: str | Sequence[str],
) -> Fraction | None:
    """The least that a line can lose, cut into groups of k rows with enough values; None if it cannot be."""
    found = []
    for begins in ways_to_cut(len(line)):
        groups = list(pairwise(begins))
        if all(holds(values[i:j], k, least) for i, j in groups):
            found.append(sum((j - i) * group_loss(census, line[i:j], representation) for i, j in groups))
    return Fraction(min(found)) if found else None


def holds(values: Sequence[tuple[int, ...]], k: int, least: Sequence[int]) -> bool:
    """Whether rows with these values are enough for a group."""
    return len(values) >= k and all(len({row[s] for row in values}) >= count for s, count in enumerate(least))
