"""The tf model once more, with every paired layer handing on its partner's output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.debug import axes, modules
from parity.debug.matching import Match, Matching
from parity.debug.modules import Pair


@dataclass
class Forced:
    """What a run with torch's outputs put in place of tf's own gave."""

    inputs: dict[str, list[np.ndarray]]
    outputs: dict[str, Any]
    output: Any


def forced_run(
    pair: Pair,
    matching: Matching,
    inputs: Sequence[np.ndarray] | None = None,
    *,
    only_code: bool = False,
) -> Forced | None:
    """Run the tf model with every paired layer handing on its partner's output.

    Args:
        only_code: paired layers do not run at all, as far as their output is known.
    """
    if modules.is_recorded(pair.modules["tf"]):
        return None
    from parity.backends import get_backend
    from parity.backends.keras_recorder import forced_call

    partners = {match.tf[-1].path: match for match in matching.matches}

    def force(path: str, output: Any) -> Any:
        match = partners.get(path)
        return output if match is None else _partner_output(match, output)

    def instead(path: str) -> np.ndarray | None:
        match = partners.get(path) if only_code else None
        if match is None or not isinstance(match.tf[-1].output, np.ndarray):
            return None
        return _partner_output(match, [match.tf[-1].output])[0]

    given = [modules.typed(a, pair.dtype) for a in inputs or pair.inputs["tf"]]
    try:
        with modules.without_dropout(pair.modules["tf"], "tf", pair.training):
            with modules.unmoved([pair.modules["tf"]]):
                calls, output = forced_call(
                    get_backend("tf"),
                    pair.modules["tf"],
                    given,
                    force,
                    instead=instead,
                    training=pair.training,
                )
    except Exception:  # the user's code refuses the other side's values: the layers alone must do
        return None
    return Forced(
        {call.path: call.inputs for call in calls}, {c.path: c.output for c in calls}, output
    )


def _partner_output(match: Match, output: Sequence[np.ndarray]) -> list[np.ndarray]:
    """torch's output in the form of the tf layer's: leaves without counterpart stay."""
    leaves = list(output)
    for value in match.outputs():
        if value.index is None or value.torch is None or value.index >= len(leaves):
            continue
        moved = axes.to_tf(np.asarray(value.torch), value.order(match.order))
        if moved.shape == leaves[value.index].shape:
            leaves[value.index] = moved.astype(leaves[value.index].dtype)
    return leaves
