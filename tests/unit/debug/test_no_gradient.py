"""Functions of which torch detaches all that they return."""

from __future__ import annotations

import numpy as np
import pytest

import parity
from parity.message import render
from parity.verdict import Verdict

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")

INPUTS = {
    name: np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)
    for seed, name in enumerate(("online", "target"))
}


def soft_update(online, target):
    with torch.no_grad():
        return target * 0.99 + 0.01 * online


def partly_detached(online, target):
    return (online - target.detach()).square().mean()


def test_an_update_under_no_grad_needs_no_stop_gradient():
    report = parity.check(soft_update, lambda online, target: 0.99 * target + 0.01 * online, INPUTS)
    assert report.verdict is Verdict.AGREE
    assert "gradients are not compared" in " ".join(render(report).split())


def test_its_values_are_compared():
    report = parity.check(soft_update, lambda online, target: 0.99 * online + 0.01 * target, INPUTS)
    assert report.verdict is Verdict.DIVERGE
    assert [cause["cause"] for cause in report.causes] == ["tau-swapped"]


def test_where_one_gradient_flows_all_are_compared():
    report = parity.check(
        partly_detached, lambda online, target: tf.reduce_mean((online - target) ** 2), INPUTS
    )
    assert report.verdict is Verdict.DIVERGE
    assert report.causes[0]["cause"] == "stop-gradient-missing"
