"""Which layer of one side is which of the other: by execution order, kind, shape and name together.

Two sequences of layer calls are aligned like two texts: a pair costs nothing when kind, shape and
name agree, and more the less they do; leaving out a layer that holds weights costs most. The best
alignment is taken only if no other one is as good: a doubtful pairing is an error that shows the
candidates, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from parity.errors import AlignmentError

SKIP_PLAIN, SKIP_WEIGHTED = 0.6, 4.0
KIND, SHAPE, WEIGHTS, NAME = 3.0, 1.0, 1.0, 0.4
CLOSE = 0.25
"""Two alignments whose costs differ by less pair different weighted layers: that is doubtful."""


@dataclass(frozen=True)
class Step:
    """One layer call as the pairing sees it.

    Attributes:
        path: the side's own name.
        kind: canonical layer kind.
        output: canonical output shape without the batch axis; None where not a single tensor.
        weights: canonical weight shapes by name; empty for a layer without weights.
    """

    path: str
    kind: str
    output: tuple[int, ...] | None = None
    weights: Mapping[str, tuple[int, ...]] | None = None

    @property
    def weighted(self) -> bool:
        return bool(self.weights)


@dataclass(frozen=True)
class Pairing:
    """The result: indices into both sequences, in execution order.

    ``only_torch`` and ``only_tf`` hold the layers without partner (a fused activation on one side,
    dropout left out on the other); none of them holds weights.
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
        AlignmentError: a layer with weights has no partner, the map names unknown layers, or two
            alignments are equally good.
    """
    fixed = _fixed(torch, tf, names or {})
    matrix = [[_cost(a, b, i, j, fixed) for j, b in enumerate(tf)] for i, a in enumerate(torch)]
    best = _align(torch, tf, matrix)
    orphans = [("torch", torch[i]) for i in best.only_torch if torch[i].weighted]
    orphans += [("tf", tf[j]) for j in best.only_tf if tf[j].weighted]
    if orphans:
        raise AlignmentError(_orphan_text(orphans, torch, tf))
    _refuse_doubt(best, torch, tf, matrix)
    return best


def _fixed(
    torch: Sequence[Step], tf: Sequence[Step], names: Mapping[str, str]
) -> dict[str, str]:
    known = {step.path for step in torch}, {step.path for step in tf}
    for left, right in names.items():
        if left not in known[0] or right not in known[1]:
            missing, side = (left, "torch") if left not in known[0] else (right, "tf")
            have = ", ".join(sorted(known[0] if side == "torch" else known[1]))
            raise AlignmentError(f"the map names {missing!r}, but {side} calls: {have}")
    return dict(names)


def _cost(a: Step, b: Step, i: int, j: int, fixed: Mapping[str, str]) -> float:
    """Cost of pairing two calls; infinite where it is out of the question."""
    if a.path in fixed or b.path in fixed.values():
        return 0.0 if fixed.get(a.path) == b.path else float("inf")
    if a.weighted != b.weighted:
        return float("inf")
    cost = 0.0
    if a.kind != b.kind:
        if not a.weighted:
            return float("inf")  # two plain layers of other kinds are simply not the same layer
        cost += KIND
    if a.output != b.output:
        cost += SHAPE
    if a.weights and b.weights and sorted(a.weights.values()) != sorted(b.weights.values()):
        cost += WEIGHTS
    return cost + NAME * (1 - _likeness(a.path, b.path))


def _likeness(a: str, b: str) -> float:
    a, b = (s.lower().replace("_", "/").replace(".", "/") for s in (a, b))
    return SequenceMatcher(None, a, b).ratio()


def _align(torch: Sequence[Step], tf: Sequence[Step], matrix: Sequence[Sequence[float]]) -> Pairing:
    """Edit distance with the costs above; traced back to the pairs."""
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
    pairs, only_torch, only_tf = [], [], []
    i, j = n, m
    while i or j:
        if i and j and table[i][j] == table[i - 1][j - 1] + matrix[i - 1][j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif i and table[i][j] == table[i - 1][j] + _skip(torch[i - 1]):
            i -= 1
            only_torch.append(i)
        else:
            j -= 1
            only_tf.append(j)
    return Pairing(tuple(pairs[::-1]), tuple(only_torch[::-1]), tuple(only_tf[::-1]))


def _skip(step: Step) -> float:
    return SKIP_WEIGHTED if step.weighted else SKIP_PLAIN


def _total(pairing: Pairing, torch: Sequence[Step], tf: Sequence[Step], matrix: object) -> float:
    rows: Sequence[Sequence[float]] = matrix  # type: ignore[assignment]
    return (
        sum(rows[i][j] for i, j in pairing.pairs)
        + sum(_skip(torch[i]) for i in pairing.only_torch)
        + sum(_skip(tf[j]) for j in pairing.only_tf)
    )


def _refuse_doubt(
    best: Pairing, torch: Sequence[Step], tf: Sequence[Step], matrix: list[list[float]]
) -> None:
    """Forbid each weighted pair in turn: if the rest is as good without it, it was a guess."""
    total = _total(best, torch, tf, matrix)
    for i, j in best.pairs:
        if not torch[i].weighted:
            continue
        kept, matrix[i][j] = matrix[i][j], float("inf")
        other = _align(torch, tf, matrix)
        rival = _total(other, torch, tf, matrix)
        matrix[i][j] = kept
        complete = not any(torch[k].weighted for k in other.only_torch) and not any(
            tf[k].weighted for k in other.only_tf
        )
        if complete and rival - total < CLOSE:
            partner = next((tf[b].path for a, b in other.pairs if a == i), "nothing")
            raise AlignmentError(
                f"torch layer {torch[i].path!r} could be tf {tf[j].path!r} or {partner!r}; "
                f"say which in a map file:\n  {torch[i].path}: {tf[j].path}"
            )


def _orphan_text(
    orphans: Sequence[tuple[str, Step]], torch: Sequence[Step], tf: Sequence[Step]
) -> str:
    lines = ["layers with weights that have no partner on the other side:"]
    for side, step in orphans:
        shapes = ", ".join(f"{k} {v}" for k, v in (step.weights or {}).items())
        lines.append(f"  {side} {step.path} ({step.kind}: {shapes})")
    counts = [sum(s.weighted for s in steps) for steps in (torch, tf)]
    lines.append(f"torch calls {counts[0]} layers with weights, tf {counts[1]}")
    return "\n".join(lines)
