"""Actor-critic networks in TensorFlow/Keras: see ``spec.py`` for the contract."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from impls.actor_critic_network.config import ActorCriticConfig, initial_parameters
from impls.networks.config import require_device, require_dtype, require_matrix
from impls.networks.tf_impl import ACTIVATIONS, Network, load_parameters


class Trunk(Network):
    """Dense layers ``l1``, ``l2``, ... with an activation after each."""

    def __init__(self, config: ActorCriticConfig, *, dtype: str, name: str) -> None:
        super().__init__(dtype=dtype, name=name)
        self.activation = ACTIVATIONS[config.activation]
        self.layer_names: tuple[str, ...] = ()
        fan_in = config.observation_size
        for i, units in enumerate(config.hidden_sizes, start=1):
            setattr(self, f"l{i}", _dense(fan_in, units, dtype, f"l{i}"))
            self.layer_names += (f"l{i}",)
            fan_in = units

    def named_parameters(self) -> dict[str, keras.Variable]:
        return _named({name: getattr(self, name) for name in self.layer_names})

    def call(self, x: tf.Tensor) -> tf.Tensor:
        for name in self.layer_names:
            x = self.activation(getattr(self, name)(x))
        return x


class ActorCritic(Network):
    """One trunk or two, a policy head and a value head."""

    def __init__(self, config: ActorCriticConfig, *, dtype: str, name: str) -> None:
        super().__init__(dtype=dtype, name=name)
        self.config, width = config, config.hidden_sizes[-1]
        if config.continuous:
            self.log_std = self.add_weight(
                shape=(config.action_size,), initializer="zeros", dtype=dtype, name="log_std"
            )
        for trunk in config.trunks:
            setattr(self, trunk, Trunk(config, dtype=dtype, name=trunk))
        for head, units in config.heads.items():
            setattr(self, head, _dense(width, units, dtype, head))

    def named_parameters(self) -> dict[str, keras.Variable]:
        found = {"log_std": self.log_std} if self.config.continuous else {}
        for trunk in self.config.trunks:
            inner = getattr(self, trunk).named_parameters()
            found |= {f"{trunk}/{name}": variable for name, variable in inner.items()}
        return found | _named({head: getattr(self, head) for head in self.config.heads})

    def call(self, observation: tf.Tensor) -> dict[str, tf.Tensor]:
        self._require(observation)
        config = self.config
        features = getattr(self, config.trunks[0])(observation)
        policy = getattr(self, config.policy_head)(features)
        if config.continuous:
            made = {"mean": policy, "log_std": tf.convert_to_tensor(self.log_std)}
        else:
            made = {"logits": policy}
        if config.value:
            if not config.shared:
                features = getattr(self, config.trunks[-1])(observation)
            made["value"] = tf.squeeze(self.value(features), axis=-1)
        return made

    def state_value(self, observation: tf.Tensor) -> tf.Tensor:
        self._require(observation)
        values = self.value(getattr(self, self.config.trunks[-1])(observation))
        return tf.squeeze(values, axis=-1)

    def _require(self, observation: tf.Tensor) -> None:
        known = observation.shape.rank is not None
        require_matrix(
            "observation",
            observation.shape.as_list() if known else [None, None],
            observation.dtype.name,
            size=self.config.observation_size,
            network_dtype=self.dtype,
        )


def make_actor_critic(config: ActorCriticConfig, *, dtype: str, device: str = "cpu") -> ActorCritic:
    kind, number = require_device(device, len(tf.config.list_physical_devices("GPU")))
    with tf.device(f"/{'GPU' if kind == 'cuda' else 'CPU'}:{number}"):
        network = ActorCritic(config, dtype=require_dtype(dtype), name="actor_critic")
        load_parameters(network, initial_parameters(config, np.random.default_rng(0)))
    return network


def _dense(fan_in: int, units: int, dtype: str, name: str) -> keras.layers.Layer:
    layer = keras.layers.Dense(units, kernel_initializer="zeros", dtype=dtype, name=name)
    layer.build((None, fan_in))
    return layer


def _named(layers: dict[str, keras.layers.Layer]) -> dict[str, keras.Variable]:
    found = {}
    for name, layer in layers.items():
        found[f"{name}/kernel"] = layer.kernel
        found[f"{name}/bias"] = layer.bias
    return found
