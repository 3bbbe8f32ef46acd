"""The sentinel for operands that silently broadcast into something larger."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch

from parity.backends import get_backend
from parity.backends.base import Broadcast, grown

B, T = 13, 7


def watch(
    framework: str, function: Callable[..., Any], *shapes: tuple[int, ...]
) -> list[Broadcast]:
    backend = get_backend(framework)
    if function is traced:
        traced(tf.ones(B, tf.float64), tf.ones((B, 1), tf.float64))  # its graph exists already
    tensors = [backend.tensor(np.full(shape, 0.5)) for shape in shapes]
    with backend.watch_broadcasts() as events:
        function(*tensors)
    return list(events)


@tf.function
def traced(a: Any, b: Any) -> Any:
    return a - b


@pytest.mark.parametrize(
    ("shapes", "result", "verdict"),
    [
        (((B,), (B, 1)), (B, B), True),
        (((B, 1), (T,)), (B, T), True),
        (((1, B), (B, 1, 1)), (B, 1, B), True),
        (((T, B), (B,)), (T, B), False),
        (((B, 1), (1, B)), (B, B), False),
        (((B,), ()), (B,), False),
        (((1,), (1, 1)), (1, 1), False),
        (((B,), (B,)), (B,), False),
    ],
)
def test_grown_only_where_ranks_differ_and_both_are_outgrown(
    shapes: Any, result: tuple[int, ...], verdict: bool
) -> None:
    assert grown(shapes, result) is verdict


@pytest.mark.parametrize(
    ("framework", "function"),
    [
        ("torch", lambda a, b: a - b),
        ("torch", lambda a, b: (a - b).square().mean()),
        ("torch", lambda a, b: torch.minimum(b, a)),
        ("torch", lambda a, b: torch.where(a > 0, a, b)),
        ("torch", torch.nn.functional.mse_loss),
        ("torch", torch.nn.functional.smooth_l1_loss),
        ("torch", torch.nn.functional.huber_loss),
        ("torch", torch.nn.HuberLoss()),
        ("tf", lambda a, b: a - b),
        ("tf", tf.math.squared_difference),
        ("tf", tf.minimum),
        ("tf", lambda a, b: tf.where(a > 0.0, a, b)),
        ("tf", keras.ops.subtract),
        ("tf", traced),
        ("tf", lambda a, b: keras.ops.mean(keras.ops.square(b - a))),
        ("tf", lambda a, b: tf.raw_ops.Sub(x=a, y=b)),
        ("tf", lambda a, b: tf.Variable(a) * b),
        ("tf", lambda a, b: np.full(B, 0.5) - b),
        ("tf", lambda a, b: tf.subtract([0.5] * B, b)),
        ("tf", lambda a, b: keras.ops.where(b > 0.0, a, 0.0)),
    ],
)
def test_vector_against_column_is_seen(framework: str, function: Callable[..., Any]) -> None:
    events = watch(framework, function, (B,), (B, 1))
    assert events
    assert events[0].result == (B, B)
    assert {(B,), (B, 1)} <= set(events[0].shapes)


@pytest.mark.parametrize(
    ("framework", "function", "shapes"),
    [
        ("torch", lambda a, b: a * b, ((T, B), (B,))),
        ("torch", lambda a, b: a * b, ((B, 1), (1, B))),
        ("torch", lambda a, b: torch.nn.functional.linear(a, b), ((T, B, 1), (B, 1))),
        ("torch", lambda a, b: a @ b, ((T, B, 1), (1, B))),
        ("torch", lambda a, b: torch.outer(a, b), ((T,), (B,))),
        ("torch", lambda a: a.expand(B, B), ((B, 1),)),
        ("torch", lambda a, b: torch.nn.functional.mse_loss(a, b), ((B, 1), (B, 1))),
        ("tf", lambda a, b: a * b, ((T, B), (B,))),
        ("tf", lambda a, b: a * b, ((B, 1), (1, B))),
        ("tf", lambda a, b: a @ b, ((T, B, 1), (1, B))),
        ("tf", lambda a: tf.broadcast_to(a, (B, B)), ((B, 1),)),
        ("tf", lambda a: a - 2.0, ((B, 1),)),
        ("tf", lambda a: tf.sequence_mask(tf.cast(a, tf.int32), T), ((B,),)),
        ("tf", lambda a: tf.sequence_mask(tf.cast(a, tf.int32), B), ((B,),)),
    ],
)
def test_ordinary_operations_are_not(
    framework: str, function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]
) -> None:
    assert watch(framework, function, *shapes) == []


def test_a_loss_that_combines_the_users_tensors_is_the_users() -> None:
    (event, *_) = watch("tf", keras.losses.mean_squared_error, (T, B, 1), (B,))
    assert event.result == (T, B, B)


@pytest.mark.parametrize("framework", ["torch", "tf"])
def test_the_line_that_did_it_is_named(framework: str) -> None:
    def loss(q: Any, target: Any) -> Any:
        return (q - target) ** 2  # the line

    (event,) = watch(framework, loss, (B,), (B, 1))
    line = next(
        number
        for number, text in enumerate(Path(__file__).read_text().splitlines(), start=1)
        if text.endswith("# the line") and number > inspect.getsourcelines(loss)[1] - 1
    )
    assert event.where == f"{__file__}:{line}: return (q - target) ** 2  # the line"


def test_nothing_is_left_behind() -> None:
    watch("torch", lambda a, b: a - b, (B,), (B, 1))
    eagerly = tf.config.functions_run_eagerly()
    watch("tf", lambda a, b: a - b, (B,), (B, 1))
    assert tf.config.functions_run_eagerly() == eagerly
    with get_backend("tf").watch_broadcasts() as events:
        pass
    tf.ones((B,)) - tf.ones((B, 1))
    assert events == []


@pytest.mark.parametrize("framework", ["torch", "tf"])
def test_an_exception_passes_and_restores(framework: str) -> None:
    def fails(a: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        watch(framework, fails, (B,))
    assert watch(framework, lambda a, b: a + b, (B,), (B,)) == []
