"""Gradient clipping: what each side did to its gradients before the step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.tolerance import explained_bound

Gradients = list[np.ndarray]
#: torch adds this to the norm that it divides by.
_TORCH_EPSILON = 1e-6


@dataclass(frozen=True)
class Clipping:
    """How the two sides clip: ``none``, ``each by its norm``, ``all by their norm``, ``by value``.

    Attributes:
        before: the largest difference of the gradients; ``after`` what is left when tf's raw
            gradients are clipped as torch's are.
    """

    torch: str
    tf: str
    bound: float
    before: float
    after: float


def forms(raw: Gradients, bounds: Sequence[float]) -> Iterator[tuple[str, float, Gradients]]:
    """The raw gradients clipped in every way."""
    yield "not clipped", 0.0, raw
    norms = [float(np.sqrt(np.sum(g * g))) for g in raw]
    whole = float(np.sqrt(np.sum(np.square(norms))))
    for bound in bounds:
        yield (
            f"clipped by their global norm ({bound:g})",
            bound,
            [g * min(1.0, bound / max(whole, 1e-300)) for g in raw],
        )
        yield (
            f"clipped by their global norm ({bound:g})",
            bound,
            [g * min(1.0, bound / (whole + _TORCH_EPSILON)) for g in raw],
        )
        yield (
            f"clipped each by its own norm ({bound:g})",
            bound,
            [g * min(1.0, bound / max(n, 1e-300)) for g, n in zip(raw, norms, strict=True)],
        )
        yield f"clipped by value ({bound:g})", bound, [np.clip(g, -bound, bound) for g in raw]
        if whole:
            yield f"scaled to the global norm {bound:g}", bound, [g * bound / whole for g in raw]
    yield "scaled by their number", 0.0, [g / max(len(np.atleast_1d(g)), 1) for g in raw]
    yield (
        "scaled to norm 1 each",
        1.0,
        [g / max(n, 1e-300) for g, n in zip(raw, norms, strict=True)],
    )


def compare(
    raws: Sequence[Gradients], torch: Gradients, tf: Gradients, bounds: Sequence[float], dtype: str
) -> Clipping | None:
    """How each side's gradients follow from one raw gradient; None where they do not, or alike."""
    gap = _gap(torch, tf)
    if gap <= _bound(torch, dtype):
        return None
    for raw in raws:
        if [g.shape for g in raw] != [g.shape for g in torch]:
            continue
        left = _match(raw, torch, bounds, dtype)
        right = _match(raw, tf, bounds, dtype)
        if left is not None and right is not None and left[0] != right[0]:
            return Clipping(left[0], right[0], left[1], gap, left[2])
    return None


def _match(
    raw: Gradients, wanted: Gradients, bounds: Sequence[float], dtype: str
) -> tuple[str, float, float] | None:
    for name, bound, made in forms(raw, bounds):
        gap = _gap(made, wanted)
        if gap <= _bound(wanted, dtype):
            return name, bound, gap
    return None


def _gap(a: Gradients, b: Gradients) -> float:
    if [x.shape for x in a] != [x.shape for x in b]:
        return float("inf")
    return max((float(np.max(np.abs(x - y))) for x, y in zip(a, b, strict=True) if x.size),
               default=0.0)  # fmt: skip


def _bound(gradients: Gradients, dtype: str) -> float:
    scale = max((float(np.max(np.abs(g))) for g in gradients if g.size), default=0.0)
    return explained_bound(dtype, scale)


def raw_candidates(
    wanted: Gradients, values: Sequence[Any], recorded: Sequence[Gradients]
) -> list[Gradients]:
    """Raw gradients: those that a clipping function was given, or backward values that fit."""
    found = list(recorded)
    picked: Gradients = []
    for gradient in wanted:
        match = next((v for v in reversed(list(values)) if _parallel(v, gradient)), None)
        if match is None:
            return found
        picked.append(match.astype(np.float64))
    return [*found, picked]


def _parallel(value: np.ndarray, gradient: np.ndarray) -> bool:
    """The same direction and at least as long."""
    if value.shape != gradient.shape or value.dtype.kind != "f" or not np.isfinite(value).all():
        return False
    a, b = value.astype(np.float64).reshape(-1), gradient.astype(np.float64).reshape(-1)
    norms = float(np.sqrt(a @ a)), float(np.sqrt(b @ b))
    if min(norms) == 0.0 or norms[0] < norms[1] * (1 - 1e-9):
        return False
    return bool(abs(float(a @ b) / (norms[0] * norms[1]) - 1) < 1e-9)
