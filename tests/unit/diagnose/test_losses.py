"""One loss taken for another of its kind, and what is said where nothing known fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parity
from parity.message import render

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")

RNG = np.random.default_rng(0)
BATCH = {
    "q": (3 * RNG.normal(size=13)).astype(np.float32),
    "target": RNG.normal(size=13).astype(np.float32),
}
F = torch.nn.functional
WRITTEN: dict[str, Callable[..., Any]] = {
    "square of a difference": lambda q, target: tf.reduce_mean(tf.square(q - target)),
    "squared difference": lambda q, target: tf.reduce_mean(tf.math.squared_difference(q, target)),
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("wanted", ["smooth_l1_loss", "huber_loss"])
def test_a_squared_loss_for_huber_is_named(wanted: str, written: str) -> None:
    loss = getattr(F, wanted)
    report = parity.check(lambda q, target: loss(q, target), WRITTEN[written], BATCH)
    assert report.verdict == "diverge"
    cause = report.causes[0]
    assert cause["cause"] == "loss-kind"
    assert cause["after"] < 1e-12 < cause["before"]


@pytest.mark.parametrize("written", WRITTEN)
def test_the_right_loss_agrees(written: str) -> None:
    report = parity.check(lambda q, target: F.mse_loss(q, target), WRITTEN[written], BATCH)
    assert report.verdict == "agree"
    assert "no known cause" not in render(report)


def test_where_nothing_fits_the_report_says_so() -> None:
    report = parity.check(
        lambda q, target: F.smooth_l1_loss(q, target),
        lambda q, target: tf.reduce_mean(tf.abs(q - target) ** 1.7 + 0.3 * tf.sin(q)),
        BATCH,
    )
    assert not report.causes
    assert "no known cause removes this difference" in render(report)


def test_a_huber_loss_for_smooth_l1_is_told_to_be_divided_by_beta() -> None:
    keras = pytest.importorskip("keras")
    report = parity.check(
        lambda q, target: F.smooth_l1_loss(q, target, beta=0.4),
        lambda q, target: keras.losses.huber(target, q, delta=0.4),
        BATCH,
    )
    cause = report.causes[0]
    assert cause["cause"] == "loss-kind"
    assert cause["fix"].startswith("keras.losses.Huber(delta=0.4) divided by 0.4")
