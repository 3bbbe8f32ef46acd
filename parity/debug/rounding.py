"""Judging without float64 evidence: by what float32 rounding can do to a tensor of that size."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parity.tolerance import Tolerance, float32_rounding_bound
from parity.trace import Trace

_BECAUSE = "16 float32 roundings of the tensor's largest value; no float64 evidence"


def rounding_tolerances(trace: Trace) -> Mapping[str, Tolerance]:
    """A bound for each floating entry, from the entry's own largest finite value."""
    bounds = {}
    for name, values in trace.items():
        if values.dtype.kind == "f" and values.size:
            finite = np.abs(values[np.isfinite(values)])
            largest = float(finite.max()) if finite.size else 1.0
            bounds[name.replace("[", "[[]")] = Tolerance(float32_rounding_bound(largest), _BECAUSE)
    return bounds
