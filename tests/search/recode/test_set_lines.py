"""Lines of sets: every set of values costs and suppresses what the judges say, and the best partition is found."""

from itertools import product
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringfence.kernels.recode.priced_sets import cheapest_sets, cheapest_sets_within, chosen_sets
from ringfence.methods import decide
from ringfence.search.progress import Watch
from ringfence.search.recode import set_lines
from ringfence.search.recode.lines import line_for
from ringfence.search.recode.node_lines import CutLine
from ringfence.search.recode.partitions import Partitions
from ringfence.search.recode.question import Question, question
from ringfence.search.recode.run_lines import RunLines
from ringfence.search.recode.spaces import Space
from ringfence.search.recode.walker import Walker, state_of
from ringfence.spec import Spec
from tests.search.recode.test_walker import judged, states_of
from tests.tables import count, scheme_cases, with_parts

CELLS = ["glm", "ncp", "gcp", "ntil", "hdm"]


@st.composite
def questions(draw: st.DrawFn, guided: tuple[str, ...] = ("set", "guided-set")) -> Question:
    """Draw a table whose attributes have these schemes (sets, where there is no hierarchy), by a loss of cells and a
    monotone promise."""
    case = draw(scheme_cases(sensitive=1, most=(6, 4, 2)))
    names = [name for name in case.spec.attributes if name.startswith("q")]
    free = [case.spec.attributes[name].hierarchy is None for name in names]
    schemes: list[Any] = ["set" if bare else draw(st.sampled_from(guided)) for bare in free]
    method = {"metric": draw(st.sampled_from(CELLS)), "suppression": draw(st.sampled_from([0.0, 0.3, 1.0]))}
    privacy = {"k": draw(st.integers(1, 4)), **draw(st.sampled_from([{}, {}, {"l": 2}, {"p": 2}]))}
    spec: Spec = with_parts(case.spec, method=method, privacy=privacy)
    census = count(case.table, spec)
    return question(census, spec, [Space(quasi, scheme) for quasi, scheme in zip(census.quasi, schemes, strict=True)])


@given(asked=questions(), data=st.data(), price=st.sampled_from([0.0, 0.1, 1.0, 50.0]))
def test_the_best_partition_is_found_at_any_price_and_within_the_limit(
    asked: Question, data: st.DataObject, price: float
) -> None:
    states = [data.draw(st.sampled_from(states_of(space))) for space in asked.spaces]
    a = data.draw(st.integers(0, len(states) - 1))
    space, codes = asked.spaces[a], np.ascontiguousarray(asked.census.codes[:, a], np.int32)
    assert isinstance(space.walk, Partitions)
    line = RunLines(space, space.walk, asked.ground.losses[a], codes).every_set()
    assert line is not None
    walker = Walker(asked.ground, 1, lambda _: True)
    walker._makers[a] = line  # type: ignore[call-overload]
    walker.go_to(states)
    _, base = walker._filled(a)
    every = [judged(asked, [*states[:a], state, *states[a + 1 :]]) for state in states_of(asked.spaces[a])]

    cost, gone = line.solve(price)
    assert base + cost + price * gone == pytest.approx(min(loss + price * lost for loss, lost in every), abs=1e-9)
    assert (base + cost, gone) == pytest.approx(now_judged(asked, states, a, line), abs=1e-9)

    least = min((loss for loss, lost in every if lost <= asked.terms.limit), default=inf)
    assert base + line.solve_within(asked.terms.limit) == pytest.approx(least, abs=1e-9)
    if least < inf:
        assert now_judged(asked, states, a, line)[0] == pytest.approx(least, abs=1e-9)


@settings(max_examples=settings().max_examples * 4)
@given(data=st.data(), price=st.sampled_from([0.0, 0.1, 1.0, 50.0]))
def test_guided_blocks_of_branches_of_two_are_cuts(data: st.DataObject, price: float) -> None:
    """Of two members a branch has both or each alone, so that the best cut is the best partition."""
    asked = data.draw(questions(("guided-set",)))
    states = [data.draw(st.sampled_from(states_of(space))) for space in asked.spaces]
    walker = Walker(asked.ground, 1, lambda _: True)
    walker.go_to(states)
    for a, space in enumerate(asked.spaces):
        if not isinstance(walker._makers[a], CutLine):
            continue
        line, base = walker._filled(a)
        every = [judged(asked, [*states[:a], state, *states[a + 1 :]]) for state in states_of(space)]
        cost, gone = line.solve(price)
        assert base + cost + price * gone == pytest.approx(min(loss + price * lost for loss, lost in every), abs=1e-9)
        least = min((loss for loss, lost in every if lost <= asked.terms.limit), default=inf)
        assert base + line.solve_within(asked.terms.limit) == pytest.approx(least, abs=1e-9)


def now_judged(asked: Question, states: list[Any], a: int, line: set_lines.SetLine) -> tuple[float, int]:
    """What the partition that a line found last costs and suppresses, by the judges."""
    labels, _, level = line.partition()
    return judged(asked, [*states[:a], state_of(asked.spaces[a], labels, level), *states[a + 1 :]])


@given(size=st.integers(1, 6), data=st.data(), price=st.sampled_from([0.0, 0.5, 20.0]), limit=st.integers(0, 6))
def test_the_cheapest_sets_are_those_of_brute_force(size: int, data: st.DataObject, price: float, limit: int) -> None:
    """Costs of any kind, also such that few blocks are worth a look, or all."""
    seed, slope = data.draw(st.integers(0, 10**6)), data.draw(st.sampled_from([0.0, 1.0, 5.0]))
    rng = np.random.default_rng(seed)
    width = np.array([bin(block).count("1") for block in range(1 << size)])
    costs = rng.random(1 << size) * 4 + slope * (width - 1)
    gone = np.maximum(0, rng.integers(0, 4, 1 << size) - width + 1).astype(float)
    one = np.array([0, size])
    shape = (one, np.array([size]), np.full(size, -1), np.arange(size), np.arange(size), np.array([0, 1 << size]))
    merges, choice, chosen = np.array([True]), np.zeros(1 << size, np.int64), np.zeros(size, np.int64)
    starts, sizes, kinds, first, last, offsets = shape
    every = [(costs[[*blocks]].sum(), gone[[*blocks]].sum()) for blocks in partitions(size)]

    cost, lost = cheapest_sets(starts, sizes, kinds, offsets, merges, costs, gone, price, choice)
    assert cost + price * lost == pytest.approx(min(c + price * g for c, g in every))
    chosen_sets(starts, sizes, kinds, first, last, offsets, merges, choice, chosen)
    assert costs[np.unique(chosen)].sum() == pytest.approx(cost)

    within = cheapest_sets_within(starts, sizes, kinds, first, last, offsets, merges, costs, gone, limit, chosen)
    assert within == pytest.approx(min((c for c, g in every if g <= limit), default=inf))
    if within < inf:
        assert costs[np.unique(chosen)].sum() == pytest.approx(within)
        assert gone[np.unique(chosen)].sum() <= limit
        assert all(block >> child & 1 for child, block in enumerate(chosen.tolist()))


def partitions(size: int) -> set[tuple[int, ...]]:
    """All partitions of some children, each as its blocks in bits."""
    found = set()
    for blocks in product(range(size), repeat=size):
        parts = {block: sum(1 << child for child in range(size) if blocks[child] == block) for block in blocks}
        found.add(tuple(sorted(parts.values())))
    return found


@pytest.mark.parametrize("loss", CELLS)
@pytest.mark.parametrize("suppression", [0.0, 0.1])
def test_a_small_table_with_a_set_of_many_values_ends_with_a_proof(loss: str, suppression: float) -> None:
    """Twelve people of twelve ages have 4,213,597 partitions of ages, and none of them needs to be looked at."""
    rng = np.random.default_rng(12)
    table = pa.table({"age": [str(age) for age in range(20, 32)], "town": rng.choice(["Bern", "Oslo", "Rome"], 12)})
    attributes = {name: {"role": "quasi", "scheme": "set"} for name in table.column_names}
    spec = Spec(attributes=attributes, privacy={"k": 2}, method={"metric": loss, "suppression": suppression})
    found = decide(count(table, spec), spec, Watch()).search
    assert found is not None
    assert found.optimal
    assert found.nodes < 5000


def test_sets_that_are_too_many_have_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"age": [str(age) for age in range(20, 32)]})
    spec = Spec(attributes={"age": {"role": "quasi", "scheme": "set"}}, privacy={"k": 2}, method={"metric": "glm"})
    census = count(table, spec)
    asked = question(census, spec, [Space(quasi, "set") for quasi in census.quasi])
    maker = line_for(asked.spaces[0], asked.ground.losses[0], np.zeros(0, np.int32))
    assert isinstance(maker, RunLines)
    assert maker.every_set() is not None
    monkeypatch.setattr(set_lines, "MOST_SETS", 1 << 11)
    assert maker.every_set() is None
