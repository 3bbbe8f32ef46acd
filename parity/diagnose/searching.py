"""Hypotheses tried tier by tier, until one explains the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Finding, Hypothesis

_GUESSED = 2.0
"""Rank from which on a hypothesis is a number without a reading: something better may follow."""


def search(
    bench: Bench, tiers: Sequence[Sequence[Callable[[Bench], Iterable[Hypothesis]]]]
) -> list[Finding]:
    """Try hypotheses tier by tier; stop behind the first tier that explains everything.

    Returns the findings of that tier, best first; where nothing explains everything exactly and
    for other inputs too, all that remove at least the first difference.
    """
    found: list[Finding] = []
    for tier in tiers:
        for hypothesis in hypotheses_of(bench, tier):
            finding = bench.try_(hypothesis)
            if finding is not None:
                found.append(replace(finding, exact=finding.score.exact))
        found = _confirmed(bench, found)
        best = found[0] if found else None
        if best is not None and best.complete and best.exact and best.confirmed is not False:
            if best.hypothesis.rank < _GUESSED:
                break
        if bench.expired:
            break
    return found


def hypotheses_of(
    bench: Bench, tier: Sequence[Callable[[Bench], Iterable[Hypothesis]]]
) -> Iterator[Hypothesis]:
    """The hypotheses of one tier; a generator that fails is noted and left out."""
    for generate in tier:
        try:
            for hypothesis in generate(bench):
                if bench.expired:
                    return
                yield hypothesis
        except Exception as error:  # what was found so far is worth more than this kind of cause
            bench.untried.append(f"{generate.__module__}.{generate.__name__}: {error!r}")


def _confirmed(bench: Bench, found: list[Finding]) -> list[Finding]:
    """Each cause's best finding, confirmed on other inputs; best first."""
    best: dict[str, list[Finding]] = {}
    for finding in sorted(found, key=lambda f: f.order):
        best.setdefault(finding.hypothesis.cause, []).append(finding)
    kept = []
    for findings in best.values():
        for finding in findings[:4]:
            done = finding if finding.confirmed is not None else bench.confirm(finding)
            kept.append(done)
            if done.confirmed is not False:
                break
    return sorted(kept, key=lambda f: f.order)
