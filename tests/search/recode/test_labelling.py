"""Labels of partitions, and what becomes of leaves that do not occur: by their definitions, block by block."""

from random import Random
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ringfence.census.census import Quasi
from ringfence.declared import Scheme
from ringfence.errors import SpecError
from ringfence.judging.block_losses import block_losses
from ringfence.search.recode.covering import covered_by
from ringfence.search.recode.partitions import Partitions
from ringfence.search.recode.run_lines import RunLines
from ringfence.search.recode.spaces import FREE, Space
from tests.search.recode.test_walker import states_of
from tests.tables import count, scheme_cases

SCHEMES: list[Scheme] = ["cut", "guided-ordered", "ordered", "guided-set", "set"]


def blocks_of(walk: Partitions, state: Any) -> list[list[int]]:
    """The blocks of values of a partition: children that are merged, with all below them, or those of each child."""
    below: list[list[list[int]]] = []
    for branch, numbers in zip(walk.branches, state, strict=True):
        parts = [[[child]] if child >= 0 else below[~child] for child in branch.children]
        found: list[list[int]] = []
        for number in range(max(numbers) + 1):
            merged = [part for part, own in zip(parts, numbers, strict=True) if own == number]
            found += merged[0] if len(merged) == 1 else [[v for part in merged for block in part for v in block]]
        below.append(found)
    return below[-1]


def published(quasi: Quasi, scheme: Scheme, blocks: list[list[int]]) -> tuple[list[int], list[int]]:
    """For each leaf the smallest one of its block, and the lowest node above that."""
    hierarchy, occurring = quasi.hierarchy, int((quasi.rows > 0).sum())
    smallest, nodes = [*range(hierarchy.leaves)], [*range(hierarchy.leaves)]
    for block in blocks:
        members = block
        if len(block) > 1 and scheme == "cut":
            node = hierarchy.common_ancestor(block)
            inside = range(hierarchy.first[node], hierarchy.stop[node])
            members = [leaf for leaf in inside if hierarchy.ceilings[leaf] == hierarchy.ceilings[block[0]]]
        elif len(block) > 1 and (scheme not in FREE or len(block) == occurring):
            members = covered_by(quasi, block).tolist()
        for leaf in members:
            smallest[leaf], nodes[leaf] = min(members), hierarchy.common_ancestor(members)
    return smallest, nodes


@given(case=scheme_cases(most=(6, 4)), data=st.data())
def test_partitions_are_published_as_their_blocks_are(case: Any, data: st.DataObject) -> None:
    for quasi in count(case.table, case.spec).quasi:
        for scheme in SCHEMES:
            try:
                space = Space(quasi, scheme)
            except SpecError:
                continue
            assert isinstance(space.walk, Partitions)
            state = data.draw(st.sampled_from(states_of(space)))
            blocks, found = blocks_of(space.walk, state), space.recode(state)
            assert (found.blocks.tolist(), found.nodes.tolist()) == published(quasi, scheme, blocks)
            labels = space.walk.labelling.of(state, quasi.hierarchy.leaves)
            assert {leaf: min(block) for block in blocks for leaf in block}.items() <= dict(enumerate(labels)).items()
            assert space.walk.labelling.state(labels) == state


@given(case=scheme_cases(most=(9, 4)), seed=st.integers(0, 99), data=st.data())
def test_blocks_of_now_are_runs_of_every_line(case: Any, seed: int, data: st.DataObject) -> None:
    """Where a walk is, is a choice of the line that it draws: so the best one of the line is never worse."""
    census = count(case.table, case.spec)
    losses = block_losses("glm", census)
    for quasi, loss, codes in zip(census.quasi, losses, census.codes.T.astype(np.int32), strict=True):
        space = Space(quasi, "guided-set")
        assert isinstance(space.walk, Partitions)
        state = data.draw(st.sampled_from(states_of(space)))
        line = RunLines(space, space.walk, loss, np.ascontiguousarray(codes)).make(
            space.walk.labelling.of(state, quasi.hierarchy.leaves), Random(seed)
        )
        for block in blocks_of(space.walk, state):
            places = sorted(line.place[block].tolist())
            assert places == [*range(places[0], places[0] + len(block))]
