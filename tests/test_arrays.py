"""Equal numbers are found as numpy finds them, sorted or not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ringfence.arrays import distinct


@given(st.one_of(st.lists(st.integers(0, 9), max_size=20), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8)))
def test_different_numbers_rise_and_say_where_they_stand(numbers: list[int]) -> None:
    given_numbers = np.array(numbers, np.int64)
    expected = np.unique(given_numbers, return_index=True, return_inverse=True)
    assert [part.tolist() for part in distinct(given_numbers)] == [part.tolist() for part in expected]
    assert given_numbers.tolist() == numbers
