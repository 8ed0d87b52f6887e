"""The report: its numbers against plain definitions, and its page as a browser and a reader meet it."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.verdict import Attack, Finding, Verdict
from ringfence.census.census import Census
from ringfence.errors import Unsatisfiable
from ringfence.methods import decide
from ringfence.plans.group import GroupPlan
from ringfence.plans.published import Published
from ringfence.plans.recode import GlobalPlan
from ringfence.report.attacks import WORDS, attack_section, headline
from ringfence.report.audit import audit_page
from ringfence.report.build import Report, build_report
from ringfence.report.evidence import (
    associations,
    attribute_losses,
    marginals,
    other_marginals,
    size_bins,
    uniformities,
    width_bins,
)
from ringfence.report.pictures import SUPPRESSED, groups
from ringfence.report.words import percent
from ringfence.samples import people, people_spec
from ringfence.search.decision import Decision
from ringfence.search.progress import Watch
from ringfence.spec.method import MethodTable
from tests.tables import Case, cases, count, with_parts

NASTY = """<b>"a" & 'b'</b> [x.y] 名前"""
VALUE = "<script>alert('1')</script>"


def decided(case: Case, **parts: Any) -> tuple[Census, Decision]:
    """Decide on a random table, or pass it over where nothing can be published."""
    spec = with_parts(case.spec, **parts)
    try:
        return case.census, decide(case.census, spec, Watch())
    except Unsatisfiable:
        assume(False)
        raise


# Numbers


TINY = pa.table(
    {
        "age": [21, 22, 22, 31, 31, 33, 50],
        "town": ["Oslo", "Oslo", "Bergen", "Oslo", "Bergen", "Bergen", "Oslo"],
        "illness": ["flu", "flu", "flu", "cold", "flu", "cold", "flu"],
    }
)
TINY_SPEC = rf.Spec(
    attributes={
        "age": {"role": "quasi", "hierarchy": {"intervals": [10]}},
        "town": {"role": "quasi", "hierarchy": "flat"},
        "illness": {"role": "sensitive"},
    },
    privacy={"k": 3},
    method={"name": "levels", "levels": {"age": 1, "town": 1}, "suppression": 0.5},
)


@pytest.fixture(scope="module")
def tiny() -> tuple[Published, GlobalPlan]:
    """Seven people by decade, towns hidden: classes of three, of three, and of one that is dropped."""
    census = count(TINY, TINY_SPEC)
    plan = decide(census, TINY_SPEC, Watch()).recoding
    return plan.published(census), plan


def test_classes_by_hand(tiny: tuple[Published, GlobalPlan]) -> None:
    released, _ = tiny
    assert sorted(released.sizes.tolist()) == [3, 3]
    assert released.rows == 6
    assert not released.masked.any()
    assert released.suppressed_rows == 1


def test_marginals_by_hand(tiny: tuple[Published, GlobalPlan]) -> None:
    """Of the ages 21 and 22, and of 31 and 33, each now has half of three rows; 50 is gone."""
    age, town = marginals(tiny[0])
    assert age.before == pytest.approx([1 / 7, 2 / 7, 2 / 7, 1 / 7, 1 / 7])
    assert age.after == pytest.approx([1 / 4, 1 / 4, 1 / 4, 1 / 4, 0])
    assert age.moved == pytest.approx((3 / 28 + 1 / 28 + 1 / 28 + 3 / 28 + 4 / 28) / 2)
    assert town.after == pytest.approx([1 / 2, 1 / 2])
    (illness,) = other_marginals(tiny[0])
    assert illness.before == pytest.approx([2 / 7, 5 / 7])
    assert illness.after == pytest.approx([2 / 6, 4 / 6])


def test_losses_by_hand(tiny: tuple[Published, GlobalPlan]) -> None:
    """21 to 22 and 31 to 33 of the 29 years from 21 to 50; the dropped row loses everything, as do all towns."""
    losses = attribute_losses(tiny[0])
    assert losses == pytest.approx({"age": (3 * 1 / 29 + 3 * 2 / 29 + 1) / 7, "town": 1.0})


def test_uniform_classes_by_hand(tiny: tuple[Published, GlobalPlan]) -> None:
    (illness,) = uniformities(tiny[0])
    assert (illness.name, illness.classes, illness.rows) == ("illness", 1, 3)


def test_size_bins_have_k_among_their_ends() -> None:
    bins = size_bins(np.array([1, 1, 2, 3, 7, 12]), 3, 12)
    assert [(part.low, part.high) for part in bins] == [(1, 2), (2, 3), (3, 5), (5, 10), (10, 20)]
    assert [part.share for part in bins] == pytest.approx([2 / 26, 2 / 26, 3 / 26, 7 / 26, 12 / 26])


def weighted_rows(census: Census) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the distinct tuples with their numbers of rows."""
    yield from zip(map(tuple, census.codes.tolist()), census.weights.tolist(), strict=True)


def published_labels(census: Census, plan: GlobalPlan) -> list[tuple[tuple[str | None, ...], int, bool]]:
    """Return for each distinct tuple its labels, its rows, and whether it is suppressed: from the plan alone."""
    columns = [plan.columns[name] for name in census.names]
    gone = {
        tuple(column.labels[leaf] for column, leaf in zip(columns, leaves, strict=True)) for leaves in plan.suppressed
    }
    found = []
    for codes, rows in weighted_rows(census):
        labels = tuple(column.labels[leaf] for column, leaf in zip(columns, codes, strict=True))
        found.append((labels, rows, labels in gone))
    return found


@given(cases(sensitive=1))
def test_classes_and_marginals_as_defined(case: Case) -> None:
    census, decision = decided(case, privacy={"k": 2}, method={"keep_suppressed": True})
    released = decision.recoding.published(census)
    sizes: Counter[tuple[str | None, ...]] = Counter()
    after: list[Counter[int]] = [Counter() for _ in census.quasi]
    for labels, rows, suppressed in published_labels(census, decision.recoding):
        if suppressed and not decision.recoding.masked:
            continue
        sizes[("*",) * len(labels) if suppressed else labels] += rows
        for a, (name, label) in enumerate(zip(census.names, labels, strict=True)):
            column = decision.recoding.columns[name].labels
            leaves = [leaf for leaf, other in enumerate(column) if suppressed or other == label]
            for leaf in leaves:
                after[a][leaf] += rows / len(leaves)  # type: ignore[assignment]
    assert sorted(released.sizes.tolist()) == sorted(sizes.values())
    assert decision.metrics["suppressed"] == released.suppressed_rows
    for found, quasi, shares in zip(marginals(released), census.quasi, after, strict=True):
        total = sum(sizes.values())
        assert found.after == pytest.approx([shares[leaf] / total for leaf in range(quasi.hierarchy.leaves)])


def test_classes_are_those_of_the_released_table() -> None:
    spec = with_parts(people_spec(), privacy={"k": 4}, method={"suppression": 0.3, "keep_suppressed": True})
    table = people(1500)
    release = rf.anonymize(table, spec)
    quasi = spec.of_role("quasi")
    sizes = Counter(tuple(row.values()) for row in release.table.select(quasi).to_pylist())
    released = release.decision.recoding.published(count(table.select(quasi), spec))
    assert release.metrics["suppressed"] > 0
    assert sorted(released.sizes.tolist()) == sorted(sizes.values())
    assert released.rows == release.audit.measured["rows"]
    assert released.sizes.min() == release.audit.measured["k"]


@given(cases())
def test_losses_of_attributes_make_up_the_general_loss(case: Case) -> None:
    census, decision = decided(case, privacy={"k": 2})
    losses = attribute_losses(decision.recoding.published(census))
    weights = [quasi.weight for quasi in census.quasi]
    mean = sum(losses[quasi.name] * quasi.weight for quasi in census.quasi) / sum(weights)
    assert mean == pytest.approx(decision.metrics["detail"])


def cramers_v(pairs: Counter[tuple[Any, Any]], most: float | None = None) -> tuple[float, float]:
    """Return Cramér's V from the textbook's chi², less what is expected by chance, and the scale it is on."""
    n = sum(pairs.values())
    ones: Counter[Any] = Counter()
    others: Counter[Any] = Counter()
    for (one, other), rows in pairs.items():
        ones[one] += rows
        others[other] += rows
    chi2 = 0.0
    for one, other in itertools.product(ones, others):
        expected = ones[one] * others[other] / n
        chi2 += (pairs[one, other] - expected) ** 2 / expected
    phi2 = chi2 / n
    if n > 1:
        phi2 = max(0.0, phi2 - (len(ones) - 1) * (len(others) - 1) / (n - 1))
        most = min(r - (r - 1) ** 2 / (n - 1) for r in (len(ones), len(others))) - 1 if most is None else most
    return (min(1.0, sqrt(phi2 / most)) if most and most > 1e-9 else 0.0), most or 0.0


@given(cases(sensitive=1, max_rows=40))
def test_associations_as_defined(case: Case) -> None:
    census, decision = decided(case, privacy={"k": 2})
    labels = published_labels(census, decision.recoding)
    part = census.sensitive[0]
    rows: list[tuple[tuple[Any, ...], tuple[Any, ...], int, bool]] = []
    for home, value, weight in zip(part.tuples.tolist(), part.values.tolist(), part.weights.tolist(), strict=True):
        rows.append(((*census.codes[home].tolist(), value), (*labels[home][0], value), weight, labels[home][2]))
    names = [*census.names, part.name]
    found = {pair.names: pair for pair in associations(decision.recoding.published(census))}
    assert len(found) == len(names) * (len(names) - 1) // 2
    for a, b in itertools.combinations(range(len(names)), 2):
        before: Counter[tuple[Any, Any]] = Counter()
        after: Counter[tuple[Any, Any]] = Counter()
        for values, shown, weight, suppressed in rows:
            before[values[a], values[b]] += weight
            if not suppressed:
                after[shown[a], shown[b]] += weight
        expected, scale = cramers_v(before)
        kept, _ = cramers_v(after, scale)
        pair = found[names[a], names[b]]
        assert (pair.before, pair.after) == pytest.approx((expected, kept), abs=1e-6)


# The page


def reported(table: pa.Table, spec: rf.Spec, verdict: Verdict | None = None, incomplete: int = 0) -> Report:
    """Build the report of a release."""
    census = count(table.select(spec.of_role("quasi", "sensitive")), spec)
    verdict = verdict or rf.anonymize(table, spec).audit
    return build_report(census, decide(census, spec, Watch()), verdict, spec, incomplete=incomplete)


def nasty_table() -> tuple[pa.Table, rf.Spec]:
    """Return a table whose names and values a careless page would stumble over."""
    rows = 240
    table = pa.table(
        {
            NASTY: [[VALUE, 'a "b"', "c & d", None, "é\n日本"][i * i % 5] for i in range(rows)],
            "age": [20 + i * 7 % 50 for i in range(rows)],
            "code": [f"{i % 30:03}" for i in range(rows)],
            "will's <i>": [VALUE if i % 3 else "x" for i in range(rows)],
        }
    )
    tree = {"<u>": [VALUE, 'a "b"'], "o": ["c & d", "é\n日本"]}
    spec = rf.Spec(
        attributes={
            NASTY: {"role": "quasi", "weight": 2.0, "hierarchy": {"tree": tree}, "boundary": ["<u>"]},
            "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
            "code": {"role": "quasi", "hierarchy": {"mask": "right"}},
            "will's <i>": {"role": "sensitive"},
        },
        privacy={
            "k": 3,
            "l": [{"value": 2}, {"value": 1.2, "kind": "entropy"}, {"value": 2, "kind": "recursive", "c": 9}],
            "p": 2,
            "t": 0.6,
        },
        method={"name": "levels", "levels": {NASTY: 1, "age": 3, "code": 1}, "suppression": 1, "keep_suppressed": True},
    )
    return table, spec


@pytest.fixture(scope="module")
def sample() -> Report:
    """The report on some sample people."""
    return reported(people(3000), people_spec())


@pytest.fixture(scope="module")
def nasty() -> Report:
    """The report on a table full of markup."""
    return reported(*nasty_table())


class Page(HTMLParser):
    """Reads a page: refuses tags that do not match, and keeps its text and what its tags refer to."""

    VOID = frozenset({"meta", "br", "link", "img", "input", "hr"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.text = ""
        self.ids: set[str] = set()
        self.references: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            if name in ("href", "src", "xlink:href", "action", "data", "srcset"):
                self.references.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("name", ["sample", "nasty"])
def test_the_page_needs_nothing_else(name: str, request: pytest.FixtureRequest) -> None:
    html: str = request.getfixturevalue(name).html
    page = Page(html)
    assert page.references
    assert all(reference.startswith("#") and reference[1:] in page.ids for reference in page.references)
    assert not {"script", "link", "img", "iframe", "object", "embed", "base"} & {*page.tags}
    assert not re.search(r"https?:|url\(|@import|@font-face", html)
    assert len(html.encode()) < 3_000_000


@pytest.mark.parametrize("name", ["sample", "nasty"])
def test_charts_are_told_to_those_who_cannot_see_them(name: str, request: pytest.FixtureRequest) -> None:
    report: Report = request.getfixturevalue(name)
    assert Page(report.html).tags["svg"] == len(report.charts)
    assert len(re.findall(r'<svg role="img" aria-label="[^"]{8,}"', report.html)) == len(report.charts)


def test_the_first_lines_say_that_the_page_is_private(sample: Report) -> None:
    assert "private: may show values of the original" in "\n".join(sample.html.splitlines()[:3])
    body = sample.html.split("<body>")[1]
    assert "Private: may show values of the original." in body[:200]


def test_the_page_tells_what_matters(sample: Report) -> None:
    text = Page(sample.html).text
    assert "The promise holds" in text
    for words in ("k = 5", "rows suppressed", "optimal", "proven to be the least", "glm", "Cramér", "docs/promise.md"):
        assert words in text
    for name in people_spec().attributes:
        assert name in text
    assert "l-diversity" not in text  # not asked for
    assert {*sample.charts} >= {"class-sizes", "losses", "associations"}


def test_names_and_values_are_text_not_markup(nasty: Report) -> None:
    text = Page(nasty.html).text
    assert NASTY in text
    assert VALUE in text
    assert "will's <i>" in text
    assert "<script" not in nasty.html
    assert NASTY not in nasty.html


@pytest.mark.parametrize("counted", [["age", "town", "illness"], ["age", "town"]], ids=["counted", "not counted"])
def test_classes_that_give_a_value_away_are_told_if_known(counted: list[str]) -> None:
    verdict = rf.anonymize(TINY, TINY_SPEC).audit
    census = count(TINY.select(counted), TINY_SPEC)
    report = build_report(census, decide(census, TINY_SPEC, Watch()), verdict, TINY_SPEC, incomplete=0)
    text = Page(report.html).text
    assert "Neither l, p nor t was asked for “illness”" in text
    assert ("“illness” in 1 class with 3 rows" in text) == ("illness" in counted)
    assert ("was not counted for this page" in text) == ("illness" not in counted)
    assert "There is no such class here" not in text


def test_every_model_is_put_into_words(nasty: Report) -> None:
    text = Page(nasty.html).text
    for words in ("k-anonymity", "l-diversity", "p-sensitivity", "t-closeness", "Boundaries", "recursive, c = 9"):
        assert words in text
    assert "not measured" not in text


def test_a_broken_promise_is_the_headline() -> None:
    finding = Finding("k", "3 rows in 1 class <b>too small</b>", 3, {"age": "[20, 30)"})
    report = reported(TINY, TINY_SPEC, Verdict(False, {"k": 1, "rows": 6, "classes": 2}, (finding,), ()), incomplete=4)
    text = Page(report.html).text
    assert "The promise does not hold" in text
    assert "The promise holds" not in text
    assert finding.message in text
    assert "4 left out" in text


@pytest.mark.parametrize("k", [1, 7], ids=["nothing changes", "everything goes"])
def test_what_needs_no_picture_gets_a_sentence(k: int) -> None:
    spec = with_parts(TINY_SPEC, privacy={"k": k}, method={"suppression": 0.0})
    report = reported(TINY, spec)
    text = " ".join(Page(report.html).text.split())
    assert ("Published as they are: “age” and “town”" if k == 1 else "Hidden altogether") in text
    assert not [name for name in report.charts if name.startswith(("recoding", "marginal"))]


def test_the_same_inputs_give_the_same_page(nasty: Report) -> None:
    again = reported(*nasty_table())
    assert again.html == nasty.html
    assert again.charts == nasty.charts


def test_pages_and_plots_as_files(nasty: Report, tmp_path: Path) -> None:
    nasty.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == nasty.html
    nasty.save_plots(tmp_path / "plots")
    for name in nasty.charts:
        assert re.fullmatch(r"[A-Za-z0-9_-]+", name)
        assert (tmp_path / "plots" / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        assert (tmp_path / "plots" / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
    assert len(list((tmp_path / "plots").iterdir())) == 2 * len(nasty.charts)


# Groups


@given(case=cases(sensitive=1), representation=st.sampled_from(["set", "range", "hierarchy"]))
def test_evidence_of_groups_as_defined(case: Case, representation: str) -> None:
    """Marginals, losses, classes and answers of a release of groups, row by row."""
    method = {"name": "cluster", "representation": representation, "suppression": 1.0}
    census, decision = decided(case, privacy={"k": 2, "p": 2}, method=method)
    plan = decision.plan
    assert isinstance(plan, GroupPlan)
    released = plan.published(census)
    rows: list[tuple[list[tuple[int, ...]], int]] = []
    sizes: Counter[tuple[str | None, ...]] = Counter()
    values: dict[tuple[str | None, ...], set[int]] = {}
    columns = [plan.columns[name] for name in census.names]
    for combination, group, count_ in (tuple(entry.values()) for entry in plan.entries.to_pylist()):
        sick = plan.combinations.columns[-1][combination].as_py()
        shown = [column.groups[group].as_py() for column in columns]
        rows += [([c.covers[value].as_py() for c, value in zip(columns, shown, strict=True)], sick)] * count_
        labels = tuple(column.labels[value] for column, value in zip(columns, shown, strict=True))
        sizes[labels] += count_
        values.setdefault(labels, set()).add(sick)
    assert sorted(released.sizes.tolist()) == sorted(sizes.values())
    for a, found in enumerate(marginals(released)):
        after = [
            sum((leaf in covers[a]) / len(covers[a]) for covers, _ in rows) / len(rows)
            for leaf in range(len(found.after))
        ]
        assert found.after == pytest.approx(after)
        bins = width_bins(released, a)
        assert sum(part.share for part in bins) == pytest.approx(1)
        occurring = {*np.flatnonzero(census.quasi[a].rows).tolist()}
        single = sum(len(occurring & {*covers[a]}) <= 1 for covers, _ in rows)
        if bins[0].high == 1:
            assert bins[0].share == pytest.approx(single / len(rows))
    losses = attribute_losses(released)
    weights = {quasi.name: quasi.weight for quasi in census.quasi}
    mean = sum(losses[name] * weight for name, weight in weights.items()) / sum(weights.values())
    assert mean == pytest.approx(decision.metrics["detail"])
    (uniform,) = uniformities(released)
    assert uniform.classes == sum(len(each) == 1 for each in values.values()) == 0


def test_the_report_of_groups(tmp_path: Path) -> None:
    age = {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}, "boundary": {"level": 1}}
    spec = rf.Spec(
        attributes={"age": age, "town": {"role": "quasi", "hierarchy": "flat"}, "illness": {"role": "sensitive"}},
        privacy={"k": 2, "p": 2},
        method={"name": "cluster"},
    )
    release = rf.anonymize(TINY, spec)
    page = release.report()
    assert "put into 1 group, and" in page.html
    assert "recoded in the same way" not in page.html
    assert "4 of 7 rows have to be suppressed" in page.html
    assert "If &#39;age&#39; were allowed one level more" in page.html
    assert "<strong>ntil</strong>" in page.html
    path = release.save(tmp_path / "out")
    assert (path.parent.parent / "private/report.html").read_text(encoding="utf-8") == page.html


# Attacks, and the page of an audit


def attacked(**privacy: Any) -> tuple[rf.Release, pa.Table]:
    """Return a release of a table with odd names, attacked in every way."""
    table = pa.table({NASTY: [*"aabbccdd"], "age": [20, 21, 22, 23, 24, 25, 26, 27], "ill": ["x", VALUE] * 4})
    attributes = {NASTY: {"role": "quasi", "hierarchy": "flat"}, "age": {"role": "quasi", "order": "numeric"}}
    spec = rf.Spec(
        attributes={**attributes, "ill": {"role": "sensitive"}}, privacy=privacy, method={"name": "mondrian"}
    )
    return rf.anonymize(table, spec, attacks="all"), table


def test_attacks_stand_on_the_page_with_their_promise() -> None:
    release, _ = attacked(k=2, t=0.3)
    report = release.report()
    page = Page(report.html)
    assert "attacks" in page.ids
    assert "attacks" in report.charts
    assert page.tags["svg"] == len(report.charts)
    assert "Where the promise sets a limit, no attack goes beyond it" in page.text
    assert {attack.name for attack in release.audit.attacks} <= {*WORDS}
    for attack in release.audit.attacks:
        assert attack.how in page.text
        assert WORDS[attack.name][0] in page.text
        assert percent(attack.success) in page.text
    assert "#attacks" in page.references
    plain = rf.anonymize(
        pa.table({"q": ["a", "a"]}), rf.Spec(attributes={"q": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 2})
    )
    assert "attacks" not in Page(plain.report().html).ids


def test_an_attack_beyond_the_promise_is_the_headline() -> None:
    worst = [
        Attack("linkage", "knowing 'age'", 0.5, 1.0, 0.25, 0.01),
        Attack("items", "knowing 1 item", 0.1, 0.1, 0.2, 0),
    ]
    section = attack_section(Verdict(False, {"k": 1, "rows": 2}, (), (), attacks=tuple(worst)))
    assert section is not None
    assert "1 attack of 2 goes beyond what was promised" in section.html
    assert section.html.count('class="bad"') == 1
    assert headline([Attack("minimality", "", 0.5, 0.9, None, 0.5)]) == "The promise sets no limit to these attacks"


@pytest.mark.parametrize("ok", [True, False])
def test_the_page_of_an_audit(ok: bool) -> None:
    release, original = attacked(k=2, t=0.6)
    spec = release.spec if ok else with_parts(release.spec, privacy={"k": 9, "alpha": 0.1, "beta": 0.1, "delta": 0.1})
    verdict = rf.audit(release.table, spec, original, attacks="all", population=original)
    assert verdict.ok == ok
    html = audit_page(verdict, spec, f"{NASTY}.csv")
    page = Page(html)
    assert ("The promise holds" if ok else "The promise does not hold") in page.text
    assert {"risk", "attacks", "smallest", "roles"} <= page.ids
    assert all(reference[1:] in page.ids for reference in page.references)
    assert "<script" not in html
    for finding in verdict.findings:
        assert finding.message in page.text
        assert finding.mend in page.text
    assert NASTY in page.text
    assert not re.search(r"https?:|url\(|@import", html)


def test_the_page_of_an_audit_of_nothing_and_of_two_tables() -> None:
    spec = rf.Spec(attributes={"q": {"role": "quasi"}}, privacy={"k": 2, "k_map": 2})
    empty = rf.audit(pa.table({"q": pa.array([], pa.string())}), spec, population=pa.table({"q": ["a"]}))
    assert "the release has no rows" in Page(audit_page(empty, spec)).text
    people = pa.table({"age": ["1", "2", "3", "4"], "ill": ["a", "b", "a", "b"]})
    spec = rf.Spec(
        attributes={"age": {"role": "quasi"}, "ill": {"role": "sensitive"}},
        privacy={"l": 2},
        method={"name": "anatomy"},
    )
    text = Page(audit_page(rf.anonymize(people, spec, attacks="all").audit, spec)).text
    assert "In no bucket has a value of “ill” more than one in 2 of the rows" in text


def test_labels_that_only_suppressed_rows_have_are_not_told_as_published() -> None:
    """One row is alone with its sex and its decade: neither its label nor its value is published."""
    table = pa.table({"sex": ["m"] * 6 + ["f"] * 6 + ["d"], "age": [31, 33, 35] * 4 + [95]})
    sex, age = {"role": "quasi", "hierarchy": {"tree": {"one": ["m", "f"], "other": ["d", "x"]}}}, {"intervals": [10]}
    spec = rf.Spec(
        attributes={"sex": sex, "age": {"role": "quasi", "hierarchy": age}},
        privacy={"k": 3},
        method={"name": "levels", "levels": {"sex": 1, "age": 1}, "suppression": 0.2},
    )
    release = rf.anonymize(table, spec)
    released = release.plan.published(release.census)
    assert released is not None
    assert [released.labels(place) for place in range(2)] == [{"one"}, {"[30, 40)"}]
    assert "sex: 3 values become 1 label, 1 is suppressed" in release.report().html
    assert "age: 4 values become 1 label, 1 is suppressed" in release.report().html
    found = groups(release.census.quasi[0], release.plan.columns["sex"].labels, released.kept(0))
    assert [(group.label, group.lines) for group in found] == [("one", ("m", "f")), (SUPPRESSED, ("d",))]
    assert "[90, 100)" not in release.report().html


def test_the_page_says_proven_only_of_what_is() -> None:
    """A fifth of a second is no time to prove the best sets of ages and countries."""
    spec = TINY_SPEC.model_copy(update={"method": MethodTable(scheme="set", suppression=0.2)})
    quasi = {"role": "quasi"}
    sets = rf.Spec(
        attributes={"age": quasi, "country": quasi}, privacy={"k": 5}, method={"scheme": "set", "time_limit": 0.2}
    )
    release = rf.anonymize(people(3000).select(["age", "country"]), sets)
    assert release.search is not None
    assert not release.search.optimal
    unproven = "the cheapest recoding of a scheme; here the best that was found, which is not proven to be the cheapest"
    assert unproven in release.report().html
    assert "the cheapest recoding of a scheme, proven" in rf.anonymize(TINY, spec).report().html
