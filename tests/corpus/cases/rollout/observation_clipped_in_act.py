"""Observations clipped inside act on one side."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

ID = "observation_clipped_in_act"
KIND = "rollout"
SUBJECT = "agent"
TITLE = "Observations clipped inside act on one side"
SYMPTOM = "The actions agree near the middle of the state space and part outside"
WHY = "The port kept the clip of another agent's preprocessing"
CAUSE = "extra-operation"
FIX = "Drop the clip, or clip in both agents"
PLACE = "action"
FLOAT64 = False

KERNEL = np.random.default_rng(53).normal(size=(5, 2)).astype(np.float32)


class TorchAgent:
    def __init__(self) -> None:
        self.weight = torch.from_numpy(KERNEL)

    def act(self, observation: np.ndarray) -> np.ndarray:
        return torch.tanh(torch.as_tensor(observation) @ self.weight).numpy()


class KerasAgent:
    def __init__(self, bound: float) -> None:
        self.policy = keras.layers.Dense(2, activation="tanh", use_bias=False, dtype="float32")
        self.policy.build((None, 5))
        self.policy.set_weights([KERNEL])
        self.bound = bound

    def act(self, observation: np.ndarray) -> np.ndarray:
        x = np.clip(observation, -self.bound, self.bound)
        return self.policy(tf.constant(x)[None])[0].numpy()


def torch_side() -> TorchAgent:
    return TorchAgent()


def tf_buggy() -> KerasAgent:
    return KerasAgent(bound=0.6)


def tf_fixed() -> KerasAgent:
    return KerasAgent(bound=100.0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"observation": np.random.default_rng(seed).normal(size=(8, 5)).astype(np.float32)}
