"""The same noise in NumPy, torch and TensorFlow: eager, compiled, and from one seed.

Run: python examples/03_same_noise.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import torch

from parity.random import Stream

COUNT = 1_000_000
noise = Stream(2026).split("exploration")
on_torch, on_tf = noise.torch(), noise.tf()


def draw(stream: Any, step: Any) -> tuple[Any, Any, Any]:
    """What a training step would draw; written once for every library."""
    now = stream.fold_in(step)
    return (
        now.split("replay").integers(COUNT, 0, 50_000),
        now.split("explore").uniform(COUNT, low=-1.0, high=1.0),
        now.split("smooth").normal(COUNT),
    )


SIDES = {
    "torch eager": lambda t: draw(on_torch, torch.tensor(t)),
    "torch compiled": lambda t: torch_step(torch.tensor(t)),
    "tf eager": lambda t: draw(on_tf, tf.constant(t)),
    "tf.function": lambda t: tf_step(tf.constant(t)),
    "tf.function, XLA": lambda t: xla_step(tf.constant(t)),
}
torch_step = torch.compile(lambda t: draw(on_torch, t), fullgraph=True)
tf_step = tf.function(lambda t: draw(on_tf, t))
xla_step = tf.function(lambda t: draw(on_tf, t), jit_compile=True)

print(f"{COUNT:,} draws of each kind beside NumPy's, steps 3 and 4")
for name, side in SIDES.items():
    differing, worst = [0, 0, 0], 0.0
    for step in (3, 4):
        for k, (here, there) in enumerate(zip(draw(noise, step), side(step), strict=True)):
            there = there.numpy()
            differing[k] += int(np.sum(here != there))
            worst = max(worst, float(np.abs(here - there).max()))
    integers, uniforms, normals = differing
    print(
        f"{name:18} differing: integers {integers}, uniforms {uniforms}, "
        f"normals {normals} by at most {worst:.1e}"
    )
    assert integers == uniforms == 0, name
    assert worst <= 1e-6, name
