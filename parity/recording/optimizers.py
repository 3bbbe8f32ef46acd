"""Recorded optimizers: parameters and slots after every step, in float32 and float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from parity.debug.subjects import Subject
from parity.errors import InvalidInput
from parity.recording.seen import SeenStep, get_steps, put_steps
from parity.recording.trees import Book
from parity.trace import Trace

DTYPES = ("float32", "float64")


def record_optimizer(
    subject: Subject,
    parameters: Mapping[str, np.ndarray] | None,
    trace: Book,
    *,
    steps: int,
    seed: int,
) -> None:
    """Step the optimizer in both precisions and write what every step made.

    Entries: ``<dtype>/step/<k>/param/<name>`` and ``<dtype>/step/<k>/slot/<slot>/<name>``; the
    start and the gradients stand under ``start`` and ``gradients``.
    """
    from parity.debug import optimizers

    start = dict(parameters or optimizers.default_parameters(seed))
    gradients = [optimizers.default_gradients(start, step, seed) for step in range(steps)]
    for name, value in start.items():
        trace.add(f"start/{name}", value)
    for index, step in enumerate(gradients):
        for name, value in step.items():
            trace.add(f"gradients/{index}/{name}", value)
    runs: dict[str, Any] = {}
    for dtype in DTYPES:
        own, taken = optimizers.run_side(subject, start, gradients, dtype)
        for name, value in own.items():
            trace.add(f"{dtype}/{name}", value)
        runs[dtype] = {"entries": list(own), "steps": put_steps(trace, f"{dtype}/taken", taken)}
    trace.meta["runs"] = runs


class RecordedOptimizer:
    """An optimizer that was recorded elsewhere."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def run(self, dtype: str) -> tuple[Trace, list[SeenStep]]:
        """What it made in one precision, and its steps.

        Raises:
            InvalidInput: the recording does not hold it.
        """
        try:
            facts = self.trace.meta["runs"][dtype]
            entries = {name: self.trace[f"{dtype}/{name}"] for name in facts["entries"]}
            return Trace(entries, side=self.trace.side), get_steps(self.trace, facts["steps"])
        except KeyError as error:
            raise InvalidInput(
                f"this recording of an optimizer is not complete ({error!r})"
            ) from None
