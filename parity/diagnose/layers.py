"""Causes of differences between paired layers, tried on the recorded data."""

from __future__ import annotations

from typing import Any

from parity.report import Report


def explain_modules(report: Report, run: Any, places: Any) -> Report:
    return report
