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

import numpy as np

from parity.errors import AlignmentError


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

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the weights, whatever their names."""
        return sorted((self.weights or {}).values())


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
    from parity.debug.aligning import align

    anchors = _fixed(torch, tf, names or {})
    anchors |= _namesakes(torch, tf, anchors)
    left = [i for i in range(len(torch)) if i not in anchors]
    taken = set(anchors.values())
    right = [j for j in range(len(tf)) if j not in taken]
    rows, columns = [torch[i] for i in left], [tf[j] for j in right]
    found = align(rows, columns, _fits(left, right, anchors))
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
        if step.shapes == tf[j].shapes:
            found[i] = j
    return found


def _fits(left: Sequence[int], right: Sequence[int], anchors: Mapping[int, int]) -> np.ndarray:
    """Whether a pair crosses none of the anchored ones, where these are in order themselves."""
    partners = [anchors[a] for a in sorted(anchors)]
    if partners != sorted(partners):
        return np.ones((len(left), len(right)), bool)
    before = np.searchsorted(np.array(sorted(anchors), int), np.array(left, int))
    return np.equal.outer(before, np.searchsorted(np.array(partners, int), np.array(right, int)))
