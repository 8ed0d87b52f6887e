"""Kicks: partitions of the same space, and other ones."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.search.recode.kicks import _cut_otherwise, kicked
from ringfence.search.recode.partitions import RUNS, SETS, Partitions, renumbered
from ringfence.search.recode.spaces import Space
from ringfence.spec import Spec
from tests.search.recode.test_walker import states_of
from tests.tables import count

SCHEMES: list[Any] = ["cut", "guided-ordered", "guided-set", "ordered", "set"]


def space_of(scheme: Any, values: int, fanout: int) -> Space:
    table = pa.table({"day": [f"{value:03}" for value in range(values)]})
    attributes = {"day": {"role": "quasi", "hierarchy": {"fanout": fanout}}}
    return Space(count(table, Spec(attributes=attributes, privacy={"k": 1})).quasi[0], scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_kick_is_a_partition_of_the_space(scheme: Any) -> None:
    space, draw = space_of(scheme, 6, 3), Random(1)
    states = states_of(space)
    assert all(kicked(space, state, draw) in states for state in states for _ in range(5))


@pytest.mark.parametrize("scheme", SCHEMES[:3])
def test_of_a_large_tree_a_kick_changes_what_can_be_seen(scheme: Any) -> None:
    """Below children that are merged nothing can be cut: a kick there would be none."""
    space, draw = space_of(scheme, 400, 4), Random(2)
    assert isinstance(space.walk, Partitions)
    assert len(space.walk.branches) > 100
    coarsest = space.state(space.coarsest)
    changed = [kicked(space, coarsest, draw) != coarsest for _ in range(100)]
    assert sum(changed) > 60
    finest = space.state(space.finest)
    few = [len({*space.recode(kicked(space, finest, draw)).blocks.tolist()}) <= 300 for _ in range(100)]
    assert 5 < sum(few) < 95  # near the root, or near the ends


@given(size=st.integers(2, 12), data=st.data(), seed=st.integers(0, 2**32))
def test_cuts_of_sets_are_those_of_runs_where_these_are_runs(size: int, data: st.DataObject, seed: int) -> None:
    blocks = renumbered(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    found = _cut_otherwise(blocks, Random(seed))
    assert SETS.allows(found)
    assert RUNS.allows(found) or not RUNS.allows(blocks)


def test_every_joint_may_be_cut_or_merged() -> None:
    draw, blocks = Random(3), (0, 1, 0, 2, 2)
    found = {_cut_otherwise(blocks, draw) for _ in range(2000)}
    assert {(0, 0, 0, 1, 1), (0, 1, 0, 0, 0), (0, 1, 0, 2, 3), (0, 0, 0, 0, 0), (0, 1, 2, 3, 4)} <= found
