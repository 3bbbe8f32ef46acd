"""Causes of differences in running statistics and in gradients, where the outputs agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from parity.debug import config
from parity.debug.localise import Fault
from parity.debug.matching import Match
from parity.diagnose.found import Found
from parity.diagnose.variants import distance
from parity.tolerance import explained_bound


def explain(
    run: Any, settings: Sequence[config.Setting]
) -> Iterator[tuple[str, float, list[Found]]]:
    """``(place, error, causes)`` for state and for gradients that code cuts off."""
    for match in run.matching.matches:
        if match.kind != "batch_norm":
            continue
        for name in ("moving_mean", "moving_variance"):
            entry = f"state/{match.path}/{name}"
            if entry in run.traces["torch"] and entry in run.traces["tf"]:
                before = distance(run.traces["torch"][entry], run.traces["tf"][entry])
                found = _statistics(run, match, name, entry)
                if found:
                    yield entry, before, found
    yield from _cut_off(run)


def _statistics(run: Any, match: Match, name: str, entry: str) -> list[Found]:
    """Which update makes torch's running statistic of the tf side's."""
    old = run.before.get(entry)
    layer, other = match.torch[-1].layer, match.tf[-1].layer
    if old is None or layer.momentum is None:
        return []
    keep, own = 1.0 - layer.momentum, float(other.momentum)
    left, right = run.traces["torch"][entry], run.traces["tf"][entry]
    bound = explained_bound(run.pair.dtype, float(np.abs(left).max(initial=0.0)))
    before = distance(left, right)
    if before <= bound or own == 1.0:
        return []
    batch = (right.astype(np.float64) - own * old) / (1.0 - own)
    given = match.torch[-1].inputs[0]
    count = given.size // given.shape[1]
    bessel = count / (count - 1) if count > 1 and name == "moving_variance" else 1.0
    plain = keep * old + (1 - keep) * batch
    found: list[Found] = []
    if abs(keep - own) > 1e-9 and distance(plain, left) <= bound:
        found.append(_momentum(layer, other, distance(plain, left)))
    both = keep * old + (1 - keep) * batch * bessel
    if not found and bessel != 1.0 and distance(both, left) <= bound:
        found.append(Found("variance-bias", distance(both, left), {"count": count}, rank=0.5))
        if abs(keep - own) > 1e-9:
            found.append(_momentum(layer, other, distance(both, left)))
    return found


def _momentum(layer: Any, other: Any, after: float) -> Found:
    wanted = round(1.0 - layer.momentum, 12)
    facts = {"name": "momentum", "torch": layer.momentum, "tf": float(other.momentum)}
    return Found("norm-momentum", after, facts, config.code(other, {"momentum": wanted}))


def _cut_off(run: Any) -> Iterator[tuple[str, float, list[Found]]]:
    """A layer whose output gets the gradient of some of its users only, on one side."""
    for match in reversed(run.matching.matches):
        name = f"grad_output/{match.path}"
        left, right = (t[name] if name in t else None for t in run.traces.values())
        if left is None and right is None:
            continue
        known = left if left is not None else right
        assert known is not None
        shape = known.shape
        a = np.zeros(shape) if left is None else left
        b = np.zeros(shape) if right is None else right
        if a.shape != b.shape:
            continue
        bound = explained_bound(run.pair.dtype, float(np.abs(a).max(initial=0.0)))
        if distance(a, b) <= bound:
            continue
        found = _missing_path(run, match, a, b, bound)
        if found:
            yield f"grad/{match.path}", distance(a, b), found
        return  # what lies before it has its error from here


def _missing_path(
    run: Any, match: Match, a: np.ndarray, b: np.ndarray, bound: float
) -> list[Found]:
    if not b.any() or not a.any():
        cause = "stop-gradient-extra" if not b.any() else "stop-gradient-missing"
        return [Found(cause, 0.0, {"paths": []})]
    for shares in _shares(run, match, a.shape):
        whole = sum(shares.values())
        for chosen in _subsets(list(shares)):
            rest = whole - sum(shares[name] for name in chosen)
            # code between a layer and its users multiplies each element by some slope
            for cause, full, cut in (
                ("stop-gradient-extra", a, b),
                ("stop-gradient-missing", b, a),
            ):
                after = distance(cut * whole, full * rest)
                if after <= bound * max(1.0, float(np.abs(whole).max())):
                    return [Found(cause, after, {"paths": list(chosen)})]
    return []


def _shares(run: Any, match: Match, shape: tuple[int, ...]) -> Iterator[dict[str, np.ndarray]]:
    """For layers that take one and the same tensor: what gradient each sends back, for torch."""
    groups: list[tuple[np.ndarray, dict[str, np.ndarray]]] = []
    for user in run.matching.matches:
        call = user.torch[0]
        if user is match or call.replay_gradients is None or call.output_gradient is None:
            continue
        for index, given in enumerate(call.inputs):
            if given.shape != shape:
                continue
            sent = call.replay_gradients(call.inputs, call.output_gradient).inputs[index]
            home = next((g for x, g in groups if np.array_equal(x, given)), None)
            if home is None:
                home = {}
                groups.append((given, home))
            if sent is not None:
                home[user.path] = sent
    yield from (shares for _, shares in groups if len(shares) > 1)


def _subsets(names: list[str]) -> Iterator[tuple[str, ...]]:
    from itertools import combinations

    for count in range(1, min(len(names), 4) + 1):
        yield from combinations(names, count)


def explain_gradient(fault: Fault, match: Match, settings: Sequence[config.Setting]) -> list[Found]:
    """A backward pass that differs where the forward pass does not."""
    padding = [s for s in settings if s.layer == match.path and s.cause == "embedding-padding"]
    left, right = np.asarray(fault.torch), np.asarray(fault.tf)
    if padding and left.shape == right.shape:
        row = int(padding[0].torch)
        fixed = right.copy()
        fixed[row] = 0
        after = distance(left, fixed)
        if after < fault.error / 4:
            return [Found("embedding-padding", after, {"row": row})]
    return _ties(match, left, right)


def _ties(match: Match, left: np.ndarray, right: np.ndarray) -> list[Found]:
    """Gradients that differ only where the input is at a kink."""
    given = match.inputs()
    if not given or np.shape(given[0].torch) != left.shape or left.shape != right.shape:
        return []
    x = np.asarray(given[0].torch)
    where = np.abs(left - right) > 1e-12 * max(1.0, float(np.abs(left).max(initial=0.0)))
    if where.any() and len(np.unique(x[where])) <= 2:
        return [Found("tie-gradient", 0.0, {"values": np.unique(x[where]).tolist()})]
    return []
