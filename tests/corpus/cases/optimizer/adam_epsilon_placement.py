"""Keras's Adam puts epsilon elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch
from keras import ops

ID = "adam_epsilon_placement"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Keras's Adam puts epsilon elsewhere"
SYMPTOM = "Even with one epsilon on both sides the weights part, in float64 too"
WHY = (
    "Keras divides by sqrt(v) + epsilon before the bias correction, torch by sqrt(v_hat) + "
    "epsilon after it"
)
CAUSE = "epsilon-placement"
FIX = "An optimizer of torch's form: m_hat / (sqrt(v_hat) + epsilon)"
PLACE = "step/1"


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Adam(params, lr=2e-3, eps=1e-8)


class CorrectedAdam(keras.optimizers.Adam):
    def update_step(self, gradient: object, variable: object, learning_rate: object) -> None:
        step = ops.cast(self.iterations + 1, variable.dtype)
        index = self._get_variable_index(variable)
        m, v = self._momentums[index], self._velocities[index]
        self.assign(m, self.beta_1 * m + (1 - self.beta_1) * gradient)
        self.assign(v, self.beta_2 * v + (1 - self.beta_2) * ops.square(gradient))
        m_hat = m / (1 - self.beta_1**step)
        v_hat = v / (1 - self.beta_2**step)
        self.assign_sub(variable, learning_rate * m_hat / (ops.sqrt(v_hat) + self.epsilon))


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.Adam(2e-3, epsilon=1e-8)


def tf_fixed() -> keras.optimizers.Optimizer:
    return CorrectedAdam(2e-3, epsilon=1e-8)
