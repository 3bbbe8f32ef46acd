"""Training that takes nothing but a seed: every draw is made inside of the update.

The subject is a trainer ``builder(config, seed=..., dtype=..., device=..., variant=...)``. Besides
what :class:`~parity.checks.learner.Learner` asks for it has ``reset()``, which goes back to the
state that the seed gives, in place, and its ``update()`` has no argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from parity.checks.learner import Example, State, learner_of, rounded, run_dtype
from parity.checks.training import UpdateSequenceCheck
from parity.component import Side
from parity.trace import Trace

Ask = Callable[[Any, int, Callable[[np.ndarray], Any]], Mapping[str, Any]]


def _no_state(rng: np.random.Generator) -> State:
    return {}


def _no_examples(rng: np.random.Generator, count: int) -> list[Example]:
    return [({}, {})] * count


@dataclass(frozen=True, kw_only=True)
class SeededUpdateCheck(UpdateSequenceCheck):
    """Updates from a seed, one after the other; no array is handed in and none is forced.

    Entries: ``initial/<state>``, and per update ``update/<k>/<what it returned>``,
    ``update/<k>/asked/<what it was asked>`` and ``update/<k>/state/<state>``.

    Attributes:
        seed: of every side.
        ask: what else the trainer is asked after each update, called with the trainer, the number
            of the update and a function that turns an array into a tensor of the side.
        twins: whether a compiled side is compared with itself in eager mode as well.
    """

    kind: ClassVar[str] = "seeded"
    seed: int
    builder: str = "make_trainer"
    ask: Ask | None = None
    twins: bool = True
    initial_state: Callable[[np.random.Generator], Mapping[str, np.ndarray]] = _no_state
    examples: Callable[[np.random.Generator, int], Sequence[Example]] = _no_examples

    def _learner(self, side: Side) -> Any:
        return learner_of(side, self.builder, self.config, seed=self.seed)

    def _with_twins(self, sides: Mapping[str, Side]) -> dict[str, Side]:
        return super()._with_twins(sides) if self.twins else dict(sides)

    def _anchors(
        self, sides: Mapping[str, Side], state: State, examples: list[Example]
    ) -> dict[int, State]:
        return {}

    def _run(
        self, name: str, side: Side, anchors: dict[int, State], examples: list[Example]
    ) -> Trace:
        trainer, trace = self._learner(side), Trace(side=name)
        trainer.reset()
        trace.extend(trainer.state(), scope="initial")
        for index in range(len(examples)):
            if index in anchors:
                trainer.load_state(anchors[index])
            trace.extend(self._advance(side, index), scope=f"update/{index:02d}")
            trace.extend(trainer.state(), scope=f"update/{index:02d}/state")
        return trace

    def _advance(self, side: Side, index: int) -> dict[str, Any]:
        """Change, update and ask the side's trainer; what it answered."""
        trainer = self._learner(side)
        if index in self.changes:
            self.changes[index](trainer)
        made: dict[str, Any] = dict(trainer.update())
        if self.ask is not None:

            def tensor(array: np.ndarray) -> Any:
                return side.backend.tensor(array, dtype=side.dtype, device=side.device)

            made["asked"] = self.ask(trainer, index, tensor)
        return made


@dataclass(frozen=True, kw_only=True)
class SeededLockstepCheck(SeededUpdateCheck):
    """The same, with the reference's state forced before each update but the first."""

    kind: ClassVar[str] = "seeded-lockstep"

    def _anchors(
        self, sides: Mapping[str, Side], state: State, examples: list[Example]
    ) -> dict[int, State]:
        reference: Any = self._reference(sides)
        dtype, anchors = run_dtype(sides), {}
        reference.reset()
        for index in range(len(examples)):
            if index:
                anchors[index] = rounded(reference.state(), dtype)
            self._advance(sides["reference"], index)
        return anchors
