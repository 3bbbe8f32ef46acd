"""The check of what runs at the same time: threads that push at once lose nothing.

Whether two threads meet inside of an update is chance, so the check makes them meet: whoever has
read the shared values waits there until every other thread has read them too, stands at the lock or
has ended. Then they write, one after the other, what they made of what they read. With the lock
only one at a time has read anything, and the result is that of the recorded order; without it the
second one undoes the first one's work.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from impls.a3c.config import PULL, require_order
from parity.checks import cast_inputs, rng_for
from parity.checks.learner import tensors
from parity.component import Check, Recording, Side
from parity.trace import Trace

PATIENCE = 60.0
"""Seconds after which a thread that waits gives up: something is wrong with the check itself."""


@dataclass(frozen=True, kw_only=True)
class LiveCheck(Check):
    """Every worker is a thread that pulls and pushes; then their order is replayed by one thread.

    Attributes:
        config: of the learner; its ``workers`` are the threads.
        examples: (generator, count) -> rollouts, one for each worker.

    Entries: ``difference/<name>``, live minus replayed, for each entry of the state: zero;
    ``updates``: how many pushes the learner counted.
    """

    kind: ClassVar[str] = "live"
    config: Any
    examples: Any
    expect_zero: tuple[str, ...] = ("difference/*",)

    def record(self, sides: Mapping[str, Side]) -> Recording:
        rollouts = self.examples(rng_for(self), self.config.workers)
        batches = [cast_inputs(batch, "float64") for batch, _ in rollouts]
        traces = {name: self._side(side, batches) for name, side in sides.items()}
        return Recording(traces)

    def _side(self, side: Side, batches: list[dict[str, np.ndarray]]) -> Trace:
        live, replayed = (
            side.impl.make_learner(self.config, dtype=side.dtype, device=side.device)
            for _ in range(2)
        )
        given = [tensors(side, live, batch) for batch in batches]
        meet(live, given)
        gradients: dict[int, Any] = {}
        for worker, event in require_order(live.order, self.config.workers).tolist():
            if event == PULL:
                replayed.pull(worker)
                gradients[worker] = replayed.gradients(worker, **given[worker])[1]
            else:
                replayed.push(worker, gradients[worker])
        trace = Trace(side=side.name)
        wanted = replayed.state()
        for name, value in live.state().items():
            trace.add(f"difference/{name}", np.asarray(value - wanted[name], np.float64))
        trace.add("updates", np.asarray(live.state()["step"]))
        return trace


def meet(learner: Any, batches: list[Any]) -> None:
    """One thread per batch: pull, gradients, push; all of them meet inside of the push."""
    meeting = Meeting(learner, len(batches))
    errors: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            learner.pull(worker)
            learner.push(worker, learner.gradients(worker, **batches[worker])[1])
        except BaseException as error:
            errors.append(error)
        finally:
            meeting.leave()

    threads = [threading.Thread(target=work, args=(w,)) for w in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Meeting:
    """Stands around a learner's lock, and around the write to its shared parameters."""

    def __init__(self, learner: Any, threads: int) -> None:
        self.learner, self.threads = learner, threads
        self.changed, self.writing = threading.Condition(), threading.Lock()
        self.accounted: dict[int, str] = {}  # thread -> inside, at the lock, or gone
        self._lock, self._apply = learner.lock, learner.shared.apply
        learner.lock = self
        learner.shared.apply = self.apply

    def __enter__(self) -> None:
        self._note("at the lock")
        self._lock.__enter__()
        self._note(None)

    def __exit__(self, *error: Any) -> None:
        self._lock.__exit__(*error)

    def apply(self, gradients: Any) -> None:
        """What the learner's own does, on the values that were read before the others came."""
        with self.changed:
            read = self.learner.shared.state()
        self._note("inside")
        with self.changed:
            if not self.changed.wait_for(self._complete, PATIENCE):
                raise TimeoutError(f"a thread never came: {self.accounted}")
        with self.writing:
            self.learner.shared.load_state(read)
            self._apply(gradients)

    def leave(self) -> None:
        """The calling thread has ended."""
        self._note("gone")

    def _complete(self) -> bool:
        return len(self.accounted) == self.threads

    def _note(self, where: str | None) -> None:
        with self.changed:
            if where is None:
                self.accounted.pop(threading.get_ident(), None)
            else:
                self.accounted[threading.get_ident()] = where
            self.changed.notify_all()
