"""Philox4x32-10 on Python integers and on NumPy arrays, and how streams derive from each other.

The generator is a keyed bijection of 128-bit counters; one call gives a block of four 32-bit words.
Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

A stream's state is four 32-bit words: two of key and the upper two of the counter. Block ``i`` of a
stream is ``philox(counter=(i mod 2^32, i div 2^32, state[2], state[3]), key=state[:2])``.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
MASK32 = 0xFFFFFFFF

#: The key under which TensorFlow scrambles a stateless seed; ``Stream(seed)`` does the same.
SEED_KEY = (0x3EC8F720, 0x02461E29)
#: XORed into the key, so that no derived state ever equals a block that the parent draws.
FOLD_DOMAIN = int.from_bytes(b"fold_in\0", "little")
SPLIT_DOMAIN = int.from_bytes(b"split\0\0\0", "little")

Words = tuple[int, int, int, int]


def key_schedule(k0: Any, k1: Any) -> list[tuple[Any, Any]]:
    """The ten round keys, from integers or arrays of 32-bit values in 64-bit containers."""
    return [((k0 + r * WEYL[0]) & MASK32, (k1 + r * WEYL[1]) & MASK32) for r in range(ROUNDS)]


def block(counter: tuple[int, int, int, int], key: tuple[int, int]) -> Words:
    """One block of four words, on Python integers."""
    c0, c1, c2, c3 = counter
    for k0, k1 in key_schedule(*key):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK32
        c2, c3 = (p0 >> 32) ^ c3 ^ k1, p0 & MASK32
    return c0, c1, c2, c3


def blocks(
    counter: tuple[Any, Any, Any, Any], key: tuple[Any, Any]
) -> tuple[npt.NDArray[np.int64], ...]:
    """Many blocks: each argument a uint64 array or number below 2^32, broadcast together."""
    shift, mask = np.uint64(32), np.uint64(MASK32)
    m0, m1 = (np.uint64(m) for m in MULTIPLIERS)
    shape = np.broadcast_shapes(*(np.shape(part) for part in (*counter, *key)))
    c0, c1, c2, c3 = (np.broadcast_to(np.asarray(c, np.uint64), shape) for c in counter)
    weyl = [np.asarray(part, np.uint64) for part in key]
    for r in range(ROUNDS):
        k0, k1 = ((k + np.uint64(r * w)) & mask for k, w in zip(weyl, WEYL, strict=True))
        p0, p1 = c0 * m0, c2 * m1
        c0, c2 = p1 >> shift, p0 >> shift
        for high, low, round_key in ((c0, c1, k0), (c2, c3, k1)):
            np.bitwise_xor(high, low, out=high)
            np.bitwise_xor(high, round_key, out=high)
        c1, c3 = p1 & mask, p0 & mask
    return tuple(c.view(np.int64) for c in (c0, c1, c2, c3))


def seed_words(seed: int, second: int = 0) -> Words:
    """The state that ``tf.random.stateless_*(seed=(seed, second), alg="philox")`` draws from."""
    counter = (seed & MASK32, seed >> 32 & MASK32, second & MASK32, second >> 32 & MASK32)
    return block(counter, SEED_KEY)


def name_words(name: str) -> Words:
    """The first 128 bits of SHA-256 of the UTF-8 name, as four little-endian words."""
    digest = hashlib.sha256(name.encode()).digest()
    a, b, c, d = (int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    return a, b, c, d


def child_inputs(words: Any, domain: int, data: Any) -> tuple[Any, Any]:
    """Counter and key of the block that is a child's state.

    ``data`` is four words that are XORed into the counter; for one parent the map from data to
    child is a bijection, so that distinct steps never give the same child. Works on integers and on
    integer tensors alike.
    """
    key = (words[0] ^ (domain & MASK32), words[1] ^ (domain >> 32))
    counter = (data[0], data[1], data[2] ^ words[2], data[3] ^ words[3])
    return counter, key
