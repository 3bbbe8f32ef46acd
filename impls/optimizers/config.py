"""Constants of the optimizers: one frozen dataclass each."""

from __future__ import annotations

import math
from dataclasses import dataclass

from impls.errors import ConfigError


@dataclass(frozen=True)
class AdamConfig:
    """Constants of Adam; the defaults are the paper's.

    Attributes:
        learning_rate: step size at the start; may be changed later. >= 0.
        beta1: decay of the first moment, per step. [0, 1).
        beta2: decay of the second moment, per step. [0, 1).
        epsilon: added to the bias-corrected root, in units of the gradient. >= 0.
        weight_decay: L2 coefficient, joins the gradient. >= 0.
    """

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _require_at_least_zero(self, "learning_rate", "epsilon", "weight_decay")
        _require_share(self, "beta1", "beta2")


@dataclass(frozen=True)
class RMSpropConfig:
    """Constants of RMSprop; the defaults are torch's.

    Attributes:
        learning_rate: step size at the start; may be changed later. >= 0.
        decay: of the running mean square, per step (torch ``alpha``, Keras ``rho``). [0, 1).
        epsilon: added to the root, in units of the gradient. >= 0.
        momentum: share of the last update that is kept. [0, 1).
        centered: divide by the running standard deviation instead of the root mean square.
        weight_decay: L2 coefficient, joins the gradient. >= 0.
    """

    learning_rate: float = 1e-2
    decay: float = 0.99
    epsilon: float = 1e-8
    momentum: float = 0.0
    centered: bool = False
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _require_at_least_zero(self, "learning_rate", "epsilon", "weight_decay")
        _require_share(self, "decay", "momentum")


@dataclass(frozen=True)
class SGDConfig:
    """Constants of SGD.

    Attributes:
        learning_rate: step size at the start; may be changed later. >= 0.
        momentum: share of the buffer that is kept per step. [0, 1).
        dampening: share of each new gradient (after the first) that is left out. [0, 1).
        nesterov: look ahead by one buffer; needs momentum and no dampening.
        weight_decay: L2 coefficient, joins the gradient. >= 0.
    """

    learning_rate: float
    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _require_at_least_zero(self, "learning_rate", "weight_decay")
        _require_share(self, "momentum", "dampening")
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise ConfigError(
                f"nesterov=True needs momentum above 0 and dampening 0, got "
                f"momentum={self.momentum!r}, dampening={self.dampening!r}"
            )


def _require_at_least_zero(config: object, *fields: str) -> None:
    for field in fields:
        value = getattr(config, field)
        if not (math.isfinite(value) and value >= 0):
            raise ConfigError(f"{field}={value!r}: must be finite and at least 0")


def _require_share(config: object, *fields: str) -> None:
    for field in fields:
        value = getattr(config, field)
        if not 0 <= value < 1:
            raise ConfigError(f"{field}={value!r}: must be in [0, 1)")
