"""Other inputs of the same kind, on which a cause must hold as well."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parity.diagnose.hypotheses import Arrays


def same_inputs(inputs: Mapping[str, Arrays]) -> bool:
    """Both sides are given the same arrays."""
    torch, tf = list(inputs["torch"].values()), list(inputs["tf"].values())
    return len(torch) == len(tf) and all(a is b for a, b in zip(torch, tf, strict=True))


def varied(inputs: Arrays) -> dict[str, np.ndarray] | None:
    """Inputs a little different: zeros, ties, masks and signs stay what they are."""
    found, changed = {}, False
    for number, (name, array) in enumerate(inputs.items()):
        array = np.asarray(array)
        if array.dtype.kind != "f":
            found[name] = array
            continue
        if set(np.unique(array)) == {0.0, 1.0} and array.size > 2:
            flipped = array.reshape(-1).copy()  # a mask, with some elements more or less
            for place in {0, array.size // 2}:
                flipped[place] = 1.0 - flipped[place]
            found[name], changed = flipped.reshape(array.shape), True
            continue
        if set(np.unique(array)) <= {0.0, 1.0}:
            found[name] = array
            continue
        changed = True
        power = 1.07 if number % 2 == 0 else 0.94
        if np.all((array >= 0) & (array <= 1)):
            other = array.astype(np.float64) ** power
        else:
            other = array.astype(np.float64) * power
        found[name] = other.astype(np.float32).astype(array.dtype)
    return found if changed else None
