"""Recorded functions: what they returned and the gradients, in float32 and float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from parity.backends.base import Broadcast
from parity.debug.calls import TENSORS, Caller, Outcome, watched
from parity.debug.subjects import Subject
from parity.errors import InvalidInput
from parity.recording.layers import RecordedElsewhere
from parity.recording.seen import Seen, get_seen, put_seen
from parity.recording.trees import Book
from parity.trace import Trace

RUNS = ("float32", "float64", "given")


def record_function(
    subject: Subject,
    arrays: Mapping[str, np.ndarray],
    trace: Book,
    *,
    seed: int,
    prefer: str | None = None,
    swapped: bool = False,
) -> None:
    """Call the function in each precision and write what it returned.

    Entries: ``<run>/output/...`` and ``<run>/grad/<input>``. The run ``given`` is in the inputs'
    own dtypes, for code that refuses float32.
    """
    caller = Caller(subject, str(subject.side), seed)
    caller.swapped = swapped
    runs: dict[str, Any] = {}
    failures: list[InvalidInput] = []
    for dtype in RUNS:
        if dtype == "given" and "float32" in runs:
            break
        try:
            outcome = watched(caller, arrays, dtype, prefer=prefer or TENSORS)
        except InvalidInput as error:
            failures.append(error)
            runs.setdefault("refused", {})[dtype] = str(error)
            continue
        runs[dtype] = _put(trace, dtype, outcome)
    if not any(dtype in runs for dtype in RUNS):
        raise failures[0]
    for dtype in RUNS:  # behind all runs: a factory is called for each, in this order
        if dtype in runs:
            runs[dtype] |= _for_hypotheses(caller, arrays, dtype, trace)
    trace.meta["runs"] = runs
    trace.meta["style"] = caller.style
    trace.meta["owner"] = _owner(subject)


def seen_by(caller: Caller, inputs: Mapping[str, np.ndarray], dtype: str) -> Any:
    """Run torch's side with every operation recorded; a recorded side has them in its trace."""
    if isinstance(caller, RecordedCaller):
        return caller.subject.value.seen(dtype)
    from parity.backends import torch_intercept

    records: list[Any] = []

    @contextmanager
    def watch() -> Iterator[None]:
        with torch_intercept.intercept() as seen:
            records.append(seen)
            yield

    caller(inputs, dtype, inside=watch)
    return records[-1]


def _for_hypotheses(
    caller: Caller, arrays: Mapping[str, np.ndarray], dtype: str, trace: Book
) -> dict[str, Any]:
    """What the search for a cause asks of torch: its operations, and one more set of inputs."""
    if caller.side != "torch":
        return {}
    from parity.diagnose.samples import varied

    facts: dict[str, Any] = {
        "seen": put_seen(trace, f"{dtype}/seen", seen_by(caller, arrays, dtype))
    }
    other = varied(arrays)
    if other is not None:
        # where it refuses these, hypotheses are not confirmed on them
        with suppress(InvalidInput):
            facts["varied"] = _put(trace, f"{dtype}/varied", caller(other, dtype))
    return facts


def _owner(subject: Subject) -> str:
    """The module that the function's own class or code stands in: raw losses are told by it."""
    value = subject.value
    named = value if hasattr(value, "__qualname__") else type(value)
    return str(getattr(named, "__module__", ""))


def _put(trace: Book, dtype: str, outcome: Outcome) -> dict[str, Any]:
    for name, value in outcome.trace.items():
        trace.add(f"{dtype}/{name}", value)
    return {
        "entries": list(outcome.trace),
        "style": outcome.style,
        "without": sorted(outcome.without),
        "differentiable": outcome.differentiable,
        "events": [
            [e.operation, [list(s) for s in e.shapes], list(e.result), e.where]
            for e in outcome.events
        ],
    }


class RecordedFunction:
    """A function that was recorded elsewhere; it answers through :class:`RecordedCaller`."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.__module__ = str(trace.meta.get("owner", ""))
        self.__qualname__ = self.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RecordedElsewhere("this function was recorded elsewhere and cannot be called")

    def outcome(self, dtype: str) -> Outcome:
        """What it returned in one precision.

        Raises:
            InvalidInput: it refused its inputs in that precision, or was not recorded in it.
        """
        runs = self.trace.meta["runs"]
        if dtype not in runs:
            refused = runs.get("refused", {}).get(dtype)
            raise InvalidInput(refused or f"the recording holds no run in {dtype}")
        return self._outcome(runs[dtype], dtype)

    def varied(self, dtype: str) -> Outcome | None:
        """What it returned for inputs that are a little different; None where it was not asked."""
        facts = self.trace.meta["runs"][dtype].get("varied")
        return None if facts is None else self._outcome(facts, f"{dtype}/varied")

    def seen(self, dtype: str) -> Seen:
        """The operations of a torch function."""
        return get_seen(self.trace, self.trace.meta["runs"][dtype]["seen"])

    def _outcome(self, facts: Mapping[str, Any], scope: str) -> Outcome:
        entries = {name: self.trace[f"{scope}/{name}"] for name in facts["entries"]}
        events = [
            Broadcast(str(op), tuple(tuple(s) for s in shapes), tuple(result), str(where))
            for op, shapes, result, where in facts["events"]
        ]
        return Outcome(
            Trace(entries, side=self.trace.side),
            str(facts["style"]),
            set(facts["without"]),
            events,
            bool(facts["differentiable"]),
        )


@dataclass
class RecordedCaller(Caller):
    """Stands in a caller's place; knows the answer to the recorded inputs, and to no others."""

    recorded: ClassVar[bool] = True
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __call__(
        self,
        inputs: Mapping[str, np.ndarray],
        dtype: str,
        *,
        inside: Callable[[], AbstractContextManager[Any]] = nullcontext,
        prefer: str = TENSORS,
    ) -> Outcome:
        """The recorded outcome.

        Raises:
            RecordedElsewhere: other inputs than the recorded ones.
            InvalidInput: it was not recorded in this precision.
        """
        if self.stopped:
            raise RecordedElsewhere(f"{self.subject.label} cannot run with other gradients")
        value: RecordedFunction = self.subject.value
        if inputs is not self.inputs and not _same(inputs, self.inputs):
            from parity.diagnose.samples import varied

            other = varied(self.inputs)
            known = value.varied(dtype) if other is not None and _same(inputs, other) else None
            if known is None:
                raise RecordedElsewhere(
                    f"{self.subject.label} was recorded elsewhere and cannot run on other inputs"
                )
            return known
        outcome = value.outcome(dtype)
        self.style = outcome.style
        return outcome


def _same(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    return list(one) == list(other) and all(
        a.shape == other[n].shape and np.array_equal(a, other[n], equal_nan=a.dtype.kind == "f")
        for n, a in one.items()
    )
