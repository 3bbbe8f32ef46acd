"""An agent that gets raw observations."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

ID = "observation_not_normalised"
KIND = "rollout"
SUBJECT = "agent"
TITLE = "An agent that gets raw observations"
SYMPTOM = "The policy acts well in the middle of the state space and saturates elsewhere"
WHY = (
    "The torch agent subtracts the mean and divides by the deviation inside act; the port forgot it"
)
CAUSE = "missing-operation"
FIX = "x = (observation - MEAN) / DEVIATION inside act"
PLACE = "action"
FLOAT64 = False


KERNEL = np.random.default_rng(47).normal(size=(4, 3)).astype(np.float32)
MEAN = np.array([1.0, -2.0, 0.5, 0.0], np.float32)
DEVIATION = np.array([2.0, 0.5, 4.0, 1.0], np.float32)


class TorchAgent:
    def __init__(self) -> None:
        self.weight = torch.from_numpy(KERNEL)

    def act(self, observation: np.ndarray) -> np.ndarray:
        x = torch.as_tensor((np.asarray(observation, np.float32) - MEAN) / DEVIATION)
        return torch.tanh(x @ self.weight).numpy()


class KerasAgent:
    def __init__(self, normalise: bool) -> None:
        self.policy = keras.layers.Dense(3, activation="tanh", use_bias=False, dtype="float32")
        self.policy.build((None, 4))
        self.policy.set_weights([KERNEL])
        self.normalise = normalise

    def act(self, observation: np.ndarray) -> np.ndarray:
        x = np.asarray(observation, np.float32)
        if self.normalise:
            x = (x - MEAN) / DEVIATION
        return self.policy(tf.constant(x)[None])[0].numpy()


def torch_side() -> TorchAgent:
    return TorchAgent()


def tf_buggy() -> KerasAgent:
    return KerasAgent(normalise=False)


def tf_fixed() -> KerasAgent:
    return KerasAgent(normalise=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"observation": np.random.default_rng(seed).normal(size=(5, 4)).astype(np.float32)}
