"""The results of a suite run (``--parity-json``): reading them back and printing them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parity.errors import InvalidInput
from parity.message import cut, printable
from parity.report import SCHEMA

_KEYS = ("id", "component", "case", "check", "dtype", "mode", "verdict", "values_compared")


def read_results(path: Path) -> dict[str, Any]:
    """A document that ``--parity-json`` wrote.

    Raises:
        InvalidInput: the file is missing, not JSON, of another schema, or incomplete.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path}: not readable as JSON ({error})") from None
    if not isinstance(document, dict) or not isinstance(document.get("checks"), list):
        raise InvalidInput(f"{path}: no results of a parity run (it has no list 'checks')")
    if document.get("schema") != SCHEMA:
        found = document.get("schema")
        raise InvalidInput(f"{path}: schema {found!r}; this version reads schema {SCHEMA}")
    for row in document["checks"]:
        if missing := [key for key in _KEYS if not isinstance(row, dict) or key not in row]:
            raise InvalidInput(f"{path}: a check lacks {', '.join(missing)}")
    return document


def results_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """One line per check, 80 columns."""
    lines = [f"{'check':<46} {'worst':>8} {'allowed':>8} {'used':>6} verdict"]
    for row in rows:
        used = row.get("headroom")
        share = f"{used:.0%}" if isinstance(used, (int, float)) else str(used or "-")
        name = cut(printable(str(row["id"])), 46)
        worst, allowed = row.get("max_abs", 0.0), row.get("allowed", 0.0)
        lines.append(f"{name:<46} {worst:>8.1e} {allowed:>8.0e} {share:>6} {row['verdict']}")
    return lines
