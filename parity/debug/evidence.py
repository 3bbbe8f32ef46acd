"""Which rows of the inputs the float64 evidence is taken on, where all would cost too much.

A pass in float64 costs twice one in float32, so evidence on every row doubles or triples the cost
of checking a large pair. The rows in which the sides came furthest apart in float32, in any layer,
are those in which a difference that is no rounding would show; on these both sides run in float64,
forwards and backwards. What float32 left over tolerance must also be small enough for rounding by
itself, but for a few rows, which are then among those that run (:mod:`parity.debug.doubtful`);
otherwise, and wherever the evidence shows a difference, all rows run.

Nor are the gradients of large tensors taken in float64 where they agree in float32: each is made
from the layer's input and its output's gradient, which are compared, and to hold them costs as much
as to hold both models once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.debug.doubtful import doubtful

if TYPE_CHECKING:
    from parity.compare import Difference
    from parity.debug.module_report import Run

AFFORDABLE = 1 << 31
"""Parameters times rows up to which every row runs in float64: a second or two on two cores."""
ROWS = 16
LARGE = 1 << 20
"""Elements from which a gradient that agrees in float32 is not taken in float64."""


@dataclass(frozen=True)
class Sample:
    """Some rows of the inputs.

    Attributes:
        rows: their numbers, in order; ``of`` how many there are.
        inputs: side -> the inputs, cut to these rows.
        without: side -> paths of the parameters whose gradients are left out.
        late: the tf side's paths of those whose gradients are made when they are compared.
    """

    rows: tuple[int, ...]
    of: int
    inputs: Mapping[str, list[np.ndarray]]
    without: Mapping[str, frozenset[str]]
    late: frozenset[str] = frozenset()


def sample(run: Run, rows: int = ROWS) -> Sample | None:
    """The rows for the float64 evidence of a float32 run; None: all.

    Inputs that have no axis of rows (another first length) stay whole. A model that takes its first
    axis for something else gets fewer of that: both sides still see the same.
    """
    given = run.pair.inputs
    count = max((a.shape[0] for a in given["torch"] if a.ndim), default=0)
    parameters = sum(prod(moved.torch.shape) for moved in run.plan.moved)
    firsts = [[a.ndim > 0 and a.shape[0] == count for a in side] for side in given.values()]
    if parameters * count <= AFFORDABLE or count <= rows or firsts[0] != firsts[1]:
        return None
    if any(hasattr(module, "parity_slots") for module in run.pair.modules.values()):
        return None  # what was recorded elsewhere stays as it is
    if run.plan.problems or run.report.problems:
        return None
    first = doubtful(run, count, rows)
    if first is None:
        return None
    chosen = tuple(_furthest(run, count, rows, first))
    index = np.array(chosen)
    cut = {
        side: [a[index] if first else a for a, first in zip(arrays, firsts[0], strict=True)]
        for side, arrays in given.items()
    }
    agree = {entry.name: entry.agrees for entry in run.report.entries}
    large = [m for m in run.plan.moved if prod(m.torch.shape) >= LARGE]
    settled = [m for m in large if agree.get(f"grad/{m.name}")]
    without = {
        "torch": frozenset(m.name for m in settled),
        "tf": frozenset(m.tf_name for m in settled),
    }
    late = frozenset(m.tf_name for m in large if agree.get(f"grad/{m.name}") is False)
    return Sample(chosen, count, cut, without, late)


def is_large(module: Any) -> bool:
    """Whether a torch module is worth freeing at once what was made for its check.

    Parameters that have no shape before the first call do not count.
    """
    if not hasattr(module, "named_modules"):  # recorded elsewhere
        return False
    from torch.nn.parameter import is_lazy

    known = [p for p in module.parameters() if not is_lazy(p)]
    return bool(sum(p.numel() for p in known) >= 10 * LARGE)


def _furthest(run: Run, count: int, rows: int, first: Sequence[int]) -> list[int]:
    """Those that must be among them, those that hold the worst places of the entries, and more."""

    def has_rows(d: Difference) -> bool:
        return d.worst is not None and bool(d.shapes[0]) and d.shapes[0][0] == count  # type: ignore[index]

    worst = [d for entry in run.report.entries for d in entry.differences if has_rows(d)]
    worst.sort(key=lambda d: -d.headroom)
    found = dict.fromkeys(d.worst[0] for d in worst if d.worst is not None)
    places = [*first, *list(found)[: rows - 1], *range(count)]
    return sorted(list(dict.fromkeys(places))[:rows])
