"""RMSprop with epsilon under the root."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch
from keras import ops

ID = "rmsprop_epsilon_inside_root"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "RMSprop with epsilon under the root"
SYMPTOM = "Weights with gradients around 1e-4 and below move by a third or not at all"
WHY = "torch divides by sqrt(v) + eps, Keras by sqrt(v + eps)"
CAUSE = "epsilon-placement"
FIX = "An optimizer of torch's form: gradient / (sqrt(v) + epsilon)"
PLACE = "step/1"


EPSILON = 1e-7


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.RMSprop(params, lr=5e-3, alpha=0.95, eps=EPSILON)


class OutsideRMSprop(keras.optimizers.RMSprop):
    def update_step(self, gradient: object, variable: object, learning_rate: object) -> None:
        v = self._velocities[self._get_variable_index(variable)]
        self.assign(v, self.rho * v + (1 - self.rho) * ops.square(gradient))
        self.assign_sub(variable, learning_rate * gradient / (ops.sqrt(v) + self.epsilon))


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.RMSprop(5e-3, rho=0.95, epsilon=EPSILON)


def tf_fixed() -> keras.optimizers.Optimizer:
    return OutsideRMSprop(5e-3, rho=0.95, epsilon=EPSILON)
