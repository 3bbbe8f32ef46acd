"""One side of a component's check, recorded elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

import numpy as np

from parity.backends.base import Backend, LayerCall, LayerGradients
from parity.checks.layers import Recorded
from parity.component import Recording, Side
from parity.errors import InvalidInput
from parity.recording.modules import RecordedModule
from parity.report import Problem
from parity.trace import Trace

JOINT = ("all-zero", "order", "parted")
"""Problems that are found over all sides together: one side alone does not prove them."""


@dataclass(frozen=True)
class StoredSide:
    """What :func:`parity.recording.suite.record_case` kept of a side and of its eager twin.

    Attributes:
        side: ``torch`` or ``tf``.
        traces: side (or twin, or environment) -> its trace.
        modules: side -> its module with the recorded pass, for checks of modules.
        answers: side -> what its environment and policy answered, for rollouts.
        source: where the name under test is defined.
    """

    side: str
    dtype: str
    traces: dict[str, Trace]
    problems: list[Problem]
    compiles: dict[str, int]
    modules: dict[str, RecordedModule]
    answers: dict[str, dict[str, Any]]
    source: str

    def recorded(self, inputs: Sequence[np.ndarray]) -> Recorded:
        """The module of this side as the module check keeps one.

        Raises:
            InvalidInput: the recording holds none.
        """
        if self.side not in self.modules:
            raise InvalidInput(f"the recording of {self.side} holds no module")
        module = self.modules[self.side]
        side = Side(self.side, cast(ModuleType, None), _backend(), self.dtype)
        slots = {slot.path: slot for slot in module.slots}
        return Recorded(side, module, module.record, slots, inputs)


class _Answering:
    """The part of a backend that a recorded module needs: its layers know their answers."""

    name = "recorded"

    def layer_output(self, module: Any, call: LayerCall, inputs: Sequence[Any], **_: Any) -> Any:
        assert call.replay is not None
        return call.replay(inputs)

    def layer_gradients(
        self, module: Any, call: LayerCall, inputs: Sequence[np.ndarray], output_gradient: Any
    ) -> LayerGradients | None:
        if call.replay_gradients is None:
            return None
        return call.replay_gradients(inputs, output_gradient)


def _backend() -> Backend:
    return cast(Backend, _Answering())


def merged(stored: StoredSide, recording: Recording) -> Recording:
    """A recording of the sides that ran here, with the stored side among them."""
    here = {(p.kind, p.name) for p in recording.problems}
    both = {(p.kind, p.name) for p in stored.problems} & here
    found: dict[str, Problem] = {}
    for problem in (*stored.problems, *recording.problems):
        if problem.kind not in JOINT or (problem.kind, problem.name) in both:
            found.setdefault(_identity(problem), problem)
    return Recording(
        {**stored.traces, **recording.traces},
        list(found.values()),
        {**stored.compiles, **recording.compiles},
    )


def _identity(problem: Problem) -> str:
    return repr((problem.kind, problem.name, sorted(_plain(problem.details).items())))


def _plain(details: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): repr(value) for key, value in details.items()}
