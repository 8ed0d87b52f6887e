"""Comparisons: every candidate that can be made is made, audited and measured; the others say why; one is advised."""

import csv
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.declared import METHODS, SCHEMES
from ringfence.errors import DataError
from ringfence.methods.candidates import candidates
from ringfence.release.comparing import Comparison
from ringfence.report.comparison import ComparisonPage

TOWNS = {"tree": {"east": ["Oslo", "Hamar"], "west": ["Bergen", "Voss", "Odda"]}}
ATTRIBUTES = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    "town": {"role": "quasi", "hierarchy": TOWNS},
    "sex": {"role": "quasi", "hierarchy": "flat"},
    "ill": {"role": "sensitive"},
}


def people(rows: int = 150, seed: int = 1) -> pa.Table:
    """People who are different in different towns."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 5, rows)
    return pa.table(
        {
            "age": rng.integers(20, 40, rows) + 8 * (town == 2),
            "town": np.array(["Oslo", "Hamar", "Bergen", "Voss", "Odda"])[town],
            "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
            "ill": np.array(["flu", "cold", "gout"])[rng.integers(0, 3, rows) * (town > 1)],
        }
    )


def spec(**parts: Any) -> rf.Spec:
    """A specification over four attributes."""
    return rf.Spec(**{"attributes": ATTRIBUTES, "privacy": {"k": 3}, **parts})


EVENTS: list[rf.Event] = []


@pytest.fixture(scope="module")
def found() -> Comparison:
    EVENTS.clear()
    return rf.compare(people(), spec(method={"time_limit": 0.3}), budget=60, listener=EVENTS.append)


def test_every_method_scheme_and_representation_is_a_candidate(found: Comparison) -> None:
    tried = [each.candidate.spec for each in found.tried]
    tables = {name for name, method in METHODS.items() if method.chosen and name != "itemsets"}
    assert {each.method.name for each in tried} == tables
    assert {each.method.scheme for each in tried if each.method.name == "optimal"} == {*SCHEMES}
    shown = {each.shown_as("town") for each in tried if each.method.name == "local"}
    assert shown == {"set", "hierarchy"}
    assert len({each.name for each in found.tried}) == len(found.tried)


def test_those_that_were_made_hold_and_the_others_say_why(found: Comparison) -> None:
    for each in found.tried:
        assert (each.made is None) == (each.reason is not None)
        assert each.made is None or each.made.verdict.ok
    refused = {each.name: each.reason for each in found.tried if each.made is None}
    assert [*refused] == ["anatomy"]
    assert "privacy.k" in str(refused["anatomy"])


def test_the_table_ranks_by_use_and_one_that_promises_what_was_asked_is_advised(found: Comparison) -> None:
    rows = found.table.to_pylist()
    made = [row for row in rows if row["made"]]
    assert [row["off"] for row in made] == sorted(row["off"] for row in made)
    assert [row["made"] for row in rows] == sorted((row["made"] for row in rows), reverse=True)
    advised = [row for row in rows if row["advised"]]
    assert [row["name"] for row in advised] == [found.best.name]
    assert advised[0]["off"] == min(row["off"] for row in made if row["as_asked"])
    assert not any(row["as_asked"] for row in rows if row["method"] in ("ring", "anatomy"))
    assert found.best_plain.candidate.plain
    assert all(row["off"] >= found.off(found.best_plain) for row in made if row["plain"] and row["as_asked"])


def test_releases_are_made_anew_from_what_was_decided(found: Comparison) -> None:
    for name in ("optimal-level", "ring-sets", found.best.name):
        tried = next(each for each in found.tried if each.name == name)
        assert tried.made is not None
        release = found.release(name)
        assert release.audit.ok
        assert dict(release.metrics) == dict(tried.made.decision.metrics)
    with pytest.raises(rf.errors.SpecError, match="optimal-lvl"):
        found.release("optimal-lvl")


def test_a_listener_is_told_of_every_candidate_when_it_is_finished(found: Comparison) -> None:
    told = [event for event in EVENTS if event.stage == "compare"]
    assert [event.done for event in told] == [*range(1, len(found.tried) + 1)]
    assert {event.total for event in told} == {len(found.tried)}
    assert {event.candidate["name"] for event in told if event.candidate} == {each.name for each in found.tried}


def test_files_say_the_same_and_the_advised_specification_runs(tmp_path: Path) -> None:
    people_file = tmp_path / "people.csv"
    with people_file.open("w", newline="") as file:
        writer = csv.DictWriter(file, people().column_names)
        writer.writeheader()
        writer.writerows(people().to_pylist())
    given = spec(data={"source": str(people_file)}, purpose={"describe": "teaching & learning"})
    compared = rf.compare(None, given, budget=3, methods=["local", "optimal"])
    page = compared.save(tmp_path / "out").read_text()
    rows = [*csv.DictReader((tmp_path / "out" / "compare.csv").read_text().splitlines())]
    content = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert [row["name"] for row in rows] == [row["name"] for row in content["candidates"]]
    assert content["advised"] == compared.best.name
    assert all(sentence in str(compared) for sentence in content["advice"])
    assert (tmp_path / "out" / "compare.png").read_bytes().startswith(b"\x89PNG")
    assert "for teaching &amp; learning" in page
    assert all(each.name in page for each in compared.tried)
    best = rf.Spec.load(tmp_path / "out" / "best.toml")
    assert best.method == compared.best.candidate.spec.method
    assert rf.run(best, tmp_path / "release", report=False).audit.ok


def test_methods_that_keep_another_promise_say_so() -> None:
    varied = people().set_column(3, "ill", pa.array(["flu", "cold", "gout"] * 50))
    found = rf.compare(varied, spec(privacy={"l": 2}), methods=["anatomy", "mondrian"])
    by_name = {row["name"]: row for row in found.table.to_pylist()}
    assert "l, not k" in by_name["anatomy"]["promise"]
    assert found.best.name != "anatomy"
    only = rf.compare(varied, spec(privacy={"l": 2}), methods=["anatomy"])
    assert only.best.name == "anatomy"
    assert only.release().sensitive is not None


def test_what_there_is_no_time_for_is_said() -> None:
    found = rf.compare(people(), spec(), budget=1e-9)
    first, *others = found.tried
    assert first.made is not None
    assert {str(each.reason)[:15] for each in others if each.name != "anatomy"} == {"the time was up"}
    page = found.page()
    assert {*page.late} == {each.name for each in others} - {"anatomy"}
    assert [row["name"] for row in page.refused] == ["anatomy"]
    assert any(sentence.startswith("There was no time to try ") for sentence in page.advice)
    assert "What there was no time for" in page.html()


def test_where_nothing_can_be_made_the_reasons_are_told() -> None:
    with pytest.raises(rf.errors.Unsatisfiable, match="local-sets: "):
        rf.compare(people(), spec(privacy={"k": 1000}), methods=["local"])


@pytest.mark.parametrize(
    ("keys", "words"),
    [({"methods": ["locl"]}, "'locl'.*'local'"), ({"budget": 0}, "budget = 0"), ({"budget": float("nan")}, "budget")],
)
def test_odd_wishes_are_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(rf.errors.SpecError, match=words):
        rf.compare(people(), spec(), **keys)


def test_baskets_alone_are_compared_by_their_loss() -> None:
    tree = {"tree": {"a": ["x", "y"], "b": ["z", "w"]}}
    given = rf.Spec(
        attributes={"basket": {"role": "items", "separator": " ", "hierarchy": tree}},
        privacy={"k": 2, "m": 2},
        method={"name": "itemsets"},
    )
    table = pa.table({"basket": ["x z", "x z", "y w", "y", "z w"]})
    found = rf.compare(table, given)
    assert [each.name for each in found.tried] == ["itemsets"]
    assert found.release().audit.ok


def test_candidates_keep_what_was_asked_for() -> None:
    given = spec(
        method={"name": "local", "metric": "gcp", "suppression": 0.1, "representation": "hierarchy", "seed": 3}
    )
    asked = {each.name: each.spec.method for each in candidates(given)}
    assert asked["local-gcp-shown"] == given.method
    assert {method.suppression for method in asked.values() if "suppression" in method.traits.options} == {0.1}
    assert next(iter(asked)) == "local-gcp-shown", "what was asked for comes first"
    assert {"local-use-sets", "local-use-nodes", "local-gcp-sets"} < {*asked}, "and is one way of many"
    assert asked["optimal-set"].metric == "gcp"
    assert asked["mondrian-shown"].seed is None


def test_candidates_without_lists_need_no_hierarchy() -> None:
    bare = {name: {"role": "quasi"} for name in ("age", "town", "sex")}
    found = {each.name: each for each in candidates(spec(attributes=bare))}
    assert found["local-nodes"].plain
    assert not found["local-sets"].plain
    assert rf.anonymize(people().drop_columns("ill"), found["local-use-nodes"].spec).audit.ok


def test_schemes_are_plain_where_no_cell_is_a_list() -> None:
    """Runs of numbers are ranges, runs of words are lists; sets list numbers, too."""
    words, numbers = {"role": "quasi", "hierarchy": "flat"}, {"role": "quasi", "hierarchy": {"intervals": [10]}}
    both = {each.name: each for each in candidates(spec(attributes={"age": numbers, "town": words}))}
    assert {name for name, each in both.items() if name.startswith("optimal-") and each.plain} == {
        "optimal-level",
        "optimal-cut",
    }
    ages = {each.name: each for each in candidates(spec(attributes={"age": numbers}))}
    assert {name for name, each in ages.items() if name.startswith("optimal-") and not each.plain} == {
        "optimal-set",
        "optimal-guided-set",
    }
    table, asked = people().select(["town"]), spec(attributes={"town": words})
    found = rf.compare(table, asked, methods=["optimal-set"])
    assert "; cells list values, as {a, b}" in found.page().kind("optimal-set")


def test_candidates_can_be_named_and_other_promises_come_last() -> None:
    everything = [each.name for each in candidates(spec())]
    first = [name.split("-")[0] for name in everything[: everything.index("ring-sets")]]
    assert {*first} == {"optimal", "local", "cluster", "hilbert", "mondrian"}
    assert everything[:2] == ["optimal-level", "local-use-sets"], "what was asked for, then what is likely"
    named = candidates(spec(), ["optimal-level", "local"])
    assert {each.name for each in named} == {"optimal-level", *(name for name in everything if name[:5] == "local")}


def test_what_effort_makes_better_gets_more_of_the_time() -> None:
    by_name = {each.name: each for each in candidates(spec())}
    assert {name for name, each in by_name.items() if each.worth > 1} == {
        "local-sets", "local-nodes", "local-use-sets", "local-use-nodes",
    }  # fmt: skip
    hurried = [by_name["local-sets"].within(seconds, 30_000).method for seconds in (0.4, 4.0)]
    assert [(method.effort, method.time_limit) for method in hurried] == [("fast", 0.4), ("good", 4.0)]


def test_a_listener_hears_one_event_at_a_time_although_two_threads_are_at_work() -> None:
    inside: list[str] = []

    def listen(event: rf.Event) -> None:
        inside.append(event.what)
        time.sleep(0.001)
        assert len(inside) == 1
        inside.clear()

    found = rf.compare(people(), spec(), budget=60, methods=["optimal-level", "mondrian", "hilbert"], listener=listen)
    assert all(each.made is not None for each in found.tried)


@pytest.mark.parametrize(("naive", "words"), [(0.5, "For comparison, who knows nothing"), (0.1, "Mind that who knows")])
def test_advice_says_how_much_each_attribute_by_itself_would_tell(naive: float, words: str) -> None:
    row = {"name": "one", "made": True, "as_asked": True, "plain": True, "off": 0.2, "suppressed": 0, "proven": True}
    row |= {"late": False, "method": "local"}
    advice = ComparisonPage([row], "one", "one", {"off": naive}, spec(), 100).advice
    assert any(sentence.startswith(words) for sentence in advice), advice


@pytest.mark.parametrize("proven", [True, False])
def test_a_candidate_is_called_proven_only_if_it_is(proven: bool) -> None:
    row = {"name": "one", "made": True, "plain": True, "proven": proven, "method": "optimal"}
    assert ("proven" in ComparisonPage([row], "one", "one", None, spec(), 100).kind("one")) == proven


@pytest.mark.parametrize(("naive", "said"), [(0.1, True), (0.4, False), (0.001, False)])
def test_advice_says_where_labels_without_lists_tell_less_than_attributes_by_themselves(
    naive: float, said: bool
) -> None:
    row = {"made": True, "as_asked": True, "suppressed": 0, "proven": True, "late": False, "method": "local"}
    lists, labels = row | {"name": "a", "plain": False, "off": 0.01}, row | {"name": "b", "plain": True, "off": 0.2}
    advice = ComparisonPage([lists, labels], "a", "b", {"off": naive}, spec(), 100).advice
    assert any("publish the lists" in sentence for sentence in advice) == said


def test_advice_names_the_attribute_that_costs_most() -> None:
    rng = np.random.default_rng(3)
    town = rng.choice([f"t{n}" for n in range(200)], 1_000, p=np.arange(200, 0, -1) / 20_100)
    table = pa.table({"sex": rng.choice(["f", "m"], 1_000), "age": rng.integers(20, 24, 1_000), "town": town})
    plain = {"role": "quasi", "hierarchy": "flat"}
    asked = {"sex": plain, "age": {"role": "quasi", "order": "numeric"}, "town": plain}
    labels = rf.Spec(attributes=asked, privacy={"k": 5}, method={"name": "local", "representation": "plain"})
    found = rf.compare(table, labels, budget=60, methods=["local"])
    use = found.best_plain.made.use  # type: ignore[union-attr]
    assert use is not None
    assert use.blamed is not None
    assert use.blamed.name == "town"
    with_it = [off for names, off in use.tables.items() if "town" in names]
    assert use.blamed.with_it == pytest.approx(sum(with_it) / len(with_it))
    said = [sentence for sentence in found.page().advice if "“town” costs most: in tables with it" in sentence]
    assert any(sentence.startswith(f"In {found.best_plain.name}, ") for sentence in said)


def test_a_column_that_is_not_there_is_named() -> None:
    attributes = {**ATTRIBUTES, "twon": ATTRIBUTES["town"]}
    with pytest.raises(DataError, match=r"no column 'twon'.*'town'"):
        rf.compare(people(), spec(attributes=attributes))
