"""Matchings of rings: that they are what they must be, and that every match is as likely as promised."""

from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from numba import njit

from ringfence.kernels.groups.matchings import draw_rings, fill_offsets, next_matching
from ringfence.kernels.secret import BLOCKS, WORDS, Stream, below, fill_blocks, new_stream, next_word, shuffle


def stream_of(seed: int) -> Stream:
    """A keystream that is the same in every run."""
    return new_stream(seed.to_bytes(32, "little"))


def all_matchings(size: int, k: int, stream: Stream, by_walks: bool) -> list[list[int]]:
    """The k matchings of a ring in the order in which they are found: for each, the row of every slot."""
    offsets = np.empty((size, k), np.int32)
    fill_offsets(offsets, size, k)
    pick, owner, choice = (np.empty(size, np.int64) for _ in range(3))
    found = []
    for left in range(k, 0, -1):
        next_matching(offsets, left, stream, by_walks, pick, owner, choice)
        found.append(owner.tolist())
    return found


def ring_assignments(size: int, k: int) -> list[tuple[int, ...]]:
    """Every way for the rows of a ring to carry its slots, by trying all."""
    return [rows for rows in permutations(range(size)) if all((row - slot) % size < k for slot, row in enumerate(rows))]


def test_the_keystream_is_chacha20() -> None:
    state = np.concatenate(  # RFC 8439, section 2.3.2
        [
            np.array([0x61707865, 0x3320646E, 0x79622D32, 0x6B206574], np.uint32),
            np.frombuffer(bytes(range(32)), "<u4"),
            np.array([1, 0x09000000, 0x4A000000, 0], np.uint32),
        ]
    )
    blocks = np.empty((16, BLOCKS), np.uint32)
    fill_blocks(state, blocks)
    expected = (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )
    assert blocks[:, 0].astype("<u4").tobytes().hex() == expected
    later = np.concatenate([state[:12], [np.uint32(5)], state[13:]])
    others = np.empty((16, BLOCKS), np.uint32)
    fill_blocks(later, others)
    assert (others[:, : BLOCKS - 4] == blocks[:, 4:]).all()


def test_the_keystream_goes_on() -> None:
    stream, state, blocks = stream_of(5), stream_of(5).state, np.empty((16, BLOCKS), np.uint32)
    words = [next_word(stream) for _ in range(2 * WORDS)]
    expected: list[int] = []
    for _ in range(2):
        fill_blocks(state, blocks)
        expected += blocks.T.reshape(-1).tolist()
    assert words == expected
    state[12] = 2**32 - BLOCKS
    fill_blocks(state, blocks)
    assert state[12:14].tolist() == [0, 1]


def test_a_key_has_256_bits() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        new_stream(b"short")


def test_numbers_below_a_bound_are_equally_likely() -> None:
    stream = stream_of(1)
    counts = np.bincount([below(stream, 7) for _ in range(70_000)], minlength=7)
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 27.9  # chi-square, 6 degrees of freedom, 1 in 10,000


def test_shuffles_are_equally_likely() -> None:
    stream, counts = stream_of(2), Counter[tuple[int, ...]]()
    for _ in range(24_000):
        items = np.arange(4)
        shuffle(stream, items)
        counts[tuple(items.tolist())] += 1
    assert len(counts) == 24
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 58.6  # 23 degrees of freedom, 1 in 10,000


def check_decomposition(size: int, k: int, stream: Stream, by_walks: bool) -> None:
    """Every matching is perfect, along edges of the ring, and all of them together use each edge once."""
    rows = np.array(all_matchings(size, k, stream, by_walks))
    assert (np.sort(rows, axis=1) == np.arange(size)).all()
    offsets = np.sort((rows - np.arange(size)) % size, axis=0)
    assert (offsets == np.arange(k)[:, None]).all()


@njit(nogil=True)
def fails(size: int, k: int, stream: Stream) -> bool:
    """Whether the edges of a ring, as they are used up, are not k perfect matchings.

    Used edges stand in `offsets` in the columns from the last to the first. That every row has used each of its
    offsets once, and that each column leads to every slot once, says all: perfect, disjoint, no edge left.
    """
    pick, owner, choice = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    offsets = np.empty((size, k), np.int32)
    fill_offsets(offsets, size, k)
    for left in range(k, 0, -1):
        next_matching(offsets, left, stream, True, pick, owner, choice)
        for slot in range(size):
            if (owner[slot] - slot) % size != offsets[owner[slot], left - 1]:
                return True
    for left in range(k):
        met = np.zeros(size, np.bool_)
        for row in range(size):
            met[(row - offsets[row, left]) % size] = True
        if not met.all():
            return True
    for row in range(size):
        used = np.zeros(k, np.bool_)
        for left in range(k):
            used[offsets[row, left]] = True
        if not used.all():
            return True
    return False


def test_matchings_are_perfect_disjoint_and_use_every_edge() -> None:
    stream = stream_of(3)
    for size in range(1, 21):
        for k in range(1, size + 1):
            check_decomposition(size, k, stream, by_walks=True)


@pytest.mark.parametrize("thorough", [settings().max_examples > 500])
def test_matchings_of_every_ring_up_to_200(thorough: bool) -> None:
    """Every k up to 80 rows; beyond, those at the ends and in the middle, and all of them in the long profile."""
    stream = stream_of(4)
    for size in range(1, 201):
        some = {1, 2, 3, 4, 5, size // 3, size // 2, size - 1, size}
        for k in range(1, size + 1):
            if thorough or size <= 80 or k in some:
                assert not fails(size, k, stream), (size, k)


def test_matchings_as_printed_are_perfect_disjoint_and_use_every_edge() -> None:
    stream = stream_of(5)
    for size in range(1, 21):
        for k in range(1, size + 1):
            check_decomposition(size, k, stream, by_walks=False)


def draws(size: int, k: int, times: int, *, by_walks: bool = True, seed: int = 6) -> npt.NDArray[np.int64]:
    """How often, over many rings drawn, each slot (first index) was carried by the row at each offset (second)."""
    starts = np.arange(0, size * times + 1, size)
    carrier = np.empty(size * times, np.int64)
    draw_rings(starts, np.full(len(starts) - 1, k), stream_of(seed), by_walks, carrier)
    rows = carrier.reshape(times, size) - starts[:-1, None]
    counts = np.zeros((size, size), np.int64)
    for slot in range(size):
        counts[slot] = np.bincount((rows[:, slot] - slot) % size, minlength=size)
    return counts


def chi_square(counts: npt.NDArray[np.int64], times: int, k: int) -> float:
    """How far the frequencies of each slot's matches are from 1/k, for the slot where they are farthest."""
    return float(((counts[:, :k] - times / k) ** 2 / (times / k)).sum(axis=1).max())


@pytest.mark.parametrize("by_walks", [True, False])
@pytest.mark.parametrize(("size", "k"), [(5, 3), (5, 2), (7, 3), (9, 5), (4, 4), (12, 6)])
def test_every_match_is_true_as_often_as_promised(size: int, k: int, by_walks: bool) -> None:
    times = 20_000
    counts = draws(size, k, times, by_walks=by_walks)
    assert (counts[:, k:] == 0).all()
    assert chi_square(counts, times, k) < 40  # up to 5 degrees of freedom and 12 slots: 1 in 100,000


def test_the_test_of_frequencies_notices_a_uniform_draw_over_all_assignments() -> None:
    """A ring of 5 with k = 3 has 13 assignments, and its matches lie in 4, 5 and 4 of them."""
    assignments = np.array(ring_assignments(5, 3))
    assert len(assignments) == 13
    inside = [int(((assignments - np.arange(5)) % 5 == offset).sum()) // 5 for offset in range(3)]
    assert inside == [4, 5, 4]
    times = 20_000
    counts = np.round(np.array([[4, 5, 4, 0, 0]] * 5) / 13 * times).astype(np.int64)
    assert chi_square(counts, times, 3) > 100


def test_the_first_matching_alone_is_not_fair() -> None:
    """Which of the k is carried out has to be drawn: the first that walks find has some edges more often."""
    times, stream = 20_000, stream_of(8)
    counts = np.zeros((5, 5), np.int64)
    for _ in range(times):
        for slot, row in enumerate(all_matchings(5, 3, stream, by_walks=True)[0]):
            counts[slot, (row - slot) % 5] += 1
    assert chi_square(counts, times, 3) > 40


def test_every_assignment_of_a_small_ring_can_be_drawn() -> None:
    starts, carrier = np.arange(0, 5 * 5000 + 1, 5), np.empty(5 * 5000, np.int64)
    draw_rings(starts, np.full(len(starts) - 1, 3), stream_of(9), True, carrier)
    seen = {tuple(rows) for rows in (carrier.reshape(-1, 5) - starts[:-1, None]).tolist()}
    assert seen == set(ring_assignments(5, 3))


def test_rings_of_different_sizes_are_drawn_apart() -> None:
    starts = np.array([0, 3, 10, 14])
    carrier = np.empty(14, np.int64)
    draw_rings(starts, np.full(len(starts) - 1, 3), stream_of(10), True, carrier)
    for first, stop in pairwise(starts):
        rows = carrier[first:stop] - first
        assert sorted(rows) == list(range(stop - first))
        assert (((rows - np.arange(stop - first)) % (stop - first)) < 3).all()
