"""What every block of one attribute costs at least, while the partitions of the others are only partly decided.

A *context* is a combination of values of the other attributes. Where their partitions are partly decided, contexts that
are known to be merged form a *class*, and what a class can at most be merged with is its *cover*. A value that is not
decided yet may join any block; so the cover of a class whose value is in block b of an attribute reaches over b and all
undecided values, and that of a class with an undecided value over all values. Covers overlap, so they are added up from
*cells*: in each attribute, the block that a value is in, all undecided values, or all values.
"""

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Ints, Longs, Words
from ringfence.compiling import njit
from ringfence.kernels.recode.keys import find, slots_for, words_in

OPEN = 1
"""The code of values that are not decided; blocks have codes from 2 on."""
ANY = 0
"""The code of all values together."""


@njit(cache=True, nogil=True)
def _key_of_cell(values: Ints, tables: Longs, fields: Longs, places: Longs, side: int, key: Longs) -> None:
    """Write the key of one of a context's own cells: in the attributes on this side, all values together."""
    key[:] = 0
    for a in range(len(values)):
        key[fields[a, 0]] |= tables[a, values[a]] << fields[a, 1]
    for place in range(len(places)):
        if side >> place & 1:
            a = places[place]
            key[fields[a, 0]] ^= (tables[a, values[a]] ^ ANY) << fields[a, 1]


@njit(cache=True, nogil=True)
def _key_of_cover(values: Ints, tables: Longs, fields: Longs, places: Longs, side: int, key: Longs) -> bool:
    """Write the key of one of the cells that make up a context's cover; return whether there is one on this side.

    A value in a block is covered by its block on one side and by the undecided values on the other; an undecided value
    by all values, on one side only.
    """
    key[:] = 0
    for a in range(len(values)):
        key[fields[a, 0]] |= tables[a, values[a]] << fields[a, 1]
    for place in range(len(places)):
        a = places[place]
        code = tables[a, values[a]]
        other = ANY if code == OPEN else OPEN if side >> place & 1 else code
        if code == OPEN and side >> place & 1:
            return False
        key[fields[a, 0]] ^= (code ^ other) << fields[a, 1]
    return True


@njit(cache=True, nogil=True)
def covers_of(
    codes: Ints,
    tables: Longs,
    partly: npt.NDArray[np.bool_],
    fields: Longs,
    heads: Longs,
    counts: Floats,
    masks: Words,
    covers: Floats,
    covered: Words,
) -> None:
    """Fill `covers[h]` with the rows of data that class `heads[h]` can at most be merged with, and `covered[:, h]` with
    their sensitive values.

    `codes` are contexts that stand for the classes, `tables[a, leaf]` the leaf's code in attribute a, and `partly[a]`
    says whether some of them are OPEN while others are not. Each class is counted in all its cells.
    """
    classes, rows, kinds = codes.shape[0], counts.shape[1], masks.shape[0]
    places = np.flatnonzero(partly)
    sides = 1 << len(places)
    key = np.empty(words_in(fields), np.int64)
    slots, keys = slots_for(classes * sides), np.empty((classes * sides, len(key)), np.int64)
    cells, seen, size = np.zeros((classes * sides, rows)), np.zeros((kinds, classes * sides, rows), np.uint64), 0
    for c in range(classes):
        for side in range(sides):
            _key_of_cell(codes[c], tables, fields, places, side, key)
            cell = find(key, keys, slots, size)
            size = max(size, cell + 1)
            for row in range(rows):
                cells[cell, row] += counts[c, row]
                for kind in range(kinds):
                    seen[kind, cell, row] |= masks[kind, c, row]
    covers[:, :] = 0.0
    covered[:, :, :] = 0
    for h in range(len(heads)):
        for side in range(sides):
            there = _key_of_cover(codes[heads[h]], tables, fields, places, side, key)
            cell = find(key, keys, slots, -1) if there else -1
            if cell >= 0:
                for row in range(rows):
                    covers[h, row] += cells[cell, row]
                    for kind in range(kinds):
                        covered[kind, h, row] |= seen[kind, cell, row]


@njit(cache=True, nogil=True)
def pool_small(
    codes: Ints, tables: Longs, fields: Longs, counts: Floats, k: float, member: Longs, first: Longs
) -> tuple[int, int]:
    """Number classes anew: those of k rows and more by themselves, then the smaller ones, one number for each cover.

    `member[c]` becomes the number of class c, `first[n]` a class that stands for number n. Return how many large ones
    there are, and how many numbers. Sound: smaller classes with the same cover fail or hold together, and until one of
    them is known to reach k rows, each of its rows costs k, or the penalty; so they cost together what they cost one by
    one.
    """
    classes, attributes = codes.shape
    totals, size = counts.sum(axis=1), 0
    for c in range(classes):
        if totals[c] >= k:
            member[c] = size
            first[size] = c
            size += 1
    large = size
    key = np.empty(words_in(fields), np.int64)
    slots, keys = slots_for(classes), np.empty((classes, len(key)), np.int64)
    for c in range(classes):
        if totals[c] < k:
            key[:] = 0
            for a in range(attributes):
                key[fields[a, 0]] |= tables[a, codes[c, a]] << fields[a, 1]
            found = find(key, keys, slots, size - large) + large
            if found == size:
                first[size] = c
                size += 1
            member[c] = found
    return large, size


@njit(cache=True, nogil=True)
def _size_of(mask: np.uint64) -> int:
    size = 0
    while mask:
        mask &= mask - np.uint64(1)
        size += 1
    return size


@njit(cache=True, nogil=True)
def block_costs(
    counts: Floats,
    covers: Floats,
    covered: Words,
    spares: Floats,
    steps: Longs,
    starts: Longs,
    leaves: Longs,
    losses: Floats,
    own: Floats,
    large: int,
    k: int,
    least: Longs,
    penalty: float,
    squares: bool,
    costs: Floats,
) -> None:
    """Fill `costs[block]` with the least that the rows of a block cost, over all classes.

    Blocks are built up in `steps` (depth, row, block): the block is the row and what was last built at the depth
    above. A class whose cover fails, by rows or by sensitive values, is suppressed whatever is decided. With
    `squares`, each row of data costs the penalty then, else the number of rows in the class, and at least k.
    Otherwise a block costs `own[block]`, and beyond it what its suppressed rows lack to the full loss: `spares[leaf,
    c]` less what the attribute itself loses, `losses` for each of the block's `leaves`. An infinite penalty forbids
    suppression. Classes from `large` on are sums of classes that are known to have fewer than k rows (`pool_small`).
    """
    classes, kinds = counts.shape[1], covered.shape[0]
    depths = steps[:, 0].max() + 1
    here, most = np.zeros((depths, classes)), np.zeros((depths, classes))
    seen = np.zeros((kinds, depths, classes), np.uint64)
    for step in range(len(steps)):
        depth, row, block = steps[step]
        total = 0.0 if squares else own[block]
        for c in range(classes):
            rows, reach = counts[row, c], covers[row, c]
            if depth > 0:
                rows += here[depth - 1, c]
                reach += most[depth - 1, c]
            here[depth, c], most[depth, c] = rows, reach
            fails = reach < k
            for kind in range(kinds):
                mask = covered[kind, row, c]
                if depth > 0:
                    mask |= seen[kind, depth - 1, c]
                seen[kind, depth, c] = mask
                fails = fails or _size_of(mask) < least[kind]
            if rows > 0:
                if fails:
                    if squares or penalty == np.inf:
                        total += rows * penalty
                    else:
                        lack = 0.0
                        for entry in range(starts[block], starts[block + 1]):
                            lack += spares[leaves[entry], c] - counts[leaves[entry], c] * losses[entry]
                        total += max(0.0, lack)
                elif squares:
                    total += rows * (max(rows, k) if c < large else k)
        costs[block] = total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def square_costs(
    counts: Floats, covers: Floats, large: int, steps: Longs, k: float, penalty: float, costs: Floats
) -> None:
    """Fill `costs` as `block_costs` does with squares and no sensitive values: the loop that most of a proof is spent
    in, written so that several classes are done at once.

    Numbers of rows are whole, and their sums far below 2^53, so they may be added up in any order.
    """
    classes = counts.shape[1]
    most_penalty = min(penalty, 1e300)  # 0 rows times infinity would be no number
    depths = steps[:, 0].max() + 1
    here, most = np.zeros((depths + 1, classes)), np.zeros((depths + 1, classes))
    for step in range(len(steps)):
        depth, row, block = steps[step]
        rows, reach, into, over = counts[row], covers[row], here[depth + 1], most[depth + 1]
        before, reached = here[depth], most[depth]
        if depth == 0:
            before[:] = 0.0
            reached[:] = 0.0
        total = 0.0
        for c in range(large):
            number, cover = rows[c] + before[c], reach[c] + reached[c]
            into[c], over[c] = number, cover
            each = most_penalty if cover < k else (number if number > k else k)
            total += number * each
        for c in range(large, classes):
            number, cover = rows[c] + before[c], reach[c] + reached[c]
            into[c], over[c] = number, cover
            total += number * (most_penalty if cover < k else k)
        costs[block] = total if total < 1e300 else np.inf


@njit(cache=True, nogil=True)
def gather(source: Floats, member: Longs, out: Floats) -> None:
    """Add up rows: row i goes to row `member[i]`."""
    out[:, :] = 0.0
    for i in range(len(source)):
        row = member[i]
        for cell in range(source.shape[1]):
            out[row, cell] += source[i, cell]


@njit(cache=True, nogil=True)
def gather_masks(source: Words, member: Longs, out: Words) -> None:
    """Unite rows: row i goes to row `member[i]`."""
    out[:, :, :] = 0
    for kind in range(source.shape[0]):
        for i in range(source.shape[1]):
            for cell in range(source.shape[2]):
                out[kind, member[i], cell] |= source[kind, i, cell]


@njit(cache=True, nogil=True)
def best_runs(alone: Floats, merged: Longs, costs: Floats, choice: Longs) -> float:
    """Return the cost of the cheapest partition into runs; `choice[j]` becomes where the run that ends before j begins.

    `merged[i, j]` is the block of the children i to j, i < j; a child alone costs `alone[i]`.
    """
    size = len(alone)
    best = np.full(size + 1, np.inf)
    best[0] = 0.0
    for end in range(1, size + 1):
        for start in range(end):  # of equals, the shorter run
            cost = best[start] + (alone[start] if start == end - 1 else costs[merged[start, end - 1]])
            if cost <= best[end]:
                best[end], choice[end] = cost, start
    return float(best[size])


@njit(cache=True, nogil=True)
def best_sets(alone: Floats, merged: Longs, costs: Floats, choice: Longs) -> float:
    """Return the cost of the cheapest partition into sets; `choice[s]` becomes the block with the lowest child of set
    s.

    `merged[s]` is the block of the set of children s, written in bits; a child alone costs `alone[i]`.
    """
    size = len(alone)
    best = np.full(1 << size, np.inf)
    best[0] = 0.0
    for whole in range(1, 1 << size):
        lowest = 0
        while not whole >> lowest & 1:
            lowest += 1
        rest = whole ^ (1 << lowest)
        part = rest
        while True:  # of equals, the smaller set
            block = part | 1 << lowest
            cost = best[rest ^ part] + (costs[merged[block]] if part else alone[lowest])
            if cost <= best[whole]:
                best[whole], choice[whole] = cost, block
            if part == 0:
                break
            part = (part - 1) & rest
    return float(best[(1 << size) - 1])
