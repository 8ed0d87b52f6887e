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
from tests.papers.claims import between, check, table


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


def test_the_prose_says_what_the_tables_have() -> None:
    losses, times, broken, lost, counts, remedies = (
        {(row["k"], row["p"]): row for row in table("cluster", name)}
        for name in ("losses", "times", "table-5", "table-6", "clusters", "boundaries")
    )

    def shares(rows: dict[tuple[int, int], dict[str, Any]], one: str, other: str) -> dict[tuple[int, int], float]:
        return {at: row[one] / row[other] for at, row in rows.items()}

    kinds = ("CPKA", "PK")
    ours = [share for kind in kinds for share in shares(losses, f"{kind}: ours", f"{kind}: printed").values()]
    within, quick = shares(losses, "CPKA: printed", "PK: printed"), shares(times, "PK: ours", "PK: printed")
    above, at = shares(broken, "printed", "paper"), (10, 4)
    claims = [
        ("Our way loses 21 to 72 % of what the printed one loses", between(0.205, 0.725, ours)),
        (
            "it takes less than a fifth of the time up to p = 10",
            all(share < 1 / 5 for (_, p), share in quick.items() if p <= 10),
        ),
        (
            "both take a second and a half at most",
            max(row[f"CPKA: {way}"] for row in times.values() for way in ("ours", "printed")) < 1.5,
        ),
        ("up to 35 % more for small p", round(max(within.values()), 2) == 1.35),
        (
            "from p = 6 on the same or less (15 % more at k = 20, p = 6)",
            {pair for pair, share in within.items() if pair[1] >= 6 and share > 1} == {(20, 6)}
            and round(within[20, 6], 2) == 1.15,
        ),
        (
            "ours is at .0346, the bound at .0234, the printed way at .0842",
            [losses[at][f"PK: {name}"] for name in ("ours", "bound", "printed")] == [0.0346, 0.0234, 0.0842],
        ),
        (
            "at k = 10 and p = 8, .069 against .288",
            [round(losses[10, 8][f"PK: {name}"], 3) for name in ("ours", "printed")] == [0.069, 0.288],
        ),
        (
            "(.0741 and .0767 at k = 10)",
            (losses[10, 2]["CPKA: printed"], losses[10, 2]["CKA: printed"]) == (0.0741, 0.0767),
        ),
        (
            "ours lose .0498 within them and .0346 without",
            (losses[at]["CPKA: ours"], losses[at]["PK: ours"]) == (0.0498, 0.0346),
        ),
        ("Of the difference, .002 are suppressed rows", round(lost[at]["CPKA: here"] / 45_222, 3) == 0.002),
        ("as printed, five to ten times", between(4.5, 10.4, shares(times, "PK: printed", "CPKA: printed").values())),
        (
            "As printed it takes 4 to 15 times as long here",
            between(3.5, 15.4, shares(times, "CPKA: printed", "CKA: printed").values()),
        ),
        (
            "Ours takes up to 5.9 times as long",
            round(max(shares(times, "CPKA: ours", "CKA: ours").values()), 1) == 5.9,
        ),
        ("slowest in the middle (k = 4, p = 4)", max(times, key=lambda pair: times[pair]["PK: printed"]) == (4, 4)),
        (
            "from a third of a second to 1.7 seconds at p = 13: cells have to be widened further until they hold"
            " 13 values",
            (round(3 * times[20, 2]["PK: ours"]), round(times[20, 13]["PK: ours"], 1)) == (1, 1.7),
        ),
        (
            "5 to 20 % above the paper's in most rows and at most half above (k = p = 10)",
            sum(1.045 < share < 1.205 for share in above.values()) > 0.8 * len(above)
            and max(above, key=lambda pair: above[pair]) == (10, 10)
            and above[10, 10] < 1.5,
        ),
        ("a third to two thirds fewer", between(0.31, 0.67, shares(broken, "ours", "printed").values())),
        (
            "28 rows against 11 at k = 4, 223 against 358 at p = 8, 4,158 against 1,593 at p = 13",
            [lost[pair][name] for pair in ((4, 2), (8, 8), (20, 13)) for name in ("CPKA: here", "CPKA: paper")]
            == [28, 11, 223, 358, 4158, 1593],
        ),
        (
            "The printed way makes 242 and disperses the rest over them, up to 449 rows in one; ours makes 79",
            [counts[20, 13][name] for name in ("printed: clusters", "printed: largest", "ours: clusters")]
            == [242, 449, 79],
        ),
        (
            "96 rows must go. If countries were allowed one level more (continents), 18 would; if ages were (20 years),"
            " 57",
            [remedies[at][name] for name in ("suppressed", "native-country one level more", "age one level more")]
            == [96, 18, 57],
        ),
        ("loses half as much", 0.45 < losses[20, 13]["PK: ours"] / losses[20, 13]["PK: printed"] < 0.55),
    ]
    given = [
        "The 45,222 complete rows of both files of Adult",
        "weights .3, .3 and .4",
        "ages of 5, 10 and 20 years",
        "(1, 2, 1 and 1)",
        "the jump at p = 4 for k = 4, and at p = 6 for k = 8, 10 and 20",
        "the count at k = p = 4 is 39,868",
        "A cluster with 13 occupations lacks at most one of the 14",
        "private households (232 rows) or from the armed forces (14): there cannot be more than 246",
        "(7,001 combinations)",
        "Transactions on Data Privacy 3",
    ]
    check("cluster", claims, given)
