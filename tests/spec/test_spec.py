"""The specification: what it accepts, what it refuses and how, and that it survives TOML unchanged."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.declared import METHODS, METRICS, SCHEMES
from ringfence.errors import SpecError
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute, BoundaryLevel
from ringfence.spec.hierarchies import (
    MOST_DEEP,
    DateHierarchy,
    FanoutHierarchy,
    IntervalHierarchy,
    MaskHierarchy,
    TreeHierarchy,
)
from ringfence.spec.privacy import Diversity

REFERENCE = """
[data]
source = "adult.csv"
delimiter = ";"
unlisted = "error"
missing = "value"
missing_values = ["", "?"]
entity = "patient"
weights = "survey_weight"
basket_id = "receipt"
memory_limit = "4GB"

[attributes.age]
role = "quasi"
hierarchy = { intervals = [5, 10, 20], from = 0, bottom = 18, top = 85 }
order = "numeric"
scheme = "ordered"
weight = 2.0
[attributes.education]
role = "quasi"
hierarchy = { file = "education.csv" }
boundary = ["Higher education"]
[attributes.zip]
role = "quasi"
hierarchy = { mask = "right" }
[attributes.seen]
role = "quasi"
hierarchy = { dates = ["month", "year", "decade"] }
[attributes.country]
role = "quasi"
hierarchy = { tree = { Europe = ["France", "Italy"], America = ["Canada", "Peru"] } }
[attributes.illness]
role = "sensitive"
diversity_weight = 0.4
[attributes.basket]
role = "items"
separator = " "
hierarchy = { fanout = 5 }
[attributes.salary]
role = "insensitive"

[privacy]
k = 5
l = { value = 3, kind = "distinct", of = "illness" }
p = 2
t = { value = 0.2, of = "illness" }
m = 2

[method]
name = "optimal"
scheme = "set"
search = "auto"
metric = "dm"
suppression = 0.01
keep_suppressed = false
target = "salary"
partition = "lexicographic"
homogeneous = false
representation = "set"
effort = "good"
ties = "best"
max_group = 50000
time_limit = 60
seed = 7

[purpose]
counts = [["age", "salary"], ["country"]]
predict = ["salary"]
describe = "labour market statistics"

[frontier]
algorithm = "exact"
points = "release"
depth = "average"
"""

QUASI = {"role": "quasi"}
PEOPLE = {"age": QUASI, "sex": QUASI, "illness": {"role": "sensitive"}}


def make(**parts: Any) -> Spec:
    """Return a spec with the given parts, over three plain attributes unless others are given."""
    return Spec(**{"attributes": PEOPLE, **parts})


def attribute(**keys: Any) -> Attribute:
    """Return a quasi-identifier with the given keys, as a spec reads it."""
    return make(attributes={"a": {**QUASI, **keys}}).attributes["a"]


def refusal(**parts: Any) -> str:
    """Return the message with which a spec is refused."""
    with pytest.raises(SpecError) as caught:
        make(**parts)
    return str(caught.value)


def as_written(spec: Spec) -> str:
    """Return all that a spec says, in its order: of attributes, since it breaks ties, and of leaves."""
    return json.dumps(spec.model_dump())


# What is accepted


def test_every_key_of_the_reference_is_read_as_it_stands() -> None:
    spec = Spec.loads(REFERENCE)
    assert spec.data.missing_values == ["", "?"]
    assert (spec.data.entity, spec.data.weights, spec.data.basket_id) == ("patient", "survey_weight", "receipt")
    age = spec.attributes["age"]
    assert isinstance(age.hierarchy, IntervalHierarchy)
    assert (age.hierarchy.intervals, age.hierarchy.start) == ([5, 10, 20], 0)
    assert (age.hierarchy.bottom, age.hierarchy.top) == (18, 85)
    assert (age.order, age.scheme, age.weight) == ("numeric", "ordered", 2.0)
    assert spec.attributes["education"].boundary == ["Higher education"]
    assert spec.attributes["zip"].hierarchy == MaskHierarchy(mask="right")
    assert spec.attributes["seen"].hierarchy == DateHierarchy(dates=["month", "year", "decade"])
    tree = {"Europe": ["France", "Italy"], "America": ["Canada", "Peru"]}
    assert spec.attributes["country"].hierarchy == TreeHierarchy(tree=tree)
    assert spec.attributes["illness"].diversity_weight == 0.4
    assert spec.attributes["basket"].hierarchy == FanoutHierarchy(fanout=5)
    assert spec.privacy.l == Diversity(value=3, kind="distinct", of="illness")
    assert (spec.privacy.k, spec.privacy.p, spec.privacy.m) == (5, 2, 2)
    assert (spec.method.suppression, spec.method.time_limit, spec.method.seed) == (0.01, 60, 7)
    assert (spec.purpose.counts, spec.purpose.predict) == ([["age", "salary"], ["country"]], ["salary"])
    assert spec.purpose.describe == "labour market statistics"


def test_the_reference_survives_a_round_trip() -> None:
    spec = Spec.loads(REFERENCE)
    assert Spec.loads(spec.dumps()) == spec


@pytest.mark.parametrize(
    ("part", "keys"),
    [
        ("data", {"unlisted": "drop"}),
        ("data", {"unlisted": "publish"}),
        ("data", {"missing": "suppress"}),
        ("data", {"missing": "error"}),
        ("data", {"source": "postgres://host/base", "table": "people"}),
        ("privacy", {"k": 10**30}),
        ("privacy", {"l": 3}),
        ("privacy", {"l": {"value": 2.5, "kind": "entropy"}}),
        ("privacy", {"l": {"value": 3, "kind": "recursive", "c": 2.0, "of": "illness"}}),
        ("privacy", {"t": 0.2}),
        ("method", {"name": "levels", "levels": {"age": 2, "sex": 0}}),
        ("method", {"suppression": 0}),
        ("method", {"suppression": 1}),
        ("method", {"keep_suppressed": True}),
        ("frontier", {"algorithm": "poka", "points": "nodes"}),
        ("frontier", {"depth": 3}),
        ("purpose", {"counts": [["age"], ["sex", "age", "illness"]]}),
        ("purpose", {"predict": ["illness"], "describe": "teaching"}),
    ]
    + [
        ("method", {"name": name, "search": search})
        for name, method in METHODS.items()
        for search in method.searches
        if "levels" not in method.options
    ]
    + [("method", {"scheme": s}) for s in SCHEMES]
    + [("method", {"metric": m}) for m in METRICS]
    + [("method", {"partition": p}) for p in ("lexicographic", "hilbert", "mondrian", "cluster", "local")]
    + [("method", {"representation": r}) for r in ("set", "range", "hierarchy")]
    + [("method", {"effort": e}) for e in ("fast", "good", "best")]
    + [("method", {"ties": t}) for t in ("best", "paper")],
)
def test_each_allowed_value_is_accepted_and_survives_a_round_trip(part: str, keys: dict[str, Any]) -> None:
    spec = make(**{part: keys})
    given_back = Spec.loads(spec.dumps())
    assert given_back == spec
    assert getattr(given_back, part).model_dump(exclude_unset=True) == getattr(spec, part).model_dump(
        exclude_unset=True
    )


@pytest.mark.parametrize("role", ["identifier", "quasi", "sensitive", "insensitive", "items"])
def test_each_role_is_accepted(role: str) -> None:
    assert make(attributes={"a": {"role": role}}).of_role(role) == ["a"]  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["numeric", "lexical", ["low", "mid", "high"]])
def test_each_kind_of_order_is_accepted(order: Any) -> None:
    assert attribute(order=order).order == order


def test_a_boundary_is_a_list_of_labels_or_a_level() -> None:
    assert attribute(hierarchy="flat", boundary=["a", "b"]).boundary == ["a", "b"]
    assert attribute(hierarchy={"mask": "left"}, boundary={"level": 2}).boundary == BoundaryLevel(level=2)


def test_without_a_limit_levels_suppresses_nothing_and_other_methods_anything() -> None:
    assert make(method={"name": "levels", "levels": {"age": 1}}).method.suppression_limit == 0
    assert make(method={"name": "optimal"}).method.suppression_limit == 1
    assert make(method={"suppression": 0.25}).method.suppression_limit == 0.25


def test_attributes_keep_their_order() -> None:
    names = ["z", "a", "m", "b"]
    spec = make(attributes=dict.fromkeys(names, QUASI))
    assert spec.of_role("quasi") == names
    assert Spec.loads(spec.dumps()).of_role("quasi") == names


def test_l_and_t_are_about_the_only_sensitive_attribute_unless_they_name_one() -> None:
    spec = make(privacy={"l": 3, "t": 0.5})
    assert [(part.value, part.of) for part in spec.diversities()] == [(3, "illness")]
    assert [(part.value, part.of) for part in spec.closenesses()] == [(0.5, "illness")]
    two = {"illness": {"role": "sensitive"}, "salary": {"role": "sensitive"}}
    spec = make(attributes=two, privacy={"l": [{"value": 2, "of": "salary"}, {"value": 3, "of": "illness"}]})
    assert [(part.value, part.of) for part in spec.diversities()] == [(2, "salary"), (3, "illness")]


def test_specs_that_differ_in_a_value_are_not_equal() -> None:
    assert make(privacy={"k": 2}) != make(privacy={"k": 3})
    assert make() != PEOPLE


# What is refused


@pytest.mark.parametrize(
    ("parts", "unknown", "near"),
    [
        ({"privcy": {"k": 2}}, "privcy", "privacy"),
        ({"data": {"delimeter": ";"}}, "delimeter", "delimiter"),
        ({"attributes": {"a": {"rolle": "quasi"}}}, "rolle", "role"),
        ({"attributes": {"a": {**QUASI, "hierachy": "flat"}}}, "hierachy", "hierarchy"),
        ({"attributes": {"a": {**QUASI, "hierarchy": {"intervals": [5], "bottm": 1}}}}, "bottm", "bottom"),
        ({"attributes": {"a": {**QUASI, "hierarchy": {"interval": [5]}}}}, "interval", "intervals"),
        ({"attributes": {"a": {**QUASI, "hierarchy": "flat", "boundary": {"levl": 1}}}}, "levl", "level"),
        ({"privacy": {"l": {"valu": 3}}}, "valu", "value"),
        ({"privacy": {"t": {"value": 0.1, "off": "illness"}}}, "off", "of"),
        ({"method": {"metrik": "dm"}}, "metrik", "metric"),
        ({"frontier": {"algoritm": "exact"}}, "algoritm", "algorithm"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(parts: Any, unknown: str, near: str) -> None:
    message = refusal(**parts)
    assert repr(unknown) in message
    assert repr(near) in message


def test_an_unknown_key_that_python_uses_itself_is_refused_like_any_other() -> None:
    with pytest.raises(SpecError, match="'self'"):
        Spec.loads("self = 1\n[attributes.a]\nrole = 'quasi'")


@pytest.mark.parametrize(
    ("parts", "key", "value", "allowed"),
    [
        ({"privacy": {"k": -1}}, "privacy.k", "-1", "1"),
        ({"privacy": {"k": 0}}, "privacy.k", "0", "1"),
        ({"privacy": {"k": "5"}}, "privacy.k", "'5'", "a whole number"),
        ({"privacy": {"k": 2.5}}, "privacy.k", "2.5", "a whole number"),
        ({"privacy": {"k": True}}, "privacy.k", "True", "a whole number"),
        ({"privacy": {"l": 0}}, "privacy.l", "0", "from 1"),
        ({"privacy": {"l": {"value": 0}}}, "privacy.l.value", "0", "1"),
        ({"privacy": {"l": {"value": 3, "kind": "distinkt"}}}, "privacy.l.kind", "'distinkt'", "'recursive'"),
        ({"privacy": {"l": {"value": 3, "of": "age"}}}, "privacy.l.of", "'age'", "illness"),
        ({"privacy": {"l": {"value": 3, "of": "ilness"}}}, "privacy.l.of", "'ilness'", "'illness'"),
        ({"privacy": {"t": 1.5}}, "privacy.t", "1.5", "0 to 1"),
        ({"privacy": {"t": {"value": -0.5}}}, "privacy.t.value", "-0.5", "0"),
        ({"privacy": {"t": {"value": 0.5, "of": "age"}}}, "privacy.t.of", "'age'", "illness"),
        ({"privacy": {"p": 0}}, "privacy.p", "0", "1"),
        ({"privacy": {"m": 0}}, "privacy.m", "0", "1"),
        ({"method": {"suppression": 5}}, "method.suppression", "5", "1"),
        ({"method": {"suppression": -0.1}}, "method.suppression", "-0.1", "0"),
        ({"method": {"suppression": "1%"}}, "method.suppression", "'1%'", "number"),
        ({"method": {"suppression": float("nan")}}, "method.suppression", "nan", "number"),
        ({"method": {"name": "optimum"}}, "method.name", "'optimum'", "'optimal'"),
        ({"method": {"scheme": "sett"}}, "method.scheme", "'sett'", "'set'"),
        ({"method": {"metric": "DM"}}, "method.metric", "'DM'", "'dm'"),
        ({"method": {"search": "sideways"}}, "method.search", "'sideways'", "'bottom-up'"),
        ({"method": {"effort": "much"}}, "method.effort", "'much'", "'best'"),
        ({"method": {"time_limit": 0}}, "method.time_limit", "0", "greater than 0"),
        ({"method": {"target": "salery"}}, "method.target", "'salery'", "illness"),
        ({"method": {"name": "levels", "levels": {"ages": 1}}}, "method.levels", "'ages'", "'age'"),
        ({"method": {"name": "levels", "levels": {"age": -1}}}, "method.levels.age", "-1", "0"),
        ({"data": {"unlisted": "keep"}}, "data.unlisted", "'keep'", "'publish'"),
        ({"data": {"missing": "ignore"}}, "data.missing", "'ignore'", "'suppress'"),
        ({"data": {"missing_values": "?"}}, "data.missing_values", "'?'", "list"),
        ({"data": {"memory_limit": "lots"}}, "data.memory_limit", "'lots'", "4GB"),
        ({"data": {"source": ""}}, "data.source", "''", "not empty"),
        ({"data": {"source": "a\0"}}, "data.source", r"'a\x00'", "zero byte"),
        ({"data": {"encoding": "\0"}}, "data.encoding", r"'\x00'", "zero byte"),
        ({"data": {"delimiter": ""}}, "data.delimiter", "''", "one to four"),
        ({"data": {"delimiter": "\n"}}, "data.delimiter", r"'\n'", "line break"),
        ({"data": {"delimiter": "\0"}}, "data.delimiter", r"'\x00'", "zero"),
        ({"data": {"delimiter": "€€"}}, "data.delimiter", "'€€'", "bytes"),
        ({"data": {"quote": " "}}, "data.quote", "' '", "no blank"),
        ({"data": {"quote": "«"}}, "data.quote", "'«'", "ASCII"),
        ({"data": {"quote": "\n"}}, "data.quote", r"'\n'", "no blank"),
        ({"output": {"to": "a\0"}}, "output.to", r"'a\x00'", "zero byte"),
        ({"privacy": {"l": {"value": 2, "of": ""}}}, "privacy.l.of", "''", "not empty"),
        ({"frontier": {"algorithm": "fast"}}, "frontier.algorithm", "'fast'", "'exact'"),
        ({"frontier": {"depth": 0}}, "frontier.depth", "0", "average"),
        ({"purpose": {"counts": [["age", "sx"]]}}, "purpose.counts", "'sx'", "'sex'"),
        ({"purpose": {"counts": "age"}}, "purpose.counts", "'age'", "list"),
        ({"purpose": {"predict": ["age"]}}, "purpose.predict", "'age'", "illness"),
        ({"purpose": {"predict": []}}, "purpose.predict", "[]", "at least 1"),
    ],
)
def test_a_bad_value_is_refused_by_key_value_and_what_is_allowed(
    parts: Any, key: str, value: str, allowed: str
) -> None:
    message = refusal(**parts)
    assert f"{key} = {value}" in message
    assert allowed in message.replace(f"{key} = {value}", "")


@pytest.mark.parametrize(
    ("keys", "key", "value", "allowed"),
    [
        ({"role": "quazi"}, "role", "'quazi'", "'identifier', 'quasi', 'sensitive', 'insensitive' or 'items'"),
        ({"role": 1}, "role", "1", "'quasi'"),
        ({"order": "alphabetic"}, "order", "'alphabetic'", "lexical"),
        ({"order": []}, "order", "[]", "lexical"),
        ({"order": ["a", "a"]}, "order", "['a', 'a']", "once"),
        ({"order": [1, 2]}, "order", "[1, 2]", "list"),
        ({"scheme": "levels"}, "scheme", "'levels'", "'level'"),
        ({"weight": 0}, "weight", "0", "greater than 0"),
        ({"weight": float("inf")}, "weight", "inf", "number"),
        ({"hierarchy": "flatt"}, "hierarchy", "'flatt'", '"flat"'),
        ({"hierarchy": {"mask": "up"}}, "hierarchy.mask", "'up'", "'right' or 'left'"),
        ({"hierarchy": {"fanout": 1}}, "hierarchy.fanout", "1", "2"),
        ({"hierarchy": {"intervals": []}}, "hierarchy.intervals", "[]", "at least 1"),
        ({"hierarchy": {"intervals": [5, 0]}}, "hierarchy.intervals.1", "0", "greater than 0"),
        ({"hierarchy": {"intervals": [5], "top": "old"}}, "hierarchy.top", "'old'", "number"),
        ({"hierarchy": {"dates": ["week"]}}, "hierarchy.dates.0", "'week'", "'month'"),
        ({"hierarchy": {"file": ""}}, "hierarchy.file", "''", "not empty"),
        ({"hierarchy": "flat", "boundary": []}, "boundary", "[]", "labels"),
        ({"hierarchy": "flat", "boundary": {"level": -1}}, "boundary.level", "-1", "0"),
    ],
)
def test_a_bad_value_of_an_attribute_is_refused_by_key_value_and_what_is_allowed(
    keys: Any, key: str, value: str, allowed: str
) -> None:
    stated = f"attributes.age.{key} = {value}"
    message = refusal(attributes={"age": {**QUASI, **keys}})
    assert stated in message
    assert allowed in message.replace(stated, "")


@pytest.mark.parametrize("name", ["int", "float", "Diversity", "list[x"])
def test_an_error_names_the_column_whatever_it_is_called(name: str) -> None:
    assert f"attributes.{name}.role" in refusal(attributes={name: {"role": "quazi"}})


@pytest.mark.parametrize("hierarchy", [{"mask": "right", "fanout": 3}, {"intervals": [5], "dates": ["year"]}])
def test_two_kinds_of_hierarchy_at_once_are_refused(hierarchy: Any) -> None:
    message = refusal(attributes={"zip": {**QUASI, "hierarchy": hierarchy}})
    assert "attributes.zip.hierarchy" in message
    assert "exactly one" in message
    assert all(kind in message for kind in hierarchy)


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"role": "identifier", "hierarchy": "flat"}, "hierarchy"),
        ({"role": "insensitive", "order": "numeric"}, "order"),
        ({"role": "sensitive", "scheme": "cut"}, "scheme"),
        ({"role": "quasi", "diversity_weight": 0.5}, "diversity_weight"),
        ({"role": "quasi", "separator": " "}, "separator"),
    ],
)
def test_a_key_of_another_role_is_refused(keys: Any, key: str) -> None:
    message = refusal(attributes={"a": keys})
    assert "attributes.a" in message
    assert repr(key) in message
    assert repr(keys["role"]) in message


def test_a_boundary_without_a_hierarchy_is_refused() -> None:
    message = refusal(attributes={"a": {**QUASI, "boundary": ["x"]}})
    assert "attributes.a" in message
    assert "needs a hierarchy" in message


def test_dates_are_on_a_line_whatever_says_that_they_are_dates() -> None:
    for says in ({"hierarchy": {"dates": ["year"]}}, {"format": "%d.%m.%Y"}, {"format": ["iso", "%d/%m/%y"]}):
        for order in ({}, {"order": "numeric"}):
            attribute = rf.Spec(attributes={"seen": {**QUASI, **says, **order}}).attributes["seen"]
            assert (attribute.dates, attribute.measured, attribute.numeric) == (True, True, False)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"format": "%d.%m"}, "names neither year, month and day nor a time of day"),
        ({"format": "%m/%Y"}, "names neither year, month and day nor a time of day"),
        ({"format": "%M:%S"}, "names neither year, month and day nor a time of day"),
        ({"format": ["%H:%M", "%d.%m.%Y"]}, "a column holds either"),
        ({"format": ["%d.%m.%Y", "%Q"]}, "%Q means nothing"),
        ({"format": 5}, "allowed: 'iso'"),
        ({"format": []}, "allowed: 'iso'"),
        ({"format": "iso", "hierarchy": {"intervals": [5]}}, "intervals are of numbers"),
        ({"representation": "hierarchy"}, "needs a hierarchy"),
        ({"representation": "list"}, "allowed: 'set', 'range' or 'hierarchy'"),
    ],
)
def test_odd_formats_and_representations_are_refused(keys: dict[str, Any], words: str) -> None:
    message = refusal(attributes={"seen": {**QUASI, **keys}})
    assert message.startswith("attributes.seen")
    assert words in message


def test_recursive_diversity_and_c_go_together() -> None:
    for diversity in ({"value": 3, "kind": "recursive"}, {"value": 3, "kind": "distinct", "c": 2}):
        message = refusal(privacy={"l": diversity})
        assert "privacy.l" in message
        assert "'c'" in message
        assert "'recursive'" in message


def test_only_entropy_diversity_may_be_a_fraction() -> None:
    message = refusal(privacy={"l": {"value": 2.5}})
    assert "privacy.l" in message
    assert "whole number" in message


@pytest.mark.parametrize(
    ("privacy", "key", "needed"),
    [
        ({"p": 2}, "privacy.p", "sensitive"),
        ({"l": 2}, "privacy.l", "sensitive"),
        ({"t": 0.2}, "privacy.t", "sensitive"),
        ({"m": 2, "k": 5}, "privacy.m", "items"),
    ],
)
def test_a_promise_about_attributes_that_are_not_there_is_refused(privacy: Any, key: str, needed: str) -> None:
    message = refusal(attributes={"age": QUASI}, privacy=privacy)
    assert key in message
    assert needed in message


@pytest.mark.parametrize("counts", [[[]], [["age", "age"]], [["age"], ["age", "sex", "illness", "town"]]])
def test_tables_of_a_purpose_have_one_to_three_different_attributes(counts: Any) -> None:
    message = refusal(purpose={"counts": counts})
    assert "purpose: 'counts' has" in message
    assert "one to three different attributes" in message


def test_what_is_to_be_predicted_needs_quasi_identifiers() -> None:
    assert "purpose.predict" in refusal(attributes={"ill": {"role": "sensitive"}}, purpose={"predict": ["ill"]})


def test_m_without_k_is_refused() -> None:
    assert "privacy.k" in refusal(attributes={"basket": {"role": "items"}}, privacy={"m": 2})


def test_with_two_sensitive_attributes_l_must_name_one() -> None:
    message = refusal(attributes={"a": {"role": "sensitive"}, "b": {"role": "sensitive"}}, privacy={"l": 2})
    assert "privacy.l" in message
    assert "a, b" in message


def test_levels_belong_to_the_method_of_that_name() -> None:
    assert "'levels'" in refusal(method={"name": "optimal", "levels": {"age": 1}})
    assert "'levels'" in refusal(method={"name": "levels"})


def test_ordered_distance_needs_an_order() -> None:
    message = refusal(privacy={"t": {"value": 0.2, "of": "illness", "distance": "ordered"}})
    assert "privacy.t.distance" in message
    assert "attributes.illness.order" in message


def test_a_second_attribute_of_items_is_refused() -> None:
    assert "a, b" in refusal(attributes={"a": {"role": "items"}, "b": {"role": "items"}})


@pytest.mark.parametrize("attributes", [{}, {"a": {}}, {"a": "quasi"}, 3])
def test_attributes_without_a_role_are_refused(attributes: Any) -> None:
    assert "attributes" in refusal(attributes=attributes)


def test_a_spec_without_attributes_is_refused() -> None:
    with pytest.raises(SpecError, match="attributes is missing"):
        Spec.loads("[privacy]\nk = 2")


# Files and folders


def test_invalid_toml_is_refused_with_the_file_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("[privacy]\nk = \n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"broken\.toml.*not valid TOML.*line 2"):
        Spec.load(path)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.toml"):
        Spec.load(tmp_path / "nowhere.toml")


def test_a_folder_or_binary_file_in_place_of_a_spec_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00\x80")
    for path in (tmp_path, binary):
        with pytest.raises(SpecError, match=path.name):
            Spec.load(path)


def test_paths_are_relative_to_the_folder_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    make().dump(folder / "a.toml")
    spec = Spec.load(folder / "a.toml")
    assert spec.locate("tree.csv") == folder / "tree.csv"
    assert spec.locate(str(tmp_path / "tree.csv")) == tmp_path / "tree.csv"
    assert Spec.load(str(folder / "a.toml")).locate("tree.csv") == folder / "tree.csv"


def test_paths_of_a_spec_made_in_python_are_relative_to_the_working_folder(tmp_path: Path) -> None:
    assert make().locate("tree.csv") == Path("tree.csv")
    assert make().at(tmp_path).locate("tree.csv") == tmp_path / "tree.csv"


def test_at_leaves_the_spec_it_is_called_on_as_it_was(tmp_path: Path) -> None:
    spec = make()
    moved = spec.at(tmp_path)
    assert spec.locate("x") == Path("x")
    assert moved == spec


def test_a_dumped_spec_loads_as_the_same(tmp_path: Path) -> None:
    spec = Spec.loads(REFERENCE)
    spec.dump(tmp_path / "a.toml")
    assert Spec.load(tmp_path / "a.toml") == spec


# Round trips


ODD_NAMES = 'two words|a "quoted" name|it\'s|a.b.c|| |Größe|年齢|возраст|السن|a\tb|a\nb|#|=|[x]|\\'


@pytest.mark.parametrize("name", ODD_NAMES.split("|"))
def test_a_column_may_have_any_name(name: str) -> None:
    spec = make(
        attributes={name: {**QUASI, "hierarchy": "flat"}},
        method={"name": "levels", "levels": {name: 1}, "target": name},
    )
    given_back = Spec.loads(spec.dumps())
    assert given_back == spec
    assert list(given_back.attributes) == [name]


@pytest.mark.parametrize(
    "tree",
    [
        {"Europe": {"West": ["France"], "East": ["Poland"]}, "America": ["Peru"], "Asia": {"South": ["India"]}},
        {"Europe": [{"West": ["France"]}, {"East": ["Poland"]}], "America": ["Peru"]},
        {"Europe": ["Malta", {"West": {"Benelux": ["Belgium"]}, "East": ["Poland"]}], "America": ["Peru"]},
        {"Europe": [{"West": {"Benelux": ["Belgium"]}, "East": ["Poland"]}], "America": "Peru"},
    ],
)
def test_a_nested_tree_keeps_its_order_through_a_round_trip(tree: Any) -> None:
    spec = make(attributes={"country": {**QUASI, "hierarchy": {"tree": tree}}})
    assert as_written(Spec.loads(spec.dumps())) == as_written(spec)


def test_keys_are_written_as_the_reference_names_them() -> None:
    hierarchy = {"intervals": [5], "from": 2}
    assert "from = 2" in make(attributes={"a": {**QUASI, "hierarchy": hierarchy}}).dumps()


def test_what_was_not_said_is_not_written() -> None:
    assert make(attributes={"a": QUASI}, privacy={"k": 2}).dumps().split() == [
        "[attributes.a]", "role", "=", '"quasi"', "[privacy]", "k", "=", "2"
    ]  # fmt: skip


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
word_lists = st.lists(words, min_size=1, max_size=4, unique=True)
numbers = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)
positives = st.integers(1, 10**6) | st.floats(1e-6, 1e6)
shares = st.sampled_from([0, 1]) | st.floats(0, 1)
counts = st.integers(1, 10**12)
trees: st.SearchStrategy[Any] = st.recursive(
    word_lists,
    lambda below: st.one_of(
        st.dictionaries(words, below, min_size=1, max_size=3),
        st.lists(words | st.dictionaries(words, below, min_size=1, max_size=2), min_size=1, max_size=3),
    ),
    max_leaves=5,
)


def optional(required: Mapping[str, st.SearchStrategy[Any]], **keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return tables with the required keys and any of the others."""
    return st.fixed_dictionaries(dict(required), optional=keys)


hierarchies = st.one_of(
    st.just("flat"),
    optional({"file": words}, delimiter=st.sampled_from(";,|"), encoding=st.just("latin-1")),
    st.builds(lambda tree: {"tree": tree}, st.dictionaries(words, trees, min_size=1, max_size=3)),
    st.builds(
        lambda table, start: table | start,
        optional({"intervals": st.sampled_from([[5], [0.5, 1, 10], [2, 4], [7, 14, 28]])}, bottom=numbers)
        | optional({"intervals": positives.map(lambda width: [width])}, top=numbers),
        st.just({}) | st.builds(lambda start: {"from": start}, numbers),
    ),
    optional({"mask": st.sampled_from(["right", "left"])}),
    optional({"dates": st.sampled_from([["month"], ["quarter", "decade"], ["month", "quarter", "year", "decade"]])}),
    optional({"fanout": st.integers(2, 100)}),
)
orders = st.sampled_from(["numeric", "lexical"]) | word_lists
schemes = st.sampled_from(["level", "cut", "ordered", "set", "guided-ordered", "guided-set"])
boundaries = word_lists | optional({"level": st.integers(0, 9)})
quasi = optional(
    {"role": st.just("quasi"), "hierarchy": hierarchies},
    order=orders,
    scheme=schemes,
    weight=positives,
    boundary=boundaries,
)
sensitive = optional({"role": st.just("sensitive")}, hierarchy=hierarchies, order=orders, diversity_weight=positives)
items = optional({"role": st.just("items")}, hierarchy=hierarchies, separator=words)
others = optional({"role": st.sampled_from(["identifier", "insensitive", "quasi"])})


def goes_together(attribute: dict[str, Any]) -> bool:
    """Whether order and hierarchy fit: dates have an order of their own."""
    return attribute.get("order") != "numeric" or "dates" not in attribute.get("hierarchy", ())


@st.composite
def specifications(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the parts of a spec in which anything that is allowed may stand."""
    names = draw(st.lists(words, min_size=3, max_size=6, unique=True))
    kinds = [sensitive, items, *[draw(st.sampled_from([quasi, others])) for _ in names[2:]]]
    attributes = {name: draw(kind.filter(goes_together)) for name, kind in zip(names, kinds, strict=True)}
    of = st.just(names[0])
    distinct = optional({"value": counts}, of=of, kind=st.just("distinct"))
    entropy = optional({"value": st.floats(1, 100), "kind": st.just("entropy")}, of=of)
    recursive = optional({"value": counts, "kind": st.just("recursive"), "c": positives}, of=of)
    diversity = distinct | entropy | recursive
    closeness = optional({"value": shares}, of=of, distance=st.just("equal"))
    levels = [name for name in names if attributes[name]["role"] == "quasi"]
    parts = optional(
        {"attributes": st.permutations(list(attributes.items())).map(dict)},
        data=optional(
            {},
            source=words,
            table=words,
            delimiter=st.sampled_from([",", ";", "\t"]),
            unlisted=st.sampled_from(["error", "drop", "publish"]),
            missing=st.sampled_from(["value", "suppress", "error"]),
            missing_values=st.lists(st.just("") | words, max_size=3),
            entity=words,
            weights=words,
            basket_id=words,
            memory_limit=st.sampled_from(["4GB", "500 MiB", "80 GiB"]),
        ),
        privacy=optional(
            {"k": counts},
            l=counts | diversity | st.lists(diversity, min_size=1, max_size=3),
            p=counts,
            t=shares | closeness | st.lists(closeness, min_size=1, max_size=3),
            m=counts,
        ),
        method=optional(
            {
                "name": st.just("levels"),
                "levels": st.dictionaries(st.sampled_from(levels), st.integers(0, 9)) if levels else st.just({}),
            }
        )
        | optional(
            {},
            name=st.sampled_from([name for name in METHODS if name not in ("levels", "itemsets")]),
            scheme=schemes,
            search=st.sampled_from(["auto", "bottom-up", "top-down"]),
            metric=st.sampled_from(["dm", "hdm", "glm", "ncp", "gcp", "ntil", "ce", "aecs"]),
            suppression=shares,
            keep_suppressed=st.booleans(),
            target=st.sampled_from(names),
            homogeneous=st.booleans(),
            max_group=counts,
            time_limit=positives,
            seed=st.integers(-(2**63), 2**63),
        ),
        frontier=optional(
            {},
            algorithm=st.sampled_from(["exact", "poka"]),
            points=st.sampled_from(["release", "nodes"]),
            depth=st.just("average") | st.integers(1, 9),
        ),
    )
    drawn: dict[str, Any] = draw(parts)
    return drawn


@given(specifications())
def test_any_spec_survives_a_round_trip(parts: dict[str, Any]) -> None:
    spec = Spec(**parts)
    given_back = Spec.loads(spec.dumps())
    assert given_back == spec
    assert as_written(given_back) == as_written(spec)
    assert list(given_back.attributes) == list(parts["attributes"])


@pytest.mark.parametrize("spec", [{"privacy": {"k": 2}}, "people.toml", None])
@pytest.mark.parametrize("verb", [rf.anonymize, rf.audit, rf.frontier])
def test_what_is_no_specification_is_told_from_one(verb: Callable[..., object], spec: object) -> None:
    with pytest.raises(SpecError, match=rf"the specification is a {type(spec).__name__}; allowed: a Spec, made by"):
        verb(pa.table({"age": [1, 2]}), spec)


def test_paths_with_any_text_are_written_as_they_are() -> None:
    odd = ['a "b"', "back\\slash", "line\nbreak", "\x01\x7f\x85", "\u2028", "é\U0001f600", "[x]", "'", "#"]
    paths = [[leaf, f"above {leaf}", "*"] for leaf in odd]
    spec = rf.Spec(attributes={"a": {"role": "quasi", "hierarchy": {"paths": paths}}}, privacy={"k": 2})
    assert rf.Spec.loads(spec.dumps()) == spec
    assert all(f"    {part}" in spec.dumps() for part in ('["[x]", "above [x]", "*"],', '["#", "above #", "*"],'))


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("alpha", 0, "a number above 0, up to 1"),
        ("alpha", 1.5, "a number above 0, up to 1"),
        ("alpha", {"value": 1.5}, "less than or equal to 1"),
        ("beta", -1, "a number above 0"),
        ("delta", 0, "a number above 0"),
        ("delta", {"value": 0}, "greater than 0"),
    ],
)
def test_limits_of_classes_are_above_0_and_shares_of_them_up_to_1(key: str, value: Any, allowed: str) -> None:
    place = rf"privacy\.{key}(\.value)? = "
    with pytest.raises(SpecError, match=place) as error:
        Spec(attributes={"a": {"role": "quasi"}, "b": {"role": "sensitive"}}, privacy={"k": 2, key: value})
    assert allowed in str(error.value)
    assert "function" not in str(error.value)


def test_keys_of_files_that_do_not_go_together_are_refused() -> None:
    quote = refusal(data={"quote": "'", "delimiter": "';"})
    assert quote == """data: quote = "'" is in delimiter = "';"; fields could not be told apart"""
    assert "data.missing_values.1 = '\\x00': allowed: text without" in refusal(data={"missing_values": ["?", "\0"]})
    assert "partition_by names a column twice" in refusal(output={"to": "out", "partition_by": ["sex", "sex"]})


def test_tables_too_deep_within_each_other_are_refused() -> None:
    tree: Any = ["a"]
    for depth in range(1, MOST_DEEP):
        tree = {f"group {depth}": tree}
    asked = make(attributes={"age": {"role": "quasi", "hierarchy": {"tree": tree}}})
    assert Spec.loads(asked.dumps()) == asked
    with pytest.raises(SpecError, match=f"the tree is more than {MOST_DEEP} tables deep"):
        make(attributes={"age": {"role": "quasi", "hierarchy": {"tree": {"and": {"one more": tree}}}}})
    with pytest.raises(SpecError, match="within each other too deep to be read"):
        Spec.loads("attributes.a.hierarchy.tree = " + "{ a = " * 2_000 + "[]" + " }" * 2_000)
