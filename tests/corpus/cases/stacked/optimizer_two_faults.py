"""Nesterov forgotten and the decay decoupled."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "optimizer_two_faults"
KIND = "stacked"
SUBJECT = "optimizer"
TITLE = "Nesterov forgotten and the decay decoupled"
SYMPTOM = "The first step is off already, and repairing one setting changes little"
WHY = (
    "SGD was ported with its learning rate and momentum only, and Keras's weight decay is "
    "another one"
)
CAUSE = ("nesterov", "weight-decay-coupling")
FIX = "nesterov=True, and the decay added to the gradient"
PLACE = ("step/1", "step/1")
FLOAT32_CONSTANTS = True


DECAY = 0.06


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=0.03, momentum=0.85, nesterov=True, weight_decay=DECAY)


class CoupledSGD(keras.optimizers.SGD):
    def update_step(self, gradient: object, variable: object, learning_rate: object) -> None:
        super().update_step(gradient + DECAY * variable, variable, learning_rate)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(0.03, momentum=0.85, weight_decay=DECAY)


def tf_fixed() -> keras.optimizers.Optimizer:
    return CoupledSGD(0.03, momentum=0.85, nesterov=True)
