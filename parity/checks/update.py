"""Updates of one set of named variables from another: soft and hard target updates.

The subject is a function ``check.name`` with the arguments ``(target, source, ...)``, two mappings
name -> variable of the side's framework, which writes the targets in place and returns nothing.
Each side goes on from its own state over all updates; between them the sources change, as they do
when they are trained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import numpy as np

from parity.backends.steps import Step, framework_of, make_step, make_variable, write_variable
from parity.checks import cast, rng_for
from parity.component import Check, Recording, Side
from parity.errors import InvalidInput
from parity.report import Problem
from parity.trace import Trace, join

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class UpdateCheck(Check):
    """Several updates in a row; ``name`` is the function.

    Attributes:
        inputs: from a generator, the first target values and a list of source values, one mapping
            per update. Entries that are not floating stand for counters.
        scalars: argument name -> one number per update. They reach the function as tensors of the
            run's dtype, so that a compiled function can follow them without being traced again.
        options: further arguments, passed as they are: Python numbers, names.

    Entries per update: ``update/<k>/target/<name>`` and ``update/<k>/source/<name>`` (which no
    update may change). At the end ``later/target/<name>``: the targets after the sources have been
    written once more, which shows a target that shares memory with its source.
    """

    kind: ClassVar[str] = "update"
    inputs: Callable[[np.random.Generator], tuple[Arrays, list[Arrays]]]
    scalars: Mapping[str, Sequence[float]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def record(self, sides: Mapping[str, Side]) -> Recording:
        target, sources = self._inputs()
        subjects = {
            name: _Subject(side, self, target, sources[0])
            for name, side in with_eager(sides).items()
        }
        for subject in subjects.values():
            for index, source in enumerate(sources):
                subject.update(index, source)
            subject.train_source(sources[0])
        return Recording(
            traces={name: subject.trace for name, subject in subjects.items()},
            problems=[*_retraces(subjects), *self._unmoved(subjects, target)],
        )

    def scalars_at(self, index: int) -> dict[str, np.ndarray]:
        """The tensor arguments of one update."""
        return {name: np.asarray(values[index]) for name, values in self.scalars.items()}

    def _inputs(self) -> tuple[Arrays, list[Arrays]]:
        target, sources = self.inputs(rng_for(self))
        if not target or not sources:
            raise InvalidInput(f"{self.label}[{self.case}]: no variables or no updates")
        if uneven := [n for n, v in self.scalars.items() if len(v) != len(sources)]:
            raise InvalidInput(
                f"{self.label}[{self.case}]: {uneven} must have one number for each of the "
                f"{len(sources)} updates"
            )
        return target, sources

    def _unmoved(self, subjects: Mapping[str, _Subject], initial: Arrays) -> list[Problem]:
        """A target that no side ever moved was not tested."""
        return [
            Problem("all-zero", entry)
            for name, array in initial.items()
            for entry in [join("change", name)]
            if not any(subject.moved(name, array) for subject in subjects.values())
            and not any(fnmatchcase(entry, glob) for glob in self.expect_zero)
        ]


class _Subject:
    """One side's two sets of variables, its update function and its trace."""

    def __init__(self, side: Side, check: UpdateCheck, target: Arrays, source: Arrays) -> None:
        self.side, self.check = side, check
        self.target = {name: _variable(side, array) for name, array in target.items()}
        self.source = {name: _variable(side, array) for name, array in source.items()}
        self.trace = Trace(side=side.name)
        function = getattr(side.impl, check.name)
        self.function: Step = make_step(
            side,
            lambda scalars: function(self.target, self.source, **scalars, **check.options),
        )

    def update(self, index: int, source: Arrays) -> None:
        scope = f"update/{index}"
        self.train_source(source, record=False)
        self.function.call(
            {
                name: self.side.backend.tensor(
                    cast(value, self.side.dtype), device=self.side.device
                )
                for name, value in self.check.scalars_at(index).items()
            }
        )
        self.trace.extend(self.target, scope=join(scope, "target"))
        self.trace.extend(self.source, scope=join(scope, "source"))

    def train_source(self, source: Arrays, *, record: bool = True) -> None:
        """Write the sources, as a training step would; the targets must not notice."""
        for name, array in source.items():
            write_variable(self.source[name], cast(array, self.side.dtype))
        if record:
            self.trace.extend(self.target, scope="later/target")

    def _tensor(self, value: np.ndarray) -> Any:
        side = self.side
        return side.backend.tensor(cast(value, side.dtype), device=side.device)

    def moved(self, name: str, initial: np.ndarray) -> bool:
        last = self.trace.under("later/target")[name]
        return not np.array_equal(last, cast(initial, str(last.dtype)))


def with_eager(sides: Mapping[str, Side]) -> dict[str, Side]:
    """The sides, and an eager twin of each compiled one, to tell the compiler's part."""
    twins = {
        f"{name}-eager": replace(side, name=f"{name}-eager", variant="eager")
        for name, side in sides.items()
        if side.variant != "eager" and not side.is_reference
    }
    return {**sides, **twins}


def _variable(side: Side, array: np.ndarray) -> Any:
    """A variable of floats or of integers; a torch parameter cannot hold the latter."""
    values = cast(array, side.dtype)
    if values.dtype.kind != "f" and framework_of(side) == "torch":
        return side.backend.tensor(values, device=side.device)
    return make_variable(side, values)


def _retraces(subjects: Mapping[str, _Subject]) -> list[Problem]:
    return [
        Problem("retrace", name, {"traces": traces, "declared": 1})
        for name, subject in subjects.items()
        if subject.side.variant != "eager"
        if (traces := subject.function.traces()) != 1
    ]
