"""What every method must keep to: one suite over all of them, through the public interface and the real engine."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringfence as rf
from ringfence.declared import BASKETS, GROUPS, RECODES, SCHEMES, methods_that
from ringfence.declared import METHODS as DECLARED
from ringfence.errors import SpecError, Unsatisfiable
from tests.item_tables import Case as BasketCase
from tests.item_tables import cases as basket_cases
from tests.item_tables import spec_for, table_of
from tests.tables import Case, cases, with_parts

GROUPING = [*methods_that(way=GROUPS), "homogeneous"]
GLOBAL = methods_that(way=RECODES)
METHODS = [*GLOBAL, *GROUPING]
RINGS = [*methods_that(rings=True), "homogeneous"]
CHOOSING = [name for name in METHODS if name not in methods_that(chosen=False)]
FREER = [name for name in SCHEMES if name != "level"]


def method_parts(name: str, case: Case) -> dict[str, Any]:
    """A method table for any case; `levels` publishes everything one level up, `homogeneous` rings as groups."""
    if name in SCHEMES:
        return {"scheme": name}
    if name == "homogeneous":
        return {"name": "ring", "homogeneous": True}
    if "levels" not in DECLARED[name].options:
        return {"name": name}
    return {"name": name, "levels": dict.fromkeys(case.spec.of_role("quasi"), 1), "suppression": 1}


def attempt(case: Case, spec: rf.Spec) -> rf.Release | None:
    """A release, or None where there can be none."""
    try:
        return rf.anonymize(case.table, spec)
    except Unsatisfiable:
        return None
    except SpecError as error:  # rings need as many different sensitive values as they are wide
        if not spec.has_rings or "different ones" not in str(error):
            raise
        return None


def sorted_rows(table: pa.Table) -> list[tuple[tuple[str, str], ...]]:
    """The rows of a table, in no order of their own."""
    return sorted(tuple(sorted((k, repr(v)) for k, v in row.items())) for row in table.to_pylist())


@pytest.mark.parametrize("name", [*METHODS, *FREER])
@settings(max_examples=settings().max_examples // 2)
@given(case=cases(sensitive=1), k=st.integers(1, 4), l=st.integers(1, 2))
def test_a_release_passes_its_audit_and_leaves_the_input_alone(name: str, case: Case, k: int, l: int) -> None:  # noqa: E741
    asked = {"k": k, "l": l} if name not in RINGS or (name != "homogeneous" and l > 1) else {"k": k}
    spec = with_parts(case.spec, privacy=asked, method=method_parts(name, case))
    before = case.table.to_pylist()
    release = attempt(case, spec)
    assert case.table.to_pylist() == before
    if release is None:
        return
    verdict = rf.audit(release.table, spec, case.table if spec.has_rings else None)
    assert verdict.ok, verdict.findings
    assert all(verdict.measured[key] >= value for key, value in asked.items())
    assert release.table.num_rows == case.table.num_rows - release.metrics["suppressed"]
    assert release.table.column_names == case.table.column_names
    assert release.metrics["suppressed"] <= case.table.num_rows * spec.method.suppression_limit


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=settings().max_examples // 2)
@given(case=cases(sensitive=1), k=st.integers(1, 4), seed=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_matter(name: str, case: Case, k: int, seed: Any) -> None:
    spec = with_parts(case.spec, privacy={"k": k}, method=method_parts(name, case))
    rows, columns = list(range(case.table.num_rows)), list(case.table.column_names)
    seed.shuffle(rows)
    seed.shuffle(columns)
    one, other = attempt(case, spec), attempt(Case(case.table.take(rows).select(columns), case.spec), spec)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert one.plan == other.plan
        # Which of several equal rows go to which group is left to chance, and their other values go with them.
        shown = case.table.column_names if name not in GROUPING else case.spec.of_role("quasi")
        assert sorted_rows(one.table.select(shown)) == sorted_rows(other.table.select(shown))


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=settings().max_examples // 4)
@given(case=cases(sensitive=1))
def test_more_than_all_rows_is_unsatisfiable(name: str, case: Case) -> None:
    spec = with_parts(case.spec, privacy={"k": case.table.num_rows + 1}, method=method_parts(name, case))
    with pytest.raises(Unsatisfiable):
        rf.anonymize(case.table, spec)


@pytest.mark.parametrize("name", CHOOSING)
@settings(max_examples=settings().max_examples // 4)
@given(case=cases(sensitive=1))
def test_k_1_changes_nothing_but_the_order(name: str, case: Case) -> None:
    release = rf.anonymize(case.table, with_parts(case.spec, privacy={"k": 1}, method=method_parts(name, case)))
    assert sorted_rows(release.table) == sorted_rows(case.table)
    assert release.table.schema.types == case.table.schema.types


@pytest.mark.parametrize("name", CHOOSING)
@settings(max_examples=settings().max_examples // 4)
@given(case=cases(sensitive=1), copies=st.integers(2, 5))
def test_rows_that_are_all_equal_lose_nothing(name: str, case: Case, copies: int) -> None:
    table = pa.concat_tables([case.table.slice(0, 1)] * copies)
    release = rf.anonymize(table, with_parts(case.spec, privacy={"k": copies}, method=method_parts(name, case)))
    assert sorted_rows(release.table) == sorted_rows(table)
    assert release.metrics["glm"] == 0


@pytest.mark.parametrize("name", GLOBAL)
@given(case=cases(sensitive=1), k=st.integers(2, 4))
def test_suppressed_rows_may_stay_masked(name: str, case: Case, k: int) -> None:
    parts = {**method_parts(name, case), "keep_suppressed": True}
    spec = with_parts(case.spec, privacy={"k": k}, method=parts)
    release = attempt(case, spec)
    if release is None:
        return
    suppressed = int(release.metrics["suppressed"])
    assert release.plan.masked == (suppressed >= k)
    gone = 0 if release.plan.masked else suppressed
    assert release.table.num_rows == case.table.num_rows - gone
    if release.plan.masked:
        quasi = case.spec.of_role("quasi")
        masked = sum(all(row[name] == "*" for name in quasi) for row in release.table.to_pylist())
        assert masked >= suppressed


@given(case=cases(sensitive=2), k=st.integers(1, 3))
def test_rows_with_missing_values_are_kept_dropped_or_refused(case: Case, k: int) -> None:
    incomplete = sum(None in row.values() for row in case.rows())
    for missing in ("value", "suppress", "error"):
        spec = with_parts(case.spec, data={"missing": missing}, privacy={"k": k})
        if missing == "error" and incomplete:
            with pytest.raises(rf.errors.DataError, match="missing"):
                rf.anonymize(case.table, spec)
        elif missing == "suppress" and incomplete == case.table.num_rows:
            with pytest.raises(rf.errors.DataError, match="leaves no rows"):
                rf.anonymize(case.table, spec)
        elif (release := attempt(case, spec)) is not None:
            dropped = incomplete if missing == "suppress" else 0
            assert release.incomplete == dropped
            assert release.table.num_rows == case.table.num_rows - dropped - release.metrics["suppressed"]


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=settings().max_examples // 2)
@given(case=cases(sensitive=1, bounded=True), k=st.integers(1, 4))
def test_no_release_passes_a_boundary(name: str, case: Case, k: int) -> None:
    shown = {"representation": "hierarchy"} if name in GROUPING else {}  # the audit can tell of sets and ranges
    forced = {"suppression": 0} if name in CHOOSING else {}  # up to the boundary, if need be
    asked = {**method_parts(name, case), **shown, **forced}
    release = attempt(case, with_parts(case.spec, privacy={"k": k}, method=asked))
    if release is None:
        return
    for quasi in case.census.quasi:
        tree = quasi.hierarchy
        highest = {tree.labels[node] for node in tree.ceilings.tolist()}
        below = {tree.labels[leaf] for leaf in range(tree.leaves)}
        for node in range(tree.leaves, len(tree.labels)):
            ceilings = tree.ceilings[tree.first[node] : tree.stop[node]]
            if (tree.depth[ceilings] <= tree.depth[node]).any():
                below.add(tree.labels[node])
        published = {None if value is None else str(value) for value in release.table[quasi.name].to_pylist()}
        assert published <= highest | below


# Baskets: the same, for a method that has no quasi-identifiers

SEARCHES = [search for name in methods_that(way=BASKETS) for search in DECLARED[name].searches if search != "auto"]


def basket_attempt(table: pa.Table, spec: rf.Spec) -> rf.Release | None:
    """A release, or None where there can be none."""
    try:
        return rf.anonymize(table, spec)
    except Unsatisfiable:
        return None


def as_sets(table: pa.Table) -> list[list[str]]:
    """The baskets of a table, in no order of their own."""
    return sorted(sorted(set(basket)) for basket in table["basket"].to_pylist())


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=settings().max_examples // 4)
@given(case=basket_cases(), k=st.integers(1, 4), m=st.integers(1, 3), seed=st.randoms(use_true_random=False))
def test_baskets_pass_their_audit_whatever_their_order(
    search: str, case: BasketCase, k: int, m: int, seed: Any
) -> None:
    table, spec = table_of(case), spec_for(case, k, m, search=search)
    if not case.rows:
        return
    before = table.to_pylist()
    release = basket_attempt(table, spec)
    assert table.to_pylist() == before
    shuffled = [seed.sample(row, len(row)) for row in seed.sample(case.rows, len(case.rows))]
    other = basket_attempt(table_of(BasketCase(shuffled, case.tree)), spec)
    assert (release is None) == (other is None)
    if release is None or other is None:
        return
    verdict = rf.audit(release.table, spec)
    assert verdict.ok, verdict.findings
    assert (verdict.measured["k"] >= k, verdict.measured["m"]) == (True, m)
    assert release.table.num_rows == table.num_rows
    assert release.plan == other.plan
    assert as_sets(release.table) == as_sets(other.table)


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=settings().max_examples // 4)
@given(case=basket_cases(), m=st.integers(1, 3), copies=st.integers(2, 4))
def test_baskets_that_are_common_enough_lose_nothing(search: str, case: BasketCase, m: int, copies: int) -> None:
    if not case.rows:
        return
    release = rf.anonymize(table_of(case), spec_for(case, 1, m, search=search))
    assert as_sets(release.table) == as_sets(table_of(case))
    assert release.metrics["ncp"] == 0
    equal = table_of(BasketCase([case.rows[0]] * copies, case.tree))
    release = rf.anonymize(equal, spec_for(case, copies, m, search=search))
    assert as_sets(release.table) == as_sets(equal)
    with pytest.raises(Unsatisfiable):
        rf.anonymize(equal, spec_for(case, copies + 1, m, search=search))
