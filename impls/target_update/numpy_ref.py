"""Soft and hard target updates on NumPy arrays, float64."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError


def polyak_update(
    target: Mapping[str, Any], source: Mapping[str, Any], tau: Any, *, copied: Iterable[str] = ()
) -> None:
    """Move every target array the share ``tau`` of the way to its source, in place."""
    hard = set(copied)
    _require_partners(target, source, hard)
    if isinstance(tau, Real) and not 0.0 <= float(tau) <= 1.0:
        raise ConfigError(f"tau={tau!r}: the share of the source must be in [0, 1]")
    for name in target:
        old, new = target[name], source[name]
        if name in hard or old.dtype.kind not in "fc":
            np.copyto(old, new)
        else:
            np.copyto(old, (1.0 - tau) * old + tau * new)


def hard_update(target: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    """Copy every source array into its target, in place."""
    _require_partners(target, source, set())
    for name in target:
        np.copyto(target[name], source[name])


def _require_partners(
    target: Mapping[str, Any], source: Mapping[str, Any], copied: set[str]
) -> None:
    if not target and not source:
        raise ConfigError("target and source hold no entries: there is nothing to update")
    if set(target) != set(source):
        raise ConfigError(
            "target and source must have the same names; "
            f"only in target: {sorted(set(target) - set(source))}, "
            f"only in source: {sorted(set(source) - set(target))}"
        )
    if not copied <= set(target):
        raise ConfigError(f"copied names entries that do not exist: {sorted(copied - set(target))}")
    for name in target:
        old, new = target[name], source[name]
        if old is new or np.shares_memory(old, new):
            raise ConfigError(f"{name!r}: target and source are the same variable")
        if old.shape != new.shape:
            raise ShapeError(f"{name!r}: target has shape {old.shape}, source {new.shape}")
        if old.dtype != new.dtype:
            raise DtypeError(f"{name!r}: target is {old.dtype}, source {new.dtype}")
