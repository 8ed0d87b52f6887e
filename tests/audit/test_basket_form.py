"""The form of published baskets: one for those that hold the same, whoever wrote them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ringfence as rf
from tests.item_tables import text_or_lists

TREE = {"drinks": ["beer", "wine"], "food": ["bread", "milk"]}
BOUGHT = [["beer", "wine"], ["beer", "wine"], ["beer"], ["milk"], ["milk"], []]


def spec_of(separator: str | None = None, hierarchy: Any = "flat", **data: Any) -> rf.Spec:
    basket = {"role": "items", "hierarchy": hierarchy, **({} if separator is None else {"separator": separator})}
    method = {"name": "itemsets"}
    return rf.Spec(data=data, attributes={"items": basket}, privacy={"k": 2, "m": 2}, method=method)


def rules(release: Any, spec: rf.Spec, original: Any = None) -> set[str]:
    return {finding.rule for finding in rf.audit(release, spec, original).findings}


@pytest.mark.parametrize("label", ["beer ", "\tbeer", "beer\n", "\N{NO-BREAK SPACE}beer"])
@pytest.mark.parametrize("hierarchy", ["flat", {"tree": TREE}])
@pytest.mark.parametrize("separator", [None, ";"])
def test_blanks_around_a_label_are_found(label: str, hierarchy: Any, separator: str | None) -> None:
    spec, table = spec_of(separator, hierarchy), text_or_lists(BOUGHT, separator)
    marked = text_or_lists([*BOUGHT[:2], [label], *BOUGHT[3:]], separator)
    assert rules(table, spec, table) == set()
    assert rules(marked, spec) == {"form"}
    assert rules(marked, spec, table) == {"form"}


@pytest.mark.parametrize("text", ["beer; wine", "beer;;wine", "beer;wine;"])
def test_a_text_that_is_written_in_another_way_is_found(text: str) -> None:
    texts = [";".join(basket) for basket in BOUGHT]
    assert rules(pa.table({"items": [text, *texts[1:]]}), spec_of(";")) == {"form"}


@pytest.mark.parametrize("basket", [["beer", None, "wine"], ["beer", "", "wine"]])
def test_a_list_that_is_written_in_another_way_is_found(basket: list[str | None]) -> None:
    assert rules(pa.table({"items": [basket, *BOUGHT[1:]]}), spec_of()) == {"form"}


def noted(baskets: list[list[str] | None]) -> bool:
    """Whether a verdict that finds nothing says that baskets are in several orders."""
    verdict = rf.audit(pa.table({"items": baskets}), spec_of())
    assert verdict.ok
    return any("do not stand in one order in all baskets" in note for note in verdict.notes)


def test_an_order_that_is_none_is_noted_also_without_any_pair_that_stands_both_ways() -> None:
    """Sets have no order; where labels have one, it may mark rows."""
    around: list[list[str] | None] = [["beer", "wine"], ["wine", "milk"], ["milk", "beer"]]
    assert noted([*around, *around])
    assert noted([["wine", "beer"], *BOUGHT[1:]])
    straight: list[list[str] | None] = [["wine", "milk"], ["milk", "beer"], ["wine", "beer"]]
    assert not noted([*straight, *straight, None, []])


@pytest.mark.parametrize("between", [";", "; ", " ; "])
def test_whoever_writes_all_baskets_in_the_same_way_may_have_blanks_between_labels(between: str) -> None:
    assert rules(pa.table({"items": [between.join(basket) for basket in BOUGHT]}), spec_of(";")) == set()


@pytest.mark.parametrize("form", ["csv", "parquet", "dat", "spmf"])
@pytest.mark.parametrize("hierarchy", ["flat", {"tree": TREE}, {"fanout": 2}, {"fanout": 2, "by": "support"}])
def test_what_we_write_has_one_form(form: str, hierarchy: Any, tmp_path: Path) -> None:
    spec = spec_of(";" if form == "csv" else None, hierarchy)
    release = rf.anonymize(text_or_lists([*BOUGHT, ["wine", "milk", "beer"]], ";" if form == "csv" else None), spec)
    assert rules(release.save(tmp_path, form, report=False), spec) == set()


def test_the_cells_of_a_long_table_have_no_blanks_around_them_either() -> None:
    spec = spec_of(basket_id="who")
    pairs = [(who, item) for who, basket in enumerate(BOUGHT) for item in basket]
    long = pa.table({"who": [who for who, _ in pairs], "items": [item for _, item in reversed(pairs)]})
    assert "form" not in rules(long, spec)
    beside = pa.table({"who": [1, 9], "items": pa.array([None, None], pa.string())})
    assert "form" not in rules(pa.concat_tables([long, beside.slice(1)]), spec)
    assert "form" in rules(pa.concat_tables([long, beside]), spec)
    items = ["beer ", *long["items"].to_pylist()[1:]]
    assert "form" in rules(long.set_column(1, "items", pa.array(items)), spec)


@pytest.mark.parametrize("form", ["dat", "spmf"])
@pytest.mark.parametrize("change", [lambda line: line + " ", lambda line: line.replace(" ", "  ", 1), "\t{}".format])
def test_a_line_of_a_basket_file_that_is_written_in_another_way_is_found(
    form: str, change: Callable[[str], str], tmp_path: Path
) -> None:
    release = rf.anonymize(text_or_lists(BOUGHT, None), spec_of()).save(tmp_path, form, report=False)
    (release.parent / "manifest.json").unlink()
    lines = sorted(release.read_text().splitlines(), key=lambda line: "beer wine" not in line.replace(" -1", ""))
    release.write_text("\n".join([change(lines[0]), *lines[1:]]) + "\n")
    assert rules(release, spec_of()) == {"form"}


def test_lines_of_a_basket_file_may_all_end_alike(tmp_path: Path) -> None:
    (tmp_path / "release.dat").write_bytes(b"".join(" ".join(basket).encode() + b" \r\n" for basket in BOUGHT))
    assert rules(tmp_path / "release.dat", spec_of()) == set()
