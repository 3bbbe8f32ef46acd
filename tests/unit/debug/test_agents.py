"""Two agents in one environment: the first step at which they part, and the network behind it."""

from __future__ import annotations

from typing import Any

import pytest

from parity.debug.check import check
from parity.errors import InvalidInput
from parity.verdict import Verdict

pytest.importorskip("torch")
pytest.importorskip("tensorflow")
pytest.importorskip("gymnasium")
from tests.unit.debug import agents as a


def compare(tf: Any, **options: Any) -> Any:
    return check(a.TorchAgent, tf, **{"environment": a.make_environment, "steps": 20, **options})


@pytest.mark.parametrize("tf", [a.KerasAgent, a.TensorAgent])
def test_equal_agents_agree_forced_and_free(tf: Any) -> None:
    report = compare(tf)
    assert report.verdict in (Verdict.AGREE, Verdict.CHAOS), str(report)
    assert {e.name.split("/")[0] for e in report.entries} == {"forced", "free"}
    assert report.subject["networks"]["actor"] in ("agree", "rounding")


@pytest.mark.parametrize(
    ("tf", "cause", "place"),
    [
        (a.Unscaled, "action-scale", "forced/step/0/action"),
        (a.WrongEpsilon, "norm-epsilon", "actor/1"),
        (a.Noisy, "agent-noise", "forced/step/0/action"),
        (a.Preprocesses, "extra-operation", "action"),
        (a.Backwards, "observation-layout", "action"),
    ],
)
def test_a_fault_is_placed_and_named(tf: Any, cause: str, place: str) -> None:
    report = compare(tf)
    assert report.verdict is Verdict.DIVERGE, str(report)
    assert str(report.subject["place"]).endswith(place), str(report)
    assert not cause or cause in [c["cause"] for c in report.causes], str(report)


def test_a_squashing_function_left_out_is_named() -> None:
    report = check(a.TorchUnit, a.Unsquashed, environment=a.make_environment, steps=20)
    assert report.causes[0]["cause"] == "missing-operation", str(report)
    assert "tanh" in report.causes[0]["text"]


def test_bare_networks_act_by_their_outputs() -> None:
    report = check(a.torch_network, a.keras_network, environment=a.make_environment, steps=10)
    assert report.verdict in (Verdict.AGREE, Verdict.CHAOS), str(report)


@pytest.mark.parametrize(
    ("tf", "options", "says"),
    [
        (a.KerasAgent, {"environment": None}, "--env"),
        (a.Raises, {}, "KeyError"),
        (a.KerasAgent, {"environment": "CartPoole-v1"}, "CartPole"),
        (a.KerasAgent, {"environment": a.KerasAgent}, "not an environment"),
    ],
)
def test_misuse_is_one_sentence(tf: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        compare(tf, **options)
    assert says in str(raised.value)
