"""Settings tried on the torch layer, where the TensorFlow side is a recording and cannot run.

The layer is given the other side's setting for one call on its recorded input; what then agrees
with the recorded output is the cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parity.debug.config import Setting
from parity.debug.localise import torch_on_recorded
from parity.debug.matching import Match
from parity.debug.spatial import main
from parity.diagnose.found import Found
from parity.tolerance import explained_bound, float32_inside_bound

_ATTRIBUTES = {
    "epsilon": ("eps",),
    "strides": ("stride",),
    "dilation": ("dilation",),
    "slope": ("negative_slope", "alpha"),
    "beta": ("beta",),
    "axis": ("dim",),
    "approximate": ("approximate",),
}
"""Setting in the common convention -> torch attributes that hold it."""


def explain(match: Match, settings: Sequence[Setting], dtype: str) -> list[Found]:
    """Settings that remove the layer's own error once torch has the other side's."""
    before = _error(match)
    if before is None:
        return []
    layer = main(match, "torch").layer
    found = []
    for setting in settings:
        name = next((n for n in _ATTRIBUTES.get(setting.name, ()) if hasattr(layer, n)), None)
        if name is None or setting.layer != match.path or setting.training:
            continue
        kept = getattr(layer, name)
        setattr(layer, name, _as_torch(setting))
        try:
            after = _error(match)
        finally:
            setattr(layer, name, kept)
        if after is not None and after <= _bound(match, dtype) and after < before / 4:
            facts = {"name": setting.name, "torch": setting.torch, "tf": setting.tf}
            found.append(Found(setting.cause, after, facts, setting.fix))
    return found


def _as_torch(setting: Setting) -> Any:
    if setting.name == "approximate":
        return "tanh" if setting.tf else "none"
    return setting.tf


def _error(match: Match) -> float | None:
    """How far torch's layer is from the recorded one, on the recorded input; None: it refuses."""
    pairs = torch_on_recorded(match)
    worst = 0.0
    for ours, theirs in pairs or ():
        a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
        if a.shape != b.shape:
            return None
        with np.errstate(invalid="ignore"):
            worst = max(worst, float(np.abs(np.where(a == b, 0.0, a - b)).max(initial=0.0)))
    return worst if pairs else None


def _bound(match: Match, dtype: str) -> float:
    value = np.abs(np.asarray(match.outputs()[0].tf, dtype=np.float64))
    scale = float(value[np.isfinite(value)].max(initial=0.0))
    bound = explained_bound(dtype, scale)
    return max(bound, float32_inside_bound(scale)) if dtype == "float64" else bound
