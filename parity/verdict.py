"""The five answers, and how they follow from runs in two precisions.

A wrong constant makes the same error in float32 and in float64; rounding shrinks by 2**29 between
them. So a difference is judged by what becomes of it in float64, not by its size alone.
"""

from __future__ import annotations

from enum import Enum


class Verdict(str, Enum):
    """What a comparison says about the two sides."""

    AGREE = "agree"
    """Within tolerance."""
    ROUNDING = "rounding"
    """Over tolerance in float32, within it in float64: one function, badly conditioned here."""
    CHAOS = "chaos"
    """A closed loop that amplifies rounding; the horizon moves out with precision."""
    LATENT = "latent"
    """Within tolerance in float32, apart in float64: a real difference that the data hides."""
    DIVERGE = "diverge"
    """A real difference."""
    INVALID = "invalid"
    """The comparison proves nothing: empty, all zero, unmatched, or one object on both sides."""

    @property
    def passes(self) -> bool:
        """True for the verdicts under which the two sides compute the same function."""
        return self in (Verdict.AGREE, Verdict.ROUNDING, Verdict.CHAOS)

    def __str__(self) -> str:
        return self.value


def decide(
    *,
    valid: bool,
    within_float32: bool | None,
    within_float64: bool | None,
    structural: bool = False,
) -> Verdict:
    """The verdict for one subject from its runs in both precisions.

    Args:
        valid: something was compared and could have failed.
        within_float32: every float32 value was within tolerance; None if it was not run.
        within_float64: likewise for float64.
        structural: shapes, dtypes, names or non-finite places differ: no precision excuses that.
    """
    if not valid:
        return Verdict.INVALID
    if structural:
        return Verdict.DIVERGE
    if within_float32 is None:
        return Verdict.AGREE if within_float64 else Verdict.DIVERGE
    if within_float64 is None:
        return Verdict.AGREE if within_float32 else Verdict.DIVERGE
    if within_float32:
        return Verdict.AGREE if within_float64 else Verdict.LATENT
    return Verdict.ROUNDING if within_float64 else Verdict.DIVERGE
