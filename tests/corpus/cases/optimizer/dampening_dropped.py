"""Dampening of the momentum left out."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch
from keras import ops

ID = "dampening_dropped"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Dampening of the momentum left out"
SYMPTOM = "The first step agrees, then the updates are larger"
WHY = "torch scales every gradient but the first by 1 - dampening; Keras has no such option"
CAUSE = "dampening"
FIX = "A subclass of SGD that multiplies the gradient by 1 - dampening from the second step on"
PLACE = "step/2"
FLOAT32_CONSTANTS = True


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=0.1, momentum=0.8, dampening=0.3)


class DampenedSGD(keras.optimizers.SGD):
    def update_step(self, gradient: object, variable: object, learning_rate: object) -> None:
        gradient = ops.where(self.iterations == 0, gradient, 0.7 * gradient)
        super().update_step(gradient, variable, learning_rate)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(0.1, momentum=0.8)


def tf_fixed() -> keras.optimizers.Optimizer:
    return DampenedSGD(0.1, momentum=0.8)
