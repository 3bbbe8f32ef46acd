"""Runs of pytest inside a test, with the plugin as users have it."""

from __future__ import annotations

import pytest

AGREEING = """
import numpy as np

def test_critic(parity):
    values = np.linspace(-1, 1, 13, dtype=np.float32)
    parity.compare(torch={"q": values}, tf={"q": values + np.float32(1e-7)})
"""

DIFFERING = """
import numpy as np

def test_critic(parity):
    values = np.linspace(-1, 1, 13, dtype=np.float32)
    parity.compare(torch={"q": values}, tf={"q": values + np.float32(1e-3)})
"""


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PARITY_REQUIRE", "PY_COLORS", "FORCE_COLOR", "NO_COLOR", "PYTEST_ADDOPTS",
                 "GITHUB_ACTIONS"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
