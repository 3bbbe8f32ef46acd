"""The cheapest alignment of two executions, and whether another one is as good.

A pair costs nothing when kind, shape and name agree, and more the less they do; leaving out a layer
that holds weights costs most. Deep networks have as many possible pairs as the square of their
depth, and likening two names takes a hundred times longer than all else about a pair. So a lower
bound of that is taken for all pairs at once, and the real thing only for pairs that lie on an
alignment which could be the best, or as good; the outcome is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np

from parity.debug.pairing import Step
from parity.errors import AlignmentError

# Costs are whole numbers, so that equally good alignments are exactly so.
UNIT = 1_000_000
SKIP_PLAIN, SKIP_WEIGHTED = 600_000, 4 * UNIT
KIND, SHAPE, WEIGHTS, NAME = 3 * UNIT, UNIT, UNIT, 400_000
OTHER, NAMED = 500_000, 700_000
"""Plain layers of one family that are other functions; of other families, but of one name."""
CLOSE = 250_000
"""Two alignments whose costs differ by less pair different weighted layers: that is doubtful."""
INFINITE = 1 << 50
ROUNDS = 12
"""After so many refinements the rest is computed at once."""


def align(torch: Sequence[Step], tf: Sequence[Step], allowed: np.ndarray) -> list[tuple[int, int]]:
    """The pairs of the cheapest alignment, as indices.

    Args:
        allowed: [torch, tf], which pairs may be.

    Raises:
        AlignmentError: a weighted layer could as well be paired with another one.
    """
    if not torch or not tf:
        return []
    costs = _Costs(torch, tf, allowed)
    skips = [np.array([_skip(step) for step in side], np.int64) for side in (torch, tf)]
    for number in range(ROUNDS + 1):
        ahead = _table(costs.matrix, *skips)
        back = _table(costs.matrix[::-1, ::-1], skips[0][::-1], skips[1][::-1])
        whole = ahead[:-1, :-1] + costs.matrix + back[::-1, ::-1][1:, 1:]
        total = int(ahead[-1, -1])
        near = whole < total + CLOSE if number < ROUNDS else whole < INFINITE
        if not costs.refine(near):
            break
    pairs = _traced(ahead, skips)
    _refuse_doubt(pairs, torch, tf, whole - total)
    return pairs


class _Costs:
    """What each pair costs: exactly where that was asked for, at least so much elsewhere."""

    def __init__(self, torch: Sequence[Step], tf: Sequence[Step], allowed: np.ndarray) -> None:
        self._names = [[_plain(step.path) for step in side] for side in (torch, tf)]
        base, named = _without_names(torch, tf)
        base[~allowed] = INFINITE
        self._open = named & (base < INFINITE)
        self._base = base
        low = np.rint(NAME * (1 - _likeness_at_most(*self._names))).astype(np.int64)
        self.matrix = base + np.where(self._open, low, 0)

    def refine(self, wanted: np.ndarray) -> bool:
        """Make these exact; False if they were already."""
        rows, columns = np.nonzero(wanted & self._open)
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
            like = _likeness(self._names[0][i], self._names[1][j])
            self.matrix[i, j] = self._base[i, j] + round(NAME * (1 - like))
        self._open[rows, columns] = False
        return bool(len(rows))


def _without_names(torch: Sequence[Step], tf: Sequence[Step]) -> tuple[np.ndarray, np.ndarray]:
    """The costs apart from names, and where names count; each kind of pair is looked at once."""
    kinds: list[dict[object, int]] = [{}, {}]
    rows, columns = (
        np.array([known.setdefault(_key(step), len(known)) for step in side])
        for known, side in zip(kinds, (torch, tf), strict=True)
    )
    samples = [
        dict(zip(numbers.tolist(), side, strict=True))
        for numbers, side in ((rows, torch), (columns, tf))
    ]
    base = np.zeros((len(kinds[0]), len(kinds[1])), np.int64)
    named = np.zeros(base.shape, bool)
    for i, a in samples[0].items():
        for j, b in samples[1].items():
            base[i, j], named[i, j] = _cost(a, b)
    return base[np.ix_(rows, columns)], named[np.ix_(rows, columns)]


def _key(step: Step) -> object:
    if step.weighted:
        return step.kind, step.output, tuple(step.shapes)
    return step.kind, step.name, _last(step)


def _last(step: Step) -> str:
    return step.path.rpartition("/")[2]


def _cost(a: Step, b: Step) -> tuple[int, bool]:
    """Cost of pairing two calls apart from their names, and whether these count."""
    if a.weighted != b.weighted:
        return INFINITE, False
    cost = 0
    if a.kind != b.kind:
        if a.weighted:
            cost += KIND
        elif _last(a) == _last(b):
            cost += NAMED
        else:
            return INFINITE, False  # plain layers of other families are simply not the same layer
    elif a.name != b.name:
        cost += OTHER
    if a.output != b.output and a.weighted:
        cost += SHAPE
    if a.weights and b.weights and a.shapes != b.shapes:
        cost += WEIGHTS
    # a fused activation has no name of its own
    return cost, not a.kind == b.kind == "activation"


def _skip(step: Step) -> int:
    return SKIP_WEIGHTED if step.weighted else SKIP_PLAIN


def _plain(path: str) -> str:
    return path.lower().replace("_", "/").replace(".", "/")


@lru_cache(maxsize=100_000)
def _likeness(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b).ratio()


def _likeness_at_most(left: Sequence[str], right: Sequence[str]) -> np.ndarray:
    """An upper bound of the likeness of all pairs: by the characters that both have."""
    characters = sorted(set().union(*left, *right))
    counts = []
    for names in (left, right):
        found = [Counter(name) for name in names]
        counts.append(np.array([[c[k] for k in characters] for c in found], np.int32))
    shared = np.zeros((len(left), len(right)))
    for a, b in zip(counts[0].T, counts[1].T, strict=True):
        shared += np.minimum.outer(a, b)
    lengths = np.add.outer([len(n) for n in left], [len(n) for n in right])
    return np.where(lengths > 0, 2 * shared / np.maximum(lengths, 1), 1.0)


def _table(matrix: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Cheapest cost of aligning the first i with the first j."""
    n, m = matrix.shape
    skipped = np.concatenate([[0], np.cumsum(right)])
    table = np.empty((n + 1, m + 1), np.int64)
    table[0] = skipped
    for i in range(1, n + 1):
        row = table[i - 1] + left[i - 1]
        np.minimum(row[1:], table[i - 1, :-1] + matrix[i - 1], out=row[1:])
        table[i] = np.minimum.accumulate(row - skipped) + skipped  # leaving out any on the right
    return table


def _traced(table: np.ndarray, skips: Sequence[np.ndarray]) -> list[tuple[int, int]]:
    """Back through the table to the pairs; of equally good ones the earliest."""
    pairs = []
    i, j = (size - 1 for size in table.shape)
    while i and j:
        if table[i, j] == table[i, j - 1] + skips[1][j - 1]:
            j -= 1
        elif table[i, j] == table[i - 1, j] + skips[0][i - 1]:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def _refuse_doubt(
    pairs: Sequence[tuple[int, int]],
    torch: Sequence[Step],
    tf: Sequence[Step],
    more: np.ndarray,
) -> None:
    """If another partner for a weighted layer leaves the rest as good, taking one was a guess.

    Args:
        more: what the best alignment with each pair costs beyond the best of all.
    """
    for i, j in pairs:
        rivals = np.flatnonzero(more[i] < CLOSE).tolist() if torch[i].weighted else []
        for other in rivals:
            if other != j:
                raise AlignmentError(
                    f"torch layer {torch[i].path!r} could be tf {tf[j].path!r} or "
                    f"{tf[other].path!r}; say which in a map file:\n  {torch[i].path}: {tf[j].path}"
                )
