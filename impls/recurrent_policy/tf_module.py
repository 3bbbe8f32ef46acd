"""The recurrent policy as a ``keras.Model`` of Keras's own layers; see ``spec.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from impls.recurrent_policy.config import RecurrentPolicyConfig, initial_parameters


class RecurrentPolicy(keras.Model):
    """Observations of one episode each, ``[B, T, obs]``, to logits and values.

    The state is zero at the start, and is not reset within: ``recurrent_policy`` in ``tf_impl.py``
    takes sequences across episodes, time first.

    Args:
        config: the sizes.
        dtype: of everything.
        seed: of the parameters, ``initial_parameters(config, default_rng(seed))``.

    Returns:
        ``logits`` [B, T, actions] and ``value`` [B, T].
    """

    def __init__(
        self, config: RecurrentPolicyConfig | None = None, *, dtype: str = "float32", seed: int = 0
    ) -> None:
        super().__init__(name="recurrent_policy", dtype=dtype, autocast=False)
        self.config, self.seed = config or RecurrentPolicyConfig(4, 2), seed
        config = self.config
        layers = keras.layers
        self.lstm = layers.LSTM(config.units, return_sequences=True, dtype=dtype, name="lstm")
        self.policy = layers.Dense(config.action_size, dtype=dtype, name="policy")
        self.value = layers.Dense(1, dtype=dtype, name="value")
        self.lstm.build((None, None, config.observation_size))
        for head in (self.policy, self.value):
            head.build((None, None, config.units))
        self.built = True
        v = initial_parameters(config, np.random.default_rng(seed))
        self.lstm.set_weights([v["kernel"], v["recurrent_kernel"], v["bias"]])
        self.policy.set_weights([v["policy_kernel"], v["policy_bias"]])
        self.value.set_weights([v["value_kernel"], v["value_bias"]])

    def get_config(self) -> dict[str, Any]:
        return {"config": asdict(self.config), "dtype": self.dtype, "seed": self.seed}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        return cls(
            RecurrentPolicyConfig(**config["config"]), dtype=config["dtype"], seed=config["seed"]
        )

    def call(self, observation: tf.Tensor) -> dict[str, tf.Tensor]:
        made = self.lstm(observation)
        return {"logits": self.policy(made), "value": tf.squeeze(self.value(made), axis=-1)}
