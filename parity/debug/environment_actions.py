"""What one environment may do to the actions before they act."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.debug.environment_trials import Cause, cause_of, first_parting, helps
from parity.debug.stepping import chain, split

if TYPE_CHECKING:
    from parity.debug.environments import Bench


def changed_actions(bench: Bench) -> Iterator[Cause]:
    """One side does something to the actions before they act."""
    name, before = first_parting(bench)
    if split(name)[0] < 0:
        return
    for cause, text, function in _transforms(bench):
        try:
            changed = function(bench.actions)
        except (TypeError, ValueError):
            continue
        if _same(changed, bench.actions):
            continue
        for side, doer in (("torch", "tf"), ("tf", "torch")):
            # what torch answers to the changed actions is what tf answers to the given ones
            if helps(bench, side, lambda e: e, cause, text, changed):
                yield cause_of(cause, f"{doer} {text}", before=before, after=0.0)
                return


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


Transform = tuple[str, str, Callable[[Sequence[Any]], list[Any]]]


def _transforms(bench: Bench) -> Iterator[Transform]:
    sample = bench.actions[0]
    if not isinstance(sample, (np.ndarray, np.generic)):
        return

    def each(function: Callable[[Any], Any]) -> Callable[[Sequence[Any]], list[Any]]:
        return lambda actions: [np.asarray(function(a)).astype(a.dtype)[()] for a in actions]

    yield "off-by-one", "acts one step late", lambda a: [a[0], *a[:-1]]
    if sample.dtype.kind != "f":
        count = 1 + int(max(np.max(a) for a in bench.actions))
        yield "action-order", "counts the actions backwards", each(lambda a: count - 1 - a)
        yield (
            "action-order",
            "exchanges the actions 0 and 1",
            each(lambda a: np.where(a == 0, 1, np.where(a == 1, 0, a))),
        )
        for by in range(1, min(count, 20)):
            yield (
                "action-order",
                f"adds {by} to the action's number",
                each(partial(_added, by=by, count=count)),
            )
        return
    yield "sign", "turns the sign of the action", each(lambda a: -a)
    for low, high in _bounds(bench):
        text = f"clips actions to [{low:.6g}, {high:.6g}]"
        yield "action-clip", text, each(partial(np.clip, a_min=low, a_max=high))
        text = f"maps [-1, 1] to [{low:.6g}, {high:.6g}]"
        yield (
            "action-scale",
            text,
            each(partial(_mapped, low=low, high=high)),
        )
        text = f"scales actions by {high:.6g}"
        yield "action-scale", text, each(partial(np.multiply, high))
        text = f"scales actions by 1/{high:.6g}"
        yield "action-scale", text, each(partial(np.multiply, 1 / high) if high else np.copy)
    for factor in (2.0, 0.5, 10.0, 0.1):
        yield "action-scale", f"scales actions by {factor:g}", each(partial(np.multiply, factor))
    yield "action-scale", "takes the tanh of the action", each(np.tanh)
    if sample.ndim == 1 and sample.size > 1:
        yield "action-order", "takes the components backwards", each(lambda a: a[::-1])


def _added(action: Any, by: int, count: int) -> Any:
    return (action + by) % count


def _mapped(action: Any, low: float, high: float) -> Any:
    return low + (np.clip(action, -1, 1) + 1) * (high - low) / 2


def _bounds(bench: Bench) -> list[tuple[float, float]]:
    found = [(-1.0, 1.0), (0.0, 1.0)]
    for side in bench.sides.values():
        for layer in chain(side.first):
            space = getattr(layer, "action_space", None)
            low, high = (np.unique(getattr(space, n, np.nan)) for n in ("low", "high"))
            if low.size == high.size == 1 and np.isfinite([low[0], high[0]]).all():
                found.append((float(low[0]), float(high[0])))
    return list(dict.fromkeys(found))
