"""A learning rate that cannot be changed any more."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "learning_rate_frozen"
KIND = "graph"
SUBJECT = "function"
TITLE = "A learning rate that cannot be changed any more"
SYMPTOM = "Setting the learning rate has no effect; no error either"
WHY = "A Python number read inside a traced update is a constant of the graph"
CAUSE = "frozen-state"
FIX = "Keep the rate in a tf.Variable; an optimizer's own learning_rate is one"
PLACE = "output/1"


RATES = (0.5, 0.1, 0.02)


def torch_side(weights: torch.Tensor, gradient: torch.Tensor) -> list[torch.Tensor]:
    found = []
    for rate in RATES:
        weights = weights - rate * gradient
        found.append(weights)
    return found


class Trainer(tf.Module):
    def __init__(self, rate: float | tf.Variable) -> None:
        super().__init__()
        self.rate = rate

    @tf.function
    def step(self, weights: tf.Tensor, gradient: tf.Tensor) -> tf.Tensor:
        return weights - self.rate * gradient


def tf_buggy(weights: tf.Tensor, gradient: tf.Tensor) -> list[tf.Tensor]:
    trainer, found = Trainer(RATES[0]), []
    for trainer.rate in RATES:
        weights = trainer.step(weights, gradient)
        found.append(weights)
    return found


def tf_fixed(weights: tf.Tensor, gradient: tf.Tensor) -> list[tf.Tensor]:
    trainer, found = Trainer(tf.Variable(RATES[0], dtype=weights.dtype)), []
    for rate in RATES:
        trainer.rate.assign(rate)
        weights = trainer.step(weights, gradient)
        found.append(weights)
    return found


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(3, 2)).astype(np.float32) for name in ("weights", "gradient")}
