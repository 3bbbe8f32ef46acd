"""Pair the entries of several traces by name, in execution order. Never by guessing.

The order of the first trace leads; entries that only a later trace has are placed after the entry
they follow there, so the merged order still reads as one execution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parity.trace import Trace


@dataclass(frozen=True)
class Unmatched:
    """An entry that some sides lack, with the nearest name they do have."""

    name: str
    present: tuple[str, ...]
    missing: tuple[str, ...]
    suggestion: str | None


def merge_order(orders: Sequence[Sequence[str]]) -> list[str]:
    """One order that keeps the first sequence's and fits the others' extra names into it."""
    merged = list(orders[0]) if orders else []
    known = set(merged)
    for order in orders[1:]:
        before = None
        for name in order:
            if name not in known:  # look up places for these only: traces can be long
                merged.insert(0 if before is None else merged.index(before) + 1, name)
                known.add(name)
            before = name
    return merged


def unmatched(traces: Mapping[str, Trace]) -> list[Unmatched]:
    """Entries that not every side has."""
    from difflib import get_close_matches

    found = []
    for name in merge_order([trace.names for trace in traces.values()]):
        missing = tuple(side for side, trace in traces.items() if name not in trace)
        if not missing:
            continue
        present = tuple(side for side in traces if side not in missing)
        others = [n for side in missing for n in traces[side] if n not in traces[present[0]]]
        close = get_close_matches(name, others, n=1, cutoff=0.5)
        found.append(Unmatched(name, present, missing, close[0] if close else None))
    return found
