"""Baskets from a specification to a release: every form of input, what is refused, and baskets beside
quasi-identifiers."""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringfence as rf
from ringfence.api import run
from ringfence.census.baskets import take_baskets
from ringfence.errors import DataError, SpecError, Unsatisfiable
from ringfence.plans.items import ItemPlan
from ringfence.samples import baskets
from tests.item_tables import Case, cases, cheapest, spec_for, table_of

TREE = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
ROWS = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
PUBLISHED = [["A", "b1", "b2"], ["A", "b1"], ["A", "b1", "b2"], ["A", "b2"]]
"""The paper's example, k = m = 2."""


def spec_of(
    separator: str | None = None,
    *,
    data: dict[str, Any] | None = None,
    others: dict[str, Any] | None = None,
    **basket: Any,
) -> rf.Spec:
    """The specification of the paper's example for a column `basket`."""
    attribute = {"role": "items", "hierarchy": {"tree": TREE}, **basket}
    if separator is not None:
        attribute["separator"] = separator
    return rf.Spec(
        data=data or {},
        attributes={"basket": attribute, **(others or {})},
        privacy={"k": 2, "m": 2},
        method={"name": "itemsets"},
    )


def as_sets(baskets: list[Any]) -> Counter[tuple[str, ...]]:
    """Baskets in no order, each label as often as it stands there."""
    return Counter(tuple(sorted(map(str, basket if basket is not None else ()))) for basket in baskets)


# The forms of tables


def as_lists(kind: Callable[[dict[str, Any]], Any]) -> Any:
    return kind({"basket": ROWS, "shop": [1, 2, 3, 4]})


@pytest.mark.parametrize("kind", [pa.table, pd.DataFrame, pl.DataFrame], ids=["arrow", "pandas", "polars"])
def test_lists_in_memory_come_back_as_lists_of_the_same_kind(kind: Callable[[dict[str, Any]], Any]) -> None:
    table = as_lists(kind)
    release = rf.anonymize(table, spec_of(others={"shop": {"role": "insensitive"}}))
    assert type(release.table) is type(table)
    shown = pa.table(release.table) if kind is not pd.DataFrame else pa.Table.from_pandas(release.table)
    assert as_sets(shown["basket"].to_pylist()) == as_sets(PUBLISHED)
    # The other columns travel with their basket.
    pairs = {
        (shop, tuple(basket))
        for basket, shop in zip(*shown.select(["basket", "shop"]).to_pydict().values(), strict=True)
    }
    assert pairs == {(shop, tuple(basket)) for shop, basket in enumerate(PUBLISHED, 1)}
    assert release.metrics["ncp"] == 2.5 / 11
    assert (release.metrics["rows"], release.metrics["suppressed"]) == (4, 0)
    assert release.search is not None
    assert release.search.optimal


@pytest.mark.parametrize("kind", [pa.table, pd.DataFrame, pl.DataFrame], ids=["arrow", "pandas", "polars"])
def test_text_with_a_separator_in_memory_stays_text(kind: Callable[[dict[str, Any]], Any]) -> None:
    table = kind({"basket": [" ; ".join(row) for row in ROWS]})
    release = rf.anonymize(table, spec_of(";"))
    assert type(release.table) is type(table)
    assert Counter(list(release.table["basket"].to_pylist() if kind is pa.table else release.table["basket"])) == (
        Counter(";".join(basket) for basket in PUBLISHED)
    )


@pytest.mark.parametrize("kind", [pa.table, pd.DataFrame, pl.DataFrame], ids=["arrow", "pandas", "polars"])
def test_long_tables_come_back_long_with_new_numbers(kind: Callable[[dict[str, Any]], Any]) -> None:
    lines = [(f"R{n}", item, n % 2) for n, row in enumerate(ROWS) for item in row] + [("R9", None, 7)]
    table = kind({"receipt": [a for a, _, _ in lines], "sku": [b for _, b, _ in lines], "shop": [c for *_, c in lines]})
    spec = rf.Spec(
        data={"basket_id": "receipt"},
        attributes={"sku": {"role": "items", "hierarchy": {"tree": TREE}}, "shop": {"role": "insensitive"}},
        privacy={"k": 2, "m": 2},
        method={"name": "itemsets"},
    )
    release = rf.anonymize(table, spec)
    assert type(release.table) is type(table)
    frame = pd.DataFrame(
        release.table.to_pandas() if kind is pa.table else release.table.to_dict(as_series=False)
        if kind is pl.DataFrame else release.table
    )  # fmt: skip
    assert list(frame.columns) == ["receipt", "sku", "shop"]
    assert sorted(set(frame["receipt"])) == [1, 2, 3, 4, 5]
    found = [list(group["sku"].dropna()) for _, group in frame.groupby("receipt")]
    assert as_sets(found) == as_sets([*PUBLISHED, []])
    assert release.metrics["rows"] == 5
    assert frame.groupby("receipt")["shop"].nunique().max() == 1
    assert rf.audit(release.table, spec).ok


def write_csv(folder: Path) -> tuple[Path, rf.Spec]:
    text = "shop,basket\n" + "".join(f'{n},"{", ".join(row)}"\n' for n, row in enumerate(ROWS)) + "9,\n"
    (folder / "rows.csv").write_text(text)
    return folder / "rows.csv", spec_of(",", others={"shop": {"role": "insensitive"}})


def write_parquet(folder: Path) -> tuple[Path, rf.Spec]:
    pq.write_table(pa.table({"basket": [*ROWS, None]}), folder / "rows.parquet")
    return folder / "rows.parquet", spec_of()


def write_fimi(folder: Path) -> tuple[Path, rf.Spec]:
    (folder / "rows.dat").write_bytes(b"".join(" ".join(row).encode() + b" \r\n" for row in [*ROWS, []]))
    return folder / "rows.dat", _named_items(spec_of())


def write_spmf(folder: Path) -> tuple[Path, rf.Spec]:
    lines = ["@CONVERTED_FROM_TEXT", *("".join(f"{item} -1 " for item in row) + "-2" for row in [*ROWS, []])]
    (folder / "rows.spmf").write_text("\n".join(lines) + "\n")
    return folder / "rows.spmf", _named_items(spec_of())


def write_long(folder: Path) -> tuple[Path, rf.Spec]:
    lines = [f"{n},{item}\n" for n, row in enumerate(ROWS) for item in row]
    (folder / "rows.csv").write_text("receipt,basket\n" + "".join(lines) + "8,\n")
    return folder / "rows.csv", spec_of(data={"basket_id": "receipt"}, others={"receipt": {"role": "identifier"}})


def _named_items(spec: rf.Spec) -> rf.Spec:
    return rf.Spec(**{**spec.model_dump(exclude_unset=True), "attributes": {"items": spec.attributes["basket"]}})


@pytest.mark.parametrize("write", [write_csv, write_parquet, write_fimi, write_spmf, write_long])
def test_files_come_out_in_the_form_they_came_in(write: Callable[[Path], tuple[Path, rf.Spec]], tmp_path: Path) -> None:
    source, spec = write(tmp_path)
    spec = rf.Spec(**{**spec.model_dump(exclude_unset=True), "data": {**_given(spec), "source": str(source)}})
    release = run(spec, tmp_path / "out", report=False)
    path = Path(release.table)
    assert path.suffix == source.suffix
    assert release.metrics["ncp"] == 2.5 / 11
    assert release.metrics["rows"] == 5
    assert rf.audit(path, spec).ok
    # Anonymized once more, nothing is left to do: the release reads as its source does.
    again = rf.Spec(
        **{
            **spec.model_dump(exclude_unset=True),
            "attributes": {
                **spec.model_dump(exclude_unset=True)["attributes"],
                spec.items: {**spec.attributes[spec.items or ""].model_dump(exclude_unset=True), "hierarchy": "flat"},
            },
        }
    )
    reread = rf.anonymize(path, again)
    assert reread.baskets is not None
    assert (reread.metrics["ncp"], reread.baskets.empty) == (0, 1)
    labels = reread.baskets.hierarchy.labels
    ends = list(itertools.pairwise(reread.baskets.starts.tolist()))
    found = [[labels[leaf] for leaf in reread.baskets.items[a:b].tolist()] for a, b in ends]
    expanded = [b for b, n in zip(found, reread.baskets.weights.tolist(), strict=True) for _ in range(n)]
    assert as_sets(expanded) == as_sets(PUBLISHED)


def _given(spec: rf.Spec) -> dict[str, Any]:
    return spec.data.model_dump(exclude_unset=True)


@settings(max_examples=settings().max_examples // 4)
@given(case=cases(), k=st.integers(1, 3), m=st.integers(1, 3))
def test_every_form_of_the_same_baskets_is_published_alike(case: Case, k: int, m: int) -> None:
    spec, lists = spec_for(case, k, m), table_of(case)
    parts = spec.model_dump(exclude_unset=True)
    text = pa.table({"basket": pa.array([";".join(row) for row in lists["basket"].to_pylist()], pa.string())})
    basket = {**parts["attributes"]["basket"], "separator": ";"}
    long = [(number, item) for number, row in enumerate(lists["basket"].to_pylist()) for item in row or [None]]
    forms = [
        (lists, spec),
        (text, rf.Spec(**{**parts, "attributes": {"basket": basket}})),
        (
            pa.table({"n": [a for a, _ in long], "basket": pa.array([b for _, b in long], pa.string())}),
            rf.Spec(**{**parts, "data": {"basket_id": "n"}}),
        ),
    ]
    found: list[Any] = []
    for table, asked in forms:
        try:
            release = rf.anonymize(table, asked)
        except (Unsatisfiable, DataError) as error:
            found.append(type(error).__name__)
            continue
        rows = release.table["basket"].to_pylist()
        if asked.data.basket_id:
            gathered: dict[int, list[str]] = {}
            for row in release.table.to_pylist():
                gathered.setdefault(row["n"], []).extend([] if row["basket"] is None else [row["basket"]])
            rows = list(gathered.values())
        elif asked.attributes["basket"].separator:
            rows = [row.split(";") if row else [] for row in rows]
        found.append((as_sets(rows), release.plan.columns))
    assert found[0] == found[1] == found[2]


def test_the_order_of_a_basket_and_repetitions_leave_no_trace() -> None:
    tables = [[["b2", "a1"], ["a1", "b2", "b2"]], [["a1", "a1", "b2"], ["b2", "a1", "a1"]]]
    for rows in tables:
        release = rf.anonymize(pa.table({"basket": rows}), spec_of())
        assert release.table["basket"].to_pylist() == [["a1", "b2"]] * 2


def test_numbers_stay_numbers_where_nothing_is_generalized() -> None:
    table = pa.table({"basket": [[7, 3], [3, 7, 7], []]})
    release = rf.anonymize(table, spec_of(hierarchy={"fanout": 2}))
    assert release.table["basket"].type.value_type == pa.int64()
    assert as_sets(release.table["basket"].to_pylist()) == as_sets([[3, 7], [3, 7], []])


def test_fanout_by_support_puts_items_together_that_are_about_as_common() -> None:
    rows = [["rare"], *[["odd"]] * 2, *[["usual"]] * 8, *[["common"]] * 9]
    for by, groups in (
        ("order", {"[common..odd]", "[rare..usual]"}),
        ("support", {"[common..usual]", "[odd..rare]"}),
    ):
        table = pa.table({"basket": rows})
        found = take_baskets(
            pa.table({"basket": rows, "n": [1] * len(rows)}), spec_of(hierarchy={"fanout": 2, "by": by}), "n"
        )
        assert groups <= {*found.baskets.hierarchy.labels}
        release = rf.anonymize(table, spec_of(hierarchy={"fanout": 2, "by": by}))
        assert {label for basket in release.table["basket"].to_pylist() for label in basket} & groups


# Plans and reasons


def test_a_plan_says_what_forced_each_generalization_and_survives_being_saved(tmp_path: Path) -> None:
    release = rf.anonymize(pa.table({"basket": ROWS}), spec_of())
    plan = release.plan
    assert isinstance(plan, ItemPlan)
    assert release.item_plan is plan
    assert [(reason.label, reason.labels, reason.rows) for reason in plan.reasons] == [("A", ("a1", "a2"), 1)]
    assert plan.generalized == {"A": ["a1", "a2"]}
    assert "{a1, a2} in 1 row" in str(release)
    assert "{a1, a2} in 1 row" in release._repr_html_()
    assert release.explain().sentences == ("a1, a2: published as A; apart, there would be {a1, a2} in 1 row.",)
    plan.save(tmp_path / "plan.json")
    assert ItemPlan.load(tmp_path / "plan.json") == plan
    with pytest.raises(DataError, match="another kind, 'item'; allowed: 'global'"):
        rf.apply(tmp_path / "plan.json", pa.table({"basket": ROWS}))


@given(
    case=cases(),
    k=st.integers(1, 4),
    m=st.integers(1, 3),
    search=st.sampled_from(["auto", "optimal", "direct", "apriori", "breadth-first"]),
)
def test_releases_pass_their_audit_and_cost_what_they_must(case: Case, k: int, m: int, search: str) -> None:
    spec, best = spec_for(case, k, m, search=search), cheapest(case, k, m)
    if not case.rows:
        with pytest.raises(DataError, match="no rows"):
            rf.anonymize(table_of(case), spec)
    elif len(case.rows) < k or best is None:
        with pytest.raises(Unsatisfiable):
            rf.anonymize(table_of(case), spec)
    else:
        release = rf.anonymize(table_of(case), spec)
        assert rf.audit(release.table, spec).ok
        assert release.metrics["ncp"] >= float(best) - 1e-12
        if search in ("auto", "optimal", "breadth-first"):
            assert release.metrics["ncp"] == pytest.approx(float(best), abs=1e-12)
        label = dict(zip(release.plan.columns["basket"].leaves, release.plan.columns["basket"].labels, strict=True))
        expected = [{label[str(case.tree.labels[leaf])] for leaf in row} for row in case.rows]
        assert as_sets(release.table["basket"].to_pylist()) == as_sets([sorted(map(str, row)) for row in expected])


def test_a_search_that_is_out_of_time_still_keeps_the_promise() -> None:
    spec = rf.Spec(
        attributes={"basket": {"role": "items", "hierarchy": {"fanout": 2}}},
        privacy={"k": 5, "m": 2},
        method={"name": "itemsets", "time_limit": 1e-9},
    )
    release = rf.anonymize(baskets(400).select(["basket"]), spec)
    assert release.search is not None
    assert not release.search.optimal
    assert release.search.bound < release.search.cost
    assert release.audit.ok
    assert "not looked for: the time was up" in release.report().html
    assert "Item plan" in str(release)
    assert release.explain().sentences


# What is refused


@pytest.mark.parametrize(
    ("table", "spec", "kind", "words"),
    [
        (pa.table({"basket": [["a1", "x9"]] * 2}), spec_of(), DataError, ["'x9'", "2 rows", "hierarchy"]),
        (pa.table({"basket": ["a1 b1"] * 2}), spec_of(), SpecError, ["separator"]),
        (pa.table({"basket": [1, 2]}), spec_of(), DataError, ["int64", "lists"]),
        (pa.table({"basket": [[["a1"]]] * 2}), spec_of(), DataError, ["lists of text"]),
        (pa.table({"basket": [["a1"]]}), spec_of(), Unsatisfiable, ["k = 2", "1"]),
        (pa.table({"basket": [["a1"], [], []]}), spec_of(), Unsatisfiable, ["k = 2", "2 more are empty"]),
        (pa.table({"basket": [["a1"]] * 2}), spec_of(hierarchy=None), SpecError, ["hierarchy", "fanout"]),
        (
            pa.table({"basket": [["a1", "b1"], ["a2", "b1"]]}),
            spec_of(boundary={"level": 0}),
            Unsatisfiable,
            ["boundary", "'a1'"],
        ),
        (
            pa.table({"basket": ["a1;b1", "a2;b1"]}),
            spec_of(";", hierarchy={"tree": {"A;": ["a1", "a2"], "B": ["b1"]}}),
            SpecError,
            ["'A;'", "separator"],
        ),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_is_refused(table: pa.Table, spec: rf.Spec, kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        rf.anonymize(table, spec)
    for word in words:
        assert word in str(caught.value)


QUASI = {"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"method": {"name": "itemsets"}, "privacy": {"k": 2}}, ["privacy.m"]),
        ({"method": {"name": "itemsets", "search": "bottom-up"}}, ["'bottom-up'", "apriori"]),
        ({"method": {"name": "itemsets", "metric": "dm"}}, ["ncp"]),
        ({"method": {"name": "optimal"}}, ["quasi"]),
        ({"method": {"name": "optimal", "search": "apriori"}, "others": QUASI}, ["'apriori'", "itemsets"]),
        ({"method": {"name": "itemsets"}, "others": QUASI}, ["quasi-identifiers", "age", "'optimal'"]),
        ({"privacy": {"k": 2, "m": 2, "p": 2}, "others": {"ill": {"role": "sensitive"}}}, ["privacy.p", "classes"]),
        ({"data": {"basket_id": "basket"}}, ["data.basket_id", "items"]),
        ({"data": {"basket_id": "id"}, "others": {"id": {"role": "insensitive"}}}, ["basket_id", "'insensitive'"]),
    ],
    ids=str,
)
def test_specifications_that_do_not_fit_together_say_so(parts: dict[str, Any], words: list[str]) -> None:
    attributes = {"basket": {"role": "items", "hierarchy": {"tree": TREE}}, **parts.pop("others", {})}
    full = {"privacy": {"k": 2, "m": 2}, "method": {"name": "itemsets"}, **parts}
    with pytest.raises(SpecError) as caught:
        rf.anonymize(pa.table({"basket": ROWS}), rf.Spec(attributes=attributes, **full))
    for word in words:
        assert word in str(caught.value)


def test_itemsets_and_basket_ids_need_items() -> None:
    for parts in ({"method": {"name": "itemsets"}}, {"data": {"basket_id": "age"}}):
        with pytest.raises(SpecError, match="needs an attribute of role items"):
            rf.anonymize(pa.table({"age": [1, 2]}), rf.Spec(attributes=QUASI, privacy={"k": 2}, **parts))


def test_by_support_is_for_items() -> None:
    with pytest.raises(SpecError, match="by = 'support' is for the role items"):
        rf.Spec(attributes={"age": {"role": "quasi", "hierarchy": {"fanout": 3, "by": "support"}}})


def long_table(**columns: list[Any]) -> pa.Table:
    return pa.table({"receipt": [1, 1, 2, 2], "basket": ["a1", "b1", "a2", "b1"], **columns})


def test_long_tables_whose_rows_disagree_are_refused() -> None:
    spec = spec_of(
        data={"basket_id": "receipt"}, others={"shop": {"role": "insensitive"}, "till": {"role": "sensitive"}}
    )
    with pytest.raises(DataError, match=r"differ in: 'till'; .*drop"):
        rf.anonymize(long_table(shop=[1, 1, 2, 2], till=[1, 2, 3, 3]), spec)
    spec = spec_of(data={"basket_id": "receipt", "unlisted": "drop"})
    assert rf.anonymize(long_table(price=[1, 2, 3, 3]), spec).table.column_names == ["receipt", "basket"]
    table = long_table().set_column(0, "receipt", pa.array([1, None, 2, 2]))
    with pytest.raises(DataError, match="has no value in 1 rows"):
        rf.anonymize(table, spec)


def test_lists_that_a_text_file_cannot_hold_are_refused(tmp_path: Path) -> None:
    release = rf.anonymize(pa.table({"basket": ROWS}), spec_of())
    assert release.save(tmp_path / "usual", report=False).suffix == ".parquet"
    with pytest.raises(SpecError, match="separator"):
        release.save(tmp_path / "csv", "csv", report=False)
    with pytest.raises(SpecError, match="one column, 'items'"):
        release.save(tmp_path / "dat", "dat", report=False)
    items = pa.table({"items": ROWS})
    release = rf.anonymize(items, _named_items(spec_of()))
    assert release.save(tmp_path / "dat", "dat", report=False).read_text().count("\n") == 4
    blank = {"tree": {"A group": ["a1", "a2"], "B": ["b1", "b2"]}}
    release = rf.anonymize(items, _named_items(spec_of(hierarchy=blank)))
    with pytest.raises(SpecError, match="'A group'"):
        release.save(tmp_path / "torn", "dat", report=False)


# Baskets beside quasi-identifiers


def mixed_spec(case: Case, k: int, m: int, **method: Any) -> rf.Spec:
    """A random case's baskets beside the age of their owners."""
    basket = spec_for(case, k, m).attributes["basket"]
    age = {"role": "quasi", "hierarchy": {"intervals": [2]}}
    return rf.Spec(attributes={"age": age, "basket": basket}, privacy={"k": k, "m": m}, method=method)


@given(
    case=cases(),
    k=st.integers(1, 3),
    m=st.integers(1, 3),
    method=st.sampled_from(
        [
            {},
            {"keep_suppressed": True},
            {"scheme": "ordered"},
            {"name": "cluster"},
            {"name": "levels", "levels": {"age": 0}, "suppression": 1},
        ]
    ),
    data=st.data(),
)
def test_baskets_beside_quasi_identifiers_hold_after_suppression(
    case: Case, k: int, m: int, method: dict[str, Any], data: st.DataObject
) -> None:
    if not case.rows:
        return
    ages = [data.draw(st.integers(0, 5)) for _ in case.rows]
    spec = mixed_spec(case, k, m, **method)
    table = table_of(case).append_column("age", pa.array(ages))
    try:
        release = rf.anonymize(table, spec)
    except Unsatisfiable:
        return
    verdict = rf.audit(release.table, spec)
    assert verdict.ok, verdict.findings
    assert verdict.measured["k"] >= k
    assert verdict.measured["k:basket"] >= k
    assert verdict.measured["m"] == m
    assert release.baskets is not None
    masked = release.metrics["suppressed"] if release.plan.masked else 0
    assert release.baskets.rows == release.metrics["rows"] + masked == release.table.num_rows
    assert release.item_plan is not None
    assert release.metrics["item_ncp"] >= 0


def test_suppressed_rows_do_not_count_for_baskets() -> None:
    """Four rows hold a1, but one of them is alone in its class: of what is published, only three do."""
    ages, rows = [1, 1, 1, 1, 1, 1, 9], [["a1"], ["a1"], ["a1"], ["a2"], ["a2"], ["a2"], ["a1"]]
    basket = {"role": "items", "hierarchy": {"tree": TREE}}
    age = {"role": "quasi", "hierarchy": "flat"}
    table = pa.table({"age": ages, "basket": rows})
    method = {"name": "levels", "levels": {"age": 0}, "suppression": 1}
    spec = rf.Spec(attributes={"age": age, "basket": basket}, privacy={"k": 4, "m": 1}, method=method)
    release = rf.anonymize(table, spec)
    assert release.metrics["suppressed"] == 1
    assert as_sets(release.table["basket"].to_pylist()) == as_sets([["A"]] * 6)


def test_a_mixed_release_is_saved_with_both_plans_and_audited(tmp_path: Path) -> None:
    ages = [31, 33, 35, 39]
    table = pa.table({"age": ages, "basket": ROWS})
    basket = {"role": "items", "hierarchy": {"tree": TREE}, "separator": " "}
    spec = rf.Spec(attributes={**QUASI, "basket": basket}, privacy={"k": 2, "m": 2})
    release = rf.anonymize(table, spec)
    path = release.save(tmp_path, report=False)
    assert path.suffix == ".csv"
    assert ItemPlan.load(tmp_path / "private/items.json") == release.item_plan
    assert rf.audit(path, spec).measured["k:basket"] == 2
    assert "Global plan" in str(release)
    assert "Item plan" in str(release)
    with pytest.raises(SpecError, match="baskets"):
        rf.apply(tmp_path / "private/plan.json", table)


def test_a_mixed_release_is_traced_back_to_its_original() -> None:
    table = pa.table({"age": [31, 33, 35, 39], "basket": ROWS})
    basket = {"role": "items", "hierarchy": {"tree": TREE}}
    spec = rf.Spec(attributes={**QUASI, "basket": basket}, privacy={"k": 2, "m": 2})
    release = rf.anonymize(table, spec)
    assert rf.audit(release.table, spec, table).ok
    other = table.set_column(0, "age", pa.array([71, 73, 75, 79]))
    assert [finding.rule for finding in rf.audit(release.table, spec, other).findings] == ["original"]
    swapped = release.table.set_column(1, "basket", pa.array([["A"], *release.table["basket"].to_pylist()[1:]]))
    assert "original" in [finding.rule for finding in rf.audit(swapped, spec, table).findings]


def test_the_audit_fails_baskets_that_are_not_k_m_anonymous() -> None:
    verdict = rf.audit(pa.table({"basket": ROWS}), spec_of())
    assert not verdict.ok
    assert verdict.measured["m"] == 1
    assert {finding.rule for finding in verdict.findings} == {"m"}
    long = pa.table({"receipt": [1, 1, 2, 2], "basket": ["A", "A", "A", "b1"]})
    verdict = rf.audit(long, spec_of(data={"basket_id": "receipt"}))
    assert {finding.rule for finding in verdict.findings} == {"m", "repeated"}


# Searches by name


def shopping() -> list[list[str]]:
    """Baskets on which walks over rare sets generalize more than they need."""
    rng = random.Random(3)
    return [rng.sample("abcdefgh", rng.randint(1, 3)) for _ in range(24)]


def by_search(**method: Any) -> rf.Release:
    spec = rf.Spec(
        attributes={"basket": {"role": "items", "hierarchy": {"fanout": 2}}},
        privacy={"k": 2, "m": 2},
        method={"name": "itemsets", **method},
    )
    return rf.anonymize(pa.table({"basket": shopping()}), spec)


@pytest.mark.parametrize("search", ["breadth-first", "cheapest-first", "optimal"])
def test_exact_searches_agree_and_differ_in_work(search: str) -> None:
    found, auto = by_search(search=search).search, by_search().search
    assert found is not None
    assert auto is not None
    assert (found.cost, found.optimal) == (auto.cost, True)


def test_cheapest_first_judges_fewer_cuts_than_breadth_first() -> None:
    walks = [by_search(search=search).search for search in ("cheapest-first", "breadth-first")]
    assert [walk.optimal for walk in walks if walk is not None] == [True, True]
    nodes = [walk.nodes for walk in walks if walk is not None]
    assert nodes[0] < nodes[1]


@pytest.mark.parametrize("search", ["direct", "apriori"])
def test_specialize_is_a_switch(search: str) -> None:
    losses = [by_search(search=search, specialize=on).metrics["ncp"] for on in (True, False)]
    assert losses[0] < losses[1]
    assert by_search(search=search).metrics["ncp"] == losses[0]


@pytest.mark.parametrize("search", ["auto", "optimal", "breadth-first", "cheapest-first"])
def test_specialize_is_for_greedy_searches(search: str) -> None:
    with pytest.raises(SpecError, match=f"method.specialize = False with method.search = '{search}'.*'direct'"):
        by_search(search=search, specialize=False)
