"""What a cause of a difference between functions says: the text, and the fix in the user's terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parity.debug.sites import Site
from parity.diagnose.causes import CAUSES


def as_cause(bench: Any, found: Any, others: Sequence[Any], *, after: float | None = None) -> dict[str, Any]:
    """A finding as it stands in a report."""
    hypothesis = getattr(found, "hypothesis", found)
    facts = dict(hypothesis.facts)
    site: Site | None = getattr(hypothesis, "site", None)
    info = CAUSES[hypothesis.cause]
    if after is None:
        after = found.after if hypothesis is found else found.score.at_first
        if hypothesis is not found and found.complete:
            after = found.score.error
    before = getattr(found, "before", None)
    place = hypothesis.place or (site.place if site is not None else "")
    alternatives = [
        {"cause": h.cause, "text": _text(h.cause, h.facts, getattr(h, "site", None))}
        for h in (getattr(o, "hypothesis", o) for o in others)
        if h.cause != hypothesis.cause
    ]
    return {
        "cause": hypothesis.cause,
        "text": _text(hypothesis.cause, facts, site),
        "before": bench.before.at_first if before is None else before,
        "after": after,
        "fix": _fix(hypothesis.cause, facts) or info.fix,
        "place": place,
        "docs": info.link,
        "alternatives": alternatives[:4],
    }


def _text(cause: str, facts: Mapping[str, Any], site: Site | None) -> str:
    return f"{CAUSES[cause].title}: {dict(facts)} {site and (site.op, site.source)}"


def _fix(cause: str, facts: Mapping[str, Any]) -> str:
    return ""
