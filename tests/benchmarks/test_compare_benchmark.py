"""Speed of comparing two arrays beside NumPy's and torch's own assertions, and beside memcpy.

All four are timed in turns, so that they see the same machine; ratios are of medians.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parity.compare import compare_arrays
from parity.tolerance import Tolerance

pytestmark = pytest.mark.benchmark

COUNT = 50_000_000
ROUNDS = 3
TOLERANCE = Tolerance(1e-6, "the float32 default, so that some elements are over it")


@pytest.fixture(scope="module")
def pair() -> tuple[np.ndarray, np.ndarray]:
    """Rounding everywhere: no block is equal, and no element is over the assertions' bounds."""
    rng = np.random.default_rng(0)
    left = rng.standard_normal(COUNT, dtype=np.float32)
    right = rng.standard_normal(COUNT, dtype=np.float32)
    right *= np.float32(1e-7)
    right += 1
    right *= left
    return left, right


def test_comparing_beside_the_assertions(benchmark: Any, pair: Any) -> None:
    torch = pytest.importorskip("torch")
    left, right = pair
    room = np.empty_like(left)
    tensors = torch.from_numpy(left), torch.from_numpy(right)
    runs: dict[str, Callable[[], Any]] = {
        "ours": lambda: compare_arrays(left, right, tolerance=TOLERANCE),
        "memcpy": lambda: np.copyto(room, left),
        "numpy": lambda: np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6),
        "torch": lambda: torch.testing.assert_close(*tensors, rtol=1e-5, atol=1e-6),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}

    def timed(name: str) -> None:
        start = time.perf_counter()
        runs[name]()
        times[name].append(time.perf_counter() - start)

    def others() -> None:
        for name in ("memcpy", "numpy", "torch"):
            timed(name)

    benchmark.pedantic(lambda: timed("ours"), setup=others, rounds=ROUNDS, warmup_rounds=1)
    middle = {name: statistics.median(values) for name, values in times.items()}
    ratios = {name: value / middle["ours"] for name, value in middle.items()}
    benchmark.extra_info.update({name: round(ratio, 2) for name, ratio in ratios.items()})
    print("\n" + ", ".join(f"{n} {middle[n] * 1e3:.0f} ms ({r:.2f}x)" for n, r in ratios.items()))
    assert ratios["numpy"] >= 30
    assert ratios["torch"] >= 8
    assert ratios["memcpy"] >= 1 / 4


def test_extra_memory(pair: Any) -> None:
    left, right = pair
    tracemalloc.start()  # NumPy reports its arrays to it
    compare_arrays(left, right, tolerance=TOLERANCE)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 64 << 20
