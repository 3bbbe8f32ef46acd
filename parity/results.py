"""What a run of the suite found: one row per check, what was skipped and why, what raised.

The rows are :meth:`parity.report.Report.summary`; the document is what ``--parity-json`` writes.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from parity.errors import InvalidInput
from parity.fingerprint import fingerprint
from parity.report import SCHEMA
from parity.requirements import VARIABLE
from parity.trace import write_atomic
from parity.verdict import Verdict

Row = dict[str, Any]

SEVERITY = {
    verdict.value: rank
    for rank, verdict in enumerate(
        (
            Verdict.AGREE,
            Verdict.ROUNDING,
            Verdict.CHAOS,
            Verdict.LATENT,
            Verdict.DIVERGE,
            Verdict.INVALID,
        )
    )
}
"""Verdict -> how bad it is; the worst leads."""


@dataclass
class Results:
    """The outcome of every test that ran, by node id.

    Attributes:
        rows: node id -> the rows that the test recorded.
        skipped: node id -> reason.
        errors: node id -> why it failed although no row of it is bad: it raised.
        silent: node ids of passed tests marked ``parity`` that recorded no comparison.
    """

    rows: dict[str, list[Row]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)

    @property
    def checks(self) -> list[Row]:
        """All rows, ordered by id."""
        return sorted((row for rows in self.rows.values() for row in rows), key=lambda r: r["id"])

    @property
    def duplicates(self) -> list[str]:
        """Ids that more than one row carries: a gate could not tell these apart."""
        counts = Counter(row["id"] for row in self.checks)
        return sorted(name for name, count in counts.items() if count > 1)

    def totals(self) -> dict[str, int]:
        """Number of checks, of each verdict, of skipped checks and errors, and of values."""
        verdicts = Counter(row["verdict"] for row in self.checks)
        return {
            "checks": len(self.checks),
            **{name: verdicts.get(name, 0) for name in SEVERITY},
            "skipped": len(self.skipped),
            "errors": len(self.errors),
            "values_compared": sum(row["values_compared"] for row in self.checks),
        }

    def document(self) -> dict[str, Any]:
        """The ``--parity-json`` document, schema 1."""
        return {
            "schema": SCHEMA,
            "totals": self.totals(),
            "environment": environment(),
            "checks": self.checks,
            "skipped": [{"id": k, "reason": v} for k, v in sorted(self.skipped.items())],
            "errors": [{"id": k, "message": v} for k, v in sorted(self.errors.items())],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document; the file appears whole or not at all."""
        text = json.dumps(plain(self.document()), indent=1, allow_nan=False)
        write_atomic(Path(path), text.encode() + b"\n")


def read_results(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The document that ``--parity-json`` wrote.

    Raises:
        InvalidInput: the file is missing, or holds something else.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise InvalidInput(f"{path}: not JSON ({error})") from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise InvalidInput(f"{path}: not a result of --parity-json of schema {SCHEMA}")
    if lacking := _PARTS - document.keys():
        raise InvalidInput(f"{path}: lacks {', '.join(sorted(lacking))}")
    for number, row in enumerate(document["checks"]):
        lacking = _ROW - (row.keys() if isinstance(row, dict) else set())
        if lacking or row["verdict"] not in SEVERITY:
            what = f"lacks {', '.join(sorted(lacking))}" if lacking else "has no known verdict"
            raise InvalidInput(f"{path}: check {number} {what}")
    return dict(document)


_PARTS = {"totals", "environment", "checks", "skipped", "errors"}
_ROW = {"id", "component", "check", "verdict", "values_compared", "max_abs", "headroom", "allowed"}


def encode_row(row: Mapping[str, Any]) -> str:
    """A row as one JSON string: test processes can only exchange plain values."""
    return json.dumps(plain(row), allow_nan=False)


def plain(value: Any) -> Any:
    """A JSON-serialisable copy: NumPy scalars become numbers, non-finite numbers strings."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return str(value)  # the value of a str enum
    if isinstance(value, Iterable):
        return [plain(v) for v in value]
    return str(value)


def environment() -> dict[str, Any]:
    """The machine, versions and settings that a result depends on. Imports no framework."""
    return {**fingerprint(), "require": os.environ.get(VARIABLE, "")}
