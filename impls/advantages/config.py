"""What the advantages refuse, in the same words in each framework."""

from __future__ import annotations

from typing import Any

from impls.arguments import require_positive, require_range
from impls.errors import ConfigError


def require_lambda(lambda_: Any) -> None:
    """Refuse a number outside [0, 1]."""
    require_range(0.0, 1.0, lambda_=lambda_)


def require_clips(rho_bar: float, c_bar: float) -> None:
    """Refuse thresholds that are not above 0, and a trace clipped later than its TD error."""
    require_positive(rho_bar=rho_bar, c_bar=c_bar)
    if c_bar > rho_bar:
        raise ConfigError(f"c_bar={c_bar!r}: must be at most rho_bar={rho_bar!r}")


def require_epsilon(epsilon: float) -> None:
    """Refuse a negative epsilon."""
    if not epsilon >= 0.0:
        raise ConfigError(f"epsilon={epsilon!r}: must be at least 0")
