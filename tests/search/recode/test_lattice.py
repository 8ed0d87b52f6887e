"""The level search against brute force from the definitions."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.census.census import Census
from ringfence.errors import Unsatisfiable
from ringfence.methods import decide
from ringfence.search.decision import Decision
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from tests.definitions import Rule, best_node, close, distinct, entropy, k_anonymous, loss_of, recursive, split
from tests.tables import Case, cases, limit_of, with_parts

SUPPRESSION = st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0])
METRICS = ["dm", "hdm", "glm", "ncp", "ce", "aecs", "gcp", "ntil"]
TREE = {"left": ["a", "b"], "right": {"low": ["c"], "high": ["d"]}}


@st.composite
def promises(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a privacy table and what the sensitive attributes need for it."""
    privacy: dict[str, Any] = {"k": draw(st.integers(1, 4))}
    for part in draw(
        st.lists(st.sampled_from(["distinct", "entropy", "recursive", "p", "t"]), max_size=2, unique=True)
    ):
        if part == "p":
            privacy["p"] = draw(st.integers(1, 3))
        elif part == "t":
            distance = draw(st.sampled_from(["equal", "ordered", "hierarchical"]))
            privacy["t"] = {"value": draw(st.sampled_from([0.1, 0.25, 0.4, 0.6])), "of": "s0", "distance": distance}
        else:
            value = draw(st.sampled_from([1.5, 2.5])) if part == "entropy" else draw(st.integers(1, 3))
            c = {"c": draw(st.sampled_from([0.5, 1.0, 2.5]))} if part == "recursive" else {}
            privacy.setdefault("l", []).append(
                {"value": value, "kind": part, "of": draw(st.sampled_from(["s0", "s1"])), **c}
            )
    return privacy, {"hierarchy": {"tree": TREE}}


def rules_of(privacy: dict[str, Any], census: Census) -> list[Rule]:
    """The definitions that a privacy table stands for."""
    where = {part.name: position for position, part in enumerate(census.sensitive)}
    rules = [k_anonymous(privacy["k"])]
    for part in privacy.get("l", []):
        attribute, value = where[part["of"]], part["value"]
        if part["kind"] == "distinct":
            rules.append(distinct(attribute, value))
        elif part["kind"] == "entropy":
            rules.append(entropy(attribute, value))
        else:
            rules.append(recursive(attribute, part["c"], value))
    if "p" in privacy:
        rules += [distinct(where["s0"], privacy["p"]), distinct(where["s1"], privacy["p"])]
    if "t" in privacy:
        asked = privacy["t"]
        rules.append(close(where["s0"], asked["value"], asked["distance"], census.sensitive[where["s0"]]))
    return rules


def full_spec(case: Case, privacy: dict[str, Any], extra: dict[str, Any], **method: Any) -> Spec:
    """The case's specification with a promise and a method; `s1` is the label to be predicted."""
    attributes = case.spec.model_dump(by_alias=True, exclude_unset=True)["attributes"]
    attributes["s0"] |= extra
    return with_parts(case.spec, attributes=attributes, privacy=privacy, method={"target": "s1", **method})


@given(case=cases(sensitive=2), promise=promises(), suppression=SUPPRESSION, metric=st.sampled_from(METRICS))
def test_optimum_is_that_of_brute_force(case: Case, promise: Any, suppression: float, metric: str) -> None:
    privacy, extra = promise
    spec = full_spec(case, privacy, extra, metric=metric, suppression=suppression)
    census = Case(case.table, spec).census
    target = [part.name for part in census.sensitive].index("s1")
    rules, limit = rules_of(privacy, census), limit_of(suppression, census.rows)
    best = best_node(census, rules, metric, limit, k=privacy["k"], target=target)
    if best is None:
        with pytest.raises(Unsatisfiable):
            decide(census, spec, Watch())
        return
    decision = decide(census, spec, Watch())
    assert decision.search is not None
    assert decision.search.optimal
    assert decision.search.cost == pytest.approx(best.cost, rel=1e-9, abs=1e-12)
    assert decision.search.bound == decision.search.cost
    assert decision.plan.suppressed_rows == best.suppressed
    assert tuple(decision.plan.levels.values()) == best.levels


@given(case=cases(sensitive=2), promise=promises(), data=st.data())
def test_every_metric_of_a_release_is_that_of_its_definition(case: Case, promise: Any, data: st.DataObject) -> None:
    privacy, extra = promise
    census = Case(case.table, full_spec(case, privacy, extra)).census
    levels = {q.name: data.draw(st.integers(0, q.hierarchy.height)) for q in census.quasi}
    spec = full_spec(case, privacy, extra, name="levels", levels=levels, suppression=1.0)
    target = [part.name for part in census.sensitive].index("s1")
    chosen = tuple(levels.values())
    parts = split(census, chosen, rules_of(privacy, census))
    if parts is None or not parts[0]:
        with pytest.raises(Unsatisfiable):
            decide(census, spec, Watch())
        return
    decision = decide(census, spec, Watch())
    for name in METRICS:
        expected = loss_of(name, census, chosen, *parts, privacy["k"], target)
        assert decision.metrics[name] == pytest.approx(expected, rel=1e-9, abs=1e-12), name
    assert decision.metrics["classes"] == len(parts[0])
    assert decision.metrics["suppressed"] == sum(c.size for c in parts[1])


@given(case=cases(sensitive=2), promise=promises(), suppression=SUPPRESSION, metric=st.sampled_from(METRICS))
def test_a_search_cut_short_certifies_a_bound_below_the_optimum(
    case: Case, promise: Any, suppression: float, metric: str
) -> None:
    privacy, extra = promise
    spec = full_spec(case, privacy, extra, metric=metric, suppression=suppression)
    census = Case(case.table, spec).census
    target = [part.name for part in census.sensitive].index("s1")
    best = best_node(
        census, rules_of(privacy, census), metric, limit_of(suppression, census.rows), k=privacy["k"], target=target
    )
    try:
        decision = decide(census, spec, Watch(time_limit=-1.0))  # up after the first node
    except Unsatisfiable:
        return
    assert best is not None
    assert decision.search is not None
    assert decision.search.bound <= best.cost + 1e-9 * abs(best.cost)
    assert best.cost <= decision.search.cost + 1e-9 * abs(best.cost)
    if decision.search.optimal:  # nothing was left to do
        assert decision.search.cost == pytest.approx(best.cost, rel=1e-9, abs=1e-12)


@given(
    case=cases(sensitive=2), promise=promises(), suppression=SUPPRESSION, metric=st.sampled_from(METRICS),
    share=st.sampled_from([0.0, 0.5, 1.0, 1.001, 2.0]),
)  # fmt: skip
def test_what_is_better_than_an_answer_known_elsewhere_is_found(
    case: Case, promise: Any, suppression: float, metric: str, share: float
) -> None:
    privacy, extra = promise
    spec = full_spec(case, privacy, extra, metric=metric, suppression=suppression)
    census = Case(case.table, spec).census
    try:
        best = decide(census, spec, Watch()).search
    except Unsatisfiable:
        return
    assert best is not None
    known = share * best.cost
    try:
        found = decide(census, spec, Watch(known=known)).search
    except Unsatisfiable:
        assert best.cost >= known * (1 - 1e-9)
        return
    assert found is not None
    assert found.bound <= best.cost * (1 + 1e-9)
    if found.optimal or best.cost < known * (1 - 1e-9):
        assert found.cost == pytest.approx(best.cost, rel=1e-9, abs=1e-12)


@given(case=cases(), k=st.integers(2, 5))
def test_a_search_without_any_time_still_makes_a_release(case: Case, k: int) -> None:
    """Everything generalized to the top keeps k wherever anything does, and takes no time to find."""
    spec = with_parts(case.spec, privacy={"k": k}, method={"metric": "dm", "suppression": 0})
    try:
        decide(case.census, spec, Watch())
    except Unsatisfiable:  # too few rows, or a boundary that keeps some of them apart
        return
    decision = decide(case.census, spec, Watch(time_limit=-1.0))
    assert decision.metrics["suppressed"] == 0
    assert decision.search is not None
    assert decision.search.bound <= decision.search.cost <= case.census.rows**2


@given(case=cases())
def test_k_1_changes_nothing(case: Case) -> None:
    decision = decide(case.census, with_parts(case.spec, privacy={"k": 1}), Watch())
    assert all(column.changes_nothing for column in decision.recoding.columns.values())
    assert decision.plan.suppressed_rows == 0


@given(case=cases(), k=st.integers(1, 5))
def test_the_order_of_rows_changes_nothing(case: Case, k: int) -> None:
    spec = with_parts(case.spec, privacy={"k": k})
    backwards = Case(case.table.take(list(range(case.table.num_rows))[::-1]), case.spec)

    def outcome(some: Case) -> Decision | str:
        try:
            return decide(some.census, spec, Watch())
        except Unsatisfiable as error:
            return str(error)

    one, other = outcome(case), outcome(backwards)
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
    else:
        assert one.plan == other.plan
        assert one.metrics == other.metrics


def test_more_people_than_rows_is_unsatisfiable_and_names_the_largest_k() -> None:
    table = pa.table({"sex": ["m", "f", "f"]})
    spec = Spec(attributes={"sex": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 4})
    with pytest.raises(Unsatisfiable, match=r"3 rows.*k = 4.*largest k that is possible is 3"):
        decide(Case(table, spec).census, spec, Watch())


def test_attributes_that_say_the_same_are_not_tried_in_all_combinations() -> None:
    table = pa.table({f"q{place:02}": ["a", "b"] * 3 for place in range(40)})
    attributes = {name: {"role": "quasi", "hierarchy": "flat"} for name in table.column_names}
    spec = Spec(attributes=attributes, privacy={"k": 3})
    decision = decide(Case(table, spec).census, spec, Watch())
    assert decision.search is not None
    assert decision.search.optimal
    assert decision.search.nodes < 100
    assert set(decision.recoding.levels.values()) == {0}
