"""On a GPU: times from CUDA's events, and updates recorded once as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scripts.bench_cases import Case
from scripts.bench_ours import Ours

WARM = 3
"""Runs before recording: libraries set themselves up in their first ones."""


def events(call: Callable[[], Any]) -> float:
    """By CUDA's own events around the call."""
    import torch

    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    before.record()
    call()
    after.record()
    torch.cuda.synchronize()
    return float(before.elapsed_time(after)) / 1e3


def moved(tensors: Mapping[str, Any], framework: str, device: str) -> dict[str, Any]:
    """The same tensors on a device."""
    if device == "cpu":
        return dict(tensors)
    if framework == "torch":
        return {name: value.to(device) for name, value in tensors.items()}
    import tensorflow as tf

    with tf.device(f"/GPU:{device.partition(':')[2] or 0}"):
        return {name: tf.identity(value) for name, value in tensors.items()}


class Graph(Ours):
    """torch's eager updates of one period, recorded as a CUDA graph and replayed.

    Every replay reads the same memory, so all updates take the first batches again. On a CPU there
    is nothing to record: the updates run as they are.
    """

    can = ("update",)

    def prepare(self, case: Case) -> dict[str, Any]:
        facts = super().prepare(case)
        self.replay = self._record()
        return facts

    def _period(self) -> None:
        for i in range(self.case.period):
            self.learner.update(*self.inputs[i])

    def _record(self) -> Callable[[], Any]:
        if self.device == "cpu":
            return self._period
        import torch

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM):
                self._period()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._period()
        return graph.replay

    def _update(self, count: int) -> None:
        for _ in range(count // self.case.period):
            self.replay()
