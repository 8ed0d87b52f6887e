"""Walks: what a place costs and suppresses is what the judges say, and an attribute is improved as well as can be."""

import itertools
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ringfence.search.recode import run_lines
from ringfence.search.recode.boxes import Boxes
from ringfence.search.recode.lines import labels_of
from ringfence.search.recode.partitions import SETS, Partitions, renumbered
from ringfence.search.recode.question import Question, question
from ringfence.search.recode.spaces import Space
from ringfence.search.recode.walker import Walker, state_of
from ringfence.spec import Spec
from tests.search.recode.test_auto import SCHEMES, members
from tests.tables import count, scheme_cases, with_parts

LOSSES = ["dm", "hdm", "glm", "ncp", "gcp", "ntil", "ce", "aecs"]
PROMISES: list[dict[str, Any]] = [
    {},
    {"l": 2},
    {"p": 2},
    {"l": {"value": 1.9, "kind": "entropy", "of": "s0"}},
    {"l": {"value": 2, "kind": "recursive", "c": 1.2, "of": "s0"}},
    {"t": {"value": 0.4, "of": "s0"}},
    {"t": {"value": 0.3, "of": "s0", "distance": "ordered"}},
]


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Draw a table, schemes that fit it, any promise and any loss; now and then rows of people."""
    case = draw(scheme_cases(sensitive=1))
    names = [name for name in case.spec.attributes if name.startswith("q")]
    free = [case.spec.attributes[name].hierarchy is None for name in names]
    schemes: list[Any] = [draw(st.sampled_from(["ordered", "set"] if bare else SCHEMES)) for bare in free]
    loss = draw(st.sampled_from(LOSSES))
    method = {"metric": loss, "suppression": draw(st.sampled_from([0.0, 0.3, 1.0]))}
    method |= {"target": "s0"} if loss == "ce" else {}
    parts: dict[str, Any] = {"privacy": {"k": draw(st.integers(1, 4)), **draw(st.sampled_from(PROMISES))}}
    table = case.table
    if draw(st.booleans()) and not {"l", "p"} & parts["privacy"].keys():
        people = draw(st.lists(st.integers(0, 3), min_size=table.num_rows, max_size=table.num_rows))
        table = table.append_column("who", pa.array(people))
        parts["data"] = {"entity": "who"}
    spec: Spec = with_parts(case.spec, method=method, **parts)
    census = count(table, spec)
    try:
        spaces = [Space(quasi, scheme) for quasi, scheme in zip(census.quasi, schemes, strict=True)]
    except Exception as error:  # an order that tears a node apart
        assume("guided-ordered" not in str(error))
        raise
    return question(census, spec, spaces)


def states_of(space: Space) -> list[Any]:
    """All states of a space."""
    boxes = Boxes(space)
    return list(members(boxes, boxes.root))


def judged(asked: Question, states: list[Any]) -> tuple[float, int]:
    """What a node costs and suppresses, by the judges; the cost as walks count it."""
    node = [space.position(state) for space, state in zip(asked.spaces, states, strict=True)]
    roller = asked.roller
    classes = roller.roll(roller.finest, roller.fields(list(enumerate(node))), roller.room())
    suppressed = asked.promise.judge(classes)
    cost, rows = float(asked.metric.cost(node, classes)), asked.census.rows
    if asked.spec.method.metric == "aecs":
        published = int((classes.fails[: classes.size] == 0).sum())
        return rows - published * asked.promise.least, suppressed
    return cost * {"dm": 1 / rows, "hdm": 1.0}.get(asked.spec.method.metric, rows), suppressed


def walker_of(asked: Question) -> Walker:
    return Walker(asked.ground, 1, lambda _: True)


@given(asked=questions(), data=st.data())
def test_a_place_costs_and_suppresses_what_the_judges_say(asked: Question, data: st.DataObject) -> None:
    walker = walker_of(asked)
    states = [data.draw(st.sampled_from(states_of(space))) for space in asked.spaces]
    walker.go_to(states)
    for a in data.draw(st.permutations(range(len(states)))):
        assert (walker.loss, walker.gone) == pytest.approx(judged(asked, states))
        assert [walker.state(a) for a in range(len(states))] == states
        states[a] = data.draw(st.sampled_from(states_of(asked.spaces[a])))
        walker.put_state(a, states[a])
    assert (walker.loss, walker.gone) == pytest.approx(judged(asked, states))


@given(asked=questions(), data=st.data(), price=st.sampled_from([0.0, 0.1, 1.0, 50.0]))
def test_an_attribute_is_improved_to_the_best_partition(asked: Question, data: st.DataObject, price: float) -> None:
    walker = walker_of(asked)
    states = [data.draw(st.sampled_from(states_of(space))) for space in asked.spaces]
    a = data.draw(st.integers(0, len(states) - 1))
    walker.go_to(states)
    before = walker.loss + price * walker.gone
    gained = walker.improve(a, price)
    states[a] = walker.state(a)
    loss, gone = judged(asked, states)
    assert (walker.loss, walker.gone) == pytest.approx((loss, gone))
    assert (loss + price * gone < before - 1e-9) == gained
    every = [judged(asked, [*states[:a], state, *states[a + 1 :]]) for state in states_of(asked.spaces[a])]
    best = min(loss + price * gone for loss, gone in every)
    walk = asked.spaces[a].walk
    if isinstance(walk, Partitions) and any(b.rule is SETS and len(b.children) > 2 for b in walk.branches):
        assert best - 1e-9 <= loss + price * gone <= before + 1e-9  # one order of many
    else:
        assert loss + price * gone == pytest.approx(best)


@given(asked=questions(), data=st.data(), price=st.sampled_from([0.0, 0.1, 1.0, 50.0]))
def test_values_are_moved_while_that_is_cheaper(asked: Question, data: st.DataObject, price: float) -> None:
    walker = walker_of(asked)
    states = [data.draw(st.sampled_from(states_of(space))) for space in asked.spaces]
    for a, limit in itertools.product(range(len(states)), [np.inf, asked.terms.limit]):
        walker.go_to(states)
        before, gone = walker.loss + price * walker.gone, walker.gone
        moved = walker.move(a, price, limit)
        now = [walker.state(a) for a in range(len(states))]
        assert (walker.loss, walker.gone) == pytest.approx(judged(asked, now))
        assert moved == (walker.loss + price * walker.gone < before - 1e-9)
        assert walker.gone <= max(limit, gone)
        if not moved and walker._moves[a] is not None and limit == np.inf:
            for state in states_of(asked.spaces[a]):  # none that differs by one value is cheaper
                if _differ_by_one(states[a][0], state[0]):
                    loss, lost = judged(asked, [*states[:a], state, *states[a + 1 :]])
                    assert loss + price * lost >= before - 1e-6


def _differ_by_one(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether partitions are the same without some value."""
    return any(
        renumbered([*one[:v], *one[v + 1 :]]) == renumbered([*other[:v], *other[v + 1 :]]) for v in range(len(one))
    )


@given(asked=questions(), data=st.data())
def test_what_is_filled_up_keeps_the_limit_and_costs_no_more(asked: Question, data: st.DataObject) -> None:
    walker = walker_of(asked)
    states = [data.draw(st.sampled_from(states_of(space))) for space in asked.spaces]
    walker.go_to(states)
    loss, gone = walker.loss, walker.gone
    for a in range(len(states)):
        if walker.fill_up(a):
            assert walker.gone <= asked.terms.limit
            assert walker.loss < loss or gone > asked.terms.limit
            loss, gone = walker.loss, walker.gone
            now = [walker.state(a) for a in range(len(states))]
            assert (loss, gone) == pytest.approx(judged(asked, now))


@given(asked=questions(), price=st.sampled_from([0.1, 1.0]))
def test_what_is_spread_is_what_the_judges_say(asked: Question, price: float) -> None:
    walker = walker_of(asked)
    walker.go_to([space.state(space.coarsest) for space in asked.spaces])
    walker.spread(price, walker.attributes)
    states = [walker.state(a) for a in range(len(asked.spaces))]
    assert (walker.loss, walker.gone) == pytest.approx(judged(asked, states))
    assert walker.watched is asked.ground.watched or walker.watched.k == asked.ground.watched.k
    if walker.found is not None:  # it was noted with the k that is asked for
        loss, labels, levels = walker.found
        found = [state_of(*parts) for parts in zip(asked.spaces, labels, levels, strict=True)]
        assert judged(asked, found)[0] == pytest.approx(loss)
        assert judged(asked, found)[1] <= asked.terms.limit


def test_many_alike_attributes_share_what_may_be_told() -> None:
    """Settled at once, three of twenty are told in full; spread before, half of each of many is."""
    rng = np.random.default_rng(3)
    table = pa.table({f"c{i:02}": [f"v{v}" for v in rng.integers(0, 4, 1500)] for i in range(20)})
    attributes = {name: {"role": "quasi", "hierarchy": {"fanout": 2}} for name in table.column_names}
    spec = Spec(attributes=attributes, privacy={"k": 5}, method={"metric": "glm", "suppression": 0.05, "scheme": "cut"})
    census = count(table, spec)
    asked = question(census, spec, [Space(quasi, "cut") for quasi in census.quasi])
    losses = []
    for spreads in (False, True):
        walker = walker_of(asked)
        walker.go_to([space.state(space.coarsest) for space in asked.spaces])
        if spreads:
            walker.spread(1.0, walker.attributes)
        walker.settle(1.0, walker.attributes)
        losses.append(walker.loss / walker.rows)
        assert walker.holds
    assert losses[1] < losses[0] - 0.015, losses


@given(asked=questions(), data=st.data(), units=st.integers(2, 4))
def test_lines_of_few_units_are_no_worse_and_of_the_space(asked: Question, data: st.DataObject, units: int) -> None:
    """As for thousands of values: some stay together, and runs reach through segments only."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run_lines, "MOST_UNITS", units)
        walker = walker_of(asked)
        states = [data.draw(st.sampled_from(states_of(space))) for space in asked.spaces]
        walker.go_to(states)
        for a in [*range(len(states))] * 3:
            before = walker.loss + walker.gone
            walker.improve(a, 1.0)
            states[a] = walker.state(a)
            assert states[a] in states_of(asked.spaces[a])
            assert (walker.loss, walker.gone) == pytest.approx(judged(asked, states))
            assert walker.loss + walker.gone <= before + 1e-9


@given(asked=questions(), data=st.data())
def test_states_and_labels_are_the_same_thing(asked: Question, data: st.DataObject) -> None:
    for space in asked.spaces:
        if isinstance(space.walk, Partitions):
            state = data.draw(st.sampled_from(states_of(space)))
            assert state_of(space, labels_of(space, space.walk, state)) == state


@pytest.mark.parametrize("scheme", ["ordered", "set"])
@pytest.mark.parametrize("loss", ["glm", "hdm", "ntil"])
def test_hundreds_of_values_in_all_ways_of_grouping_them(scheme: Any, loss: str) -> None:
    rng = np.random.default_rng(3)
    table = pa.table({"day": [f"{v:03}" for v in rng.integers(0, 400, 900)], "sex": rng.choice(["f", "m"], 900)})
    hierarchy = {"fanout": 5}
    attributes = {"day": {"role": "quasi", "hierarchy": hierarchy}, "sex": {"role": "quasi", "hierarchy": "flat"}}
    spec = Spec(attributes=attributes, privacy={"k": 4}, method={"metric": loss, "suppression": 0.05, "scheme": scheme})
    census = count(table, spec)
    asked = question(census, spec, [Space(quasi, scheme) for quasi in census.quasi])
    walker, draw = walker_of(asked), Random(2)
    for start in ("finest", "coarsest"):
        walker.go_to([space.state(getattr(space, start)) for space in asked.spaces])
        for a, price in itertools.product([0, 0, 1, 0], [0.3, 2.0]):
            before = walker.loss + price * walker.gone
            walker.improve(a if draw.random() < 0.8 else 1, price)
            assert walker.loss + price * walker.gone <= before + 1e-9
        states = [walker.state(a) for a in range(2)]
        assert (walker.loss, walker.gone) == pytest.approx(judged(asked, states))


def test_an_attribute_of_many_values_is_improved_again_while_that_gains_much() -> None:
    """A line has few of its cuts: what is left after the first is taken for worse than it is."""
    rng = np.random.default_rng(6)
    table = pa.table({"day": [f"{v:03}" for v in rng.integers(0, 300, 900)], "sex": rng.choice(["f", "m"], 900)})
    spec = Spec(attributes={name: {"role": "quasi"} for name in table.column_names}, privacy={"k": 5})
    census = count(table, spec)
    walker = Walker(question(census, spec, [Space(q, "ordered") for q in census.quasi]).ground, 1, lambda _: True)
    assert walker.large == {0}
    losses, taken = iter([90.0, 80.0, 79.999, 70.0, 69.999, 69.999, 69.999]), list[int]()
    walker.loss = 100.0

    def step(a: int) -> bool:
        taken.append(a)
        before, walker.loss = walker.loss, next(losses)
        return walker.loss < before

    assert walker.descend([0, 1], step)
    assert taken == [0, 0, 0, 1, 0, 1]
