"""Groups that follow a purpose: what counts less, who has prices, and what does not change."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.census.census import Census, take_census
from ringfence.plans.group import GroupPlan
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.sources import ROWS
from ringfence.samples import people, people_spec
from ringfence.search.groups.distances import layout_of, space_of
from ringfence.search.groups.grouped import groups_asked
from ringfence.search.groups.purpose import UNASKED, for_purpose
from ringfence.spec import Spec
from ringfence.yardsticks.measure import read_rows, ruler

TABLE, BASE = people(1_500), people_spec()
QUASI = ("age", "sex", "country", "education")
ROLES = {name: BASE.attributes[name] for name in (*QUASI, "salary", "occupation")}


def asked(purpose: dict[str, Any] | None, k: int = 5, **method: Any) -> Spec:
    """People by four attributes, to be grouped for use."""
    parts = {} if purpose is None else {"purpose": purpose}
    method = {"name": "local", "metric": "use", "representation": "set", **method}
    return Spec(data={"unlisted": "drop"}, attributes=ROLES, privacy={"k": k}, method=method, **parts)


def counted(spec: Spec, table: Any = TABLE) -> Census:
    with DuckDB(spec.data) as engine:
        return take_census(engine.count(engine.open(table, spec.data), [*QUASI]), spec, ROWS)


def made(spec: Spec, table: Any = TABLE) -> list[Any]:
    """What a run decides: who is in which group."""
    plan = rf.anonymize(table, spec).plan
    assert isinstance(plan, GroupPlan)
    return [plan.combinations.to_pylist(), plan.entries.to_pylist()]


CENSUS = counted(asked(None))
TABLES = [*map(list, (*combinations((*QUASI, "salary"), 1), *combinations((*QUASI, "salary"), 2)))]


@given(
    counts=st.none() | st.lists(st.sampled_from(TABLES), min_size=1, max_size=3),
    predict=st.none() | st.just(["salary"]) | st.just(["occupation", "salary"]),
    metric=st.sampled_from(["use", "glm", "gcp"]),
)
def test_weights_and_prices_are_what_is_said(
    counts: list[list[str]] | None, predict: list[str] | None, metric: str
) -> None:
    given_parts = {"counts": counts, "predict": predict}
    spec = asked({key: value for key, value in given_parts.items() if value is not None}, metric=metric)
    weights = {quasi.name: quasi.weight for quasi in for_purpose(CENSUS, spec).quasi}
    for quasi in CENSUS.quasi:
        named = any(quasi.name in table for table in counts or [])
        any_named = any(name in QUASI for table in counts or [] for name in table)
        less = metric == "use" and predict is None and any_named and not named
        assert weights[quasi.name] == (UNASKED * quasi.weight if less else quasi.weight)
    assert groups_asked(CENSUS, spec).priced == (predict is None or counts is not None)


def test_what_is_lost_in_an_attribute_that_nobody_asks_for_is_a_quarter_beside_others() -> None:
    spec = asked({"counts": [["sex", "country"], ["education"]]})
    before, after = (space_of(census, "set", "use") for census in (CENSUS, for_purpose(CENSUS, spec)))
    layout = layout_of(CENSUS, "set", "use")
    numbers = [CENSUS.names[a] for a in layout.lines]
    assert numbers == ["age"]
    sets = [layout.sets.index(CENSUS.names.index(name)) for name in ("sex", "country", "education")]
    shrunk = after.limits[0] / before.limits[0] / (after.costs[sets, 2] / before.costs[sets, 2])
    assert shrunk == pytest.approx([UNASKED] * 3)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, {"describe": "whatever"}),
        (None, {"counts": [["salary"]]}),  # about none of the quasi-identifiers
        (None, {"counts": [[name] for name in QUASI]}),  # about all of them
        ({"predict": ["salary"]}, {"predict": ["salary", "occupation"]}),
        (None, {"counts": [["age"]], "predict": ["salary"]}),
    ],
)
def test_purposes_that_ask_for_the_same_have_the_same_groups(one: Any, other: Any) -> None:
    assert made(asked(one)) == made(asked(other))


@pytest.mark.parametrize("purpose", [{"predict": ["salary"]}, {"counts": [["age", "sex"]]}])
def test_other_losses_and_the_order_of_rows_change_nothing(purpose: Any) -> None:
    assert made(asked(purpose, metric="glm")) == made(asked(None, metric="glm"))
    shuffled = TABLE.take(np.random.default_rng(3).permutation(TABLE.num_rows))
    groups = made(asked(purpose))
    assert made(asked(purpose), shuffled) == groups
    assert groups != made(asked(None))


def test_values_of_what_is_predicted_have_no_say() -> None:
    """Only its name is looked at: groups tell nothing of it that they would not tell without a purpose."""
    spec = asked({"predict": ["salary"]})
    place = TABLE.column_names.index("salary")
    turned = TABLE.set_column(place, "salary", TABLE["salary"].take(np.arange(TABLE.num_rows)[::-1]))
    assert made(spec, turned) == made(spec)


def test_wanted_tables_are_better_where_they_are_said() -> None:
    wanted = {"counts": [["age", "sex"], ["age", "education"]]}
    found = {}
    for purpose in (None, wanted):
        release = rf.anonymize(TABLE, asked(purpose))
        assert release.audit.ok
        judged = asked(wanted)
        with DuckDB(judged.data) as engine:
            by = ruler(engine, engine.open(TABLE, judged.data), judged)
            side = read_rows(engine, engine.open(release.table, judged.data, as_it_stands=True), by, judged)
            found[purpose is None] = by.measure(side).counts
    assert found[False] < 0.95 * found[True]
