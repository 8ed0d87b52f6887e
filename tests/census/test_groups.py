"""Combinations and groups against the rows they stand for."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.census.groups import Groups, combinations, common_ancestors, information_losses
from tests.clusterings import height_below, lowest_common
from tests.tables import Case, cases


@given(case=cases(sensitive=2), attributes=st.sampled_from([(), (0,), (1,), (0, 1), (1, 0)]))
def test_combinations_are_the_distinct_rows(case: Case, attributes: tuple[int, ...]) -> None:
    census = case.census
    rows: Counter[tuple[Any, ...]] = Counter()
    for row in case.rows():
        leaves = [q.hierarchy.leaf_index[None if row[q.name] is None else str(row[q.name])] for q in census.quasi]
        values = [census.sensitive[s].hierarchy.leaf_index[row[census.sensitive[s].name]] for s in attributes]
        rows[(*leaves, *values)] += 1
    found = combinations(census, attributes)
    keys = [(*census.codes[t].tolist(), *values) for t, values in zip(found.tuples, found.values.tolist(), strict=True)]
    assert keys == sorted(rows)
    assert found.weights.tolist() == [rows[key] for key in keys]
    assert found.attributes == attributes


def random_groups(case: Case, data: st.DataObject) -> Groups:
    """Some rows of each combination in each of three groups, some in none."""
    found = combinations(case.census, [0])
    entries = []
    for c, weight in enumerate(found.weights.tolist()):
        for _ in range(weight):
            group = data.draw(st.sampled_from([-1, 0, 5, 7]))
            if group >= 0:
                entries.append((c, group, 1))
    arrays = np.array(entries, np.int64).reshape(-1, 3)
    return Groups.gathered(found, arrays[:, 0], arrays[:, 1], arrays[:, 2])


@given(case=cases(sensitive=1), data=st.data())
def test_groups_cover_their_rows(case: Case, data: st.DataObject) -> None:
    census, groups = case.census, random_groups(case, data)
    assert groups.sizes.sum() + groups.suppressed.sum() == census.rows
    nodes = common_ancestors(census, groups)
    losses = information_losses(census, nodes)
    for group in range(groups.count):
        tuples = groups.tuples[groups.group == group]
        assert len(tuples) > 0
        expected = 0.0
        for a, quasi in enumerate(census.quasi):
            tree = quasi.hierarchy
            assert nodes[group, a] == lowest_common(tree, census.codes[tuples, a].tolist())
            expected += height_below(tree, nodes[group, a]) / height_below(tree, tree.root)
        assert losses[group] == pytest.approx(expected)


@given(case=cases(sensitive=1), data=st.data())
def test_groups_that_lose_or_invent_rows_are_refused(case: Case, data: st.DataObject) -> None:
    groups = random_groups(case, data)
    with pytest.raises(ValueError, match="every row of a combination goes to one group"):
        replace(groups, suppressed=groups.suppressed + 1)
    if groups.count:
        with pytest.raises(ValueError, match="without a gap"):
            replace(groups, group=groups.group + 1)
        with pytest.raises(ValueError, match="every row of a combination goes to one group"):
            replace(groups, rows=-groups.rows)
    if len(groups.rows) > 1:
        with pytest.raises(ValueError, match="in order, each pair once"):
            replace(groups, combination=groups.combination[::-1], group=groups.group[::-1], rows=groups.rows[::-1])
