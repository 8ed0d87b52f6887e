"""Domains: from the values of a column and what the specification says of it to a hierarchy over its leaves."""

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.errors import DataError, SpecError
from ringfence.spec import Spec
from ringfence.values.builders import Domain, read_domain, stated_hierarchy
from ringfence.values.keys import label, number, quoted, text

COUNTRIES = {"Europe": ["France", "Italy"], "America": ["Canada", "Peru"]}


def read(values: Sequence[Any], counts: Sequence[int] | None = None, folder: Path = Path(), **keys: Any) -> Domain:
    """Return the domain of a quasi-identifier `a` with the given keys; each value stands in one row unless told."""
    spec = Spec(attributes={"a": {"role": "quasi", **keys}}).at(folder)
    return read_domain("a", spec, values, counts if counts is not None else [1] * len(values))


def read_file(folder: Path, content: str | bytes, values: Sequence[Any], **keys: Any) -> Domain:
    """Return the domain over a hierarchy file with the given content."""
    (folder / "tree.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(values, folder=folder, **{"hierarchy": {"file": "tree.csv"}, **keys})


def leaves(domain: Domain) -> list[str | None]:
    return list(domain.hierarchy.labels[: domain.hierarchy.leaves])


def published(domain: Domain, level: int) -> list[str | None]:
    """Return what each of the values that were passed in becomes at a level."""
    tree = domain.hierarchy
    return [tree.labels[tree.levels[level, leaf]] for leaf in domain.leaves]


def way_up(domain: Domain, value: int = 0) -> list[str | None]:
    """Return what the n-th of the values becomes, level by level."""
    return [published(domain, level)[value] for level in range(domain.hierarchy.height + 1)]


def data_refusal(values: Sequence[Any], counts: Sequence[int] | None = None, **keys: Any) -> str:
    with pytest.raises(DataError) as caught:
        read(values, counts, **keys)
    return str(caught.value)


def spec_refusal(values: Sequence[Any], **keys: Any) -> str:
    with pytest.raises(SpecError) as caught:
        read(values, **keys)
    return str(caught.value)


def file_refusal(folder: Path, content: str | bytes, **keys: Any) -> str:
    with pytest.raises(SpecError) as caught:
        read_file(folder, content, ["a"], **keys)
    return str(caught.value)


# Files


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_a_file_may_use_any_delimiter(delimiter: str, tmp_path: Path) -> None:
    rows = [("a", "x y", "all"), ("b", "x y", "all"), ("c", "z", "all")]
    content = "\n".join(delimiter.join(row) for row in rows)
    for keys in ({}, {"hierarchy": {"file": "tree.csv", "delimiter": delimiter}}):
        domain = read_file(tmp_path, content, ["c", "a"], **keys)
        assert domain.hierarchy.labels == ("a", "b", "c", "x y", "z", "all")
        assert domain.leaves.tolist() == [2, 0]


def test_a_stated_delimiter_wins_over_a_commoner_one(tmp_path: Path) -> None:
    domain = read_file(tmp_path, "a,b,c:x\nd:x\n", ["d"], hierarchy={"file": "tree.csv", "delimiter": ":"})
    assert leaves(domain) == ["a,b,c", "d"]


def test_quoted_fields_of_a_file_may_hold_the_delimiter(tmp_path: Path) -> None:
    domain = read_file(tmp_path, '"a;b";x;*\nc;"say ""x""";*\n', ["a;b", "c"])
    assert published(domain, 1) == ["x", 'say "x"']


@pytest.mark.parametrize("leaf", ['"a\nb"', "a\u2028b", "a\x0bb"])
def test_only_the_end_of_a_row_ends_it(leaf: str, tmp_path: Path) -> None:
    domain = read_file(tmp_path, f"c;x;*\n{leaf};y;*\n", ["c", leaf.strip('"')])
    assert leaves(domain) == ["c", leaf.strip('"')]


def test_the_rows_of_a_file_may_end_as_on_windows_and_in_a_blank_line(tmp_path: Path) -> None:
    domain = read_file(tmp_path, "a;x;*\r\nb;y;*\r\n\r\n", ["b"])
    assert domain.hierarchy.labels == ("a", "b", "x", "y", "*")


def test_short_rows_make_an_unbalanced_tree(tmp_path: Path) -> None:
    domain = read_file(tmp_path, "a;x;high;*\nb;high;*\nc;*\nd;;;*\n", ["a", "b", "c", "d"])
    assert [published(domain, level) for level in range(4)] == [
        ["a", "b", "c", "d"],
        ["x", "b", "c", "d"],
        ["high", "high", "c", "d"],
        ["*", "*", "*", "*"],
    ]


@pytest.mark.parametrize("content", ["a\nb,x\nc,x\n", "\na,*\nb,x,*\nc,x,*\n"])
def test_the_delimiter_is_found_even_if_the_first_row_has_none(content: str, tmp_path: Path) -> None:
    assert leaves(read_file(tmp_path, content, ["b"])) == ["a", "b", "c"]


def test_a_byte_order_mark_is_no_part_of_the_first_leaf(tmp_path: Path) -> None:
    assert leaves(read_file(tmp_path, "a;x;*\n".encode("utf-8-sig"), ["a"])) == ["a"]


def test_a_file_may_be_in_another_encoding(tmp_path: Path) -> None:
    hierarchy = {"file": "tree.csv", "encoding": "latin-1"}
    domain = read_file(tmp_path, "Größe;Maß;*\n".encode("latin-1"), ["Größe"], hierarchy=hierarchy)
    assert domain.hierarchy.labels == ("Größe", "Maß", "*")


def test_a_root_is_added_where_the_rows_have_no_common_one(tmp_path: Path) -> None:
    assert read_file(tmp_path, "a;x\nb;y\n", ["a"]).hierarchy.labels == ("a", "b", "x", "y", "*")


def test_a_file_that_is_not_there_or_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert "nowhere.csv" in file_refusal(tmp_path, "", hierarchy={"file": "nowhere.csv"})
    latin = "é;*".encode("latin-1")
    for message in (
        file_refusal(tmp_path, latin),
        file_refusal(tmp_path, latin, hierarchy={"file": "tree.csv", "encoding": "klingon"}),
    ):
        assert "attributes.a.hierarchy.file" in message
        assert "tree.csv" in message


@pytest.mark.parametrize("content", ["", "\n\n", ";;\n"])
def test_an_empty_file_is_refused(content: str, tmp_path: Path) -> None:
    message = file_refusal(tmp_path, content)
    assert "attributes.a.hierarchy.file" in message
    assert "tree.csv" in message
    assert "empty" in message


def test_a_row_without_a_leaf_is_refused_by_its_number(tmp_path: Path) -> None:
    message = file_refusal(tmp_path, "a;x;*\n;y;*\n")
    assert "attributes.a.hierarchy.file" in message
    assert "row 2" in message


@pytest.mark.parametrize(
    ("content", "clash"),
    [("a;x;*\na;y;*\n", "a"), ("a;g;x;*\nb;g;y;*\n", "g"), ("a;b;*\nb;*\n", "b"), ("b;*\na;b;*\n", "b")],
)
def test_a_label_for_two_things_is_refused_by_name(content: str, clash: str, tmp_path: Path) -> None:
    message = file_refusal(tmp_path, content)
    assert "attributes.a.hierarchy" in message
    assert repr(clash) in message


def test_numbers_read_as_floats_match_whole_leaves(tmp_path: Path) -> None:
    domain = read_file(tmp_path, "39;30s;*\n40;40s;*\n", [39.0, "40", 40, None])
    assert leaves(domain) == ["39", "40", None]
    assert domain.leaves.tolist() == [0, 1, 1, 2]


def test_leaves_of_a_file_stand_in_the_attributes_order_or_else_as_in_the_file(tmp_path: Path) -> None:
    content = "10;x;*\n9;x;*\n8;x;*\n"
    assert leaves(read_file(tmp_path, content, ["8"])) == ["10", "9", "8"]
    assert leaves(read_file(tmp_path, content, ["8"], order="numeric")) == ["8", "9", "10"]
    assert leaves(read_file(tmp_path, content, ["8"], order="lexical")) == ["10", "8", "9"]
    assert leaves(read_file(tmp_path, content, ["8"], order=["9", "8", "10"])) == ["9", "8", "10"]


def test_in_numeric_order_leaves_and_values_meet_whatever_their_spelling(tmp_path: Path) -> None:
    domain = read_file(tmp_path, "05;x;*\n6.0;x;*\n7;x;*\n", ["5.0", 6], order="numeric")
    assert leaves(domain) == ["5", "6", "7"]
    assert domain.leaves.tolist() == [0, 1]
    assert domain.keys == (Decimal(5), Decimal(6), None)


def test_numeric_order_over_leaves_that_are_not_numbers_is_refused_by_leaf_and_key(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("low;*\n5;*\n", encoding="utf-8")
    message = spec_refusal([5], folder=tmp_path, hierarchy={"file": "tree.csv"}, order="numeric")
    assert "attributes.a" in message
    assert "'low'" in message


# Nested tables


def test_a_nested_table_is_the_tree_under_one_root() -> None:
    domain = read(["Peru", "Italy"], hierarchy={"tree": COUNTRIES})
    assert domain.hierarchy.labels == ("France", "Italy", "Canada", "Peru", "Europe", "America", "*")
    assert domain.leaves.tolist() == [3, 1]


def test_leaves_of_a_nested_table_stand_as_they_are_written() -> None:
    tree = {"Europe": {"West": ["France"]}, "America": ["Peru"], "Asia": {"South": ["India"]}}
    assert leaves(read(["Peru"], hierarchy={"tree": tree})) == ["France", "Peru", "India"]


def test_nested_tables_may_be_unbalanced() -> None:
    tree = {"Europe": {"West": ["France", "Spain"], "Malta": "Valletta"}, "Other": ["Peru", {"Asia": ["India"]}]}
    domain = read(["France", "Valletta", "Peru", "India"], hierarchy={"tree": tree})
    assert [published(domain, level) for level in range(4)] == [
        ["France", "Valletta", "Peru", "India"],
        ["West", "Malta", "Peru", "Asia"],
        ["Europe", "Europe", "Other", "Other"],
        ["*", "*", "*", "*"],
    ]


@pytest.mark.parametrize(
    ("tree", "culprit"), [({}, "{}"), ({"x": []}, "[]"), ({"x": ["b", 1]}, "1"), ({"x": {}}, "{}")]
)
def test_anything_but_labels_lists_and_tables_in_a_tree_is_refused(tree: Any, culprit: str) -> None:
    message = spec_refusal(["b"], hierarchy={"tree": tree})
    assert "attributes.a.hierarchy.tree" in message
    assert culprit in message


@pytest.mark.parametrize(
    ("tree", "clash"),
    [({"x": ["b"], "y": ["b"]}, "b"), ({"b": ["b", "c"]}, "b"), ({"x": ["b", {"b": ["c"]}]}, "b")],
)
def test_a_label_for_two_things_in_a_tree_is_refused_by_name(tree: Any, clash: str) -> None:
    message = spec_refusal(["b"], hierarchy={"tree": tree})
    assert "attributes.a.hierarchy" in message
    assert repr(clash) in message


def test_a_hierarchy_is_stated_where_the_spec_alone_determines_it(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("a;x;*\n", encoding="utf-8")
    attributes = {
        "tree": {"role": "quasi", "hierarchy": {"tree": COUNTRIES}, "boundary": ["Europe"]},
        "file": {"role": "quasi", "hierarchy": {"file": "tree.csv"}},
        "mask": {"role": "quasi", "hierarchy": {"mask": "right"}},
    }
    spec = Spec(attributes=attributes).at(tmp_path)
    tree, file = stated_hierarchy("tree", spec), stated_hierarchy("file", spec)
    assert tree is not None
    assert [tree.labels[node] for node in tree.ceilings] == ["Europe", "Europe", "*", "*"]
    assert file is not None
    assert file.labels == ("a", "x", "*")
    assert stated_hierarchy("mask", spec) is None


# Intervals


def test_intervals_hold_their_lower_end_and_not_their_upper() -> None:
    domain = read([0, 4, 5, 9, 10, 19, 20], hierarchy={"intervals": [5, 10, 20]})
    assert published(domain, 1) == ["[0, 5)"] * 2 + ["[5, 10)"] * 2 + ["[10, 15)", "[15, 20)", "[20, 25)"]
    assert published(domain, 2) == ["[0, 10)"] * 4 + ["[10, 20)"] * 2 + ["[20, 30)"]
    assert published(domain, 3) == ["[0, 20)"] * 6 + ["[20, 40)"]
    assert published(domain, 4) == ["*"] * 7


def test_negative_numbers_fall_into_the_interval_below_them() -> None:
    domain = read([-11, -10, -7, -5, -1, 0], hierarchy={"intervals": [5, 10]})
    assert published(domain, 1) == ["[-15, -10)", "[-10, -5)", "[-10, -5)", "[-5, 0)", "[-5, 0)", "[0, 5)"]
    assert published(domain, 2) == ["[-20, -10)", "[-10, 0)", "[-10, 0)", "[-10, 0)", "[-10, 0)", "[0, 10)"]


def test_fractions_are_exact() -> None:
    domain = read(["0.3", 0.7, 0.1, "0.29", -0.05], hierarchy={"intervals": [0.1, 0.2]})
    assert published(domain, 1) == ["[0.3, 0.4)", "[0.7, 0.8)", "[0.1, 0.2)", "[0.2, 0.3)", "[-0.1, 0)"]
    assert published(domain, 2) == ["[0.2, 0.4)", "[0.6, 0.8)", "[0, 0.2)", "[0.2, 0.4)", "[-0.2, 0)"]


def test_intervals_are_counted_from_where_the_spec_says() -> None:
    assert published(read([3, 7, 8], hierarchy={"intervals": [5], "from": 2.5}), 1) == [
        "[2.5, 7.5)", "[2.5, 7.5)", "[7.5, 12.5)"
    ]  # fmt: skip


def test_bottom_and_top_coding_make_one_interval_each_and_clip_their_neighbours() -> None:
    hierarchy = {"intervals": [5, 10, 20], "from": 0, "bottom": 18, "top": 85}
    domain = read([3, 17, 18, 22, 84, 85, 120], hierarchy=hierarchy)
    below, above = ["<18"] * 2, [">=85"] * 2
    assert published(domain, 1) == [*below, "[18, 20)", "[20, 25)", "[80, 85)", *above]
    assert published(domain, 2) == [*below, "[18, 20)", "[20, 30)", "[80, 85)", *above]
    assert published(domain, 3) == [*below, "[18, 20)", "[20, 40)", "[80, 85)", *above]
    assert published(domain, 4) == ["*"] * 7


def test_bottom_and_top_may_cut_one_interval_on_both_sides() -> None:
    domain = read([1, 3, 9], hierarchy={"intervals": [10], "bottom": 2.5, "top": 7})
    assert published(domain, 1) == ["<2.5", "[2.5, 7)", ">=7"]


def test_all_spellings_of_a_number_are_one_leaf() -> None:
    domain = read(["7", "07", "7.0", 7, 7.0, " 7 ", Decimal("7.00"), "8"], hierarchy={"intervals": [5]})
    assert leaves(domain) == ["7", "8"]
    assert domain.leaves.tolist() == [0] * 7 + [1]
    assert domain.keys == (Decimal(7), Decimal(8))


def test_leaves_of_numbers_stand_in_numeric_order() -> None:
    assert leaves(read(["10", "9", "-1", None, "100"], hierarchy={"intervals": [5]})) == ["-1", "9", "10", "100", None]


@pytest.mark.parametrize(
    ("widths", "wide", "narrow"), [([5, 8], "8", "5"), ([10, 5], "5", "10"), ([0.1, 0.25], "0.25", "0.1")]
)
def test_widths_that_do_not_nest_are_refused(widths: list[float], wide: str, narrow: str) -> None:
    message = spec_refusal([1], hierarchy={"intervals": widths})
    assert "attributes.a.hierarchy" in message
    assert f"{wide} is not a larger multiple of {narrow}" in message


def test_widths_are_checked_even_where_no_number_occurs() -> None:
    assert "8 is not a larger multiple of 5" in spec_refusal([None], hierarchy={"intervals": [5, 8]})


def test_a_bottom_that_is_not_below_the_top_is_refused() -> None:
    message = spec_refusal([1], hierarchy={"intervals": [5], "bottom": 20, "top": 10})
    assert "attributes.a.hierarchy" in message
    assert "20" in message
    assert "10" in message


def test_values_that_are_not_numbers_are_refused_with_their_counts() -> None:
    values = ["7", "unknown", "n/a", True, "nan", "inf", None, "2024-01-01"]
    message = data_refusal(values, [1, 30, 20, 2, 1, 3, 9, 4], hierarchy={"intervals": [5]})
    assert "column 'a'" in message
    assert "numbers" in message
    for bad in ("'unknown' (30 rows)", "'n/a' (20 rows)", "'true' (2 rows)", "'nan' (1 row)", "'inf' (3 rows)"):
        assert bad in message
    assert "'7'" not in message


def test_large_numbers_are_exact_too() -> None:
    domain = read(["1e30", "-1e30"], hierarchy={"intervals": [5]})
    zeros = "0" * 29
    assert published(domain, 1) == [f"[1{zeros}0, 1{zeros}5)", f"[-1{zeros}0, -{'9' * 29}5)"]


def test_a_number_with_an_absurd_exponent_is_refused() -> None:
    assert "'1e1000000'" in data_refusal(["1e1000000", 1], hierarchy={"intervals": [5]})


decimals = st.decimals(-1000, 1000, places=3)


@given(
    st.lists(decimals, min_size=1, max_size=8, unique=True),
    decimals.filter(lambda width: width > 0),
    st.lists(st.integers(2, 5), max_size=3),
    decimals,
)
def test_every_number_lies_in_its_intervals(
    values: list[Decimal], width: Decimal, factors: list[int], start: Decimal
) -> None:
    widths = [float(width)]
    for factor in factors:
        widths.append(float(Decimal(str(widths[-1])) * factor))
    domain = read(values, hierarchy={"intervals": widths, "from": float(start)})
    for level, size in enumerate(widths, 1):
        for value, interval in zip(values, published(domain, level), strict=True):
            low, high = (Fraction(end) for end in str(interval).strip("[)").split(", "))
            assert low <= Fraction(value) < high
            assert high - low == Fraction(str(size))
            assert (low - Fraction(start)) % Fraction(str(size)) == 0


# Masks


def test_a_right_mask_hides_one_character_after_the_other_from_the_right() -> None:
    assert way_up(read(["47906"], hierarchy={"mask": "right"})) == ["47906", "4790*", "479**", "47***", "4****", "*"]


def test_a_left_mask_hides_one_character_after_the_other_from_the_left() -> None:
    assert way_up(read(["47906"], hierarchy={"mask": "left"})) == ["47906", "*7906", "**906", "***06", "****6", "*"]


def test_codes_keep_their_leading_zeros() -> None:
    assert leaves(read(["01234", "1234"], hierarchy={"mask": "right"})) == ["01234", "1234"]


def test_codes_of_unequal_length_meet_at_the_root_alone() -> None:
    domain = read(["47906", "47", "9", "479"], hierarchy={"mask": "right"})
    assert way_up(domain, 1) == ["47", "47", "47", "47", "4*", "*"]
    assert way_up(domain, 2) == ["9", "9", "9", "9", "9", "*"]
    assert domain.hierarchy.common_ancestor(domain.leaves[[0, 3]].tolist()) == domain.hierarchy.root


def test_a_code_that_looks_like_a_mask_of_others_is_refused() -> None:
    message = data_refusal(["47*", "479"], hierarchy={"mask": "right"})
    assert "column 'a'" in message
    assert "'47*'" in message


def test_long_texts_can_be_masked() -> None:
    assert read(["x" * 2000, "y"], hierarchy={"mask": "right"}).hierarchy.height == 2000


@given(st.lists(st.text("012ab", min_size=4, max_size=4), min_size=1, unique=True), st.booleans())
def test_codes_of_one_length_lose_a_character_a_level(codes: list[str], right: bool) -> None:
    domain = read(codes, hierarchy={"mask": "right" if right else "left"})
    assert domain.hierarchy.height == 4
    for level in range(4):
        hidden = "*" * level
        expected = [code[: 4 - level] + hidden if right else hidden + code[level:] for code in codes]
        assert published(domain, level) == expected
    assert set(published(domain, 4)) == {"*"}


# Dates


@pytest.mark.parametrize(
    "value",
    [dt.date(2024, 5, 31), dt.datetime(2024, 5, 31, 23, 59), "2024-05-31", " 2024-05-31 ", "2024-05-31T23:59:00"],
)
def test_dates_times_and_texts_are_days(value: Any) -> None:
    domain = read([value], hierarchy={"dates": ["month", "quarter", "year", "decade"]})
    assert way_up(domain) == ["2024-05-31", "2024-05", "2024-Q2", "2024", "2020s", "*"]
    assert domain.keys == (dt.date(2024, 5, 31),)


def test_one_day_in_several_spellings_is_one_leaf() -> None:
    domain = read([dt.date(2024, 3, 31), "2024-03-31", dt.datetime(2024, 3, 31, 8)], hierarchy={"dates": ["year"]})
    assert leaves(domain) == ["2024-03-31"]


def test_days_stand_in_order_and_missing_last() -> None:
    domain = read(["2024-01-02", None, "0987-12-31", "1999-10-01"], hierarchy={"dates": ["year", "decade"]})
    assert leaves(domain) == ["0987-12-31", "1999-10-01", "2024-01-02", None]
    assert published(domain, 2) == ["2020s", None, "0980s", "1990s"]


@pytest.mark.parametrize(("month", "quarter"), [(1, 1), (3, 1), (4, 2), (6, 2), (7, 3), (9, 3), (10, 4), (12, 4)])
def test_three_months_make_a_quarter(month: int, quarter: int) -> None:
    assert published(read([dt.date(2023, month, 1)], hierarchy={"dates": ["quarter"]}), 1) == [f"2023-Q{quarter}"]


@pytest.mark.parametrize("parts", [["year", "month"], ["year", "year"], ["decade", "quarter"]])
def test_parts_of_dates_in_the_wrong_order_are_refused(parts: list[str]) -> None:
    message = spec_refusal(["2024-01-01"], hierarchy={"dates": parts})
    assert "attributes.a.hierarchy" in message
    assert repr(parts) in message
    assert "month, quarter, year, decade" in message


def test_values_that_are_not_dates_are_refused_with_their_counts() -> None:
    message = data_refusal(["2024-01-01", "31.3.2024", "2024-02-30", 7], [1, 5, 2, 1], hierarchy={"dates": ["year"]})
    assert "column 'a'" in message
    assert "dates" in message
    for bad in ("'31.3.2024' (5 rows)", "'2024-02-30' (2 rows)", "'7' (1 row)"):
        assert bad in message


# Fan-out


def test_fanout_groups_neighbours_level_by_level_the_last_group_perhaps_smaller() -> None:
    domain = read(list("edcba"), hierarchy={"fanout": 2})
    assert leaves(domain) == list("abcde")
    assert published(domain, 1)[::-1] == ["[a, b]", "[a, b]", "[c, d]", "[c, d]", "e"]
    assert published(domain, 2)[::-1] == ["[a, d]", "[a, d]", "[a, d]", "[a, d]", "e"]
    assert published(domain, 3) == ["*"] * 5


def test_a_last_group_of_several_is_named_by_its_own_ends() -> None:
    assert published(read(list("abcde"), hierarchy={"fanout": 3}), 1) == ["[a, c]"] * 3 + ["[d, e]"] * 2


@pytest.mark.parametrize("size", [1, 2, 5])
def test_as_many_values_as_the_fanout_stand_under_the_root(size: int) -> None:
    assert read(list("abcde")[:size], hierarchy={"fanout": 5}).hierarchy.height == 1


def test_fanout_takes_numbers_by_value_and_other_texts_by_letter() -> None:
    assert leaves(read(["10", "9", "100", "1.5"], hierarchy={"fanout": 2})) == ["1.5", "9", "10", "100"]
    assert leaves(read(["10", "9", "100", "x"], hierarchy={"fanout": 2})) == ["10", "100", "9", "x"]
    assert leaves(read(["10", "9", "100"], hierarchy={"fanout": 2}, order="lexical")) == ["10", "100", "9"]
    assert leaves(read(["b", "a", "c"], hierarchy={"fanout": 2}, order=["c", "b", "a"])) == ["c", "b", "a"]


def test_odd_values_are_quoted_in_ranges() -> None:
    domain = read(["a, b", "a]", "b", 'say "x"'], hierarchy={"fanout": 2})
    assert published(domain, 1) == ['["a, b", "a]"]'] * 2 + [r'[b, "say \"x\""]'] * 2


def test_a_missing_value_is_in_no_group() -> None:
    domain = read(["a", None, "b", "c"], hierarchy={"fanout": 2})
    assert way_up(domain, 1) == [None, None, "*"]


@given(st.sets(st.integers(-50, 50), min_size=1), st.integers(2, 6))
def test_a_level_of_a_fanout_is_groups_of_a_power_of_it(values: set[int], fanout: int) -> None:
    ordered = sorted(values)
    domain = read(ordered, hierarchy={"fanout": fanout})
    tree = domain.hierarchy
    assert leaves(domain) == [str(value) for value in ordered]
    assert fanout ** (tree.height - 1) < max(len(ordered), 2) <= max(fanout**tree.height, 2)
    for level in range(tree.height + 1):
        size = fanout**level
        for leaf, node in enumerate(tree.levels[level]):
            start = leaf // size * size
            assert (tree.first[node], tree.stop[node]) == (start, min(start + size, len(ordered)))


# Flat


@pytest.mark.parametrize("keys", [{"hierarchy": "flat"}, {}])
def test_flat_and_no_hierarchy_put_all_values_under_one_root(keys: dict[str, Any]) -> None:
    domain = read(["b", None, "a"], **keys)
    assert domain.hierarchy.labels == ("a", "b", None, "*")
    assert domain.hierarchy.height == 1
    assert domain.leaves.tolist() == [1, 2, 0]
    assert domain.keys == (None, None, None)


@pytest.mark.parametrize(
    "keys", [{"hierarchy": "flat"}, {"hierarchy": {"fanout": 2}}, {"hierarchy": {"mask": "right"}}]
)
def test_a_value_that_looks_like_the_root_is_refused(keys: dict[str, Any]) -> None:
    message = data_refusal(["a", "*"], **keys)
    assert "column 'a'" in message
    assert "'*'" in message


def test_values_are_leaves_as_their_text() -> None:
    domain = read([True, 0.5, 3.0, dt.date(2024, 1, 2), "x y", "", "7.0"])
    assert {*leaves(domain)} == {"true", "0.5", "3", "2024-01-02", "x y", "", "7.0"}


def test_missing_values_alone_are_a_domain() -> None:
    for hierarchy in ("flat", {"fanout": 2}, {"intervals": [5]}, {"mask": "right"}, {"dates": ["year"]}):
        assert read([None], hierarchy=hierarchy).hierarchy.labels == (None, "*")


@pytest.mark.parametrize("hierarchy", ["flat", {"intervals": [5]}, {"fanout": 2}])
def test_a_number_that_is_none_is_a_missing_value(hierarchy: Any) -> None:
    domain = read([1.5, float("nan"), None], hierarchy=hierarchy)
    assert leaves(domain) == ["1.5", None]
    assert domain.leaves.tolist() == [0, 1, 1]


@pytest.mark.parametrize("hierarchy", ["flat", {"fanout": 2}, {"intervals": [5]}, {"mask": "right"}])
def test_a_column_without_rows_is_refused(hierarchy: Any) -> None:
    assert "column 'a'" in data_refusal([], hierarchy=hierarchy)


def test_missing_values_in_a_stated_tree_stand_under_its_root() -> None:
    domain = read([None, "Peru"], hierarchy={"tree": COUNTRIES})
    assert leaves(domain) == ["France", "Italy", "Canada", "Peru", None]
    assert way_up(domain) == [None, None, "*"]


# Order


def test_values_follow_the_stated_order() -> None:
    domain = read(["high", "low", None], order=["low", "mid", "high"])
    assert leaves(domain) == ["low", "high", None]


def test_numeric_order_compares_numbers_and_lexical_order_texts() -> None:
    assert leaves(read(["10", "9", "9.0"], order="numeric")) == ["9", "10"]
    assert leaves(read(["10", "9"], order="lexical")) == ["10", "9"]


def test_ranks_are_places_in_the_order_leaves_that_do_not_occur_next_to_last_and_missing_last() -> None:
    tree = {"x": ["high", "none"], "y": ["low", "mid"]}
    domain = read(["mid", None, "high", "low"], hierarchy={"tree": tree}, order=["low", "mid", "high"])
    ranks = dict(zip(leaves(domain), domain.ranks.tolist(), strict=True))
    assert ranks == {"low": 0, "mid": 1, "high": 2, "none": 3, None: 4}


@pytest.mark.parametrize("hierarchy", ["flat", {"tree": {"x": ["low", "high", "odd"]}}])
def test_values_that_the_order_does_not_list_are_refused(hierarchy: Any) -> None:
    message = data_refusal(["low", "odd"], order=["low", "high"], hierarchy=hierarchy)
    assert "column 'a'" in message
    assert "attributes.a.order" in message
    assert "odd" in message


# Values outside the hierarchy


def test_values_that_are_not_covered_are_refused_with_counts_and_the_nearest() -> None:
    message = data_refusal(["France", "Itly", "Atlantis"], [9, 4, 1], hierarchy={"tree": COUNTRIES})
    assert "column 'a'" in message
    assert "'Itly' (4 rows, nearest is 'Italy')" in message
    assert "'Atlantis' (1 row" in message
    assert "'France'" not in message


def test_counts_of_one_value_in_several_spellings_are_added_up() -> None:
    message = data_refusal(["7", 7, 7.0], [1, 2, 3], hierarchy={"tree": {"x": ["8"]}})
    assert "'7' (6 rows" in message


def test_at_most_ten_values_are_listed_the_commonest_first_each_with_its_nearest() -> None:
    known = [f"known-{n}" for n in range(10, 40)]
    values = [f"zzz{n:02}" for n in range(14)] + ["knwon-12"]
    message = data_refusal(values, [*range(1, 15), 99], hierarchy={"tree": {"x": known}})
    assert message.count("row") == 10
    assert "'zzz13' (14 rows" in message
    assert "'zzz04'" not in message
    assert "5 more" in message
    assert message.index("knwon-12") < message.index("zzz13")
    assert "'knwon-12' (99 rows, nearest is 'known-12')" in message


@pytest.mark.parametrize("value", ["Europe", "*"])
def test_a_group_or_the_root_is_no_value(value: str) -> None:
    assert repr(value) in data_refusal([value], hierarchy={"tree": COUNTRIES})


# Boundaries


def test_a_boundary_caps_the_hierarchy() -> None:
    domain = read(["France", "Peru"], hierarchy={"tree": COUNTRIES}, boundary=["Europe"])
    assert published(domain, 2) == ["Europe", "*"]
    domain = read(["47906", "47901"], hierarchy={"mask": "right"}, boundary={"level": 2})
    assert published(domain, 5) == ["479**", "479**"]


@pytest.mark.parametrize(
    ("boundary", "told"), [(["Europa"], "'Europe'"), (["Europa"], "'Europa'"), ({"level": 3}, "0 to 2")]
)
def test_a_boundary_outside_the_hierarchy_is_refused(boundary: Any, told: str) -> None:
    message = spec_refusal(["Peru"], hierarchy={"tree": COUNTRIES}, boundary=boundary)
    assert "attributes.a.boundary" in message
    assert told in message


# Values, keys and labels


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("07.0", "07.0"),
        (7, "7"),
        (7.0, "7"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (1e22, "1e+22"),
        (True, "true"),
        (False, "false"),
        (dt.date(2024, 3, 31), "2024-03-31"),
    ],
)
def test_text_of_a_value(value: Any, expected: str) -> None:
    assert text(value) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (Decimal("7.50"), "7.5"),
        (Decimal("100"), "100"),
        (Decimal("1E+2"), "100"),
        (Decimal("-0.0"), "0"),
        (Decimal("0.0000001"), "0.0000001"),
        (dt.date(987, 3, 1), "0987-03-01"),
        ("as it is ", "as it is "),
    ],
)
def test_label_of_a_key(key: Decimal | dt.date | str, expected: str) -> None:
    assert label(key) == expected


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6) | st.integers().map(Decimal))
def test_the_label_of_a_number_is_exactly_that_number(key: Decimal) -> None:
    assert Decimal(label(key)) == key
    assert "E" not in label(key)


def test_long_numbers_keep_every_digit() -> None:
    digits = "123456789012345678901234567890123"
    assert label(number(digits)) == digits


@pytest.mark.parametrize("value", ["7", "07", " 7.00 ", 7, 7.0, Decimal("7.0")])
def test_number_reads_every_spelling(value: Any) -> None:
    assert number(value) == 7


@pytest.mark.parametrize("value", ["", "x", "1,5", "nan", "inf", float("inf"), float("nan"), True, "1_000"])
def test_number_refuses_what_is_none(value: Any) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        number(value)


@pytest.mark.parametrize("word", ["a", "two words", "47906", "-1.5", "Größe", "a-b", "it's", "2024-03-31"])
def test_plain_words_are_not_quoted(word: str) -> None:
    assert quoted(word) == word


@pytest.mark.parametrize("word", ["", " a", "a ", "a, b", "a,b", 'a"b', "[a", "a]", "{a", "a}", "a\nb", "\\"])
def test_words_that_would_be_misread_are_quoted(word: str) -> None:
    assert quoted(word).startswith('"')


@given(st.text())
def test_a_quoted_word_can_be_read_back(word: str) -> None:
    written = quoted(word)
    assert (json.loads(written) if written.startswith('"') else written) == word
    assert written.startswith('"') or not set(written) & set(',[]{}"')
