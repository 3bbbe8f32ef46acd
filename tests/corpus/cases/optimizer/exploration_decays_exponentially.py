"""Exploration decays exponentially where the other side's is linear."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "exploration_decays_exponentially"
KIND = "optimizer"
SUBJECT = "function"
TITLE = "Exploration decays exponentially where the other side's is linear"
SYMPTOM = "Equal epsilons at the start and at the end; one agent stops exploring too early"
WHY = "start + (end - start) * t / n was taken for start * (end / start) ** (t / n)"
CAUSE = "schedule-shape"
FIX = "start + (end - start) * tf.minimum(step / length, 1.0)"
PLACE = "output"


START, END, LENGTH = 0.9, 0.02, 400.0


def torch_side(step: torch.Tensor) -> torch.Tensor:
    return START + (END - START) * (step / LENGTH).clamp(max=1.0)


def tf_buggy(step: tf.Tensor) -> tf.Tensor:
    share = tf.minimum(step / LENGTH, 1.0)
    return START * tf.pow(tf.constant(END / START, step.dtype), share)


def tf_fixed(step: tf.Tensor) -> tf.Tensor:
    return START + (END - START) * tf.minimum(step / LENGTH, 1.0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    steps = np.random.default_rng(seed).choice(np.arange(1, 600), size=20, replace=False)
    return {"step": np.sort(steps).astype(np.float32)}
