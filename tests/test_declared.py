"""What is declared is true: of promises, options and people, method by method; and one more can be added as the guide
says."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.cli import app
from ringfence.declared import BASKETS, BUCKETS, GROUPS, METHODS, METRICS, MethodTraits, declare, declared, methods_that
from ringfence.errors import SpecError
from ringfence.judging.losses import CellLoss, Covering
from ringfence.judging.metrics import OF_CLASSES, OF_GROUPS
from ringfence.judging.models import PROMISED
from ringfence.methods.base import Method
from ringfence.methods.candidates import candidates
from ringfence.methods.checks import check_available
from ringfence.spec.method import MethodTable
from ringfence.spec.privacy import MODELS

PEOPLE = pa.table(
    {
        "who": list("aabbccddee"),
        "age": [20, 21, 29, 30, 31, 45, 46, 48, 60, 61],
        "town": ["Oslo", "Oslo", "Bergen", "Voss", "Oslo", "Bergen", "Bergen", "Voss", "Oslo", "Voss"],
        "ill": ["flu", "cold", "flu", "gout", "cold", "flu", "cold", "gout", "flu", "cold"],
    }
)
ATTRIBUTES: dict[str, Any] = {
    "who": {"role": "identifier"},
    "age": {"role": "quasi", "hierarchy": {"intervals": [10, 20, 40]}},
    "town": {"role": "quasi", "hierarchy": {"tree": {"East": ["Oslo"], "West": ["Bergen", "Voss"]}}},
    "ill": {"role": "sensitive"},
}
ITEMS = {"role": "items", "hierarchy": {"tree": {"a": ["x", "y"], "b": ["z"]}}}
ASKED: dict[str, Any] = {"k": 2, "l": 2, "p": 2, "t": 0.5, "m": 1}
KINDS = {"distinct": {}, "entropy": {}, "recursive": {"c": 2}}


def spec_for(method: MethodTraits, privacy: dict[str, Any], **parts: Any) -> rf.Spec:
    """A specification that asks a method for a promise, and for nothing else that it could refuse."""
    attributes = {} if method.way == BASKETS else dict(ATTRIBUTES)
    if "m" in privacy or method.way == BASKETS:
        attributes["basket"] = ITEMS
    own = {"levels": {"age": 1}} if "levels" in method.options else {}
    return rf.Spec(attributes=attributes, privacy=privacy, method={"name": method.name, **own}, **parts)


def refused(spec: rf.Spec) -> bool:
    """Whether nothing is done for a specification."""
    try:
        check_available(spec)
    except SpecError:
        return True
    return False


@pytest.mark.parametrize("key", ASKED)
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_method_promises_what_it_declares(method: MethodTraits, key: str) -> None:
    beside = {"k": ("m",), "m": ("k",)}.get(key, ()) if method.way == BASKETS else ("k",) * (key == "m")
    if method.way == BASKETS and key in ("l", "p", "t"):
        return  # there are no sensitive attributes to ask it of
    asked = {each: ASKED[each] for each in (key, *beside)}
    assert refused(spec_for(method, asked)) == (key not in method.promises)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", [METHODS[name] for name in METHODS if "l" in METHODS[name].promises])
def test_a_method_promises_the_kinds_of_diversity_that_it_declares(method: MethodTraits, kind: str) -> None:
    spec = spec_for(method, {"l": {"value": 2, "kind": kind, **KINDS[kind]}})
    assert refused(spec) == (kind not in method.kinds)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_method_counts_people_and_keeps_them_together_as_it_declares(method: MethodTraits) -> None:
    if method.way != BASKETS:
        people = {"entity": "who"}
        assert refused(spec_for(method, {"k": 2}, data=people)) == (not method.counts_people)
        assert refused(spec_for(method, {"k": 2}, data={**people, "composite": True})) == (not method.composes)


def test_every_key_of_the_method_table_is_an_option_of_some_method() -> None:
    options = {option for method in METHODS.values() for option in method.options}
    assert options == {*MethodTable.model_fields} - {"name"}


SET: dict[str, Any] = {
    "scheme": "level", "search": "auto", "techniques": ["pruning"], "specialize": True, "metric": "glm",
    "suppression": 1, "keep_suppressed": False, "target": "ill", "partition": "whole", "order": "nearest",
    "max_ring": 9, "uncut": False, "draw": "walks", "homogeneous": False, "paper_diversity": False,
    "representation": "set", "labels": "tight", "effort": "good", "bound": "row", "relaxed": False, "ties": "best",
    "max_group": 50_000, "shards": 1, "time_limit": 60, "seed": 0,
}  # fmt: skip
"""A value of each key of [method] that says no more than what is done anyway, where that can be said."""
ANYWAY = ("suppression", "seed", "time_limit", "metric")
"""Keys that any method may be asked for."""


def promise_of(method: MethodTraits) -> dict[str, Any]:
    """What any method can promise."""
    return {"l": 2} if method.way == BUCKETS else {"k": 2, "m": 1} if method.way == BASKETS else {"k": 2}


def given(method: MethodTraits, **keys: Any) -> rf.Spec:
    """A specification with further keys of [method]."""
    spec = spec_for(method, promise_of(method))
    return spec.model_copy(update={"method": spec.method.model_copy(update=keys)})


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_key_that_a_method_does_not_look_at_is_refused(method: MethodTraits) -> None:
    for key in {*SET} - {*method.options, *ANYWAY}:
        takers = [name for name, other in METHODS.items() if key in other.options]
        with pytest.raises(SpecError, match=rf"^method\.{key} = .* {method.name!r} does not look at it") as refusal:
            check_available(given(method, **{key: SET[key]}))
        assert ", ".join(takers) in str(refusal.value)
        check_available(given(method, **{key: None}))  # as if it were not there


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_what_holds_of_every_method_may_be_asked_of_it(method: MethodTraits) -> None:
    """Nothing suppressed where nothing is, the same again where nothing is drawn; every loss is measured."""
    metric = (method.losses or ("dm",))[0]
    check_available(given(method, suppression=0, seed=7, time_limit=60, metric=metric))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_key_that_a_method_looks_at_may_be_set(method: MethodTraits) -> None:
    for key in ({*SET} & {*method.options}) - {"techniques", "specialize"}:  # which need a search beside them
        check_available(given(method, **{key: method.minimized("glm") if key == "metric" else SET[key]}))
    assert {*SET} == {*MethodTable.model_fields} - {"name", "levels"}


@pytest.mark.parametrize("method", [each for each in METHODS.values() if each.losses])
def test_a_loss_that_a_method_cannot_keep_small_is_refused(method: MethodTraits) -> None:
    for metric in METRICS:
        spec = given(method, metric=metric)
        if metric in method.losses:
            check_available(spec)
            continue
        with pytest.raises(SpecError, match=rf"method\.metric = '{metric}'.*allowed: {', '.join(method.losses)}"):
            check_available(spec)


def test_keys_of_one_method_beside_another_are_no_matter_where_methods_are_compared() -> None:
    spec = rf.Spec(attributes=ATTRIBUTES, privacy={"k": 2}, method={"name": "mondrian", "ties": "paper", "seed": 4})
    with pytest.raises(SpecError, match=r"method\.ties = 'paper' is for the method cluster; 'mondrian' does not"):
        rf.anonymize(PEOPLE, spec)
    with pytest.raises(SpecError, match=r"method\.ties"):
        rf.frontier(PEOPLE, spec)
    tried = {each.name: each.spec.method for each in candidates(spec)}
    assert tried["cluster-sets"].ties == "paper"
    assert tried["local-sets"].seed == 4
    assert not any(each.refusal() for each in candidates(spec, ["cluster", "local", "optimal", "mondrian"]))


@pytest.mark.parametrize(
    "method",
    [
        {"name": "local", "seed": -1},
        {"name": "local", "seed": 10**30},
        {"name": "ring", "seed": -(10**30), "max_ring": 10**30},
        {"name": "cluster", "max_group": 10**30, "shards": 10**30},
    ],
)
def test_numbers_of_any_size_are_taken(method: dict[str, Any]) -> None:
    assert rf.anonymize(PEOPLE, rf.Spec(attributes=ATTRIBUTES, privacy={"k": 2}, method=method)).audit.ok


def test_a_comparison_of_nothing_is_refused() -> None:
    with pytest.raises(SpecError, match="no method is named, so there is nothing to compare; allowed: optimal, levels"):
        rf.compare(PEOPLE, rf.Spec(attributes=ATTRIBUTES, privacy={"k": 2}), methods=[])


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"method": {"search": "bottom-up"}, "data": {"entity": "who", "composite": True}}, "in a way of its own"),
        ({"method": {"name": "ring", "homogeneous": True, "max_ring": 9}}, "set partition = 'whole'"),
        (
            {"method": {"name": "ring", "paper_diversity": True, "order": "gray"}, "privacy": {"l": 2}},
            "its rings have an order of their own",
        ),
    ],
)
def test_a_key_that_is_not_looked_at_beside_another_is_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        rf.anonymize(PEOPLE, rf.Spec(**{"attributes": ATTRIBUTES, "privacy": {"k": 2}, **parts}))


def test_what_is_declared_refers_to_what_is_there() -> None:
    for method in METHODS.values():
        assert {*method.losses} <= {*METRICS}
        assert {*method.promises} <= {key for key, model in MODELS.items() if model.promised}
    assert {*PROMISED} == {key for key, model in MODELS.items() if model.promised} - {"m"}
    assert {*OF_GROUPS} <= {*OF_CLASSES} == {name for name, each in METRICS.items() if not isinstance(each, CellLoss)}


def test_two_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="'optimal' is declared already"):
        declare(METHODS["optimal"])


LOADED = """
import os, sys
import ringfence as rf
assert not {"numba", "ibis", "vl_convert", "duckdb"} & {*sys.modules}
import numba, ibis, pyarrow as pa
table = pa.table({"age": [20, 21, 40, 41]})
spec = {"attributes": {"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}}, "privacy": {"k": 2}}
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        rf.anonymize(table, rf.Spec(**spec, method={"name": name}))
        print(*(name for name in sys.modules if name.startswith("ringfence.")), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
"""What is loaded for each method, a line for each: in a process of its own, but other people's packages are shared."""
OTHERS = {"groups.cluster", "groups.local", "groups.ring", "recode.schemes", "itemsets", "itemsets.decide_baskets"}


def test_methods_that_are_not_used_are_not_loaded() -> None:
    others = {"hilbert": {"groups.mondrian", *OTHERS}, "mondrian": {"groups.hilbert", *OTHERS}}
    done = subprocess.run([sys.executable, "-c", LOADED, *others], capture_output=True, text=True, check=True)
    for name, line in zip(others, done.stdout.splitlines(), strict=True):
        loaded = {*line.split()}
        assert f"ringfence.search.groups.{name}" in loaded
        assert not loaded & {f"ringfence.search.{other}" for other in others[name]}


# The recipes of CONTRIBUTING.md, followed: a method and a metric that are not there


def two_groups(census: Any, spec: rf.Spec, watch: Any) -> Any:  # noqa: ARG001
    """Decide on two groups: the lower and the upper half of the tuples by their first attribute."""
    from ringfence.census.groups import Groups, combinations
    from ringfence.search.groups.grouped import groups_decision

    combined = combinations(census, [])
    first = census.quasi[0].ranks[census.codes[combined.tuples, 0]]
    upper = (np.argsort(np.argsort(first)) * 2 >= len(first)).astype(np.int64)
    groups = Groups.gathered(combined, np.arange(len(first)), upper, combined.weights)
    return groups_decision(census, spec, groups, None)


def forgetfulness(quasi: Any, published: Covering) -> Any:
    """Lose all of a cell that is not published as it is; so a coarser one never loses less."""
    return (published.covered > 1).astype(np.float64) * (quasi.hierarchy.leaves > 1)


TOY = Method(
    name="halves",
    line="two groups, of low and of high values",
    way=GROUPS,
    promises=("k",),
    options=("representation",),
    losses=("forgotten",),
    representation="range",
    decides=two_groups,
)
TOY_METRIC = CellLoss(
    name="forgotten",
    line="forgotten cells: the share of cells that are not published as they are",
    meaning="Forgotten cells: the share of cells that are not published as they are.",
    of=forgetfulness,
)


@pytest.fixture
def toys() -> Iterator[None]:
    """A method and a metric more."""
    with declared(TOY, TOY_METRIC):
        yield
    assert "halves" not in METHODS
    assert "forgotten" not in METRICS


@pytest.mark.usefixtures("toys")
def test_a_new_method_runs_is_audited_saved_and_reported(tmp_path: Path) -> None:
    attributes = {**ATTRIBUTES, "age": {"role": "quasi", "order": "numeric"}}
    release = rf.anonymize(PEOPLE, rf.Spec(attributes=attributes, privacy={"k": 5}, method={"name": "halves"}))
    assert {*release.table["age"].to_pylist()} == {"[20, 31]", "[45, 61]"}
    assert release.audit.measured["k"] == 5
    assert release.metrics["forgotten"] == 1
    release.save(tmp_path)
    assert json.loads((tmp_path / "public/manifest.json").read_text())["metrics"]["forgotten"] == 1
    page = (tmp_path / "private/report.html").read_text()
    assert TOY.line in page
    assert TOY_METRIC.meaning in page
    assert rf.audit(tmp_path / "public/release.csv", rf.Spec.load(tmp_path / "private/spec.toml"), PEOPLE).ok


@pytest.mark.usefixtures("toys")
def test_a_new_metric_is_minimized_by_every_scheme(tmp_path: Path) -> None:
    few = PEOPLE.set_column(1, "age", pa.array([20, 20, 29, 29, 31, 45, 45, 48, 60, 60]))  # no bound: all are tried
    for scheme in ("level", "cut", "ordered", "set"):
        spec = rf.Spec(attributes=ATTRIBUTES, privacy={"k": 2}, method={"metric": "forgotten", "scheme": scheme})
        release = rf.anonymize(few, spec)
        assert release.search is not None
        assert release.search.optimal
        assert release.metrics["forgotten"] == pytest.approx(release.search.cost)
        assert all(release.metrics["forgotten"] >= release.metrics[other] for other in ("glm", "gcp", "ntil"))
    release.save(tmp_path)
    assert TOY_METRIC.line in (tmp_path / "private/report.html").read_text()


@pytest.mark.usefixtures("toys")
def test_what_is_new_is_shown_and_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    app(["methods", "--json"], standalone_mode=False)
    listed = json.loads(capsys.readouterr().out)
    assert listed["methods"]["halves"] == TOY.line
    assert listed["metrics"]["forgotten"] == TOY_METRIC.line
    with pytest.raises(SpecError, match="'itemsets' or 'halves'"):
        rf.Spec(attributes=ATTRIBUTES, method={"name": "halfs"})
    assert "halves" in methods_that(way=GROUPS)
    with pytest.raises(SpecError, match="the method 'halves' counts rows, not people"):
        check_available(spec_for(TOY, {"k": 2}, data={"entity": "who"}))
