"""What the policy losses refuse, in the same words in each framework."""

from __future__ import annotations

from typing import Any

from impls.arguments import require_positive, require_range
from impls.errors import ConfigError


def require_coefficient(coefficient: Any) -> None:
    """Refuse a negative number: it would reward certainty."""
    require_range(0.0, float("inf"), coefficient=coefficient)


def require_value_clip(clip: float) -> None:
    """Refuse a distance that is not above 0."""
    require_positive(clip=clip)


def require_ratio_clip(clip: float) -> None:
    """Refuse a distance from 1 that leaves nothing, or reaches ratios below 0."""
    if not 0.0 < clip < 1.0:
        raise ConfigError(f"clip={clip!r}: must be in (0, 1)")
