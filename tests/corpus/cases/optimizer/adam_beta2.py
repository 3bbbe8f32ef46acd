"""Adam with another second decay rate."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "adam_beta2"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Adam with another second decay rate"
SYMPTOM = "The first step agrees but for its averages, from the second on steps have another size"
WHY = "The paper's 0.99 became the default 0.999"
CAUSE = "adam-beta"
FIX = "keras.optimizers.Adam(1e-3, beta_2=0.99)"
PLACE = "step/1"
FLOAT32_CONSTANTS = True


TINY = 1e-30  # so that where the epsilon stands makes no difference


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Adam(params, lr=1e-3, betas=(0.9, 0.99), eps=TINY)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.Adam(1e-3, epsilon=TINY)


def tf_fixed() -> keras.optimizers.Optimizer:
    return keras.optimizers.Adam(1e-3, beta_2=0.99, epsilon=TINY)
