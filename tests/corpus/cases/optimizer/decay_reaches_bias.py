"""Weight decay that also reaches the biases."""

from __future__ import annotations

import keras
import torch

ID = "decay_reaches_bias"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Weight decay that also reaches the biases"
SYMPTOM = "Kernels agree, biases shrink"
WHY = "The name given to exclude_from_weight_decay does not occur in the variables' names"
CAUSE = "decay-exclusion"
FIX = 'optimizer.exclude_from_weight_decay(var_names=["bias"])'
PLACE = "step/1/param/bias"
FLOAT32_CONSTANTS = True


TINY = 1e-30


def torch_side(params: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    kernels = [p for p in params if p.ndim > 1]
    others = [p for p in params if p.ndim <= 1]
    groups = [{"params": kernels}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.002, weight_decay=0.1, eps=TINY)


def adamw(excluded: str) -> keras.optimizers.Optimizer:
    optimizer = keras.optimizers.AdamW(0.002, weight_decay=0.1, epsilon=TINY)
    optimizer.exclude_from_weight_decay(var_names=[excluded])
    return optimizer


def tf_buggy() -> keras.optimizers.Optimizer:
    return adamw("biases")


def tf_fixed() -> keras.optimizers.Optimizer:
    return adamw("bias")
