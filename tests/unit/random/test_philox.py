"""The generator itself against published vectors, and the four codings of it against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.random import Stream, philox

#: counter, key, output of philox4x32-10: the ``kat_vectors`` of Random123, the reference
#: implementation that accompanies Salmon et al. 2011.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip
PARSED = [tuple(tuple(int(w, 16) for w in part.split()) for part in row) for row in KNOWN_ANSWERS]
known_answers = pytest.mark.parametrize(("counter", "key", "output"), PARSED)
words = st.integers(0, 2**32 - 1)


@known_answers
def test_known_answers_on_integers(counter, key, output):
    assert philox.block(counter, key) == output


@known_answers
def test_known_answers_in_numpy(counter, key, output):
    lanes = philox.blocks(tuple(np.array([c], np.uint64) for c in counter), key)
    assert tuple(int(lane[0]) for lane in lanes) == output


@known_answers
def test_known_answers_in_torch(counter, key, output):
    torch = pytest.importorskip("torch")
    from parity.random.torch_random import _lanes

    tensors = [torch.full((3,), c, dtype=torch.int64) for c in counter]
    lanes = _lanes(tuple(tensors), *(torch.tensor(k) for k in key))
    assert [lane.tolist() for lane in lanes] == [[word] * 3 for word in output]
    assert _lanes(counter, *key) == output  # and on plain integers


@known_answers
def test_known_answers_in_tensorflow(counter, key, output):
    tf = pytest.importorskip("tensorflow")
    from parity.random.tf_random import _full_int

    pairs = (tf.constant(np.array(part, np.uint32).view(np.uint64)) for part in (key, counter))
    drawn = _full_int(4, tf.uint32, *pairs)
    assert tuple(drawn.numpy().tolist()) == output


@given(st.tuples(words, words, words, words), st.tuples(words, words))
def test_numpy_and_integers_are_one_function(counter, key):
    lanes = philox.blocks(tuple(np.array([c, c ^ 1], np.uint64) for c in counter), key)
    other = tuple(c ^ 1 for c in counter)
    assert tuple(int(lane[0]) for lane in lanes) == philox.block(counter, key)
    assert tuple(int(lane[1]) for lane in lanes) == philox.block(other, key)


def test_a_stream_counts_blocks_past_32_bits(monkeypatch):
    """Block ``i`` has the counter (i mod 2^32, i div 2^32): no draw reaches that far, so ask."""
    asked = []

    def blocks(counter, key):
        asked.append(tuple(np.asarray(part).reshape(-1)[-1].item() for part in counter))
        return tuple(np.zeros(1, np.int64) for _ in range(4))

    monkeypatch.setattr(philox, "blocks", blocks)
    monkeypatch.setattr(np, "arange", lambda *_, **__: np.array([2**32 + 5], np.uint64))
    Stream(1).bits(1, dtype="uint32")
    assert asked == [(5, 1, *Stream(1).words[2:])]


def test_children_never_collide_by_construction():
    """For one parent, counter and key of a child differ wherever the data differ."""
    inputs = {
        philox.child_inputs(Stream(3).words, philox.FOLD_DOMAIN, (lo, hi, 0, 0))
        for lo in range(101)
        for hi in range(3)
    }
    assert len(inputs) == 303
    assert len({key for _, key in inputs}) == 1  # one key: Philox is a bijection of counters


def test_derived_states_are_never_blocks_that_are_drawn():
    """Folding uses another key than drawing, so a child's state is not among the parent's words."""
    stream = Stream(11)
    drawn = stream.bits((64, 4), dtype="uint32")
    for step in range(64):
        assert stream.fold_in(step).words != tuple(drawn[step].tolist())


def test_the_name_is_hashed_as_documented():
    import hashlib

    digest = hashlib.sha256("Bruit·噪声".encode()).digest()[:16]
    assert philox.name_words("Bruit·噪声") == tuple(np.frombuffer(digest, "<u4").tolist())
