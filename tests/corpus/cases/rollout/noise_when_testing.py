"""Exploration noise left on while testing."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

ID = "noise_when_testing"
KIND = "rollout"
SUBJECT = "agent"
TITLE = "Exploration noise left on while testing"
SYMPTOM = "Test scores are lower and vary from run to run"
WHY = "act(observation) adds noise unless told not to, and the test loop does not say so"
CAUSE = "agent-noise"
FIX = "act(observation, explore=False) as the default"
PLACE = "action"
FLOAT64 = False


RNG = np.random.default_rng(45)
KERNEL = RNG.normal(size=(3, 2)).astype(np.float32)


class TorchAgent:
    def __init__(self) -> None:
        self.policy = torch.nn.Linear(3, 2, bias=False)
        with torch.no_grad():
            self.policy.weight.copy_(torch.from_numpy(KERNEL.T))

    def act(self, observation: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            x = torch.as_tensor(observation, dtype=torch.float32)
            return torch.tanh(self.policy(x)).numpy()


class KerasAgent:
    def __init__(self, explore: bool) -> None:
        self.policy = keras.layers.Dense(2, activation="tanh", use_bias=False, dtype="float32")
        self.policy.build((None, 3))
        self.policy.set_weights([KERNEL])
        self.explore = explore
        self.rng = np.random.default_rng(46)

    def act(self, observation: np.ndarray) -> np.ndarray:
        x = tf.constant(np.asarray(observation, np.float32))
        action = self.policy(x[None])[0].numpy()
        if self.explore:
            action = np.clip(action + 0.1 * self.rng.normal(size=2).astype(np.float32), -1, 1)
        return action


def torch_side() -> TorchAgent:
    return TorchAgent()


def tf_buggy() -> KerasAgent:
    return KerasAgent(explore=True)


def tf_fixed() -> KerasAgent:
    return KerasAgent(explore=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"observation": np.random.default_rng(seed).normal(size=(6, 3)).astype(np.float32)}
