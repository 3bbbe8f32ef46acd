"""TF32 and autocast are noticed and named: by settings, by a probe, and from the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parity.backends import get_backend
from parity.backends.reduced import probes, use_full_precision
from parity.golden import record_runs
from parity.recorder import ParityRecorder
from parity.reduced import (
    FLOAT32_BITS,
    TF32_BITS,
    kept_bits,
    name_reduced,
    reduced_precision,
    round_mantissa,
)
from parity.report import Report
from parity.runner import load_siblings
from tests.gpu.cases import Case, eager_cases
from tests.gpu.conftest import Stage
from tests.gpu.test_gpu import against_golden, check, record

pytestmark = pytest.mark.gpu

ACTOR = next(c for c in eager_cases() if c.check.label == "module.make_actor")


def plant_rounding(patch: pytest.MonkeyPatch, framework: str) -> None:
    """Round the inputs of dense layers to 10 mantissa bits, in float32 only, as TF32 does."""
    if framework == "torch":
        import torch

        original = torch.nn.functional.linear

        def linear(x: Any, weight: Any, bias: Any = None) -> Any:
            if x.dtype is torch.float32:
                x, weight = _torch_rounded(x), _torch_rounded(weight)
            return original(x, weight, bias)

        patch.setattr(torch.nn.functional, "linear", linear)
        return
    import keras

    original_call = keras.layers.Dense.call

    def call(layer: Any, inputs: Any, training: Any = None) -> Any:
        if layer.compute_dtype == "float32":
            inputs = _tf_rounded(inputs)
        return original_call(layer, inputs)

    patch.setattr(keras.layers.Dense, "call", call)


def _torch_rounded(x: Any) -> Any:
    """By clearing bits of the pattern, half of what is cut off added first."""
    import torch

    cut = FLOAT32_BITS - TF32_BITS
    bits = x.detach().view(torch.int32) + (1 << (cut - 1))
    rounded = ((bits >> cut) << cut).view(torch.float32)
    return x + (rounded - x).detach()  # the gradient passes as if nothing had been rounded


def _tf_rounded(x: Any) -> Any:
    import tensorflow as tf

    cut = FLOAT32_BITS - TF32_BITS
    bits = tf.bitcast(x, tf.int32) + (1 << (cut - 1))
    rounded = tf.bitcast(tf.bitwise.left_shift(tf.bitwise.right_shift(bits, cut), cut), tf.float32)
    return x + tf.stop_gradient(rounded - x)


def test_every_product_keeps_float32(stage: Stage) -> None:
    for framework in stage.frameworks:
        for name, product in probes(framework, stage.device).items():
            assert kept_bits(product) == FLOAT32_BITS, f"{framework} {name}"
    assert reduced_precision(stage.frameworks, stage.device) == []


def test_planted_rounding_is_detected_and_named(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for framework in stage.frameworks:
        with monkeypatch.context() as patch:
            plant_rounding(patch, framework)
            report = against_golden(ACTOR, stage, record(ACTOR, stage))
            wide = Case(ACTOR.component, ACTOR.check, "float64")
            evidence = against_golden(wide, stage, record(wide, stage))
            probed = reduced_precision((framework,), stage.device)
        assert not report.passed
        assert evidence.passed, "float64 is not rounded"
        assert report.failing[0].name.endswith("l1/output")
        why = name_reduced(report, evidence)
        assert why is not None
        assert why.startswith(f"{framework}: in float64 it agrees")
        assert "about 10 mantissa bits leave: TF32 or float16" in why
        assert any(f"keeps {TF32_BITS} of 23 mantissa bits" in line for line in probed), probed


def test_the_failure_of_a_check_names_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    class Quiet(ParityRecorder):
        def _record(self, report: Report, identifier: str) -> None:
            """A planted failure is none of this run's results."""

    plant_rounding(monkeypatch, stage.frameworks[0])
    with pytest.raises(pytest.fail.Exception, match=r"reduced precision: .* 10 mantissa bits"):
        check(ACTOR, stage, record(ACTOR, stage), Quiet(request.node))


def test_autocast_is_named(stage: Stage) -> None:
    if "torch" not in stage.frameworks:
        pytest.skip("torch is not here")
    import torch

    with torch.autocast(stage.device, dtype=torch.bfloat16):
        found = reduced_precision(("torch",), stage.device)
    assert any("torch matmul" in line and "keeps 7 of 23" in line for line in found)
    assert all("autocast to bfloat16 is on (torch.autocast)" in line for line in found)


def test_mixed_precision_of_keras_is_named(stage: Stage) -> None:
    if "tf" not in stage.frameworks:
        pytest.skip("tensorflow is not here")
    import keras

    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        found = reduced_precision(("tf",), stage.device)
    finally:
        keras.config.set_dtype_policy("float32")
    assert any("tf Dense" in line and "mixed_bfloat16" in line for line in found)


def test_tf32_is_named(stage: Stage) -> None:
    """With the real switch, where the hardware has one."""
    if stage.device == "cpu":
        pytest.skip("TF32 is a format of GPUs; the planted rounding stands in for it here")
    for framework in stage.frameworks:
        try:
            switch_tf32_on(framework)
            found = reduced_precision((framework,), stage.device)
        finally:
            use_full_precision(framework)
        assert any("TF32 is on" in line for line in found), found


def switch_tf32_on(framework: str) -> None:
    if framework == "torch":
        import torch

        torch.backends.cuda.matmul.allow_tf32 = True
    else:
        import tensorflow as tf

        tf.config.experimental.enable_tensor_float_32_execution(True)


def test_rounded_inputs_of_a_function_are_named(stage: Stage) -> None:
    """The data alone: nothing is rounded but what one side is given."""
    case = next(c for c in eager_cases() if c.check.label == "function.td_target")
    siblings = load_siblings("impls.returns", (*stage.frameworks, "reference"))
    framework = stage.frameworks[0]

    def rounding(tensor: Any) -> Any:
        def rounded(array: np.ndarray, **keywords: Any) -> Any:
            if np.dtype(keywords.get("dtype") or array.dtype) == np.float32:
                array = round_mantissa(array, TF32_BITS)
            return tensor(array, **keywords)

        return rounded

    backend = get_backend(framework)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "tensor", rounding(backend.tensor))
        runs = record_runs(case.check, siblings, device=stage.device)
    wide = Case(case.component, case.check, "float64")
    report, evidence = against_golden(case, stage, runs), against_golden(wide, stage, runs)
    assert not report.passed and evidence.passed
    assert "about 10 mantissa bits" in (name_reduced(report, evidence) or "")
