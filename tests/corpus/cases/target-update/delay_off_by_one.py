"""A delayed update on the odd steps instead of the even ones."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "delay_off_by_one"
KIND = "target-update"
SUBJECT = "function"
TITLE = "A delayed update on the odd steps instead of the even ones"
SYMPTOM = "Everything works, one step later, and no two curves can be compared"
WHY = "step % 2 == 0 with a counter that starts at 1 on one side and at 0 on the other"
CAUSE = "off-by-one|boundary|constant"
FIX = "if step % 2 == 0, with the same first step on both sides"
PLACE = "output/0"


TAU = 0.5


def torch_side(online: torch.Tensor, target: torch.Tensor) -> list[torch.Tensor]:
    found = []
    for step in range(4):
        if step % 2 == 0:
            target = target + TAU * (online - target)
        found.append(target)
    return found


def four_steps(online: tf.Tensor, target: tf.Tensor, first: int) -> list[tf.Tensor]:
    found = []
    for step in range(first, first + 4):
        if step % 2 == 0:
            target = target + TAU * (online - target)
        found.append(tf.identity(target))
    return found


def tf_buggy(online: tf.Tensor, target: tf.Tensor) -> list[tf.Tensor]:
    return four_steps(online, target, 1)


def tf_fixed(online: tf.Tensor, target: tf.Tensor) -> list[tf.Tensor]:
    return four_steps(online, target, 0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=6).astype(np.float32) for name in ("online", "target")}
