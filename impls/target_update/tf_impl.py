"""Soft and hard target updates on ``tf.Variable``s and Keras variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import tensorflow as tf

from impls.errors import ConfigError, DtypeError, ShapeError


def polyak_update(
    target: Mapping[str, Any], source: Mapping[str, Any], tau: Any, *, copied: Iterable[str] = ()
) -> None:
    """Move every target variable the share ``tau`` of the way to its source, in place."""
    hard = set(copied)
    _require_partners(target, source, hard)
    if isinstance(tau, Real) and not 0.0 <= float(tau) <= 1.0:
        raise ConfigError(f"tau={tau!r}: the share of the source must be in [0, 1]")
    for name, variable in target.items():
        new = tf.convert_to_tensor(source[name])
        if name in hard or not new.dtype.is_floating:
            variable.assign(new)
        else:
            old = tf.convert_to_tensor(variable)
            share = _scalar(tau, old.dtype)
            variable.assign((1.0 - share) * old + share * new)


def hard_update(target: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    """Copy every source variable into its target, in place."""
    _require_partners(target, source, set())
    for name, variable in target.items():
        variable.assign(tf.convert_to_tensor(source[name]))


def _scalar(tau: Any, dtype: tf.DType) -> tf.Tensor:
    """tau in the variable's dtype; ``tf.cast`` of a Python number would go through float32."""
    return tf.constant(tau, dtype) if isinstance(tau, Real) else tf.cast(tau, dtype)


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
        if old is new:
            raise ConfigError(f"{name!r}: target and source are the same variable")
        if tuple(old.shape) != tuple(new.shape):
            raise ShapeError(
                f"{name!r}: target has shape {tuple(old.shape)}, source {tuple(new.shape)}"
            )
        if tf.as_dtype(old.dtype) != tf.as_dtype(new.dtype):
            raise DtypeError(
                f"{name!r}: target is {tf.as_dtype(old.dtype).name}, "
                f"source {tf.as_dtype(new.dtype).name}"
            )
