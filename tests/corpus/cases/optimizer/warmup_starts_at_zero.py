"""A warm-up that starts one step later."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch
from keras import ops

ID = "warmup_starts_at_zero"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "A warm-up that starts one step later"
SYMPTOM = "The first update does nothing, all others have the rate of the step before"
WHY = "torch's schedule gives (step + 1) / 4, the port's step / 4"
CAUSE = "rate-schedule"
FIX = "self.peak * ops.minimum(1.0, (step + 1) / 4)"
PLACE = "step/1"


PEAK, STEPS = 0.125, 4


def torch_side(
    params: Iterable[torch.nn.Parameter],
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    optimizer = torch.optim.SGD(params, lr=PEAK)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / STEPS))
    return optimizer, warmup


class Warmup(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, first: int) -> None:
        self.first = first

    def __call__(self, step: object) -> object:
        done = ops.cast(step, keras.config.floatx()) + self.first
        return PEAK * ops.minimum(1.0, done / STEPS)

    def get_config(self) -> dict[str, int]:
        return {"first": self.first}


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(Warmup(first=0))


def tf_fixed() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(Warmup(first=1))
