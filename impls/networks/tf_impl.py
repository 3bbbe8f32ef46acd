"""Networks in TensorFlow/Keras: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import keras
import numpy as np
import tensorflow as tf

from impls.networks.config import (
    ActorConfig,
    Config,
    CriticConfig,
    MLPConfig,
    initial_parameters,
    layer_sizes,
    require_device,
    require_dtype,
    require_matrix,
    require_names,
    require_same_batch,
)

ACTIVATIONS = {"relu": tf.nn.relu, "tanh": tf.tanh}


class Network(keras.Model):
    """A model whose weights exist from the start and that casts no input.

    Keras would cast a float32 observation to a float64 model's dtype without a word.
    """

    def __init__(self, *, dtype: str, name: str) -> None:
        super().__init__(name=name, dtype=dtype, autocast=False)
        # every layer is built in __init__: no symbolic first call is needed
        self.built = True

    def named_parameters(self) -> dict[str, keras.Variable]:
        """Canonical name -> variable, in execution order: each kind of network has its own."""
        raise NotImplementedError


N = TypeVar("N", bound=Network)


class Trunk(Network):
    """Dense layers ``l1``, ``l2``, ... with an activation after each but the last."""

    def __init__(self, config: MLPConfig, *, dtype: str, name: str) -> None:
        super().__init__(dtype=dtype, name=name)
        self.input_size = config.input_size
        self.activation = ACTIVATIONS[config.activation]
        self.layer_names: tuple[str, ...] = ()
        for i, (fan_in, fan_out) in enumerate(layer_sizes(config), start=1):
            layer = keras.layers.Dense(
                fan_out, kernel_initializer="zeros", dtype=dtype, name=f"l{i}"
            )
            layer.build((None, fan_in))
            setattr(self, f"l{i}", layer)
            self.layer_names += (f"l{i}",)

    def named_parameters(self) -> dict[str, keras.Variable]:
        parameters = {}
        for name in self.layer_names:
            parameters[f"{name}/kernel"] = getattr(self, name).kernel
            parameters[f"{name}/bias"] = getattr(self, name).bias
        return parameters

    def through(self, x: tf.Tensor) -> tf.Tensor:
        """All layers, without looking at the shape."""
        for name in self.layer_names[:-1]:
            x = self.activation(getattr(self, name)(x))
        return getattr(self, self.layer_names[-1])(x)


class MLP(Trunk):
    """The layers and nothing else."""

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        _require_matrix("inputs", inputs, self.input_size, self.dtype)
        return self.through(inputs)


class Actor(Trunk):
    """``max_action * tanh(mlp(observation))``."""

    def __init__(self, config: ActorConfig, *, dtype: str, name: str = "actor") -> None:
        super().__init__(config.mlp, dtype=dtype, name=name)
        self.max_action = tf.constant(config.bounds, dtype=dtype)

    def call(self, observation: tf.Tensor) -> tf.Tensor:
        _require_matrix("observation", observation, self.input_size, self.dtype)
        return self.max_action * tf.tanh(self.through(observation))


class QNetwork(Trunk):
    """``mlp(concat(observation, action))``, one value per row."""

    def __init__(self, config: CriticConfig, *, dtype: str, name: str) -> None:
        super().__init__(config.mlp, dtype=dtype, name=name)
        self.observation_size = config.observation_size
        self.action_size = config.action_size

    def call(self, observation: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
        _require_matrix("observation", observation, self.observation_size, self.dtype)
        _require_matrix("action", action, self.action_size, self.dtype)
        require_same_batch(observation.shape.as_list(), action.shape.as_list())
        x = tf.concat([observation, action], axis=-1)
        return tf.squeeze(self.through(x), axis=-1)


class TwinCritic(Network):
    """Two independent action-value networks."""

    def __init__(self, config: CriticConfig, *, dtype: str, name: str = "critic") -> None:
        super().__init__(dtype=dtype, name=name)
        self.q1 = QNetwork(config, dtype=dtype, name="q1")
        self.q2 = QNetwork(config, dtype=dtype, name="q2")

    def named_parameters(self) -> dict[str, keras.Variable]:
        inner = {"q1": self.q1.named_parameters(), "q2": self.q2.named_parameters()}
        return {f"{q}/{name}": v for q, variables in inner.items() for name, v in variables.items()}

    def call(self, observation: tf.Tensor, action: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return self.q1(observation, action), self.q2(observation, action)


def make_mlp(config: MLPConfig, *, dtype: str, device: str = "cpu") -> MLP:
    with tf.device(_device(device)):
        return _initialised(MLP(config, dtype=require_dtype(dtype), name="mlp"), config)


def make_actor(config: ActorConfig, *, dtype: str, device: str = "cpu") -> Actor:
    with tf.device(_device(device)):
        return _initialised(Actor(config, dtype=require_dtype(dtype)), config)


def make_twin_critic(config: CriticConfig, *, dtype: str, device: str = "cpu") -> TwinCritic:
    with tf.device(_device(device)):
        return _initialised(TwinCritic(config, dtype=require_dtype(dtype)), config)


def network_parameters(network: Network) -> dict[str, keras.Variable]:
    return network.named_parameters()


def load_parameters(network: Network, values: Mapping[str, np.ndarray]) -> None:
    parameters = network_parameters(network)
    require_names(values, {name: tuple(p.shape) for name, p in parameters.items()})
    for name, parameter in parameters.items():
        parameter.assign(np.asarray(values[name]).astype(parameter.dtype))


def canonical(values: Mapping[str, tf.Tensor]) -> dict[str, np.ndarray]:
    return {name: np.array(value.numpy()) for name, value in values.items()}


def _initialised(network: N, config: Config) -> N:
    load_parameters(network, initial_parameters(config, np.random.default_rng(0)))
    return network


def _device(device: str) -> str:
    """``cuda:1`` -> ``/GPU:1``. TensorFlow itself would use the CPU where there is no GPU."""
    kind, number = require_device(device, len(tf.config.list_physical_devices("GPU")))
    return f"/{'GPU' if kind == 'cuda' else 'CPU'}:{number}"


def _require_matrix(name: str, value: tf.Tensor, size: int, dtype: str) -> None:
    shape = value.shape.as_list() if value.shape.rank is not None else [None, None]
    require_matrix(name, shape, value.dtype.name, size=size, network_dtype=dtype)
