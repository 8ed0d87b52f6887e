"""Two attributes eliminated together: no bound above what it bounds at any prices, nothing ruled out that counts."""

import itertools
from collections.abc import Iterator
from functools import cache
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.kernels.recode import block_graphs, two_attribute_boxes
from ringfence.kernels.recode import two_attributes as kernels
from ringfence.kernels.recode.block_graphs import Blocks
from ringfence.search.progress import Watch
from ringfence.search.recode import auto, eliminate_two, proof
from ringfence.search.recode.boxes import Boxes
from ringfence.search.recode.eliminate_two import Lead, TwoEliminated, pairs_to_eliminate
from ringfence.search.recode.iterated import Iterated
from ringfence.search.recode.proof import Proof
from ringfence.spec import Spec
from tests.search.recode.test_auto import Workshop, members
from tests.tables import Case

Parts = tuple[tuple[int, ...], ...]


def partitions(size: int, *, sets: bool) -> Iterator[Parts]:
    """All partitions of some values into runs, or into sets, each block as its values."""
    if not sets:
        for cuts in itertools.product((0, 1), repeat=size - 1):
            runs = np.cumsum([0, *cuts]).tolist()
            yield tuple(tuple(v for v in range(size) if runs[v] == b) for b in range(runs[-1] + 1))
        return
    for blocks in itertools.product(range(size), repeat=size):
        if all(block <= max(blocks[:v], default=-1) + 1 for v, block in enumerate(blocks)):
            yield tuple(tuple(v for v in range(size) if blocks[v] == b) for b in range(max(blocks) + 1))


def members_of(blocks: Blocks, block: int) -> tuple[int, ...]:
    """The values of a block."""
    if blocks.in_runs:
        return tuple(range(*blocks.ends[block].tolist()))
    return tuple(v for v in range(64) if int(blocks.masks[block]) >> v & 1)


def places_of(blocks: Blocks) -> dict[tuple[int, ...], int]:
    """The number of each block."""
    return {members_of(blocks, b): b for b in range(len(blocks.parts))}


def links_of(parts: Parts, size: int, *, sets: bool) -> tuple[int, ...]:
    """The links of a partition: which pairs of values are merged, or which joints are cut."""
    block_of = {value: block for block in parts for value in block}
    if sets:
        return tuple(int(block_of[i] == block_of[j]) for j in range(size) for i in range(j))
    return tuple(int(block_of[j] != block_of[j + 1]) for j in range(size - 1))


def numbers(data: st.DataObject, low: int, high: int, *shape: int) -> Any:
    """An array of whole numbers."""
    size = int(np.prod(shape))
    return np.array(data.draw(st.lists(st.integers(low, high), min_size=size, max_size=size)), float).reshape(shape)


def drawn_blocks(data: st.DataObject, most: int, *, some: bool) -> Blocks:
    """All blocks of a few values, or some of them."""
    size = data.draw(st.integers(1, most))
    blocks = Blocks.sets(size) if data.draw(st.booleans()) else Blocks.runs(size)
    return blocks.only(numbers(data, 0, 3, len(blocks.parts)) > 0) if some else blocks


class Problem:
    """Two attributes, the cost of every box, of which some may be ruled out, and prices that add up to nothing."""

    def __init__(self, data: st.DataObject) -> None:
        self.outer, self.inner = drawn_blocks(data, 4, some=False), drawn_blocks(data, 4, some=False)
        self.costs = numbers(data, 0, 60, len(self.inner.parts), len(self.outer.parts))
        for _ in range(data.draw(st.integers(0, 3))):
            self.costs[tuple(data.draw(st.integers(0, size - 1)) for size in self.costs.shape)] = inf
        links = kernels.links_among(self.inner.size, self.inner.in_runs)
        self.prices = numbers(data, -20, 20, self.outer.size, links)
        self.prices[-1] -= self.prices.sum(axis=0)

    def recodings(self) -> Iterator[tuple[float, list[tuple[int, int]], Parts]]:
        """Every recoding, in which all blocks agree: its cost, its boxes, its inner partition."""
        outers, inners = places_of(self.outer), places_of(self.inner)
        for parts in partitions(self.outer.size, sets=not self.outer.in_runs):
            for inside in partitions(self.inner.size, sets=not self.inner.in_runs):
                boxes = [(inners[block], outers[part]) for part in parts for block in inside]
                yield sum(float(self.costs[box]) for box in boxes), boxes, inside


@given(data=st.data(), rounds=st.integers(1, 40), target=st.sampled_from([inf, 50.0, 150.0, 400.0]))
def test_prices_never_lift_the_bound_above_the_cheapest_recoding(
    data: st.DataObject, rounds: int, target: float
) -> None:
    problem = Problem(data)
    outer, inner, costs, prices = problem.outer, problem.inner, problem.costs, problem.prices
    every = list(problem.recodings())
    cheapest = min(cost for cost, _, _ in every)
    chosen, choices = np.full(outer.size, -1), np.zeros_like(prices)
    through = np.full(costs.shape, -inf)
    bound, agree = kernels.ascend(
        costs, outer, inner, np.arange(1.0, outer.size + 1), prices, target, rounds, chosen, choices, through
    )
    assert bound <= cheapest * (1 + 1e-9) + 1e-9
    assert np.abs(prices.sum(axis=0)).max(initial=0) < 1e-6
    if agree:
        links = tuple(choices[0].astype(int).tolist())
        found = [
            {block for _, block in boxes}
            for cost, boxes, inside in every
            if cost <= bound + 1e-6 and links_of(inside, inner.size, sets=not inner.in_runs) == links
        ]
        assert {*chosen.tolist()} in found
    for cost, boxes, _ in every:
        assert all(through[box] <= cost * (1 + 1e-9) + 1e-9 for box in boxes)


@given(data=st.data())
def test_without_prices_every_block_chooses_for_itself(data: st.DataObject) -> None:
    problem = Problem(data)
    outer, inner, costs = problem.outer, problem.inner, problem.costs
    inners, outers = places_of(inner), places_of(outer)
    inside = [[inners[part] for part in parts] for parts in partitions(inner.size, sets=not inner.in_runs)]
    covers = [[outers[part] for part in parts] for parts in partitions(outer.size, sets=not outer.in_runs)]
    alone = [min(float(costs[list(parts), b].sum()) for parts in inside) for b in range(len(outer.parts))]
    graph = block_graphs.graph_of(inner)
    after, through = np.empty((graph.end + 1, len(outer.parts))), np.empty(costs.shape)
    kernels.paths_to_the_end(graph, costs, after)
    assert after[0].tolist() == alone
    kernels.costs_through(graph, costs, after, through)
    for s, b in itertools.product(range(costs.shape[0]), range(costs.shape[1])):
        assert through[s, b] == min(float(costs[list(parts), b].sum()) for parts in inside if s in parts)
    zero, chosen = np.zeros_like(problem.prices), np.full(outer.size, -1)
    bound, _ = kernels.ascend(
        costs, outer, inner, np.ones(outer.size), zero, -1.0, 1, chosen, np.zeros_like(zero), through
    )
    assert bound == min(sum(alone[b] for b in cover) for cover in covers)


@given(data=st.data())
def test_partitions_into_some_blocks_are_the_cheapest_of_all(data: st.DataObject) -> None:
    """Into runs; into few sets, which are looked through, and into many, which are looked up."""
    blocks = drawn_blocks(data, 6, some=True)
    size, amount, known = blocks.size, len(blocks.parts), places_of(blocks)
    assert [tuple(np.flatnonzero(row).tolist()) for row in blocks.has()] == [*known]
    costs = numbers(data, 0, 60, amount)
    every = [
        [known[part] for part in parts]
        for parts in partitions(size, sets=not blocks.in_runs)
        if all(part in known for part in parts)
    ]
    chosen, through = np.full(size, -1), np.empty(amount)
    if not amount:
        return
    found = block_graphs.cheapest_partition(blocks, block_graphs.graph_of(blocks), costs, chosen, through)
    assert found == min((sum(costs[b] for b in parts) for parts in every), default=inf)
    if every:
        assert sorted({*chosen.tolist()}) in [sorted(parts) for parts in every]
        assert sum(costs[b] for b in {*chosen.tolist()}) == found
        assert all(value in members_of(blocks, b) for value, b in enumerate(chosen.tolist()))
    for b in range(amount):
        assert through[b] == min((sum(costs[c] for c in parts) for parts in every if b in parts), default=inf)


@given(data=st.data())
def test_values_are_taken_in_with_every_box_and_without(data: st.DataObject) -> None:
    outer, inner = Blocks.sets(data.draw(st.integers(1, 4))), Blocks.sets(data.draw(st.integers(1, 4)))
    live = numbers(data, 0, 2, len(inner.parts), len(outer.parts)) > 0
    lead = Lead(outer, inner, live, np.zeros((5, 10))).without(~live)
    boxes = live_boxes(lead)
    more, size = live_boxes(lead.with_outer_value()), lead.outer.size
    assert more == boxes | {(i, (*o, size)) for i, o in boxes} | {(i, (size,)) for i, _ in boxes}
    more, size = live_boxes(lead.with_inner_value()), lead.inner.size
    assert more == boxes | {((*i, size), o) for i, o in boxes} | {((size,), o) for _, o in boxes}


def live_boxes(lead: Lead) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The boxes that are live, as inner and outer values."""
    inner, outer = ([members_of(each, b) for b in range(len(each.parts))] for each in (lead.inner, lead.outer))
    return {(inner[i], outer[o]) for i, o in np.argwhere(lead.live).tolist()}


@given(data=st.data())
def test_boxes_that_are_in_no_recoding_go_and_the_others_stay(data: st.DataObject) -> None:
    outer, inner = drawn_blocks(data, 3, some=False), drawn_blocks(data, 3, some=False)
    ruled_out = numbers(data, 0, 2, len(inner.parts), len(outer.parts)) == 0
    lead = Lead(outer, inner, np.ones(ruled_out.shape, np.bool_), np.zeros((3, 3)))
    left = live_boxes(lead.without(ruled_out))
    assert left <= live_boxes(lead)
    assert not left & {(members_of(inner, i), members_of(outer, o)) for i, o in np.argwhere(ruled_out).tolist()}
    outers, inners = places_of(outer), places_of(inner)
    for parts in partitions(outer.size, sets=not outer.in_runs):
        for inside in partitions(inner.size, sets=not inner.in_runs):
            if not any(ruled_out[inners[i], outers[o]] for i in inside for o in parts):
                assert {*itertools.product(inside, parts)} <= left


@given(data=st.data(), size=st.integers(1, 6), sets=st.booleans())
def test_the_sum_over_a_block_is_that_of_its_two_parts(data: st.DataObject, size: int, sets: bool) -> None:
    values = numbers(data, -9, 9, size, 2)
    blocks = Blocks.sets(size) if sets else Blocks.runs(size)
    sums = block_graphs.partial_sums(values, not sets)
    for block, (one, two) in enumerate(blocks.parts.tolist()):
        assert np.array_equal(sums[one] + sums[two], values[list(members_of(blocks, block))].sum(axis=0))


@given(data=st.data(), k=st.integers(1, 9), penalty=st.sampled_from([40.0, inf]))
def test_boxes_cost_what_their_classes_cost_one_by_one(data: st.DataObject, k: int, penalty: float) -> None:
    """Also where values of either attribute are not taken in, where few boxes are live, and for sums of small ones."""
    outer, inner, classes = (
        drawn_blocks(data, 3, some=False),
        drawn_blocks(data, 4, some=True),
        data.draw(st.integers(1, 8)),
    )
    outers = outer.size + (0 if outer.in_runs else data.draw(st.integers(0, 1)))
    inners = inner.size + (0 if inner.in_runs else data.draw(st.integers(0, 1)))
    counts = numbers(data, 0, 6, classes, outers, inners)
    group, large = numbers(data, 0, 1, classes).astype(np.int64), data.draw(st.integers(0, classes))
    covers = np.stack([counts[group == g].sum(axis=0) for g in (0, 1)])
    if not len(inner.parts) * len(outer.parts):
        return
    live = numbers(data, 0, data.draw(st.sampled_from([1, 12])), len(inner.parts), len(outer.parts)) == 1
    rows, around, flags = (
        np.ascontiguousarray(part) for part in (counts.transpose(1, 2, 0), covers.transpose(1, 2, 0), live.T)
    )
    turned = np.empty(flags.shape)
    two_attribute_boxes.box_costs(rows, around, group, large, outer, inner, flags, float(k), penalty, turned)
    costs = turned.T
    for s, b in itertools.product(range(len(inner.parts)), range(len(outer.parts))):
        values, inside = list(members_of(outer, b)), list(members_of(inner, s))
        reached = np.ix_([*values, *range(outer.size, outers)], [*inside, *range(inner.size, inners)])
        expected = 0.0
        for c in range(classes):
            number = counts[c][np.ix_(values, inside)].sum()
            reach = covers[group[c]][reached].sum()
            each = max(number, k) if c < large else k
            expected += 0.0 if number == 0 else number * (penalty if reach < k else each)
        assert costs[s, b] == (expected if live[s, b] else inf)


def every_recoding(
    rows: Any, schemes: tuple[str, ...], k: int, suppression: float
) -> tuple[Workshop, list[Boxes], dict[tuple[Any, ...], float]]:
    """What a search over rows of data needs, its boxes, and what every recoding costs, one by one."""
    table = pa.table({f"q{a}": [str(value) for value in rows[:, a]] for a in range(len(schemes))})
    attributes = {f"q{a}": {"role": "quasi", "scheme": scheme} for a, scheme in enumerate(schemes)}
    method = {"metric": "dm", "suppression": suppression}
    shop = Workshop(Case(table, Spec(attributes=attributes)), schemes, {"k": k}, method)
    kinds = [Boxes(space) for space in shop.spaces]
    costs = {
        states: shop.cost([space.position(part) for space, part in zip(shop.spaces, states, strict=True)])
        for states in itertools.product(*(members(kind, kind.root) for kind in kinds))
    }
    return shop, kinds, costs


@pytest.mark.parametrize("schemes", list(itertools.product(("ordered", "set"), repeat=2)))
@pytest.mark.parametrize(("k", "suppression"), [(2, 1.0), (4, 1.0), (9, 1.0), (4, 0.0), (4, 0.2)])
@pytest.mark.parametrize("seed", range(3))
def test_no_bound_of_a_nest_exceeds_the_cost_of_anything_below(
    schemes: tuple[str, ...], k: int, suppression: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every node of a random way down is compared with the cheapest recoding in it, with the prices met on the way."""
    first, few = eliminate_two.FIRST, eliminate_two.FEW
    monkeypatch.setattr(eliminate_two, "COMMON", 0.0)
    rng = np.random.default_rng(seed)
    rows = np.minimum(rng.geometric(0.35, (90, 3)) - 1, [3, 3, 3])
    shop, kinds, costs = every_recoding(rows, ("ordered", *schemes), k, suppression)
    target = float(np.quantile([cost for cost in costs.values() if cost < inf], rng.random()))
    settings = ((1, 2), (first, 8 if seed == 1 else few))
    for (first, few), (outer, inner) in itertools.product(settings, itertools.permutations(range(3), 2)):
        monkeypatch.setattr(eliminate_two, "FIRST", first)
        monkeypatch.setattr(eliminate_two, "FEW", few)
        eliminator = TwoEliminated(shop.census, shop.spaces, outer, inner, shop.terms)
        (other,) = eliminator.others
        box, lead, left = kinds[other].root, eliminator.start, costs
        while True:
            inside = {*members(kinds[other], box)}
            left = {states: cost for states, cost in left.items() if states[other] in inside}
            cheapest = min(left.values())
            found = eliminator.bound([box], eliminator.narrowed([box]), lead, target, True)
            assert found.cost <= cheapest * (1 + 1e-9) or target <= cheapest
            assert found.cost < target or target <= cheapest
            if found.states and box.complete and suppression in (0.0, 1.0):
                states = tuple(found.states.get(a, box.state) for a in range(3))
                assert costs[states] == pytest.approx(cheapest)
            if found.cost >= target:
                break
            lead = found.lead
            live = live_boxes(lead)
            wanted = {states for states, cost in left.items() if cost < target}
            assert all(boxes_of(eliminator, lead, states) <= live for states in wanted)
            if not box.complete:
                decision = kinds[other].decisions(box)[0]
                box = decision[int(rng.integers(len(decision)))].box
            elif parts := eliminator.split(found):
                within = []
                for part in parts:
                    live = live_boxes(part)
                    within.append({states for states in left if boxes_of(eliminator, part, states) <= live})
                assert wanted <= set().union(*within)
                chosen = int(rng.integers(len(parts)))
                lead, left = parts[chosen], {states: cost for states, cost in left.items() if states in within[chosen]}
                if not left:
                    break
            else:
                assert found.states is not None  # nothing is left to disagree on
                break


def boxes_of(eliminator: TwoEliminated, lead: Lead, states: tuple[Any, ...]) -> set[tuple[tuple[int, ...], ...]]:
    """The boxes of a recoding, inner and outer values, of those that are taken in."""
    parts = []
    for attribute, values, taken in zip(
        (eliminator.inner, eliminator.outer), eliminator._values[::-1], (lead.inner.size, lead.outer.size), strict=True
    ):
        (blocks,) = states[attribute]
        parts.append(taken_in(tuple(map(int, values)), tuple(map(int, blocks)), taken))
    return {*itertools.product(*parts)}


@cache
def taken_in(values: tuple[int, ...], blocks: tuple[int, ...], taken: int) -> list[tuple[int, ...]]:
    """The blocks of a partition, each as the places of those of its values that are among the first."""
    place = {value: number for number, value in enumerate(values)}
    inside = [
        tuple(sorted(place[v] for v in range(len(blocks)) if blocks[v] == block and place[v] < taken))
        for block in {*blocks}
    ]
    return [block for block in inside if block]


@pytest.mark.parametrize("first", [1, 2, 3])
def test_values_that_are_not_taken_in_cost_what_they_cost_alone(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing needs to be merged, the bound is what the finest recoding costs, and rules nothing of it out."""
    monkeypatch.setattr(eliminate_two, "FIRST", first)
    monkeypatch.setattr(eliminate_two, "COMMON", 0.0)
    monkeypatch.setattr(eliminate_two, "FEW", 0)
    cells = list(itertools.product("abc", "wxyz", "01"))
    people = [cell for number, cell in enumerate(cells) for _ in range(3 + number % 4)]
    table = pa.table({f"q{a}": [cell[a] for cell in people] for a in range(3)})
    schemes = ("ordered", "set", "ordered")
    attributes = {f"q{a}": {"role": "quasi", "scheme": scheme} for a, scheme in enumerate(schemes)}
    shop = Workshop(Case(table, Spec(attributes=attributes)), schemes, {"k": 3}, {"metric": "dm"})
    eliminator = TwoEliminated(shop.census, shop.spaces, 1, 0, shop.terms)
    root, finest = Boxes(shop.spaces[2]).root, sum((3 + number % 4) ** 2 for number in range(len(cells)))
    found = eliminator.bound([root], eliminator.narrowed([root]), eliminator.start, finest + 1, True)
    assert found.cost == pytest.approx(finest)
    assert found.lead.outer.size == first
    assert {(value,) for value in range(first)} <= {*places_of(found.lead.outer)}


class Impatient(Watch):
    """Says that the time is up at looks 1, 2, 4, 8 and so on."""

    looks = 0

    def expired(self) -> bool:
        self.looks += 1
        return self.looks & (self.looks - 1) == 0


@pytest.mark.parametrize(
    "schemes", [("ordered",), ("set",), ("ordered", "set", "set"), ("ordered", "ordered", "set"), ("set", "set", "set")]
)
@pytest.mark.parametrize(
    ("k", "suppression", "seed"),
    [  # every table with one way to search that dives, and one that does not
        (k, suppression, seed)
        for place, (k, suppression) in enumerate([(2, 1.0), (4, 1.0), (9, 1.0), (4, 0.0), (4, 0.1)])
        for seed in (place % 4, (place + 1) % 4)
    ],
)
def test_the_search_finds_the_cheapest_of_all_recodings(
    schemes: tuple[str, ...], k: int, suppression: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the second best answer on: two attributes that are nested, or two besides that are decided step by step.

    Half of the searches dive, as those do that have too many open nodes.
    """
    monkeypatch.setattr(eliminate_two, "FIRST", 1 + seed % 3)
    monkeypatch.setattr(eliminate_two, "COMMON", 0.0)
    monkeypatch.setattr(eliminate_two, "FEW", 1 << seed)
    monkeypatch.setattr(proof, "MOST_OPEN", 1 if seed % 2 else proof.MOST_OPEN)
    rng = np.random.default_rng(seed)
    most = [3, 3, 2, 3] if len(schemes) > 1 else [6, 5]
    rows = np.minimum(rng.geometric(0.8 / len(most), (120, len(most))) - 1, most)
    shop, _, costs = every_recoding(rows, ("ordered", *schemes), k, suppression)
    cheapest = min(costs.values())
    pairs = pairs_to_eliminate(shop.census, shop.spaces, shop.terms)
    answers = Iterated(shop.asked, Watch())
    answers.consider(min((cost, states) for states, cost in costs.items() if cost > cheapest)[1])
    search = Proof(TwoEliminated(shop.census, shop.spaces, *pairs[seed % len(pairs)], shop.terms), answers, Impatient())
    while not search.run(3):  # it can be interrupted, and forgets nothing
        assert answers.best is not None
        assert min(answers.best.cost, search.bound) <= cheapest * (1 + 1e-9)  # what is reported
    assert (answers.best.cost if answers.best else inf) == pytest.approx(cheapest)


def test_the_attributes_that_decide_most_are_eliminated() -> None:
    rng = np.random.default_rng(5)
    sizes = {"few": 2, "many": 9, "most": 14, "plain": 9}
    table = pa.table({name: [str(v) for v in rng.integers(0, size, 400)] for name, size in sizes.items()})

    def pairs(**schemes: str) -> list[tuple[int, int]]:
        attributes = {name: {"role": "quasi", "scheme": schemes[name]} for name in sizes}
        shop = Workshop(Case(table, Spec(attributes=attributes)), [*schemes.values()], {"k": 3}, {"metric": "dm"})
        return pairs_to_eliminate(shop.census, shop.spaces, shop.terms)

    assert {*pairs(few="ordered", many="ordered", most="ordered", plain="ordered")} == {(1, 2), (2, 1), (3, 2), (2, 3)}
    assert pairs(few="ordered", many="ordered", most="ordered", plain="set") == [(3, 2)]  # sets are the outer ones
    in_sets = pairs(few="set", many="set", most="ordered", plain="set")
    assert {*in_sets} == {(1, 3), (3, 1), (1, 2), (3, 2)}  # and take more to decide than runs of as many values
    assert {*in_sets[:2]} == {(1, 3), (3, 1)}
    assert pairs(few="level", many="level", most="ordered", plain="level") == []


@pytest.mark.parametrize("schemes", [("ordered", "ordered", "set", "set"), ("set", "set", "set", "set")])
def test_the_answer_and_the_way_to_it_do_not_depend_on_threads(
    schemes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(11)
    rows = np.minimum(rng.geometric(0.2, (300, 4)) - 1, [5, 6, 4, 3])
    table = pa.table({f"q{a}": [str(value) for value in rows[:, a]] for a in range(4)})
    attributes = {f"q{a}": {"role": "quasi", "scheme": scheme} for a, scheme in enumerate(schemes)}
    found = []
    for work in (0, 1 << 60, 0):
        monkeypatch.setattr(proof, "WORTH_A_THREAD", work)
        shop = Workshop(Case(table, Spec(attributes=attributes)), schemes, {"k": 4}, {"metric": "dm"})
        assert pairs_to_eliminate(shop.census, shop.spaces, shop.terms)
        node, result = auto.search(shop.asked, Watch())
        assert result.optimal
        found.append(
            ([space[place].blocks.tolist() for space, place in zip(shop.spaces, node, strict=True)], result.nodes)
        )
    assert found[0] == found[1] == found[2]


def test_a_node_whose_parts_all_cost_the_same_is_not_lost_where_there_is_no_answer_yet() -> None:
    """Values that always come together: nothing that is decided of one attribute gains anything."""
    rows = np.repeat(np.arange(3), 4)[:, None].repeat(4, axis=1)
    shop, _, costs = every_recoding(rows, ("ordered", "set", "set", "set"), 2, 1.0)
    answers = Iterated(shop.asked, Watch())
    for pair in pairs_to_eliminate(shop.census, shop.spaces, shop.terms):
        answers.best = None
        assert Proof(TwoEliminated(shop.census, shop.spaces, *pair, shop.terms), answers, Watch()).run()
        assert answers.best is not None
        assert answers.best.cost == min(costs.values())
