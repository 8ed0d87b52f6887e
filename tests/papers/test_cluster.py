"""The experiments of the paper on generalization constraints: what they count, and that their page is up to date."""

import csv
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchmarks.cluster import ADULT, over, specification
from benchmarks.data import count, data_folder, whole_adult
from benchmarks.papers.cluster import PAIRS, PARTS, reproduce, violations
from benchmarks.papers.pages import DOCS, Page, with_table
from ringfence.search.groups.boundaries import explain_suppression
from tests.clusterings import ancestors, clusters_of


def leaves(tree: Any) -> list[str]:
    """The leaves of nested tables."""
    return [leaf for part in tree.values() for leaf in leaves(part)] if isinstance(tree, dict) else list(tree)


def people(rows: int) -> pa.Table:
    """Invented people with the values of Adult."""
    rng = random.Random(4)
    values: dict[str, Any] = dict.fromkeys(["education-num", "education", "occupation"], range(8))
    for name, attribute in specification(ADULT, bounded=True).model_dump()["attributes"].items():
        if isinstance(attribute["hierarchy"], dict) and "tree" in attribute["hierarchy"]:
            values[name] = leaves(attribute["hierarchy"]["tree"])[:12]
    values |= {"age": range(17, 45), "workclass": range(3), "race": range(2), "sex": range(2)}
    return pa.table({name: [str(rng.choice(list(of))) for _ in range(rows)] for name, of in values.items()})


def test_violations_are_cells_published_above_their_boundary() -> None:
    table = people(400)
    free, bounded = (count(table, specification(ADULT, bounded=bounded)) for bounded in (False, True))
    trees = [quasi.hierarchy for quasi in bounded.quasi]
    result = over(free, specification(ADULT, bounded=False))(5, 2)
    expected = [0] * len(trees)
    for members, nodes in zip(clusters_of(free, result.groups), result.nodes.tolist(), strict=True):
        for a, (tree, node) in enumerate(zip(trees, nodes, strict=True)):
            above = [leaf for row, _ in members if node in ancestors(tree, int(tree.ceilings[leaf := row[a]]))[1:]]
            expected[a] += len(above)
    assert sum(expected) > 0
    assert violations(free, trees, result) == expected
    within = over(bounded, specification(ADULT, bounded=True))(5, 2)
    assert sum(violations(bounded, trees, within)) == 0


def test_the_experiments_write_their_page(tmp_path: Path) -> None:
    rows = list(reproduce(people(500), Page("cluster", tmp_path), [(4, 2), (8, 3)]))
    assert {row["table"] for row in rows} == {
        "losses",
        "times",
        "table-5",
        "table-6",
        "boundaries",
        "clusters",
        "parts",
    }
    assert len(rows) == 2 * 6 + len(PARTS)
    for row in rows:
        if row["table"] == "losses":
            assert row["CPKA: bound"] <= row["CPKA: ours"] <= row["CPKA: printed"]
            assert row["PK: bound"] <= row["PK: ours"] <= row["PK: printed"]
        if row["table"] == "boundaries":
            assert row["suppressed"] >= row["age one level more"] >= row["age without"]
    assert sorted(file.name for file in (tmp_path / "cluster").iterdir()) == [
        *("boundaries.csv", "clusters.csv", "figure-5.png", "figure-6.png", "losses.csv", "parts.csv"),
        *("table-5.csv", "table-6.csv", "times.csv"),
    ]


def test_the_page_shows_what_is_in_its_files() -> None:
    page = DOCS / "cluster" / "README.md"
    text = page.read_text(encoding="utf-8")
    names = re.findall(r"<!-- (\S+)\.csv -->", text)
    assert names
    for name in names:
        assert with_table(text, name, (page.parent / f"{name}.csv").read_text(encoding="utf-8")) == text


@pytest.mark.skipif(data_folder() is None, reason="the real data is not at hand: set RINGFENCE_DATA to its folder")
def test_the_page_is_up_to_date() -> None:
    folder = data_folder()
    assert folder is not None
    spec = specification(ADULT, bounded=True)
    census = count(whole_adult(folder), spec)
    tables = {}
    for name in ("losses", "table-6"):
        with (DOCS / "cluster" / f"{name}.csv").open() as file:
            tables[name] = {(int(row["k"]), int(row["p"])): row for row in csv.DictReader(file)}
    assert list(tables["table-6"]) == PAIRS
    for k, p in PAIRS:
        lost = explain_suppression(census, k=k, least_values=[p] * 3).suppressed
        assert tables["table-6"][k, p]["CPKA: here"] == str(lost)
    for k, p in ((10, 4), (4, 2)):
        result = over(census, spec)(k, p)
        assert float(tables["losses"][k, p]["CPKA: ours"]) == pytest.approx(result.ntil, abs=5e-5)
        assert float(tables["losses"][k, p]["CPKA: bound"]) == pytest.approx(result.search.bound, abs=5e-5)
