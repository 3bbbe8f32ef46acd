"""Stacked faults on one path, of which the result shows only the sum.

Where no single cause explains the result, a cause can still be told by what lies inside: with it
undone, the tf side's intermediates meet torch's further on than before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from parity.debug.intermediates import Value, pair, tf_values
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Finding, Hypothesis
from parity.diagnose.searching import hypotheses_of

_MOST = 150
_SECONDS = 5.0
#: Other draws move all that follows; what of it meets torch's then is chance.
_DRAWS = ("reseeded", "seeded-once", "random-stream", "shared-seed")


def peel(
    bench: Bench, tiers: Sequence[Sequence[Callable[[Bench], Iterable[Hypothesis]]]]
) -> Finding | None:
    """The hypothesis under which most of torch's intermediates are met; None where none helps."""
    # what took so long before found nothing: this has a share of time of its own
    bench.allow(_SECONDS)
    best: tuple[int, float, Hypothesis] | None = None
    before = _met(bench.theirs, bench.ours, bench)
    count = 0
    for hypothesis in (h for tier in tiers for h in hypotheses_of(bench, tier)):
        count += 1
        if count > _MOST or bench.expired:
            break
        if hypothesis.cause in _DRAWS or not (hypothesis.change.edits or hypothesis.change.inside):
            continue
        after = _met_under(bench, hypothesis)
        if after is None or after <= before:
            continue
        if best is None or (after, -hypothesis.rank) > best[:2]:
            best = (after, -hypothesis.rank, hypothesis)
    if best is None:
        return None
    score = bench.measure(best[2].change)
    if score is None:
        return None
    return Finding(replace(best[2], rank=1.0), bench.before.at_first, score)


def _met_under(bench: Bench, hypothesis: Hypothesis) -> int | None:
    from parity.backends import tf_edits, tf_intercept

    sessions: list[Any] = []

    def recording(edit: Any) -> AbstractContextManager[Any]:
        @contextmanager
        def inside() -> Iterator[Any]:
            with tf_intercept.intercept(edit, record=True) as session:
                sessions.append(session)
                yield session

        return inside()

    if bench.run(hypothesis.change, recording) is None:
        return None
    calls = [c for s in sessions for c in s.calls]
    ours = tf_values(calls, bench.arrays("tf"), tf_edits.array)
    return _met([replace(v, partner=None) for v in bench.theirs], ours, bench)


def _met(theirs: Sequence[Value], ours: Sequence[Value], bench: Bench) -> int:
    """How many of torch's own forward values, beyond its inputs, the tf side has."""
    kept = [replace(v, partner=None) for v in theirs if v.op != "input" and not v.backward]
    kept = [v for v in kept if v.array.dtype.kind == "f" and v.array.size > 1]
    pair(kept, [v for v in theirs if v.op == "input"], bench.bound_dtype)
    kept = [v for v in kept if v.partner is None]  # an input is no achievement
    forward = [v for v in ours if v.op != "input" and not v.backward]
    pair(kept, forward, bench.bound_dtype)
    return sum(v.partner is not None for v in kept)
