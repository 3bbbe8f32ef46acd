"""The real tf layer, made anew with one thing changed, and fed with torch's recorded input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parity import tried, weights
from parity.backends.base import LayerCall
from parity.debug import axes, modules, values
from parity.debug.matching import Match
from parity.debug.spatial import main
from parity.tolerance import explained_bound, float32_inside_bound

Run = Callable[[LayerCall, list[np.ndarray]], Any]


class Bench:
    """One paired layer, and the means to try what would make the tf side agree.

    Attributes:
        match: the pair, recorded in ``dtype``.
        before: the local error as it is.
    """

    def __init__(self, match: Match, dtype: str) -> None:
        self.match, self.dtype = match, dtype
        self.torch, self.tf = main(match, "torch"), main(match, "tf")
        self.given = modules.torch_inputs(match)
        own = modules.replay(match.tf, self.given)
        self.before = np.inf if own is None else self.error(own)

    @property
    def target(self) -> np.ndarray:
        """torch's main output."""
        return np.asarray(self.match.outputs()[0].torch)

    def error(self, output: Any) -> float:
        """How far an output of the tf layer is from torch's, over all tensors that pair."""
        worst = 0.0
        call = replace(self.match.tf[-1], output=output)
        for value in values.outputs(self.match.torch[-1], call):
            if value.torch is None or value.tf is None:
                continue
            ours = axes.to_torch(value.tf, value.order(self.match.order))
            wanted = np.asarray(value.torch)
            if ours.ndim == wanted.ndim == 3 and 0 < ours.shape[2] < wanted.shape[2]:
                wanted = wanted[..., : ours.shape[2]]  # torch's code drops the tail itself
            worst = max(worst, distance(wanted, ours))
        return worst

    def explained(self, error: float) -> bool:
        """Whether an error is none; constants may have been rounded to float32."""
        target = self.target
        finite = np.abs(target[np.isfinite(target)]) if target.dtype.kind == "f" else np.zeros(1)
        scale = float(finite.max(initial=0.0))
        bound = explained_bound(self.dtype, scale)
        if self.dtype == "float64":
            bound = max(bound, float32_inside_bound(scale))
        return error <= bound and error < self.before / 4

    def through(self, run: Run, given: Sequence[np.ndarray] | None = None) -> Any:
        """The tf calls in order, the one that does the work replaced; None where it refuses."""
        current: list[np.ndarray] = list(self.given if given is None else given)
        output: Any = None
        try:
            with modules.unmoved([c.layer for c in self.match.tf]):
                for number, call in enumerate(self.match.tf):
                    if number:
                        current = [np.asarray(values.flat(output)[0]), *call.inputs[1:]]
                    if call is self.tf:
                        output = run(call, current)
                    else:
                        assert call.replay is not None
                        output = call.replay(current)
        except Exception:  # a variant that cannot be is not the cause
            return None
        return output

    def try_run(
        self, run: Run, given: Sequence[np.ndarray] | None = None, *, cause: str, what: str = ""
    ) -> float | None:
        """The error that is left with this way of running; None where it cannot run.

        Args:
            cause, what: the hypothesis, for the list of what was tried.
        """
        output = self.through(run, given)
        return self.noted(None if output is None else self.error(output), cause, what)

    def noted(self, after: float | None, cause: str, what: str = "") -> float | None:
        """The error as it is, once it stands in the list of what was tried."""
        removes = after is not None and self.explained(after)
        place = self.match.path
        tried.note(cause, self.before, after, removes=removes, place=place, what=what)
        return after

    def try_edit(
        self,
        edit: Mapping[str, Any],
        tensors: Mapping[str, np.ndarray] | None = None,
        *,
        cause: str,
    ) -> float | None:
        """The error with attributes of the layer changed, and canonical tensors, if given."""
        what = ", ".join(f"{k}={v!r}" for k, v in edit.items()) or ", ".join(tensors or ())
        return self.try_run(
            lambda call, given: self.run_edited(call, given, edit, tensors), cause=cause, what=what
        )

    def run_edited(
        self,
        call: LayerCall,
        given: list[np.ndarray],
        edit: Mapping[str, Any],
        tensors: Mapping[str, np.ndarray] | None = None,
    ) -> Any:
        clone = cloned(call, given, edit, tensors)
        assert call.rerun is not None
        return call.rerun(clone, given)

    def try_tensors(self, tensors: Mapping[str, np.ndarray], *, cause: str) -> float | None:
        """The error with some of the tf layer's canonical tensors replaced."""
        return self.try_edit({}, tensors, cause=cause)

    def torch_tensors(self) -> dict[str, np.ndarray]:
        """torch's canonical tensors of this layer."""
        return {s.path: s.get() for s in slots(self.torch.layer)}

    def tf_tensors(self) -> dict[str, np.ndarray]:
        return {s.path: s.get() for s in slots(self.tf.layer)}


def slots(layer: Any) -> list[Any]:
    """The tensors of one layer; none where it is no layer."""
    try:
        return weights.slots(layer)
    except Exception:  # an activation function has none
        return []


def cloned(
    call: LayerCall,
    given: Sequence[np.ndarray],
    edit: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray] | None = None,
) -> Any:
    """A layer like that of a call, with attributes changed and the same weights."""
    layer = call.layer
    config = layer.get_config()
    clone = type(layer).from_config(_edited(config, edit))
    assert call.rerun is not None
    call.rerun(clone, given)  # builds it
    have = {s.path: s.get() for s in slots(layer)} | dict(tensors or {})
    for slot in slots(clone):
        value = have.get(slot.path)
        if value is not None and value.size == int(np.prod(slot.shape)):
            slot.set(value.reshape(slot.shape).astype(slot.get().dtype))
    return clone


def _edited(config: Mapping[str, Any], edit: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with some values replaced; wrapped layers (Bidirectional) inside it too."""
    made = dict(config)
    for name, value in edit.items():
        if name in made:
            made[name] = value
            continue
        for wrapper in ("layer", "backward_layer", "cell"):
            inner = made.get(wrapper)
            if isinstance(inner, dict) and "config" in inner:
                made[wrapper] = {**inner, "config": {**inner["config"], name: value}}
    return made


def distance(left: Any, right: Any) -> float:
    """Largest absolute difference; infinite for other shapes or other non-finite places."""
    a, b = np.asarray(left), np.asarray(right)
    if a.shape != b.shape:
        return float("inf")
    if not a.size:
        return 0.0
    a, b = a.astype(np.float64), b.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if (np.isfinite(a) != np.isfinite(b))[~same].any():
        return float("inf")
    with np.errstate(invalid="ignore"):
        return float(np.where(same, 0.0, np.abs(a - b)).max())
