"""Places on a Hilbert curve in any number of dimensions."""

from ringfence.arrays import Longs
from ringfence.compiling import njit


@njit(cache=True, nogil=True)
def transpose_to_curve(points: Longs, bits: int) -> None:
    """Turn each point, coordinates of `bits` bits each, into its place on the curve, in place.

    The place is spread over the coordinates: its highest bit is the highest of the first coordinate, the next that of
    the second, and so on.

    Skilling: Programming the Hilbert curve. AIP Conference Proceedings 707 (2004): from the highest bit down, the cube
    of each bit is mirrored or turned into the position of the next; then a Gray code over all dimensions is undone.
    """
    dimensions = points.shape[1]
    highest = 1 << (bits - 1)
    for p in range(len(points)):
        point = points[p]
        bit = highest
        while bit > 1:
            below = bit - 1
            for d in range(dimensions):
                if point[d] & bit:
                    point[0] ^= below
                else:
                    swapped = (point[0] ^ point[d]) & below
                    point[0] ^= swapped
                    point[d] ^= swapped
            bit >>= 1
        for d in range(1, dimensions):
            point[d] ^= point[d - 1]
        flipped, bit = 0, highest
        while bit > 1:
            if point[dimensions - 1] & bit:
                flipped ^= bit - 1
            bit >>= 1
        for d in range(dimensions):
            point[d] ^= flipped
