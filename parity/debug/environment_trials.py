"""One side's environment run under a change, and whether that removes the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from parity import tried
from parity.compare import compare_arrays
from parity.debug.stepping import Rollout, is_action, split
from parity.diagnose.causes import CAUSES
from parity.errors import ParityError
from parity.tolerance import default_tolerance

if TYPE_CHECKING:
    from parity.debug.environments import Bench

SIDES = ("torch", "tf")

LATER = 10
"""So many steps later the sides must part, at least, for a trial to count as a cause."""

Cause = dict[str, Any]


def cause_of(
    name: str,
    text: str,
    *,
    before: float | None = None,
    after: float | None = None,
    fix: str = "",
) -> Cause:
    """A cause as it stands in a report, with the catalogue's fix where none is given."""
    info = CAUSES.get(name) or CAUSES["relation"]
    numbers = {k: v for k, v in (("before", before), ("after", after)) if v is not None}
    return {
        "cause": info.id,
        "text": text,
        **numbers,
        "fix": fix or info.fix,
        "docs": info.link,
    }


def parting(bench: Bench, torch: Rollout, tf: Rollout) -> tuple[str, float] | None:
    """The first entry that differs, and by how much."""
    for name, array in torch.trace.items():
        if is_action(name) or name in bench.ignored:
            continue
        if name not in tf.trace:
            if "/info/" in name or name.startswith("reset/info"):
                continue
            return name, float("inf")
        d = compare_arrays(
            array, tf.trace[name], tolerance=default_tolerance(str(array.dtype)), check_dtype=True
        )
        if not d.agrees:
            return name, float("inf") if d.structural else float(d.max_abs)
    return None


def first_parting(bench: Bench) -> tuple[str, float]:
    return parting(bench, bench.rollouts["torch"], bench.rollouts["tf"]) or ("", 0.0)


def _removes(bench: Bench, made: Rollout, side: str) -> bool:
    """Whether the sides now part nowhere, in another field, or much later."""
    other = bench.rollouts["tf" if side == "torch" else "torch"]
    pair = (made, other) if side == "torch" else (other, made)
    old, new = first_parting(bench)[0], parting(bench, *pair)
    if new is None:
        return True
    (was, field), (now, kind) = split(old), split(new[0])
    return now >= was + LATER or (now >= was and kind != field and was >= 0 and now > was)


def helps(
    bench: Bench, side: str, change: Callable[[Any], Any], cause: str, what: str = "",
    actions: Sequence[Any] | None = None, seed: int | None = None,
) -> bool:  # fmt: skip
    """Run a changed environment of one side; whether that removes the difference."""
    place, before = first_parting(bench)
    try:
        environment = change(bench.sides[side].spare())
        made = bench.run(environment, actions or bench.actions, side, seed)
    except (ParityError, ArithmeticError, AttributeError, TypeError, ValueError, IndexError):
        tried.note(cause, before, None, removes=False, place=place, what=what)
        return False
    removes = _removes(bench, made, side)
    after = None if place not in made.trace else _gap_at(bench, made, side, place)
    tried.note(cause, before, after, removes=removes, place=place, what=what)
    return removes


def _gap_at(bench: Bench, made: Rollout, side: str, place: str) -> float | None:
    """The difference that a changed run leaves where the sides parted first."""
    other = bench.rollouts["tf" if side == "torch" else "torch"].trace
    if place not in other:
        return None
    d = compare_arrays(
        made.trace[place], other[place],
        tolerance=default_tolerance(str(other[place].dtype)), check_dtype=True,
    )  # fmt: skip
    return None if d.structural else float(d.max_abs)
