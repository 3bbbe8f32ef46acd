"""What the recurrent policy is checked on; sizes are distinct, but in the case ``square``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.recurrent_policy.config import (
    RecurrentPolicyConfig,
    initial_parameters,
    parameter_shapes,
)
from parity.checks.function import FunctionCheck

CONFIG = RecurrentPolicyConfig(observation_size=3, action_size=2, units=5)
GRADIENTS = ("observation", "hidden", "cell", *parameter_shapes(CONFIG))


def sequences(
    config: RecurrentPolicyConfig, steps: int, rows: int, starts: float
) -> Callable[[np.random.Generator], dict[str, np.ndarray]]:
    """Observations, episodes that begin with this probability, a state, and parameters."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {
            "observation": rng.normal(size=(steps, rows, config.observation_size)),
            "start": rng.random((steps, rows)) < starts,
            "hidden": rng.uniform(-0.9, 0.9, (rows, config.units)),
            "cell": rng.normal(size=(rows, config.units)),
            **initial_parameters(config, rng),
        }

    return inputs


def _policy(case: str, inputs: Any, **fields: Any) -> FunctionCheck:
    fields = {"gradients": GRADIENTS, **fields}
    return FunctionCheck(name="recurrent_policy", case=case, inputs=inputs, **fields)


def _gates(case: str, order: str, *shape: int) -> FunctionCheck:
    return FunctionCheck(
        name="canonical_gates",
        case=case,
        inputs=lambda rng: {"values": rng.normal(size=shape)},
        options={"order": order},
    )


CHECKS = (
    _policy("episodes", sequences(CONFIG, 7, 4, 0.3)),
    _policy("one-episode", sequences(CONFIG, 6, 4, 0.0)),
    _policy("one-step", sequences(CONFIG, 1, 4, 0.5)),
    _policy(
        "every-step-begins",
        sequences(CONFIG, 3, 4, 1.0),
        expect_zero=("grad/hidden", "grad/cell", "grad/recurrent_kernel"),
    ),
    _policy("square", sequences(RecurrentPolicyConfig(4, 4, 4), 4, 4, 0.3)),
    # compiling takes seconds: one small case, one dtype
    _policy("compiled", sequences(CONFIG, 3, 2, 0.4), modes=("xla",), dtypes=("float64",)),
    _gates("tensorflow-1", "igfo", 3, 20),
    _gates("onnx", "iofg", 3, 20),
    _gates("bias", "gofi", 12),
    _gates("same", "ifgo", 3, 8),
)
