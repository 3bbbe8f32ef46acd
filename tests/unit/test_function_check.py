"""The function check finds what it is for, at the entry where it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

from parity.backends import get_backend
from parity.checks import cast, cotangents_for, rng_for
from parity.checks.function import FunctionCheck
from parity.component import Side
from parity.errors import InvalidInput
from parity.report import Report, build_report
from parity.verdict import Verdict

B = 13


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"q": rng.normal(size=B), "target": rng.normal(size=B)}


def torch_loss(q: Any, target: Any, *, reduction: str = "mean", scale: float = 1.0) -> Any:
    values = scale * (q - target.detach()) ** 2
    return values.mean() if reduction == "mean" else values


def tf_loss(q: Any, target: Any, *, reduction: str = "mean", scale: float = 1.0) -> Any:
    values = scale * (q - tf.stop_gradient(target)) ** 2
    return tf.reduce_mean(values) if reduction == "mean" else values


def reference_loss(
    q: np.ndarray, target: np.ndarray, *, reduction: str = "mean", scale: float = 1.0
) -> np.ndarray:
    values = scale * (q - target) ** 2
    return np.mean(values) if reduction == "mean" else values


def reference_loss_vjp(
    *,
    cotangents: Mapping[str, np.ndarray],
    q: np.ndarray,
    target: np.ndarray,
    reduction: str = "mean",
    scale: float = 1.0,
) -> dict[str, np.ndarray]:
    weight = cotangents["value"] / q.size if reduction == "mean" else cotangents["value"]
    return {"q": weight * scale * 2.0 * (q - target)}


GOOD = {"torch": torch_loss, "tf": tf_loss, "reference": reference_loss}


def side(name: str, function: Callable[..., Any], dtype: str, variant: str = "eager") -> Side:
    impl = SimpleNamespace(__name__=name, loss=function, loss_vjp=reference_loss_vjp)
    dtype = "float64" if name == "reference" else dtype
    return Side(name, impl, get_backend(name), dtype, variant)  # type: ignore[arg-type]


def run(
    dtype: str = "float64",
    *,
    variants: Mapping[str, str] | None = None,
    impls: Mapping[str, Callable[..., Any]] = GOOD,
    **changes: Any,
) -> Report:
    fields: dict[str, Any] = {
        "inputs": inputs,
        "gradients": ("q",),
        "no_gradient": ("target",),
        "per_sample": {"reduction": "none"},
        **changes,
    }
    check = FunctionCheck(name="loss", case="batch", **fields)
    recording = check.record(
        {
            name: side(name, f, dtype, (variants or {}).get(name, "eager"))
            for name, f in impls.items()
        }
    )
    return build_report(
        recording.traces,
        problems=recording.problems,
        expect_zero=check.expect_zero,
        dtype=dtype,
    )


def names(report: Report) -> list[str]:
    return [entry.name for entry in report.failing]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_correct_trio_agrees_on_every_entry(dtype: str) -> None:
    report = run(dtype)
    assert report.verdict is Verdict.AGREE
    assert [entry.name for entry in report.entries] == [
        "output/value",
        "grad/q",
        "no_grad/target",
        "per_sample/value",
        "per_sample_grad/q",
    ]
    assert report.values_compared == 1 + 4 * B


def test_options_reach_every_side() -> None:
    doubled = run(options={"scale": 2.0})
    assert doubled.verdict is Verdict.AGREE
    first, second = (r.entries[0].differences[0].values for r in (run(), doubled))
    assert first is not None
    assert second is not None
    assert second[0] == pytest.approx(2 * first[0])


@pytest.mark.parametrize("framework", ["torch", "tf"])
def test_a_wrong_factor_is_found(framework: str) -> None:
    impls = {**GOOD, framework: lambda **kw: 0.5 * GOOD[framework](**kw)}
    report = run(impls=impls)
    assert report.verdict is Verdict.DIVERGE
    assert names(report) == ["output/value", "grad/q", "per_sample/value", "per_sample_grad/q"]


def test_errors_that_cancel_in_the_mean_are_found_per_sample() -> None:
    def shuffled(q: Any, target: Any, *, reduction: str = "mean") -> Any:
        values = tf_loss(q, target, reduction="none")
        return tf.reduce_mean(values) if reduction == "mean" else tf.reverse(values, [0])

    report = run(impls={**GOOD, "tf": shuffled})
    assert names(report) == ["per_sample/value", "per_sample_grad/q"]


def test_right_value_with_a_wrong_gradient_is_found() -> None:
    def detached_half(q: Any, target: Any, *, reduction: str = "mean") -> Any:
        return torch_loss(0.5 * q + 0.5 * q.detach(), target, reduction=reduction)

    report = run(impls={**GOOD, "torch": detached_half})
    assert names(report) == ["grad/q", "per_sample_grad/q"]


@pytest.mark.parametrize("framework", ["torch", "tf"])
def test_a_missing_stop_gradient_is_found(framework: str) -> None:
    def torch_leaks(q: Any, target: Any, *, reduction: str = "mean") -> Any:
        values = (q - target) ** 2
        return values.mean() if reduction == "mean" else values

    def tf_leaks(q: Any, target: Any, *, reduction: str = "mean") -> Any:
        values = (q - target) ** 2
        return tf.reduce_mean(values) if reduction == "mean" else values

    leaks = {"torch": torch_leaks, "tf": tf_leaks}
    report = run(impls={**GOOD, framework: leaks[framework]})
    assert report.verdict is Verdict.DIVERGE
    assert names(report) == ["no_grad/target"]
    assert [(p.kind, p.name, p.details["side"]) for p in report.problems] == [
        ("gradient", "no_grad/target", framework)
    ]


def test_missing_on_all_sides_is_found_too() -> None:
    def leaks(q: Any, target: Any, *, reduction: str = "mean") -> Any:
        values = (q - target) ** 2
        return values.mean() if reduction == "mean" else values

    def tf_leaks(q: Any, target: Any, *, reduction: str = "mean") -> Any:
        values = (q - target) ** 2
        return tf.reduce_mean(values) if reduction == "mean" else values

    report = run(impls={"torch": leaks, "tf": tf_leaks})
    assert report.failing == ()
    assert report.verdict is Verdict.DIVERGE
    assert [p.details["side"] for p in report.problems] == ["torch", "tf"]


def test_an_extra_stop_gradient_is_found() -> None:
    stopped = {**GOOD, "tf": lambda q, **kw: tf_loss(tf.stop_gradient(q), **kw)}
    report = run(impls=stopped)
    assert names(report) == ["grad/q", "per_sample_grad/q"]
    assert {(p.name, p.details["side"], p.details["found"]) for p in report.problems} == {
        ("grad/q", "tf", "none"),
        ("per_sample_grad/q", "tf", "none"),
    }


def column(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"q": rng.normal(size=B), "target": rng.normal(size=(B, 1))}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_silent_broadcasting_is_found_although_all_sides_do_it(dtype: str) -> None:
    report = run(dtype, inputs=column, gradients=(), no_gradient=(), per_sample=None)
    assert report.failing == ()
    assert report.verdict is Verdict.DIVERGE
    found = {p.details["side"]: p for p in report.problems}
    assert set(found) == {"torch", "tf"}
    for problem in found.values():
        assert problem.kind == "broadcast"
        assert problem.details["result"] == [B, B]
        assert __file__ in problem.details["where"]
        assert "target" in problem.details["where"]


def test_meant_broadcasting_is_allowed() -> None:
    report = run(inputs=column, gradients=(), no_gradient=(), per_sample=None, allow_broadcast=True)
    assert report.verdict is Verdict.AGREE


def test_torch_losses_are_seen_before_they_expand_and_do_not_warn() -> None:
    impls = {
        "torch": lambda q, target: torch.nn.functional.mse_loss(q, target),
        "tf": lambda q, target: tf.reduce_mean((q - target) ** 2),
    }
    report = run(impls=impls, inputs=column, gradients=(), no_gradient=(), per_sample=None)
    assert [p.details["operation"] for p in report.problems] == ["mse_loss", "Sub"]


def test_compiled_variants_are_compared_and_watched() -> None:
    variants = {"torch": "eager", "tf": "function"}
    assert run(variants=variants).verdict is Verdict.AGREE
    assert run(variants={"torch": "eager", "tf": "xla"}).verdict is Verdict.AGREE
    report = run(variants=variants, inputs=column, gradients=(), no_gradient=(), per_sample=None)
    assert {p.details["side"] for p in report.problems} == {"torch", "tf"}


def test_several_outputs_are_named_and_integers_have_no_gradient() -> None:
    def torch_pair(q: Any, action: Any) -> Any:
        return {"scaled": 2.0 * q, "argmax": torch.argmax(q), "action": action + 1}

    def tf_pair(q: Any, action: Any) -> Any:
        return {"scaled": 2.0 * q, "argmax": tf.argmax(q), "action": action + 1}

    def data(rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"q": rng.normal(size=B), "action": rng.integers(1, 5, size=B, dtype=np.int32)}

    impls = {"torch": torch_pair, "tf": tf_pair}
    report = run(impls=impls, inputs=data, no_gradient=(), per_sample=None)
    assert report.verdict is Verdict.AGREE
    assert [e.name for e in report.entries] == [
        "output/scaled",
        "output/argmax",
        "output/action",
        "grad/q",
    ]
    for name in ("torch", "tf"):
        with pytest.raises(InvalidInput, match=r"'action' holds .*int64.*no gradient"):
            run(
                impls={name: impls[name]},
                inputs=data,
                gradients=("action",),
                no_gradient=(),
                per_sample=None,
            )


def test_an_all_zero_gradient_proves_nothing() -> None:
    def data(rng: np.random.Generator) -> dict[str, np.ndarray]:
        q = rng.normal(size=B)
        return {"q": q, "target": q}

    assert run(inputs=data).verdict is Verdict.INVALID


def test_every_side_sees_the_same_numbers() -> None:
    seen: dict[tuple[str, str], np.ndarray] = {}

    def spy(name: str, dtype: str) -> Callable[..., Any]:
        def loss(q: Any, target: Any) -> Any:
            seen[name, dtype] = np.array(get_backend(name).to_numpy(q))
            return q

        return loss

    for dtype in ("float32", "float64"):
        impls = {name: spy(name, dtype) for name in GOOD}
        run(dtype, impls=impls, gradients=(), no_gradient=(), per_sample=None)
    values = list(seen.values())
    assert {str(v.dtype) for v in values} == {"float32", "float64"}
    assert all(np.array_equal(v, values[0]) for v in values)


def test_cast_rounds_to_float32_first() -> None:
    value = np.array([0.1])
    assert cast(value, "float64")[0] == np.float64(np.float32(0.1)) != 0.1
    assert cast(np.array([3], np.int32), "float32").dtype == np.int64
    assert cast(np.array([True]), "float32").dtype == np.bool_


def test_seeds_follow_from_names_alone() -> None:
    def check(case: str) -> FunctionCheck:
        return FunctionCheck(name="loss", case=case, inputs=inputs)

    draws = [rng_for(check(case)).normal() for case in ("a", "a", "b")]
    assert draws[0] == draws[1] != draws[2]
    one, two = (cotangents_for(check("a"), scope)("value", (B,)) for scope in ("", "per_sample"))
    assert np.array_equal(one, cotangents_for(check("a"))("value", (B,)))
    assert not np.array_equal(one, two)
    assert np.abs(one).min() >= 0.5


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"gradients": ("p",)}, r"no input \['p'\]; there are \['q', 'target'\]"),
        ({"no_gradient": ("q",)}, r"\['q'\] both with and without"),
    ],
)
def test_a_wrong_declaration_is_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        run(**changes)


def test_a_reference_without_its_gradient_is_refused() -> None:
    bare = side("reference", reference_loss, "float64")
    del bare.impl.loss_vjp
    check = FunctionCheck(name="loss", case="c", inputs=inputs, gradients=("q",))
    with pytest.raises(InvalidInput, match=r"reference needs a function\s+loss_vjp"):
        check.record({"reference": bare})
