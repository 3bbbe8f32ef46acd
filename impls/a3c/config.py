"""Constants of A3C, its state, and the order of events as data."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from impls.a2c.config import A2CConfig
from impls.a2c.config import initial_state as initial_shared_state
from impls.errors import ConfigError, DtypeError, ShapeError
from impls.learner.config import Layout
from impls.learner.on_policy import GROUP, GROUPS

__all__ = ["GROUP", "GROUPS", "PULL", "PUSH", "A3CConfig", "initial_state", "require_order"]

PULL, PUSH = 0, 1
"""Events: a worker takes the shared parameters; a worker's gradients are applied to them."""

EVENTS = ("pull", "push")

EVENT_LAYOUT: Layout = {"worker": ((), "int64"), "event": ((), "int64")}
"""The draws of one event."""


@dataclass(frozen=True)
class A3CConfig(A2CConfig):
    """Constants of A3C: those of A2C, which are each worker's, and how many workers there are.

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    workers: int = 4
    """Workers, each with its own environment (paper: 16)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        integer = isinstance(self.workers, Integral) and not isinstance(self.workers, bool)
        if not integer or self.workers < 1:
            raise ConfigError(f"workers={self.workers!r}: must be an integer of at least 1")


def initial_state(config: A3CConfig, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The state before the first event: every worker holds a copy of the shared parameters.

    Returns:
        What ``impls.a2c.config.initial_state`` returns, and ``pulled/<worker>/trunk/l1/kernel``,
        ... for each worker.
    """
    state = initial_shared_state(config, rng)
    start = f"param/{GROUP}/"
    parameters = {n[len(start) :]: v for n, v in state.items() if n.startswith(start)}
    for worker in range(config.workers):
        state |= {f"pulled/{worker}/{name}": v.copy() for name, v in parameters.items()}
    return state


def require_worker(worker: Any, workers: int) -> int:
    """The worker's number as a Python integer, if there is such a worker."""
    number = int(worker)
    if not 0 <= number < workers:
        raise ConfigError(f"worker={number}: must be in [0, {workers})")
    return number


def require_event(event: Any) -> int:
    """The event as a Python integer, if it is one."""
    number = int(event)
    if number not in (PULL, PUSH):
        raise ConfigError(f"event={number}: must be {PULL} (pull) or {PUSH} (push)")
    return number


def require_order(order: Any, workers: int) -> np.ndarray:
    """Refuse an order of events in which a worker pushes without having pulled, or pulls twice.

    Args:
        order: [E, 2], integer: worker, event.

    Raises:
        ShapeError, DtypeError: not such an array.
        ConfigError: the message names the event.
    """
    events = np.asarray(order)
    if events.ndim != 2 or events.shape[1] != 2:
        raise ShapeError(f"order has shape {list(events.shape)}, must be [E, 2]: worker, event")
    if events.dtype.kind not in "iu":
        raise DtypeError(f"order is {events.dtype}, must be integer")
    holding: set[int] = set()
    for i, (worker, event) in enumerate(events.tolist()):
        try:
            require_worker(worker, workers)
            require_event(event)
        except ConfigError as error:
            raise ConfigError(f"order[{i}]: {error}") from None
        if (event == PUSH) != (worker in holding):
            reason = "has not pulled" if event == PUSH else "has not pushed since it pulled"
            raise ConfigError(f"order[{i}]: {EVENTS[event]} of worker {worker}, which {reason}")
        holding ^= {worker}
    return events.astype(np.int64)
