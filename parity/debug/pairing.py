"""Which layer of one side is which of the other: by execution order, kind, shape and name together.

Two sequences of layer calls are aligned like two texts: a pair costs nothing when kind, shape and
name agree, and more the less they do; leaving out a layer that holds weights costs most. Layers
with one name, kind and shape on both sides are each other's, in whatever order they are called. The
best alignment is taken only if no other one is as good: a doubtful pairing is an error that shows
the candidates, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from parity.errors import AlignmentError

SKIP_PLAIN, SKIP_WEIGHTED = 0.6, 4.0
KIND, SHAPE, WEIGHTS, NAME = 3.0, 1.0, 1.0, 0.4
OTHER, NAMED = 0.5, 0.7
"""Plain layers of one family that are other functions; of other families, but of one name."""
CLOSE = 0.25
"""Two alignments whose costs differ by less pair different weighted layers: that is doubtful."""
INFINITE = float("inf")


@dataclass(frozen=True)
class Step:
    """One layer call, or a part of one, as the pairing sees it.

    Attributes:
        path: the side's own name.
        kind: canonical layer kind; the family for layers without weights.
        output: canonical output shape without the batch axis; None where not a single tensor.
        weights: canonical weight shapes by name; empty for a layer without weights.
        name: which function of its family a plain layer is; empty where unknown.
        call: index of the call that this is (a part of).
    """

    path: str
    kind: str
    output: tuple[int, ...] | None = None
    weights: Mapping[str, tuple[int, ...]] | None = None
    name: str = ""
    call: int = 0

    @property
    def weighted(self) -> bool:
        return bool(self.weights)


@dataclass(frozen=True)
class Pairing:
    """The result: indices into both sequences, in the order of torch's execution.

    ``only_torch`` and ``only_tf`` hold the layers without partner: a fused activation on one side,
    dropout left out on the other; or, with weights, what makes the networks two different ones.
    """

    pairs: tuple[tuple[int, int], ...]
    only_torch: tuple[int, ...]
    only_tf: tuple[int, ...]


def pair(
    torch: Sequence[Step], tf: Sequence[Step], *, names: Mapping[str, str] | None = None
) -> Pairing:
    """Align two executions.

    Args:
        names: torch path -> tf path that the user fixed by hand.

    Raises:
        AlignmentError: the map names unknown layers, or two alignments are equally good.
    """
    anchors = _fixed(torch, tf, names or {})
    anchors |= _namesakes(torch, tf, anchors)
    left = [i for i in range(len(torch)) if i not in anchors]
    right = [j for j in range(len(tf)) if j not in anchors.values()]
    matrix = [
        [_cost(torch[i], tf[j]) if _fits(i, j, anchors) else INFINITE for j in right] for i in left
    ]
    rows, columns = [torch[i] for i in left], [tf[j] for j in right]
    found = _align(rows, columns, matrix)
    _refuse_doubt(found, rows, columns, matrix)
    pairs = [*anchors.items(), *((left[i], right[j]) for i, j in found)]
    paired = {i for i, _ in pairs}, {j for _, j in pairs}
    return Pairing(
        tuple(sorted(pairs)),
        tuple(i for i in range(len(torch)) if i not in paired[0]),
        tuple(j for j in range(len(tf)) if j not in paired[1]),
    )


def _fixed(torch: Sequence[Step], tf: Sequence[Step], names: Mapping[str, str]) -> dict[int, int]:
    where = {s.path: i for i, s in enumerate(torch)}, {s.path: j for j, s in enumerate(tf)}
    for left, right in names.items():
        if left not in where[0] or right not in where[1]:
            missing, side = (left, "torch") if left not in where[0] else (right, "tf")
            have = ", ".join(where[0] if side == "torch" else where[1])
            raise AlignmentError(f"the map names {missing!r}, but {side} calls: {have}")
    return {where[0][left]: where[1][right] for left, right in names.items()}


def _namesakes(
    torch: Sequence[Step], tf: Sequence[Step], fixed: Mapping[int, int]
) -> dict[int, int]:
    """Weighted layers of one name, kind and shape on both sides."""
    known = {step.path: j for j, step in enumerate(tf) if j not in fixed.values()}
    found = {}
    for i, step in enumerate(torch):
        j = known.get(step.path)
        if i in fixed or j is None or not step.weighted or step.kind != tf[j].kind:
            continue
        if _shapes(step) == _shapes(tf[j]):
            found[i] = j
    return found


def _shapes(step: Step) -> list[tuple[int, ...]]:
    return sorted((step.weights or {}).values())


def _fits(i: int, j: int, anchors: Mapping[int, int]) -> bool:
    """Whether a pair crosses none of the anchored ones, where these are in order themselves."""
    partners = [anchors[a] for a in sorted(anchors)]
    if partners != sorted(partners):
        return True
    return all((a < i) == (b < j) for a, b in anchors.items())


def _cost(a: Step, b: Step) -> float:
    """Cost of pairing two calls; infinite where it is out of the question."""
    if a.weighted != b.weighted:
        return INFINITE
    cost = 0.0
    if a.kind != b.kind:
        if a.weighted:
            cost += KIND
        elif a.path.rpartition("/")[2] == b.path.rpartition("/")[2]:
            cost += NAMED
        else:
            return INFINITE  # two plain layers of other families are simply not the same layer
    elif a.name != b.name:
        cost += OTHER
    if a.output != b.output and a.weighted:
        cost += SHAPE
    if a.weights and b.weights and _shapes(a) != _shapes(b):
        cost += WEIGHTS
    if a.kind == b.kind == "activation":
        return cost  # a fused one has no name of its own
    return cost + NAME * (1 - _likeness(a.path, b.path))


@lru_cache(maxsize=100_000)
def _likeness(a: str, b: str) -> float:
    a, b = (s.lower().replace("_", "/").replace(".", "/") for s in (a, b))
    return SequenceMatcher(None, a, b).ratio()


def _tables(
    torch: Sequence[Step], tf: Sequence[Step], matrix: Sequence[Sequence[float]]
) -> list[list[float]]:
    """Cheapest cost of aligning the first i with the first j."""
    n, m = len(torch), len(tf)
    table = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        table[i][0] = table[i - 1][0] + _skip(torch[i - 1])
    for j in range(1, m + 1):
        table[0][j] = table[0][j - 1] + _skip(tf[j - 1])
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            table[i][j] = min(
                table[i - 1][j - 1] + matrix[i - 1][j - 1],
                table[i - 1][j] + _skip(torch[i - 1]),
                table[i][j - 1] + _skip(tf[j - 1]),
            )
    return table


def _align(
    torch: Sequence[Step], tf: Sequence[Step], matrix: Sequence[Sequence[float]]
) -> list[tuple[int, int]]:
    """Edit distance with the costs above; traced back to the pairs."""
    table = _tables(torch, tf, matrix)
    pairs = []
    i, j = len(torch), len(tf)
    while i and j:  # of equally good ones the earliest pair
        if table[i][j] == table[i][j - 1] + _skip(tf[j - 1]):
            j -= 1
        elif table[i][j] == table[i - 1][j] + _skip(torch[i - 1]):
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def _skip(step: Step) -> float:
    return SKIP_WEIGHTED if step.weighted else SKIP_PLAIN


def _refuse_doubt(
    pairs: Sequence[tuple[int, int]],
    torch: Sequence[Step],
    tf: Sequence[Step],
    matrix: Sequence[Sequence[float]],
) -> None:
    """If another partner for a weighted layer leaves the rest as good, taking one was a guess."""
    if not pairs:
        return
    ahead = _tables(torch, tf, matrix)
    turned = [list(row[::-1]) for row in matrix[::-1]]
    back = _tables(torch[::-1], tf[::-1], turned)
    n, m = len(torch), len(tf)
    total = ahead[n][m]
    for i, j in pairs:
        if not torch[i].weighted:
            continue
        for other in range(m):
            rival = ahead[i][other] + matrix[i][other] + back[n - i - 1][m - other - 1]
            if other != j and rival - total < CLOSE:
                raise AlignmentError(
                    f"torch layer {torch[i].path!r} could be tf {tf[j].path!r} or "
                    f"{tf[other].path!r}; say which in a map file:\n  {torch[i].path}: {tf[j].path}"
                )
