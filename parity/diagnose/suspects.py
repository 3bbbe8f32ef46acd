"""Which operations of the tf side to try first, and what is known of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.debug.intermediates import Value
from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.tolerance import SAME_NUMBER


def suspects_first(bench: Bench) -> list[Site]:
    """Sites, those whose value has no counterpart first, then what went into them."""
    unmatched = [s for s, vs in bench.sites.items() if any(v.partner is None for v in vs)]
    first = bench.suspect.site if bench.suspect is not None else None
    head = [first] if first is not None and first in bench.sites else []
    return list(dict.fromkeys([*head, *unmatched, *bench.sites]))


def floating(bench: Bench, site: Site) -> bool:
    return any(v.array.dtype.kind == "f" for v in bench.sites[site])


def calls(bench: Bench, site: Site) -> list[Value]:
    return [v for v in bench.sites[site] if v.call is not None]


def input_name(bench: Bench, array: np.ndarray) -> str:
    """What the user calls an array that is one of the inputs."""
    for name, given in bench.inputs["tf"].items():
        held = np.asarray(given)
        if held.shape == array.shape and np.array_equal(held.astype(array.dtype), array):
            return name
    return "its other operand"


def known(
    bench: Bench, function: Callable[[Any], Any], array: np.ndarray, *, paired: bool = False
) -> bool:
    """Whether torch has what the function makes of this value among its intermediates.

    Args:
        paired: those count as well that the tf side has too, but may use elsewhere only.
    """
    try:
        made = np.asarray(function(array.astype(np.float64)))
    except Exception:
        return False
    if made.size < 1 or not np.isfinite(made).all():
        return False
    return any(
        v.array.size == made.size and v.array.dtype.kind == "f" and not v.backward
        and np.allclose(v.array.reshape(-1), made.reshape(-1), rtol=SAME_NUMBER, atol=0)
        for v in bench.theirs if v.partner is None or paired and v.op != "input"
    )  # fmt: skip


def at_site(
    site: Site, change: Callable[[Any], Any], cause: str, rank: float, **facts: Any
) -> Hypothesis:
    from parity.backends import tf_edits as edits

    return Hypothesis(cause, Change((edits.at(site, change),)), facts, site, rank)
