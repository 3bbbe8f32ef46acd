"""Large arrays in a file: the same values, in the same order, and none lost to a full disk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parity import spill


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "LARGE", 8)
    monkeypatch.setattr(spill, "PIECE", 1 << 14)


def arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    base = rng.standard_normal((40, 30))
    return [base, base.T, base[::2, 1:], base.astype(np.float32), base > 0, base + 1j * base]


def test_values_shape_and_order_are_kept() -> None:
    with spill.spilling():
        stored = [spill.kept(a) for a in arrays()]
        spill.forget()
        for array, found in zip(arrays(), stored, strict=True):
            assert found.dtype == array.dtype and not found.flags.owndata
            np.testing.assert_array_equal(found, array)
        assert stored[1].flags.f_contiguous and not stored[1].flags.c_contiguous
    np.testing.assert_array_equal(stored[0], arrays()[0])  # as long as someone holds it


def test_what_is_stored_does_not_follow_its_source() -> None:
    source = np.zeros(100)
    with spill.spilling():
        stored = spill.kept(source)
        source += 1.0
        assert not stored.any()


def test_small_arrays_and_those_outside_stay_in_memory() -> None:
    array = np.ones(100)
    assert spill.kept(array) is array and spill.store() is None
    copy = spill.copied(array)
    assert copy is not array and copy.flags.owndata
    with spill.spilling():
        small = array[:3]
        assert spill.kept(small) is small
        assert spill.copied(small).flags.owndata
        with spill.spilling(False):
            assert spill.kept(array) is array


def test_a_full_disk_leaves_them_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spill.tempfile, "TemporaryFile", full)
    array = np.ones(100)
    with spill.spilling():
        assert spill.kept(array) is array
        np.testing.assert_array_equal(spill.copied(array), array)
        spill.forget()
