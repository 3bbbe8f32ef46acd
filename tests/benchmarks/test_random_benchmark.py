"""Speed of the streams beside what each framework offers itself, as ratios.

Each pair is timed in turns, so that both see the same machine; the ratio is of the medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parity.random import Stream

pytestmark = pytest.mark.benchmark

COUNT = 10_000_000
ROUNDS = 7
STREAM = Stream(1)


def side_by_side(benchmark: Any, ours: Callable[[], Any], theirs: Callable[[], Any]) -> float:
    """Times both in turns, reports ours to pytest-benchmark and the ratio beside it."""
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    ours(), theirs()

    def timed(name: str, function: Callable[[], Any]) -> None:
        start = time.perf_counter()
        function()
        times[name].append(time.perf_counter() - start)

    benchmark.pedantic(
        lambda: timed("ours", ours), setup=lambda: timed("theirs", theirs), rounds=ROUNDS
    )
    ratio = statistics.median(times["ours"]) / statistics.median(times["theirs"])
    benchmark.extra_info["ratio"] = round(ratio, 3)
    print(f"\n{benchmark.name}: ratio {ratio:.2f}")
    return ratio


def test_torch_uniform_eager(benchmark):
    torch = pytest.importorskip("torch")
    stream = STREAM.torch()
    assert side_by_side(benchmark, lambda: stream.uniform(COUNT), lambda: torch.rand(COUNT)) <= 6.0


def test_torch_uniform_compiled(benchmark):
    torch = pytest.importorskip("torch")
    stream, step = STREAM.torch(), torch.tensor(3)
    draw = torch.compile(lambda t: stream.fold_in(t).uniform(COUNT), fullgraph=True)
    assert side_by_side(benchmark, lambda: draw(step), lambda: torch.rand(COUNT)) <= 2.5


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_torch_normal(benchmark, compiled):
    torch = pytest.importorskip("torch")
    stream, step = STREAM.torch(), torch.tensor(3)

    def draw(t: Any) -> Any:
        return stream.fold_in(t).normal(COUNT)

    draw = torch.compile(draw, fullgraph=True) if compiled else draw
    assert side_by_side(benchmark, lambda: draw(step), lambda: torch.randn(COUNT)) <= 20.0


def test_tensorflow_uniform_eager(benchmark):
    """Eager uniforms are TensorFlow's own operation: the ratio is 1 up to noise."""
    tf = pytest.importorskip("tensorflow")
    stream = STREAM.tf()

    def native() -> Any:
        return tf.random.stateless_uniform((COUNT,), (1, 0), alg="philox")

    assert side_by_side(benchmark, lambda: stream.uniform(COUNT), native) <= 1.2


@pytest.mark.parametrize("xla", [False, True], ids=["graph", "xla"])
def test_tensorflow_uniform_in_a_function(benchmark, xla):
    """Graphs go through the words, so that XLA draws the same bits."""
    tf = pytest.importorskip("tensorflow")
    stream, step = STREAM.tf(), tf.constant(3)
    ours = tf.function(lambda t: stream.fold_in(t).uniform(COUNT), jit_compile=xla, autograph=False)
    theirs = tf.function(
        lambda t: tf.random.stateless_uniform((COUNT,), [t, 0], alg="philox"),
        jit_compile=xla,
        autograph=False,
    )
    assert side_by_side(benchmark, lambda: ours(step), lambda: theirs(step)) <= 2.0


def test_numpy_uniform(benchmark):
    generator = np.random.default_rng(1)

    def native() -> Any:
        return generator.random(COUNT, dtype=np.float32)

    assert side_by_side(benchmark, lambda: STREAM.uniform(COUNT), native) <= 30.0


@pytest.mark.parametrize("side", ["numpy", "torch", "tf"])
def test_small_eager_draws(benchmark, side):
    """What a training loop without compilation pays for the noise of one batch."""
    pytest.importorskip({"numpy": "numpy", "torch": "torch", "tf": "tensorflow"}[side])

    def draw(step: int) -> Any:
        stream = STREAM.fold_in(step)
        view = {"numpy": lambda: stream, "torch": stream.torch, "tf": stream.tf}[side]()
        return view.normal((256, 6))

    steps = iter(range(1_000_000))
    benchmark(lambda: draw(next(steps)))
    assert benchmark.stats["median"] < 0.02
