"""The experiments of papers: what they are run on, how their pages are made, and that the pages are up to date."""

import csv
import random
import re
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from benchmarks.data import adult, count, data_folder, webview
from benchmarks.papers.frontier import Lattice, specification, steps_up
from benchmarks.papers.frontier_charts import draw_fronts, draw_lattices
from benchmarks.papers.itemsets import over_tree, run, small_domain
from benchmarks.papers.pages import DOCS, Page, with_table
from ringfence.report.vega import png
from ringfence.search.front.poka import search_depth
from tests.search.front.test_frontier import METRICS, node_release, same
from tests.search.front.test_poka import full_spec
from tests.tables import Case, all_nodes, cases


def leaves(tree: Any) -> list[str]:
    """The leaves of nested tables."""
    return [leaf for part in tree.values() for leaf in leaves(part)] if isinstance(tree, dict) else list(tree)


def people(rows: int) -> pa.Table:
    """Invented people with the values of Adult."""
    rng = random.Random(5)
    values: dict[str, Any] = {"age": range(17, 91), "race": range(5), "sex": range(2), "class": range(2)}
    for name, attribute in specification("dm").model_dump()["attributes"].items():
        if name not in values:
            values[name] = leaves(attribute["hierarchy"]["tree"])
    return pa.table({name: [str(rng.choice(list(of))) for _ in range(rows)] for name, of in values.items()})


def lattice(metric: str, rows: int = 400) -> Lattice:
    """The lattice of invented people."""
    spec = specification(metric)
    return Lattice(count(people(rows), spec), spec)


def test_the_lattices_of_the_frontier_paper() -> None:
    whole, labelled = lattice("glm"), lattice("ce")
    assert whole.census.heights == (6, 4, 3, 3, 3, 1, 1, 1)
    assert (whole.exact.lattice, labelled.exact.lattice) == (17_920, 8_960)
    assert search_depth(whole.spec, whole.census) == search_depth(labelled.spec, labelled.census) == 3
    figures = whole.compare(whole.poka(1))
    assert figures["found"] + figures["missed"] == figures["true front"] == len(whole.exact.points)
    assert figures["nodes"] == 17_920 >= figures["evaluated"]
    assert whole.compare(whole.exact) | {"evaluated": 0, "evaluated %": 0} == {
        "nodes": 17_920, "evaluated": 0, "evaluated %": 0, "true front": len(whole.exact.points),
        "found": len(whole.exact.points), "missed": 0, "false": 0,
    }  # fmt: skip


@given(case=cases(sensitive=1), metric=METRICS)
def test_steps_up_at_which_loss_falls(case: Case, metric: str) -> None:
    spec = full_spec(case, metric, 0.3, 1)
    census = Case(case.table, spec).census
    nodes = {levels: node_release(census, levels, metric, int(0.3 * census.rows)) for levels in all_nodes(census)}
    steps = [
        (node, nodes[*levels[:a], levels[a] + 1, *levels[a + 1 :]])
        for levels, node in nodes.items()
        for a, height in enumerate(census.heights)
        if levels[a] < height and node.k >= 2
    ]
    falls = [1 for finer, coarser in steps if coarser.loss < finer.loss and not same(coarser.loss, finer.loss)]
    assert steps_up(Lattice(census, spec)) == (len(steps), len(falls))


def test_a_page_shows_the_tables_it_is_made_with(tmp_path: Path) -> None:
    page = Page("paper", tmp_path)
    text = page.folder / "README.md"
    text.write_text("Before.\n\n<!-- sizes.csv -->\nold\n<!-- end -->\n\nAfter.\n")
    rows = [{"rows": 30_162, "share": 0.5, "of": "it, all"}, {"rows": 7, "share": 1.25, "of": ""}]
    assert list(page.table("sizes", rows)) == [{"table": "sizes", **row} for row in rows]
    assert list(page.table("others", [{"unasked": 1}])) == [{"table": "others", "unasked": 1}]
    assert text.read_text() == (
        "Before.\n\n<!-- sizes.csv -->\n| rows | share | of |\n|---|---|---|\n| 30,162 | 0.5 | it, all |\n"
        "| 7 | 1.25 |  |\n<!-- end -->\n\nAfter.\n"
    )
    with (page.folder / "sizes.csv").open() as file:
        assert list(csv.DictReader(file)) == [{key: str(value) for key, value in row.items()} for row in rows]


def test_pages_show_what_is_in_their_files() -> None:
    pages = sorted(DOCS.glob("*/README.md"))
    assert pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"<!-- (\S+)\.csv -->", text):
            assert with_table(text, name, (page.parent / f"{name}.csv").read_text(encoding="utf-8")) == text
        for target in re.findall(r"\]\((\S+?)\)", text):
            assert (page.parent / target).exists(), target


def pixels(png: bytes) -> bytes:
    """The pixels of a picture, as its filters have them."""
    found, place = b"", 8
    while place < len(png):
        length = int.from_bytes(png[place : place + 4])
        kind, content = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        assert int.from_bytes(png[place + 8 + length : place + 12 + length]) == zlib.crc32(kind + content)
        found += content if kind == b"IDAT" else b""
        place += length + 12
    return zlib.decompress(found)


def test_pictures_lose_nothing_by_being_small(tmp_path: Path) -> None:
    page, whole = Page("paper", tmp_path), lattice("dm")
    for chart in (
        draw_fronts({"dm": (whole.exact, whole.poka(1))}),
        draw_lattices([{"nodes": 35, "evaluated %": 90.0, "attributes": 2, "in order": True}]),
    ):
        page.picture("figure", chart, "Title", "A legend below it")
        plain, small = png(chart), (page.folder / "figure.png").read_bytes()
        assert pixels(small) == pixels(plain)
        assert len(small) < len(plain)
        assert small[:33] == plain[:33]  # the signature, and the size and kind of the picture


@pytest.mark.skipif(data_folder() is None, reason="the real data is not at hand: set RINGFENCE_DATA to its folder")
@pytest.mark.parametrize("metric", ["glm", "dm", "ce"])
def test_the_page_of_the_frontier_paper_is_up_to_date(metric: str) -> None:
    folder = data_folder()
    assert folder is not None
    spec = specification(metric)
    whole = Lattice(count(adult(folder), spec), spec)
    with (DOCS / "frontier" / "depths.csv").open() as file:
        published = [row for row in csv.DictReader(file) if row["metric"] == metric][:3]
    figures = [{"metric": metric, "depth": depth, **whole.compare(whole.poka(depth))} for depth in (1, 2, 3)]
    assert published == [{key: str(value) for key, value in row.items()} for row in figures]


@pytest.mark.skipif(data_folder() is None, reason="the real data is not at hand: set RINGFENCE_DATA to its folder")
def test_the_page_of_the_itemsets_paper_is_up_to_date() -> None:
    folder = data_folder()
    assert folder is not None
    baskets = over_tree("basket", small_domain(webview(folder, 2), 10_000, 40), 4)
    assert (baskets.rows, baskets.hierarchy.leaves) == (10_000, 40)
    with (DOCS / "itemsets" / "knowledge.csv").open() as file:
        for row in csv.DictReader(file):
            found = run(baskets, 100, int(row["m"]), row["algorithm"])
            assert (row["NCP"], row["judged"], row["proven"]) == (found["NCP"], str(found["judged"]), found["proven"])
