"""What is asked of groups of rows, whatever makes them."""

from collections.abc import Sequence
from dataclasses import dataclass

from ringfence.census.covers import Representation
from ringfence.search.groups.distances import Kept


@dataclass(frozen=True)
class GroupsAsked:
    """What groups must have, how they are published, and what may be lost by that.

    Parameters
    ----------
    k
        The least number of rows of a group.
    least_values
        For each sensitive attribute of the census, the least number of different values in a group; 0 or 1 for those
        that are not looked at. All p: p-sensitive; all 1: k-anonymous; l in one: distinct l-diverse.
    representation
        How groups are published, and so what they lose: all attributes alike, or each in its own way.
    loss
        What is kept small; for "use", `local` also keeps what readers count of each value near what there is, by
        prices, where it is `priced`.
    limit
        How many rows may be suppressed: those that no method could publish within the boundaries are, and no others.
    priced
        Whether users count, so that it is worth it to have prices.
    """

    k: int
    least_values: Sequence[int] = ()
    representation: Representation | Sequence[Representation] = "set"
    loss: Kept = "glm"
    limit: int = 0
    priced: bool = True
