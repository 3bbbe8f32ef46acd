"""The target updated before the step instead of after it."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "target_before_step"
KIND = "target-update"
SUBJECT = "function"
TITLE = "The target updated before the step instead of after it"
SYMPTOM = "The target lags one update behind; hard to see in a training curve"
WHY = "The order of 'step' and 'soft update' changed"
CAUSE = "update-order"
FIX = "Step first, then update the target with the new weights"
PLACE = "output/target"


RATE, TAU = 0.1, 0.3


def torch_side(
    online: torch.Tensor, target: torch.Tensor, gradient: torch.Tensor
) -> dict[str, torch.Tensor]:
    online = online - RATE * gradient
    target = torch.lerp(target, online, TAU)
    return {"online": online, "target": target}


def tf_buggy(online: tf.Tensor, target: tf.Tensor, gradient: tf.Tensor) -> dict[str, tf.Tensor]:
    target = target + TAU * (online - target)
    online = online - RATE * gradient
    return {"online": online, "target": target}


def tf_fixed(online: tf.Tensor, target: tf.Tensor, gradient: tf.Tensor) -> dict[str, tf.Tensor]:
    online = online - RATE * gradient
    target = target + TAU * (online - target)
    return {"online": online, "target": target}


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    names = ("online", "target", "gradient")
    return {name: rng.normal(size=(4, 3)).astype(np.float32) for name in names}
