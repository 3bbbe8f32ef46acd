"""Optimizers: k steps on the same gradients, with every slot compared after every step.

float64 runs are composed: each side goes on from its own state. float32 runs are forced: before
each step every side is given the reference's state, rounded to float32, so that a step is judged by
what it does and not by what earlier steps left behind.

The subject is a class named ``check.name`` with the constructor ``(config, parameters)`` and
``apply(gradients)``, ``slots()``, ``load_slots(slots)``, ``learning_rate``,
``set_learning_rate(value)``; for clipping, a function ``(gradients, max_norm) -> (clipped, norm)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import numpy as np

from parity.backends.steps import Step, make_step, make_variable, write_variable
from parity.checks import rng_for
from parity.checks.learner import rounded, run_dtype
from parity.checks.training import with_eager_twins
from parity.component import Check, Recording, Side
from parity.errors import InvalidInput
from parity.report import Problem
from parity.trace import Trace, join

Arrays = dict[str, np.ndarray]
DECLARED_TRACES = 1


@dataclass(frozen=True, kw_only=True)
class OptimizerCheck(Check):
    """Steps of one optimizer; ``name`` is its class.

    Attributes:
        config: first argument of the class.
        inputs: from a generator, the parameters and a list of gradients, one mapping per step.
        max_norm: clip the gradients to this norm before each step.
        clip: name of the clipping function.
        learning_rates: step index -> learning rate that is set just before that step. A compiled
            step must follow it without being traced again.
        restarts: steps before which the slots move to a new optimizer, as from a checkpoint.

    Entries per step: ``learning_rate``, ``norm`` and ``clipped/<name>`` (with ``max_norm``),
    ``slot/<name>``, ``param/<name>``.
    """

    kind: ClassVar[str] = "optimizer"
    config: Any
    inputs: Callable[[np.random.Generator], tuple[Arrays, list[Arrays]]]
    max_norm: float | None = None
    clip: str = "clip_by_global_norm"
    learning_rates: Mapping[int, float] = field(default_factory=dict)
    restarts: Collection[int] = ()

    def record(self, sides: Mapping[str, Side]) -> Recording:
        parameters, gradients = self._rounded_inputs()
        everyone = with_eager_twins(sides)
        subjects = {name: _Subject(side, self, parameters) for name, side in everyone.items()}
        anchor = subjects.get("reference", next(iter(subjects.values())))
        forced = run_dtype(sides) == "float32"
        for index, gradient in enumerate(gradients):
            if forced:
                state = rounded(anchor.state(), "float32")
                for subject in subjects.values():
                    subject.load(state)
            for subject in subjects.values():
                if index in self.restarts:
                    subject.restart()
                if index in self.learning_rates:
                    subject.optimizer.set_learning_rate(self.learning_rates[index])
                subject.step(index, gradient)
        return Recording(
            traces={name: subject.trace for name, subject in subjects.items()},
            problems=[*self._retraces(subjects), *self._unmoved(subjects, parameters)],
        )

    def _rounded_inputs(self) -> tuple[Arrays, list[Arrays]]:
        parameters, gradients = self.inputs(rng_for(self))
        if not gradients:
            raise InvalidInput(f"{self.label}[{self.case}]: no gradients, so no steps")
        if late := [k for k in self.learning_rates if not 0 <= k < len(gradients)]:
            raise InvalidInput(
                f"{self.label}[{self.case}]: learning_rates names steps {late}, "
                f"there are {len(gradients)}"
            )
        return rounded(parameters, "float32"), [rounded(g, "float32") for g in gradients]

    def _retraces(self, subjects: Mapping[str, _Subject]) -> list[Problem]:
        return [
            Problem("retrace", name, {"traces": traces, "declared": DECLARED_TRACES})
            for name, subject in subjects.items()
            if subject.side.variant != "eager"
            if (traces := subject.function.traces()) != DECLARED_TRACES
        ]

    def _unmoved(self, subjects: Mapping[str, _Subject], parameters: Arrays) -> list[Problem]:
        """A parameter that no side ever moved was not tested."""
        return [
            Problem("all-zero", entry)
            for name, initial in parameters.items()
            for entry in [join("change", name)]
            if not any(subject.moved(name, initial) for subject in subjects.values())
            and not any(fnmatchcase(entry, glob) for glob in self.expect_zero)
        ]


class _Subject:
    """One side's optimizer with its parameters, its step function and its trace."""

    def __init__(self, side: Side, check: OptimizerCheck, parameters: Arrays) -> None:
        self.side, self.check = side, check
        self.parameters = {name: make_variable(side, a) for name, a in parameters.items()}
        self.optimizer = self._new()
        self.trace = Trace(side=side.name)
        self.function: Step = make_step(side, self._step_function(check))

    def _new(self) -> Any:
        return getattr(self.side.impl, self.check.name)(self.check.config, self.parameters)

    def restart(self) -> None:
        """Go on with a new optimizer that is given copies of the old one's slots."""
        slots = {name: np.array(value) for name, value in self.state()["slots"].items()}
        self.optimizer = self._new()
        self.optimizer.load_slots(slots)
        self.function = make_step(self.side, self._step_function(self.check))

    def _step_function(self, check: OptimizerCheck) -> Callable[[Any], Any]:
        optimizer, max_norm = self.optimizer, check.max_norm
        if max_norm is None:
            return lambda gradients: optimizer.apply(gradients)
        clip = getattr(self.side.impl, check.clip)

        def clip_and_apply(gradients: Any) -> Any:
            clipped, norm = clip(gradients, max_norm)
            optimizer.apply(clipped)
            return {"norm": norm, "clipped": clipped}

        return clip_and_apply

    def step(self, index: int, gradients: Arrays) -> None:
        side, scope = self.side, f"step/{index}"
        tensors = {
            name: side.backend.tensor(array, dtype=side.dtype, device=side.device)
            for name, array in gradients.items()
        }
        self.trace.add(join(scope, "learning_rate"), self.optimizer.learning_rate)
        self.trace.extend(self.function.call(tensors) or {}, scope=scope)
        self.trace.extend(self.optimizer.slots(), scope=join(scope, "slot"))
        self.trace.extend(self.parameters, scope=join(scope, "param"))

    def state(self) -> dict[str, Arrays]:
        to_numpy = self.side.backend.to_numpy
        return {
            "parameters": {name: to_numpy(p) for name, p in self.parameters.items()},
            "slots": {name: to_numpy(s) for name, s in self.optimizer.slots().items()},
        }

    def load(self, state: Mapping[str, Arrays]) -> None:
        for name, variable in self.parameters.items():
            write_variable(variable, state["parameters"][name])
        dtype = np.dtype(self.side.dtype)
        self.optimizer.load_slots(
            {n: a.astype(dtype) if a.dtype.kind == "f" else a for n, a in state["slots"].items()}
        )

    def moved(self, name: str, initial: np.ndarray) -> bool:
        now = self.side.backend.to_numpy(self.parameters[name])
        return not np.array_equal(now, initial.astype(now.dtype))
