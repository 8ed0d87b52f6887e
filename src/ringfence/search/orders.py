"""Orders of the distinct tuples of a census, in which neighbours are alike. They look at quasi-identifiers only."""

import numpy as np

from ringfence.census import Census, Longs
from ringfence.kernels.hilbert import transpose_to_curve

BITS_A_WORD = 62
MOST_BITS = 16


def hilbert_order(census: Census) -> Longs:
    """Return the tuples in the order in which a Hilbert curve passes them.

    Each attribute is a dimension, its values in their order (that of the hierarchy if there is no other), scaled so
    all domains are equally wide: without that, an attribute of few values would be a corner of the curve. Tuples at the
    same place stand as the census has them.

    >>> import pyarrow as pa
    >>> from ringfence.census import take_census
    >>> from ringfence.spec import Spec
    >>> number = {"role": "quasi", "order": "numeric"}
    >>> counted = pa.table({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "rows": [1, 1, 1, 1]})
    >>> census = take_census(counted, Spec(attributes={"x": number, "y": number}), "rows")
    >>> census.codes[hilbert_order(census)].tolist()
    [[0, 0], [0, 1], [1, 1], [1, 0]]

    Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007, section 5.
    """
    widest = max(quasi.hierarchy.leaves for quasi in census.quasi)
    bits = min(MOST_BITS, max(1, (widest - 1).bit_length()))
    last = (1 << bits) - 1
    scaled = [
        quasi.ranks[census.codes[:, a]].astype(np.int64) * last // max(1, quasi.hierarchy.leaves - 1)
        for a, quasi in enumerate(census.quasi)
    ]
    points = np.stack(scaled, axis=1)
    transpose_to_curve(points, bits)
    digits = [(points[:, a] >> bit) & 1 for bit in reversed(range(bits)) for a in range(points.shape[1])]
    words = []
    for begin in range(0, len(digits), BITS_A_WORD):
        word = np.zeros(len(points), np.int64)
        for digit in digits[begin : begin + BITS_A_WORD]:
            word = 2 * word + digit
        words.append(word)
    return np.lexsort(words[::-1])


def gray_order(census: Census) -> Longs:
    """Return the tuples in a lexicographic order that turns back instead of jumping.

    Attributes with few values come first, since a difference there costs most. In every other block of equal first
    values, the next attribute runs backwards, so that neighbours across blocks differ as little as they can: a Gray
    code, as far as the tuples that occur allow.

    >>> import pyarrow as pa
    >>> from ringfence.census import take_census
    >>> from ringfence.spec import Spec
    >>> number = {"role": "quasi", "order": "numeric"}
    >>> counted = pa.table({"x": [0, 0, 0, 1, 1, 1], "y": [0, 1, 2, 0, 1, 2], "rows": [1] * 6})
    >>> census = take_census(counted, Spec(attributes={"x": number, "y": number}), "rows")
    >>> census.codes[gray_order(census)].tolist()
    [[0, 0], [0, 1], [0, 2], [1, 2], [1, 1], [1, 0]]

    Few values first: Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing.
    SIGMOD 2010, section 5.3.1. Turning back is ours.
    """
    block = np.zeros(len(census.weights), np.int64)
    for a in sorted(range(len(census.quasi)), key=lambda a: census.quasi[a].occurring):
        quasi = census.quasi[a]
        digit = quasi.ranks[census.codes[:, a]].astype(np.int64)
        digit = np.where(block % 2 == 1, quasi.hierarchy.leaves - 1 - digit, digit)
        block = np.unique(block * quasi.hierarchy.leaves + digit, return_inverse=True)[1]
    return np.argsort(block, kind="stable")
