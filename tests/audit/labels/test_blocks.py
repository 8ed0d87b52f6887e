"""Sets and ranges in the audit: what they may hold, boundaries, values under two labels, damaged releases."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.labels.grammar import grammar
from ringfence.audit.labels.spelling import as_set
from ringfence.errors import DataError, SpecError, Unsatisfiable
from ringfence.spec import Spec
from ringfence.values.builders import read_domain
from ringfence.values.keys import quoted

# Sets and ranges: what the schemes with blocks publish
from tests.audit_tables import KINDS, REGIONS, Row, audited, rules, text_table
from tests.tables import Case, cases, scheme_cases, with_parts


def in_blocks(scheme: str = "set", missing: str = "value", **attribute: Any) -> Spec:
    """Return the specification of one column that is published in blocks."""
    return Spec(attributes={"q": {"role": "quasi", **attribute}}, data={"missing": missing}, method={"scheme": scheme})


def spelled_set(values: Sequence[str | None]) -> str:
    """Return a set as it is published."""
    return "{" + ", ".join("null" if v is None else '"null"' if v == "null" else quoted(v) for v in values) + "}"


@pytest.mark.parametrize("scheme", ["ordered", "set", "guided-ordered", "guided-set"])
@pytest.mark.parametrize(
    ("attribute", "good", "bad"),
    [
        (
            {"hierarchy": {"tree": REGIONS}},
            ["Italy", "South", "*", "{Italy, Peru}", "{Peru, Italy}", "{Italy, null}", '{"Italy", Peru}'],
            [
                "{Italy}",
                "{}",
                "{Italy, Italy}",
                '{Italy, "Italy"}',
                "{Italy, South}",
                "{Italy, *}",
                "{Italy, Asia}",
                '{Italy, "null"}',
                "{Italy,Peru}",
                "{Italy,  Peru}",
                "{Italy; Peru}",
                "{ Italy, Peru}",
                "{Italy, Peru",
                "Italy, Peru}",
                "(Italy, Peru)",
                "[Italy, Peru]",
                '{"Italy, Peru"}',
                '{Italy, "Peru}',
                "{{Italy, Peru}}",
                "{Italy, Peru, }",
                "{null}",
                "{null, null}",
            ],
        ),
        (
            {"hierarchy": {"intervals": [5, 10], "top": 40}},
            ["7", "[5, 10)", ">=40", "*", "[3, 34]", "[-2.5, 0]", "{3, 34}", "{-2.5, 0, null}", "{34, 3}"],
            [
                "[34, 3]",
                "[3, 3]",
                "[3,34]",
                "[3, 34",
                "[03, 34]",
                "[3.0, 34]",
                "[3, null]",
                '["3", 34]',
                "[3, 34, 40]",
                "[3]",
                "[3, x]",
                "[3; 34]",
                "(3, 34]",
                "{3, x}",
                "{3}",
                "{3, 3.0}",
                "{3, 4.0}",
                '{"3", 4}',
                "{3, [5, 10)}",
                "{3, >=40}",
                "{3, *}",
                "{3, nan}",
            ],
        ),
        (
            {"order": "numeric"},
            ["7", "*", "[3, 34]", "{3, 34, null}"],
            ["x", "null", "[34, 3]", "[3, 10)", "{3, x}", "{3}", "nan"],
        ),
        (
            {"hierarchy": "flat", "order": "numeric"},
            ["7", "*", "[3, 34]", "{3, 34, null}", "{[3, 34], null}"],
            ["x", "[34, 3]", "{3, x}", "{[34, 3], null}", "{[3, 34], [40, 50]}"],
        ),
        (
            {"hierarchy": {"dates": ["month"]}},
            [
                "2024-02-29",
                "2024-02",
                "*",
                "{2024-02-29, 2024-03-01}",
                "{2024-02-29, null}",
                "[2024-02-01, 2024-02-29]",
                "{[2024-02-01, 2024-02-29], null}",
            ],
            [
                "[2024-02-29, 2024-02-01]",
                "[2024-02-01, 2024-02-30]",
                "[2024-02-01, 2024-03]",
                "[2024-02-01,2024-02-29]",
                "{[2024-02-29, 2024-02-01], null}",
                "{[2024-02-01, 2024-02-29]}",
                "{[2024-02-01, 2024-02-29], 2024-03-01}",
                "{2024-02, 2024-03}",
                "{2024-02-29}",
                "{2024-02-30, 2024-03-01}",
                "{2024-02-29, 2024-2-28}",
                "{2024-02-29 00:00:00, 2024-03-01}",
            ],
        ),
        (
            {"hierarchy": {"mask": "right"}},
            ["479", "47*", "*", "{479, 480}", "{02, 2}", "{479, 4790, null}", '{"", a}'],
            ["*79", "{47*, 480}", "{479}", "{479, 479}", "{*, 479}", "{x}"],
        ),
        (
            {"hierarchy": {"fanout": 2}},
            ["a", "[a, b]", "*", "{a, c}", '{a, "[x]"}', "{a, null}"],
            ["[b, a]", "{a}", "{a, [b, c]}", "{a, *}"],
        ),
        ({"hierarchy": {"fanout": 2}, "order": "numeric"}, ["7", "[9, 10]", "{9, 11}"], ["[10, 9]", "{9, x}"]),
        (
            {},
            ["a", "*", "[a, b]", "{a", "a}", "{a, b}", '{a, "{b}"}', '{a, "null", null}', '{"a, b", c}', "{1, 01}"],
            ["{a}", "{a,b}", "{}", "{{a}, b}", "{a, b,}", "{a, *}", "{(a), b}"],
        ),
        (
            {"hierarchy": "flat", "order": ["low", "mid", "{high}"]},
            ["low", "{high}", "{low, mid}", '{low, "{high}"}', "*"],
            ["lo", "{low, other}", "{low}"],
        ),
    ],
)
def test_labels_of_blocks(scheme: str, attribute: dict[str, Any], good: list[str], bad: list[str]) -> None:
    form = grammar("q", in_blocks(scheme, **attribute), [*good, *bad])
    assert [label for label in good if not form.reads(label)] == []
    assert [label for label in bad if form.reads(label)] == []
    assert [label for label in good if form.passes(label)] == []


def test_a_stated_label_that_looks_like_a_set_is_the_label() -> None:
    form = grammar("q", in_blocks(hierarchy={"tree": {"{a, b}": ["a", "c"], "{x": ["b"]}}), [])
    assert all(map(form.reads, ["{a, b}", "{x", "{a, c}"]))
    assert not form.reads("{a, x}")
    assert form.sharing(["{a, b}", "c"]) == {"{a, b}", "c"}
    assert form.sharing(["{a, b}", "b"]) == set()


def test_missing_values_in_sets_only_where_they_may_be_published() -> None:
    for missing in ("value", "suppress", "error"):
        form = grammar("q", in_blocks(missing=missing), [])
        assert form.reads("{a, null}") == (missing == "value")
        assert form.reads('{a, "null"}')


@pytest.mark.parametrize(
    "parts",
    [
        {"method": {"scheme": "level"}},
        {"method": {"scheme": "cut"}},
        {"method": {"name": "levels", "levels": {"q": 1}, "scheme": "set"}},
        {"method": {"scheme": "set"}, "scheme": "cut"},
    ],
)
def test_other_schemes_have_no_blocks(parts: dict[str, Any]) -> None:
    own = {"scheme": parts["scheme"]} if "scheme" in parts else {}
    ages = {"role": "quasi", "hierarchy": {"intervals": [5]}, **own}
    form = grammar("q", Spec(attributes={"q": ages}, method=parts["method"]), [])
    assert not form.reads("{1, 2}")
    assert not form.reads("[1, 2]")
    assert form.reads("[0, 5)")
    assert form.sharing(["1", "[0, 5)"]) == set()


@pytest.mark.parametrize(
    ("attribute", "below", "above"),
    [
        (
            {"hierarchy": {"tree": REGIONS}, "boundary": ["South", "Norway"]},
            ["{Italy, Spain}", "{Canada, Peru}", "{Canada, null}"],
            ["{Italy, Norway}", "{Spain, Peru}", "{Norway, null}", "{Canada, Italy, Peru}"],
        ),
        (
            {"hierarchy": {"tree": REGIONS}, "boundary": ["South", "Europe"]},  # what is left of Europe, the rest
            ["{Italy, Spain}", "{Canada, Peru, null}"],
            ["{Norway, Italy}", "{Norway, Canada}"],
        ),
        (
            {"hierarchy": {"tree": REGIONS}, "boundary": {"level": 1}},
            ["{Italy, Spain}"],
            ["{Italy, Norway}", "{Canada, Peru}", "{Canada, null}"],
        ),
        ({"hierarchy": {"tree": REGIONS}, "boundary": {"level": 3}}, ["{Italy, Peru, null}"], []),
        (
            {"hierarchy": {"tree": {"few": ["1", "2", "3"]}}, "order": "numeric", "boundary": ["2"]},
            ["[1, 3]"],
            ["[1, 2]"],
        ),
        (
            {"hierarchy": {"intervals": [5, 10], "bottom": 0, "top": 30}, "boundary": {"level": 1}},
            ["[5, 9]", "{5, 9}", "{5, 9.99}", "[-20, -1]", "{30, 99}"],
            ["[5, 10]", "{4, 5}", "{-1, 0}", "[-1, 1]", "{29, 30}", "{5, null}"],
        ),
        (
            {"hierarchy": {"intervals": [5, 10]}, "boundary": {"level": 2}},
            ["[0, 9]"],
            ["[0, 10]", "{-1, 0}", "*", "{0, null}"],
        ),
        ({"hierarchy": {"intervals": [5, 10]}, "boundary": {"level": 0}}, ["5"], ["[5, 6]", "{5, 6}", "[5, 10)"]),
        ({"hierarchy": {"intervals": [5, 10]}, "boundary": {"level": 3}}, ["[5, 66]", "{5, null}", "*"], []),
        (
            {"hierarchy": {"intervals": [5, 10]}, "boundary": ["[0, 10)", "[0, 5)", "7"]},
            ["[1, 4]", "[8, 9]", "[5, 6]", "{5, 9}", "{-1, 10}", "[10, 20]", "{99, null}", "[7.5, 8]"],
            ["[1, 5]", "{4, 8}", "{7, 8}", "[6, 9]", "[9, 10]", "[-1, 10]", "{5, null}"],
        ),
        (
            {"hierarchy": {"dates": ["month", "quarter", "decade"]}, "boundary": {"level": 2}},
            ["{2024-01-01, 2024-03-31}", "{2023-10-01, 2023-12-31}"],
            ["{2024-03-31, 2024-04-01}", "{2023-01-01, 2024-01-01}", "{2024-01-01, null}"],
        ),
        (
            {"hierarchy": {"dates": ["month", "quarter", "decade"]}, "boundary": {"level": 3}},
            ["{2020-01-01, 2029-12-31}", "{0001-01-01, 0009-12-31}", "{9990-01-01, 9999-12-31}"],
            ["{2019-12-31, 2020-01-01}"],
        ),
        (
            {"hierarchy": {"dates": ["month", "year"]}, "boundary": ["2024-01", "2024", "2023-05-05"]},
            ["{2024-01-01, 2024-01-31}", "{2024-02-01, 2024-12-31}", "{2022-01-01, 2023-05-06, null}"],
            ["{2024-01-31, 2024-02-01}", "{2023-05-05, 2023-05-06}", "{2023-12-31, 2024-12-31}"],
        ),
        ({"hierarchy": "flat", "boundary": {"level": 0}}, ["a"], ["{a, b}", "{a, null}", "*"]),
        ({"hierarchy": "flat", "boundary": {"level": 1}}, ["{a, b, null}", "*"], []),
        ({"hierarchy": "flat", "boundary": ["a"]}, ["a", "{b, c}", "{b, null}"], ["{a, b}", "{a, null}"]),
        (
            {"hierarchy": "flat", "order": "numeric", "boundary": ["5"]},
            ["[1, 4]", "{4, 6}", "[6, 9]"],
            ["[1, 5]", "[4, 6]", "{5, 9}"],
        ),
        ({"hierarchy": {"mask": "right"}, "boundary": {"level": 0}}, ["1"], ["{11, 12}", "{11, null}", "1*"]),
        (
            {"hierarchy": {"mask": "right"}, "boundary": {"level": 2}},  # of 5 characters at most, 3 stay
            ["{12345, 12399}", "{1234, 1239}"],
            ["{12345, 12445}", "{12, 13}", "{12345, 1234}", "{12345, null}", "12***", "*"],
        ),
        ({"hierarchy": {"mask": "left"}, "boundary": {"level": 2}}, ["{12345, 99345}"], ["{12345, 12344}", "*"]),
        ({"hierarchy": {"mask": "left"}, "boundary": {"level": 5}}, ["{12345, 99999, null}"], []),  # maybe the root
        (
            {"hierarchy": {"mask": "right"}, "boundary": ["12*", "124", "*"]},
            ["{121, 122}", "{999, 1, null}"],
            ["{121, 124}", "{121, 131}", "{121, null}", "{12, 121}"],
        ),
        ({"hierarchy": {"fanout": 2}, "boundary": {"level": 0}}, ["a"], ["{a, b}", "{a, null}", "[a, b]"]),
        ({"hierarchy": {"fanout": 2}, "boundary": {"level": 1}}, ["{a, b}", "{a, z}"], ["{a, b, c}"]),
        (
            {"hierarchy": {"fanout": 3}, "boundary": {"level": 2}},
            [spelled_set([*"abcdefghi", None])],
            ["{1, 2, 3, 4, 5, 6, 7, 8, 9, 0}"],
        ),
        ({"hierarchy": {"fanout": 3}, "boundary": {"level": 10**9}}, [spelled_set([*"abcdefghi"])], []),
        ({"hierarchy": {"fanout": 2}, "boundary": ["a", "[b, c]"]}, ["{b, z}", "{y, z}"], ["{a, b}"]),
    ],
)
def test_boundaries_of_blocks(attribute: dict[str, Any], below: list[str], above: list[str]) -> None:
    form = grammar("q", in_blocks(**attribute), [*below, *above])
    assert [label for label in [*below, *above] if not form.reads(label)] == []
    assert [label for label in [*below, *above] if form.passes(label)] == above


BLOCK_KINDS: list[tuple[dict[str, Any], st.SearchStrategy[Any]]] = [
    *KINDS[:-1],
    ({"hierarchy": "flat"}, st.text('ab,"{}[]() \\é日', max_size=3)),
    ({"hierarchy": "flat", "order": "numeric"}, st.integers(-9, 9)),
    ({"hierarchy": {"mask": "right"}, "order": "numeric"}, st.integers(1, 999)),
    (
        {"hierarchy": {"paths": [["1", "odd"], ["2", "even"], ["3", "odd"], ["4"]]}, "order": "numeric"},
        st.integers(1, 4),
    ),
]
CERTAIN = ("tree", "intervals", "dates", "flat")


@given(st.data())
def test_blocks_within_a_boundary_never_pass_it(data: st.DataObject) -> None:
    """Any set or run of values that share their ceiling is fine; any other is not, where the specification tells.

    A run is judged without knowing which values lie inside it: that tells less of stated trees.
    """
    attribute, strategy = data.draw(st.sampled_from(BLOCK_KINDS))
    values = data.draw(st.lists(strategy, min_size=2, max_size=8, unique_by=str))
    values = [*map(str, values), *data.draw(st.sampled_from([[], [None]]))]
    spec = Spec(attributes={"q": {"role": "quasi", **attribute}})
    try:
        free = read_domain("q", spec, values, [1] * len(values)).hierarchy
    except DataError:  # values that look like labels of others
        return
    boundary = data.draw(
        st.one_of(
            st.integers(0, free.height).map(lambda level: {"level": level}),
            st.lists(st.sampled_from([*filter(None, free.labels)]), min_size=1, max_size=4, unique=True),
        )
    )
    spec = in_blocks(**attribute, boundary=boundary)
    domain = read_domain("q", spec, values, [1] * len(values))
    leaves = data.draw(st.lists(st.sampled_from(domain.leaves.tolist()), min_size=2, unique=True))
    merged = [domain.hierarchy.labels[leaf] for leaf in leaves]
    label = spelled_set(merged)
    if spec.attributes["q"].numeric and None not in merged and data.draw(st.booleans()):
        low, high = min(merged, key=lambda v: float(v or 0)), max(merged, key=lambda v: float(v or 0))
        label = f"[{low}, {high}]"
        leaves = [leaf for leaf in domain.leaves.tolist() if domain.keys[leaf] is not None]
        leaves = [leaf for leaf in leaves if float(low or 0) <= float(domain.keys[leaf]) <= float(high or 0)]
    form = grammar("q", spec, [label])
    assert form.reads(label)
    past = len({*domain.hierarchy.ceilings[leaves].tolist()}) > 1
    certain = attribute["hierarchy"] == "flat" or {*CERTAIN} & {*attribute["hierarchy"]}
    assert form.passes(label) <= past, (label, boundary)
    assert form.passes(label) == past or not certain, (label, boundary)


@pytest.mark.parametrize(
    ("attribute", "labels", "sharing"),
    [
        ({}, ["a", "{b, c}", "{d, null}", "*"], []),
        ({}, ["a", "{a, b}", "c"], ["a", "{a, b}"]),
        ({}, ["{a, b}", "{b, c}", "{d, e}"], ["{a, b}", "{b, c}"]),
        ({}, [None, "{a, null}", "b"], [None, "{a, null}"]),
        ({}, [None, '{a, "null"}', "b"], []),
        ({}, ["{a, null}", "{b, null}"], ["{a, null}", "{b, null}"]),
        ({"order": "numeric"}, ["1", "[2, 4]", "{5, 7}", "6", "[8, 9]"], []),
        ({"order": "numeric"}, ["[1, 4]", "[4, 6]"], ["[1, 4]", "[4, 6]"]),
        ({"order": "numeric"}, ["[1, 4]", "3", "9"], ["3", "[1, 4]"]),
        ({"order": "numeric"}, ["[1, 9]", "[3, 4]", "{11, 12}"], ["[1, 9]", "[3, 4]"]),
        ({"order": "numeric"}, ["[1, 4]", "{2, 9}"], ["[1, 4]", "{2, 9}"]),
        ({"order": "numeric"}, ["[1, 9]", "{3, 20}", "7", "10"], ["[1, 9]", "{3, 20}", "7"]),
        ({"hierarchy": {"intervals": [5, 10]}}, ["[0, 5)", "[5, 7]", "{8, 9}", "[10, 20)"], []),
        ({"hierarchy": {"intervals": [5, 10]}}, ["[0, 5)", "[4, 7]"], ["[0, 5)", "[4, 7]"]),
        ({"hierarchy": {"intervals": [5, 10]}}, ["[0, 5)", "[0, 10)"], ["[0, 10)", "[0, 5)"]),
        ({"hierarchy": {"intervals": [5, 10]}}, ["[0, 5)", "{4, 99}"], ["[0, 5)", "{4, 99}"]),
        ({"hierarchy": {"intervals": [5], "top": 9}}, [">=9", "[5, 8]", None], []),
        ({"hierarchy": {"intervals": [5], "top": 9}}, [">=9", "{8, 9}"], [">=9", "{8, 9}"]),
        ({"hierarchy": {"intervals": [5, 10]}, "boundary": ["[0, 5)", "7"]}, ["[0, 10)", "[0, 5)", "7", "*"], []),
        ({"hierarchy": {"intervals": [5, 10]}, "boundary": ["7"]}, ["[0, 4]", "3"], ["3", "[0, 4]"]),
        ({"hierarchy": {"dates": ["month"]}}, ["2024-02", "{2024-03-01, 2024-01-31}"], []),
        (
            {"hierarchy": {"dates": ["month"]}},
            ["2024-02", "{2024-03-01, 2024-02-29}"],
            ["2024-02", "{2024-03-01, 2024-02-29}"],
        ),
        ({"hierarchy": {"tree": REGIONS}}, ["South", "{Norway, Peru}", "Canada", "*"], []),
        ({"hierarchy": {"tree": REGIONS}}, ["South", "{Italy, Peru}"], ["South", "{Italy, Peru}"]),
        ({"hierarchy": {"tree": REGIONS}}, ["Europe", "North"], ["Europe", "North"]),
        ({"hierarchy": {"tree": REGIONS}, "boundary": ["South"]}, ["Europe", "South", "{Canada, Peru}"], []),
        (
            {"hierarchy": {"tree": REGIONS}, "boundary": ["South"]},
            ["Europe", "{Norway, Peru}"],
            ["Europe", "{Norway, Peru}"],
        ),
        ({"hierarchy": {"mask": "right"}}, ["47*", "471", "{481, 482}"], []),  # not judged
        ({"hierarchy": {"mask": "right"}}, ["481", "{481, 482}"], ["481", "{481, 482}"]),
        ({"hierarchy": {"fanout": 2}}, ["[a, c]", "{b, d}", "e"], []),  # not judged
        ({"hierarchy": {"fanout": 2}, "order": "numeric"}, ["[1, 3]", "{2, 4}"], ["[1, 3]", "{2, 4}"]),
        ({"hierarchy": {"fanout": 2}, "order": "numeric", "boundary": ["2"]}, ["[1, 3]", "2"], []),
    ],
)
def test_values_under_two_labels(
    attribute: dict[str, Any], labels: list[str | None], sharing: list[str | None]
) -> None:
    spec = in_blocks(**attribute)
    table = pa.table({"q": pa.array(labels, pa.string())})
    findings = audited(table, spec).findings
    assert [finding.rule for finding in findings] == ["recoding"] * bool(sharing)
    assert all(finding.rows == len(sharing) for finding in findings)
    assert grammar("q", spec, [*filter(None, labels)]).sharing(labels) == {*sharing}


# Releases in blocks, and what becomes of them when a label is damaged


SCHEMES = ["cut", "ordered", "set", "guided-ordered", "guided-set"]


def released(case: Case, scheme: str, k: int, **method: Any) -> tuple[pa.Table, Spec] | None:
    """Return a release and its specification; None where there is none."""
    spec = with_parts(case.spec, privacy={"k": k}, method={"scheme": scheme, "search": "bottom-up", **method})
    try:
        return rf.anonymize(case.table, spec).table, spec
    except (SpecError, Unsatisfiable):  # an order that tears a node apart, a scheme that needs a hierarchy
        return None


def with_cell(table: pa.Table, name: str, row: int, label: str) -> pa.Table:
    """Return a table of text with one cell changed."""
    cells = [None if cell is None else str(cell) for cell in table[name].to_pylist()]
    cells[row] = label
    return table.set_column(table.column_names.index(name), name, pa.array(cells, pa.string()))


@given(st.data())
def test_releases_pass_and_damaged_ones_do_not(data: st.DataObject) -> None:
    """Braces around any label make no label: a set within a set, or a set of one."""
    case = data.draw(st.one_of(cases(max_rows=5), scheme_cases()))
    limits = {"suppression": data.draw(st.sampled_from([0, 0.3, 1])), "keep_suppressed": data.draw(st.booleans())}
    found = released(case, data.draw(st.sampled_from(SCHEMES)), data.draw(st.integers(1, 4)), **limits)
    if found is None:
        return
    table, spec = found
    verdict = rf.audit(table, spec)
    assert rules(verdict) == []
    name, row = data.draw(st.sampled_from(spec.of_role("quasi"))), data.draw(st.integers(0, table.num_rows - 1))
    label = table[name].to_pylist()[row]
    damaged = rf.audit(with_cell(table, name, row, "{" + ("null" if label is None else str(label)) + "}"), spec)
    free = spec.attributes[name].hierarchy in (None, "flat") and spec.scheme_of(name) == "cut"
    assert "labels" in rules(damaged) or free, label


@given(scheme_cases(max_rows=12, most=(6,)), st.sampled_from(["ordered", "set"]))
def test_a_value_that_wandered_into_another_block_is_found(case: Case, scheme: str) -> None:
    """Of two labels that name their values, one value each makes a set that shares with both."""
    found = released(case, scheme, 2)
    if found is None:
        return
    table, spec = found
    labels = [label and str(label) for label in table["q0"].to_pylist()]
    form = grammar("q0", spec, filter(None, labels))
    named = {label: as_set(label) or (label,) for label in labels if label and (as_set(label) or form.is_value(label))}
    if len(named) < 2:
        return
    (one, *_), (other, *_) = [*named.values()][:2]
    moved = rf.audit(with_cell(table, "q0", 0, spelled_set([one, other])), spec)
    assert "recoding" in rules(moved)


ODD = [
    ["a", "a, b", 'say "x"', "{a}", "{a, c}"],
    ["[1, 2]", "(", "back\\slash", " padded ", " "],
    ["null", "NULL", "01", "1", "1.0"],
    ["日本", "ä\n", "\t", "'", "*a"],
]


@pytest.mark.parametrize("scheme", ["ordered", "set"])
@pytest.mark.parametrize("values", ODD)
@pytest.mark.parametrize("stated", [False, True])
def test_odd_values_in_sets_are_read_back(scheme: str, values: list[str], stated: bool) -> None:
    attribute = {"role": "quasi"} | ({"hierarchy": {"paths": [[value] for value in values]}} if stated else {})
    spec = Spec(attributes={"q": attribute}, privacy={"k": 3}, method={"scheme": scheme, "suppression": 0})
    release = rf.anonymize(pa.table({"q": [*values, None]}), spec)
    assert rules(release.audit) == []
    assert rules(rf.audit(release.table, spec)) == []
    labels = {*release.table["q"].to_pylist()}
    assert len(labels) == 2
    assert {*(value for label in labels for value in as_set(label) or ())} == {*values, None}


@given(st.lists(st.one_of(st.none(), st.text(max_size=5)), min_size=2, max_size=6, unique=True))
def test_any_texts_in_a_set_are_read_back(values: list[str | None]) -> None:
    assert as_set(spelled_set(values)) == tuple(values)


BLOCKS = Spec(
    attributes={
        "age": {"role": "quasi", "order": "numeric", "scheme": "ordered"},
        "place": {"role": "quasi", "hierarchy": {"tree": REGIONS}, "boundary": ["Europe"]},
        "job": {"role": "quasi"},
        "seen": {"role": "quasi", "hierarchy": {"dates": ["month", "year"]}, "scheme": "cut"},
    },
    data={"missing": "error"},
    privacy={"k": 2},
    method={"scheme": "set"},
)
BLOCK_ROWS: list[Row] = [
    ("[20, 34]", "{Italy, Norway}", "cook", "2024-03"),
    ("35", "{Canada, Peru}", "{doctor, nurse}", "2024-03"),
    ("[36, 64]", "Spain", "{baker, \"tinker, tailor\"}", "2024-02"),
]  # fmt: skip


def relaxed_k(spec: Spec) -> Spec:
    """Return the specification with k = 1."""
    return with_parts(spec, privacy={"k": 1})


@pytest.mark.parametrize(
    ("column", "label", "rule", "words"),
    [
        ("age", "[34, 20]", "labels", "no label of its scheme 'ordered'; allowed: a number, '*', '[low, high]'"),
        ("age", "[20, 34", "labels", "'[20, 34'"),
        ("age", "{20, old}", "labels", "'{a, b}' of two or more different values"),
        ("age", "[30, 35]", "recoding", "'[20, 34]' (1 row), '[30, 35]' (1 row), which share values"),
        ("age", "{35, 99}", "recoding", "'35' (2 rows), '{35, 99}' (1 row)"),
        ("place", "{Italy}", "labels", "'{Italy}' (1 row)"),
        ("place", "{Italy, Chile}", "labels", "the labels of its hierarchy"),
        ("place", "{Italy, null}", "labels", "the labels of its hierarchy"),
        ("place", "{Norway, Italy}", "recoding", "which share values; by the scheme 'set' each value has one label"),
        ("place", "South", "recoding", "'Spain' (2 rows)"),
        ("job", "{cook}", "labels", "allowed: a value, '*'"),
        ("job", "{cook, nurse}", "recoding", "'{cook, nurse}' (1 row)"),
        ("seen", "{2024-01-01, 2024-01-02}", "labels", "no label of its hierarchy"),
    ],
)
def test_planted_blocks(column: str, label: str, rule: str, words: str) -> None:
    names = list(BLOCKS.attributes)
    table = text_table(names, BLOCK_ROWS * 2)
    assert rules(rf.audit(table, BLOCKS)) == []
    damaged = rf.audit(with_cell(table, column, 0, label), relaxed_k(BLOCKS))
    (finding,) = damaged.findings
    assert finding.rule == rule
    assert words in finding.message
    assert label in str(damaged)


def test_a_planted_block_across_a_boundary() -> None:
    table = text_table([*BLOCKS.attributes], [("35", "{Spain, Peru}", "cook", "2024"), ("35", "Italy", "cook", "2024")])
    (finding,) = rf.audit(table, relaxed_k(BLOCKS)).findings
    assert (finding.rule, finding.rows) == ("boundary", 1)
    assert finding.message.endswith(
        "'{Spain, Peru}' (1 row), which is past its boundary; allowed: nothing above 'Europe'"
    )
    assert finding.example["place"] == "{Spain, Peru}"


@pytest.mark.parametrize(
    ("attribute", "good", "past", "damaged"),
    [
        (
            {"hierarchy": {"dates": ["year", "decade"]}, "boundary": ["1960s", "1965"]},
            [
                "{[1961-02-03, 1964-12-28], [1966-01-19, 1969-10-28]}",
                "{1964-12-28, [1966-01-19, 1969-10-28]}",
                "{[1950-01-01, 1959-12-31], [1970-01-01, 1971-01-01], null}",
            ],
            [
                "[1961-02-03, 1969-10-28]",  # over all of 1965
                "{[1961-02-03, 1965-01-01], [1966-01-19, 1969-10-28]}",
                "{[1961-02-03, 1964-12-28], 1965-03-01, [1966-01-19, 1969-10-28]}",
                "{[1950-01-01, 1961-12-31], [1966-01-19, 1969-10-28]}",
                "{[1950-01-01, 1971-12-31], [1980-01-19, 1989-10-28]}",  # over all of the sixties
                "{[1961-02-03, 1964-12-28], [1966-01-19, 1969-10-28], null}",
            ],
            [
                "{[1966-01-19, 1969-10-28], [1961-02-03, 1964-12-28]}",
                "{[1961-02-03, 1966-12-28], [1966-01-19, 1969-10-28]}",
                "{[1961-02-03, 1961-02-03], [1966-01-19, 1969-10-28]}",
                "{[1961-02-03, 1964-12-28],[1966-01-19, 1969-10-28]}",
                "{[1961-02-03, 1964-12-28], null, [1966-01-19, 1969-10-28]}",
                "{[1961-02-03, 1964-12-28], x}",
                '{["1961-02-03", 1964-12-28], [1966-01-19, 1969-10-28]}',
            ],
        ),
        (
            {"hierarchy": {"intervals": [10, 20]}, "boundary": ["[0, 20)", "[10, 20)"]},
            ["{[20, 29], [40, 44]}", "{5, [7, 9]}", "{[-5, -1], [20, 44], null}"],
            ["{[7, 11], [20, 30]}", "{[-5, -1], [3, 5]}", "{[-5, 33], [40, 44]}"],
            ["{[20, 29], [29, 44]}", "{[20, 29], [40, 44)}", "{[020, 29], [40, 44]}"],
        ),
    ],
)
@pytest.mark.parametrize("method", [{"scheme": "ordered"}, {"name": "local"}], ids=str)
def test_ranges_on_both_sides_of_what_a_boundary_keeps_out(
    method: dict[str, Any], attribute: dict[str, Any], good: list[str], past: list[str], damaged: list[str]
) -> None:
    spec = Spec(attributes={"q": {"role": "quasi", **attribute}}, method=method)
    for label in good:
        form = grammar("q", spec, [label])
        assert (form.reads(label), form.passes(label)) == (True, False), label
        shared = {label, label.split(", ")[0].strip("{[")}
        assert form.sharing(shared) == (shared if "scheme" in method else set())
    for label in past:
        form = grammar("q", spec, [label])
        assert (form.reads(label), form.passes(label)) == (True, True), label
    for label in damaged:
        assert not grammar("q", spec, [label]).reads(label), label
    free = Spec(attributes={"q": {"role": "quasi", **attribute, "boundary": None}}, method=method)
    for label in good:
        assert not grammar("q", free, [label]).reads(label), "no boundary, nothing to leave out"
