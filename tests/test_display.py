"""How things show themselves in a notebook and as text."""

from html.parser import HTMLParser

import pyarrow as pa
import pytest

import ringfence as rf

NASTY = '<b>"quoted" & co</b>'


class Balanced(HTMLParser):
    """Checks that every element that is opened is closed, in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def text_of(html: str) -> str:
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    return " ".join(parser.text)


@pytest.fixture(scope="module")
def release() -> rf.Release:
    table = pa.table({NASTY: ["a", "a", "b", None], "s": ["1", "2", "1", "2"]})
    flat = {"role": "quasi", "hierarchy": {"tree": {NASTY: ["a", "b"]}}}
    return rf.anonymize(table, rf.Spec(attributes={NASTY: flat, "s": {"role": "sensitive"}}, privacy={"k": 3}))


def test_a_release_shows_plan_losses_and_verdict(release: rf.Release) -> None:
    shown = text_of(release._repr_html_())
    for words in ("3 rows published in 1 class, 1 suppressed (25\u00a0%)", NASTY, "glm", "The promise holds."):
        assert words in shown


def test_names_and_labels_are_escaped(release: rf.Release) -> None:
    for part in (release, release.plan, release.audit):
        assert "<b>" not in part._repr_html_()


def test_a_plan_is_a_tree_of_labels_and_their_values(release: rf.Release) -> None:
    assert str(release.plan).splitlines() == [
        "Global plan",
        f"├─ {NASTY}: level 1, 2 labels for 3 values",
        f"│  ├─ {NASTY}: a, b",
        "│  ├─ a missing value: a missing value",
        "└─ 1 row in 1 class dropped",
    ]


def test_a_hierarchy_is_a_tree_of_groups_and_their_leaves() -> None:
    paths = [("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "*")]
    hierarchy = rf.Hierarchy.from_paths(paths, missing=True)
    assert str(hierarchy).splitlines()[1:] == ["*: cook, a missing value", "  health: nurse, doctor"]
    assert repr(hierarchy) == "Hierarchy(4 leaves, 2 groups, height 2)"
    assert "nurse, doctor" in text_of(hierarchy._repr_html_())


def test_a_verdict_with_findings_shows_them(release: rf.Release) -> None:
    verdict = rf.audit(release.table, release.spec.model_copy(update={"privacy": rf.Spec(
        attributes={"x": {"role": "quasi"}}, privacy={"k": 9}).privacy}))  # fmt: skip
    assert "The promise does not hold." in text_of(verdict._repr_html_())
    assert "fewer than k = 9" in text_of(verdict._repr_html_())


def test_what_loses_most_is_not_what_loses_least() -> None:
    """One row of seven is suppressed: every attribute loses as much as the others."""
    method, flat = {"suppression": 0.2}, {"role": "quasi", "hierarchy": "flat"}
    table = pa.table({"sex": list("mmmfffd"), "town": list("aaabbbc")})
    both = rf.anonymize(
        table, rf.Spec(attributes=dict.fromkeys(("sex", "town"), flat), privacy={"k": 3}, method=method)
    )
    assert "14\u00a0% of the detail is lost, as much in each attribute\n" in repr(both)
    assert "Each attribute loses 14\u00a0% of its detail" in both.report().html
    one = rf.anonymize(table.select(["sex"]), rf.Spec(attributes={"sex": flat}, privacy={"k": 3}, method=method))
    assert "14\u00a0% of the detail is lost, all of it in “sex”\n" in repr(one)
    assert "“sex” loses 14\u00a0% of its detail" in one.report().html


def test_a_release_at_the_prompt_is_a_card(release: rf.Release) -> None:
    verdict, rows, lost, losses, _, *examples, _, more = repr(release).splitlines()
    assert verdict == "The promise holds: k = 3 (measured: k = 3)"
    assert rows == "3 rows published in 1 class, 1 suppressed (25\u00a0%)"
    assert lost.startswith("62\u00a0% of the detail is lost")  # two of three values, and one row of four
    assert losses.startswith("losses: dm ")
    assert "classes" not in losses
    assert [line.split()[0] for line in examples[1:]] == ["before", "after"] * 2
    assert "release.report()" in more


def test_a_card_of_many_columns_shows_a_few() -> None:
    table = pa.table({f"q{place}": ["a", "b"] * 3 for place in range(40)})
    attributes = {name: {"role": "quasi", "hierarchy": "flat"} for name in table.column_names}
    card = repr(rf.anonymize(table, rf.Spec(attributes=attributes, privacy={"k": 3})))
    assert "and 32 more" in card
    assert max(map(len, card.splitlines())) < 160
