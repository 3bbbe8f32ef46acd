"""Results of a run, as ``--parity-json`` writes them, for tests of what reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ENVIRONMENT = {"processor": "x86_64", "cpu": "one avx2", "numpy": "2.4", "torch": "2.13"}


def row(name: str = "returns/function.td_target[batch]-float32-eager", **fields: Any) -> Any:
    """A check that agrees, with some fields replaced."""
    return {
        "id": name,
        "component": "returns",
        "case": "batch",
        "check": "function.td_target",
        "dtype": "float64" if "float64" in name else "float32",
        "mode": "eager",
        "device": "cpu",
        "verdict": "agree",
        "max_abs": 2e-7,
        "max_rel": 2e-7,
        "max_ulp": 2.0,
        "needed": 2e-7,
        "allowed": 1e-6,
        "headroom": 0.2,
        "problem": None,
        "values_compared": 91,
        "compiles": {},
        "first_divergence": None,
        "problems": [],
        "causes": [],
        "evidence": None,
        **fields,
    }


def document(*rows: Any, **parts: Any) -> dict[str, Any]:
    """A document of these rows."""
    whole = {
        "schema": 1,
        "totals": {"checks": len(rows)},
        "environment": ENVIRONMENT,
        "checks": list(rows),
        "skipped": [],
        "errors": [],
    }
    return {**whole, **parts}


def write(path: Path, *rows: Any, **parts: Any) -> Path:
    """The document in a file."""
    path.write_text(json.dumps(document(*rows, **parts)))
    return path
