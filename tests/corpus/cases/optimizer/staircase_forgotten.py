"""A smooth decay where the schedule has stairs."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "staircase_forgotten"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "A smooth decay where the schedule has stairs"
SYMPTOM = "Agreement at the edges of the stairs, a smaller rate between them"
WHY = "StepLR holds the rate for some steps, ExponentialDecay interpolates unless staircase=True"
CAUSE = "rate-schedule"
FIX = "keras.optimizers.schedules.ExponentialDecay(0.5, 3, 0.25, staircase=True)"
PLACE = "step/2"
OPTIONS = {"steps": 6}


def torch_side(
    params: Iterable[torch.nn.Parameter],
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    optimizer = torch.optim.SGD(params, lr=0.5)
    return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.25)


def sgd(staircase: bool) -> keras.optimizers.Optimizer:
    schedule = keras.optimizers.schedules.ExponentialDecay(0.5, 3, 0.25, staircase=staircase)
    return keras.optimizers.SGD(schedule)


def tf_buggy() -> keras.optimizers.Optimizer:
    return sgd(False)


def tf_fixed() -> keras.optimizers.Optimizer:
    return sgd(True)
