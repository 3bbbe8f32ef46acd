"""A frame stack that starts empty."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "stack_starts_with_zeros"
KIND = "rollout"
SUBJECT = "function"
TITLE = "A frame stack that starts empty"
SYMPTOM = "The first observations of every episode are partly black"
WHY = "One side fills the stack with the first frame, the other with zeros"
CAUSE = "initial-value|other-operand"
FIX = "frames = [first] * 4 at a reset"
PLACE = "output/0"


def torch_side(frames: torch.Tensor) -> list[torch.Tensor]:
    stack, found = [frames[0]] * 3, []
    for frame in frames:
        stack = [*stack[1:], frame]
        found.append(torch.stack(stack))
    return found


def stacks(frames: tf.Tensor, first: tf.Tensor) -> list[tf.Tensor]:
    stack, found = [first] * 3, []
    for frame in tf.unstack(frames):
        stack = [*stack[1:], frame]
        found.append(tf.stack(stack))
    return found


def tf_buggy(frames: tf.Tensor) -> list[tf.Tensor]:
    return stacks(frames, tf.zeros_like(frames[0]))


def tf_fixed(frames: tf.Tensor) -> list[tf.Tensor]:
    return stacks(frames, frames[0])


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"frames": np.random.default_rng(seed).uniform(size=(4, 2, 5)).astype(np.float32)}
