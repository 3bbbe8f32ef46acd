"""Orders of axes where all sizes are equal: told by layers and values, never by shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import torch
from torch import nn

from parity.debug import axes
from parity.debug.check import check
from parity.report import Report
from parity.verdict import Verdict

L, ops = keras.layers, keras.ops
SIZE = 4
Call = Callable[[Any, Any], Any]


class Torch(nn.Module):
    """A time-major recurrent layer between two dense ones; ``states`` are returned too."""

    def __init__(self, states: bool = False) -> None:
        super().__init__()
        self.enc, self.rnn = nn.Linear(SIZE, SIZE), nn.LSTM(SIZE, SIZE)
        self.pi, self.states = nn.Linear(SIZE, SIZE), states

    def forward(self, x: torch.Tensor) -> Any:
        y, (h, _) = self.rnn(torch.tanh(self.enc(x)))
        pi = self.pi(torch.relu(y))
        return (pi, y, h[0]) if self.states else pi


class Keras(keras.Model):
    """The same layers, batch first, in a forward pass that is given."""

    def __init__(self, call: Call, activation: str = "tanh") -> None:
        super().__init__()
        self.enc = L.Dense(SIZE, activation=activation)
        self.rnn = L.LSTM(SIZE, return_sequences=True, return_state=True)
        self.pi, self.own = L.Dense(SIZE), call

    def call(self, x: Any) -> Any:
        return self.own(self, x)


def turned(x: Any) -> Any:
    return ops.swapaxes(x, 0, 1)


def around_the_layer(s: Any, x: Any) -> Any:
    return s.pi(ops.relu(turned(s.rnn(turned(s.enc(x)))[0])))


def around_the_model(s: Any, x: Any) -> Any:
    return turned(s.pi(ops.relu(s.rnn(s.enc(turned(x)))[0])))


def nowhere(s: Any, x: Any) -> Any:
    return s.pi(ops.relu(s.rnn(s.enc(x))[0]))


def compared(call: Call, *, states: bool = False, activation: str = "tanh") -> Report:
    torch.manual_seed(1)
    keras.utils.set_random_seed(2)
    x = np.random.default_rng(3).normal(size=(SIZE, SIZE, SIZE)).astype(np.float32)
    return check(Torch(states), lambda: Keras(call, activation), x)


@pytest.mark.parametrize("call", [around_the_layer, around_the_model], ids=lambda f: f.__name__)
def test_axes_exchanged_for_a_batch_first_layer_and_back_agree(call: Call) -> None:
    report = compared(call)
    assert report.verdict is Verdict.AGREE, str(report)
    assert {"grad/rnn/kernel", "grad_output/pi"} <= {e.name for e in report.entries}


def test_every_output_has_an_order_of_its_own() -> None:
    def call(s: Any, x: Any) -> Any:
        y, h, _ = s.rnn(turned(s.enc(x)))
        return s.pi(turned(ops.relu(y))), turned(y), h

    report = compared(call, states=True)
    assert report.verdict is Verdict.AGREE, str(report)


def test_axes_that_are_not_exchanged_are_placed_at_the_layer() -> None:
    report = compared(nowhere)
    assert report.verdict is Verdict.DIVERGE
    assert str(report.subject["place"]).startswith("rnn"), str(report)


def test_a_fault_before_does_not_hide_the_order_behind() -> None:
    report = compared(around_the_layer, activation="softsign")
    assert report.verdict is Verdict.DIVERGE
    assert "transposed" not in {cause["cause"] for cause in report.causes}, str(report)


def test_axes_that_only_the_code_of_one_side_exchanges_are_a_difference() -> None:
    class Plain(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = L.Dense(SIZE), L.Dense(SIZE)

        def call(self, x: Any) -> Any:
            return self.b(turned(self.a(x)))

    x = np.random.default_rng(4).normal(size=(SIZE, SIZE, 5)).astype(np.float32)
    report = check(nn.Sequential(nn.Linear(5, SIZE), nn.Linear(SIZE, SIZE)), Plain, x)
    assert report.verdict is Verdict.DIVERGE
    assert [cause["cause"] for cause in report.causes] == ["transposed"]


def test_a_layer_of_either_side_says_which_axis_is_time() -> None:
    class Keras2:
        time_major = True

    batch_first, time_first = nn.GRU(2, 2, batch_first=True), nn.GRU(2, 2)
    assert axes.order_of(time_first, L.GRU(2)) == axes.TIME_SECOND
    assert axes.order_of(batch_first, L.GRU(2)) == axes.SAME
    assert axes.order_of(time_first, Keras2()) == axes.SAME
    assert axes.order_of(batch_first, Keras2()) == axes.TIME_SECOND


def test_values_tell_an_order_only_where_they_are_decisive() -> None:
    a = np.random.default_rng(5).normal(size=(3, 3, 3))
    both = (axes.SAME, axes.TIME_SECOND)
    moved = a.swapaxes(0, 1) + 1e-3
    assert axes.settle(a, moved, both, axes.SAME) == axes.TIME_SECOND
    assert axes.settle(a, moved, (axes.SAME,), axes.SAME) == axes.SAME
    for carried in both:
        assert axes.settle(a, np.zeros_like(a), both, carried) == carried
        assert axes.settle(a, a[::-1, :, ::-1] * 3, both, carried) == carried
