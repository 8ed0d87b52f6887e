"""What blocks would suppress: all at once, as one by one."""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from ringfence.kernels.recode import judged_runs
from ringfence.kernels.recode.class_rules import CELLS, ENTROPY, FAR_EQUAL, MINORITY, NUMBER, RECURSIVE, SQUARES
from ringfence.kernels.recode.failing_runs import (
    by_place,
    contexts_of,
    entries_of,
    node_sums,
    run_sums,
    shift,
)
from ringfence.kernels.recode.judged_runs import all_node_sums, all_run_sums, counted_node_sums, counted_run_sums
from ringfence.kernels.recode.rooms import room_for
from tests.kernels.recode.growing import RULES, Rule, World, a_world

LEAVES = 6


class Table:
    """Tuples in contexts, each with a leaf of the attribute, a loss and a tally."""

    def __init__(self, seed: int, world: World) -> None:
        draw = Random(seed)
        self.world, many = world, len(world.values)
        self.codes = np.array([draw.randrange(LEAVES) for _ in range(many)], np.int32)
        self.own = np.array([draw.randrange(-(2**60), 2**60) for _ in range(LEAVES)], np.int64)
        self.homes = [draw.randrange(3) for _ in range(many)]
        heads = [draw.randrange(-(2**60), 2**60) for _ in range(3)]
        self.keys = np.array([heads[home] for home in self.homes], np.int64) + self.own[self.codes]
        self.weights = np.array([world.rows([t]) for t in range(many)], np.int64)
        self.losses = np.array([draw.random() for _ in range(LEAVES)])
        self.total = self.losses[self.codes] + np.array([draw.random() for _ in range(many)])
        self.tally = np.array([draw.random() for _ in range(LEAVES)])
        self.place = np.array(draw.sample(range(LEAVES), LEAVES), np.int64)

    def entries(self) -> tuple[int, float, Any]:
        room, placed = room_for(len(self.codes)), np.empty(len(self.codes), np.int32)
        by_place(self.codes, self.place, LEAVES, placed)
        assert sorted(placed.tolist()) == list(range(len(self.codes)))
        assert (np.diff(self.place[self.codes[placed]]) >= 0).all()
        contexts = contexts_of(self.keys, self.codes, self.own, room)
        assert contexts == len({*self.homes})
        size, base = entries_of(
            contexts, placed, self.codes, self.place, self.weights, self.total, self.losses, self.tally, room
        )
        return size, base, room

    def lost(self, t: int) -> float:
        """What the cells of all other attributes lose."""
        return float(self.total[t] - self.losses[self.codes[t]])

    def block(self, places: set[int]) -> tuple[float, float, float]:
        """What a block of places loses, suppresses, and what tallies that takes, context by context."""
        lost = gone = tallied = 0.0
        for home in {*self.homes}:
            inside = [
                t for t, code in enumerate(self.codes) if self.homes[t] == home and int(self.place[code]) in places
            ]
            if inside and self.world.holds(inside):
                lost += self.world.own_cost(inside)
            else:
                lost += sum(self.weights[t] * (1 - self.lost(t)) for t in inside)
                gone += sum(self.weights[t] for t in inside)
                tallied += sum(self.weights[t] * self.tally[self.codes[t]] for t in inside)
        return lost, gone, tallied


def tables(rules: list[Rule]) -> list[Table]:
    costs = [CELLS, CELLS, SQUARES, MINORITY, NUMBER]
    return [Table(seed, a_world(seed, rules, tuples=16, cost=costs[seed % 5])) for seed in range(20)]


def test_tuples_are_sorted_by_context_and_place_and_added_up() -> None:
    for table in tables([]):
        size, base, room = table.entries()
        every = range(len(table.codes))
        assert base == pytest.approx(sum(table.weights[t] * table.lost(t) for t in every))
        met = []
        for e in range(size):
            inside = room.order[room.begin[e] : room.begin[e + 1]].tolist()
            met += inside
            assert {table.homes[t] for t in inside} == {table.homes[inside[0]]}
            assert {int(table.place[table.codes[t]]) for t in inside} == {int(room.place[e])}
            assert room.rows[e] == sum(table.weights[t] for t in inside)
            assert room.lacks[e] == pytest.approx(sum(table.weights[t] * (1 - table.lost(t)) for t in inside))
            assert room.tallies[e] == pytest.approx(sum(table.weights[t] * table.tally[table.codes[t]] for t in inside))
        assert sorted(met) == [*every]
        assert len({(room.home[e], room.place[e]) for e in range(size)}) == size


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_every_run_loses_what_its_classes_do(rules: list[Rule]) -> None:
    """Two branches side by side, of three places and of two, under one that has them and the last place."""
    for table in tables(rules):
        size, _, room = table.entries()
        branch = np.array([[0, 0, 0, 1, 1, -1], [2, 2, 2, 2, 2, 2]])
        child = np.array([[0, 1, 2, 0, 1, 0], [0, 0, 0, 1, 1, 2]])
        sizes = np.array([3, 2, 3])
        offsets = np.cumsum([0, 16, 9, 16])
        ways = [run_sums, counted_run_sums, all_run_sums]
        found = []
        for way in ways:
            sums = np.zeros((offsets[-1], 3))
            way(size, room, table.world.watched, branch, child, sizes, offsets, sums)
            found.append(sums)
        for b, many in enumerate(sizes.tolist()):
            for i in range(many):
                for j in range(i, many):
                    row = 0 if b < 2 else 1
                    places = {p for p in range(LEAVES) if branch[row, p] == b and i <= child[row, p] <= j}
                    for sums in found:
                        assert sums[offsets[b] + i * (many + 1) + j] == pytest.approx(table.block(places), abs=1e-9)


@pytest.mark.parametrize("rule", [Rule(FAR_EQUAL, 1, 0.35), Rule(ENTROPY, 1, 2.0), Rule(RECURSIVE, 1, 2, 2.0)], ids=str)
def test_long_runs_are_judged_only_where_they_may_have_changed(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty values in one context have 1,830 runs. Nearly all of the long ones hold for long."""
    world = replace(a_world(3, [rule], tuples=60), k=5)
    codes, nothing = np.arange(60, dtype=np.int32), np.zeros(60)
    room, judged = room_for(60), 0
    weights = np.array([world.rows([t]) for t in range(60)], np.int64)
    contexts = contexts_of(codes.astype(np.int64), codes, np.arange(60), room)
    size, _ = entries_of(contexts, codes, codes, np.arange(60), weights, nothing, nothing, nothing, room)
    assert (contexts, size) == (1, 60)
    judge = judged_runs._lasts

    def counting(*args: Any) -> float:
        nonlocal judged
        judged += 1
        return float(judge(*args))

    monkeypatch.setattr(judged_runs, "_lasts", counting)
    shape = (np.zeros((1, 60), np.int64), np.arange(60)[None], np.array([60]), np.array([0, 61 * 61]))
    counted_run_sums.py_func(size, room, world.watched, *shape, np.zeros((61 * 61, 3)))  # type: ignore[attr-defined]
    assert 60 < judged < 60 * 61 // 2 / 3


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_every_node_loses_what_its_classes_do(rules: list[Rule]) -> None:
    node = np.array([[0, 1, 2, 3, 4, 5], [6, 6, 6, 7, 7, -1], [8, 8, 8, 8, 8, 8]])
    for table in tables(rules):
        size, _, room = table.entries()
        for way in (node_sums, counted_node_sums, all_node_sums):
            sums = np.zeros((9, 3))
            way(size, room, table.world.watched, node, sums)
            for block in range(9):
                places = {*np.flatnonzero((node == block).any(axis=0)).tolist()}
                assert sums[block] == pytest.approx(table.block(places))


def test_a_shift_changes_keys_and_losses_by_value() -> None:
    codes, keys, total = np.array([0, 2, 2], np.int32), np.array([5, 6, 7]), np.array([0.5, 0.25, 0.0])
    shift(codes, keys, np.array([1, 100, 10]), total, np.array([0.5, 9.0, -0.25]))
    assert keys.tolist() == [6, 16, 17]
    assert total.tolist() == [1.0, 0.0, -0.25]
