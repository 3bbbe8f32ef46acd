"""The sentence and the error of a cause, where its facts leave something out."""

from __future__ import annotations

from typing import Any

import pytest

from parity.diagnose.wording import text_of
from parity.message import opening, render
from parity.report import Report
from parity.verdict import Verdict


@pytest.mark.parametrize(
    ("line", "said"),
    [("loss.py:3: x + h", " there (loss.py:3: x + h)"), (": ", " there")],
)
def test_a_term_without_a_line_of_torch_names_none(line: str, said: str) -> None:
    facts = {"term": "h", "sign": "+", "torch_line": line}
    assert text_of("missing-term", facts).endswith("+ `h`" + said)


@pytest.mark.parametrize("tf", ["as it is", "it is"])
def test_as_is_said_once(tf: str) -> None:
    facts = {"source": "fc", "torch": "mapped by tanh", "tf": tf, "entry": "1"}
    text = text_of("other-function", facts)
    assert text.endswith("torch makes '1' as mapped by tanh, the tf side as it is")


def _latent(*causes: dict[str, Any]) -> Report:
    return Report(sides=("torch", "tf"), entries=(), verdict=Verdict.LATENT, causes=causes)


def test_a_rounded_value_is_not_said_to_be_hidden_by_the_data() -> None:
    rounded = {"cause": "float32-inside", "text": "a rate of float32", "fix": ""}
    told = render(_latent(rounded))
    assert "rounding to float32" in opening(_latent(rounded))
    assert "data" not in opening(_latent(rounded)) and "hidden" not in told
    for other in (_latent(), _latent(rounded, {**rounded, "cause": "epsilon-placement"})):
        assert "other data may show it" in opening(other)
