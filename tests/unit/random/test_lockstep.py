"""A compiled torch step and a ``tf.function`` that draw all their noise inside, in lockstep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parity.random import Stream, initializers
from parity.tolerance import DEFAULTS

UPDATES, ROWS, OBS, ACT, BATCH = 1000, 211, 3, 2, 13
STEP_SIZE, TAU, SIGMA, CLIP, EPSILON = 0.05, 0.02, 0.2, 0.5, 0.1
NOISE = Stream(2026)


def data() -> tuple[np.ndarray, np.ndarray]:
    """A fixed buffer of observations and what is to be learnt from them."""
    observations = NOISE.split("data").normal((ROWS, OBS), dtype="float64")
    return observations, np.tanh(observations[:, :ACT] - observations[:, 1:])


def start() -> np.ndarray:
    return initializers.kaiming_uniform(NOISE.split("weights"), (OBS, ACT), dtype="float64")


def draws(stream: Any, t: Any) -> tuple[Any, Any, Any, Any]:
    """Indices of the rows stored so far, smoothing noise, a dropout mask and exploration."""
    s = stream.fold_in(t)
    indices = s.split("replay").integers(BATCH, 0, 1 + t % ROWS)
    noise = s.split("smoothing").normal((BATCH, ACT), dtype="float64")
    mask = s.split("dropout").dropout_mask(0.25, (BATCH, ACT), dtype="float64")
    explore = s.split("explore").bernoulli(EPSILON, BATCH)
    return indices, noise, mask, explore


def torch_step(torch: Any) -> Any:
    observations, wanted = (torch.tensor(array) for array in data())
    stream = NOISE.split("training").torch()

    def step(w: Any, target: Any, t: Any) -> tuple[Any, Any]:
        indices, noise, mask, explore = draws(stream, t)
        x = observations[indices]
        smooth = (SIGMA * noise).clamp(-CLIP, CLIP) * mask
        goal = wanted[indices] + 0.1 * (x @ target) + torch.where(explore[:, None], smooth, 0.0)
        w = w - STEP_SIZE / BATCH * (x.T @ (x @ w - goal))
        return w, target + TAU * (w - target)

    return torch.compile(step, fullgraph=True)


def tf_step(tf: Any, xla: bool) -> Any:
    observations, wanted = (tf.constant(array) for array in data())
    stream = NOISE.split("training").tf()

    def step(w: Any, target: Any, t: Any) -> tuple[Any, Any]:
        indices, noise, mask, explore = draws(stream, t)
        x = tf.gather(observations, indices)
        smooth = tf.clip_by_value(SIGMA * noise, -CLIP, CLIP) * mask
        extra = tf.where(explore[:, None], smooth, tf.zeros_like(smooth))
        goal = tf.gather(wanted, indices) + 0.1 * (x @ target) + extra
        w = w - STEP_SIZE / BATCH * tf.transpose(x) @ (x @ w - goal)
        return w, target + TAU * (w - target)

    return tf.function(step, jit_compile=xla)


def run(step: Any, tensor: Any) -> list[np.ndarray]:
    """The weights after each update; the step number is a tensor that counts on its own."""
    w, target, t = tensor(start()), tensor(start()), tensor(np.int64(0))
    history = []
    for _ in range(UPDATES):
        w, target = step(w, target, t)
        t = t + 1
        history.append(np.concatenate([w.numpy(), target.numpy()]))
    return history


@pytest.mark.slow
@pytest.mark.parametrize("xla", [False, True], ids=["graph", "xla"])
def test_a_thousand_compiled_updates_agree_with_nothing_handed_in_but_the_seed(xla):
    torch, tf = pytest.importorskip("torch"), pytest.importorskip("tensorflow")
    torch._dynamo.reset()
    left = run(torch_step(torch), torch.tensor)
    right = run(tf_step(tf, xla), tf.constant)
    apart = [np.abs(a - b).max() for a, b in zip(left, right, strict=True)]
    moved = np.abs(left[-1] - np.concatenate([start(), start()])).max()
    assert moved > 0.1  # it trained
    assert np.abs(np.diff(left[-20:], axis=0)).max() > 1e-4  # and noise still moves it
    assert max(apart) <= DEFAULTS["float64"].atol
