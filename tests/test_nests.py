"""Two attributes eliminated together: no bound above what it bounds at any prices, nothing ruled out that counts."""

import itertools
from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import Case
from test_auto import Workshop, members

from ringfence.kernels import nests as kernels
from ringfence.search import nests
from ringfence.search.answers import Answers
from ringfence.search.boxes import UNDECIDED, Boxes
from ringfence.search.nests import Blocks, Lead, Nest, nested
from ringfence.search.progress import Watch
from ringfence.search.proof import Proof
from ringfence.spec import Spec

Cuts = tuple[int, ...]


def partitions(size: int, *, sets: bool) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All partitions of some values into runs, or into sets, each block as its values."""
    if not sets:
        for cuts in itertools.product((0, 1), repeat=size - 1):
            blocks = np.cumsum([0, *cuts]).tolist()
            yield tuple(tuple(v for v in range(size) if blocks[v] == b) for b in range(blocks[-1] + 1))
        return
    for blocks in itertools.product(range(size), repeat=size):
        if all(block <= max(blocks[:v], default=-1) + 1 for v, block in enumerate(blocks)):
            yield tuple(tuple(v for v in range(size) if blocks[v] == b) for b in range(max(blocks) + 1))


def members_of(blocks: Blocks, block: int) -> tuple[int, ...]:
    """The outer values of a block."""
    if len(blocks.ends):
        return tuple(range(*blocks.ends[block].tolist()))
    return tuple(v for v in range(64) if int(blocks.masks[block]) >> v & 1)


def run_of(size: int, first: int, last: int) -> int:
    """The number of a run of inner values."""
    return [(a, b) for a in range(size) for b in range(a, size)].index((first, last))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Blocks, bool, Any, Any, Any]:
    """Draw blocks, the cost of every box, joints that may be decided, and prices that add up to nothing."""
    sets, outers, inners = draw(st.booleans()), draw(st.integers(2, 4)), draw(st.integers(2, 4))
    blocks = Blocks.sets(outers) if sets else Blocks.runs(outers)
    shape = (inners * (inners + 1) // 2, len(blocks.parts))
    size = shape[0] * shape[1]
    costs = np.array(draw(st.lists(st.integers(0, 60), min_size=size, max_size=size)), float).reshape(shape)
    joints = np.array(draw(st.lists(st.sampled_from([0, 1, 2, 2]), min_size=inners - 1, max_size=inners - 1)), np.int8)
    size = outers * (inners - 1)
    prices = np.array(draw(st.lists(st.integers(-20, 20), min_size=size, max_size=size)), float)
    prices = prices.reshape(outers, inners - 1)
    prices[-1] -= prices.sum(axis=0)
    return blocks, sets, costs, joints, prices


def recodings(blocks: Blocks, sets: bool, costs: Any, joints: Any) -> Iterator[tuple[float, tuple[int, ...], Cuts]]:
    """What every recoding costs in which all blocks agree: its cost, its blocks, its cuts."""
    outers, inners = blocks.size, len(joints) + 1
    known = {members_of(blocks, block): block for block in range(len(blocks.parts))}
    for parts in partitions(outers, sets=sets):
        for cuts in itertools.product((0, 1), repeat=inners - 1):
            if any(joint in (0, 1) and joint != cut for joint, cut in zip(joints.tolist(), cuts, strict=True)):
                continue
            starts = [0, *(j + 1 for j, cut in enumerate(cuts) if cut)]
            runs = [run_of(inners, a, b - 1) for a, b in zip(starts, [*starts[1:], inners], strict=True)]
            chosen = tuple(known[part] for part in parts)
            yield sum(costs[run, block] for block in chosen for run in runs), chosen, cuts


@given(problem=problems(), rounds=st.integers(1, 40), target=st.sampled_from([inf, 50.0, 150.0, 400.0]))
def test_prices_never_lift_the_bound_above_the_cheapest_recoding(
    problem: tuple[Any, ...], rounds: int, target: float
) -> None:
    blocks, sets, costs, joints, prices = problem
    outers = prices.shape[0]
    every = list(recodings(blocks, sets, costs, joints))
    cheapest = min(cost for cost, _, _ in every)
    chosen, cuts = np.full(outers, -1), np.zeros_like(prices)
    weights, through = np.arange(1.0, outers + 1), np.empty(len(blocks.parts))
    bound, agree = kernels.ascend(
        costs, blocks.parts, blocks.masks, blocks.ends, joints, weights, prices, target, rounds,
        chosen, cuts, through,
    )  # fmt: skip
    assert bound <= cheapest * (1 + 1e-9) + 1e-9
    assert np.abs(prices.sum(axis=0)).max() < 1e-6
    if agree:
        found = (tuple(sorted({*chosen.tolist()})), tuple(cuts[0].astype(int).tolist()))
        assert found in {(tuple(sorted(parts)), where) for cost, parts, where in every if cost <= bound + 1e-6}
    for cost, parts, _ in every:
        assert all(through[block] <= cost * (1 + 1e-9) + 1e-9 for block in parts)


@given(problem=problems())
def test_without_prices_every_block_chooses_for_itself(problem: tuple[Any, ...]) -> None:
    blocks, sets, costs, joints, prices = problem
    outers, inners = prices.shape[0], len(joints) + 1
    alone = []
    for block in range(len(blocks.parts)):
        one = Blocks.runs(1)
        alone.append(min(cost for cost, _, _ in recodings(one, False, costs[:, block : block + 1], joints)))
        best, before = np.empty(inners + 1), np.zeros(inners + 1, np.int64)
        assert kernels.cheapest_path(costs[:, block], np.zeros(inners - 1), joints, best, before) == alone[-1]
    known = {members_of(blocks, block): block for block in range(len(blocks.parts))}
    covers = [tuple(known[part] for part in parts) for parts in partitions(outers, sets=sets)]
    chosen, through = np.full(outers, -1), np.empty(len(blocks.parts))
    bound = kernels.cover(
        costs, blocks.parts, blocks.masks, blocks.ends, joints, np.zeros_like(prices), chosen, through
    )
    assert bound == min(sum(alone[block] for block in cover) for cover in covers)
    assert sum(alone[block] for block in {*chosen.tolist()}) == bound
    for block in range(len(blocks.parts)):
        assert through[block] == min(sum(alone[b] for b in cover) for cover in covers if block in cover)


@given(data=st.data(), size=st.integers(1, 6))
def test_covers_by_some_sets_are_the_cheapest_of_all(data: st.DataObject, size: int) -> None:
    """By few sets, which are looked through, and by many, which are looked up."""
    live = np.array(data.draw(st.lists(st.booleans(), min_size=(1 << size) - 1, max_size=(1 << size) - 1)))
    blocks = Blocks.sets(size).only(live)
    assert {members_of(blocks, b) for b in range(len(blocks.parts))} == {
        members_of(Blocks.sets(size), b) for b in np.flatnonzero(live).tolist()
    }
    amount = len(blocks.parts)
    costs = np.array(data.draw(st.lists(st.integers(0, 60), min_size=amount, max_size=amount)), float)
    known = {members_of(blocks, b): b for b in range(amount)}
    covers = [
        tuple(known[part] for part in parts) for parts in partitions(size, sets=True) if all(p in known for p in parts)
    ]
    chosen, through = np.full(size, -1), np.empty(amount)
    found = kernels.cover_sets(blocks.masks, costs, size, chosen, through)
    assert found == min((sum(costs[b] for b in cover) for cover in covers), default=inf)
    if covers:
        assert tuple(sorted({*chosen.tolist()})) in {tuple(sorted(cover)) for cover in covers}
        assert all(value in members_of(blocks, b) for value, b in enumerate(chosen.tolist()))
    for b in range(amount):
        assert through[b] == min((sum(costs[c] for c in cover) for cover in covers if b in cover), default=inf)


@given(data=st.data(), size=st.integers(1, 6))
def test_sets_grow_by_one_value_with_or_without_it(data: st.DataObject, size: int) -> None:
    live = np.array(data.draw(st.lists(st.booleans(), min_size=(1 << size) - 1, max_size=(1 << size) - 1)))
    blocks = Blocks.sets(size).only(live)
    before = {members_of(blocks, b) for b in range(len(blocks.parts))}
    grown = blocks.grown()
    after = [members_of(grown, b) for b in range(len(grown.parts))]
    assert {*after} == before | {(*block, size) for block in before} | {(size,)}
    assert len({*after}) == len(after)


@given(data=st.data(), size=st.integers(1, 6), sets=st.booleans())
def test_the_sum_over_a_block_is_that_of_its_two_parts(data: st.DataObject, size: int, sets: bool) -> None:
    values = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=2 * size, max_size=2 * size)), float)
    values = values.reshape(size, 2)
    blocks, sums = Blocks.sets(size) if sets else Blocks.runs(size), kernels.partial_sums(values, not sets)
    for block, (one, two) in enumerate(blocks.parts.tolist()):
        assert np.array_equal(sums[one] + sums[two], values[list(members_of(blocks, block))].sum(axis=0))


@given(data=st.data(), k=st.integers(1, 9), penalty=st.sampled_from([40.0, inf]), sets=st.booleans())
def test_boxes_cost_what_their_classes_cost_one_by_one(data: st.DataObject, k: int, penalty: float, sets: bool) -> None:
    outers, inners, classes = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 8))
    size = outers * inners * classes
    counts = np.array(data.draw(st.lists(st.integers(0, 6), min_size=size, max_size=size)), float)
    counts = counts.reshape(outers, inners, classes)
    group = np.array(data.draw(st.lists(st.integers(0, 1), min_size=classes, max_size=classes)))
    covers = np.stack([counts[:, :, group == g].sum(axis=2) for g in (0, 1)], axis=2)
    blocks = Blocks.sets(outers) if sets else Blocks.runs(outers)
    costs = np.empty((inners * (inners + 1) // 2, len(blocks.parts)))
    beyond = np.array(data.draw(st.lists(st.integers(0, 3), min_size=2 * inners, max_size=2 * inners)), float)
    beyond = beyond.reshape(inners, 2)
    sums = [
        kernels.added_up(np.ascontiguousarray(part.transpose(2, 0, 1)).reshape(part.shape[2], -1), inners)
        for part in (counts, covers, beyond[None])
    ]
    parts = [kernels.partial_sums(part.reshape(outers, -1), not sets).reshape(-1, *part.shape[1:]) for part in sums[:2]]
    kernels.box_costs(
        parts[0], parts[1], sums[2][0], group, classes, blocks.parts, float(k), penalty, inners, costs
    )  # fmt: skip
    for block in range(len(blocks.parts)):
        values = list(members_of(blocks, block))
        for first, last in itertools.combinations_with_replacement(range(inners), 2):
            expected = 0.0
            for c in range(classes):
                number = counts[values, first : last + 1, c].sum()
                reach = covers[values, first : last + 1, group[c]].sum() + beyond[first : last + 1, group[c]].sum()
                expected += 0.0 if number == 0 else number * (penalty if reach < k else max(number, k))
            assert costs[run_of(inners, first, last), block] == expected


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
@pytest.mark.parametrize("first", [1, nests.FIRST])
def test_no_bound_of_a_nest_exceeds_the_cost_of_anything_below(
    schemes: tuple[str, ...], k: int, suppression: float, seed: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every node of a random way down is compared with the cheapest recoding in it, with the prices met on the way."""
    monkeypatch.setattr(nests, "FIRST", first)
    monkeypatch.setattr(nests, "COMMON", 0.0)
    monkeypatch.setattr(nests, "FEW", 2 if first == 1 else nests.FEW)
    rng = np.random.default_rng(seed)
    rows = np.minimum(rng.geometric(0.35, (90, 3)) - 1, [3, 3, 3])
    shop, kinds, costs = every_recoding(rows, ("ordered", *schemes), k, suppression)
    target = float(np.quantile([cost for cost in costs.values() if cost < inf], rng.random()))
    for outer, inner in ((1, 0), (2, 0), *([(0, 1)] if schemes[0] == "ordered" else [])):
        nest = Nest(shop.census, shop.spaces, outer, inner, shop.terms)
        (other,) = nest.others
        box, lead = kinds[other].root, nest.start
        while True:
            inside, joints = {*members(kinds[other], box)}, lead.joints.tolist()
            left = {
                states: cost
                for states, cost in costs.items()
                if states[other] in inside
                and all(
                    joint in (UNDECIDED, int(states[inner][0][j] != states[inner][0][j + 1]))
                    for j, joint in enumerate(joints)
                )
            }
            cheapest = min(left.values())
            found = nest.bound([box], nest.narrowed([box]), lead, target, True)
            assert found.cost <= cheapest * (1 + 1e-9) or target <= cheapest
            assert found.cost < target or target <= cheapest
            if found.states and box.complete and suppression in (0.0, 1.0):
                states = tuple(found.states.get(a, box.state) for a in range(3))
                assert costs[states] == pytest.approx(cheapest)
            if found.cost >= target:
                break
            _assert_kept(nest, found.lead, [states[outer] for states, cost in left.items() if cost < target])
            lead = found.lead
            if not box.complete:
                decision = kinds[other].decisions(box)[0]
                box = decision[int(rng.integers(len(decision)))].box
            elif parts := nest.split(found):
                lead = parts[int(rng.integers(len(parts)))]
            else:
                assert found.states is not None  # nothing is left to disagree on
                break


def _assert_kept(nest: Nest, lead: Lead, wanted: list[Any]) -> None:
    """No block of a recoding that is cheaper than the target may be ruled out."""
    names = {members_of(lead.blocks, block) for block in range(len(lead.blocks.parts))}
    place = {value: number for number, value in enumerate(nest._values[0])}
    taken = lead.blocks.size
    for (blocks,) in wanted:
        for block in {*blocks}:
            values = [place[value] for value in range(len(blocks)) if blocks[value] == block]
            assert (name := tuple(sorted(value for value in values if value < taken))) in names or not name


@pytest.mark.parametrize("first", [1, 2, 3])
def test_values_that_are_not_taken_in_cost_what_they_cost_alone(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing needs to be merged, the bound is what the finest recoding costs, and rules nothing of it out."""
    monkeypatch.setattr(nests, "FIRST", first)
    monkeypatch.setattr(nests, "COMMON", 0.0)
    monkeypatch.setattr(nests, "FEW", 0)
    cells = list(itertools.product("abc", "wxyz", "01"))
    people = [cell for number, cell in enumerate(cells) for _ in range(3 + number % 4)]
    table = pa.table({f"q{a}": [cell[a] for cell in people] for a in range(3)})
    schemes = ("ordered", "set", "ordered")
    attributes = {f"q{a}": {"role": "quasi", "scheme": scheme} for a, scheme in enumerate(schemes)}
    shop = Workshop(Case(table, Spec(attributes=attributes)), schemes, {"k": 3}, {"metric": "dm"})
    nest = Nest(shop.census, shop.spaces, 1, 0, shop.terms)
    root, finest = Boxes(shop.spaces[2]).root, sum((3 + number % 4) ** 2 for number in range(len(cells)))
    found = nest.bound([root], nest.narrowed([root]), nest.start, finest + 1, True)
    assert found.cost == pytest.approx(finest)
    assert found.lead.blocks.size == first
    assert {(value,) for value in range(first)} <= {
        members_of(found.lead.blocks, b) for b in range(len(found.lead.blocks.parts))
    }


class Impatient(Watch):
    """Says that the time is up at looks 1, 2, 4, 8 and so on."""

    looks = 0

    def expired(self) -> bool:
        self.looks += 1
        return self.looks & (self.looks - 1) == 0


@pytest.mark.parametrize(
    "schemes", [("ordered",), ("set",), ("ordered", "set", "set"), ("ordered", "ordered", "set"), ("set", "set", "set")]
)
@pytest.mark.parametrize(("k", "suppression"), [(2, 1.0), (4, 1.0), (9, 1.0), (4, 0.0), (4, 0.1)])
@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_cheapest_of_all_recodings(
    schemes: tuple[str, ...], k: int, suppression: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the second best answer on: two attributes that are nested, or two besides that are decided step by step."""
    monkeypatch.setattr(nests, "FIRST", 1 + seed % 3)
    monkeypatch.setattr(nests, "COMMON", 0.0)
    monkeypatch.setattr(nests, "FEW", 1 << seed)
    rng = np.random.default_rng(seed)
    most = [3, 3, 2, 3] if len(schemes) > 1 else [6, 5]
    rows = np.minimum(rng.geometric(0.8 / len(most), (120, len(most))) - 1, most)
    shop, _, costs = every_recoding(rows, ("ordered", *schemes), k, suppression)
    cheapest = min(costs.values())
    pairs = nested(shop.census, shop.spaces, shop.terms)
    answers = Answers(shop.census, shop.spaces, shop.roller, shop.metric, shop.terms, Watch())
    answers.consider(min((cost, states) for states, cost in costs.items() if cost > cheapest)[1])
    proof = Proof(Nest(shop.census, shop.spaces, *pairs[seed % len(pairs)], shop.terms), answers, Impatient())
    while not proof.run(3):  # it can be interrupted, and forgets nothing
        assert answers.best is not None
        assert min(answers.best.cost, proof.bound) <= cheapest * (1 + 1e-9)  # what is reported
    assert (answers.best.cost if answers.best else inf) == pytest.approx(cheapest)


def test_the_attributes_that_decide_most_are_eliminated() -> None:
    rng = np.random.default_rng(5)
    sizes = {"few": 2, "many": 9, "most": 12, "plain": 9}
    table = pa.table({name: [str(v) for v in rng.integers(0, size, 400)] for name, size in sizes.items()})

    def pairs(**schemes: str) -> list[tuple[int, int]]:
        attributes = {name: {"role": "quasi", "scheme": schemes[name]} for name in sizes}
        shop = Workshop(Case(table, Spec(attributes=attributes)), [*schemes.values()], {"k": 3}, {"metric": "dm"})
        return nested(shop.census, shop.spaces, shop.terms)

    in_order = pairs(few="ordered", many="ordered", most="ordered", plain="set")
    assert in_order[0] in ((1, 2), (3, 2))
    assert {*in_order} == {(1, 2), (3, 2), (2, 1), (3, 1)}  # all but the attribute that tells little
    assert {*pairs(few="set", many="set", most="ordered", plain="set")} == {(1, 2), (3, 2)}
    assert pairs(few="set", many="set", most="set", plain="set") == []
