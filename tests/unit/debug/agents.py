"""Agents of both frameworks, alike and with one fault each."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from tests.unit.debug.environments import Track


def torch_network() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 17), nn.LayerNorm(17), nn.Tanh(), nn.Linear(17, 2))


def keras_network(epsilon: float = 1e-5) -> keras.Model:
    return keras.Sequential(
        [
            keras.layers.Dense(17),
            keras.layers.LayerNormalization(epsilon=epsilon),
            keras.layers.Activation("tanh"),
            keras.layers.Dense(2),
        ]
    )


class TorchAgent:
    def __init__(self) -> None:
        self.actor = torch_network()

    def act(self, observation: np.ndarray, deterministic: bool = False) -> np.ndarray:
        with torch.no_grad():
            mean = torch.tanh(self.actor(torch.from_numpy(observation)[None]))[0]
        if not deterministic:
            mean = mean + torch.randn(2)
        return 2.0 * mean.numpy()


class KerasAgent:
    scale = 2.0

    def __init__(self, epsilon: float = 1e-5) -> None:
        self.actor = keras_network(epsilon)

    def act(self, observation: np.ndarray, deterministic: bool = False) -> np.ndarray:
        mean = tf.tanh(self.actor(self.see(observation)[None]))[0]
        return self.scale * mean.numpy()

    def see(self, observation: np.ndarray) -> np.ndarray:
        return observation


class TensorAgent(KerasAgent):
    """Takes a tensor, under another name, and returns the value's share too."""

    act = None  # type: ignore[assignment]

    def select_action(self, observation: tf.Tensor) -> Any:
        made = tf.tanh(self.actor(tf.expand_dims(observation, 0)))[0]
        return 2.0 * made.numpy()


class Unscaled(KerasAgent):
    scale = 1.0


class WrongEpsilon(KerasAgent):
    def __init__(self) -> None:
        super().__init__(1e-1)


class Noisy(KerasAgent):
    def act(self, observation: np.ndarray, deterministic: bool = False) -> np.ndarray:
        noise = np.random.default_rng().normal(size=2).astype(np.float32)
        return super().act(observation, deterministic) + noise


class Preprocesses(KerasAgent):
    def see(self, observation: np.ndarray) -> np.ndarray:
        return np.clip(observation, -0.5, 0.5)


class Backwards(KerasAgent):
    def see(self, observation: np.ndarray) -> np.ndarray:
        return observation[::-1].copy()


class Unsquashed(KerasAgent):
    scale = 1.0

    def act(self, observation: np.ndarray, deterministic: bool = False) -> np.ndarray:
        return self.actor(observation[None])[0].numpy()


class TorchUnit(TorchAgent):
    """Acts within [-1, 1]."""

    def act(self, observation: np.ndarray, deterministic: bool = False) -> np.ndarray:
        return super().act(observation, deterministic) / 2


class Raises(KerasAgent):
    def act(self, observation: np.ndarray, deterministic: bool = False) -> np.ndarray:
        raise KeyError("observation")


def make_environment() -> Track:
    return Track()
