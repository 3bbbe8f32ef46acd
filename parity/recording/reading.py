"""Recordings as sides of a check: what a file holds, and whether it is what the user meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parity.debug.subjects import Subject
from parity.errors import InvalidInput, ParityError
from parity.recording.subjects import VERSION
from parity.trace import Trace, open_trace

SUFFIX = ".trace"


@dataclass(frozen=True)
class Recording:
    """One side, recorded elsewhere.

    Attributes:
        label: the file's name as the user gave it.
        trace: the arrays and what they are.
        subject: stands in the place of the object.
    """

    label: str
    trace: Trace
    subject: Subject

    @property
    def inputs(self) -> dict[str, np.ndarray] | None:
        """The inputs by name; None where the subject takes none."""
        names = self.trace.meta["inputs"]
        return None if names is None else {n: np.array(self.trace[f"inputs/{n}"]) for n in names}

    @property
    def training(self) -> bool:
        return bool(self.trace.meta["options"]["training"])

    @property
    def steps(self) -> int | None:
        steps = self.trace.meta["options"]["steps"]
        return None if steps is None else int(steps)

    @property
    def seed(self) -> int:
        return int(self.trace.meta["options"]["seed"])

    @property
    def style(self) -> str | None:
        """What a recorded function was called with: ``tensors`` or ``arrays``."""
        style = self.trace.meta.get("style")
        return None if style is None else str(style)

    def agreed_inputs(self, given: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray] | None:
        """The recorded inputs; where the user gave some too, they must be the same.

        Raises:
            InvalidInput: they are not.
        """
        own = self.inputs
        if own is None and given:
            raise InvalidInput(
                f"{self.label} was recorded without inputs: what it drew is in it; leave "
                f"{', '.join(given)} out"
            )
        if given is None or own is None:
            return own
        if list(given) != list(own):
            raise InvalidInput(
                f"{self.label} was recorded with the inputs {', '.join(own)}; "
                f"given are {', '.join(given) or 'none'}"
            )
        for name, array in own.items():
            other = given[name]
            if other.shape != array.shape or not np.array_equal(
                other, array, equal_nan=array.dtype.kind == "f"
            ):
                raise InvalidInput(
                    f"{self.label} was recorded with other values of the input {name!r} "
                    f"({array.dtype}{list(array.shape)}); leave the inputs out, they are in it"
                )
        return own


def agreed(
    recordings: Mapping[str, Recording],
    given: Mapping[str, Mapping[str, np.ndarray]] | None,
    options: dict[str, Any],
) -> dict[str, dict[str, np.ndarray]] | None:
    """The inputs of both sides; mode, seed and steps are set to those of the recordings.

    Raises:
        InvalidInput: the user gave others, or two recordings differ in them.
    """
    first, *others = recordings.values()
    for other in others:
        mine, theirs = first.trace.meta["options"], other.trace.meta["options"]
        if apart := [name for name in mine if mine[name] != theirs.get(name)]:
            raise InvalidInput(
                f"{first.label} and {other.label} were recorded with different options: "
                f"{', '.join(f'{n} {mine[n]} and {theirs.get(n)}' for n in apart)}; "
                f"record the second with --like {first.label}"
            )
        other.agreed_inputs(first.inputs)
    if options["training"] and not first.training:
        raise InvalidInput(f"{first.label} was recorded in evaluation mode; leave --train out")
    if options["steps"] is not None and options["steps"] != first.steps:
        raise InvalidInput(f"{first.label} was recorded with other steps; leave --steps out")
    options |= {"training": first.training, "seed": first.seed, "steps": first.steps}
    own = {side: recording.agreed_inputs(None if given is None else given[side])
           for side, recording in recordings.items()}  # fmt: skip
    shared = next(iter(own.values()))
    if shared is None:
        return None
    if given is None or given["torch"] is given["tf"] or len(own) == 2:
        return dict.fromkeys(("torch", "tf"), shared)
    return {side: dict(own.get(side) or given[side]) for side in ("torch", "tf")}


def is_recording(given: Any) -> bool:
    """Whether the user means a file rather than ``file.py:name``."""
    if isinstance(given, Path):
        return True
    return isinstance(given, str) and (
        given.endswith(SUFFIX)
        or (":" not in given and not given.endswith(".py") and Path(given).is_file())
    )


def read_recording(path: str | Path) -> Recording:
    """Open a recording of ``parity record``.

    Raises:
        InvalidInput: the file is missing, damaged, or holds something else.
    """
    label = str(path)
    with open_trace(path) as reader:
        if reader.detail != "full":
            raise InvalidInput(
                f"{label}: holds statistics in the place of values (--detail {reader.detail}); "
                "record with --detail full to check against it, or use parity compare"
            )
        trace = reader.in_memory()
    meta = trace.meta
    if not isinstance(meta.get("recording"), int):
        raise InvalidInput(
            f"{label}: a trace, but not a recording of a subject; write one with parity record, "
            "or compare two files of arrays with parity compare"
        )
    if meta["recording"] > VERSION:
        raise InvalidInput(
            f"{label}: recorded by a newer parity (recording {meta['recording']}, "
            f"this one reads {VERSION}); update parity here"
        )
    status = meta.get("status")
    if status is not None:
        raise InvalidInput(f"{label}: the recording is not complete ({status})")
    try:
        side, kind = str(meta["subject"]["side"]), str(meta["kind"])
        value = _stand_in(trace, side, kind)
    except ParityError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InvalidInput(f"{label}: its metadata are not complete ({error!r})") from None
    subject = Subject(label, side, kind, value)
    return Recording(label, trace, subject)


def _stand_in(trace: Trace, side: str, kind: str) -> Any:
    if side not in ("torch", "tf"):
        raise KeyError(f"side {side!r}")
    if kind == "module" and "runs" in trace.meta:
        from parity.recording.modules import module_of

        return module_of(trace, side, training=bool(trace.meta["options"]["training"]))
    if kind == "environment":
        from parity.recording.environments import RecordedEnvironment

        return RecordedEnvironment(trace)
    if kind == "agent":
        from parity.recording.agents import RecordedAgent

        return RecordedAgent(trace)
    if kind == "optimizer":
        from parity.recording.optimizers import RecordedOptimizer

        return RecordedOptimizer(trace)
    from parity.recording.functions import RecordedFunction

    return RecordedFunction(trace)


def require_partner(found: Recording, own: Subject) -> None:
    """Refuse a recording that is not of the other side of a pair.

    Raises:
        InvalidInput: it is of the same framework, or of another kind.
    """
    if found.subject.side == own.side:
        raise InvalidInput(
            f"{found.label} and {own.label} are both {own.side}: "
            "a check needs one side of each framework"
        )
    if found.subject.kind != own.kind:
        raise InvalidInput(
            f"{found.label} is a {found.subject.kind} and {own.label} is a {own.kind}: "
            "give two of the same kind"
        )
