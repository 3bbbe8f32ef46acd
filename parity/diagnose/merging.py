"""One cause at several places, said once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_MOST = 6
"""Places that a text lists; the rest are counted."""


def merged(causes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The causes, those that say the same of several layers as one with all its ``places``."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for number, cause in enumerate(causes):
        said = (cause["cause"], cause["said"], cause["fix"]) if "said" in cause else (number,)
        groups.setdefault(said, []).append(cause)
    return [_one(group) for group in groups.values()]


def _one(group: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    first = group[0]
    whole = {k: v for k, v in first.items() if k not in ("title", "said")}
    if len(group) == 1:
        return whole
    titles = [str(cause["title"]) for cause in group]
    more = f" and {len(titles) - _MOST} more" if len(titles) > _MOST else ""
    return {
        **whole,
        "text": f"{', '.join(titles[:_MOST])}{more}: {first['said']}",
        "before": max(cause["before"] for cause in group),
        "after": max(cause["after"] for cause in group),
        "places": [cause["place"] for cause in group],
        "alternatives": list(dict.fromkeys(a for cause in group for a in cause["alternatives"])),
    }
