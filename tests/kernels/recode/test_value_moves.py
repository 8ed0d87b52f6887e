"""What blocks lose if a value moves, against blocks in which it has moved."""

from random import Random

import numpy as np
import pytest

from ringfence.kernels.recode.rooms import room_for
from ringfence.kernels.recode.value_moves import move_sums

VALUES, CONTEXTS, BLOCKS = 5, 4, 4


def lost(entries: dict[tuple[int, int], tuple[int, float]], inside: set[int], k: int) -> tuple[float, float]:
    """What a block of values loses by classes of fewer than k rows, and how many rows these are."""
    lack = gone = 0.0
    for context in range(CONTEXTS):
        parts = [entries[context, value] for value in inside if (context, value) in entries]
        rows = sum(number for number, _ in parts)
        if rows < k:
            lack, gone = lack + sum(each for _, each in parts), gone + rows
    return lack, gone


def test_every_move_changes_blocks_as_it_should() -> None:
    for seed in range(40):
        draw = Random(seed)
        k = draw.randint(1, 6)
        pairs = [(c, v) for c in range(CONTEXTS) for v in range(VALUES) if draw.random() < 0.7]
        entries = {pair: (draw.randint(1, 4), draw.random()) for pair in pairs}
        room = room_for(len(pairs) + 1)
        for e, (context, value) in enumerate(pairs):
            room.home[e], room.place[e] = context, value
            room.rows[e], room.lacks[e] = entries[context, value]
        block = [draw.randrange(BLOCKS - 1) for _ in range(VALUES)]
        now, without, joined = np.zeros((BLOCKS, 2)), np.zeros((VALUES, 2)), np.zeros((VALUES, BLOCKS, 2))
        move_sums(len(pairs), CONTEXTS, room, k, np.array(block), BLOCKS, now, without, joined)
        members = [{v for v in range(VALUES) if block[v] == b} for b in range(BLOCKS)]
        for b in range(BLOCKS):
            assert now[b] == pytest.approx(lost(entries, members[b], k))
        for v in range(VALUES):
            own = members[block[v]]
            assert now[block[v]] + without[v] == pytest.approx(lost(entries, own - {v}, k))
            for b in range(BLOCKS):
                if b != block[v]:
                    assert now[b] + joined[v, b] == pytest.approx(lost(entries, members[b] | {v}, k))
