"""RMSprop left at each framework's decay rate."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch
from keras import ops

ID = "rmsprop_rho"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "RMSprop left at each framework's decay rate"
SYMPTOM = "The first steps are three times smaller, later ones noisier"
WHY = "torch's alpha is 0.99, Keras's rho is 0.9"
CAUSE = "rho"
FIX = "rho=0.99"
PLACE = "step/1"


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.RMSprop(params, lr=1e-3)


class TorchRMSprop(keras.optimizers.RMSprop):
    def update_step(self, gradient: object, variable: object, learning_rate: object) -> None:
        v = self._velocities[self._get_variable_index(variable)]
        self.assign(v, self.rho * v + (1 - self.rho) * ops.square(gradient))
        self.assign_sub(variable, learning_rate * gradient / (ops.sqrt(v) + 1e-8))


def tf_buggy() -> keras.optimizers.Optimizer:
    return TorchRMSprop(1e-3)


def tf_fixed() -> keras.optimizers.Optimizer:
    return TorchRMSprop(1e-3, rho=0.99)
