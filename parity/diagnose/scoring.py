"""How far a run of the tf side is from torch, and whether a change makes it better."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from parity.diagnose.hypotheses import Score
from parity.tolerance import explained_bound, float32_rounding_bound
from parity.trace import Trace

_SHARE = 1e-3
"""Where a run holds float32 constants, a cause must still remove all but this share."""


class Scoring:
    """Torch's trace, and traces of the tf side compared with it.

    Attributes:
        torch, tf: the traces under comparison.
        bound_dtype: the precision that bounds what rounding explains.
        first: the entry that differed first before anything was changed.
        gaps: entry -> the difference before anything was changed.
        coarse: entry -> what float32's rounding explains.
        targets: the entries to explain; None for all.
        residue: a difference that is accounted for already.
    """

    torch: Trace
    tf: Trace
    bound_dtype: str
    first: str | None
    before: Score
    gaps: dict[str, float]
    coarse: dict[str, float]
    targets: Collection[str] | None
    residue: float

    def start(self, tf: Trace) -> None:
        """Take this trace of the tf side as what is to be explained."""
        self.tf = tf
        for name in self.torch:
            finite = self.torch[name][np.isfinite(self.torch[name].astype(np.float64))]
            scale = float(np.abs(finite).max()) if finite.size else 1.0
            self.coarse[name] = float32_rounding_bound(scale)
        self.gaps = {}
        self.first: str | None = None
        self.before = self.score(tf)
        self.first = self.before.first
        self.gaps = {name: self.gap_of(tf, name)[0] for name in self.torch}

    def score(self, trace: Trace) -> Score:
        """Compare a trace of the tf side with torch's."""
        failing: list[str] = []
        error = at_first = 0.0
        exact = True
        names = dict.fromkeys([*self.torch, *trace])
        first = getattr(self, "first", None)
        for name in names:
            gap, bound = self.gap_of(trace, name)
            if gap > self.loose(name, bound):
                failing.append(name)
            strict = self.targets is None or name in self.targets
            exact = exact and (gap <= max(bound, self.residue) or name in failing or not strict)
            error = max(error, gap)
            if first is None and failing:
                first = failing[0]
            if name == first:
                at_first = gap
        return Score(failing[0] if failing else None, tuple(failing), error, at_first, exact)

    def improves(self, score: Score) -> bool:
        """Nothing differs any more; or the first difference is gone and no other came before it."""
        if score.agrees:
            return True
        if self.first is None or self.first in score.failing or score.first is None:
            return False
        names = list(self.torch)
        if score.first not in names or self.first not in names:
            return False
        return names.index(score.first) > names.index(self.first)

    def residual(self, trace: Trace, names: Iterable[str]) -> np.ndarray | None:
        """The differences of some entries as one vector, each entry scaled to size one."""
        parts = []
        for name in names:
            if name not in trace or trace[name].shape != self.torch[name].shape:
                return None
            a, b = self.torch[name].astype(np.float64), trace[name].astype(np.float64)
            scale = float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) or 1.0
            parts.append(((b - a) / scale).reshape(-1))
        vector = np.concatenate(parts) if parts else None
        return vector if vector is not None and np.isfinite(vector).all() else None

    def values_only(self, score: Score) -> Score:
        """Values of torch's own, put in the place of tf's, have no gradient to be compared."""
        if self.first is None or self.first.startswith("grad/"):
            return score
        if any(not name.startswith("grad/") for name in score.failing):
            return score
        return replace(score, first=None, failing=(), error=score.at_first)

    def loose(self, name: str, bound: float) -> float:
        """Float32 constants inside a float64 run leave their rounding behind whatever the cause."""
        if self.targets is not None and name not in self.targets:
            bound = max(bound, self.coarse.get(name, bound))
        before = self.gaps.get(name)
        if before is None or self.bound_dtype != "float64" or not np.isfinite(before):
            return bound
        if before <= bound:
            return bound
        return max(bound, min(self.coarse.get(name, bound), _SHARE * before))

    def gap_of(self, trace: Trace, name: str) -> tuple[float, float]:
        if name not in trace or name not in self.torch:
            return np.inf, 0.0
        a, b = self.torch[name], trace[name]
        if a.shape != b.shape:
            return np.inf, 0.0
        if a.size == 0:
            return 0.0, 0.0
        x, y = a.astype(np.float64), b.astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if (np.isfinite(x) != np.isfinite(y))[~same].any():
            return np.inf, 0.0
        with np.errstate(invalid="ignore"):
            gap = float(np.where(same, 0.0, np.abs(x - y)).max())
        finite = np.abs(x[np.isfinite(x)])
        return gap, explained_bound(self.bound_dtype, float(finite.max()) if finite.size else 1.0)

    def wide(self, name: str, trace: Trace) -> float:
        bound = self.gap_of(trace, name)[1]
        return max(bound, self.coarse.get(name, bound)) if self.gaps.get(name, 0) > bound else bound
