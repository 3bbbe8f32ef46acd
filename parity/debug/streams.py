"""The random streams of the process, kept and put back.

A user's function may draw from the global generators. It is run several times (in both precisions,
and again for each hypothesis), and every run must draw the same numbers; and afterwards the user's
own streams stand where they stood.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

Restore = Callable[[], None]


def snapshot() -> Restore:
    """Remember where every global generator stands; calling the result puts them back there."""
    python, numpy = random.getstate(), np.random.get_state()
    others = [r for r in (_torch(), _tensorflow(), _keras()) if r is not None]

    def restore() -> None:
        random.setstate(python)
        np.random.set_state(numpy)
        for put in others:
            put()

    return restore


@contextmanager
def unmoved() -> Iterator[None]:
    """Whatever is drawn inside, the generators stand afterwards where they stood before."""
    restore = snapshot()
    try:
        yield
    finally:
        restore()


def _torch() -> Restore | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    state = torch.get_rng_state()
    return lambda: torch.set_rng_state(state)


def _tensorflow() -> Restore | None:
    module = sys.modules.get("tensorflow.python.eager.context")
    if module is None:
        return None
    context: Any = module.context()
    seed, generator = getattr(context, "_seed", None), getattr(context, "_rng", None)
    state = generator.getstate() if generator is not None else None

    def restore() -> None:
        context._seed = seed
        if state is not None:
            if getattr(context, "_rng", None) is None:
                context._rng = random.Random()
            context._rng.setstate(state)

    return restore


def _keras() -> Restore | None:
    module = sys.modules.get("keras.src.backend.common.global_state")
    generator = module.get_global_attribute("global_seed_generator") if module else None
    if generator is None:
        return None
    state = np.array(generator.state)
    return lambda: generator.state.assign(state)
