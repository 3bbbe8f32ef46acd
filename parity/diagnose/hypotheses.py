"""What a hypothesis is: a change to how the tf side runs, its cause, and what came of trying it.

An operation edited, an argument exchanged, an attribute of a layer set to the other side's. It
counts as a cause only where the run with the change agrees with torch; nothing is reported because
it looks likely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.trace import Trace

Arrays = Mapping[str, np.ndarray]

Inside = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Change:
    """What is done differently when the tf side runs.

    Attributes:
        edits: edits of operations (see ``parity.backends.tf_edits``).
        inside: contexts entered around the run (an attribute set, a function replaced).
        inputs: maps the inputs to others.
        outputs: maps the recorded trace to another.
        eagerly: ``tf.function`` bodies run eagerly.
        rehearsed: the function runs twice, and edits may use what the first run made.
    """

    edits: tuple[Any, ...] = ()
    inside: tuple[Inside, ...] = ()
    inputs: tuple[Callable[[Arrays], Arrays], ...] = ()
    outputs: tuple[Callable[[Trace], Trace], ...] = ()
    eagerly: bool = True
    rehearsed: bool = False

    def __add__(self, other: Change) -> Change:
        return Change(
            # an edit that comes later is inside: it sees the operation first
            self.edits + other.edits,
            self.inside + other.inside,
            self.inputs + other.inputs,
            self.outputs + other.outputs,
            self.eagerly and other.eagerly,
            self.rehearsed or other.rehearsed,
        )


@dataclass(frozen=True)
class Hypothesis:
    """A cause that could be, and the change that would undo it.

    Attributes:
        cause: its id in ``parity.diagnose.causes``.
        facts: what the wording needs.
        site: the operation it is about.
        rank: lower is the better explanation where several fit.
        bound: it holds a number or array of these very inputs; others cannot confirm it.
        values_only: it changes what the function is given, so that gradients are of something else.
    """

    cause: str
    change: Change
    facts: Mapping[str, Any] = field(default_factory=dict)
    site: Site | None = None
    rank: float = 1.0
    place: str = ""
    bound: bool = False
    values_only: bool = False


@dataclass(frozen=True)
class Score:
    """How far a run of the tf side is from torch.

    Attributes:
        first: the first entry that differs.
        failing: all that do.
        error: the largest absolute difference over all entries; infinite for other shapes.
        at_first: that of the entry which differed first before anything was changed.
        exact: what agrees does so to the precision of the run, not just to float32's.
    """

    first: str | None
    failing: tuple[str, ...]
    error: float
    at_first: float
    exact: bool = True

    @property
    def agrees(self) -> bool:
        return self.first is None


@dataclass(frozen=True)
class Direct:
    """A cause that was found by computing both sides' entry from one value, without another run.

    Attributes:
        after: what is left between torch and the entry so computed.
    """

    cause: str
    facts: Mapping[str, Any]
    after: float
    rank: float = 1.0
    place: str = ""


@dataclass(frozen=True)
class Finding:
    """A hypothesis that was tried and removes the difference, or the first part of it.

    Attributes:
        confirmed: it does so for other inputs as well; None where that could not be tried.
    """

    hypothesis: Hypothesis
    before: float
    score: Score
    exact: bool = True
    confirmed: bool | None = None

    @property
    def complete(self) -> bool:
        return self.score.agrees

    @property
    def order(self) -> tuple[bool, bool, bool, float]:
        """For sorting: what explains everything, exactly and for other inputs too, first."""
        return (
            not self.complete,
            self.confirmed is False,
            not self.exact,
            self.hypothesis.rank,
        )
