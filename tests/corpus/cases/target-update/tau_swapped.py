"""The weights of old and new exchanged in the soft update."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "tau_swapped"
KIND = "target-update"
SUBJECT = "function"
TITLE = "The weights of old and new exchanged in the soft update"
SYMPTOM = "The target network follows the online network at once; training is unstable"
WHY = "tau belongs to the online network, 1 - tau to the target"
CAUSE = "tau-swapped"
FIX = "(1 - TAU) * target + TAU * online"
PLACE = "output"


TAU = 0.01


def torch_side(online: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (1 - TAU) * target + TAU * online


def tf_buggy(online: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return TAU * target + (1 - TAU) * online


def tf_fixed(online: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return (1 - TAU) * target + TAU * online


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(6, 4)).astype(np.float32) for name in ("online", "target")}
