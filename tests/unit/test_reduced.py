"""Reduced precision: rounding to fewer mantissa bits, the probe, and what an error is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parity import reduced
from parity.reduced import (
    BFLOAT16_BITS,
    FLOAT32_BITS,
    TF32_BITS,
    kept_bits,
    name_reduced,
    reduced_precision,
    round_mantissa,
)
from parity.report import Report, build_report
from parity.tolerance import DEVICE_FLOAT32
from parity.trace import Trace

X = np.random.default_rng(11).normal(size=(13, 11)).astype(np.float32)
W = np.random.default_rng(7).normal(size=(11, 7)).astype(np.float32) / np.float32(11**0.5)


class TestRounding:
    def test_known_values(self) -> None:
        given = np.array([1 + 2**-10, 1 + 2**-11, 1 + 3 * 2**-11, -1 - 2**-12, 0, 1e30, 3.0])
        wanted = [1 + 2**-10, 1, 1 + 2**-9, -1, 0, round_mantissa(np.array([1e30]), 10)[0], 3]
        assert np.array_equal(round_mantissa(given, 10), wanted)

    def test_it_agrees_with_float16_and_keeps_the_dtype(self) -> None:
        found = round_mantissa(X, TF32_BITS)
        assert found.dtype == np.float32
        normal = np.abs(X) > 2**-14
        assert np.array_equal(found[normal], X.astype(np.float16).astype(np.float32)[normal])

    def test_all_bits_change_nothing(self) -> None:
        assert np.array_equal(round_mantissa(X, FLOAT32_BITS), X)

    def test_integers_stay(self) -> None:
        counts = np.arange(7)
        assert round_mantissa(counts, 3) is counts

    def test_what_is_not_finite_stays(self) -> None:
        odd = np.array([np.inf, -np.inf, np.nan], np.float32)
        assert np.array_equal(round_mantissa(odd, 10), odd, equal_nan=True)


class TestProbe:
    @pytest.mark.parametrize("bits", [TF32_BITS, BFLOAT16_BITS, 3, FLOAT32_BITS])
    def test_rounded_inputs(self, bits: int) -> None:
        def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return round_mantissa(a, bits) @ round_mantissa(b, bits)

        assert kept_bits(product) == bits

    def test_a_rounded_output(self) -> None:
        assert kept_bits(lambda a, b: (a @ b).astype(np.float16)) == 10

    def test_truncation_instead_of_rounding(self) -> None:
        def cut(a: np.ndarray) -> np.ndarray:
            return ((a.view(np.int32) >> 13) << 13).view(np.float32)

        assert kept_bits(lambda a, b: cut(a) @ cut(b)) == 10

    @pytest.mark.parametrize(
        ("settings", "says"),
        [
            (
                ["TF32 is on (a switch)"],
                "tf matmul on cuda keeps 10 of 23 mantissa bits: TF32 is on",
            ),
            ([], "as TF32 or float16 would, though no setting says so"),
        ],
    )
    def test_the_setting_is_named(
        self, monkeypatch: pytest.MonkeyPatch, settings: list[str], says: str
    ) -> None:
        product = {"matmul": lambda a, b: round_mantissa(a, 10) @ b}
        monkeypatch.setattr(reduced, "probes", lambda *_: product)
        monkeypatch.setattr(reduced, "settings", lambda *_: settings)
        (line,) = reduced_precision(("tf",), "cuda")
        assert says in line

    def test_a_setting_without_effect_is_named_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reduced, "probes", lambda *_: {"matmul": lambda a, b: a @ b})
        monkeypatch.setattr(reduced, "settings", lambda *_: ["TF32 is on (a switch)"])
        assert reduced_precision(("tf",), "cuda") == ["tf on cuda: TF32 is on (a switch)"]
        monkeypatch.setattr(reduced, "settings", lambda *_: [])
        assert reduced_precision(("tf",), "cuda") == []


def compared(values: Any, dtype: str, reference: Any = None) -> Report:
    exact = X.astype(np.float64) @ W.astype(np.float64) if reference is None else reference
    return build_report(
        {"torch": Trace({"y": np.asarray(values, dtype)}), "reference": Trace({"y": exact})},
        tolerances={"*": DEVICE_FLOAT32} if dtype == "float32" else {},
        dtype=dtype,
    )


WIDE = compared(X.astype(np.float64) @ W.astype(np.float64), "float64")


class TestNaming:
    @pytest.mark.parametrize(
        ("bits", "name"), [(TF32_BITS, "TF32 or float16"), (BFLOAT16_BITS, "bfloat16")]
    )
    def test_rounded_inputs(self, bits: int, name: str) -> None:
        report = compared(round_mantissa(X, bits) @ round_mantissa(W, bits), "float32")
        assert not report.passed
        why = name_reduced(report, WIDE)
        assert why is not None
        assert f"about {bits} mantissa bits leave: {name}" in why

    def test_float32_itself_passes(self) -> None:
        report = compared(X @ W, "float32")
        assert report.passed
        assert name_reduced(report, WIDE) is None

    def test_a_bug_is_not_excused(self) -> None:
        """The same error in float64: no matter how it looks, it is not the precision."""
        wrong = round_mantissa(X, TF32_BITS) @ W
        wide = compared(wrong.astype(np.float64), "float64")
        assert name_reduced(compared(wrong, "float32"), wide) is None

    @pytest.mark.parametrize("factor", [2.0, 1 + 1.5e-5])
    def test_errors_of_another_size(self, factor: float) -> None:
        report = compared(X @ W * np.float32(factor), "float32")
        assert not report.passed
        assert name_reduced(report, WIDE) is None

    def test_a_shape_is_no_precision(self) -> None:
        assert name_reduced(compared((X @ W)[0], "float32"), WIDE) is None
