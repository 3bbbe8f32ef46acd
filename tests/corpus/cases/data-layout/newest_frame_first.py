"""Stacked frames with the newest one first."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "newest_frame_first"
KIND = "data-layout"
SUBJECT = "function"
TITLE = "Stacked frames with the newest one first"
SYMPTOM = "Velocities point backwards"
WHY = "One side appends new frames at the end, the other puts them in front"
CAUSE = "reversed-axis"
FIX = "tf.stack(frames, axis=-1), oldest first"
PLACE = "output"


def torch_side(frames: torch.Tensor) -> torch.Tensor:
    return torch.stack(list(frames[-4:]), dim=-1)


def tf_buggy(frames: tf.Tensor) -> tf.Tensor:
    return tf.stack(tf.unstack(frames)[-4:][::-1], axis=-1)


def tf_fixed(frames: tf.Tensor) -> tf.Tensor:
    return tf.stack(tf.unstack(frames)[-4:], axis=-1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"frames": np.random.default_rng(seed).uniform(size=(6, 3, 5)).astype(np.float32)}
