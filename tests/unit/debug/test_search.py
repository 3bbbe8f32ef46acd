"""A search for inputs on which two sides differ that agree on the given ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
pytest.importorskip("hypothesis")

from parity import check  # noqa: E402
from parity.message import render  # noqa: E402
from parity.verdict import Verdict  # noqa: E402

ROWS = np.linspace(0.1, 2.0, 12, dtype=np.float32).reshape(4, 3)
BATCH = {
    "reward": np.array([1.0, -0.5, 2.0], np.float32),
    "next_value": np.array([0.3, 0.7, -1.0], np.float32),
    "terminated": np.array([False, False, False]),
}


def target_torch(reward: Any, next_value: Any, terminated: Any) -> Any:
    return reward + 0.99 * next_value * (1.0 - terminated.to(reward.dtype))


def target_tf(reward: Any, next_value: Any, terminated: Any) -> Any:
    return reward + 0.99 * next_value * (1.0 - tf.cast(terminated, reward.dtype))


def without_the_last_reward(reward: Any, next_value: Any, terminated: Any) -> Any:
    return (reward + 0.99 * next_value) * (1.0 - tf.cast(terminated, reward.dtype))


def shifted(x: Any) -> Any:
    return 0.5 * (x + 3.0)


def shifted_above_zero(x: Any) -> Any:
    return 0.5 * tf.nn.relu(x + 3.0)


def test_a_reward_dropped_at_terminal_rows_is_found() -> None:
    given = check(torch=target_torch, tf=without_the_last_reward, inputs=BATCH)
    assert given.verdict is Verdict.AGREE
    found = check(torch=target_torch, tf=without_the_last_reward, inputs=BATCH, search=60)
    assert found.verdict is Verdict.DIVERGE
    assert found.subject["search"]["found"]
    assert "terminated" in found.subject["example"]


def test_a_relu_that_the_data_never_meets_is_found() -> None:
    inputs = {"x": ROWS - 1.0}  # all of x + 3 is above zero
    given = check(torch=shifted, tf=shifted_above_zero, inputs=inputs)
    assert given.verdict is Verdict.AGREE
    found = check(torch=shifted, tf=shifted_above_zero, inputs=inputs, search=60)
    assert found.verdict is Verdict.DIVERGE
    assert "the search tried" not in render(found)


def test_what_a_search_without_a_find_says() -> None:
    found = check(torch=target_torch, tf=target_tf, inputs=BATCH, search=20)
    assert found.verdict is Verdict.AGREE
    tried = found.subject["search"]["tried"]
    assert tried >= 20
    said = " ".join(render(found).split())
    assert f"the search tried {tried} other inputs" in said
    assert "the sides differ on none of them" in said
