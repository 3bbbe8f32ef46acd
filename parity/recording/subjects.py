"""Recording a user's subject: a module, function, optimizer, environment or agent.

A recording is a trace: the arrays, and metadata that say what they are. It holds all that
``parity check`` needs of this side, so that the other side can be checked where this one's
framework is not installed. A file is written entry by entry, as the values come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parity.debug.subjects import Subject
from parity.errors import InvalidInput
from parity.recording.trees import Book
from parity.trace import Trace, TraceWriter, open_trace, write_trace

VERSION = 1
"""Of what the metadata of a recording look like."""
OPTIMIZER_STEPS = 5


@dataclass(frozen=True)
class Detail:
    """How much of each entry a file keeps; see ``docs/traces.md``.

    Attributes:
        kept: ``full``, ``stats`` or ``first``.
        around: for ``first``: the entry that differs.
        against: for ``first``: the file of a trace; the first entry that differs from its own.
    """

    kept: str = "full"
    around: str | None = None
    against: str | Path | None = None

    def options(self) -> dict[str, Any]:
        """What :class:`parity.trace.TraceWriter` takes."""
        other = None if self.against is None else open_trace(self.against)
        return {"detail": self.kept, "around": self.around, "against": other}


def record(
    subject: Any,
    inputs: Any = None,
    *,
    out: str | Path | None = None,
    training: bool = False,
    steps: int | None = None,
    seed: int = 0,
    like: str | Path | None = None,
    side: str | None = None,
    as_function: bool = False,
    environment: Any = None,
    detail: str = "full",
    around: str | None = None,
    against: str | Path | None = None,
) -> Trace:
    """Record one side of a pair, to be checked against the other one elsewhere.

    Args:
        subject: a module, callable, optimizer, environment, agent, a zero-argument factory of
            these, or a string such as ``"file.py:name"``.
        inputs: an array, a sequence or a mapping of arrays, in the order of axes that the subject
            takes; the parameters, for an optimizer; the actions, for an environment.
        out: file to write, as the values come; it appears whole or not at all.
        training: run a module in training mode; dropout is left out.
        steps: how many steps an optimizer takes (5 where None), an environment (enough to reach
            its time limit) or an agent (64).
        seed: of the output weights of the backward pass, of drawn values, and of environments.
        like: a recording of the other side: the inputs, the seed, the mode and the weights are
            taken from it.
        side: ``torch`` or ``tf``, where nothing about the subject tells.
        as_function: record a module as a function, to be checked against one: what it returns and
            its gradients, in its own mode, without its layers.
        environment: where an agent is to act, as in :func:`parity.check`; what can act is
            recorded as an agent then.
        detail: how much of each entry the file keeps: ``full``, which ``parity check`` needs;
            ``stats``, statistics and checksums; ``first``, values around the first difference.
        around: for ``first``: the entry that differs.
        against: for ``first``: a trace; the first entry that differs from its own.

    Returns:
        The recording; with ``out`` a reader of the file.

    Raises:
        InvalidInput: the subject cannot be loaded, is of no known kind, or refuses the inputs.
        TransferError, AlignmentError: ``like``'s weights do not fit.
    """
    from parity.debug.inputs import as_arrays
    from parity.recording.reading import read_recording, require_partner

    partner = None if like is None else read_recording(like)
    if partner is not None and environment is None:  # an agent's says where it acted
        environment = getattr(partner.subject.value, "environment", None)
    own = _acting(_resolved(subject, side), environment)
    arrays = None if inputs is None else as_arrays(inputs)
    if partner is not None:
        require_partner(partner, own)
        arrays = partner.agreed_inputs(arrays)
        training, steps, seed = partner.training, partner.steps, partner.seed
    elif own.kind in ("module", "function", "optimizer") and steps is None:
        steps = OPTIMIZER_STEPS
    options: dict[str, Any] = {"training": training, "steps": steps, "seed": seed}
    meta = _meta(own, arrays, options)
    if as_function and own.kind == "module":
        meta["kind"] = "function"

    def write(book: Book) -> None:
        for name, array in (arrays or {}).items():
            book.add(f"inputs/{name}", array)
        _record(own, arrays, book, {**options, "environment": environment}, partner)

    kept = Detail(detail, around, against)
    return _written(write, out, kept, side=str(own.side), meta=meta)


def _written(
    write: Callable[[Book], None], out: str | Path | None, detail: Detail, **head: Any
) -> Trace:
    """What ``write`` writes: in memory, or in a file, where nothing is held."""
    if out is None:
        if detail != Detail():
            raise InvalidInput("detail= is about the file: give out= too")
        trace = Trace(**head)
        write(trace)
        return trace
    if Path(out).exists() and not Path(out).is_file():  # a pipe cannot be read again
        trace = Trace(**head)
        write(trace)
        write_trace(out, trace, **detail.options())
        return trace
    with TraceWriter(out, **head, **detail.options()) as writer:
        write(writer)
    return open_trace(out)


def _acting(own: Subject, environment: Any) -> Subject:
    """An agent, where there is an environment to act in.

    Raises:
        InvalidInput: an agent without an environment, or the other way round.
    """
    from dataclasses import replace

    if environment is None:
        if own.kind == "agent":
            raise InvalidInput(
                f"{own.label}: an agent needs an environment to act in: --env CartPole-v1, or "
                "--env file.py:make_env (environment= in Python)"
            )
        return own
    if own.kind not in ("agent", "module", "function"):
        raise InvalidInput(f"{own.label} is a {own.kind}, not an agent: leave --env out")
    return replace(own, kind="agent")


def _resolved(subject: Any, side: str | None) -> Subject:
    from dataclasses import replace

    from parity.debug.check import as_optimizer
    from parity.debug.subjects import load, resolve

    if isinstance(subject, Subject):
        own = subject
    elif isinstance(subject, str):
        own = resolve(load(subject), subject)
    else:
        own = resolve(subject, type(subject).__name__)
    if own.side is None and side is None:
        side = _only_framework()
    if own.side is None and side is None:
        raise InvalidInput(
            f"{own.label}: nothing about it tells which framework it is of; say it with "
            "--side torch or --side tf (side= in Python)"
        )
    if side is not None and own.side not in (None, side):
        raise InvalidInput(f"{own.label} is of {own.side}, not of {side}")
    own = replace(own, side=own.side or side)
    return as_optimizer(own)


def _only_framework() -> str | None:
    """The framework that is installed here, where it is only one."""
    from parity.requirements import missing

    here = [side for side in ("torch", "tf") if not missing([side])]
    return here[0] if len(here) == 1 else None


def _meta(
    subject: Subject, arrays: Mapping[str, np.ndarray] | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    from parity.fingerprint import fingerprint

    return {
        "recording": VERSION,
        "kind": subject.kind,
        "subject": {"label": subject.label, "side": subject.side},
        "inputs": None if arrays is None else list(arrays),
        "options": dict(options),
        "environment": fingerprint(),
    }


def _record(
    subject: Subject,
    arrays: Mapping[str, np.ndarray] | None,
    trace: Book,
    options: Mapping[str, Any],
    partner: Any,
) -> None:
    if subject.kind == "environment":
        from parity.recording.environments import record_environment

        record_environment(subject, arrays, trace, options, partner)
        return
    if subject.kind == "agent":
        from parity.recording.agents import record_agent

        record_agent(subject, trace, options, partner)
        return
    if subject.kind == "optimizer":
        from parity.recording.optimizers import record_optimizer

        record_optimizer(subject, arrays, trace, steps=options["steps"], seed=options["seed"])
        return
    if trace.meta["kind"] == "module" and arrays is not None:
        if not arrays:
            raise InvalidInput("no inputs; a recording of nothing proves nothing")
        from parity.recording.whole_modules import record_whole_module

        record_whole_module(subject, arrays, trace, options, partner)
        return
    from parity.debug.subjects import takes_nothing

    if arrays is None and not takes_nothing(subject.value):
        raise InvalidInput(
            "recording a module or function needs inputs, e.g. "
            '--input "state=float32[13,3]" or --inputs port.py:batch'
        )
    from parity.recording.functions import record_function

    prefer = None if partner is None else partner.style
    record_function(subject, arrays or {}, trace, seed=options["seed"], prefer=prefer)
