"""Reports to look at."""

from __future__ import annotations

import numpy as np

from parity.api import compare
from parity.details import collecting
from parity.report import Report

HOSTILE = (
    "<script>document.title = 'run'</script>",
    "</script><img src=x onerror=\"document.title = 'run'\">",
    "\x1b[31mred",
    "\u202eright to left",
    "party 🎉",
    '" onmouseover="document.title = 1',
    "x" * 10_000,
    "nul\x00inside",
)
"""Names that would do harm where they were not escaped."""


def network(layers: int) -> Report:
    """A report as of two modules that part in their second layer."""
    rng = np.random.default_rng(0)
    torch: dict[str, np.ndarray] = {}
    for i in range(layers):
        torch[f"forward/body.{i}/input"] = rng.normal(size=(13, 7)).astype(np.float32)
        torch[f"forward/body.{i}/output"] = rng.normal(size=(13, 5)).astype(np.float32)
        torch[f"grad/body.{i}/kernel"] = rng.normal(size=(7, 5)).astype(np.float32)
        torch[f"grad/body.{i}/bias"] = rng.normal(size=5).astype(np.float32)
    tf = dict(torch)
    tf["forward/body.1/output"] = torch["forward/body.1/output"] * np.float32(1.001)
    rows = [
        {
            "torch": f"body.{i}",
            "tf": f"body/dense_{i}",
            "kind": "dense",
            "propagated": 0.003 if i else 0.0,
            "local": 0.003 if i == 1 else 1e-16,
            "verdict": "differs" if i == 1 else "agree",
        }
        for i in range(layers)
    ]
    with collecting():
        report = compare(torch=torch, tf=tf)
    subject = {"torch": "port.py:mine", "tf": "port.py:yours", "layers": rows, "table": rows}
    cause = {
        "cause": "norm-epsilon",
        "text": "epsilon is 1e-05 in torch and 0.001 in Keras",
        "fix": "keras.layers.LayerNormalization(epsilon=1e-05)",
        "before": 0.0074,
        "after": 8.9e-16,
        "docs": "docs/porting.md#norm-epsilon",
    }
    return report.with_(subject=subject, causes=(cause,), reproduce="parity check a.py:x b.py:y")


def hostile() -> Report:
    """A report whose names are attacks on the page."""
    rng = np.random.default_rng(0)
    torch = {name: rng.normal(size=(3, 5)) for name in HOSTILE}
    with collecting():
        return compare(torch=torch, tf={name: a + 1e-3 for name, a in torch.items()})


def long(entries: int) -> Report:
    """A trace of many entries, the second half of which differs."""
    rng = np.random.default_rng(0)
    torch = {f"step/{i}/value": rng.normal(size=7).astype(np.float32) for i in range(entries)}
    tf = {
        name: a + np.float32(1e-4) if i >= entries // 2 else a.copy()
        for i, (name, a) in enumerate(torch.items())
    }
    with collecting():
        return compare(torch=torch, tf=tf)
