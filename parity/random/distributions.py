"""From Philox words to values: what is drawn from a block, and in which order.

Each function takes words as int64 tensors with values in [0, 2^32) and no product here leaves the
signed 64-bit range: Inductor multiplies int64 in C++, where overflow is undefined, and gcc then
drops masks that it believes to be idle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from parity.random.ops import Ops
from parity.random.philox import MASK32

Column = Callable[..., Any]

#: TensorFlow keeps the logarithm finite at a uniform of zero by this float32 number.
SMALLEST_UNIFORM = {"float32": 1.0000000116860974e-07, "float64": 1e-07}
TWO_PI = 2.0 * math.pi


def uniform32(ops: Ops, word: Any, dtype: str) -> Any:
    """``(word mod 2^23) / 2^23``, exact in either dtype."""
    return ops.cast(word & 0x7FFFFF, dtype) * 2.0**-23


def uniform64(ops: Ops, first: Any, second: Any) -> Any:
    """``((first mod 2^20) 2^32 + second) / 2^52``, exact: the first word is the high one."""
    return ops.cast((first & 0xFFFFF) * 2**32 + second, "float64") * 2.0**-52


def signed64(first: Any, second: Any) -> Any:
    """``second 2^32 + first`` as a signed number: the first word is the low one."""
    return _signed32(second) * 2**32 + first


def _signed32(word: Any) -> Any:
    return (word ^ 0x80000000) - 0x80000000


def box_muller(ops: Ops, u1: Any, u2: Any, smallest: float) -> tuple[Any, Any]:
    """``sqrt(-2 ln u1) (sin, cos)(2 pi u2)`` in float64.

    Source: Box and Muller, "A note on the generation of random normal deviates", 1958; the order
    (sine first) and the bound on u1 are TensorFlow's. float32 normals are computed in float64 too:
    a float32 logarithm differs between the frameworks by more than the last digit of a tail value.
    """
    radius = ops.sqrt(ops.log(ops.maximum(u1, smallest)) * -2.0)
    angle = u2 * TWO_PI
    return radius * ops.sin(angle), radius * ops.cos(angle)


def normal32(ops: Ops) -> Column:
    """Four float32 normals of a block: (sin, cos) of words 0, 1, then of words 2, 3."""

    def columns(*words: Any) -> tuple[Any, ...]:
        u = [uniform32(ops, word, "float64") for word in words]
        pairs = (
            *box_muller(ops, u[0], u[1], SMALLEST_UNIFORM["float32"]),
            *box_muller(ops, u[2], u[3], SMALLEST_UNIFORM["float32"]),
        )
        return tuple(ops.cast(value, "float32") for value in pairs)

    return columns


def normal64(ops: Ops) -> Column:
    """Two float64 normals of a block: the radius from words 0, 1 and the angle from words 2, 3."""

    def columns(*words: Any) -> tuple[Any, ...]:
        u1 = uniform64(ops, words[0], words[1])
        u2 = uniform64(ops, words[2], words[3])
        return box_muller(ops, u1, u2, SMALLEST_UNIFORM["float64"])

    return columns


def multiply_high(ops: Ops, word: Any, factor: Any) -> tuple[Any, Any]:
    """Upper and lower 32 bits of the product of two numbers below 2^32."""
    low = word * (factor & 0xFFFF)
    middle = word * ops.shift_right(factor, 16) + ops.shift_right(low, 16)
    return ops.shift_right(middle, 16), (middle & 0xFFFF) * 2**16 + (low & 0xFFFF)


def scaled_small(ops: Ops, words: tuple[Any, ...], width: int) -> Any:
    """``floor(U width / 2^128)`` for a known width below 2^31; U is the block, word 0 lowest."""
    carry: Any = 0
    for word in words:
        carry = ops.shift_right(word * width + carry, 32)
    return carry


def scaled_wide(ops: Ops, words: tuple[Any, ...], width: tuple[Any, Any]) -> tuple[Any, Any]:
    """The same for any width below 2^64; width and result as lower and upper 32 bits."""
    row0 = _product_limbs(ops, words, width[0])
    row1 = _product_limbs(ops, words, width[1])
    total: Any = 0
    for k in range(1, 5):  # limb k of the product is row0[k] + row1[k - 1] and the carry
        total = row0[k] + row1[k - 1] + ops.shift_right(total, 32)
    return total & MASK32, row1[4] + ops.shift_right(total, 32)


def _product_limbs(ops: Ops, words: tuple[Any, ...], factor: Any) -> list[Any]:
    """The five 32-bit limbs, lowest first, of a block times a number below 2^32."""
    limbs: list[Any] = []
    carry: Any = 0
    for word in words:
        high, low = multiply_high(ops, word, factor)
        total = low + carry
        limbs.append(total & MASK32)
        carry = high + ops.shift_right(total, 32)
    return [*limbs, carry]


def add64(ops: Ops, left: tuple[Any, Any], right: tuple[Any, Any]) -> Any:
    """Sum modulo 2^64 of two numbers given as 32-bit halves, as a signed number."""
    lower = left[0] + right[0]
    upper = left[1] + right[1] + ops.shift_right(lower, 32)
    return signed64(lower & MASK32, upper & MASK32)


def halves(ops: Ops, value: Any) -> tuple[Any, Any]:
    """Lower and upper 32 bits of an integer or an int64 tensor."""
    return value & MASK32, ops.shift_right(value, 32) & MASK32
