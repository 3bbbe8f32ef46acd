"""Streams on the device of the stage draw what NumPy draws on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parity.random import Stream
from tests.gpu.conftest import Stage
from tests.unit.random.conftest import EXACT_DRAWS, NORMAL_DRAWS, normals_apart

pytestmark = pytest.mark.gpu
STREAM = Stream(7).split("gpu")


def draws(stream: Any) -> tuple[list[Any], list[Any]]:
    exact = [draw(stream) for draw in EXACT_DRAWS.values()]
    return exact, [draw(stream) for draw in NORMAL_DRAWS.values()]


def assert_equal(there: tuple[list[Any], list[Any]]) -> None:
    exact, normal = draws(STREAM)
    for name, left, right in zip(EXACT_DRAWS, there[0], exact, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name)
    for left, right in zip(there[1], normal, strict=True):
        assert normals_apart(np.asarray(left), right) <= 1


def step_draws(stream: Any, step: Any) -> list[Any]:
    s = stream.split("step").fold_in(step)
    return [
        s.bits(101),
        s.uniform((7, 13), low=-0.3, high=0.4),
        s.uniform((7, 13), low=-0.3, high=0.4, dtype="float64"),
        s.integers(13, 0, step + 100),
        s.permutation(1001),
        s.normal((7, 13)),
    ]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_torch(compiled: bool, stage: Stage) -> None:
    torch = pytest.importorskip("torch")
    if "torch" not in stage.frameworks:
        pytest.skip("torch sees no GPU")
    stream = STREAM.torch(stage.device)
    if not compiled:
        exact, normal = draws(stream)
        assert all(value.device.type == stage.device for value in (*exact, *normal))
        assert_equal(([v.cpu().numpy() for v in exact], [v.cpu().numpy() for v in normal]))
    step = torch.compile(step_draws, fullgraph=True) if compiled else step_draws
    for t in (0, 5, 2**40):
        *exact, normal = (
            v.cpu().numpy() for v in step(stream, torch.tensor(t, device=stage.device))
        )
        *wanted, wanted_normal = step_draws(STREAM, t)
        for left, right in zip(exact, wanted, strict=True):
            np.testing.assert_array_equal(left, right)
        assert normals_apart(normal, wanted_normal) <= 1


def test_torch_draws_wait_for_no_transfer(stage: Stage) -> None:
    """On a CPU there is no transfer to wait for; the body runs, and only the watch is missing."""
    torch = pytest.importorskip("torch")
    if "torch" not in stage.frameworks:
        pytest.skip("torch sees no GPU")
    stream, step = STREAM.torch(stage.device), torch.tensor(3, device=stage.device)
    first = step_draws(stream, step)
    if stage.device == "cpu":
        second = step_draws(stream, step)
    else:
        torch.cuda.set_sync_debug_mode("error")
        try:
            second = step_draws(stream, step)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.cpu().numpy(), other.cpu().numpy())


@pytest.mark.parametrize("mode", ["eager", "graph", "xla"])
def test_tensorflow(mode: str, stage: Stage) -> None:
    tf = pytest.importorskip("tensorflow")
    if "tf" not in stage.frameworks:
        pytest.skip("TensorFlow sees no GPU")
    with tf.device("/CPU:0" if stage.device == "cpu" else "/GPU:0"):
        stream = STREAM.tf()
        run = draws if mode == "eager" else tf.function(draws, jit_compile=mode == "xla")
        assert_equal(run(stream))
