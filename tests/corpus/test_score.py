"""The score of `make corpus` counts what it says it counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

from parity.report import Report
from parity.verdict import Verdict
from scripts import corpus
from scripts.corpus_pairs import Pair


def torch_halved(x: torch.Tensor) -> torch.Tensor:
    return x.square() / 2


def tf_halved(x: tf.Tensor) -> tf.Tensor:
    return tf.square(x) / 2


def tf_whole(x: tf.Tensor) -> tf.Tensor:
    return tf.square(x)


def pair(**changes: Any) -> Pair:
    given: dict[str, Any] = {
        "name": "loss/half",
        "kind": "loss",
        "torch": torch_halved,
        "fixed": tf_halved,
        "buggy": tf_whole,
        "inputs": {"x": np.float32([1.0, -2.0, 3.0])},
        "causes": ("factor-two|constant-factor",),
        "places": ("output",),
    }
    return Pair(**{**given, **changes})


def test_a_fault_is_detected_and_placed() -> None:
    found = corpus.score(pair(), "buggy")
    assert (found.said, found.detected, found.placed) == ("diverge", True, (True,))
    assert not corpus.score(pair(), "fixed").detected


def test_a_wrong_place_and_cause_are_counted_as_missing() -> None:
    found = corpus.score(pair(places=("grad/x",), causes=("nonsense",)), "buggy")
    assert found.detected and found.placed == (False,) and found.explained == (False,)


def test_what_is_not_detected_or_raises_is_counted() -> None:
    assert not corpus.score(pair(buggy=tf_halved), "buggy").detected
    assert corpus.score(pair(fixed=tf_whole), "fixed").detected
    assert corpus.score(
        pair(inputs={"y": np.float32([1.0]), "z": np.float32([1.0])}), "fixed"
    ).detected
    assert not corpus.score(pair(torch=None), "buggy").detected


@pytest.mark.parametrize(
    ("name", "place", "there"),
    [
        ("forward/body/norm/output", "body/norm", True),
        ("forward/body/norm2/output", "body/norm", False),
        ("forward/out/input", "out/input", True),
        ("forward/out/output", "out/input", False),
        ("output/value", "output", True),
        ("grad_output/body", "grad/body", True),
        ("step/1/param/kernel", "step/1", True),
        ("step/12/param/kernel", "step/1", False),
        ("env/17/reward", "reward", True),
        ("forward/pool/output", "out|pool", True),
    ],
)
def test_places(name: str, place: str, there: bool) -> None:
    assert corpus.at(name, place) is there


def test_latent_is_an_alarm_unless_the_framework_rounds_inside() -> None:
    report = Report(sides=("torch", "tf"), entries=(), verdict=Verdict.LATENT)
    assert not corpus.passes(report)
    assert corpus.passes(report.with_(subject={"float32_inside": ["act"]}))


FLAT = """
import torch, tensorflow as tf
CATEGORY, FIRST_DIVERGENCE = "loss", "out"
transfer = None
def build_torch(): return lambda x: (torch.from_numpy(x) ** 2).numpy()
def build_tf_fixed(): return lambda x: tf.square(x).numpy()
def build_tf_buggy(): return lambda x: {buggy}
def inputs(seed):
    import numpy as np
    return [np.float32([1.0, 2.0, -3.0])]
"""


@pytest.mark.parametrize(("buggy", "code"), [("-tf.square(x).numpy()", 0), ("(x * x)", 1)])
def test_a_flat_folder(
    tmp_path: Path, buggy: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c1_square.py").write_text(FLAT.format(buggy=buggy), encoding="utf-8")
    truth = tmp_path / "truth.json"
    truth.write_text('{"c1_square": {"cause": "sign", "place": "output"}}', encoding="utf-8")
    assert corpus.main(["--cases", str(tmp_path), "--truth", str(truth)]) == code
    assert capsys.readouterr().out.splitlines()[-1].split()[:3] == ["all", "1", str(1 - code)]


def test_nothing_to_score_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert corpus.main(["no such case"]) == 2
    assert "no such case" in capsys.readouterr().err
