"""Reduced precision, noticed and named: TF32, float16 and bfloat16 where float32 was meant.

A float32 product that keeps 10 mantissa bits of its inputs (TF32, float16) or 7 (bfloat16) is no
porting bug, and no rounding that could be accepted either. Three witnesses: the settings, a probe
of the operations, and the size of an error that float64 does not have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from parity.backends.reduced import Product, probes, settings
from parity.report import Report

FLOAT32_BITS, TF32_BITS, BFLOAT16_BITS = 23, 10, 7
FORMATS = {TF32_BITS: "TF32 or float16", BFLOAT16_BITS: "bfloat16"}
"""Mantissa bits that an input keeps -> the formats that keep as many."""


def round_mantissa(array: np.ndarray, bits: int) -> np.ndarray:
    """Floating values rounded to so many mantissa bits, to nearest; others as they are."""
    if array.dtype.kind != "f":
        return array
    mantissa, exponent = np.frexp(array)
    scale = 2.0 ** (bits + 1)  # frexp's mantissa is at least one half
    return np.asarray(np.ldexp(np.round(mantissa * scale) / scale, exponent), array.dtype)


def kept_bits(product: Product) -> int:
    """How many mantissa bits of a float32 input a matrix product keeps: 23 for all of them.

    Row k of the left matrix holds ``1 + 2**-k`` once, the right one is the identity: the product
    repeats the left matrix, unless an input is rounded first.
    """
    size = 64  # a shape that tensor cores take
    left, right = np.eye(size, dtype=np.float32), np.eye(size, dtype=np.float32)
    for k in range(1, FLOAT32_BITS + 1):
        left[k, k] += np.float32(2.0**-k)
    found = np.asarray(product(left, right))
    bits = 0
    while bits < FLOAT32_BITS and found[bits + 1, bits + 1] == left[bits + 1, bits + 1]:
        bits += 1
    return bits


def reduced_precision(frameworks: Iterable[str], device: str = "cpu") -> list[str]:
    """What on this machine computes float32 products with less than float32; empty is good."""
    found = []
    for framework in frameworks:
        on = settings(framework, device)
        for name, product in probes(framework, device).items():
            if (bits := kept_bits(product)) < FLOAT32_BITS:
                why = "; ".join(on) or f"as {_format(bits)} would, though no setting says so"
                found.append(
                    f"{framework} {name} on {device} keeps {bits} of {FLOAT32_BITS} mantissa bits: "
                    f"{why}"
                )
        if on and not any(line.startswith(f"{framework} ") for line in found):
            found += [f"{framework} on {device}: {line}" for line in on]
    return found


def name_reduced(report: Report, evidence: Report) -> str | None:
    """Reduced precision as the cause of a float32 failure; None where it is not.

    Args:
        report: a float32 comparison with a reference.
        evidence: the same in float64, where no tensor core rounds its inputs.
    """
    if report.passed or not evidence.passed or not report.excusable:
        return None
    off: dict[str, float] = {}
    for entry in report.failing:
        for d in entry.differences:
            if "reference" in d.sides and not d.agrees and d.needed > 0:
                side = next(s for s in d.sides if s != "reference")
                off.setdefault(side, d.needed)  # of the first entry: later errors pile up
    for side, error in off.items():
        bits = _input_bits(error)
        if bits is not None:
            return (
                f"{side}: in float64 it agrees, in float32 it is off by {error:.1e}, "
                f"as inputs of about {bits} mantissa bits leave: {_format(bits)}, "
                "or autocast, where float32 was meant"
            )
    return None


def _input_bits(error: float) -> int | None:
    """The mantissa bits of inputs that leave such an error; None where it fits no format.

    Rounding to b bits is off by at most 2**-(b+1); a sum of a few such terms, by some times that,
    and where they cancel or values are small, by less.
    """
    log = -math.log2(error)
    if TF32_BITS - 2 < log <= TF32_BITS + 5:
        return TF32_BITS
    if BFLOAT16_BITS - 4 < log <= TF32_BITS - 2:
        return BFLOAT16_BITS
    return None


def _format(bits: int) -> str:
    nearest = min(FORMATS, key=lambda known: abs(known - bits))
    return FORMATS[nearest]
