"""Every report says what users of the release are off by, as it was measured from what was written."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

import ringfence as rf
from ringfence.report.use import in_words
from ringfence.report.words import percent
from ringfence.yardsticks.queries import CountQuery

ATTRIBUTES: dict[str, Any] = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    "town": {"role": "quasi", "hierarchy": {"tree": {"east": ["Oslo", "Hamar"], "west": ["Bergen", "Voss"]}}},
    "ill": {"role": "sensitive"},
}
PURPOSE = {"counts": [["town", "ill"]], "describe": "teaching & learning", "predict": ["ill"]}
HEADING = '<h2 id="use">'


def people(rows: int = 120) -> pa.Table:
    """People with illnesses, as many of each."""
    rng = np.random.default_rng(3)
    town = np.array(["Oslo", "Hamar", "Bergen", "Voss"])[rng.integers(0, 4, rows)]
    return pa.table({"age": rng.integers(20, 60, rows), "town": town, "ill": ["flu", "cold", "gout"] * (rows // 3)})


def spec(**parts: Any) -> rf.Spec:
    """A specification with a purpose."""
    return rf.Spec(**{"attributes": ATTRIBUTES, "privacy": {"k": 3}, "purpose": PURPOSE, **parts})


def test_the_report_of_a_run_has_the_yardsticks_of_what_was_written(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pcsv.write_csv(people(), tmp_path / "people.csv")
    given = spec(data={"source": str(tmp_path / "people.csv")}, method={"name": "local", "effort": "fast"})
    release = rf.run(given, tmp_path / "out")
    page = (tmp_path / "out" / "private" / "report.html").read_text(encoding="utf-8")
    assert HEADING in page
    assert "What it is for: teaching &amp; learning." in page
    use = release.use
    assert use is not None
    told = [use.release.queries, use.naive.queries, use.release.singles, use.release.tables["town", "ill"]]
    assert all(f'<td class="n">{percent(value)}</td>' in page for value in told)
    assert "model of “ill”: AUC" in page
    for query, estimate in zip(use.release.answers.queries[:2], use.release.answers.estimates[:2], strict=True):
        question = in_words(query, use.release.answers.truth)
        assert f"<tr><td>{question}</td>" in page
        assert f'<td class="n">{query.actual:,.0f}</td><td class="n">{estimate.round():,.0f}</td>' in page


def test_questions_in_words() -> None:
    release = rf.anonymize(people(), spec(method={"name": "local", "effort": "fast"}, purpose={}))
    assert release.use is not None
    truth = release.use.release.answers.truth
    asked = {"age": {str(age) for age in range(22, 32)}, "town": {"Oslo"}, "ill": {"flu"}}
    wanted = {name: np.array([value in asked[name] for value in truth.domains[name].values]) for name in asked}
    question = in_words(CountQuery(wanted, 1, 0), truth)
    assert question == "How many rows have “age” 22 to 31, “town” Oslo and “ill” flu?"


@pytest.mark.parametrize("method", [{"name": "optimal", "metric": "glm"}, {"name": "ring"}])
def test_the_report_of_a_table_has_them_too(method: dict[str, Any]) -> None:
    pytest.importorskip("sklearn")
    release = rf.anonymize(people(), spec(method=method))
    page = release.report().html
    assert HEADING in page
    assert "model of “ill”: AUC" in page


def test_what_is_published_as_it_is_answers_every_question() -> None:
    exact, coarse = (rf.anonymize(people(60), spec(privacy={"k": k}, purpose={})).report().html for k in (1, 60))
    assert "Every answer is exact" in exact
    assert "Every answer is exact" not in coarse


def test_the_attribute_that_costs_most_is_named() -> None:
    alone = pa.table({"town": ["Oslo", "Voss"] * 60, "code": [f"c{n * n // 300}" for n in range(120)]})
    flat = {"role": "quasi", "hierarchy": "flat"}
    asked = rf.Spec(
        attributes={"town": flat, "code": flat}, privacy={"k": 5}, method={"name": "local", "representation": "plain"}
    )
    release = rf.anonymize(alone, asked)
    assert "<p>“code” costs most: in tables with it " in release.report().html
    exact = rf.anonymize(
        alone.drop_columns(["code"]), asked.model_copy(update={"attributes": {"town": asked.attributes["town"]}})
    )
    assert "costs most" not in exact.report().html


def test_two_tables_are_read_together() -> None:
    release = rf.anonymize(people(), spec(privacy={"l": 2}, method={"name": "anatomy"}, purpose={"counts": [["ill"]]}))
    assert release.use is not None
    assert release.use.release.singles == 0
    assert HEADING in release.report().html


def test_where_nothing_is_measured_nothing_is_said(tmp_path: Path) -> None:
    saved = rf.anonymize(people(), spec(method={"name": "optimal", "metric": "glm"}, purpose={}))
    applied = rf.apply(saved.plan, people())  # type: ignore[arg-type]
    assert applied.use is None
    long = pa.table({"basket": [1, 1, 2, 2], "town": ["Oslo"] * 4, "item": ["x", "y", "x", "y"]})
    attributes = {"town": {"role": "quasi", "hierarchy": "flat"}, "item": {"role": "items", "hierarchy": "flat"}}
    given = rf.Spec(data={"basket_id": "basket"}, attributes=attributes, privacy={"k": 2, "m": 1})
    release = rf.anonymize(long, given)
    assert release.use is None
    release.save(tmp_path)


def test_beside_counts_of_values_it_says_what_they_buy() -> None:
    given = spec(method={"name": "local", "effort": "fast"}, purpose={}, output={"counts": True})
    release = rf.anonymize(people(), given)
    use, page = release.use, release.report().html
    assert use is not None
    assert use.without is not None
    assert use.release.singles < use.without.singles
    off, without = (percent(each.off(given.purpose)) for each in (use.release, use.without))
    assert f"users are off by {off} on average; by the labels alone, {without}." in page
    cells = "".join(f'<td class="n">{percent(side.singles)}</td>' for side in (use.release, use.without))
    assert cells in page
    assert "each value under a label as likely as lets the counts come out" in page
    assert "With counts of another release of the same people they can be subtracted" in page
    assert "without counts" not in rf.anonymize(people(), spec(purpose={})).report().html
