"""A cause that was tried on a layer's recorded data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Found:
    """What was tried, and what it left of the difference.

    Attributes:
        cause: id, as in ``docs/porting.md``.
        facts: what the wording needs.
        after: the error that is left.
        fix: in the user's own terms; empty for the cause's general advice.
        rank: lower is the better explanation where several fit.
    """

    cause: str
    after: float
    facts: Mapping[str, Any] = field(default_factory=dict)
    fix: str = ""
    rank: float = 1.0
