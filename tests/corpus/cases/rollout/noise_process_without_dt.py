"""An Ornstein-Uhlenbeck process without its time step."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import torch

ID = "noise_process_without_dt"
KIND = "rollout"
SUBJECT = "function"
TITLE = "An Ornstein-Uhlenbeck process without its time step"
SYMPTOM = "Noise wanders a hundred times faster"
WHY = "x + theta (mu - x) dt + sigma sqrt(dt) noise; the port dropped dt in both places"
CAUSE = "missing-operation|constant-factor|constant"
FIX = "x + THETA * (MU - x) * DT + SIGMA * math.sqrt(DT) * noise"
PLACE = "output"


THETA, MU, SIGMA, DT = 0.15, 0.0, 0.2, 0.02


def torch_side(x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    return x + THETA * (MU - x) * DT + SIGMA * math.sqrt(DT) * noise


def tf_buggy(x: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
    return x + THETA * (MU - x) + SIGMA * noise


def tf_fixed(x: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
    return x + THETA * (MU - x) * DT + SIGMA * math.sqrt(DT) * noise


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(4, 3)).astype(np.float32) for name in ("x", "noise")}
