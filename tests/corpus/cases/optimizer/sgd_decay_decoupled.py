"""Weight decay outside the momentum."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "sgd_decay_decoupled"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Weight decay outside the momentum"
SYMPTOM = (
    "The first step agrees; then the decay acts without momentum and ten times weaker in the "
    "long run"
)
WHY = "torch's SGD adds the decay to the gradient, Keras's subtracts it from the weights"
CAUSE = "weight-decay-coupling"
FIX = "Add weight_decay * variable to the gradient before the momentum"
PLACE = "step/2"
FLOAT32_CONSTANTS = True


DECAY = 0.04


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=DECAY)


class CoupledSGD(keras.optimizers.SGD):
    def update_step(self, gradient: object, variable: object, learning_rate: object) -> None:
        super().update_step(gradient + DECAY * variable, variable, learning_rate)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(0.05, momentum=0.9, weight_decay=DECAY)


def tf_fixed() -> keras.optimizers.Optimizer:
    return CoupledSGD(0.05, momentum=0.9)
