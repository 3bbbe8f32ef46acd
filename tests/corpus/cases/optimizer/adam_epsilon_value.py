"""Adam with the other framework's epsilon."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch
from keras import ops

ID = "adam_epsilon_value"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Adam with the other framework's epsilon"
SYMPTOM = "Weights with tiny gradients move less after the port"
WHY = "torch's default is 1e-8, Keras's 1e-7"
CAUSE = "epsilon-value"
FIX = "TorchAdam(3e-3, epsilon=1e-8)"
PLACE = "step/1"


RATE = 3e-3


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Adam(params, lr=RATE)


class TorchAdam(keras.optimizers.Adam):
    """Adam as torch computes it: m_hat / (sqrt(v_hat) + epsilon)."""

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
    return TorchAdam(RATE)


def tf_fixed() -> keras.optimizers.Optimizer:
    return TorchAdam(RATE, epsilon=1e-8)
