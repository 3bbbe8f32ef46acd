"""A velocity that contains the learning rate."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "momentum_holds_rate"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "A velocity that contains the learning rate"
SYMPTOM = "Agreement until the learning rate drops; then Keras goes on at the old speed for a while"
WHY = (
    "Keras keeps momentum * v - rate * gradient, torch multiplies the velocity by the current rate"
)
CAUSE = "momentum-rate"
FIX = "A subclass of SGD that keeps momentum * v + gradient and applies the rate to it"
PLACE = "step/3"
OPTIONS = {"steps": 6}


def torch_side(
    params: Iterable[torch.nn.Parameter],
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    optimizer = torch.optim.SGD(params, lr=0.25, momentum=0.9)
    return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)


class TorchSGD(keras.optimizers.SGD):
    def update_step(self, gradient: object, variable: object, learning_rate: object) -> None:
        velocity = self.momentums[self._get_variable_index(variable)]
        self.assign(velocity, self.momentum * velocity + gradient)
        self.assign_sub(variable, learning_rate * velocity)


def schedule() -> keras.optimizers.schedules.LearningRateSchedule:
    return keras.optimizers.schedules.ExponentialDecay(0.25, 2, 0.5, staircase=True)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(schedule(), momentum=0.9)


def tf_fixed() -> keras.optimizers.Optimizer:
    return TorchSGD(schedule(), momentum=0.9)
