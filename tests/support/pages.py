"""Reports to look at."""

from __future__ import annotations

from typing import Any

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
    where = {"torch": "port.py:11: x = self.norm(x)", "tf": "port.py:31: x = norm(x)"}
    subject = {
        "torch": "port.py:mine",
        "tf": "port.py:yours",
        "layers": [{**row, "where": where} for row in rows],
        "table": rows,
        "tried": [
            _tried("norm-epsilon", "epsilon=1e-05", 8.9e-16),
            _tried("training-mode", "training=True", 0.0071),
        ],
    }
    cause = {
        "cause": "norm-epsilon",
        "text": "epsilon is 1e-05 in torch and 0.001 in Keras",
        "fix": "keras.layers.LayerNormalization(epsilon=1e-05)",
        "before": 0.0074,
        "after": 8.9e-16,
        "docs": "docs/porting.md#norm-epsilon",
    }
    return report.with_(subject=subject, causes=(cause,), reproduce="parity check a.py:x b.py:y")


def _tried(cause: str, what: str, after: float | None, place: str = "body.1") -> dict[str, Any]:
    removes = after is not None and after < 1e-12
    return {"cause": cause, "place": place, "what": what, "trials": 1, "before": 0.0074,
            "after": after, "removes": removes}  # fmt: skip


def hostile() -> Report:
    """A report whose names are attacks on the page, wherever a name can stand."""
    rng = np.random.default_rng(0)
    torch = {name: rng.normal(size=(3, 5)) for name in HOSTILE}
    torch |= {f"forward/{name}/output": rng.normal(size=(3, 5)) for name in HOSTILE}
    with collecting():
        report = compare(torch=torch, tf={name: a + 1e-3 for name, a in torch.items()})
    rows = [
        {"torch": name, "tf": f"in/{name}", "kind": name, "propagated": 1e-3, "local": 1e-3,
         "verdict": "differs", "where": {"torch": name, "tf": f"port.py:1: {name}"}}
        for name in HOSTILE
    ]  # fmt: skip
    subject = {
        "torch": HOSTILE[0], "tf": HOSTILE[1], "layers": rows, "table": rows,
        "only_torch": HOSTILE, "only_tf": HOSTILE, "only_at": {"torch": [0] * len(HOSTILE)},
        "tried": [_tried(name, name, None, name) for name in HOSTILE],
    }  # fmt: skip
    cause = dict.fromkeys(("cause", "text", "fix", "place", "docs"), HOSTILE[1])
    return report.with_(subject=subject, causes=(cause,), reproduce=HOSTILE[0])


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
