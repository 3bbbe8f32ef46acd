"""Hypotheses as they were tried: what each left of the difference, whether it was the cause or not.

A cause is only as good as what it was tried against, so a report says what else was tried. Those
of one kind at one place are one row, with the best that came of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

ROWS = 60
"""Rows that a report keeps; those that come closest to removing the difference stay."""

_rows: ContextVar[dict[tuple[str, str], dict[str, Any]] | None] = ContextVar("tried", default=None)


@contextmanager
def collecting() -> Iterator[dict[tuple[str, str], dict[str, Any]]]:
    """Collect what is tried inside the block; blocks inside one another share the outer's."""
    known = _rows.get()
    if known is not None:
        yield known
        return
    found: dict[tuple[str, str], dict[str, Any]] = {}
    token = _rows.set(found)
    try:
        yield found
    finally:
        _rows.reset(token)


def note(
    cause: str,
    before: float,
    after: float | None,
    *,
    removes: bool,
    place: str = "",
    what: str = "",
) -> None:
    """Note one trial.

    Args:
        cause: its id in ``parity.diagnose.causes``.
        before, after: the error without and with the change; None where it could not run so.
        removes: the difference, or its first part, is gone.
        place: the layer, or ``file.py:line``.
        what: what was changed, in a few words.
    """
    rows = _rows.get()
    if rows is None:
        return
    row = {"cause": cause, "place": place, "what": what, "trials": 1, "before": float(before),
           "after": None if after is None else float(after), "removes": removes}  # fmt: skip
    known = rows.get((place, cause))
    if known is None:
        rows[place, cause] = row
        return
    best = min(known, row, key=_rank)
    rows[place, cause] = {**best, "trials": known["trials"] + 1}


def rows(
    found: Mapping[tuple[str, str], Mapping[str, Any]], causes: Iterable[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """What was tried, the best first; causes that were computed rather than run stand among it."""
    kept = [dict(row) for row in found.values()]
    known = {row["cause"] for row in kept if row["removes"]}
    for cause in causes:
        if cause.get("cause") in known or "before" not in cause or "after" not in cause:
            continue
        kept.append({"cause": str(cause["cause"]), "place": str(cause.get("place") or ""),
                     "what": "", "trials": 1, "before": float(cause["before"]),
                     "after": float(cause["after"]), "removes": True})  # fmt: skip
    return sorted(kept, key=_rank)[:ROWS]


def _rank(row: Mapping[str, Any]) -> tuple[bool, bool, float]:
    after = row["after"]
    unknown = after is None or math.isnan(after)
    return (not row["removes"], unknown, math.inf if unknown else after)
