"""Secret numbers: the keystream of ChaCha20, drawn from inside kernels.

What a release hides behind chance is only as hidden as the generator: one that can be guessed from its output, or tried
seed by seed, would give the draw away. So the key is 256 bits of the operating system's entropy.
"""

import hashlib
import os
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Longs
from ringfence.compiling import njit

Words32 = npt.NDArray[np.uint32]

CONSTANTS = np.array([0x61707865, 0x3320646E, 0x79622D32, 0x6B206574], np.uint32)


BLOCKS = 16
"""So many blocks are made at once, side by side, as fast as vectors go."""
WORDS = 16 * BLOCKS


class Stream(NamedTuple):
    """A keystream under way: what the next block is made of, `words` made already, and how many of them are used.

    `blocks` is room to make them in.
    """

    state: Words32
    blocks: Words32
    words: Longs
    used: Longs


def secret_key(purpose: str, seed: int | None = None) -> bytes:
    """Return 256 bits of the operating system's entropy; with a seed, the same bits in every run.

    Keys for different purposes have nothing to do with each other, whatever the seed. A seed is for reruns: whoever
    guesses it knows what was drawn.
    """
    if seed is None:
        return os.urandom(32)
    return hashlib.sha256(f"ringfence {purpose} {seed}".encode()).digest()


def new_stream(key: bytes) -> Stream:
    """Return the keystream of a key of 32 bytes, with nonce 0 and from block 0 on: no key is ever used twice."""
    if len(key) != 32:
        raise ValueError(f"a key has 32 bytes, not {len(key)}")
    state = np.concatenate([CONSTANTS, np.frombuffer(key, "<u4").astype(np.uint32), np.zeros(4, np.uint32)])
    return Stream(state, np.zeros((16, BLOCKS), np.uint32), np.zeros(WORDS, np.int64), np.array([WORDS]))


@njit(cache=True, nogil=True)
def _stir(blocks: Words32, a: int, b: int, c: int, d: int) -> None:
    """Stir four words of every block into each other: a quarter round."""
    left16, left12, left8, left7 = np.uint32(16), np.uint32(12), np.uint32(8), np.uint32(7)
    right16, right12, right8, right7 = np.uint32(16), np.uint32(20), np.uint32(24), np.uint32(25)
    for i in range(BLOCKS):
        wa, wb, wc, wd = blocks[a, i], blocks[b, i], blocks[c, i], blocks[d, i]
        wa = np.uint32(wa + wb)
        wd = np.uint32(wd ^ wa)
        wd = np.uint32(np.uint32(wd << left16) | np.uint32(wd >> right16))
        wc = np.uint32(wc + wd)
        wb = np.uint32(wb ^ wc)
        wb = np.uint32(np.uint32(wb << left12) | np.uint32(wb >> right12))
        wa = np.uint32(wa + wb)
        wd = np.uint32(wd ^ wa)
        wd = np.uint32(np.uint32(wd << left8) | np.uint32(wd >> right8))
        wc = np.uint32(wc + wd)
        wb = np.uint32(wb ^ wc)
        wb = np.uint32(np.uint32(wb << left7) | np.uint32(wb >> right7))
        blocks[a, i], blocks[b, i], blocks[c, i], blocks[d, i] = wa, wb, wc, wd


@njit(cache=True, nogil=True)
def fill_blocks(state: Words32, blocks: Words32) -> None:
    """Make the next blocks of the keystream, and count on.

    Nir, Langley: ChaCha20 and Poly1305 for IETF Protocols. RFC 8439 (2018), section 2.3. The counter here has 64 bits,
    as Bernstein's original has it; it starts at 0, so that it passes into its second word between two calls.
    """
    for word in range(16):
        for i in range(BLOCKS):
            blocks[word, i] = state[word]
    for i in range(BLOCKS):
        blocks[12, i] += np.uint32(i)
    for _ in range(10):
        for q in range(4):
            _stir(blocks, q, q + 4, q + 8, q + 12)
        for q in range(4):
            _stir(blocks, q, (q + 1) % 4 + 4, (q + 2) % 4 + 8, (q + 3) % 4 + 12)
    for word in range(16):
        for i in range(BLOCKS):
            blocks[word, i] += state[word]
    for i in range(BLOCKS):
        blocks[12, i] += np.uint32(i)
    state[12] += np.uint32(BLOCKS)
    if state[12] == 0:
        state[13] += np.uint32(1)


@njit(cache=True, nogil=True)
def refill(stream: Stream) -> None:
    """Make further words, none of them used yet."""
    fill_blocks(stream.state, stream.blocks)
    for i in range(BLOCKS):
        for word in range(16):
            stream.words[16 * i + word] = stream.blocks[word, i]
    stream.used[0] = 0


@njit(cache=True, nogil=True)
def next_word(stream: Stream) -> int:
    """Return the next 32 bits as a number."""
    if stream.used[0] == WORDS:
        refill(stream)
    stream.used[0] += 1
    word: int = stream.words[stream.used[0] - 1]
    return word


@njit(cache=True, nogil=True)
def below(stream: Stream, bound: int) -> int:
    """Return a number from 0 to `bound` - 1, each exactly as likely: words of an incomplete last round are refused."""
    rest = (1 << 32) % bound
    while True:
        word = next_word(stream)
        if word < (1 << 32) - rest:
            return word % bound


@njit(cache=True, nogil=True)
def shuffle(stream: Stream, items: Longs) -> None:
    """Put items into a random order, each exactly as likely (Fisher and Yates)."""
    for i in range(len(items) - 1, 0, -1):
        j = below(stream, i + 1)
        items[i], items[j] = items[j], items[i]


@njit(cache=True, nogil=True)
def fill_numbers(stream: Stream, numbers: Longs) -> None:
    """Fill with random numbers of 62 bits."""
    for i in range(len(numbers)):
        numbers[i] = ((next_word(stream) & 0x3FFFFFFF) << 32) | next_word(stream)
