"""What the checks of learners are run on: a configuration with its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from impls.learner.cases import Examples
from parity.component import DTYPES


@dataclass(frozen=True)
class Case:
    """A configuration with its data.

    Attributes:
        initial_state: from which every side begins.
        updates: of the composed check.
        expect_zero: entries that rightly stay at zero.
        dtypes: float64 alone where other cases show enough of float32.
    """

    name: str
    config: Any
    examples: Examples
    initial_state: Callable[[np.random.Generator], Mapping[str, np.ndarray]]
    needs: tuple[str, ...] = ()
    updates: int = 20
    expect_zero: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = DTYPES

    def common(self) -> dict[str, Any]:
        """What all checks of the case have alike; a composed one is in float64 alone."""
        return {
            "case": self.name,
            "config": self.config,
            "initial_state": self.initial_state,
            "examples": self.examples,
            "needs": self.needs,
        }


def slower(group: str) -> Callable[[Any], None]:
    """A change of one learning rate while a compiled update is in use."""

    def change(learner: Any) -> None:
        learner.set_learning_rate(group, 2.5e-4)

    return change
