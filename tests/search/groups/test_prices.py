"""Prices of values: what a reader counts too often, and what rows pay, against plain Python."""

import random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.census.census import Census
from ringfence.census.covers import cover_groups
from ringfence.rows.duckdb import DuckDB
from ringfence.samples import people, people_spec
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import layout_of, space_of
from ringfence.search.groups.improving import Effort, Improver, with_itself
from ringfence.search.groups.local import local
from ringfence.search.groups.orders import neighbours
from ringfence.search.groups.prices import GENTLE_FROM, LARGEST_ERROR, LEAST_SHARE, MOST, STEP, Prices
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from ringfence.yardsticks.measure import read_rows, ruler
from tests.search.groups.test_local import check, complete, lined_up, shown_as, small
from tests.tables import Case, cases


def priced(case: Case, k: int, representation: Any) -> tuple[Improver, Prices, Any, Any]:
    """Groups that may change, all of them, and prices of nothing yet."""
    line = lined_up(case, k, 1)
    assert line is not None
    census, space = case.census, space_of(case.census, representation, "use")
    found = neighbours(census, space, line.asked.blocks, 16)
    homes = line.cut(space, 0.0)
    improver = Improver(line, space, homes, with_itself(found.near, census.weights), 0)
    layout = layout_of(census, representation, "use")
    return improver, Prices(census, layout, space, improver.tuples, 0.5, k), line, homes


def by_hand(census: Census, covers: list[list[list[int]]], sizes: list[int], a: int) -> list[float]:
    """How many rows more a reader counts of each leaf than there are."""
    quasi = census.quasi[a]
    counted = [-float(rows) for rows in quasi.rows]
    for size, covered in zip(sizes, covers[a], strict=True):
        for leaf in covered:
            counted[leaf] += size / len(covered)
    return counted


@given(case=cases(max_rows=12), k=small, representation=shown_as, rounds=st.integers(1, 3))
def test_rows_pay_the_mean_price_of_the_values_under_their_label(
    case: Case, k: int, representation: Any, rounds: int
) -> None:
    case = complete(case)
    if lined_up(case, k, 1) is None:
        return
    census = case.census
    improver, prices, line, homes = priced(case, k, representation)
    if line.asked.suppressed or len(improver.places.homes) < census.rows:  # a large group does not take part
        return
    groups = line.groups(homes)
    shown = cover_groups(census, groups, representation)
    covers = [[part.covers.lists()[value] for value in part.value] for part in shown]
    plain = improver.places.losses.copy()
    gentle = min(1.0, GENTLE_FROM / k) * 0.5
    paid = np.zeros(groups.count)
    for a, quasi in enumerate(census.quasi):
        ceilings = {int(quasi.hierarchy.ceilings[leaf]) for leaf in np.flatnonzero(quasi.rows)}
        if representation == "range" and len(ceilings) > 1:
            continue
        price = np.zeros(quasi.hierarchy.leaves)
        for _ in range(rounds):
            for leaf, more in enumerate(by_hand(census, covers, groups.sizes.tolist(), a)):
                error = more / max(int(quasi.rows[leaf]), LEAST_SHARE * census.rows)
                step = STEP * gentle * min(LARGEST_ERROR, max(-LARGEST_ERROR, error))
                price[leaf] = min(MOST * gentle, max(-MOST * gentle, price[leaf] + step))
        paid += [price[covered].mean() for covered in covers[a]]
    for _ in range(rounds):
        space = improver.with_prices(prices.risen(improver.places))
    improver.refresh(space)
    number = {home: group for group, home in enumerate(dict.fromkeys(sorted(homes.tolist())))}
    for row, home in enumerate(improver.places.homes.tolist()):
        group = number[int(homes[improver._rows[row]])]
        assert improver.places.losses[home] - plain[home] == pytest.approx(paid[group], abs=1e-9)


@given(case=cases(sensitive=1), k=small, least=small, representation=shown_as)
def test_groups_searched_with_prices_have_all_they_need(case: Case, k: int, least: int, representation: Any) -> None:
    census = case.census
    if lined_up(case, k, least) is None:
        return
    asked = GroupsAsked(k, [least] * len(census.sensitive), representation, "use", census.rows)
    groups, search = local(census, asked, seed=3)
    check(census, groups, k, least)
    again, _ = local(census, asked, seed=3)
    assert again.combination.tolist() == groups.combination.tolist()
    assert again.group.tolist() == groups.group.tolist()
    assert search.bound is not None
    assert search.bound <= search.cost


def test_the_books_are_kept_under_prices() -> None:
    table = people(400)
    attributes = {name: people_spec().attributes[name] for name in ("age", "sex", "country", "education")}
    case = Case(table.select([*attributes]), Spec(attributes=attributes))
    for representation in ("set", "range", "hierarchy"):
        improver, prices, line, _ = priced(case, 3, representation)
        found, _ = improver.improve(Effort(0, 300, hot=1.0), Watch(), prices)
        check(case.census, line.groups(found), 3, 1)
        places = improver.places
        kept, without = places.losses.copy(), places.without.copy()
        space = improver.with_prices(prices.paid)
        improver.refresh(space)
        live = places.sizes > 0
        assert kept[live] == pytest.approx(places.losses[live], abs=1e-12)
        assert without == pytest.approx(places.without, abs=1e-12)


def test_a_release_made_for_use_answers_counts_better() -> None:
    table, base = people(3_000), people_spec()
    parts = base.model_dump(by_alias=True, exclude_unset=True)
    found = {}
    for metric in ("glm", "use"):
        method = {"name": "local", "metric": metric, "representation": "set", "seed": 1}
        spec = Spec(**{**parts, "privacy": {"k": 5}, "method": method})
        release = rf.anonymize(table, spec)
        assert release.audit.ok
        with DuckDB(spec.data) as engine:
            by = ruler(engine, engine.open(table, spec.data), spec)
            side = read_rows(engine, engine.open(release.table, spec.data, as_it_stands=True), by, spec)
            found[metric] = by.measure(side), release.metrics
    assert found["use"][0].queries < 0.9 * found["glm"][0].queries
    assert found["use"][0].singles < 0.4 * found["glm"][0].singles
    assert found["use"][1]["use"] < found["glm"][1]["use"]
    assert found["use"][1]["glm"] > found["glm"][1]["glm"]


def test_what_is_told_is_what_groups_lose_without_prices() -> None:
    """Prices may be paid or given back: with them in it, the best so far could rise, or be less than nothing."""
    draw = random.Random(2)
    columns = {
        "age": [draw.randrange(18, 90) for _ in range(2000)],
        "town": [draw.choice("abcdef") for _ in range(2000)],
    }
    spec = rf.Spec(
        attributes={"age": {"role": "quasi", "order": "numeric"}, "town": {"role": "quasi", "hierarchy": "flat"}},
        privacy={"k": 5},
        method={"name": "local", "metric": "use", "seed": 3},
    )
    told: list[float] = []
    with patch("ringfence.search.progress.REPORT_EVERY", -1.0):
        rf.anonymize(pa.table(columns), spec, listener=lambda event: told.append(event.best) if event.best else None)
    assert len(told) > 10
    assert told == sorted(told, reverse=True)
    assert told[-1] > 0
