"""What actor-critic networks are checked on. Sizes are distinct, but in the case ``square``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from impls.actor_critic_network.config import ActorCriticConfig
from parity.checks.module import ModuleCheck

Inputs = Callable[[np.random.Generator], list[np.ndarray]]


def _batch(size: int, batch: int = 13, shift: float = 0.0) -> Inputs:
    return lambda rng: [rng.normal(shift, 1.0, (batch, size))]


CASES: dict[str, tuple[ActorCriticConfig, Inputs]] = {
    "shared": (ActorCriticConfig(3, 2, (11, 7)), _batch(3)),
    "separate": (ActorCriticConfig(3, 2, (11, 7), shared=False), _batch(3)),
    "gaussian": (ActorCriticConfig(3, 2, (11, 7), continuous=True), _batch(3)),
    "gaussian-separate": (
        ActorCriticConfig(3, 2, (11, 7), shared=False, continuous=True, log_std=-0.5),
        _batch(3, shift=-1.0),
    ),
    "policy-alone": (ActorCriticConfig(3, 2, (11, 7), value=False), _batch(3)),
    "relu": (ActorCriticConfig(3, 2, (11, 7), activation="relu"), _batch(3)),
    "one-layer": (ActorCriticConfig(3, 2, (11,)), _batch(3, batch=1)),
    "square": (ActorCriticConfig(5, 5, (5, 5)), _batch(5, batch=5)),
    "width-64": (ActorCriticConfig(4, 2, (64, 64)), _batch(4, batch=7)),
}

CHECKS = tuple(
    ModuleCheck(name="make_actor_critic", case=case, config=config, inputs=inputs)
    for case, (config, inputs) in CASES.items()
)
