"""Adam with L2 ported as AdamW."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "adam_l2_as_adamw"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Adam with L2 ported as AdamW"
SYMPTOM = "Weights with small gradients decay far more than before, those with large ones less"
WHY = (
    "torch.optim.Adam(weight_decay=) adds the decay to the gradient, which the second moment "
    "then divides"
)
CAUSE = "weight-decay-coupling"
FIX = "Add weight_decay * variable to the gradient"
PLACE = "step/1"
FLOAT32_CONSTANTS = True


RATE, DECAY, TINY = 2e-3, 0.02, 1e-30


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Adam(params, lr=RATE, weight_decay=DECAY, eps=TINY)


class AdamL2(keras.optimizers.Adam):
    def update_step(self, gradient: object, variable: object, learning_rate: object) -> None:
        super().update_step(gradient + DECAY * variable, variable, learning_rate)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.AdamW(RATE, weight_decay=DECAY, epsilon=TINY)


def tf_fixed() -> keras.optimizers.Optimizer:
    return AdamL2(RATE, epsilon=TINY)
