"""Layers of one side only whose absence on the other side the data do not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parity.backends.base import LayerCall
from parity.debug import kinds
from parity.debug.config import Setting
from parity.debug.matching import Match


def lone_activations(
    matches: Sequence[Match],
    only: Mapping[str, Sequence[LayerCall]],
    tensors: Mapping[str, Sequence[np.ndarray]],
) -> list[Setting]:
    """Activations of one side where the other hands the same tensor on as it is.

    The data may hide such a one (a ReLU where nothing is negative); what the other side's own code
    does in between cannot be told from an identity then.

    Args:
        only: calls without partner, by side.
        tensors: by side, all that layers were given and what the model returned.
    """
    found = []
    for side, other in (("tf", "torch"), ("torch", "tf")):
        for call in only[side]:
            family, name = kinds.describe(call.kind, call.layer, fused=call.fused)
            if family != kinds.ACTIVATION or name in ("", "identity") or not call.inputs:
                continue
            for match in matches:
                ours, theirs = getattr(match, side)[-1].output, getattr(match, other)[-1].output
                if not isinstance(theirs, np.ndarray) or not _is(ours, call.inputs[0]):
                    continue
                if any(_is(theirs, given) for given in tensors[other]):
                    values = {side: name, other: "none, as far as these data show"}
                    cause = "activation-extra" if side == "tf" else "activation-missing"
                    found.append(
                        Setting(
                            match.path, match.tf_path, "activation behind it", values["torch"],
                            values["tf"], cause,
                        )
                    )  # fmt: skip
                break
    return found


def _is(a: Any, b: Any) -> bool:
    return isinstance(a, np.ndarray) and a.shape == np.shape(b) and bool(np.array_equal(a, b))
