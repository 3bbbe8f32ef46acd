"""The floor of a cosine schedule is given as a rate where a fraction is asked for."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "cosine_floor_as_fraction"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "The floor of a cosine schedule is given as a rate where a fraction is asked for"
SYMPTOM = "Equal rates at the start; towards the end one side has nearly stopped learning"
WHY = "torch's eta_min is a rate, Keras's alpha a share of the first rate"
CAUSE = "rate-schedule"
FIX = "keras.optimizers.schedules.CosineDecay(0.2, 8, alpha=0.25)"
PLACE = "step/2"
OPTIONS = {"steps": 7}
FLOAT32_CONSTANTS = True


def torch_side(
    params: Iterable[torch.nn.Parameter],
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    optimizer = torch.optim.SGD(params, lr=0.2)
    return optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8, eta_min=0.05)


def sgd(alpha: float) -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.2, 8, alpha=alpha))


def tf_buggy() -> keras.optimizers.Optimizer:
    return sgd(0.05)


def tf_fixed() -> keras.optimizers.Optimizer:
    return sgd(0.25)
