"""Adam without its bias correction."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch
from keras import ops

ID = "adam_without_bias_correction"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Adam without its bias correction"
SYMPTOM = "The first steps are three times too large, later ones agree"
WHY = "m and v start at zero; m_hat and v_hat make up for it"
CAUSE = "bias-correction"
FIX = "Divide m by 1 - beta1^t and v by 1 - beta2^t"
PLACE = "step/1"


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Adam(params, lr=1e-3, eps=1e-6)


class HandAdam(keras.optimizers.Adam):
    def __init__(self, corrected: bool) -> None:
        super().__init__(1e-3, epsilon=1e-6)
        self.corrected = corrected

    def update_step(self, gradient: object, variable: object, learning_rate: object) -> None:
        step = ops.cast(self.iterations + 1, variable.dtype)
        index = self._get_variable_index(variable)
        m, v = self._momentums[index], self._velocities[index]
        self.assign(m, self.beta_1 * m + (1 - self.beta_1) * gradient)
        self.assign(v, self.beta_2 * v + (1 - self.beta_2) * ops.square(gradient))
        first, second = ops.convert_to_tensor(m), ops.convert_to_tensor(v)
        if self.corrected:
            first = first / (1 - self.beta_1**step)
            second = second / (1 - self.beta_2**step)
        self.assign_sub(variable, learning_rate * first / (ops.sqrt(second) + self.epsilon))


def tf_buggy() -> keras.optimizers.Optimizer:
    return HandAdam(corrected=False)


def tf_fixed() -> keras.optimizers.Optimizer:
    return HandAdam(corrected=True)
