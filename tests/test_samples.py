"""Sample people and baskets: the same every time, as varied as a census, and covered by their own specifications."""

import csv
import itertools
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ringfence.samples import (
    baskets,
    baskets_spec,
    people,
    people_spec,
    visits,
    write_people,
    write_visits,
)
from ringfence.samples.hospital import GAPS
from ringfence.samples.persons import SALARY
from ringfence.samples.shopping import BASKET_TREE
from ringfence.spec import Spec
from ringfence.values.builders import Domain, read_domain, stated_hierarchy

WITH_HIERARCHY = [name for name, attribute in people_spec().attributes.items() if attribute.hierarchy is not None]


@pytest.fixture(scope="module")
def census() -> pa.Table:
    return people()


@pytest.fixture(scope="module")
def receipts() -> pa.Table:
    return baskets()


def domain(name: str, spec: Spec, column: pa.ChunkedArray) -> Domain:
    counts = pc.value_counts(column).to_pylist()
    return read_domain(name, spec, [entry["values"] for entry in counts], [entry["counts"] for entry in counts])


def share(table: pa.Table, where: pa.ChunkedArray, column: str, values: list[str]) -> float:
    """Return the share of these values of a column among the rows where the condition holds."""
    return float(pc.mean(pc.is_in(table.filter(where)[column], pa.array(values)).cast(pa.float64())).as_py())


# People


def test_the_same_rows_and_seed_give_the_same_people(census: pa.Table) -> None:
    assert people().equals(census)
    assert people(100, 7).equals(people(100, 7))
    assert not people(100, 7).equals(people(100, 8))


def test_hash_seeds_change_nothing() -> None:
    code = "from ringfence.samples import *; print(people(50, 3).to_pylist(), baskets(50, 3).to_pylist())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_any_number_of_rows(rows: int) -> None:
    assert people(rows).num_rows == rows
    assert baskets(rows).num_rows == rows
    assert people(rows).schema == people(5).schema
    assert baskets(rows).schema == baskets(5).schema


def test_columns_and_types(census: pa.Table) -> None:
    assert census.num_rows == 30_000
    assert census.column_names == [
        "name", "age", "sex", "origin", "marital_status", "education", "country", "work_class", "occupation", "salary",
        "postcode",
    ]  # fmt: skip
    assert {field.name: field.type for field in census.schema} == {
        name: pa.int64() if name == "age" else pa.string() for name in census.column_names
    }
    assert set(census.column_names) == set(people_spec().attributes)
    assert set(census["salary"].unique().to_pylist()) == set(SALARY)


def test_names_hold_what_text_files_stumble_over(census: pa.Table) -> None:
    names = "".join(census["name"].unique().to_pylist())
    assert all(letter in names for letter in ("O'Neill", "Ólafur", "李", ",", '"'))


def test_postcodes_are_text_of_four_digits(census: pa.Table) -> None:
    assert pc.all(pc.match_substring_regex(census["postcode"], "^[0-9]{4}$")).as_py()
    assert 0.1 < pc.mean(pc.starts_with(census["postcode"], "0").cast(pa.float64())).as_py() < 0.5


def test_some_values_are_missing(census: pa.Table) -> None:
    for name in census.column_names:
        missing = census[name].null_count / census.num_rows
        assert 0.005 < missing < 0.02 if name in ("work_class", "occupation") else missing == 0


def test_marriage_and_education_come_with_age(census: pa.Table) -> None:
    age = census["age"]
    young, grown = pc.less(age, 25), pc.and_(pc.greater_equal(age, 45), pc.less(age, 65))
    assert share(census, young, "marital_status", ["Married"]) < 0.15
    assert share(census, grown, "marital_status", ["Married"]) > 0.45
    assert share(census, pc.greater_equal(age, 80), "marital_status", ["Widowed"]) > 0.35
    assert share(census, grown, "marital_status", ["Widowed"]) < 0.1
    assert share(census, pc.less(age, 20), "education", ["Bachelor", "Master", "Doctorate"]) == 0
    assert share(census, pc.greater_equal(age, 70), "work_class", ["Retired"]) > 0.7


def test_education_leads_to_occupation_and_both_to_salary(census: pa.Table) -> None:
    school, university = (pc.equal(census["education"], word) for word in ("Lower secondary", "Master"))
    assert share(census, school, "occupation", ["Physician", "Lawyer", "Judge"]) == 0
    assert share(census, university, "occupation", ["Physician", "Lawyer", "Judge"]) > 0.1
    assert share(census, university, "salary", SALARY[3:]) > share(census, school, "salary", SALARY[3:]) + 0.3
    cleaner, physician = (pc.equal(census["occupation"], word) for word in ("Cleaner", "Physician"))
    assert share(census, physician, "salary", SALARY[3:]) > share(census, cleaner, "salary", SALARY[3:]) + 0.5
    nurse = pc.equal(census["occupation"], "Nurse")
    starting, settled = pc.less(census["age"], 25), pc.equal(pc.floor(pc.divide(census["age"], 10)), 4)
    rise = [share(census, pc.and_(nurse, phase), "salary", SALARY[2:]) for phase in (starting, settled)]
    assert rise[1] > rise[0] + 0.2
    retired, employed = (pc.equal(census["work_class"], word) for word in ("Retired", "Private company"))
    assert share(census, retired, "salary", SALARY[:1]) > share(census, employed, "salary", SALARY[:1]) + 0.1


def test_origin_follows_country_and_country_follows_postcode(census: pa.Table) -> None:
    at_home = pc.equal(census["country"], "Norway")
    assert share(census, at_home, "origin", ["native", "second generation"]) == 1
    assert share(census, pc.invert(at_home), "origin", ["naturalised", "immigrant"]) > 0.9
    capital = pc.starts_with(census["postcode"], "0")
    assert (
        share(census, pc.invert(capital), "country", ["Norway"]) > share(census, capital, "country", ["Norway"]) + 0.04
    )


@pytest.mark.parametrize("name", ["country", "postcode"])
def test_few_values_are_common_and_many_are_rare(census: pa.Table, name: str) -> None:
    counts = np.sort([entry["counts"] for entry in pc.value_counts(census[name]).to_pylist()])[::-1]
    assert counts[: len(counts) // 5].sum() > 0.6 * census.num_rows
    assert np.count_nonzero(counts < 20) >= 5


@pytest.mark.parametrize(
    "name", ["sex", "origin", "marital_status", "education", "country", "work_class", "occupation"]
)
def test_every_text_column_has_a_rare_value(census: pa.Table, name: str) -> None:
    counts = [entry["counts"] for entry in pc.value_counts(census[name].drop_null()).to_pylist()]
    assert min(counts) < 0.002 * census.num_rows


@pytest.mark.parametrize("name", WITH_HIERARCHY)
@pytest.mark.parametrize("seed", [2008, 1])
def test_every_value_is_covered_by_its_hierarchy(name: str, seed: int) -> None:
    column = people(seed=seed)[name]
    found = domain(name, people_spec(), column)
    assert len(found.leaves) == len(column.unique())
    assert found.hierarchy.has_missing == (column.null_count > 0)


def test_salary_is_covered_by_its_order(census: pa.Table) -> None:
    assert domain("salary", people_spec(), census["salary"]).hierarchy.labels[: len(SALARY)] == tuple(SALARY)


def test_the_search_space_is_worth_a_search_and_small(census: pa.Table) -> None:
    spec = people_spec()
    heights = {name: domain(name, spec, census[name]).hierarchy.height for name in spec.of_role("quasi")}
    assert all(height >= 1 for height in heights.values())
    assert 2_000 <= math.prod(height + 1 for height in heights.values()) <= 20_000


def test_good_detail_fits_the_privacy_asked_for(census: pa.Table) -> None:
    """Ages by five years, sex, partner or none, school or university and region: with all these, few rows must go."""
    spec = people_spec()
    levels = {"age": 1, "sex": 0, "marital_status": 1, "education": 2, "postcode": 3}
    columns = {}
    for name, level in levels.items():
        column = census[name].combine_chunks().dictionary_encode()
        found = domain(name, spec, census[name])
        leaves = [found.hierarchy.leaf_index[str(value)] for value in column.dictionary.to_pylist()]
        columns[name] = found.hierarchy.levels[level][leaves][column.indices.to_numpy()]
    counts = pa.table(columns).group_by(list(levels)).aggregate([([], "count_all")])["count_all"].to_numpy()
    assert spec.privacy.k == 5
    assert counts[counts < 5].sum() <= spec.method.suppression_limit * census.num_rows
    assert np.count_nonzero(counts >= 5) > 500


@pytest.mark.parametrize("spec", [people_spec(), baskets_spec()], ids=["people", "baskets"])
def test_specifications_survive_toml(spec: Spec) -> None:
    again = Spec.loads(spec.dumps())
    assert again == spec
    assert list(again.attributes) == list(spec.attributes)
    for name in spec.attributes:
        before, after = stated_hierarchy(name, spec), stated_hierarchy(name, again)
        assert (before and before.labels) == (after and after.labels)  # the order of the leaves, too


def test_written_people_read_back(tmp_path: Path) -> None:
    path = write_people(tmp_path / "new" / "folder", rows=2_000, seed=5)
    assert path == tmp_path / "new" / "folder" / "people.toml"
    spec = Spec.load(path)
    assert spec.data.source == "people.csv"
    assert spec.attributes == people_spec().attributes
    with spec.locate(spec.data.source).open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    table = people(2_000, 5)
    assert head == table.column_names
    assert rows == [["" if value is None else str(value) for value in row.values()] for row in table.to_pylist()]


# Baskets


def test_the_same_rows_and_seed_give_the_same_baskets(receipts: pa.Table) -> None:
    assert baskets().equals(receipts)
    assert not baskets(100, 7).equals(baskets(100, 8))


def test_baskets_are_lists_of_text_with_a_receipt_each(receipts: pa.Table) -> None:
    assert receipts.num_rows == 10_000
    assert receipts.schema == pa.schema({"receipt": pa.string(), "basket": pa.list_(pa.string())})
    assert len(receipts["receipt"].unique()) == 10_000
    assert set(receipts.column_names) == set(baskets_spec().attributes)


def test_items_are_in_the_tree_and_occur_at_most_once_in_a_basket(receipts: pa.Table) -> None:
    found = domain("basket", baskets_spec(), pc.list_flatten(receipts["basket"]))
    assert 60 <= found.hierarchy.leaves <= 100
    assert len(found.leaves) == found.hierarchy.leaves
    assert len({*found.hierarchy.depth[: found.hierarchy.leaves].tolist()}) > 1  # unbalanced
    assert all(len({*basket}) == len(basket) for basket in receipts["basket"].to_pylist())


def test_most_baskets_are_small_and_some_are_large(receipts: pa.Table) -> None:
    sizes = pc.list_value_length(receipts["basket"]).to_numpy()
    assert sizes.min() == 1
    assert 15 <= sizes.max() <= 20
    assert np.median(sizes) < sizes.mean() < 8


def test_few_items_are_popular_and_some_go_together(receipts: pa.Table) -> None:
    together = receipts["basket"].to_pylist()
    counts = pc.value_counts(pc.list_flatten(receipts["basket"])).to_pylist()
    popularity = {entry["values"]: entry["counts"] for entry in counts}
    assert max(popularity.values()) > 50 * min(popularity.values())
    assert popularity["milk"] == max(popularity.values())

    def lift(one: str, other: str) -> float:
        both = sum(one in basket and other in basket for basket in together)
        return float(both * len(together) / (popularity[one] * popularity[other]))

    assert lift("nappies", "wet wipes") > 2
    assert lift("cat food", "cat litter") > 2
    assert lift("tortillas", "beer") > 1.5 * lift("tortillas", "milk")
    rare = [pair for pair in itertools.combinations(BASKET_TREE["Food"]["Dry goods"], 2) if popularity[pair[1]] < 40]
    assert any(sum({*pair} <= {*basket} for basket in together) in range(1, 5) for pair in rare)  # what 5^2 must mend


# Visits


def test_the_same_rows_and_seed_give_the_same_visits() -> None:
    assert visits(200, 7).equals(visits(200, 7))
    assert not visits(200, 7).equals(visits(200, 8))
    assert visits(1).num_rows == 1


def test_visits_are_those_of_patients() -> None:
    frame = visits().to_pandas()
    assert len(frame) == 6_000
    assert frame["patient"].nunique() == 2_500
    per_patient = frame.groupby("patient")
    assert per_patient[["name", "sex", "born", "postcode"]].nunique().to_numpy().max() == 1
    assert 1 < per_patient.size().median() < per_patient.size().max() <= 40
    assert (frame["admitted"].dt.date > frame["born"]).all()
    assert not frame[frame["sex"] == "m"]["icd10"].str.startswith("O").any()
    assert frame["note"].str.contains(r"0471 \d\d").mean() > 0.1
    assert 0 < frame["cost"].isna().mean() < 0.1


def test_gaps_of_visits_are_spelled_in_three_ways(tmp_path: Path) -> None:
    with write_visits(tmp_path, 1_000).open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    found = {row[name] for row in rows for name in ("postcode", "nights", "cost") if row[name] in GAPS}
    assert found == {*GAPS}
    assert len(rows) == 1_000
