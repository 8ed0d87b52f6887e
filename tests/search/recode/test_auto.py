"""The search behind `auto`: no bound above what it bounds, programs that find the best partition, stops at any time."""

import itertools
from collections.abc import Iterator, Sequence
from math import inf
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ringfence.census.census import Census
from ringfence.census.classes import Roller
from ringfence.errors import Unsatisfiable
from ringfence.judging.metrics import cell_losses, full_loss, hdm_tallies, metric
from ringfence.judging.models import promise
from ringfence.kernels.recode import block_costs as kernels
from ringfence.kernels.recode.keys import classes_of
from ringfence.methods import decide
from ringfence.search.progress import Watch
from ringfence.search.recode import auto
from ringfence.search.recode.boxes import Box, Boxes
from ringfence.search.recode.contexts import Terms, layout
from ringfence.search.recode.eliminate_one import OneEliminated
from ringfence.search.recode.kicks import kicked
from ringfence.search.recode.priced import NOTHING, Priced
from ringfence.search.recode.proof import FAR, Proof
from ringfence.search.recode.question import Question
from ringfence.search.recode.spaces import Space
from ringfence.spec import Spec
from tests.tables import Case, scheme_cases, with_parts

SCHEMES = ["level", "cut", "ordered", "set", "guided-ordered", "guided-set"]
LOSSES = ["dm", "hdm", "glm", "ncp", "gcp", "ntil", "use"]


class Workshop:
    """The parts of a search over a random table: spaces, terms, and the cost of any node."""

    def __init__(self, case: Case, schemes: Sequence[Any], privacy: dict[str, Any], method: dict[str, Any]) -> None:
        spec, name = with_parts(case.spec, privacy=privacy, method=method), method["metric"]
        self.spec: Spec = spec
        self.census: Census = Case(case.table, spec).census
        self.spaces = [Space(quasi, scheme) for quasi, scheme in zip(self.census.quasi, schemes, strict=False)]
        self.promise = promise(spec, self.census)
        tallied = hdm_tallies(self.census) if name == "hdm" else []
        self.roller = Roller(self.census, self.spaces, tallied)
        self.metric = metric(name, spec, self.census, self.roller, self.promise.least)
        self.limit = spec.row_limit(self.census.rows)
        losses = cell_losses(name, self.census)
        self.terms = Terms(self.promise, self.limit, self.census.rows, losses, full_loss(name, self.census))

    @property
    def asked(self) -> Question:
        """What a search is asked."""
        return Question(
            self.census, self.spec, self.spaces, self.promise, self.roller, self.metric, self.terms
        )  # fmt: skip

    def cost(self, node: Sequence[int]) -> float:
        """The cost of a node, infinite if it is not feasible."""
        classes = self.roller.roll(self.roller.finest, self.roller.fields(list(enumerate(node))), self.roller.room())
        suppressed = self.promise.judge(classes)
        if suppressed > self.limit or suppressed == self.census.rows:
            return inf
        return float(self.metric.cost(list(node), classes))


@st.composite
def workshops(draw: st.DrawFn) -> Workshop:
    """Draw a table, schemes that fit it, a promise and a loss."""
    case = draw(scheme_cases(sensitive=1))
    names = [name for name in case.spec.attributes if name.startswith("q")]
    free = [case.spec.attributes[name].hierarchy is None for name in names]
    schemes = [draw(st.sampled_from(["ordered", "set"] if bare else SCHEMES)) for bare in free]
    privacy = {"k": draw(st.integers(1, 4)), **draw(st.sampled_from([{}, {}, {"l": 2}, {"p": 2}]))}
    suppression = draw(st.sampled_from([0.0, 0.3, 1.0]))
    try:
        method = {"metric": draw(st.sampled_from(LOSSES)), "suppression": suppression}
        return Workshop(case, schemes, privacy, method)
    except Exception as error:  # an order that tears a node apart
        assume("guided-ordered" not in str(error))
        raise


def members(boxes: Boxes, box: Box) -> Iterator[Any]:
    """The states in a box, by splitting it until nothing is left to decide."""
    if box.complete:
        yield box.state
    else:
        for part in boxes.decisions(box)[0]:
            yield from members(boxes, part.box)


@given(shop=workshops())
def test_boxes_divide_a_space(shop: Workshop) -> None:
    for space in shop.spaces:
        boxes = Boxes(space)
        states = list(members(boxes, boxes.root))
        assert len(states) == len({*states}) == space.walk.count


@given(shop=workshops(), data=st.data())
def test_no_bound_exceeds_the_cost_of_anything_in_the_boxes(shop: Workshop, data: st.DataObject) -> None:
    eliminated = data.draw(st.integers(0, len(shop.spaces) - 1))
    bounder = OneEliminated(shop.census, shop.spaces, eliminated, shop.terms)
    boxes, kinds = [], []
    for a in bounder.others:
        kinds.append(Boxes(shop.spaces[a]))
        box = kinds[-1].root
        while not box.complete and data.draw(st.booleans()):
            decision = data.draw(st.sampled_from(kinds[-1].decisions(box)))
            box = data.draw(st.sampled_from(decision)).box
        boxes.append(box)
    bound, state = bounder.bound(boxes, bounder.narrowed(boxes))
    free = list(members(Boxes(shop.spaces[eliminated]), Boxes(shop.spaces[eliminated]).root))
    choices: list[list[Any]] = [list(members(kind, box)) for kind, box in zip(kinds, boxes, strict=True)]
    choices.insert(eliminated, free)
    costs = [
        shop.cost([space.position(part) for space, part in zip(shop.spaces, states, strict=True)])
        for states in itertools.islice(itertools.product(*choices), 400)
    ]
    assert bound <= min(costs) * (1 + 1e-9) + 1e-9 or min(costs) == inf
    if all(box.complete for box in boxes) and shop.limit in (0, shop.census.rows) and min(costs) < inf and state:
        assert bound == pytest.approx(min(costs), rel=1e-9, abs=1e-9)
        exact = [box.state for box in boxes]
        exact.insert(eliminated, state)
        node = [space.position(part) for space, part in zip(shop.spaces, exact, strict=True)]
        # To suppress everything may cost as little, and is no release.
        assert shop.cost(node) in (inf, pytest.approx(bound, rel=1e-9, abs=1e-9))


@given(shop=workshops(), data=st.data())
def test_no_priced_bound_exceeds_the_cost_of_anything_in_the_boxes(shop: Workshop, data: st.DataObject) -> None:
    assume(shop.terms.losses)
    bounder = Priced(shop.asked.ground)
    boxes, kinds = [], []
    for a in bounder.others:
        kinds.append(Boxes(shop.spaces[a]))
        box = kinds[-1].root
        while not box.complete and data.draw(st.booleans()):
            box = data.draw(st.sampled_from(data.draw(st.sampled_from(kinds[-1].decisions(box))))).box
        boxes.append(box)
    found = bounder.bound(boxes, NOTHING, None, inf, True)
    choices: list[list[Any]] = [list(members(kind, box)) for kind, box in zip(kinds, boxes, strict=True)]
    if bounder.eliminated is not None:
        space = shop.spaces[bounder.eliminated]
        choices.insert(bounder.eliminated, list(members(Boxes(space), Boxes(space).root)))
    costs = [
        shop.cost([space.position(part) for space, part in zip(shop.spaces, states, strict=True)])
        for states in itertools.islice(itertools.product(*choices), 400)
    ]
    assert found.cost <= min(costs) * (1 + 1e-9) + 1e-9 or min(costs) == inf
    if all(box.complete for box in boxes) and min(costs) < inf and bounder.eliminated is not None:
        # The best within the limit, unless that is to suppress everything, which is no release.
        assert found.cost == pytest.approx(min(costs), rel=1e-9, abs=1e-9) or shop.limit == shop.census.rows
        assert found.states is not None
        exact = [box.state for box in boxes]
        exact.insert(bounder.eliminated, found.states[bounder.eliminated])
        node = [space.position(part) for space, part in zip(shop.spaces, exact, strict=True)]
        assert shop.cost(node) in (inf, pytest.approx(found.cost, rel=1e-9, abs=1e-9))


@given(shop=workshops())
def test_kicked_partitions_are_of_the_space(shop: Workshop) -> None:
    draw = Random(1)
    for space in shop.spaces:
        boxes, state = Boxes(space), space.state(space.coarsest)
        every, met = {*members(boxes, boxes.root)}, set()
        for _ in range(60):
            state = kicked(space, state, draw)
            met.add(state)
        assert met <= every
        assert len(every) <= 2 or len(met) > 1


class Impatient(Watch):
    """Says that the time is up after so many nodes."""

    def __init__(self, patience: int) -> None:
        super().__init__(time_limit=1.0)
        self.patience = patience

    def expired(self) -> bool:
        return self.nodes > self.patience


@given(shop=workshops(), patience=st.integers(1, 60))
def test_a_search_that_is_stopped_returns_its_best_and_a_bound_that_holds(shop: Workshop, patience: int) -> None:
    every = itertools.product(*(members(Boxes(space), Boxes(space).root) for space in shop.spaces))
    best = min(
        shop.cost([space.position(part) for space, part in zip(shop.spaces, states, strict=True)]) for states in every
    )
    watch = Impatient(patience)
    try:
        node, result = auto.search(shop.asked, watch)
    except Unsatisfiable:
        return
    assert result.cost == pytest.approx(shop.cost(node))
    assert result.bound <= best * (1 + 1e-9) + 1e-9
    assert best <= result.cost * (1 + 1e-9)
    if result.optimal:
        assert result.cost == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("k", "optimal"), [(4, False), (2, True)])
def test_a_stopped_search_returns_what_it_has(k: int, optimal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With k = 2, nothing is left to prove: every row is among two, and cannot be among fewer."""
    attributes = {name: {"role": "quasi", "scheme": "set"} for name in "ab"}
    spec = Spec(attributes=attributes, privacy={"k": k}, method={"metric": "dm"})
    table = {"a": list("xxyyzz"), "b": list("uvuvuv")}

    monkeypatch.setattr(Proof, "run", lambda *_: False)
    decision = decide(Case(pa.table(table), spec).census, spec, Watch(stopped=True))
    assert decision.search is not None
    assert decision.search.optimal == optimal
    assert 6 * k <= decision.search.bound <= decision.search.cost


@pytest.mark.parametrize(
    "schemes", [("ordered", "set", "set"), ("ordered", "ordered", "set"), ("set", "set", "ordered")]
)
@pytest.mark.parametrize(("k", "loss"), [(4, "dm"), (9, "dm"), (9, "glm")])
def test_no_bound_exceeds_the_cost_of_many_small_classes(schemes: tuple[str, ...], k: int, loss: str) -> None:
    """Most combinations have a row or two: what is pooled has many more rows than k, and still costs what its parts do.

    Every box of a random way down to a single recoding is compared with the cheapest recoding in it.
    """
    rng = np.random.default_rng(k)
    rows = np.minimum(rng.geometric(0.35, (90, 3)) - 1, [3, 3, 3])
    table = pa.table({f"q{a}": [str(value) for value in rows[:, a]] for a in range(3)})
    attributes = {f"q{a}": {"role": "quasi", "scheme": scheme} for a, scheme in enumerate(schemes)}
    shop = Workshop(Case(table, Spec(attributes=attributes)), schemes, {"k": k}, {"metric": loss, "suppression": 1.0})
    kinds = [Boxes(space) for space in shop.spaces]
    every = [list(members(kind, kind.root)) for kind in kinds]
    costs = {
        states: shop.cost([space.position(part) for space, part in zip(shop.spaces, states, strict=True)])
        for states in itertools.product(*every)
    }
    bounder = OneEliminated(shop.census, shop.spaces, 0, shop.terms)
    for _ in range(12):
        boxes = [kinds[a].root for a in bounder.others]
        while True:
            inside = [{*members(kinds[a], box)} for a, box in zip(bounder.others, boxes, strict=True)]
            cheapest = min(
                c for states, c in costs.items() if all(s in b for s, b in zip(states[1:], inside, strict=True))
            )
            bound, _state = bounder.bound(boxes, bounder.narrowed(boxes))
            assert bound <= cheapest * (1 + 1e-9)
            undecided = [place for place, box in enumerate(boxes) if not box.complete]
            if not undecided:
                assert bound == pytest.approx(cheapest)
                break
            place = int(rng.choice(undecided))
            decision = kinds[bounder.others[place]].decisions(boxes[place])[0]
            boxes[place] = decision[int(rng.integers(len(decision)))].box


# Kernels and their twins


@given(data=st.data(), k=st.integers(1, 9), penalty=st.sampled_from([40.0, inf]))
def test_pooled_classes_cost_what_they_cost_one_by_one(data: st.DataObject, k: int, penalty: float) -> None:
    classes, rows = data.draw(st.integers(1, 12)), 3
    draw = data.draw(st.lists(st.integers(0, 4), min_size=classes * rows, max_size=classes * rows))
    counts = np.array(draw, np.float64).reshape(rows, classes)
    codes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=classes, max_size=classes)), np.int32)[:, None]
    tables, fields = np.array([[2, 2, 3]], np.int64), np.array([[0, 0]], np.int64)
    same = tables[0][codes[:, 0]]
    covers = np.stack([counts[:, same == cover].sum(axis=1) for cover in same], axis=1)
    steps = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 1, 3], [1, 2, 4], [0, 2, 5]], np.int64)
    expected = []
    for first, last in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        total = 0.0
        for c in range(classes):
            number, reach = counts[first : last + 1, c].sum(), covers[first : last + 1, c].sum()
            total += 0.0 if number == 0 else number * (penalty if reach < k else max(number, k))
        expected.append(total)
    member, chosen = np.empty(classes, np.int64), np.empty(classes, np.int64)
    by_class = np.ascontiguousarray(counts.T)
    large, size = kernels.pool_small(codes, tables, fields, by_class, float(k), member, chosen)
    gathered = np.zeros((size, rows))
    kernels.gather(by_class, member, gathered)
    pooled = np.ascontiguousarray(gathered.T)
    costs = np.empty(6)
    kernels.square_costs(pooled, covers[:, chosen[:size]], large, steps, float(k), penalty, costs)
    assert costs.tolist() == expected
    slow, nothing = np.empty(6), np.empty((0, rows, size), np.uint64)
    none, places, zeros = np.empty(0, np.int64), np.zeros(7, np.int64), np.zeros(6)
    kernels.block_costs(
        pooled, covers[:, chosen[:size]], nothing, pooled, steps, places, none, zeros, zeros, large, k, none, penalty,
        True, slow,
    )  # fmt: skip
    assert slow.tolist() == expected


@st.composite
def contexts(draw: st.DrawFn) -> tuple[Any, ...]:
    """Draw contexts of two attributes, tables that say what is merged and what is open, counts and sets of values."""
    sizes = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    codes = draw(st.lists(st.tuples(*(st.integers(0, n - 1) for n in sizes)), min_size=1, max_size=8, unique=True))
    tables = np.zeros((2, max(sizes)), np.int64)
    for a, n in enumerate(sizes):
        tables[a, :n] = draw(st.lists(st.sampled_from([kernels.OPEN, 2, 3]), min_size=n, max_size=n))
    partly = [{*tables[a, :n].tolist()} > {kernels.OPEN} for a, n in enumerate(sizes)]
    for a, n in enumerate(sizes):
        if not partly[a] and kernels.OPEN in tables[a, :n]:
            tables[a, :n] = kernels.ANY
    cells = draw(st.integers(1, 3))
    row = st.lists(st.integers(0, 3), min_size=cells, max_size=cells)
    counts = draw(st.lists(row, min_size=len(codes), max_size=len(codes)))
    return np.array(codes, np.int32), tables, np.array(partly), np.array(counts, float)


@given(drawn=contexts())
def test_covers_are_what_can_be_merged(drawn: tuple[Any, ...]) -> None:
    codes, tables, partly, counts = drawn
    fields = np.array([[0, 0], [1, 3]], np.int64)
    masks = counts.astype(np.uint64)[None]
    heads = np.arange(len(codes))[::2]
    covers, covered = np.empty_like(counts[heads]), np.empty_like(masks[:, heads])
    kernels.covers_of(codes, tables, partly, fields, heads, counts, masks, covers, covered)

    def may_join(one: Any, other: Any) -> bool:
        """Whether a context may at most be merged with another: in every attribute, by its code, or an open one."""
        for a in range(2):
            mine, theirs = tables[a, one[a]], tables[a, other[a]]
            if mine not in (theirs, kernels.OPEN) and theirs != kernels.OPEN:
                return False
        return True

    for h, one in enumerate(codes[heads]):
        joined = [i for i, other in enumerate(codes) if may_join(one, other)]
        assert covers[h].tolist() == counts[joined].sum(axis=0).tolist()
        assert covered[0, h].tolist() == np.bitwise_or.reduce(masks[0][joined], axis=0).tolist()


@given(drawn=contexts())
def test_classes_are_contexts_with_the_same_codes(drawn: tuple[Any, ...]) -> None:
    codes, tables, _, _ = drawn
    member, first = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
    size = classes_of(codes, tables, np.array([[0, 0], [1, 3]], np.int64), member, first)
    keys = [tuple(int(tables[a, code[a]]) for a in range(2)) for code in codes]
    assert size == len({*keys})
    assert [keys[first[m]] for m in member] == keys


@pytest.mark.parametrize("attributes", [1, 3, 12, 40])
def test_classes_are_told_apart_however_many_attributes_there_are(attributes: int) -> None:
    """Few combinations are looked up in a table, more by keys of a word, of two, of four."""
    rng = np.random.default_rng(attributes)
    codes = rng.integers(0, 30, (300, attributes), dtype=np.int32)
    codes[150:] = codes[:150]
    codes[150:, -1] = rng.integers(0, 30, 150)
    tables = np.tile(np.arange(30) // 2, (attributes, 1))
    fields = layout([30] * attributes)
    member, first = np.empty(300, np.int64), np.empty(300, np.int64)
    size = classes_of(codes, tables, fields, member, first)
    merged = codes // 2
    assert size == len(np.unique(merged, axis=0))
    assert (merged[first[member]] == merged).all()
    assert fields[-1, 0] == (attributes * 5 - 1) // 60


@pytest.mark.parametrize("scheme", ["level", "cut", "ordered", "set"])
def test_values_that_do_not_occur_are_no_blocks_of_their_own(scheme: str) -> None:
    """Else, there would seem to be far more combinations of blocks than there are."""
    paths = [[leaf, "low" if leaf < "f" else "high", "*"] for leaf in "abcdefghij"]
    spec = Spec(attributes={"q": {"role": "quasi", "scheme": scheme, "hierarchy": {"paths": paths}}})
    shop = Workshop(Case(pa.table({"q": list("bbdii")}), spec), [scheme], {"k": 1}, {"metric": "dm"})
    boxes = Boxes(shop.spaces[0])
    for state in members(boxes, boxes.root):
        box = boxes.exactly(state)
        occurring = shop.spaces[0].quasi.rows > 0
        assert {*box.merged.tolist()} <= {0, *box.merged[occurring].tolist()}
        recoded = shop.spaces[0].recode(state).blocks[occurring].tolist()
        assert len({*recoded}) == len({*box.merged[occurring].tolist()})


class Ticking:
    """Answers that take two seconds a kick by a clock of their own, and are never better."""

    def __init__(self, now: list[float], bound: float) -> None:
        self.now, self.kicks, self.target, self.floor, self.proven = now, 0, 100.0, bound, False

    def kick(self, _each: Any) -> None:
        self.now[0] += 2
        self.kicks += 1


@pytest.mark.parametrize(("bound", "kicks"), [(0.0, 50), (50.0, 4), (99.0, 0)])
def test_a_proof_that_is_far_off_shares_its_time_with_answers(bound: float, kicks: int) -> None:
    """As long as the proof itself takes where nothing is known; hardly any where the proof is near."""
    now = [0.0]
    answers: Any = Ticking(now, bound)
    relaxation: Any = SimpleNamespace(apart=16, others=[])
    proof = Proof(relaxation, answers, Watch(1e6, clock=lambda: now[0], nodes=1))
    proof.bound = bound
    for _ in range(100):  # looks of a second each
        now[0] += 1
        proof._kick_for(1 * proof._open() ** FAR, map)
    assert abs(answers.kicks - kicks) <= 1
