"""What a number is to another one: half of it, its complement, its n-th power, a sample size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.tolerance import SAME_NUMBER as _CLOSE


@dataclass(frozen=True)
class Meaning:
    """How one number follows from others.

    Attributes:
        kind: ``two``, ``sign``, ``power``, ``complement``, ``size``, ``bessel``, ``root-bessel``,
            ``sum``, ``constant``, ``inverse`` or ``number``.
        text: the expression, in figures.
    """

    kind: str
    text: str
    facts: dict[str, Any] = field(default_factory=dict)


def same(a: float, b: float, close: float = _CLOSE) -> bool:
    return abs(a - b) <= close * max(abs(a), abs(b))


def factor_meaning(
    factor: float,
    *,
    sizes: Iterable[int] = (),
    sums: Sequence[tuple[str, float]] = (),
    constants: Sequence[tuple[str, float]] = (),
    close: float = _CLOSE,
) -> Meaning | None:
    """The simplest reading of a factor; None where there is none that would not fit anything."""
    for meaning, value in _factors(sizes, sums, constants):
        if same(factor, value, close):
            return meaning
    return None


def _factors(
    sizes: Iterable[int], sums: Sequence[tuple[str, float]], constants: Sequence[tuple[str, float]]
) -> Iterator[tuple[Meaning, float]]:
    yield Meaning("sign", "-1"), -1.0
    for value, text in ((2.0, "2"), (0.5, "1/2"), (-2.0, "-2"), (-0.5, "-1/2")):
        yield Meaning("two", text), value
    ns = sorted({int(n) for n in sizes if 1 < n < 10**7})
    for n in ns:
        yield Meaning("size", f"{n}", {"n": n}), float(n)
        yield Meaning("size", f"1/{n}", {"n": n}), 1.0 / n
        yield Meaning("bessel", f"{n}/{n - 1}", {"n": n}), n / (n - 1)
        yield Meaning("bessel", f"{n - 1}/{n}", {"n": n}), (n - 1) / n
        yield Meaning("root-bessel", f"sqrt({n}/{n - 1})", {"n": n}), math.sqrt(n / (n - 1))
        yield Meaning("root-bessel", f"sqrt({n - 1}/{n})", {"n": n}), math.sqrt((n - 1) / n)
    for n in ns:
        yield Meaning("size", f"1/(2 * {n})", {"n": n}), 0.5 / n
        yield Meaning("size", f"2 * {n}", {"n": n}), 2.0 * n
        yield Meaning("size", f"2/{n}", {"n": n}), 2.0 / n
        yield Meaning("size", f"{n}/2", {"n": n}), n / 2.0
    for name, total in sums:
        if not np.isfinite(total) or total == 0:
            continue
        for n in ns:
            yield Meaning("sum", f"{n}/sum({name})", {"n": n, "name": name}), n / total
            yield Meaning("sum", f"sum({name})/{n}", {"n": n, "name": name}), total / n
        yield Meaning("sum", f"1/sum({name})", {"name": name}), 1.0 / total
        yield Meaning("sum", f"sum({name})", {"name": name}), total
    for a, b in ((a, b) for a in ns for b in ns if a != b):
        yield Meaning("size", f"{a}/{b}", {"n": a}), a / b
        yield Meaning("size", f"{a * b}", {"n": a * b}), float(a * b)
        yield Meaning("size", f"1/{a * b}", {"n": a * b}), 1.0 / (a * b)
    for name, value in constants:
        if value in (0.0, 1.0) or not np.isfinite(value):
            continue
        yield Meaning("constant", name, {"value": value}), value
        yield Meaning("constant", f"1/{name}", {"value": value}), 1.0 / value
        yield Meaning("constant", f"-{name}", {"value": value}), -value
        yield Meaning("constant", f"sqrt({name})", {"value": value}), math.sqrt(abs(value))
        yield Meaning("constant", f"{name}^2", {"value": value}), value**2
    for value, text in (
        (3.0, "3"), (4.0, "4"), (0.25, "1/4"), (1 / 3, "1/3"), (10.0, "10"), (0.1, "1/10"),
        (255.0, "255"), (1 / 255, "1/255"), (100.0, "100"), (0.01, "1/100"),
        (math.sqrt(2), "sqrt(2)"), (math.sqrt(0.5), "1/sqrt(2)"), (math.pi, "pi"),
        (math.log(2), "log(2)"), (1 / math.log(2), "1/log(2)"), (math.log(10), "log(10)"),
        (1 / math.log(10), "1/log(10)"), (180 / math.pi, "180/pi"), (math.pi / 180, "pi/180"),
    ):  # fmt: skip
        yield Meaning("number", text), value


def constant_meaning(
    old: float, new: float, *, constants: Sequence[tuple[str, float]] = (), close: float = _CLOSE
) -> Meaning | None:
    """How the number that torch uses follows from the one that tf uses."""
    for meaning, value in relatives(old):
        if same(new, value, close):
            return meaning
    for name, value in constants:
        if same(new, value, close):
            return Meaning("constant", name, {"value": value})
    for digits in range(1, 5):
        text = f"{new:.{digits}g}"
        if same(new, float(text), close):
            return Meaning("number", text)
    return None


def relatives(old: float) -> Iterator[tuple[Meaning, float]]:
    """Values that mistakes make of a constant."""
    if old:
        yield Meaning("sign", f"{-old:.6g}"), -old
        yield Meaning("two", f"{old:.6g}/2"), old / 2
        yield Meaning("two", f"2 * {old:.6g}"), old * 2
    if old not in (0.0, 1.0):
        yield Meaning("complement", f"1 - {old:.6g}"), 1.0 - old
    yield Meaning("none", "0"), 0.0
    yield Meaning("one", "1"), 1.0
    if 0 < old < 1:
        for n in range(2, 13):
            yield Meaning("power", f"{old:.6g}^{n}", {"n": n}), old**n
        for n in range(2, 6):
            yield Meaning("power", f"{old:.6g}^(1/{n})", {"n": n}), old ** (1 / n)
    if old > 0:
        yield Meaning("root", f"sqrt({old:.6g})"), math.sqrt(old)
        yield Meaning("square", f"{old:.6g}^2"), old**2
    if old:
        yield Meaning("inverse", f"1/{old:.6g}"), 1.0 / old
