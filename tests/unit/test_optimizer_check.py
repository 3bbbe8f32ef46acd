"""The optimizer check itself: what it forces, what it refuses, and the steps it runs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from parity.backends import get_backend
from parity.backends.steps import make_step, make_variable, write_variable
from parity.checks.optimizer import OptimizerCheck
from parity.component import Component, Side
from parity.errors import InvalidInput
from parity.runner import run_check
from parity.verdict import Verdict

SHAPE = (3, 2)
COMPONENT = Component(name="toy", contract=(), checks=())


class Descent:
    """``p <- p - rate * scale * g``; works on torch tensors and arrays alike."""

    scale = 1.0

    def __init__(self, config, parameters):
        self.parameters = parameters
        self.learning_rate = np.asarray(config)
        self.seen = np.zeros((), np.int64)

    def set_learning_rate(self, value):
        self.learning_rate = np.asarray(value)

    def apply(self, gradients):
        self.seen += 1
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter -= float(self.learning_rate) * self.scale * gradients[name]

    def slots(self):
        return {"seen": self.seen}

    def load_slots(self, slots):
        self.seen[...] = slots["seen"]


def siblings(**scales):
    """Sides whose step is off by a factor."""
    return {
        name: SimpleNamespace(Descent=type("Descent", (Descent,), {"scale": scale}))
        for name, scale in scales.items()
    }


def inputs(count, factor=1.0):
    def make(rng):
        gradients = [{"w": factor * rng.normal(size=SHAPE)} for _ in range(count)]
        return {"w": rng.normal(size=SHAPE)}, gradients

    return make


CHECK = OptimizerCheck(name="Descent", case="toy", config=0.1, inputs=inputs(4))


def judged(check, dtype="float64", **scales):
    return run_check(COMPONENT, check, siblings(**scales), dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_optimizers_agree(dtype):
    report = judged(CHECK, dtype, torch=1.0, reference=1.0)
    assert report.verdict is Verdict.AGREE
    assert report.values_compared == 4 * (SHAPE[0] * SHAPE[1] + 2)


def test_the_first_difference_is_the_first_step():
    report = judged(CHECK, torch=1.001, reference=1.0)
    assert report.verdict is Verdict.DIVERGE
    assert report.first_divergence.name == "step/0/param/w"


def test_errors_pile_up_in_float64_and_not_in_forced_float32():
    errors = {}
    for dtype in ("float32", "float64"):
        report = judged(CHECK, dtype, torch=1.5, reference=1.0)
        errors[dtype] = [e.worst.max_abs for e in report.entries if "/param/" in e.name]
    gradients = inputs(4)(np.random.default_rng(0))[1]
    assert len(errors["float32"]) == len(gradients)
    own_step = 0.5 * 0.1 * 4  # the factor, the rate, more than any of 24 normal draws
    assert max(errors["float32"]) < own_step
    assert errors["float64"][0] == pytest.approx(errors["float32"][0], rel=1e-5)
    assert max(errors["float64"]) > max(errors["float32"])


def test_a_changed_rate_reaches_the_step():
    check = replace(CHECK, learning_rates={2: 0.5})
    trace = check.record(
        {"torch": Side("torch", siblings(torch=1.0)["torch"], get_backend("torch"), "float64")}
    ).traces["torch"]
    rates = [float(trace[f"step/{k}/learning_rate"]) for k in range(4)]
    assert rates == [0.1, 0.1, 0.5, 0.5]
    moved = np.abs(trace["step/2/param/w"] - trace["step/1/param/w"])
    before = np.abs(trace["step/1/param/w"] - trace["step/0/param/w"])
    assert moved.max() > before.max()


def test_nothing_moved_is_invalid():
    report = judged(replace(CHECK, inputs=inputs(2, factor=0.0)), torch=1.0, reference=1.0)
    assert report.verdict is Verdict.INVALID
    assert ("all-zero", "change/w") in [(p.kind, p.name) for p in report.problems]


def test_nothing_moved_on_purpose_is_said_so():
    check = replace(CHECK, inputs=inputs(2, factor=0.0), expect_zero=("change/w",))
    assert judged(check, torch=1.0, reference=1.0).verdict is Verdict.AGREE


def test_no_gradients_are_refused():
    with pytest.raises(InvalidInput, match="no gradients"):
        judged(replace(CHECK, inputs=inputs(0)), torch=1.0, reference=1.0)


def test_a_rate_for_a_step_that_never_comes_is_refused():
    with pytest.raises(InvalidInput, match=r"steps \[4\], there are 4"):
        judged(replace(CHECK, learning_rates={4: 0.5}), torch=1.0, reference=1.0)


def side(name, variant="eager", dtype="float64"):
    return Side(name, SimpleNamespace(), get_backend(name), dtype, variant)


class TestSteps:
    """Variables and compiled steps."""

    @pytest.mark.parametrize("name", ["torch", "tf", "reference"])
    @pytest.mark.parametrize("shape", [SHAPE, (), (1,)])
    def test_variables_are_copies_and_can_be_written(self, name, shape):
        array = np.ones(shape)
        variable = make_variable(side(name), array)
        array += 1
        to_numpy = side(name).backend.to_numpy
        np.testing.assert_array_equal(to_numpy(variable), np.ones(shape))
        write_variable(variable, np.full(shape, 5.0))
        np.testing.assert_array_equal(to_numpy(variable), np.full(shape, 5.0))
        assert to_numpy(variable).shape == shape

    @pytest.mark.parametrize("name", ["torch", "tf"])
    def test_variables_have_the_sides_dtype_and_counters_stay_integers(self, name):
        to_numpy = side(name).backend.to_numpy
        assert to_numpy(make_variable(side(name, dtype="float32"), np.ones(2))).dtype == "float32"
        assert to_numpy(make_variable(side(name), np.ones(2, np.int64))).dtype == "int64"

    @pytest.mark.parametrize("variant", ["function", "xla"])
    def test_traces_of_tensorflow_are_counted(self, variant):
        step = make_step(side("tf", variant), lambda x, factor: x * factor)
        tensor = side("tf").backend.tensor(np.ones(2))
        assert step.traces() == 0
        for factor in (2, 2, 3):  # a Python number is part of the trace
            step.call(tensor, factor)
        assert step.traces() == 2

    def test_compilations_of_torch_are_counted(self, monkeypatch):
        monkeypatch.setattr(torch._dynamo, "lookup_backend", lambda _: lambda graph, _inputs: graph)
        torch._dynamo.reset()
        step = make_step(side("torch", "compile"), lambda x, factor: x * factor)
        assert step.traces() == 0
        for size in (2, 2, 1):  # a size of 1 is never the general case
            step.call(torch.ones(size), torch.ones(()))
        assert step.traces() == 2
        torch._dynamo.reset()

    def test_a_graph_break_is_an_error(self):
        torch._dynamo.reset()

        def broken(x):
            torch._dynamo.graph_break()
            return x + 1

        with pytest.raises(torch._dynamo.exc.Unsupported, match="graph_break"):
            make_step(side("torch", "compile"), broken).call(torch.ones(2))

    def test_an_unknown_variant_is_refused(self):
        with pytest.raises(InvalidInput, match="no variant 'xla'"):
            make_step(side("torch", "xla"), lambda x: x)
