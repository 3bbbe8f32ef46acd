"""RMSprop whose average starts at one."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch
from keras import ops

ID = "rmsprop_starts_at_one"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "RMSprop whose average starts at one"
SYMPTOM = "The first steps are far smaller, the difference fades over hundreds of steps"
WHY = "TF1's RMSProp started its mean square at 1, torch starts at 0"
CAUSE = "accumulator-start"
FIX = "Start the mean square at 0"
PLACE = "step/1"


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.RMSprop(params, lr=1e-2, alpha=0.9, eps=1e-5)


class OldRMSprop(keras.optimizers.RMSprop):
    def __init__(self, start: float) -> None:
        super().__init__(1e-2, rho=0.9, epsilon=1e-5)
        self.start = start

    def build(self, variables: list[object]) -> None:
        super().build(variables)
        for v in self._velocities:
            v.assign(self.start * ops.ones_like(v))

    def update_step(self, gradient: object, variable: object, learning_rate: object) -> None:
        v = self._velocities[self._get_variable_index(variable)]
        self.assign(v, self.rho * v + (1 - self.rho) * ops.square(gradient))
        self.assign_sub(variable, learning_rate * gradient / (ops.sqrt(v) + self.epsilon))


def tf_buggy() -> keras.optimizers.Optimizer:
    return OldRMSprop(start=1.0)


def tf_fixed() -> keras.optimizers.Optimizer:
    return OldRMSprop(start=0.0)
