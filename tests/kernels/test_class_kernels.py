"""Kernels against slow twins that say the same in plain Python."""

from collections import Counter, defaultdict

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from ringfence.census.classes import WORD_BITS, Classes, Roller, _layout
from ringfence.kernels import class_sums, sensitive_values
from ringfence.kernels.roll_up import roll_up, roll_up_pairs, roll_up_tallies
from ringfence.search.recode.lattice import level_spaces
from tests.tables import Case, cases


def slots(size: int) -> npt.NDArray[np.int32]:
    """Scratch for a hash table."""
    return np.empty(max(16, 1 << (2 * size).bit_length()), np.int32)


@given(data=st.data(), words=st.integers(1, 3), size=st.integers(0, 40))
def test_roll_up_groups_equal_keys_in_the_order_they_are_met(data: st.DataObject, words: int, size: int) -> None:
    fields_per_word = 2
    leaves = 5
    row = st.lists(st.integers(0, leaves - 1), min_size=2 * words, max_size=2 * words)
    codes = np.array(data.draw(st.lists(row, min_size=size, max_size=size)), np.int64).reshape(size, 2 * words)
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)), np.int64)
    keys = np.zeros((words, size), np.int64)
    for attribute in range(2 * words):
        keys[attribute // fields_per_word] |= codes[:, attribute] << (3 + 30 * (attribute % 2))
    attribute = data.draw(st.integers(0, 2 * words - 1))
    table = np.array(data.draw(st.lists(st.integers(0, leaves - 1), min_size=leaves, max_size=leaves)), np.int64)
    fields = np.array([[attribute // 2, 3 + 30 * (attribute % 2), 7, 2]], np.int64)

    out_keys, out_weights, member = np.empty_like(keys), np.empty_like(weights), np.empty(size, np.int32)
    classes = roll_up(
        keys, weights, size, fields, np.concatenate([[9, 9], table]), np.empty_like(keys), out_keys, out_weights,
        member, slots(size),
    )  # fmt: skip

    expected: dict[tuple[int, ...], int] = {}
    homes = []
    for codes_of_row, weight in zip(codes.tolist(), weights.tolist(), strict=True):
        codes_of_row[attribute] = int(table[codes_of_row[attribute]])
        key = tuple(codes_of_row)
        expected[key] = expected.get(key, 0) + weight
        homes.append(list(expected).index(key))
    assert classes == len(expected)
    assert out_weights[:classes].tolist() == list(expected.values())
    assert member.tolist() == homes
    for place, row_key in enumerate(expected):
        found = [(int(out_keys[a // 2, place]) >> (3 + 30 * (a % 2))) & 7 for a in range(2 * words)]
        assert tuple(found) == row_key


@given(
    pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(1, 5)), max_size=40),
    member=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    domain=st.sampled_from([5, 10**6]),  # every pair a slot of its own, or hashed
)
def test_roll_up_pairs_adds_up_equal_pairs(pairs: list[tuple[int, int, int]], member: list[int], domain: int) -> None:
    homes, values, weights = (
        np.array([pair[i] for pair in pairs], dtype) for i, dtype in enumerate((np.int32, np.int32, np.int64))
    )
    out = np.empty_like(homes), np.empty_like(values), np.empty_like(weights)
    size = roll_up_pairs(
        homes, values, weights, len(pairs), np.array(member, np.int32), 4, domain, *out, slots(len(pairs))
    )
    expected: Counter[tuple[int, int]] = Counter()
    for home, value, weight in pairs:
        expected[member[home], value] += weight
    found = {(int(h), int(v)): int(w) for h, v, w in zip(*(part[:size] for part in out), strict=True)}
    assert found == dict(expected)
    assert size == len(expected)


@given(
    tallies=st.lists(st.floats(0, 10), min_size=6, max_size=6),
    member=st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_roll_up_tallies_adds_up(tallies: list[float], member: list[int]) -> None:
    out = np.full((1, 6), np.nan)
    roll_up_tallies(np.array([tallies]), 6, np.array(member, np.int32), out, 3)
    for home in range(3):
        assert np.isclose(out[0, home], sum(t for t, m in zip(tallies, member, strict=True) if m == home))


@given(leaves=st.lists(st.integers(1, 2**40), min_size=1, max_size=12))
def test_fields_of_the_key_do_not_overlap_and_hold_every_leaf(leaves: list[int]) -> None:
    rows, words = _layout(leaves)
    used: dict[int, int] = defaultdict(int)
    for (word, shift, mask, _), count in zip(rows.tolist(), leaves, strict=True):
        assert count - 1 <= mask
        assert shift + mask.bit_length() <= WORD_BITS
        assert used[word] & (mask << shift) == 0
        used[word] |= mask << shift
    assert set(used) == set(range(words))


@given(case=cases(sensitive=1), data=st.data())
def test_rolling_up_in_steps_is_rolling_up_at_once(case: Case, data: st.DataObject) -> None:
    census = case.census
    spaces = level_spaces(census)
    roller = Roller(census, spaces, [np.arange(q.hierarchy.leaves, dtype=float) for q in census.quasi])
    high = [data.draw(st.integers(0, height)) for height in census.heights]
    low = [data.draw(st.integers(0, level)) for level in high]
    at_once = roller.roll(roller.finest, roller.fields(list(enumerate(high))), roller.room())
    halfway = roller.roll(roller.finest, roller.fields(list(enumerate(low))), roller.room())
    in_steps = roller.roll(halfway, roller.fields(list(enumerate(high))), roller.room())

    def content(table: Classes) -> tuple[list[object], ...]:
        n = table.size
        pairs = table.pairs[0]
        return (
            table.keys[:, :n].tolist(),
            table.weights[:n].tolist(),
            np.round(table.tallies[:, :n], 9).tolist(),
            sorted(np.stack([pairs.homes, pairs.values, pairs.weights])[:, : pairs.size].T.tolist()),
        )

    assert content(at_once) == content(in_steps)


@given(weights=st.lists(st.integers(1, 20), min_size=1, max_size=20), data=st.data())
def test_sums_over_classes(weights: list[int], data: st.DataObject) -> None:
    size, k = len(weights), data.draw(st.integers(1, 12))
    array, fails = np.array(weights, np.int64), np.zeros(size, np.uint8)
    class_sums.mark_small(array, size, k, fails)
    assert fails.tolist() == [int(w < k) for w in weights]
    assert class_sums.failing_rows(array, size, fails) == sum(w for w in weights if w < k)
    assert class_sums.squares(array, size, fails, 99) == sum(w * (w if w >= k else 99) for w in weights)
    assert class_sums.squares_from(array, size, k) == sum(w * max(w, k) for w in weights)
    gone = np.empty(size, np.int64)
    class_sums.lose_all(array, size, fails, gone)
    assert gone.tolist() == [w if w < k else 0 for w in weights]
    some = [data.draw(st.integers(0, w)) for w in weights]
    assert class_sums.squares_gained(array, size, np.array(some, np.int64), 15, k) == sum(
        s * max(0, 15 - max(w, k)) for s, w in zip(some, weights, strict=True)
    )


@given(homes=st.lists(st.integers(0, 4), max_size=30))
def test_sort_by_home_is_a_stable_grouping(homes: list[int]) -> None:
    starts, order = np.empty(6, np.int32), np.empty(len(homes), np.int32)
    sensitive_values.sort_by_home(np.array(homes, np.int32), len(homes), 5, starts, order)
    for home in range(5):
        expected = [i for i, h in enumerate(homes) if h == home]
        assert order[starts[home] : starts[home + 1]].tolist() == expected


@given(pairs=st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 5)), st.integers(1, 9), max_size=20))
def test_majorities(pairs: dict[tuple[int, int], int]) -> None:
    homes, weights = np.array([h for h, _ in pairs], np.int32), np.array(list(pairs.values()), np.int64)
    most = np.empty(4, np.int64)
    sensitive_values.majorities(homes, weights, len(pairs), 4, most)
    assert most.tolist() == [max((w for (h, _), w in pairs.items() if h == home), default=0) for home in range(4)]
